/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The buffer cache: a hash of blocks, a list of clean ones by last use, lists of dirty ones by
 * owner. Memory comes in slabs of buffers whose data is aligned for direct I/O.
 */
#include "ondisk/buf_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/dev.h"
#include "ondisk/geom.h"

#define SLAB_BYTES ((size_t)256 << 10)
#define HASH_MIN   1024u

static int check_any(const struct geom *g, const struct buf *b, struct diag *d)
{
	return 0;
}

const struct verifier verify_any = {"block", check_any, NULL};

int buf_cache_open(struct dev *dev, const struct geom *g, size_t limit_bytes, struct diag *d,
		   struct buf_cache **ret)
{
	struct buf_cache *c = mem_zero(sizeof(*c));

	if (c == NULL)
		return diag_set(d, -ENOMEM, "out of memory for the buffer cache");
	c->hash_size = HASH_MIN;
	c->hash = mem_array(c->hash_size, sizeof(*c->hash), MEM_CAP, d);
	if (c->hash == NULL) {
		free(c);
		return -ENOMEM;
	}
	c->dev = dev;
	c->geom = g;
	c->diag = d;
	c->limit = MAX(limit_bytes / g->block_size, (size_t)64);
	list_init(&c->lru);
	for (unsigned i = 0; i < DIRTY_LISTS; i++)
		list_init(&c->dirty[i]);
	c->page_round = 1;
	*ret = c;
	return 0;
}

void buf_cache_close(struct buf_cache *c)
{
	if (c == NULL)
		return;
	for (struct slab *s = c->slabs, *next; s != NULL; s = next) {
		next = s->next;
		free(s->data);
		free(s);
	}
	free(c->hash);
	free(c);
}

static uint32_t slot(const struct buf_cache *c, uint64_t block)
{
	return (uint32_t)((block * 0x9e3779b97f4a7c15ull) >> 32) & (c->hash_size - 1);
}

struct buf *buf_find(struct buf_cache *c, ek_pblk pblk)
{
	for (struct buf *b = c->hash[slot(c, pblk.v)]; b != NULL; b = b->hash_next) {
		if (b->pblk.v == pblk.v)
			return b;
	}
	return NULL;
}

static void hash_grow(struct buf_cache *c)
{
	uint32_t size = c->hash_size * 2, old = c->hash_size;
	struct buf **table = calloc(size, sizeof(*table)), **from = c->hash;

	if (table == NULL)
		return; /* longer chains are slower, not wrong */
	c->hash = table;
	c->hash_size = size;
	for (uint32_t i = 0; i < old; i++) {
		for (struct buf *b = from[i], *next; b != NULL; b = next) {
			uint32_t at = slot(c, b->pblk.v);

			next = b->hash_next;
			b->hash_next = table[at];
			table[at] = b;
		}
	}
	free(from);
}

static void hash_insert(struct buf_cache *c, struct buf *b)
{
	uint32_t at;

	if (c->count >= c->hash_size)
		hash_grow(c);
	at = slot(c, b->pblk.v);
	b->hash_next = c->hash[at];
	c->hash[at] = b;
	c->count++;
}

static void hash_remove(struct buf_cache *c, struct buf *b)
{
	struct buf **p = &c->hash[slot(c, b->pblk.v)];

	while (*p != b)
		p = &(*p)->hash_next;
	*p = b->hash_next;
	c->count--;
}

static int slab_add(struct buf_cache *c)
{
	uint32_t size = c->geom->block_size;
	size_t n = MAX(SLAB_BYTES / size, (size_t)1);
	struct slab *s = mem_zero(sizeof(*s) + n * sizeof(s->bufs[0]));

	if (s == NULL)
		return diag_set(c->diag, -ENOMEM, "out of memory for metadata buffers");
	s->data = mem_aligned(4096, n * size);
	if (s->data == NULL) {
		free(s);
		return diag_set(c->diag, -ENOMEM, "out of memory for metadata buffers");
	}
	for (size_t i = 0; i < n; i++) {
		s->bufs[i].data = s->data + i * size;
		s->bufs[i].size = size;
		s->bufs[i].cache = c;
		s->bufs[i].hash_next = c->free;
		c->free = &s->bufs[i];
	}
	s->next = c->slabs;
	c->slabs = s;
	return 0;
}

static void drop(struct buf *b)
{
	struct buf_cache *c = b->cache;

	hash_remove(c, b);
	list_remove(&b->lru);
	buf_undirty(b);
	b->hash_next = c->free;
	c->free = b;
}

/* A buffer that is in no list, with one reference. */
static int take(struct buf_cache *c, ek_pblk pblk, struct buf **ret)
{
	struct buf *b;

	if (c->count >= c->limit && !list_empty(&c->lru))
		drop(list_entry(c->lru.prev, struct buf, lru));
	if (c->free == NULL) {
		int rc = slab_add(c);

		if (rc < 0)
			return rc;
	}
	b = c->free;
	c->free = b->hash_next;
	b->pblk = pblk;
	b->refs = 1;
	b->flags = 0;
	b->ver = NULL;
	b->owner = (struct buf_owner){0, 0};
	b->jnl = NULL;
	b->late = NULL;
	b->hint = 0;
	b->page_round = 0;
	list_init(&b->lru);
	list_init(&b->dirty);
	hash_insert(c, b);
	*ret = b;
	return 0;
}

struct buf *buf_ref(struct buf *b)
{
	if (b->refs++ == 0)
		list_remove(&b->lru);
	return b;
}

