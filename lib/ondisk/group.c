/* SPDX-License-Identifier: BSD-2-Clause */
/* Group descriptors: decode, encode, and their two kinds of checksum. */
#include "ondisk/group.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/diag.h"

static uint16_t group_csum(const struct geom *g, uint32_t group, const void *raw)
{
	const size_t at = offsetof(struct group_raw, bg_checksum);
	static const uint8_t zero[2];
	le32 number = le32_make(group);
	const uint8_t *p = raw;

	if (geom_csum(g)) {
		uint32_t c = crc32c(g->csum_seed, &number, sizeof(number));

		c = crc32c(c, p, at);
		c = crc32c(c, zero, sizeof(zero));
		if (g->desc_size > at + 2)
			c = crc32c(c, p + at + 2, g->desc_size - at - 2);
		return (uint16_t)c;
	}
	if (geom_ro_compat(g, RO_COMPAT_GDT_CSUM)) {
		uint16_t c = crc16(0xffff, g->uuid, sizeof(g->uuid));

		c = crc16(c, &number, sizeof(number));
		c = crc16(c, p, at);
		if (geom_incompat(g, INCOMPAT_64BIT) && g->desc_size > at + 2)
			c = crc16(c, p + at + 2, g->desc_size - at - 2);
		return c;
	}
	return 0;
}

static uint64_t wide32(le32 lo, le32 hi, bool wide)
{
	return le32_get(lo) | (wide ? (uint64_t)le32_get(hi) << 32 : 0);
}

static uint32_t wide16(le16 lo, le16 hi, bool wide)
{
	return le16_get(lo) | (wide ? (uint32_t)le16_get(hi) << 16 : 0);
}

static int decode_places(const struct geom *g, uint32_t group, const struct group_raw *r, bool wide,
			 struct diag *d, struct group_desc *out)
{
	char what[48];
	int rc;

	snprintf(what, sizeof(what), "descriptor of group %u", group);
	rc = geom_run(g, wide32(r->bg_block_bitmap_lo, r->bg_block_bitmap_hi, wide), 1, what, d,
		      &out->block_bitmap);
	if (rc == 0)
		rc = geom_run(g, wide32(r->bg_inode_bitmap_lo, r->bg_inode_bitmap_hi, wide), 1,
			      what, d, &out->inode_bitmap);
	if (rc == 0)
		rc = geom_run(g, wide32(r->bg_inode_table_lo, r->bg_inode_table_hi, wide),
			      g->itable_blocks, what, d, &out->inode_table);
	return rc;
}

static int check_counts(const struct geom *g, uint32_t group, const struct group_desc *x,
			struct diag *d)
{
	uint32_t clusters =
	    (geom_group_blocks(g, group) + (1u << g->cluster_bits) - 1) >> g->cluster_bits;

	if (x->free_clusters > clusters)
		return diag_set(
		    d, -EUCLEAN,
		    "corrupt descriptor of group %u: bg_free_blocks_count %u exceeds %u", group,
		    x->free_clusters, clusters);
	if (x->free_inodes > g->inodes_per_group)
		return diag_set(
		    d, -EUCLEAN,
		    "corrupt descriptor of group %u: bg_free_inodes_count %u exceeds %u", group,
		    x->free_inodes, g->inodes_per_group);
	if (geom_gdt_csum(g) && x->itable_unused > g->inodes_per_group)
		return diag_set(d, -EUCLEAN,
				"corrupt descriptor of group %u: bg_itable_unused %u exceeds %u",
				group, x->itable_unused, g->inodes_per_group);
	return 0;
}

int group_decode(const struct geom *g, uint32_t group, const void *raw, struct diag *d,
		 struct group_desc *ret)
{
	bool wide = g->desc_size >= 64;
	struct group_raw r;
	struct group_desc x;
	int rc;

