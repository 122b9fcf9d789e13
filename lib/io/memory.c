/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices in memory: a hash table of pieces that were written.  What is in no piece is zero, or,
 * for an overlay, whatever the device under it says.
 *
 * The table has a lock for readers and writers.  Reading and overwriting a piece share it: two
 * calls on the same bytes at once are the callers' race, not ours.  Only adding or dropping a
 * piece, once in its life, excludes the others.
 */
#include "io/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/hash.h"
#include "io/dev_impl.h"

#define MEMORY_BITS  16
#define OVERLAY_BITS 12 /* small: an overlay copies a piece when one byte of it changes */

struct piece {
	struct hash_node node; /* key: the piece's number */
	bool zero;             /* reads as zeros and has no bytes */
	uint8_t bytes[];
};

struct memory {
	struct dev dev;
	struct hash pieces;
	unsigned bits;
	struct dev *under;    /* of an overlay, else NULL */
	uint64_t under_limit; /* from here on the bytes below are cut off and read as zeros */
	pthread_rwlock_t lock;
};

static const uint8_t zero_bytes[1 << OVERLAY_BITS];

static size_t piece_size(const struct memory *m)
{
	return (size_t)1 << m->bits;
}

/* How much of [off, off + len) lies in the piece that holds off. */
static size_t in_piece(const struct memory *m, uint64_t off, uint64_t len)
{
	return (size_t)MIN(len, piece_size(m) - (off & (piece_size(m) - 1)));
}

static struct piece *find(const struct memory *m, uint64_t off)
{
	struct hash_node *n = hash_find(&m->pieces, off >> m->bits);

	return n != NULL ? hash_entry(n, struct piece, node) : NULL;
}

/* Fills buf with what lies under the pieces. */
static int read_under(struct memory *m, uint64_t off, uint8_t *buf, size_t len)
{
	size_t n = 0;
	int r = 0;

	if (m->under != NULL && off < m->under_limit)
		n = (size_t)MIN(len, m->under_limit - off);
	if (n != 0)
		r = dev_read(m->under, off, buf, n);
	if (r == 0)
		memset(buf + n, 0, len - n);
	return r;
}

/* The length of the stretch at off, at most len, in which there is no piece. */
static size_t gap(const struct memory *m, uint64_t off, size_t len)
{
	size_t n = 0;

	while (n < len && find(m, off + n) == NULL)
		n += in_piece(m, off + n, len - n);
	return n;
}

static int memory_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	struct memory *m = (struct memory *)dev;
	uint8_t *to = buf;
	int r = 0;

	pthread_rwlock_rdlock(&m->lock);
	while (len != 0 && r == 0) {
		struct piece *p = find(m, off);
		size_t n = p != NULL ? in_piece(m, off, len) : gap(m, off, len);

		if (p == NULL)
			r = read_under(m, off, to, n);
		else if (p->zero)
			memset(to, 0, n);
		else
			memcpy(to, p->bytes + (off & (piece_size(m) - 1)), n);
		to += n;
		off += n;
		len -= n;
	}
	pthread_rwlock_unlock(&m->lock);
	return r;
}

/* The piece at off with bytes of its own, made if need be; the caller excludes all others.  fill
 * says that the caller will not overwrite all of it. */
static int own_piece(struct memory *m, uint64_t off, bool fill, struct piece **ret)
{
	uint64_t start = off >> m->bits << m->bits;
	struct piece *old = find(m, off), *p;
	int r = 0;

	if (old != NULL && !old->zero) {
		*ret = old;
		return 0;
	}
	p = malloc(sizeof(*p) + piece_size(m));
	if (p == NULL)
		return -ENOMEM;
	p->zero = false;
	if (old != NULL)
		memset(p->bytes, 0, piece_size(m));
	else if (fill)
		r = read_under(m, start, p->bytes, piece_size(m));
	if (r < 0) {
		free(p);
		return r;
	}
	if (old != NULL) {
		hash_remove(&m->pieces, &old->node);
		free(old);
	}
	hash_insert(&m->pieces, &p->node, start >> m->bits);
	*ret = p;
	return 0;
}

/* Puts n bytes into one piece. */
static int put(struct memory *m, uint64_t off, const uint8_t *from, size_t n)
{
	size_t at = (size_t)(off & (piece_size(m) - 1));
	struct piece *p;
	int r = 0;

	pthread_rwlock_rdlock(&m->lock);
	p = find(m, off);
	if (p == NULL || p->zero) {
		pthread_rwlock_unlock(&m->lock);
		pthread_rwlock_wrlock(&m->lock);
		r = own_piece(m, off, n < piece_size(m), &p);
	}
	if (r == 0)
		memcpy(p->bytes + at, from, n);
	pthread_rwlock_unlock(&m->lock);
	return r;
}

static int memory_write(struct dev *dev, uint64_t off, const void *buf, size_t len)
{
	struct memory *m = (struct memory *)dev;
	const uint8_t *from = buf;
	int r = 0;

	while (len != 0 && r == 0) {
		size_t n = in_piece(m, off, len);

		r = put(m, off, from, n);
		from += n;
		off += n;
		len -= n;
	}
	return r;
}

