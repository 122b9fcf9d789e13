/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a journal, as the files of this folder share it.
 *
 * The log is a ring of blocks [first, last).  head is where the next transaction goes, tail where
 * the oldest one begins that the superblock on disk still promises to replay; what lies between
 * must not be written.  Transactions are listed oldest first from their commit to the moment when
 * all their buffers are home.
 */
#ifndef JOURNAL_JNL_H
#define JOURNAL_JNL_H

#include "base/bytes.h"
#include "base/hash.h"
#include "base/pool.h"
#include "journal/journal.h"
#include "ondisk/jbd2.h"

/* The journal's record of a buffer: it holds a reference and pins the buffer. */
struct jbuf {
	struct buf *buf;
	struct tx *tx;    /* the running transaction that changes it, or NULL */
	struct list link; /* on tx->bufs, or on tx->forgotten */
	bool forgotten;
	bool data;           /* of a file: dropped when it is home */
	struct tx *cp;       /* the youngest committed transaction that holds it, or NULL */
	struct list cp_link; /* on cp->cp */
};

struct revoke {
	struct hash_node node; /* by block */
	struct list link;      /* in the order of revoking */
	uint32_t seq;          /* the highest transaction that revokes it; recovery only */
};

struct revokes {
	struct hash by_block;
	struct list order;
	uint32_t count;
	struct pool pool;
};

struct tx {
	struct jnl *jnl;
	struct list link; /* on jnl->committed */
	uint32_t tid;
	struct list bufs; /* jbufs in the order of the first change */
	struct list forgotten;
	struct list inodes; /* ordered data */
	struct list callbacks;
	struct list cp; /* after commit: jbufs that are not home */
	uint32_t buf_count;
	uint32_t handles;   /* started in it so far */
	uint32_t promised;  /* credits of its open handles */
	uint32_t log_start; /* after commit: its first block in the log */
	struct ek_time started;
	bool wanted; /* to be committed as soon as the last handle stops */
};

enum jnl_phase {
	JNL_OPEN,   /* transactions run */
	JNL_LOCKED, /* ordered data is written: handles join, but cannot cause another commit */
	JNL_LOGGING /* no handle may start */
};

struct fast_log;

struct jnl_kind {
	/* Puts h, whose credits are set, into a transaction with room for reserved more. */
	int (*join)(struct handle *h, unsigned reserved);
	void (*leave)(struct handle *h);
	/* 1 when the transaction has no room. */
	int (*extend)(struct handle *h, unsigned credits, unsigned blocks);
	int (*dirty)(struct handle *h, struct buf *b);
	int (*forget)(struct handle *h, struct buf *b, ek_pblk pblk);
	int (*order)(struct handle *h, struct jnl_inode *ji, uint64_t start, uint64_t end,
		     bool wait_only);
	void (*callback)(struct handle *h, struct jnl_callback *cb);
	/* 1 when there was something to commit. */
	int (*commit)(struct jnl *j);
	int (*close)(struct jnl *j);
};

struct jnl {
	const struct jnl_kind *kind;
	struct jnl_config cfg; /* runs are our copy */
	struct counters own;   /* when the caller wants no counts */
	int error;             /* why it was aborted */
	unsigned open;         /* handles */
	int io_error;          /* of our own bios since the last jnl_wait */
	uint32_t reserved;     /* credits of reserved handles that have not started */
	struct pool handles, txs, jbufs;
	struct list waiting;       /* callbacks of kind none */
	struct ek_time home_since; /* when the device's first page became dirty, or 0 */

	/* The log. */
	unsigned block_bits;
	uint32_t block_size;
	uint8_t *super; /* log block 0 as it shall be written next */
	uint32_t seed;  /* of v2 and v3 checksums */
	uint32_t first, last;
	uint32_t fc_blocks; /* [last, last + fc_blocks) */
	uint32_t head, tail, free;
	uint32_t max_blocks;    /* of a transaction, its overhead included */
	uint32_t max_credits;   /* without it */
	uint32_t tags, records; /* in a descriptor, in a revoke block */
	uint32_t next_tid, tail_tid, committed_tid;
	bool dirty;            /* not recovered yet */
	struct fast_log *fast; /* fast commits that were read and not applied, or NULL */
	bool super_stale;      /* the superblock on disk says that the log is empty */
	enum jnl_phase phase;
	struct tx *running;
	struct list committed;
	struct revokes revokes; /* of the running transaction */
	uint8_t *arena;         /* blocks that a commit makes up: descriptors, escaped copies */
	size_t arena_cap;       /* in blocks */
	const uint8_t **group;  /* the blocks that one descriptor names */
};

static inline struct jbd2_super *jnl_sb(const struct jnl *j)
{
	return (struct jbd2_super *)(void *)j->super;
}

static inline bool jnl_incompat(const struct jnl *j, uint32_t bit)
{
	return (be32_get(jnl_sb(j)->s_feature_incompat) & bit) != 0;
}

static inline bool jnl_csum(const struct jnl *j)
{
	return jnl_incompat(j, JBD2_INCOMPAT_CSUM_V2 | JBD2_INCOMPAT_CSUM_V3);
}

/* Where the log lies. */
static inline struct dev *jnl_log_dev(const struct jnl *j)
{
	return j->cfg.log_dev != NULL ? j->cfg.log_dev : buf_cache_dev(j->cfg.cache);
}

static inline bool jnl_external(const struct jnl *j)
{
	return j->cfg.log_dev != NULL;
}

static inline void jnl_count(struct jnl *j, enum counter which, uint64_t n)
{
	count(j->cfg.counters, which, n);
}

/* Blocks that revokes records fill; 0 without a log. */
static inline unsigned jnl_revoke_blocks(const struct jnl *j, unsigned revokes)
{
	return j->records == 0 ? 0 : DIV_UP(revokes, j->records);
}

/* ---- life.c ---- */

/* A journal with a copy of cfg and its runs. */
int jnl_new(const struct jnl_config *cfg, const struct jnl_kind *kind, struct jnl **ret);
void jnl_free(struct jnl *j);

/* 0, or why no handle may start: -EROFS. */
int jnl_usable(struct jnl *j);

struct ek_time jnl_now(struct jnl *j);

/* Runs all callbacks of list and empties it. */
void jnl_call_back(struct list *callbacks, int error);

/* Queues one block (or none, with flags for a flush) of ours for the filesystem; the bytes must
 * stay until jnl_wait. */
int jnl_write(struct jnl *j, uint64_t place, const void *data, unsigned flags);

/* The same for the log. */
int jnl_write_log(struct jnl *j, uint64_t place, const void *data, unsigned flags);

/* Writes n buffers, sorted by block, home as one plugged row of bios with flags, and
 * waits. */
int jnl_write_bufs(struct jnl *j, struct buf **bufs, size_t n, unsigned flags);

/* b is dirty on the device from now on, as far as Linux's page cache of it goes. */
void jnl_dirtied_home(struct jnl *j, struct buf *b);

/* The device was synced as a whole. */
void jnl_clean_home(struct jnl *j);

/* none.c: writes home all that is dirty. */
int none_write_home(struct jnl *j);

/* Waits for everything in the queues, runs the callbacks of others, and returns the first error of
 * ours: theirs are not the journal's concern. */
int jnl_wait(struct jnl *j);

/* jnl_wait, then a flush of the filesystem's device. */
int jnl_flush(struct jnl *j);

/* Gives up: remembers error, tells the layer above.  Returns error. */
int jnl_abort(struct jnl *j, int error);

#endif
