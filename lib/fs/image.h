/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One open image: everything that is shared by its inodes.
 *
 * Order of locks, outermost first, for code that takes several: image (open, close, unmount);
 * rename; inode (folder before child, smaller number first); mapping (extent tree and extent status
 * of one inode); journal; group; buffer cache.  Today one lock on the image covers all of them; the
 * order is what callers may rely on.
 */
#ifndef FS_IMAGE_H
#define FS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

#include "alloc/groups.h"
#include "alloc/ialloc.h"
#include "alloc/mballoc.h"
#include "base/counters.h"
#include "base/diag.h"
#include "base/tap.h"
#include "journal/journal.h"
#include "ondisk/buf.h"
#include "ondisk/geom.h"
#include "ondisk/mmp.h"

struct bioq;
struct dev;
struct ek_inode;
struct fast_space;
struct inode_cache;
struct names;
struct orphan_file;
struct policy;
struct session;
struct xattr_inodes;

/* What differs with the owner of file data: the page cache above, or nobody (blocks are then read
 * and written in place).  All may be NULL. */
struct data_ops {
	/* [from, to) lies inside one block that is mapped or delayed: make it read as zeros. */
	int (*zero_partial)(void *ctx, struct ek_inode *inode, uint64_t from, uint64_t to);
	/* Cached data of [from, to) is gone: drop it.  Called before blocks are freed. */
	int (*invalidate)(void *ctx, struct ek_inode *inode, uint64_t from, uint64_t to);
	/* Dirty data of [from, to) must be on disk: called before ranges are shifted. */
	int (*write_out)(void *ctx, struct ek_inode *inode, uint64_t from, uint64_t to);
	/* Replaced by rename, or closed after a truncation to nothing: start writing what is
	 * delayed (auto_da_alloc). */
	int (*alloc_delayed)(void *ctx, struct ek_inode *inode);
	/* Ordered data at commit. */
	int (*ordered)(void *ctx, struct ek_inode *inode, uint64_t from, uint64_t to,
		       bool wait_only);
	/* The inode record changed in a way that puts the inode among those that a sync visits. */
	void (*dirtied)(void *ctx, struct ek_inode *inode);
	/* There are data of the inode that are nowhere else: it has to stay in memory. */
	bool (*is_dirty)(void *ctx, const struct ek_inode *inode);
	/* The inode leaves memory: free what hangs on inode->mapping. */
	void (*evict)(void *ctx, struct ek_inode *inode);
	void *ctx;
};

enum image_flag {
	IMAGE_WRITE = 1 << 0,
	IMAGE_NO_RECOVERY = 1 << 1 /* read what is there, ignore a dirty journal */
};

/* Mount options that change behaviour. */
struct image_opts {
	unsigned flags;
	uint64_t offset;          /* of the filesystem inside the device */
	unsigned cpus;            /* 1 */
	uint32_t commit_interval; /* seconds, 5 */
	size_t cache_bytes;       /* metadata buffers; 0: 64 MiB, 16 for readers */
	struct ek_time now;       /* the clock to begin with */
	uint32_t tick_ns;         /* see ek_image.tick_ns */
	uint32_t tick_phase;      /* the same */
	/* The device of an external journal, by its UUID; it stays the caller's, open until the
	 * image is closed.  -ENOENT: not known.  May be NULL. */
	int (*find_journal)(void *ctx, const uint8_t uuid[16], struct dev **ret);
	void *find_ctx;
	/* A transaction is about to be committed, nothing of it was written yet.  May be NULL. */
	void (*before_commit)(void *ctx);
	void *commit_ctx;
	const struct policy *policy; /* the caller's; NULL: policy_default */
	bool noauto_da_alloc;
	/* Fast commits are applied in steps of about that many blocks; 0: as many as the log has
	 * room for. */
	unsigned fast_step;
};

