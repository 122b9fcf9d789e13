/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jbd2: handles join a running transaction, a commit makes it durable, a checkpoint brings it home.
 *
 * No metadata block changes without a handle: handle_write gives the mutable bytes, handle_dirty
 * files the buffer with the transaction.  A journal of kind "none" keeps the same calls for images
 * without a log and for images being built: dirty buffers go to the buffer cache's dirty list.
 *
 * Commits run in the calling thread, when the last handle has stopped.  While ordered data is
 * written, handles may still join the committing transaction: completions need that.  Nobody may
 * start one later in a commit.  What the kernel counts (delalloc-facts 8.2, 9.3) is counted here
 * under the same names.
 *
 * Calls on one journal come from one thread at a time; several users may have handles open.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

#include "base/counters.h"
#include "base/list.h"
#include "ondisk/buf.h"
#include "ondisk/geom.h"

struct bioq;
struct dev;
struct jnl;
struct tx;

/* A run of the log: log blocks [lblk, lblk + len) lie at pblk. */
struct jnl_run {
	uint32_t lblk, len;
	uint64_t pblk;
};

struct jnl_inode;

/* What the layers above do for the journal; each may be NULL. */
struct jnl_hooks {
	/* Ordered data of the committing transaction: write [start, end) bytes of the inode behind
	 * ji that are already mapped (not ji->writes: they are on their way already).  What was
	 * queued on the journal's bioq need not be waited for: the commit does.  Negative aborts
	 * the journal; a failed write of data is the inode's concern rather than a reason. */
	int (*ordered)(void *ctx, struct jnl_inode *ji);
	/* Every handle has stopped and nothing of transaction tid was written yet: the last moment
	 * to bring the bytes of buffers that are filed with it up to date. */
	void (*locked)(void *ctx, uint32_t tid);
	/* Time of the commit record and of ageing; without it both are 0. */
	struct ek_time (*now)(void *ctx);
	/* Called once: the journal gave up and nothing may be written any more. */
	void (*aborted)(void *ctx, int error);
	void *ctx;
};

struct jnl_config {
	struct buf_cache *cache;
	struct bioq *bioq; /* to the cache's device; may be NULL when read_only */
	/* Where the log lies when it has a device of its own (and a queue to it, under the same
	 * rules); NULL: on the cache's device.  There log blocks have the numbers of that
	 * device's blocks, and the superblock of the log is super_at. */
	struct dev *log_dev;
	struct bioq *log_bioq;
	uint32_t super_at;
	struct counters *counters; /* may be NULL */
	struct diag *diag;
	struct jnl_hooks hooks;
	const struct jnl_run *runs; /* the whole log, in order; copied */
	unsigned run_count;
	uint32_t blocks;          /* log length in blocks */
	uint32_t commit_interval; /* seconds, 5 by default */
	bool read_only;
};

/* An inode with ordered data in a transaction; embedded in the inode above. */
struct jnl_inode {
	struct list link; /* on the transaction's ordered list */
	struct tx *tx;
	uint64_t start, end; /* dirty byte range to write at commit */
	bool writes;         /* a commit starts the writing; once so, it stays so, as in Linux */
};

/* Called when the transaction it was added to has committed (error 0) or was lost. */
struct jnl_callback {
	struct list link;
	void (*done)(struct jnl_callback *cb, int error);
};

/* One per thread that starts handles: the kernel's current->journal_info. */
struct jnl_user {
	struct handle *current;
};

struct handle {
	struct jnl *jnl;
	struct tx *tx; /* NULL for kind none and for a reserved handle not started yet */
	struct jnl_user *user;
	struct handle *reserved; /* child for I/O completion, or NULL */
	enum handle_type type;
	unsigned refs;
	unsigned requested; /* blocks asked for in all, those for revoke records included */
	unsigned credits;   /* blocks that may still be dirtied */
	unsigned revokes, revoke_credits; /* records asked for in all, still unused */
	unsigned dirtied;
	bool sync, is_reserved;
	bool changed;      /* something was filed or forgotten by it */
	int error;         /* sticky: every later call on the handle returns it */
	uint64_t failures; /* that the filesystem's device had before */
};

/* ---- life ---- */

/* A journal of kind none over cache.  Its handles have no transaction, count nothing and never run
 * out of credits; callbacks run when the last open handle stops; nothing is ordered; commits write
 * the cache's dirty buffers home. */
int jnl_open_none(const struct jnl_config *cfg, struct jnl **ret);

