/* SPDX-License-Identifier: BSD-2-Clause */
/* Folder blocks: verification, search, insertion into gaps, removal by joining. */
#include "fs/dir_block.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/diag.h"
#include "fs/htree.h"
#include "ondisk/inode.h"

#define ENTRY_MIN 12u /* the shortest entry there is */

uint32_t dir_usable(const struct geom *g)
{
	return g->block_size - (geom_csum(g) ? (uint32_t)sizeof(struct dir_tail) : 0);
}

uint32_t dir_rec_len(const struct geom *g, const struct dirent_raw *e)
{
	uint32_t len = le16_get(e->rec_len);

	if (g->block_size == 65536 && (len == 65535 || len == 0))
		return 65536;
	return len;
}

void dir_set_rec_len(const struct geom *g, struct dirent_raw *e, uint32_t len)
{
	e->rec_len = le16_make((uint16_t)(len == 65536 ? 65535 : len));
}

static struct dirent_raw *entry_at(const uint8_t *data, uint32_t off)
{
	return (struct dirent_raw *)(uintptr_t)(data + off);
}

static struct dir_tail *tail_of(const struct geom *g, const uint8_t *data)
{
	return (struct dir_tail *)(uintptr_t)(data + dir_usable(g));
}

static bool has_tail(const struct geom *g, const uint8_t *data)
{
	const struct dir_tail *t = tail_of(g, data);

	return geom_csum(g) && le32_get(t->zero) == 0 && le16_get(t->rec_len) == sizeof(*t) &&
	       t->zero_len == 0 && t->type == DIR_TAIL_TYPE;
}

/* ---- verification ---- */

static int bad_entry(const struct buf *b, uint32_t off, struct diag *d, const char *field,
		     uint32_t value, const char *why, uint32_t limit)
{
	return diag_set(d, -EUCLEAN, "corrupt dirent: inode %u block %llu offset %u: %s %u %s %u",
			b->owner.ino, (unsigned long long)b->pblk.v, off, field, value, why, limit);
}

static int check_entry(const struct geom *g, const struct buf *b, uint32_t off, uint32_t end,
		       struct diag *d)
{
	const struct dirent_raw *e = entry_at(b->data, off);
	uint32_t len = dir_rec_len(g, e);

	if (len < ENTRY_MIN)
		return bad_entry(b, off, d, "rec_len", len, "is below the minimum", ENTRY_MIN);
	if ((len & 3) != 0)
		return bad_entry(b, off, d, "rec_len", len, "is not a multiple of", 4);
	if (len > end - off)
		return bad_entry(b, off, d, "rec_len", len, "exceeds the room", end - off);
	if (8u + e->name_len > len)
		return bad_entry(b, off, d, "name_len", e->name_len,
				 "exceeds rec_len - 8 =", len - 8);
	if (le32_get(e->inode) > g->inodes)
		return bad_entry(b, off, d, "inode", le32_get(e->inode), "exceeds", g->inodes);
	if (le32_get(e->inode) != 0 && e->name_len == 0)
		return bad_entry(b, off, d, "name_len", 0, "with inode", le32_get(e->inode));
	return 0;
}

static uint32_t leaf_csum(const struct geom *g, const struct buf *b)
{
	uint32_t seed = inode_csum_seed(g, (ek_inum){b->owner.ino}, b->owner.generation);

	return crc32c(seed, b->data, dir_usable(g));
}

static int check_csum(const struct geom *g, const struct buf *b, struct diag *d)
{
	uint32_t stored, want;

	if (!geom_csum(g))
		return 0;
	if (dir_block_is_index(g, b->data))
		return htree_check_csum(g, b, d);
	if (!has_tail(g, b->data))
		return diag_set(d, -EUCLEAN,
				"corrupt folder block: inode %u block %llu: no room for a checksum",
				b->owner.ino, (unsigned long long)b->pblk.v);
	stored = le32_get(tail_of(g, b->data)->checksum);
	want = leaf_csum(g, b);
	if (stored != want)
		return diag_set(d, -EBADMSG,
				"bad checksum: folder block %llu of inode %u: stored 0x%08x, "
				"computed 0x%08x",
				(unsigned long long)b->pblk.v, b->owner.ino, stored, want);
	return 0;
}

static int check_block(const struct geom *g, const struct buf *b, struct diag *d)
{
	uint32_t usable = dir_block_is_index(g, b->data) ? b->size : dir_usable(g);

	for (uint32_t off = 0; off < b->size;) {
		int rc = check_entry(g, b, off, off < usable ? usable : b->size, d);

		if (rc < 0)
			return rc;
		off += dir_rec_len(g, entry_at(b->data, off));
	}
	return check_csum(g, b, d);
}

static void seal_block(const struct geom *g, struct buf *b)
{
	if (!geom_csum(g))
		return;
	if (dir_block_is_index(g, b->data))
		htree_seal(g, b);
	else
		tail_of(g, b->data)->checksum = le32_make(leaf_csum(g, b));
}

const struct verifier verify_dir_block = {"folder block", check_block, seal_block};

bool dir_block_is_index(const struct geom *g, const uint8_t *data)
{
	const struct dirent_raw *first = entry_at(data, 0), *second;

	if (le32_get(first->inode) == 0 && dir_rec_len(g, first) == g->block_size)
		return htree_node_plausible(g, data);
	if (dir_rec_len(g, first) != 12)
		return false;
	second = entry_at(data, 12);
	return dir_rec_len(g, second) == g->block_size - 12 && htree_root_plausible(g, data);
}

/* ---- contents ---- */