struct ek_image {
	struct dev *dev, *base; /* dev: the filesystem at 0; base: what was opened, or NULL */
	struct dev *overlay;   /* what lies under dev when a reader sees a replayed view, or NULL */
	struct dev *log_dev;   /* of an external journal, or NULL */
	struct dev *log_under; /* the same below log_dev, for a reader */
	struct bioq *log_bioq;
	struct geom geom;
	struct buf_cache *cache;
	struct buf *super_buf; /* block that holds the primary superblock */
	uint32_t super_off;    /* its offset in that block */
	struct bioq *bioq;
	struct jnl *jnl;
	struct groups groups;
	struct mb *mb;
	struct fast_space
	    *fast; /* gives and takes blocks while fast commits are applied, or NULL */
	struct ialloc ialloc;
	struct inode_cache *inodes;
	struct list orphans;             /* struct ek_inode.orphan, oldest last */
	struct orphan_file *orphan_file; /* NULL without the feature */
	struct buf_owner orphan_owner;
	struct counters counters;
	struct tap tap;
	struct diag diag;
	struct image_opts opts;
	struct data_ops data;
	struct ek_time now;   /* the clock: set by the replay, fixed for commands */
	uint32_t tick_ns;     /* timestamps advance in steps of this, 4 ms at HZ=250 */
	uint32_t tick_phase;  /* ns after a whole step, less than tick_ns */
	struct ek_time floor; /* the latest exact time that a file was given */
	struct {
		int64_t sec; /* in which now lies, from nanosecond from on and before to */
		uint32_t from, to;
		struct ek_time shown;
	} tick; /* the last that was asked for */
	uint32_t next_generation;
	uint64_t next_seq; /* stamps for ek_inode.seq */
	struct names *names;
	struct xattr_inodes *values; /* NULL until one is needed */
	int late_error; /* the first of deletions by a last reference, which returns nothing */
	bool writable, dirty_super;
	bool torn_super;         /* the superblock is half written: only the log can put it right */
	bool recovered;          /* a log was replayed when it was opened */
	bool recovering;         /* orphans are being processed: inodes without links may be read */
	bool sampled_open;       /* the first open of a file updates the superblock, like Linux */
	bool guarded;            /* the mount guard says that we write */
	struct mmp_raw guard;    /* what it goes back to */
	struct session *session; /* of the public API's caller, or NULL */
	struct diag *heir;       /* gets diag when the image goes; may be NULL */
};

/* Work in progress of one thread: what the kernel calls current. */
struct task {
	struct ek_image *img;
	struct jnl_user user;
	uint32_t uid, gid;
	uint32_t umask;
	unsigned cpu, pid;
	uint32_t goal_ino; /* the next new inode should have this number; 0: no wish */
	bool privileged;   /* may use the blocks reserved for root */
};

int image_open(struct dev *dev, const struct image_opts *opts, struct diag *d,
	       struct ek_image **ret);
/* Writes what is pending, marks the filesystem clean, frees.  The first error is returned. */
int image_close(struct ek_image *img);
/* Frees without writing: what a power cut leaves. */
void image_kill(struct ek_image *img);

/* Commits the journal, writes superblock counts: sync(2) without file data. */
int image_sync(struct task *t);

void task_init(struct task *t, struct ek_image *img);

/* Starts or joins a handle for t. */
int task_start(struct task *t, enum handle_type type, unsigned credits, struct handle **ret);
/* The same on behalf of an inode: counted as ext4_journal_start_inode; else _sb. */
int task_start_inode(struct task *t, struct ek_inode *inode, enum handle_type type,
		     unsigned credits, unsigned rsv, struct handle **ret);

static inline bool time_same(struct ek_time a, struct ek_time b)
{
	return a.sec == b.sec && a.nsec == b.nsec;
}

static inline bool time_before(struct ek_time a, struct ek_time b)
{
	return a.sec != b.sec ? a.sec < b.sec : a.nsec < b.nsec;
}

void image_find_tick(struct ek_image *img);

/* Coarse time of the image's clock: of its last tick, but never before an exact time that a file
 * was given.  Asked for each write, and the clock moves on with each: to divide then would be an
 * eighth of a small one. */
static inline struct ek_time image_now(struct ek_image *img)
{
	if (img->now.sec != img->tick.sec || img->now.nsec < img->tick.from ||
	    img->now.nsec >= img->tick.to)
		image_find_tick(img);
	return img->tick.shown;
}
/* The same of another time. */
struct ek_time image_coarse(const struct ek_image *img, struct ek_time now);

/* The superblock as it is in memory; a change goes through super_write. */
struct super_raw;
const struct super_raw *image_super(const struct ek_image *img);
int image_super_write(struct ek_image *img, struct handle *h, struct super_raw **ret);
/* Under a handle: what the first open of a file changes in the superblock (its mount point). */
int image_note_mount(struct ek_image *img, struct handle *h);
int image_super_dirty(struct ek_image *img, struct handle *h);
/* Under the task's handle: features that the first use of them turns on. */
int image_add_features(struct task *t, uint32_t compat, uint32_t ro_compat);

static inline bool image_wide_dirs(const struct ek_image *img)
{
	return geom_incompat(&img->geom, INCOMPAT_LARGEDIR);
}

#endif
