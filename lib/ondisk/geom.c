/* SPDX-License-Identifier: BSD-2-Clause */
/* Geometry: derives the shape of a filesystem from its superblock and guards every address. */
#include "ondisk/geom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "ondisk/super.h"

static uint64_t join(le32 lo, le32 hi, bool wide)
{
	return le32_get(lo) | (wide ? (uint64_t)le32_get(hi) << 32 : 0);
}

static void geom_features(const struct super_raw *sb, struct geom *g)
{
	bool rev0 = le32_get(sb->s_rev_level) == 0;

	g->compat = rev0 ? 0 : le32_get(sb->s_feature_compat);
	g->incompat = rev0 ? 0 : le32_get(sb->s_feature_incompat);
	g->ro_compat = rev0 ? 0 : le32_get(sb->s_feature_ro_compat);
	g->inode_size = rev0 ? 128 : le16_get(sb->s_inode_size);
	g->first_ino = rev0 ? INUM_FIRST : MAX(le32_get(sb->s_first_ino), INUM_FIRST);
	g->desc_size = (g->incompat & INCOMPAT_64BIT) != 0 ? le16_get(sb->s_desc_size) : 32;
	g->log_flex = (g->incompat & INCOMPAT_FLEX_BG) != 0 && sb->s_log_groups_per_flex < 31
			  ? sb->s_log_groups_per_flex
			  : 0;
	g->cluster_bits =
	    (g->ro_compat & RO_COMPAT_BIGALLOC) != 0
		? (uint8_t)(le32_get(sb->s_log_cluster_size) - le32_get(sb->s_log_block_size))
		: 0;
}

static void geom_identity(const struct super_raw *sb, struct geom *g)
{
	unsigned unsigned_hash = (le32_get(sb->s_flags) & SUPER_FLAG_UNSIGNED_HASH) != 0 ? 3 : 0;

	memcpy(g->uuid, sb->s_uuid, sizeof(g->uuid));
	g->csum_seed = (g->incompat & INCOMPAT_CSUM_SEED) != 0
			   ? le32_get(sb->s_checksum_seed)
			   : crc32c(~0u, sb->s_uuid, sizeof(sb->s_uuid));
	for (unsigned i = 0; i < 4; i++)
		g->hash_seed[i] = le32_get(sb->s_hash_seed[i]);
	g->hash_version = sb->s_def_hash_version;
	if (g->hash_version <= 2)
		g->hash_version = (uint8_t)(g->hash_version + unsigned_hash);
	g->journal_inum = (g->compat & COMPAT_HAS_JOURNAL) != 0 ? le32_get(sb->s_journal_inum) : 0;
	g->orphan_inum =
	    (g->compat & COMPAT_ORPHAN_FILE) != 0 ? le32_get(sb->s_orphan_file_inum) : 0;
	g->guard_block = (g->incompat & INCOMPAT_MMP) != 0 ? le64_get(sb->s_mmp_block) : 0;
	g->hurd = le32_get(sb->s_creator_os) == SUPER_OS_HURD;
	g->resuid = le16_get(sb->s_def_resuid);
	g->resgid = le16_get(sb->s_def_resgid);
	g->backup_bgs[0] = le32_get(sb->s_backup_bgs[0]);
	g->backup_bgs[1] = le32_get(sb->s_backup_bgs[1]);
	g->min_extra_isize = le16_get(sb->s_min_extra_isize);
	g->want_extra_isize = le16_get(sb->s_want_extra_isize);
}

void geom_from_super(const struct super_raw *sb, struct geom *g)
{
	bool wide;

	memset(g, 0, sizeof(*g));
	geom_features(sb, g);
	geom_identity(sb, g);
	wide = (g->incompat & INCOMPAT_64BIT) != 0;
	g->block_bits = (uint8_t)(10 + le32_get(sb->s_log_block_size));
	g->block_size = 1u << g->block_bits;
	g->first_data_block = le32_get(sb->s_first_data_block);
	g->blocks = join(sb->s_blocks_count_lo, sb->s_blocks_count_hi, wide);
	g->reserved_blocks = join(sb->s_r_blocks_count_lo, sb->s_r_blocks_count_hi, wide);
	g->blocks_per_group = le32_get(sb->s_blocks_per_group);
	g->clusters_per_group = g->blocks_per_group >> g->cluster_bits;
	g->inodes_per_group = le32_get(sb->s_inodes_per_group);
	g->inodes = le32_get(sb->s_inodes_count);
	g->groups = (uint32_t)DIV_UP(g->blocks - g->first_data_block, g->blocks_per_group);
	g->inodes_per_block = g->block_size / g->inode_size;
	g->descs_per_block = g->block_size / g->desc_size;
	g->itable_blocks = DIV_UP(g->inodes_per_group, g->inodes_per_block);
	g->gdt_blocks = DIV_UP(g->groups, g->descs_per_block);
	g->reserved_gdt = le16_get(sb->s_reserved_gdt_blocks);
	g->first_meta_bg =
	    (g->incompat & INCOMPAT_META_BG) != 0 ? le32_get(sb->s_first_meta_bg) : g->gdt_blocks;
}

void geom_free(struct geom *g)
{
	free(g->zones);
	g->zones = NULL;
	g->zone_count = 0;
	g->zone_cap = 0;
}

static bool is_power_of(uint32_t n, uint32_t base)
{
	uint64_t p = base;

	while (p < n)
		p *= base;
	return p == n;
}

