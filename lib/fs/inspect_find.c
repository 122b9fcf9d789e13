/* SPDX-License-Identifier: BSD-2-Clause */
/* What the words of an inspection stand for: where each structure lies and what seals it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"
#include "fs/dir_block.h"
#include "fs/inspect.h"
#include "fs/orphan_file.h"
#include "fs/xattr_format.h"
#include "io/dev.h"
#include "ondisk/group.h"
#include "ondisk/inode.h"
#include "ondisk/mmp.h"
#include "ondisk/super.h"

/* One inspection: whom to tell, and how many were told. */
struct search {
	found_fn *fn;
	void *arg;
	uint32_t index;
	struct unit unit; /* a block of a file, as the walk goes */
	bool index_root;  /* the next block of the folder is the root of its index */
};

static int tell(struct ek_inspect *ins, struct search *s, const struct unit *u,
		const struct field_table *table, uint32_t off)
{
	struct found f = {.unit = u, .table = table, .off = off, .index = s->index++};

	return s->fn(ins, &f, s->arg);
}

static int tell_named(struct ek_inspect *ins, struct search *s, const struct unit *u,
		      const struct field_table *table, uint32_t off, const char *name, uint32_t len)
{
	struct found f = {.unit = u,
			  .table = table,
			  .off = off,
			  .tail_name = name,
			  .tail_off = off + table->size,
			  .tail_len = len,
			  .index = s->index++};

	return s->fn(ins, &f, s->arg);
}

/* ---- superblock, groups, guard ---- */

static int find_super(struct ek_inspect *ins, uint64_t group, struct search *s)
{
	const struct geom *g = &ins->geom;
	uint8_t data[SUPER_SIZE];
	struct unit u = {.kind = UNIT_SUPER, .at = SUPER_OFFSET, .len = SUPER_SIZE, .data = data};
	int rc;

	if (group != 0) {
		if (group >= g->groups || !geom_has_super(g, (uint32_t)group))
			return diag_set(ins->diag, -ENOENT, "group %llu has no superblock",
					(unsigned long long)group);
		u.at = geom_group_start(g, (uint32_t)group).v << g->block_bits;
	}
	rc = dev_read(ins->dev, u.at, data, sizeof(data));
	return rc < 0 ? rc : tell(ins, s, &u, &field_super, 0);
}

static uint64_t group_at(const struct geom *g, uint32_t group)
{
	return (geom_gdt_block(g, group / g->descs_per_block).v << g->block_bits) +
	       (uint64_t)(group % g->descs_per_block) * g->desc_size;
}

static int find_group(struct ek_inspect *ins, uint64_t group, struct search *s)
{
	const struct geom *g = &ins->geom;
	uint8_t data[1024] = {0};
	struct unit u = {.kind = UNIT_GROUP, .len = g->desc_size, .data = data};
	int rc;

	if (group >= g->groups)
		return diag_set(ins->diag, -EINVAL, "group %llu: there are %u, from 0",
				(unsigned long long)group, g->groups);
	u.number = (uint32_t)group;
	u.at = group_at(g, u.number);
	rc = dev_read(ins->dev, u.at, data, g->desc_size);
	return rc < 0 ? rc : tell(ins, s, &u, &field_group, 0);
}

static int find_guard(struct ek_inspect *ins, struct search *s)
{
	uint8_t data[sizeof(struct mmp_raw)];
	struct unit u = {.kind = UNIT_GUARD, .len = sizeof(data), .data = data};
	int rc;

	if (ins->geom.guard_block == 0 || ins->geom.guard_block >= ins->geom.blocks)
		return diag_set(ins->diag, -ENOENT, "there is no mount guard");
	u.at = ins->geom.guard_block << ins->geom.block_bits;
	rc = dev_read(ins->dev, u.at, data, sizeof(data));
	return rc < 0 ? rc : tell(ins, s, &u, &field_guard, 0);
}

/* ---- inodes and what is theirs ---- */

