/* SPDX-License-Identifier: BSD-2-Clause */
/* Areas of attributes: proof, search, and changes that keep values packed at the end. */
#include "fs/xattr_format.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/crc.h"
#include "base/diag.h"

#define AREA_MAX 65536u /* the largest block */

static const struct {
	uint8_t index;
	const char *text;
} prefixes[] = {
    {2, "system.posix_acl_access"},
    {3, "system.posix_acl_default"},
    {8, "system.richacl"},
    {1, "user."},
    {4, "trusted."},
    {6, "security."},
    {7, "system."},
};

uint8_t xattr_prefix(const char *full, const char **rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i].text);
		bool whole = prefixes[i].text[n - 1] != '.';

		if (strncmp(full, prefixes[i].text, n) == 0 && (!whole || full[n] == '\0')) {
			*rest = full + n;
			return prefixes[i].index;
		}
	}
	return 0;
}

const char *xattr_prefix_text(uint8_t index)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (prefixes[i].index == index)
			return prefixes[i].text;
	}
	return NULL;
}

static uint32_t entry_size(uint32_t name_len)
{
	return (16 + name_len + 3) & ~3u;
}

static uint32_t value_room(uint32_t size)
{
	return (size + 3) & ~3u;
}

static struct xattr_entry *entry_at(const struct xattr_area *a, uint32_t off)
{
	return (struct xattr_entry *)(void *)(a->base + off);
}

static bool is_end(const struct xattr_area *a, uint32_t off)
{
	static const uint8_t zero[4];

	return off + 4 > a->size || memcmp(a->base + off, zero, 4) == 0;
}

static int bad(const char *where, uint64_t number, uint32_t off, const char *field, uint64_t value,
	       const char *why, struct diag *d)
{
	return diag_set(d, -EUCLEAN, "corrupt xattr: %s %llu offset %u: %s %llu %s", where,
			(unsigned long long)number, off, field, (unsigned long long)value, why);
}

struct xattr_entry *xattr_area_next(const struct xattr_area *a, uint32_t *at)
{
	struct xattr_entry *e;

	if (is_end(a, *at))
		return NULL;
	e = entry_at(a, *at);
	*at += entry_size(e->e_name_len);
	return e;
}

/* Changes move values in whole words and count on each having its own. */
static int prove_values(const struct xattr_area *a, uint32_t low, const char *where,
			uint64_t number, struct diag *d)
{
	uint64_t taken[AREA_MAX / 64]; /* a bit for each byte that is a value's */
	uint32_t at = a->first, here = at;
	const struct xattr_entry *e;

	assert(a->size <= AREA_MAX);
	memset(taken, 0, DIV_UP(a->size, 64u) * sizeof(*taken));
	for (; (e = xattr_area_next(a, &at)) != NULL; here = at) {
		uint32_t size = le32_get(e->e_value_size), pos = le16_get(e->e_value_offs);
		uint32_t end = pos + value_room(size);

		if (le32_get(e->e_value_inum) != 0 || size == 0)
			continue;
		if (size > a->size || value_room(size) > a->size ||
		    pos > a->size - value_room(size))
			return bad(where, number, here, "e_value_size", size, "runs past the area",
				   d);
		if (pos < low)
			return bad(where, number, here, "e_value_offs", pos,
				   "lies among the entries", d);
		if (bitmap_find_next_set(taken, end, pos) != end)
			return bad(where, number, here, "e_value_offs", pos,
				   "lies in another value", d);
		bitmap_set_range(taken, pos, end - pos);
	}
	return 0;
}

int xattr_area_verify(const struct xattr_area *a, const char *where, uint64_t number,
		      struct diag *d)
{
	uint32_t off = a->first, end = a->size;

	while (off + 4 <= end && !is_end(a, off)) {
		const struct xattr_entry *e = entry_at(a, off);

		if (off + 16 > end || off + entry_size(e->e_name_len) + 4 > end)
			return bad(where, number, off, "e_name_len", e->e_name_len,
				   "runs past the area", d);
		off += entry_size(e->e_name_len);
	}
	if (off + 4 > end)
		return bad(where, number, off, "entries", 0, "have no end mark", d);
	return prove_values(a, off + 4, where, number, d);
}