bool geom_has_super(const struct geom *g, uint32_t group)
{
	if (group == 0)
		return true;
	if ((g->compat & COMPAT_SPARSE_SUPER2) != 0)
		return group == g->backup_bgs[0] || group == g->backup_bgs[1];
	if ((g->ro_compat & RO_COMPAT_SPARSE_SUPER) == 0 || group == 1)
		return true;
	if (group % 2 == 0) /* all powers below are odd; this is asked for every group */
		return false;
	return is_power_of(group, 3) || is_power_of(group, 5) || is_power_of(group, 7);
}

/* Blocks before the descriptors.  The superblock is at byte 1024, so small blocks that are counted
 * from 0, as with clusters, have one before it. */
static uint32_t super_blocks(const struct geom *g, uint32_t group)
{
	if (!geom_has_super(g, group))
		return 0;
	return group == 0 && g->block_size == 1024 && g->first_data_block == 0 ? 2 : 1;
}

ek_pblk geom_gdt_block_in(const struct geom *g, uint32_t group)
{
	return (ek_pblk){geom_group_start(g, group).v + super_blocks(g, group)};
}

ek_pblk geom_gdt_block(const struct geom *g, uint32_t n)
{
	if (n < g->first_meta_bg)
		return (ek_pblk){(uint64_t)g->first_data_block + super_blocks(g, 0) + n};
	return geom_gdt_block_in(g, n * g->descs_per_block);
}

uint32_t geom_base_meta(const struct geom *g, uint32_t group)
{
	uint32_t n = super_blocks(g, group);
	uint32_t meta_group = group / g->descs_per_block;

	if ((g->incompat & INCOMPAT_META_BG) != 0 && meta_group >= g->first_meta_bg) {
		uint32_t at = group % g->descs_per_block;

		return n + (at == 0 || at == 1 || at == g->descs_per_block - 1 ? 1 : 0);
	}
	if (n != 0)
		n += MIN(g->first_meta_bg, g->gdt_blocks) + g->reserved_gdt;
	return n;
}

int geom_run(const struct geom *g, uint64_t raw, uint64_t len, const char *what, struct diag *d,
	     ek_pblk *ret)
{
	if (raw < g->first_data_block || raw >= g->blocks || len > g->blocks - raw)
		return diag_set(d, -EUCLEAN,
				"corrupt %s: blocks %llu+%llu lie outside the filesystem of %llu",
				what, (unsigned long long)raw, (unsigned long long)len,
				(unsigned long long)g->blocks);
	*ret = (ek_pblk){raw};
	return 0;
}

/* First zone that ends after block. */
static unsigned zone_search(const struct geom *g, uint64_t block)
{
	unsigned lo = 0, hi = g->zone_count;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (g->zones[mid].start + g->zones[mid].len <= block)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool geom_data_ok(const struct geom *g, uint64_t raw, uint64_t len, uint32_t ino)
{
	if (raw < g->first_data_block || raw >= g->blocks || len > g->blocks - raw)
		return false;
	for (unsigned i = zone_search(g, raw); i < g->zone_count && g->zones[i].start < raw + len;
	     i++) {
		if (g->zones[i].ino == 0 || g->zones[i].ino != ino)
			return false;
	}
	return true;
}

int geom_data_run(const struct geom *g, uint64_t raw, uint64_t len, uint32_t ino, const char *what,
		  struct diag *d, ek_pblk *ret)
{
	ek_pblk b = {0};
	int rc = geom_run(g, raw, len, what, d, &b);

	if (rc < 0)
		return rc;
	if (!geom_data_ok(g, raw, len, ino))
		return diag_set(d, -EUCLEAN,
				"corrupt %s: blocks %llu+%llu overlap filesystem metadata", what,
				(unsigned long long)raw, (unsigned long long)len);
	*ret = b;
	return 0;
}

int geom_inum(const struct geom *g, uint32_t raw, const char *what, struct diag *d, ek_inum *ret)
{
	if (raw == 0 || raw > g->inodes)
		return diag_set(d, -EUCLEAN, "corrupt %s: inode %u is not in 1..%u", what, raw,
				g->inodes);
	*ret = (ek_inum){raw};
	return 0;
}

int geom_add_zone(struct geom *g, uint64_t start, uint64_t len, uint32_t ino, const char *what,
		  struct diag *d)
{
	size_t cap = g->zone_cap;
	unsigned i;
	ek_pblk b = {0};
	int rc = geom_run(g, start, len, what, d, &b);

	if (rc < 0)
		return rc;
	i = zone_search(g, start);
	if (i < g->zone_count && g->zones[i].start < start + len)
		return diag_set(d, -EUCLEAN,
				"corrupt %s: blocks %llu+%llu overlap metadata at %llu", what,
				(unsigned long long)start, (unsigned long long)len,
				(unsigned long long)g->zones[i].start);
	if (i > 0 && g->zones[i - 1].start + g->zones[i - 1].len == start &&
	    g->zones[i - 1].ino == ino) {
		g->zones[i - 1].len += len;
		return 0;
	}
	rc = mem_grow((void **)&g->zones, &cap, (size_t)g->zone_count + 1, sizeof(*g->zones));
	if (rc < 0)
		return diag_set(d, rc, "out of memory for the metadata map");
	g->zone_cap = (unsigned)cap;
	memmove(&g->zones[i + 1], &g->zones[i], (g->zone_count - i) * sizeof(*g->zones));
	g->zones[i] = (struct zone){start, len, ino};
	g->zone_count++;
	return 0;
}
