/* SPDX-License-Identifier: BSD-2-Clause */
/* Index blocks of folders: limits, counts, checksums, empty nodes and roots. */
#include <errno.h>
#include <string.h>

#include "base/crc.h"
#include "base/diag.h"
#include "fs/htree_probe.h"

static uint32_t tail_bytes(const struct geom *g)
{
	return geom_csum(g) ? 8 : 0;
}

static unsigned root_limit(const struct geom *g)
{
	return (g->block_size - HTREE_ROOT_ENTRIES - tail_bytes(g)) / 8;
}

static unsigned node_limit(const struct geom *g)
{
	return (g->block_size - HTREE_NODE_ENTRIES - tail_bytes(g)) / 8;
}

static bool counts_sane(const struct htree_entry *e, unsigned limit)
{
	return htree_limit(e) == limit && htree_count(e) >= 1 && htree_count(e) <= limit;
}

bool htree_root_plausible(const struct geom *g, const uint8_t *data)
{
	const struct htree_info *i = htree_info(data);

	return le32_get(i->reserved_zero) == 0 && i->info_length == 8 &&
	       counts_sane(htree_entries(data, HTREE_ROOT_ENTRIES), root_limit(g));
}

bool htree_node_plausible(const struct geom *g, const uint8_t *data)
{
	return counts_sane(htree_entries(data, HTREE_NODE_ENTRIES), node_limit(g));
}

uint32_t htree_entries_offset(const struct geom *g, const uint8_t *data)
{
	const struct dirent_raw *first = (const struct dirent_raw *)(const void *)data;

	return dir_rec_len(g, first) == 12 ? HTREE_ROOT_ENTRIES : HTREE_NODE_ENTRIES;
}

struct htree_tail {
	le32 reserved, checksum;
};

static struct htree_tail *tail_of(const struct geom *g, const uint8_t *data)
{
	uint32_t off = htree_entries_offset(g, data);

	return (struct htree_tail *)(void *)&htree_entries(
	    data, off)[htree_limit(htree_entries(data, off))];
}

static uint32_t index_csum(const struct geom *g, const struct buf *b)
{
	static const uint8_t zero[4];
	uint32_t off = htree_entries_offset(g, b->data);
	uint32_t c = inode_csum_seed(g, (ek_inum){b->owner.ino}, b->owner.generation);

	c = crc32c(c, b->data, off + htree_count(htree_entries(b->data, off)) * 8);
	c = crc32c(c, &tail_of(g, b->data)->reserved, 4);
	return crc32c(c, zero, sizeof(zero));
}

int htree_check_csum(const struct geom *g, const struct buf *b, struct diag *d)
{
	uint32_t stored = le32_get(tail_of(g, b->data)->checksum), want = index_csum(g, b);

	if (stored == want)
		return 0;
	return diag_set(
	    d, -EBADMSG,
	    "bad checksum: index block %llu of folder %u: stored 0x%08x, computed 0x%08x",
	    (unsigned long long)b->pblk.v, b->owner.ino, stored, want);
}

void htree_seal(const struct geom *g, struct buf *b)
{
	tail_of(g, b->data)->checksum = le32_make(index_csum(g, b));
}

static void set_limit(struct htree_entry *e, unsigned n)
{
	e[0].u.head.limit = le16_make((uint16_t)n);
}

struct htree_entry *htree_node_init(const struct geom *g, uint8_t *data)
{
	struct htree_entry *e = htree_entries(data, HTREE_NODE_ENTRIES);

	memset(data, 0, g->block_size);
	dir_set_rec_len(g, (struct dirent_raw *)(void *)data, g->block_size);
	set_limit(e, node_limit(g));
	return e;
}

void htree_root_init(const struct geom *g, uint8_t *data, unsigned version)
{
	struct dirent_raw *dotdot = (struct dirent_raw *)(void *)(data + 12);
	struct htree_entry *e = htree_entries(data, HTREE_ROOT_ENTRIES);
	struct htree_info *i = htree_info(data);

	dir_set_rec_len(g, dotdot, g->block_size - 12);
	memset(data + HTREE_INFO, 0, g->block_size - HTREE_INFO);
	i->hash_version = (uint8_t)version;
	i->info_length = 8;
	set_limit(e, root_limit(g));
	htree_set_count(e, 1);
	e[0].block = le32_make(1);
}