struct xattr_entry *xattr_area_find(const struct xattr_area *a, uint8_t index, const char *name,
				    uint32_t len)
{
	uint32_t at = a->first;
	struct xattr_entry *e;

	while ((e = xattr_area_next(a, &at)) != NULL) {
		if (e->e_name_index == index && e->e_name_len == len &&
		    memcmp(e->e_name, name, len) == 0)
			return e;
	}
	return NULL;
}

bool xattr_area_empty(const struct xattr_area *a)
{
	return is_end(a, a->first);
}

/* Where the entries end and where the lowest value begins. */
static void bounds(const struct xattr_area *a, uint32_t *last, uint32_t *low)
{
	uint32_t at = a->first;
	const struct xattr_entry *e;

	*low = a->size;
	while ((e = xattr_area_next(a, &at)) != NULL) {
		if (le32_get(e->e_value_inum) == 0 && le32_get(e->e_value_size) != 0)
			*low = MIN(*low, (uint32_t)le16_get(e->e_value_offs));
	}
	*last = at;
}

uint32_t xattr_area_low(const struct xattr_area *a)
{
	uint32_t last, low;

	bounds(a, &last, &low);
	return low;
}

uint32_t xattr_area_room(const struct xattr_area *a)
{
	uint32_t last, low;

	bounds(a, &last, &low);
	return low > last + 4 ? low - last - 4 : 0;
}

/* Takes a value out of the packed end: lower ones move up. */
static void drop_value(struct xattr_area *a, const struct xattr_entry *victim)
{
	uint32_t room = value_room(le32_get(victim->e_value_size));
	uint32_t pos = le16_get(victim->e_value_offs), low, last, at = a->first;
	struct xattr_entry *e;

	if (room == 0 || le32_get(victim->e_value_inum) != 0)
		return;
	bounds(a, &last, &low);
	memmove(a->base + low + room, a->base + low, pos - low);
	memset(a->base + low, 0, room);
	while ((e = xattr_area_next(a, &at)) != NULL) {
		uint32_t p = le16_get(e->e_value_offs);

		if (le32_get(e->e_value_inum) == 0 && le32_get(e->e_value_size) != 0 && p < pos)
			e->e_value_offs = le16_make((uint16_t)(p + room));
	}
}

static void drop_entry(struct xattr_area *a, struct xattr_entry *e)
{
	uint32_t size = entry_size(e->e_name_len), last, low;
	uint32_t off = (uint32_t)((uint8_t *)e - a->base);

	drop_value(a, e);
	bounds(a, &last, &low);
	memmove(a->base + off, a->base + off + size, last - off - size);
	memset(a->base + last - size, 0, size);
}

static int order(const struct xattr_entry *e, uint8_t index, const char *name, uint32_t len)
{
	if (e->e_name_index != index)
		return e->e_name_index < index ? -1 : 1;
	if (e->e_name_len != len)
		return e->e_name_len < len ? -1 : 1;
	return memcmp(e->e_name, name, len);
}

static uint32_t place_for(const struct xattr_area *a, uint8_t index, const char *name, uint32_t len,
			  bool sorted)
{
	uint32_t at = a->first, here = at;
	const struct xattr_entry *e;

	while ((e = xattr_area_next(a, &at)) != NULL) {
		if (sorted && order(e, index, name, len) > 0)
			break;
		here = at;
	}
	return here;
}

