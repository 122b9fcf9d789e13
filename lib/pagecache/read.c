/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads: folios are filled run by run of the mapping - holes, unwritten and delayed blocks as
 * zeros, written ones from the device in one vector - and sequential readers get a window that
 * doubles.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "io/bio.h"
#include "io/dev.h"
#include "pagecache/hooks.h"
#include "pagecache/pagecache.h"

static int read_blocks(struct folio *f, uint32_t from, const struct map *m)
{
	struct ek_inode *inode = f->map->inode;
	struct pagecache *pc = f->map->pc;
	unsigned bits = pc_block_bits(pc);
	uint8_t *to = f->data + ((size_t)from << bits);
	size_t n = (size_t)m->len << bits;

	if (m->state != MAP_MAPPED) {
		memset(to, 0, n);
		if (!inode_is_inline(inode) || m->lblk.v != 0)
			return 0;
		return inline_read(inode, 0, to, (size_t)MIN((uint64_t)n, inode->size));
	}
	/* Data of this place may still be on its way out. */
	if (pc->writes_in_flight != 0) {
		int rc = bioq_drain(pc->img->bioq);

		if (rc < 0)
			return rc;
	}
	count(pc->counters, COUNTER_DISK_RD_IOS, 1);
	count(pc->counters, COUNTER_DISK_RD_SECT, n >> 9);
	return dev_read(pc->img->dev, m->pblk.v << bits, to, n);
}

static void note_state(struct folio *f, uint32_t from, const struct map *m)
{
	folio_set(f, BLOCK_UPTODATE, from, m->len);
	if (m->state == MAP_HOLE)
		return;
	folio_set(f, BLOCK_MAPPED, from, m->len);
	if (m->state == MAP_IS_UNWRITTEN)
		folio_set(f, BLOCK_UNWRITTEN, from, m->len);
	if (m->state == MAP_IS_DELAYED)
		folio_set(f, BLOCK_DELAY, from, m->len);
}

int folio_read(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	struct ek_inode *inode = f->map->inode;
	uint32_t base = folio_lblk(f, pc_block_bits(f->map->pc)), end = from + n, at = from;

	while (at < end && (f->flags & FOLIO_UPTODATE) == 0) {
		struct map m = {.lblk = {base + at}};
		int rc;

		if (folio_test(f, BLOCK_UPTODATE, at)) {
			at += folio_run(f, BLOCK_UPTODATE, at);
			continue;
		}
		m.len = MIN(folio_run(f, BLOCK_UPTODATE, at), end - at);
		rc = map_lookup(t, inode, &m);
		if (rc == 0)
			rc = read_blocks(f, at, &m);
		if (rc < 0)
			return rc;
		note_state(f, at, &m);
		at += m.len;
	}
	if (folio_all(f, BLOCK_UPTODATE, 0, f->blocks))
		f->flags |= FOLIO_UPTODATE;
	return 0;
}

int folio_reread(struct task *t, struct folio *f)
{
	uint32_t base = folio_lblk(f, pc_block_bits(f->map->pc)), at = 0;

	while (at < f->blocks) {
		struct map m = {.lblk = {base + at}, .len = folio_run(f, BLOCK_UPTODATE, at)};
		int rc = 0;

		if (folio_test(f, BLOCK_UPTODATE, at)) {
			rc = map_lookup(t, f->map->inode, &m);
			if (rc == 0)
				rc = read_blocks(f, at, &m);
		}
		if (rc < 0)
			return rc;
		at += m.len;
	}
	return 0;
}

/* The folio that holds the page, with read-ahead: want pages of the file are asked for from there
 * on. */
static struct folio *read_folio(struct task *t, struct mapping *m, struct readahead *ra,
				uint32_t page, uint32_t want, int *rc)
{
	struct folio *f = mapping_find(m, page);

	if (f == NULL) {
		*rc = readahead_miss(t, m, ra, page, want);
		f = mapping_find(m, page);
	}
	if (f != NULL && *rc == 0 && (f->flags & FOLIO_READAHEAD) != 0) {
		*rc = readahead_mark(t, m, ra, f, want - (f->index > page ? f->index - page : 0));
		f = mapping_find(m, page);
	}
	/* In a small cache the end of the window may have pushed its beginning out. */
	if (f == NULL && *rc == 0)
		f = folio_make(m, page & ~((1u << m->pc->min_order) - 1), m->pc->min_order, rc);
	if (f == NULL || *rc < 0)
		return NULL;
	*rc = folio_back(t, f, true);
	if (*rc == 0 && (f->flags & FOLIO_UPTODATE) == 0)
		*rc = folio_read(t, f, 0, f->blocks);
	return *rc < 0 ? NULL : f;
}