void dir_tail_init(const struct geom *g, uint8_t *data)
{
	struct dir_tail *t = tail_of(g, data);

	if (!geom_csum(g))
		return;
	memset(t, 0, sizeof(*t));
	t->rec_len = le16_make(sizeof(*t));
	t->type = DIR_TAIL_TYPE;
}

void dir_block_init(const struct geom *g, uint8_t *data)
{
	memset(data, 0, g->block_size);
	dir_set_rec_len(g, entry_at(data, 0), dir_usable(g));
	dir_tail_init(g, data);
}

/* In a verified block only a length of 65,536 is stored as anything else. */
static inline uint32_t step_over(const struct dirent_raw *e)
{
	uint16_t len = le16_get(e->rec_len);

	return (uint16_t)(len - 1) >= 65534 ? 65536 : len;
}

/* What a name is compared with: names of a folder are often as long as one another and differ late,
 * so that the 8 bytes up to their ends go first.  Of a shorter name they begin in the entry's head,
 * which mask leaves out. */
struct sought {
	const char *name;
	size_t len;
	uint64_t end, mask;
};

static inline uint64_t end_of(const struct dirent_raw *e, size_t len)
{
	le64 v;

	memcpy(&v, (const uint8_t *)e + sizeof(*e) + len - sizeof(v), sizeof(v));
	return le64_get(v);
}

static struct sought seek(const char *name, uint32_t len)
{
	struct sought s = {.name = name, .len = len, .mask = UINT64_MAX};
	uint32_t n = MIN(len, (uint32_t)sizeof(s.end));
	uint8_t *end = (uint8_t *)&s.end + sizeof(s.end) - n;
	le64 v;

	if (n < sizeof(s.mask))
		s.mask = n == 0 ? 0 : ~(UINT64_MAX >> 8 * n);
	memcpy(end, name + len - n, n);
	memcpy(&v, &s.end, sizeof(v));
	s.end = le64_get(v);
	return s;
}

static inline bool may_be(const struct sought *s, const struct dirent_raw *e)
{
	return e->name_len == s->len && ((end_of(e, s->len) ^ s->end) & s->mask) == 0;
}

static bool is_sought(const struct sought *s, const struct dirent_raw *e)
{
	return le32_get(e->inode) != 0 && memcmp(e->name, s->name, s->len) == 0;
}

struct dirent_raw *dir_block_find(const struct geom *g, uint8_t *data, const char *name,
				  uint32_t len, struct dirent_raw **prev)
{
	const struct sought s = seek(name, len);
	uint32_t end = dir_usable(g);
	struct dirent_raw *before = NULL;

	for (uint32_t off = 0; off < end;) {
		struct dirent_raw *e = entry_at(data, off);

		if (may_be(&s, e) && is_sought(&s, e)) {
			if (prev != NULL)
				*prev = before;
			return e;
		}
		before = e;
		off += step_over(e);
	}
	return NULL;
}

/* Splits a live entry so that its slack becomes a free entry, which is returned. */
static struct dirent_raw *split_slack(const struct geom *g, struct dirent_raw *e)
{
	uint32_t own = dir_entry_size(e->name_len), all = dir_rec_len(g, e);
	struct dirent_raw *free_one = (struct dirent_raw *)(void *)((uint8_t *)e + own);

	dir_set_rec_len(g, e, own);
	memset(free_one, 0, sizeof(*free_one));
	dir_set_rec_len(g, free_one, all - own);
	return free_one;
}

/* Bytes that an entry does not need itself. */
static inline uint32_t slack(const struct dirent_raw *e)
{
	uint32_t len = step_over(e);

	return le32_get(e->inode) == 0 ? len : len - dir_entry_size(e->name_len);
}

int dir_block_gap(const struct geom *g, const uint8_t *data, uint32_t len, uint32_t *from,
		  uint32_t *ret)
{
	uint32_t need = dir_entry_size(len), end = dir_usable(g), room;
	bool first = true;

	for (uint32_t off = *from; off < end; off += step_over(entry_at(data, off))) {
		room = slack(entry_at(data, off));
		if (room < ENTRY_MIN)
			continue;
		if (first)
			*from = off;
		first = false;
		if (room >= need) {
			*ret = off;
			return 0;
		}
	}
	return -ENOSPC;
}

void dir_block_fill(const struct geom *g, uint8_t *data, uint32_t at, const char *name,
		    uint32_t len, uint32_t ino, uint8_t type)
{
	struct dirent_raw *gap = entry_at(data, at);

	if (le32_get(gap->inode) != 0)
		gap = split_slack(g, gap);
	gap->inode = le32_make(ino);
	gap->name_len = (uint8_t)len;
	gap->file_type = geom_incompat(g, INCOMPAT_FILETYPE) ? type : 0;
	memcpy(gap->name, name, len);
}

void dir_block_dots(const struct geom *g, uint8_t *data, uint32_t ino, uint32_t parent)
{
	dir_block_fill(g, data, 0, ".", 1, ino, DIRENT_DIR);
	dir_block_fill(g, data, 0, "..", 2, parent, DIRENT_DIR);
}

void dir_block_remove(const struct geom *g, struct dirent_raw *e, struct dirent_raw *prev)
{
	size_t keep = prev != NULL ? 0 : offsetof(struct dirent_raw, name_len);
	uint32_t len = dir_rec_len(g, e);

	if (prev != NULL)
		dir_set_rec_len(g, prev, dir_rec_len(g, prev) + len);
	else
		e->inode = le32_make(0);
	memset((uint8_t *)e + keep, 0, len - keep); /* names are wiped, since Linux 5.13 */
}