/* Opens the log: verifies its superblock.  Damage, an unknown feature, a log too short are refused
 * with field and value.  Nothing is written.  A writer that finds the log empty turns on what the
 * kernel would: REVOKE, 64BIT and CSUM_V3 as the filesystem has them; the first commit writes that
 * down.  A dirty log must be recovered before handles start. */
int jnl_open(const struct jnl_config *cfg, struct jnl **ret);

/* True when the log holds transactions that are not home. */
bool jnl_dirty(const struct jnl *j);

/* Replays the log into the cache's device: validates every transaction before the first home write,
 * refuses targets outside the filesystem or inside the log, honours revokes.  Afterwards the log is
 * empty and its sequence advanced.  *count gets the number of transactions, 0 when the log was
 * clean.
 *
 * When fast commits follow (jnl_fast in journal/fast.h), they are left to whoever knows inodes.
 * They must be applied in one transaction, the first one, which no handle may restart, or in steps
 * before it (jnl_fast_step): a log that is closed without it has lost them, one that is killed
 * still has them and is as good as before.
 *
 * The superblock on disk may have changed: read it again, look at its features again, and clear its
 * RECOVER flag.  Buffers of replayed blocks that the cache holds have the new bytes and are
 * verified again by the next buf_get.  A writer may start handles at once. */
int jnl_recover(struct jnl *j, uint32_t *count);

/* ---- fast commits that are being applied (steps.c) ---- */

/* The log is empty: the next transaction may fill all of it. */
void jnl_fill_log(struct jnl *j);

/* Commits what runs and brings it home, with the fast commits that jnl_recover left still in force:
 * whoever recovers from here on applies all of them again.  No handle may be open. */
int jnl_fast_step(struct jnl *j);

/* Commits, checkpoints everything and marks the log empty; then frees, whatever happens.  Kind none
 * writes the cache's dirty buffers home.  Returns the first error. */
int jnl_close(struct jnl *j);

/* Frees without writing anything, as a power cut would.  Callbacks that wait get -ECANCELED; open
 * handles become invalid. */
void jnl_kill(struct jnl *j);

/* Writes an empty log: its superblock at log block 0, zeros behind it so that no older log can be
 * taken for its continuation.  incompat are JBD2_INCOMPAT bits; uuid is the filesystem's; fc_blocks
 * is the size of the fast-commit area, 0 for none. */
int jnl_format(const struct jnl_config *cfg, uint32_t incompat, const uint8_t uuid[16],
	       uint32_t fc_blocks);

bool jnl_is_none(const struct jnl *j);
int jnl_error(const struct jnl *j);

/* ---- handles ---- */

/* Starts a handle of credits blocks (plus rsv_credits for a reserved child), or joins the one that
 * user has open.  May commit and checkpoint first to make room.  -ENOSPC when the transaction could
 * never hold it, -EROFS after an abort. */
int handle_start(struct jnl *j, struct jnl_user *user, enum handle_type type, unsigned credits,
		 unsigned rsv_credits, unsigned revokes, struct handle **ret);

/* Starts the reserved child taken from a handle with handle_take_reserved. */
int handle_start_reserved(struct handle *h, struct jnl_user *user, enum handle_type type);
/* The child, which is the caller's from here; NULL when there is none.  One that is not taken ends
 * with its parent. */
struct handle *handle_take_reserved(struct handle *h);
/* Gives back a child that is not started: also after handle_start_reserved failed. */
void handle_free_reserved(struct handle *h);

/* More credits for the running transaction: 0 granted, 1 not possible, restart instead; negative
 * when the handle or the journal failed. */
int handle_extend(struct handle *h, unsigned credits, unsigned revokes);

/* Stop, commit if needed, start anew with credits: the caller's changes so far must be consistent.
 */
int handle_restart(struct handle *h, unsigned credits, unsigned revokes);

/* Ends one reference; the last one leaves the transaction, and commits it when h->sync. */
int handle_stop(struct handle *h);

/* The work of h failed with rc half way.  If the machine or the image failed (-EIO, -ENOMEM,
 * -EUCLEAN ...) after something was changed, the transaction must not commit: the journal is
 * aborted, and the disk stays at what was committed before.  Lack of room and other refusals that
 * whoever meets them undoes (-ENOSPC, -EEXIST ...) pass, unless the device failed meanwhile: its
 * -ENOSPC is no refusal.  Returns rc; harmless when rc is 0. */
int handle_spoil(struct handle *h, int rc);

/* handle_spoil and handle_stop; the first error. */
int handle_end(struct handle *h, int rc);