/* Reads len bytes; want is the length that read-ahead is told. */
static int64_t read_range(struct task *t, struct mapping *m, struct readahead *ra, uint64_t pos,
			  uint64_t len, uint64_t want, uint8_t *to, bool spliced)
{
	uint64_t end = pos + MIN(len, m->inode->size - pos), done = 0;
	uint64_t asked =
	    (pos + MIN(want, UINT64_MAX - PAGE_BYTES - pos) + PAGE_BYTES - 1) >> PAGE_BITS;
	int rc = inode_touch_access(t, m->inode);

	while (rc == 0 && pos < end) {
		uint32_t page = (uint32_t)(pos >> PAGE_BITS);
		struct folio *f = read_folio(t, m, ra, page,
					     (uint32_t)MIN(asked - page, (uint64_t)INT32_MAX), &rc);
		uint64_t n;

		if (f == NULL)
			break;
		f->flags |= FOLIO_ACTIVE;
		n = MIN(end, folio_pos(f) + folio_bytes(f)) - pos;
		if (to != NULL)
			memcpy(to + done, f->data + (pos - folio_pos(f)), n);
		pos += n;
		done += n;
		if (spliced)
			ra->prev_pos = pos;
	}
	ra->prev_pos = pos;
	return rc < 0 && done == 0 ? rc : (int64_t)done;
}

/* All of it is cached, and nobody waits there for read-ahead to go on. */
static bool is_cached(struct mapping *m, uint64_t pos, uint64_t end)
{
	while (pos < end) {
		struct folio *f = mapping_find(m, (uint32_t)(pos >> PAGE_BITS));

		if (f == NULL || f->data == NULL || (f->flags & FOLIO_UPTODATE) == 0 ||
		    (f->flags & (FOLIO_READAHEAD | FOLIO_READING)) != 0)
			return false;
		f->flags |= FOLIO_ACTIVE;
		pos = folio_pos(f) + folio_bytes(f);
	}
	return true;
}

bool pc_reread(struct ek_inode *inode, uint64_t pos, uint64_t len, struct ek_time now,
	       struct readahead *ra)
{
	if (pos >= inode->size || len == 0 || !inode_shows_access(inode, now))
		return false;
	len = MIN(len, inode->size - pos);
	if (!is_cached(inode->mapping, pos, pos + len))
		return false;
	ra->prev_pos = pos + len;
	return true;
}

/* The most frequent read: bytes of the folio that was found last, which is there and was read
 * before, at a time that the file shows already.  How many: all, or 0 when it is another. */
static inline int64_t read_again(const struct ek_inode *inode, uint64_t pos, uint64_t len,
				 void *buf, struct readahead *ra)
{
	const unsigned known = FOLIO_UPTODATE | FOLIO_ACTIVE | FOLIO_READAHEAD | FOLIO_READING;
	const struct mapping *m = inode->mapping;
	const struct folio *f;
	uint64_t at;

	if (m == NULL || ra == NULL || (f = m->last) == NULL || f->data == NULL ||
	    (f->flags & known) != (FOLIO_UPTODATE | FOLIO_ACTIVE))
		return 0;
	at = pos - folio_pos(f);
	if (len - 1 >= folio_bytes(f) || at > folio_bytes(f) - len || pos + len > inode->size ||
	    !inode_shows_access(inode, image_now(inode->img)))
		return 0;
	if (buf != NULL)
		memcpy(buf, f->data + at, len);
	ra->prev_pos = pos + len;
	return (int64_t)len;
}

static __attribute__((noinline)) int64_t read_anew(struct task *t, struct ek_inode *inode,
						   uint64_t pos, uint64_t len, void *buf,
						   struct readahead *ra)
{
	struct mapping *m = mapping_of(inode);
	struct readahead own = {0};

	if (m == NULL)
		return -ENOMEM;
	if (pos >= inode->size || len == 0)
		return 0;
	return read_range(t, m, ra != NULL ? ra : &own, pos, len, len, buf, false);
}

int64_t pc_read(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len, void *buf,
		struct readahead *ra)
{
	int64_t n = read_again(inode, pos, len, buf, ra);

	return n != 0 ? n : read_anew(t, inode, pos, len, buf, ra);
}

int64_t pc_splice(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len, uint64_t want,
		  void *buf, struct readahead *ra)
{
	struct mapping *m = mapping_of(inode);

	if (m == NULL)
		return -ENOMEM;
	if (pos >= inode->size || len == 0)
		return 0;
	want = MIN(want, inode->size - pos);
	return read_range(t, m, ra, pos, len, want, buf, true);
}