	memset(&r, 0, sizeof(r));
	memcpy(&r, raw, MIN((size_t)g->desc_size, sizeof(r)));
	if (geom_gdt_csum(g) && le16_get(r.bg_checksum) != group_csum(g, group, raw))
		return diag_set(
		    d, -EBADMSG,
		    "bad checksum: descriptor of group %u: stored 0x%04x, computed 0x%04x", group,
		    le16_get(r.bg_checksum), group_csum(g, group, raw));
	rc = decode_places(g, group, &r, wide, d, &x);
	if (rc < 0)
		return rc;
	x.free_clusters = wide16(r.bg_free_blocks_count_lo, r.bg_free_blocks_count_hi, wide);
	x.free_inodes = wide16(r.bg_free_inodes_count_lo, r.bg_free_inodes_count_hi, wide);
	x.used_dirs = wide16(r.bg_used_dirs_count_lo, r.bg_used_dirs_count_hi, wide);
	x.itable_unused = wide16(r.bg_itable_unused_lo, r.bg_itable_unused_hi, wide);
	x.block_bitmap_csum = wide16(r.bg_block_bitmap_csum_lo, r.bg_block_bitmap_csum_hi, wide);
	x.inode_bitmap_csum = wide16(r.bg_inode_bitmap_csum_lo, r.bg_inode_bitmap_csum_hi, wide);
	x.flags = le16_get(r.bg_flags);
	if (!geom_gdt_csum(g)) {
		x.flags = 0;
		x.itable_unused = 0;
	}
	rc = check_counts(g, group, &x, d);
	if (rc < 0)
		return rc;
	*ret = x;
	return 0;
}

static void encode_high(const struct group_desc *x, struct group_raw *r)
{
	r->bg_block_bitmap_hi = le32_make((uint32_t)(x->block_bitmap.v >> 32));
	r->bg_inode_bitmap_hi = le32_make((uint32_t)(x->inode_bitmap.v >> 32));
	r->bg_inode_table_hi = le32_make((uint32_t)(x->inode_table.v >> 32));
	r->bg_free_blocks_count_hi = le16_make((uint16_t)(x->free_clusters >> 16));
	r->bg_free_inodes_count_hi = le16_make((uint16_t)(x->free_inodes >> 16));
	r->bg_used_dirs_count_hi = le16_make((uint16_t)(x->used_dirs >> 16));
	r->bg_itable_unused_hi = le16_make((uint16_t)(x->itable_unused >> 16));
	r->bg_block_bitmap_csum_hi = le16_make((uint16_t)(x->block_bitmap_csum >> 16));
	r->bg_inode_bitmap_csum_hi = le16_make((uint16_t)(x->inode_bitmap_csum >> 16));
}

void group_seal(const struct geom *g, uint32_t group, void *raw)
{
	le16 c;

	if (!geom_gdt_csum(g))
		return;
	c = le16_make(group_csum(g, group, raw));
	memcpy((uint8_t *)raw + offsetof(struct group_raw, bg_checksum), &c, sizeof(c));
}

void group_encode(const struct geom *g, uint32_t group, const struct group_desc *x, void *raw)
{
	size_t n = MIN((size_t)g->desc_size, sizeof(struct group_raw));
	struct group_raw r;

	memset(&r, 0, sizeof(r));
	memcpy(&r, raw, n);
	r.bg_block_bitmap_lo = le32_make((uint32_t)x->block_bitmap.v);
	r.bg_inode_bitmap_lo = le32_make((uint32_t)x->inode_bitmap.v);
	r.bg_inode_table_lo = le32_make((uint32_t)x->inode_table.v);
	r.bg_free_blocks_count_lo = le16_make((uint16_t)x->free_clusters);
	r.bg_free_inodes_count_lo = le16_make((uint16_t)x->free_inodes);
	r.bg_used_dirs_count_lo = le16_make((uint16_t)x->used_dirs);
	r.bg_block_bitmap_csum_lo = le16_make((uint16_t)x->block_bitmap_csum);
	r.bg_inode_bitmap_csum_lo = le16_make((uint16_t)x->inode_bitmap_csum);
	if (geom_gdt_csum(g)) {
		r.bg_flags = le16_make(x->flags);
		r.bg_itable_unused_lo = le16_make((uint16_t)x->itable_unused);
	}
	if (n >= sizeof(r))
		encode_high(x, &r);
	memcpy(raw, &r, n);
	group_seal(g, group, raw);
}

uint32_t group_bitmap_csum(const struct geom *g, const void *bitmap, uint32_t bits)
{
	return geom_csum(g) ? crc32c(g->csum_seed, bitmap, bits / 8) : 0;
}

bool group_bitmap_csum_ok(const struct geom *g, uint32_t stored, const void *bitmap, uint32_t bits)
{
	uint32_t c;

	if (!geom_csum(g))
		return true;
	c = group_bitmap_csum(g, bitmap, bits);
	return g->desc_size >= 64 ? stored == c : (stored & 0xffff) == (c & 0xffff);
}
