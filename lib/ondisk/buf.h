/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verified buffers: the only way to a metadata block.
 *
 * A buffer is got with the verifier that its contents must satisfy; a block that fails is never
 * seen by the caller.  Buffers are views for everyone except the holder of a journal handle, who
 * gets the mutable bytes from handle_write (journal/journal.h).  A dirty buffer is checked by the
 * same verifier and sealed before it leaves, for the log or for home.
 *
 * The cache keeps what it read up to a limit and drops clean, unreferenced buffers in the order of
 * last use.  Its device holds the filesystem at byte 0.
 */
#ifndef ONDISK_BUF_H
#define ONDISK_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <extkit/types.h>

#include "base/list.h"

struct bioq;
struct buf;
struct dev;
struct diag;
struct geom;

/* The inode that a block belongs to: its number and generation seed the checksum. */
struct buf_owner {
	uint32_t ino, generation;
};

struct verifier {
	const char *name; /* "extent block", for messages */
	/* 0, -EUCLEAN or -EBADMSG; b->data has geom->block_size bytes. */
	int (*check)(const struct geom *g, const struct buf *b, struct diag *d);
	/* Writes the checksum before the block leaves; NULL when it has none of its own. */
	void (*seal)(const struct geom *g, struct buf *b);
};

enum buf_flag {
	BUF_DIRTY = 1 << 0, /* differs from home and no transaction owns it: written by buf_flush */
	BUF_PINNED = 1 << 1, /* owned by the journal: not dropped, not written home by the cache */
	BUF_SEAL = 1 << 2,   /* changed since it was sealed */
	BUF_PROVED = 1 << 3 /* the owner's: more was proved of these bytes than the verifier asks */
};

/* Brings b's bytes up to what its owner knows. */
typedef void buf_late_fn(void *ctx, struct buf *b, uint32_t arg);

struct buf {
	ek_pblk pblk;
	uint8_t *data;
	uint32_t size;
	unsigned refs, flags;
	const struct verifier *ver;
	struct buf_owner owner;
	struct buf_cache *cache;
	struct buf *hash_next;
	struct list lru;   /* clean and unreferenced */
	struct list dirty; /* on the cache's dirty list */
	void *jnl;         /* the journal's record of this buffer, or NULL */
	buf_late_fn *late; /* what the owner has put off, or NULL */
	void *late_ctx;
	uint32_t late_arg;
	uint32_t page_round; /* of the cache, when its page of the device became dirty */
	uint32_t hint; /* the owner's about the bytes; 0 again when somebody may change them */
};

struct buf_cache;

/* Bytes of a block that nobody interprets: any contents pass. */
extern const struct verifier verify_any;

int buf_cache_open(struct dev *dev, const struct geom *g, size_t limit_bytes, struct diag *d,
		   struct buf_cache **ret);
/* Drops everything; dirty buffers are lost, so flush first. */
void buf_cache_close(struct buf_cache *cache);

/* A reference to the verified contents of a block.  While somebody holds or has changed it, it can
 * be had only with the same verifier and owner: -EUCLEAN else. */
int buf_get(struct buf_cache *cache, ek_pblk pblk, const struct verifier *ver,
	    struct buf_owner owner, struct buf **ret);

/* A reference to a zeroed buffer for a block just allocated; nothing is read.  -EUCLEAN when
 * somebody holds the block, or has changed it as something else: a bitmap that lies leads there. */
int buf_new(struct buf_cache *cache, ek_pblk pblk, const struct verifier *ver,
	    struct buf_owner owner, struct buf **ret);

/* The buffer if it is cached, without reading; else NULL. */
struct buf *buf_find(struct buf_cache *cache, ek_pblk pblk);

/* Reads up to n blocks that are not cached, from pblk on, in one request: for who is going to ask
 * for each of them.  A failure is no matter yet. */
#define BUF_AHEAD_MAX 16u
void buf_read_ahead(struct buf_cache *cache, ek_pblk pblk, uint32_t n);

struct buf *buf_ref(struct buf *b);
void buf_put(struct buf *b);

/* len bytes at off, or NULL when they are not all inside the buffer. */
static inline const void *buf_view(const struct buf *b, size_t off, size_t len)
{
	return off <= b->size && len <= b->size - off ? b->data + off : NULL;
}

/* Marks b dirty for buf_flush: only the journal, and code that builds an image without one. */
void buf_dirty(struct buf *b);
/* A transaction has b from here on. */
void buf_taken(struct buf *b);
/* b is home. */
void buf_clean(struct buf *b);
bool buf_any_dirty(const struct buf_cache *cache);

/* The block was freed: forget its contents, dirty or not.  The journal must have let go of it. */
void buf_forget(struct buf *b);

/* Puts a change off: fn runs once, before b is sealed or when the owner catches up, whichever comes
 * first.  Many changes of a block cost one then.  b must be dirty, and be read by its owner only.
 */
static inline void buf_put_off(struct buf *b, buf_late_fn *fn, void *ctx, uint32_t arg)
{
	b->late = fn;
	b->late_ctx = ctx;
	b->late_arg = arg;
}

static inline void buf_catch_up(struct buf *b)
{
	buf_late_fn *fn = b->late;

	b->late = NULL;
	if (fn != NULL)
		fn(b->late_ctx, b, b->late_arg);
}

/* Catches up, then runs the seal and the verifier if b changed since the last time. */
int buf_seal(struct buf *b);

/* Seals and writes all dirty buffers in block order, neighbours together; no device flush. */
int buf_flush(struct buf_cache *cache);

/* The dirty buffers whose owner is inode ino, or all, sealed and in block order: an array for
 * free(), and its length.  Whoever writes them home calls buf_clean. */
#define BUF_OF_ALL UINT32_MAX
int buf_collect(struct buf_cache *cache, uint32_t ino, struct buf ***ret, size_t *ret_n);

/* By block, as they lie on the device. */
void buf_sort(struct buf **bufs, size_t n);

/* What Linux's page cache of the device would say.  b has become dirty there: true when its page
 * was clean before.  A page stays dirty when single blocks of it are written, until the device is
 * synced as a whole. */
bool buf_dirties_page(struct buf *b);
void buf_pages_clean(struct buf_cache *cache);

struct dev *buf_cache_dev(struct buf_cache *cache);
const struct geom *buf_cache_geom(struct buf_cache *cache);

#endif
