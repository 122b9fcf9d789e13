/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How large everything is in an empty filesystem, and the superblock that says so: block and inode
 * sizes and the inode ratio follow from the size, as in mke2fs.conf: below 3 MiB "floppy", below
 * 512 MiB "small", from 4 TiB "big", from 16 TiB "huge".  A last group too small to be useful is
 * cut off.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "fs/create_impl.h"

#define MIN_SPARE   50u /* blocks that a last group must have beyond its metadata */
#define TIGHT_SPARE 8u  /* the same where every block counts */

struct kind {
	uint64_t below; /* bytes */
	uint32_t block_size, ratio;
};

static const struct kind kinds[] = {
    {3ull << 20, 1024, 8192},   {512ull << 20, 1024, 4096}, {4ull << 40, 4096, 16384},
    {16ull << 40, 4096, 32768}, {UINT64_MAX, 4096, 65536},
};

static const struct kind *kind_of(uint64_t size)
{
	const struct kind *k = kinds;

	while (size >= k->below)
		k++;
	return k;
}

/* Blocks of the first superblock, and of what lies before it. */
static uint32_t first_super(const struct sizes *z)
{
	return z->bs == 1024 && z->first == 0 ? 2 : 1;
}

static uint32_t reserved_gdt(const struct create_opts *o, const struct sizes *z)
{
	uint64_t max = UINT32_MAX, groups, want;
	uint32_t per = z->bs / z->desc_size;

	if ((o->compat & COMPAT_RESIZE_INODE) == 0 || z->blocks > UINT32_MAX)
		return 0;
	if (o->grow_to != 0)
		max = MIN(max, o->grow_to / z->bs);
	else if (z->blocks < max / 1024)
		max = z->blocks * 1024;
	max = MAX(max, z->blocks);
	groups = DIV_UP(max - z->first, z->bpg);
	want = DIV_UP(groups, per);
	want = MIN(want > z->gdt ? want - z->gdt : 0, (uint64_t)z->bs / 4);
	if (o->tight)
		want = MAX(want, 1u); /* none would be no resize inode */
	if (o->head_most != 0)
		want = MIN(want, o->head_most - MIN(o->head_most, first_super(z) + z->gdt));
	/* With a boot block before the first superblock the copies are counted one block behind
	 * where they are; the last must not be another cluster's. */
	if (first_super(z) == 2 && (1 + z->gdt + want) % (1u << z->log_cluster) == 0)
		want = o->tight && want == 1 ? 2 : want - MIN(want, 1u);
	return (uint32_t)want;
}

/* Inodes a group, in whole blocks of the table and a multiple of 8. */
static int inodes_per_group(const struct create_opts *o, struct sizes *z, struct diag *d)
{
	const struct kind *k = kind_of(o->size);
	uint32_t ratio =
	    o->inode_ratio != 0 ? o->inode_ratio : MAX(k->ratio, z->bs << z->log_cluster);
	uint32_t per = z->bs / z->isize;
	uint64_t want = o->inodes != 0 ? o->inodes : z->blocks * z->bs / ratio, ipg;

	if (want < 16)
		want = 16;
	ipg = DIV_UP(want, z->groups);
	/* the first group holds the reserved inodes and lost+found */
	ipg = MAX(ipg, 16u);
	ipg = ROUND_UP(ipg, per);
	ipg = ROUND_UP(ipg, 8);
	ipg = ROUND_UP(ipg, per);
	if (ipg > 8ull * z->bs || ipg * z->groups > UINT32_MAX) {
		if (o->inodes != 0)
			return diag_set(d, -EINVAL, "inodes %u: at most %llu fit", o->inodes,
					(unsigned long long)MIN(8ull * z->bs * z->groups,
								(unsigned long long)UINT32_MAX));
		ipg = MIN(8ull * z->bs, (uint64_t)UINT32_MAX / z->groups / per * per);
	}
	z->ipg = (uint32_t)ipg;
	z->itable = (uint32_t)DIV_UP(ipg, per);
	return 0;
}

/* A geometry that knows enough to say where copies lie. */
static struct geom shape(const struct create_opts *o, const struct sizes *z)
{
	return (struct geom){.compat = o->compat,
			     .incompat = o->incompat,
			     .ro_compat = o->ro_compat,
			     .block_size = z->bs,
			     .first_data_block = z->first,
			     .gdt_blocks = z->gdt,
			     .first_meta_bg = (o->incompat & INCOMPAT_META_BG) != 0 ? 0 : z->gdt,
			     .reserved_gdt = z->reserved_gdt,
			     .descs_per_block = z->bs / z->desc_size,
			     .backup_bgs = {z->backup_bgs[0], z->backup_bgs[1]}};
}

static void choose_backups(const struct create_opts *o, struct sizes *z)
{
	z->backup_bgs[0] = o->backups > 0 && z->groups > 1 ? 1 : 0;
	z->backup_bgs[1] = o->backups > 1 && z->groups > 2 ? z->groups - 1 : 0;
}