/* The raw inode in memory of its own, as a unit. */
static int load_inode(struct ek_inspect *ins, uint64_t number, struct unit *ret)
{
	const struct geom *g = &ins->geom;
	struct unit u = {.kind = UNIT_INODE, .len = g->inode_size};
	struct group_raw raw = {0};
	uint64_t table;
	int rc;

	if (number == 0 || number > g->inodes)
		return diag_set(ins->diag, -EINVAL, "inode %llu: there are %u, from 1",
				(unsigned long long)number, g->inodes);
	u.number = (uint32_t)number;
	rc = dev_read(ins->dev, group_at(g, geom_inode_group(g, (ek_inum){u.number})), &raw,
		      MIN(sizeof(raw), (size_t)g->desc_size));
	if (rc < 0)
		return rc;
	table = le32_get(raw.bg_inode_table_lo) | (uint64_t)le32_get(raw.bg_inode_table_hi) << 32;
	if (table >= g->blocks || g->itable_blocks > g->blocks - table)
		return diag_set(ins->diag, -EUCLEAN,
				"corrupt descriptor of group %u: bg_inode_table %llu lies outside",
				geom_inode_group(g, (ek_inum){u.number}),
				(unsigned long long)table);
	u.at = (table << g->block_bits) +
	       (uint64_t)((u.number - 1) % g->inodes_per_group) * g->inode_size;
	u.data = mem_aligned(64, ROUND_UP((size_t)g->inode_size, 256));
	if (u.data == NULL)
		return diag_set(ins->diag, -ENOMEM, "out of memory for an inode");
	memset(u.data, 0, ROUND_UP((size_t)g->inode_size, 256));
	rc = dev_read(ins->dev, u.at, u.data, g->inode_size);
	if (rc < 0) {
		free(u.data);
		return rc;
	}
	*ret = u;
	return 0;
}

static const struct inode_raw *raw_inode(const struct unit *u)
{
	return (const struct inode_raw *)(const void *)u->data;
}

static int find_inode(struct ek_inspect *ins, const struct unit *u, struct search *s)
{
	return tell(ins, s, u, &field_inode, 0);
}

static int find_extents(struct ek_inspect *ins, const struct unit *u, struct search *s)
{
	if ((le32_get(raw_inode(u)->i_flags) & INODE_EXTENTS) == 0)
		return diag_set(ins->diag, -ENOENT, "inode %u has no extents", u->number);
	return inspect_extents(ins, u, s->fn, s->arg, &s->index);
}

/* Entries of an index, as many as it says and fit. */
static int tell_index(struct ek_inspect *ins, struct search *s, bool root)
{
	const struct field_table *table = root ? &field_dx_root : &field_dx_node;
	const struct field *count = field_named(table, "count");
	uint64_t n = field_get(table, count, s->unit.data);
	int rc = tell(ins, s, &s->unit, table, 0);

	n = MIN(n, (uint64_t)(s->unit.len - table->size) / 8 + 1);
	for (uint32_t i = 1; i < n && rc == 0; i++)
		rc = tell(ins, s, &s->unit, &field_dx_entry, table->size + 8 * (i - 1));
	return rc;
}

static int tell_names(struct ek_inspect *ins, struct search *s)
{
	const struct geom *g = &ins->geom;
	uint32_t off = 0, usable = dir_usable(g);
	int rc = 0;

	while (off + 8 <= usable && rc == 0) {
		const struct dirent_raw *e =
		    (const struct dirent_raw *)(const void *)(s->unit.data + off);
		uint32_t len = dir_rec_len(g, e);

		rc = tell_named(ins, s, &s->unit, &field_dirent, off, "name",
				MIN((uint32_t)e->name_len, usable - off - 8));
		if (len < 8 || len % 4 != 0)
			break; /* where the next one begins nobody knows */
		off += len;
	}
	if (rc == 0 && geom_csum(g))
		rc = tell(ins, s, &s->unit, &field_dir_tail, usable);
	return rc;
}

static int tell_dir_block(struct ek_inspect *ins, uint64_t lblk, uint64_t block, void *arg)
{
	struct search *s = arg;
	int rc = inspect_read_block(ins, block, "folder", s->unit.data);

	if (rc < 0)
		return rc;
	s->unit.at = block << ins->geom.block_bits;
	if (lblk == 0 && s->index_root)
		return tell_index(ins, s, true);
	return dir_block_is_index(&ins->geom, s->unit.data) ? tell_index(ins, s, false)
							    : tell_names(ins, s);
}