/* Makes a whole piece zero; the caller excludes all others. */
static int clear_piece(struct memory *m, uint64_t off)
{
	struct piece *p = find(m, off);

	if (p != NULL && p->zero)
		return 0;
	if (p != NULL) {
		hash_remove(&m->pieces, &p->node);
		free(p);
	}
	if (m->under == NULL || off >= m->under_limit)
		return 0;
	p = malloc(sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	p->zero = true;
	hash_insert(&m->pieces, &p->node, off >> m->bits);
	return 0;
}

/* Makes [off, off + n), which lies in one piece, zero. */
static int clear_part(struct memory *m, uint64_t off, size_t n)
{
	struct piece *p = find(m, off);
	int r;

	if (p == NULL && m->under == NULL)
		return 0;
	if (p != NULL && p->zero)
		return 0;
	r = own_piece(m, off, true, &p);
	if (r == 0)
		memset(p->bytes + (off & (piece_size(m) - 1)), 0, n);
	return r;
}

/* Frees the pieces that start in [from, to). */
static void drop_pieces(struct memory *m, uint64_t from, uint64_t to)
{
	struct hash old = m->pieces;
	struct hash_node *n;
	size_t at = 0;

	m->pieces = (struct hash){0};
	while ((n = hash_pop(&old, &at)) != NULL) {
		uint64_t start = n->key << m->bits;

		if (start < from || start >= to)
			hash_insert(&m->pieces, n, n->key);
		else
			free(hash_entry(n, struct piece, node));
	}
	hash_free(&old);
}

/* Zeroes a first part of [off, off + len), whose length it returns in *ret: a piece or less, or,
 * where nothing lies under and the stretch has more pieces than the table, all its whole pieces. */
static int clear_some(struct memory *m, uint64_t off, uint64_t len, uint64_t *ret)
{
	size_t n = in_piece(m, off, len);
	bool bare = m->under == NULL || off >= m->under_limit;

	*ret = n;
	if (n < piece_size(m))
		return clear_part(m, off, n);
	if (!bare || len >> m->bits <= m->pieces.count)
		return clear_piece(m, off);
	*ret = len >> m->bits << m->bits;
	drop_pieces(m, off, off + *ret);
	return 0;
}

static int memory_zero(struct dev *dev, uint64_t off, uint64_t len)
{
	struct memory *m = (struct memory *)dev;
	int r = 0;

	pthread_rwlock_wrlock(&m->lock);
	while (len != 0 && r == 0) {
		uint64_t n;

		r = clear_some(m, off, len, &n);
		off += n;
		len -= n;
	}
	pthread_rwlock_unlock(&m->lock);
	return r;
}

static int memory_resize(struct dev *dev, uint64_t size)
{
	struct memory *m = (struct memory *)dev;
	size_t tail = in_piece(m, size, UINT64_MAX);
	int r = 0;

	if (size >= dev->size)
		return 0;
	pthread_rwlock_wrlock(&m->lock);
	m->under_limit = MIN(m->under_limit, size);
	if (tail < piece_size(m) && find(m, size) != NULL)
		r = clear_part(m, size, tail);
	if (r == 0)
		drop_pieces(m, size, UINT64_MAX);
	pthread_rwlock_unlock(&m->lock);
	return r;
}

static void memory_close(struct dev *dev)
{
	struct memory *m = (struct memory *)dev;

	drop_pieces(m, 0, UINT64_MAX);
	hash_free(&m->pieces);
	pthread_rwlock_destroy(&m->lock);
}

static const struct dev_ops memory_ops = {
    .name = "memory",
    .read = memory_read,
    .write = memory_write,
    .discard = memory_zero,
    .zero = memory_zero,
    .resize = memory_resize,
    .close = memory_close,
};

const void *memory_next(struct dev *dev, const void **pos, uint64_t *ret_off, size_t *ret_len)
{
	struct memory *m = (struct memory *)dev;
	struct hash_node *n = hash_next(&m->pieces, *pos);
	struct piece *p;

	if (n == NULL)
		return NULL;
	p = hash_entry(n, struct piece, node);
	*pos = n;
	*ret_off = n->key << m->bits;
	*ret_len = piece_size(m);
	return p->zero ? zero_bytes : p->bytes;
}

static struct memory *memory_new(const char *name, unsigned bits, struct diag *d)
{
	struct memory *m = dev_new(sizeof(*m), &memory_ops, name, d);

	if (m == NULL)
		return NULL;
	pthread_rwlock_init(&m->lock, NULL);
	m->dev.writable = true;
	m->bits = bits;
	return m;
}

int dev_open_memory(uint64_t size, struct diag *d, struct dev **ret)
{
	struct memory *m = memory_new("memory", MEMORY_BITS, d);

	if (m == NULL)
		return -ENOMEM;
	m->dev.size = size;
	*ret = &m->dev;
	return 0;
}

int dev_open_overlay(struct dev *under, struct dev **ret)
{
	struct memory *m = memory_new(under->name, OVERLAY_BITS, under->diag);

	if (m == NULL)
		return -ENOMEM;
	m->dev.size = under->size;
	m->dev.sector = under->sector;
	m->under = under;
	m->under_limit = under->size;
	*ret = &m->dev;
	return 0;
}