/* Without meta_bg all descriptors lie in one group, and in each that has copies of them. */
static int check_heads(const struct create_opts *o, const struct sizes *z, const struct geom *g,
		       struct diag *d)
{
	uint32_t heads = geom_base_meta(g, 0);

	if ((o->incompat & INCOMPAT_FLEX_BG) == 0)
		heads += 2 + z->itable;
	if (heads < z->bpg)
		return 0;
	return diag_set(
	    d, -EINVAL,
	    "size %llu: metadata at the front of a group take %u of its %u blocks: want "
	    "meta_bg or larger blocks",
	    (unsigned long long)o->size, heads, z->bpg);
}

/* One round of sizing: 1 when the last group was cut off and all must be computed anew. */
static int size_round(const struct create_opts *o, struct sizes *z, struct diag *d)
{
	uint64_t rest, need;
	struct geom g;
	int rc;

	z->groups = (uint32_t)DIV_UP(z->blocks - z->first, z->bpg);
	if (z->groups == 0)
		return diag_set(d, -ENOSPC, "size %llu is too small for a filesystem",
				(unsigned long long)o->size);
	z->gdt = DIV_UP(z->groups, z->bs / z->desc_size);
	z->reserved_gdt = reserved_gdt(o, z);
	choose_backups(o, z);
	rc = inodes_per_group(o, z, d);
	if (rc < 0)
		return rc;
	g = shape(o, z);
	if (z->groups != 1)
		rc = check_heads(o, z, &g, d);
	if (rc < 0)
		return rc;
	need = 2 + z->itable + geom_base_meta(&g, z->groups - 1);
	rest = (z->blocks - z->first) % z->bpg;
	if (z->groups == 1 && o->tight)
		return 0; /* who places everything will see */
	if (z->groups == 1) {
		if (rest == 0)
			rest = z->bpg;
		if (rest < need + 8) {
			d->need_blocks = need + 8 - rest;
			return diag_set(d, -ENOSPC,
					"size %llu is too small: metadata alone takes %llu blocks, "
					"%llu are missing",
					(unsigned long long)o->size, (unsigned long long)need,
					(unsigned long long)d->need_blocks);
		}
		return 0;
	}
	if (o->tight && (o->incompat & INCOMPAT_FLEX_BG) != 0)
		need -= 2 + z->itable; /* they may lie elsewhere */
	if (rest == 0 || rest >= need + (o->tight ? TIGHT_SPARE : MIN_SPARE))
		return 0;
	z->blocks -= rest;
	return 1;
}

/* Clusters, and blocks of a group. */
static int choose_group(const struct create_opts *o, struct sizes *z, struct diag *d)
{
	uint32_t most = z->bs >= 8192 ? 65528 : z->bs * 8, asked;

	if ((o->ro_compat & RO_COMPAT_BIGALLOC) != 0) {
		uint32_t size = o->cluster_size != 0 ? o->cluster_size : z->bs * 16;

		if (!is_pow2(size) || size <= z->bs || size > MIN(512u << 20, z->bs << 15))
			return diag_set(d, -EINVAL,
					"cluster size %u: want a power of two from %u to %u", size,
					z->bs * 2, z->bs << 15);
		z->log_cluster = ilog2(size / z->bs);
	}
	asked = o->blocks_per_group != 0 ? o->blocks_per_group >> z->log_cluster : most;
	z->bpg = MIN(asked, z->bs * 8) << z->log_cluster;
	if (z->bpg >> z->log_cluster < 256 || (z->bpg >> z->log_cluster) % 8 != 0)
		return diag_set(d, -EINVAL, "blocks per group %u: want a multiple of %u from %u",
				z->bpg, 8u << z->log_cluster, 256u << z->log_cluster);
	return 0;
}

int create_sizes(const struct create_opts *o, struct sizes *z, struct diag *d)
{
	const struct kind *k = kind_of(o->size);
	int rc;

	memset(z, 0, sizeof(*z));
	z->bs = o->block_size != 0 ? o->block_size : k->block_size;
	z->isize = o->inode_size != 0 ? o->inode_size : o->revision0 ? 128 : 256;
	rc = create_check(o, z->bs, z->isize, d);
	if (rc == 0)
		rc = choose_group(o, z, d);
	if (rc < 0)
		return rc;
	z->first = z->bs == 1024 && z->log_cluster == 0 ? 1 : 0;
	z->desc_size = (o->incompat & INCOMPAT_64BIT) != 0 ? 64 : 32;
	z->blocks = o->size / z->bs >> z->log_cluster << z->log_cluster;
	if ((o->incompat & INCOMPAT_64BIT) == 0 && z->blocks > UINT32_MAX)
		return diag_set(d, -EINVAL, "size %llu: more than 2^32 blocks need 64bit",
				(unsigned long long)o->size);
	if (z->blocks <= z->first + 8)
		return diag_set(d, -ENOSPC, "size %llu is too small for a filesystem",
				(unsigned long long)o->size);
	while ((rc = size_round(o, z, d)) == 1)
		continue;
	return rc;
}

/* ---- superblock ---- */