static int tell_orphans(struct ek_inspect *ins, uint64_t lblk, uint64_t block, void *arg)
{
	struct search *s = arg;
	int rc = inspect_read_block(ins, block, "orphan file", s->unit.data);

	(void)lblk;
	s->unit.at = block << ins->geom.block_bits;
	return rc < 0 ? rc
		      : tell(ins, s, &s->unit, &field_orphan_tail,
			     ins->geom.block_size - field_orphan_tail.size);
}

static int tell_log(struct ek_inspect *ins, uint64_t lblk, uint64_t block, void *arg)
{
	struct search *s = arg;
	int rc;

	if (lblk != 0)
		return 0;
	rc = inspect_read_block(ins, block, "log", s->unit.data);
	s->unit.at = block << ins->geom.block_bits;
	s->unit.kind = UNIT_LOG;
	s->unit.len = field_log_super.size;
	return rc < 0 ? rc : tell(ins, s, &s->unit, &field_log_super, 0);
}

/* Blocks of the file up to its size, one after the other into the search's buffer. */
static int each_block(struct ek_inspect *ins, const struct unit *u, const struct verifier *ver,
		      inspect_block_fn *fn, struct search *s)
{
	const struct inode_raw *raw = raw_inode(u);
	uint64_t size = le32_get(raw->i_size_lo) | (uint64_t)le32_get(raw->i_size_high) << 32;
	int rc;

	s->unit = (struct unit){.kind = UNIT_BLOCK,
				.len = ins->geom.block_size,
				.ver = ver,
				.owner = {u->number, le32_get(raw->i_generation)}};
	s->unit.data = mem_aligned(64, ins->geom.block_size);
	if (s->unit.data == NULL)
		return diag_set(ins->diag, -ENOMEM, "out of memory for a block");
	rc = inspect_file_blocks(ins, u->data, DIV_UP(size, (uint64_t)ins->geom.block_size), fn, s);
	free(s->unit.data);
	return rc;
}

static int find_dir(struct ek_inspect *ins, const struct unit *u, struct search *s)
{
	if (!S_ISDIR(le16_get(raw_inode(u)->i_mode)))
		return diag_set(ins->diag, -ENOENT, "inode %u is no folder", u->number);
	s->index_root = (le32_get(raw_inode(u)->i_flags) & INODE_INDEX) != 0;
	return each_block(ins, u, &verify_dir_block, tell_dir_block, s);
}

static int find_orphans(struct ek_inspect *ins, const struct unit *u, struct search *s)
{
	return each_block(ins, u, orphan_block_verifier(), tell_orphans, s);
}

static int find_log(struct ek_inspect *ins, const struct unit *u, struct search *s)
{
	return each_block(ins, u, NULL, tell_log, s);
}

/* ---- attributes ---- */

static int tell_entries(struct ek_inspect *ins, struct search *s, const struct unit *u,
			uint32_t first)
{
	uint32_t off = first;
	int rc = 0;

	while (off + sizeof(struct xattr_entry) <= u->len && rc == 0) {
		const struct xattr_entry *e =
		    (const struct xattr_entry *)(const void *)(u->data + off);

		if (e->e_name_len == 0 && e->e_name_index == 0 && le16_get(e->e_value_offs) == 0)
			break;
		rc = tell_named(ins, s, u, &field_xattr_entry, off, "e_name",
				MIN((uint32_t)e->e_name_len, u->len - off - (uint32_t)sizeof(*e)));
		off += ROUND_UP((uint32_t)sizeof(*e) + e->e_name_len, 4);
	}
	return rc;
}

static int find_xattr_block(struct ek_inspect *ins, const struct unit *inode, struct search *s)
{
	const struct inode_raw *raw = raw_inode(inode);
	uint64_t block = le32_get(raw->i_file_acl_lo) | (uint64_t)le16_get(raw->i_file_acl_high)
							    << 32;
	struct unit u = {
	    .kind = UNIT_BLOCK, .len = ins->geom.block_size, .ver = &verify_xattr_block};
	int rc;

	if (block == 0)
		return 0;
	u.data = mem_aligned(64, u.len);
	if (u.data == NULL)
		return diag_set(ins->diag, -ENOMEM, "out of memory for a block");
	u.at = block << ins->geom.block_bits;
	rc = inspect_read_block(ins, block, "attribute block", u.data);
	if (rc == 0)
		rc = tell(ins, s, &u, &field_xattr_block, 0);
	if (rc == 0)
		rc = tell_entries(ins, s, &u, XATTR_BLOCK_HEAD);
	free(u.data);
	return rc;
}