static inline bool handle_has_credits(const struct handle *h, unsigned need)
{
	return h->jnl == NULL || h->tx == NULL || h->credits >= need;
}

/* Mutable bytes of b for this handle; must precede any change. */
int handle_write(struct handle *h, struct buf *b, void **ret);

/* The same for a buffer of buf_new. */
int handle_create(struct handle *h, struct buf *b, void **ret);

/* Files b with the transaction.  Costs one credit the first time in a transaction.  The bytes are
 * changed already, so a failure aborts the journal: -ENOSPC when the handle has no credit left. */
int handle_dirty(struct handle *h, struct buf *b);

/* The block at pblk holds data of a file, bytes are all of it from now on: into the transaction
 * with them, as handle_dirty does.  Whoever reads the file must have the bytes himself until the
 * block is home; the cache then has it no more.  Not for kind none. */
int handle_log_data(struct handle *h, struct buf_owner owner, ek_pblk pblk, const void *bytes);

/* Where the newest contents of such a block are: on the device; in the log and to be brought home;
 * in the running transaction. */
enum jnl_place { JNL_HOME, JNL_LOGGED, JNL_RUNS };
enum jnl_place jnl_data_place(const struct jnl *j, ek_pblk pblk);
/* What is logged of the block was written home by whoever has the file's data, and the write is
 * done: no checkpoint needs to. */
void jnl_data_home(struct jnl *j, ek_pblk pblk);

/* Says that h changes, later, what the running transaction has filed and is behind of already
 * (buf_put_off): nothing has to be filed again. */
int handle_again(struct handle *h);

/* The metadata block was freed: the transaction forgets it and revokes it in the log, so that no
 * older transaction brings it back.  Costs one revoke credit, or a block credit for a block full of
 * them.  The buffer is dropped from the cache; the caller's reference on b (may be NULL: the cache
 * is asked) is consumed, also on failure. */
int handle_forget(struct handle *h, struct buf *b, ek_pblk pblk);

/* [start, end) bytes of the inode must be on disk before the transaction commits. */
int handle_order(struct handle *h, struct jnl_inode *ji, uint64_t start, uint64_t end,
		 bool wait_only);
/* The inode goes away or was truncated: nothing left to order. */
void jnl_unorder(struct jnl *j, struct jnl_inode *ji);

void handle_callback(struct handle *h, struct jnl_callback *cb);

/* ---- commits ---- */

uint32_t handle_tid(const struct handle *h);
/* Transaction that runs now, 0 when none; the last one committed. */
uint32_t jnl_running(const struct jnl *j);
uint32_t jnl_committed(const struct jnl *j);

/* a after b, modulo 2^32. */
static inline bool tid_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Commits tid and everything before it; 0 when it was committed already.  -EBUSY while handles are
 * open. */
int jnl_commit(struct jnl *j, uint32_t tid);
/* Commits the running transaction, if there is one: 1 when it did, 0 when there was none. */
int jnl_commit_running(struct jnl *j);

/* Time passed: commits a transaction older than the interval.  1 when it did, 0 when there was no
 * such. */
int jnl_tick(struct jnl *j);

/* Writes home what committed transactions hold and advances the tail: the oldest transaction, or
 * all of them, the running one included.  -EBUSY while handles are open. */
int jnl_checkpoint(struct jnl *j, bool all);

/* Writes home what committed transactions hold and the running one has not changed again, as a sync
 * of the device does, which waits or not; the tail in the log stays where it is until room is
 * needed.  -EBUSY while handles are open.  Kind none: all that is dirty. */
int jnl_write_home(struct jnl *j, bool waits);

/* When the first block became dirty on the device after it was last written home as a whole; 0:
 * nothing is.  Linux's flusher writes it when it is old enough. */
struct ek_time jnl_home_since(const struct jnl *j);

/* Kind none, for fsync: writes home the dirty buffers that inode ino owns; b, if it is dirty. */
int jnl_write_owned(struct jnl *j, uint32_t ino);
int jnl_write_one(struct jnl *j, struct buf *b);

/* True when the commit of tid is still to come and will flush the device: who waits for it needs no
 * flush of his own. */
bool jnl_will_send_barrier(const struct jnl *j, uint32_t tid);

/* The most blocks that a handle may ask for. */
uint32_t jnl_max_credits(const struct jnl *j);
/* The most records that a transaction spends an eighth of its blocks on: a step of a large removal.
 */
uint32_t jnl_revoke_step(const struct jnl *j);

#endif