void create_split64(uint64_t v, le32 *lo, le32 *hi)
{
	*lo = le32_make((uint32_t)v);
	*hi = le32_make((uint32_t)(v >> 32));
}

static void super_identity(const struct create_opts *o, struct super_raw *sb)
{
	memcpy(sb->s_uuid, o->uuid, 16);
	memcpy(sb->s_volume_name, o->label, 16);
	memcpy(sb->s_journal_uuid, o->log_uuid, 16);
	sb->s_journal_dev = le32_make(o->log_device);
	for (unsigned i = 0; i < 4; i++)
		memcpy(&sb->s_hash_seed[i], o->hash_seed + (size_t)i * 4, 4);
	sb->s_def_hash_version = o->hash_version;
	sb->s_flags =
	    le32_make(o->unsigned_hash ? SUPER_FLAG_UNSIGNED_HASH : SUPER_FLAG_SIGNED_HASH);
	sb->s_mkfs_time = le32_make((uint32_t)o->now.sec);
	sb->s_wtime = sb->s_mkfs_time;
	sb->s_lastcheck = sb->s_mkfs_time;
	sb->s_mkfs_time_hi = (uint8_t)(o->now.sec >> 32);
	sb->s_wtime_hi = sb->s_mkfs_time_hi;
	sb->s_lastcheck_hi = sb->s_mkfs_time_hi;
}

static void super_features(const struct create_opts *o, const struct sizes *z, struct super_raw *sb)
{
	sb->s_rev_level = le32_make(1);
	sb->s_first_ino = le32_make(INUM_FIRST);
	sb->s_inode_size = le16_make((uint16_t)z->isize);
	sb->s_feature_compat = le32_make(o->compat);
	sb->s_feature_incompat = le32_make(o->incompat);
	sb->s_feature_ro_compat = le32_make(o->ro_compat);
	sb->s_reserved_gdt_blocks = le16_make((uint16_t)z->reserved_gdt);
	if (z->reserved_gdt != 0 && z->bs >= 4096) /* the resize inode claims more than 2 GiB */
		sb->s_feature_ro_compat = le32_make(o->ro_compat | RO_COMPAT_LARGE_FILE);
	sb->s_desc_size = le16_make((uint16_t)(z->desc_size == 64 ? 64 : 0));
	sb->s_default_mount_opts = le32_make(0xC); /* user_xattr, acl */
	if (z->isize > 128) {
		sb->s_min_extra_isize = le16_make(32);
		sb->s_want_extra_isize = le16_make(32);
	}
	if ((o->incompat & INCOMPAT_FLEX_BG) != 0)
		sb->s_log_groups_per_flex = (uint8_t)ilog2(o->flex_size != 0 ? o->flex_size : 16);
	if ((o->ro_compat & RO_COMPAT_METADATA_CSUM) != 0)
		sb->s_checksum_type = 1;
	if ((o->incompat & INCOMPAT_CASEFOLD) != 0)
		sb->s_encoding = le16_make(SUPER_ENCODING_UTF8);
	if ((o->incompat & INCOMPAT_MMP) != 0)
		sb->s_mmp_update_interval = le16_make(o->mmp_interval != 0 ? o->mmp_interval : 5);
	if ((o->compat & COMPAT_SPARSE_SUPER2) != 0) {
		sb->s_backup_bgs[0] = le32_make(z->backup_bgs[0]);
		sb->s_backup_bgs[1] = le32_make(z->backup_bgs[1]);
	}
	sb->s_raid_stride = le16_make((uint16_t)o->stride);
	sb->s_raid_stripe_width = le32_make(o->stripe_width);
	memcpy(sb->s_mount_opts, o->mount_options, sizeof(sb->s_mount_opts));
}

void create_super(const struct create_opts *o, const struct sizes *z, struct super_raw *sb)
{
	uint32_t percent = o->reserved_percent == UINT32_MAX ? 5 : o->reserved_percent;
	uint32_t log_block = ilog2(z->bs) - 10;

	memset(sb, 0, sizeof(*sb));
	super_identity(o, sb);
	sb->s_inodes_count = le32_make(z->ipg * z->groups);
	create_split64(z->blocks, &sb->s_blocks_count_lo, &sb->s_blocks_count_hi);
	create_split64(z->blocks * percent / 100, &sb->s_r_blocks_count_lo,
		       &sb->s_r_blocks_count_hi);
	sb->s_first_data_block = le32_make(z->first);
	sb->s_log_block_size = le32_make(log_block);
	sb->s_log_cluster_size = le32_make(log_block + z->log_cluster);
	sb->s_blocks_per_group = le32_make(z->bpg);
	sb->s_clusters_per_group = le32_make(z->bpg >> z->log_cluster);
	sb->s_inodes_per_group = le32_make(z->ipg);
	sb->s_max_mnt_count = le16_make(0xffff);
	sb->s_magic = le16_make(SUPER_MAGIC);
	sb->s_state = le16_make(SUPER_STATE_VALID);
	sb->s_errors = le16_make(o->errors != 0 ? o->errors : 1);
	if (!o->revision0)
		super_features(o, z, sb);
}