static int find_xattrs(struct ek_inspect *ins, const struct unit *u, struct search *s)
{
	const struct inode_raw *raw = raw_inode(u);
	uint32_t at = 128u + (u->len > 128 ? le16_get(raw->i_extra_isize) : 0);
	int rc = 0;

	if (at + 4 <= u->len &&
	    le32_get(*(const le32 *)(const void *)(u->data + ROUND_DOWN(at, 4))) == XATTR_MAGIC)
		rc = tell_entries(ins, s, u, ROUND_DOWN(at, 4) + 4);
	return rc != 0 ? rc : find_xattr_block(ins, u, s);
}

/* ---- words ---- */

typedef int inode_fn(struct ek_inspect *ins, const struct unit *u, struct search *s);

static int of_inode(struct ek_inspect *ins, uint64_t number, inode_fn *fn, struct search *s)
{
	struct unit u;
	int rc = load_inode(ins, number, &u);

	if (rc < 0)
		return rc;
	rc = fn(ins, &u, s);
	free(u.data);
	return rc;
}

static const struct {
	const char *word;
	inode_fn *fn;
} inode_words[] = {
    {"inode", find_inode},
    {"extents", find_extents},
    {"dir", find_dir},
    {"xattrs", find_xattrs},
};

static int bad_word(struct ek_inspect *ins, const char *what)
{
	char shown[80];

	return diag_set(ins->diag, -EINVAL,
			"'%s': want super, super:N, group:N, inode:N, extents:N, dir:N, xattrs:N, "
			"log, orphans or guard",
			escape_to(shown, sizeof(shown), what, strlen(what)));
}

static int lone_word(struct ek_inspect *ins, const char *what, size_t len, struct search *s)
{
	if (len == 5 && memcmp(what, "super", 5) == 0)
		return find_super(ins, 0, s);
	if (len == 5 && memcmp(what, "guard", 5) == 0)
		return find_guard(ins, s);
	if (len == 3 && memcmp(what, "log", 3) == 0)
		return ins->geom.journal_inum == 0
			   ? diag_set(ins->diag, -ENOENT, "there is no log inside")
			   : of_inode(ins, ins->geom.journal_inum, find_log, s);
	if (len == 7 && memcmp(what, "orphans", 7) == 0)
		return ins->geom.orphan_inum == 0
			   ? diag_set(ins->diag, -ENOENT, "there is no orphan file")
			   : of_inode(ins, ins->geom.orphan_inum, find_orphans, s);
	return bad_word(ins, what);
}

static int numbered_word(struct ek_inspect *ins, const char *what, size_t len, uint64_t number,
			 struct search *s)
{
	if (len == 5 && memcmp(what, "super", 5) == 0)
		return find_super(ins, number, s);
	if (len == 5 && memcmp(what, "group", 5) == 0)
		return find_group(ins, number, s);
	for (unsigned i = 0; i < ARRAY_SIZE(inode_words); i++) {
		if (strlen(inode_words[i].word) == len &&
		    memcmp(what, inode_words[i].word, len) == 0)
			return of_inode(ins, number, inode_words[i].fn, s);
	}
	return bad_word(ins, what);
}

int inspect_find(struct ek_inspect *ins, const char *what, found_fn *fn, void *arg)
{
	struct search s = {.fn = fn, .arg = arg};
	size_t len = strcspn(what, ":#");
	uint64_t number;
	char *end;

	if (what[len] != ':')
		return lone_word(ins, what, len, &s);
	errno = 0;
	number = strtoull(what + len + 1, &end, 10);
	if (errno != 0 || end == what + len + 1 || (*end != '\0' && *end != '#') ||
	    what[len + 1] < '0' || what[len + 1] > '9')
		return bad_word(ins, what);
	return numbered_word(ins, what, len, number, &s);
}