void buf_put(struct buf *b)
{
	if (b == NULL || --b->refs > 0)
		return;
	if ((b->flags & (BUF_DIRTY | BUF_PINNED)) == 0)
		list_push(&b->cache->lru, &b->lru);
}

static bool same_owner(struct buf_owner a, struct buf_owner b)
{
	return a.ino == b.ino && a.generation == b.generation;
}

/* Somebody holds the block besides the caller, who has a reference, and the journal. */
static bool is_held(const struct buf *b)
{
	return b->refs > (b->jnl != NULL ? 2u : 1u);
}

/* Whoever else holds the block, or changed it, relies on the proof it has. */
static bool relied_upon(const struct buf *b)
{
	return b->ver != NULL && (is_held(b) || (b->flags & (BUF_DIRTY | BUF_PINNED)) != 0);
}

static int claimed_twice(const struct buf *b, const struct verifier *ver, struct buf_owner owner)
{
	return diag_set(b->cache->diag, -EUCLEAN,
			"corrupt image: block %llu is used as %s of inode %u and as %s of inode %u",
			(unsigned long long)b->pblk.v, b->ver->name, b->owner.ino, ver->name,
			owner.ino);
}

/* Contents are there; prove them for this caller unless that was done before. */
static int verify(struct buf *b, const struct verifier *ver, struct buf_owner owner)
{
	const struct verifier *old_ver = b->ver;
	struct buf_owner old_owner = b->owner;
	int rc;

	if (b->ver == ver && same_owner(b->owner, owner))
		return 0;
	if (relied_upon(b))
		return claimed_twice(b, ver, owner);
	b->ver = ver;
	b->owner = owner;
	b->flags &= ~(unsigned)BUF_PROVED;
	b->hint = 0;
	rc = ver->check(b->cache->geom, b, b->cache->diag);
	if (rc < 0) {
		b->ver = old_ver;
		b->owner = old_owner;
	}
	return rc;
}

static int load(struct buf_cache *c, ek_pblk pblk, struct buf **ret)
{
	struct buf *b;
	int rc = take(c, pblk, &b);

	if (rc < 0)
		return rc;
	rc = dev_read(c->dev, pblk.v << c->geom->block_bits, b->data, b->size);
	if (rc < 0) {
		drop(b);
		return rc;
	}
	*ret = b;
	return 0;
}

void buf_read_ahead(struct buf_cache *c, ek_pblk pblk, uint32_t n)
{
	struct iovec iov[BUF_AHEAD_MAX];
	struct buf *bufs[BUF_AHEAD_MAX];
	struct diag before = *c->diag;
	unsigned got = 0;
	int rc = -ENOENT;

	n = MIN(n, BUF_AHEAD_MAX);
	while (got < n && buf_find(c, (ek_pblk){pblk.v + got}) == NULL &&
	       take(c, (ek_pblk){pblk.v + got}, &bufs[got]) == 0) {
		iov[got] = (struct iovec){bufs[got]->data, bufs[got]->size};
		got++;
	}
	if (got > 1)
		rc = dev_readv(c->dev, pblk.v << c->geom->block_bits, iov, got);
	for (unsigned i = 0; i < got; i++) {
		if (rc == 0)
			buf_put(bufs[i]);
		else
			drop(bufs[i]);
	}
	if (rc < 0)
		*c->diag = before; /* who needs the block will meet the error */
}

int buf_get(struct buf_cache *c, ek_pblk pblk, const struct verifier *ver, struct buf_owner owner,
	    struct buf **ret)
{
	struct buf *b = buf_find(c, pblk);
	int rc;

	if (b != NULL) {
		buf_ref(b);
	} else {
		rc = load(c, pblk, &b);
		if (rc < 0)
			return rc;
	}
	rc = verify(b, ver, owner);
	if (rc < 0) {
		buf_put(b);
		return rc;
	}
	*ret = b;
	return 0;
}

int buf_new(struct buf_cache *c, ek_pblk pblk, const struct verifier *ver, struct buf_owner owner,
	    struct buf **ret)
{
	struct buf *b = buf_find(c, pblk);
	int rc;

	if (b != NULL) {
		buf_ref(b);
		if (relied_upon(b) &&
		    (is_held(b) || b->ver != ver || !same_owner(b->owner, owner))) {
			buf_put(b);
			return claimed_twice(b, ver, owner);
		}
	} else {
		rc = take(c, pblk, &b);
		if (rc < 0)
			return rc;
	}
	memset(b->data, 0, b->size);
	b->late = NULL;
	b->flags &= ~(unsigned)BUF_PROVED;
	b->hint = 0;
	b->ver = ver;
	b->owner = owner;
	*ret = b;
	return 0;
}

void buf_forget(struct buf *b)
{
	b->flags &= ~(unsigned)(BUF_DIRTY | BUF_SEAL);
	buf_undirty(b);
	b->late = NULL;
	b->ver = NULL;
	if (b->refs == 0)
		drop(b);
}

int buf_seal(struct buf *b)
{
	int rc;

	buf_catch_up(b);
	if ((b->flags & BUF_SEAL) == 0)
		return 0;
	if (b->ver->seal != NULL)
		b->ver->seal(b->cache->geom, b);
	rc = b->ver->check(b->cache->geom, b, b->cache->diag);
	if (rc == 0)
		b->flags &= ~(unsigned)BUF_SEAL;
	return rc;
}

struct dev *buf_cache_dev(struct buf_cache *c)
{
	return c->dev;
}

const struct geom *buf_cache_geom(struct buf_cache *c)
{
	return c->geom;
}