static uint32_t rol(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static uint32_t name_hash(const struct xattr_entry *e)
{
	uint32_t h = 0;

	for (uint32_t i = 0; i < e->e_name_len; i++)
		h = rol(h, 5) ^ (uint32_t)(unsigned char)e->e_name[i];
	return h;
}

static void put_value(struct xattr_area *a, struct xattr_entry *e, const struct xattr_value *value)
{
	uint32_t last, low, room = value_room(value->size);

	e->e_value_size = le32_make(value->size);
	if (value->inum != 0) {
		e->e_value_inum = le32_make(value->inum);
		e->e_hash = le32_make(rol(name_hash(e), 16) ^ value->hash);
		return;
	}
	if (value->size == 0)
		return;
	/* the entry has no place yet, so that its value does not count */
	e->e_value_size = le32_make(0);
	bounds(a, &last, &low);
	e->e_value_size = le32_make(value->size);
	low -= room;
	memset(a->base + low, 0, room);
	memcpy(a->base + low, value->bytes, value->size);
	e->e_value_offs = le16_make((uint16_t)low);
}

uint32_t xattr_need(uint32_t name_len, const struct xattr_value *value)
{
	return entry_size(name_len) + (value->inum == 0 ? value_room(value->size) : 0);
}

int xattr_area_set(struct xattr_area *a, uint8_t index, const char *name, uint32_t len,
		   const struct xattr_value *value, bool sorted)
{
	struct xattr_entry *old = xattr_area_find(a, index, name, len), *e;
	uint32_t last, low, gain = 0, off;

	bounds(a, &last, &low);
	if (old != NULL)
		gain = entry_size(len) + xattr_entry_room(old);
	if (value != NULL && low - last + gain < xattr_need(len, value) + 4)
		return -ENOSPC;
	if (old != NULL)
		drop_entry(a, old);
	if (value == NULL)
		return 0;
	bounds(a, &last, &low);
	off = place_for(a, index, name, len, sorted);
	memmove(a->base + off + entry_size(len), a->base + off, last - off);
	e = entry_at(a, off);
	memset(e, 0, entry_size(len));
	e->e_name_len = (uint8_t)len;
	e->e_name_index = index;
	memcpy(e->e_name, name, len);
	put_value(a, e, value);
	return 0;
}

/* ---- hashes ---- */

static uint32_t entry_hash(const uint8_t *block, const struct xattr_entry *e)
{
	uint32_t h = name_hash(e), size = le32_get(e->e_value_size);

	if (le32_get(e->e_value_inum) != 0)
		return le32_get(e->e_hash);
	for (uint32_t i = 0; i < value_room(size) / 4; i++) {
		le32 w;

		memcpy(&w, block + le16_get(e->e_value_offs) + (size_t)i * 4, 4);
		h = rol(h, 16) ^ le32_get(w);
	}
	return h;
}

void xattr_block_rehash(uint8_t *block, uint32_t size)
{
	struct xattr_area a = {block, XATTR_BLOCK_HEAD, size};
	struct xattr_head *head = (struct xattr_head *)(void *)block;
	uint32_t at = a.first, all = 0;
	struct xattr_entry *e;
	bool shared = true;

	while ((e = xattr_area_next(&a, &at)) != NULL) {
		uint32_t h = entry_hash(block, e);

		e->e_hash = le32_make(h);
		if (h == 0)
			shared = false;
		all = rol(all, 16) ^ h;
	}
	head->h_hash = le32_make(shared ? all : 0);
}

/* ---- the block ---- */

static uint32_t block_csum(const struct geom *g, const struct buf *b)
{
	static const uint8_t zero[4];
	const size_t at = offsetof(struct xattr_head, h_checksum);
	le64 number = le64_make(b->pblk.v);
	uint32_t c = crc32c(g->csum_seed, &number, sizeof(number));

	c = crc32c(c, b->data, at);
	c = crc32c(c, zero, sizeof(zero));
	return crc32c(c, b->data + at + 4, b->size - at - 4);
}

static int check_block(const struct geom *g, const struct buf *b, struct diag *d)
{
	const struct xattr_head *h = (const struct xattr_head *)(const void *)b->data;
	struct xattr_area a = {b->data, XATTR_BLOCK_HEAD, b->size};

	if (le32_get(h->h_magic) != XATTR_MAGIC)
		return bad("block", b->pblk.v, 0, "h_magic", le32_get(h->h_magic),
			   "is not 0xea020000", d);
	if (le32_get(h->h_blocks) != 1)
		return bad("block", b->pblk.v, 8, "h_blocks", le32_get(h->h_blocks), "is not 1", d);
	if (geom_csum(g) && le32_get(h->h_checksum) != block_csum(g, b))
		return diag_set(
		    d, -EBADMSG, "bad checksum: xattr block %llu: stored 0x%08x, computed 0x%08x",
		    (unsigned long long)b->pblk.v, le32_get(h->h_checksum), block_csum(g, b));
	return xattr_area_verify(&a, "block", b->pblk.v, d);
}

static void seal_block(const struct geom *g, struct buf *b)
{
	struct xattr_head *h = (struct xattr_head *)(void *)b->data;

	h->h_checksum = le32_make(geom_csum(g) ? block_csum(g, b) : 0);
}

const struct verifier verify_xattr_block = {"xattr block", check_block, seal_block};
