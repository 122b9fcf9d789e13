/* SPDX-License-Identifier: BSD-2-Clause */
/* What the superblock and the group descriptors say of an image, as callers are told it. */
#include <string.h>

#include "base/check.h"
#include "extkit/image.h"
#include "fs/inode.h"
#include "fs/session.h"
#include "ondisk/super.h"

static struct ek_time time_of(le32 low, uint8_t high)
{
	return (struct ek_time){(int64_t)((uint64_t)high << 32 | le32_get(low)), 0};
}

static void copy_text(char *to, const uint8_t *from, size_t n)
{
	size_t len = strnlen((const char *)from, n);

	memcpy(to, from, len);
	to[len] = '\0';
}

static void list_features(const struct geom *g, char *to, size_t cap)
{
	const uint32_t masks[] = {g->compat, g->incompat, g->ro_compat};
	size_t at = 0;

	to[0] = '\0';
	for (unsigned i = 0; i < ARRAY_SIZE(masks); i++) {
		if (masks[i] == 0 || at + 1 >= cap)
			continue;
		if (at != 0)
			to[at++] = ' ';
		feature_list((enum feature_word)i, masks[i], to + at, cap - at);
		at += strlen(to + at);
	}
}

/* By what the two older drivers do not know. */
static const char *revision(const struct geom *g)
{
	uint32_t old_incompat = INCOMPAT_FILETYPE | INCOMPAT_META_BG;
	uint32_t old_ro = RO_COMPAT_SPARSE_SUPER | RO_COMPAT_LARGE_FILE | RO_COMPAT_BTREE_DIR;

	if ((g->incompat & ~(old_incompat | INCOMPAT_RECOVER)) != 0 ||
	    (g->ro_compat & ~old_ro) != 0)
		return "ext4";
	return geom_compat(g, COMPAT_HAS_JOURNAL) ? "ext3" : "ext2";
}

static const char *hash_name(unsigned version)
{
	static const char *const names[] = {"legacy",   "half_md4", "tea",    "legacy",
					    "half_md4", "tea",      "siphash"};

	return version < ARRAY_SIZE(names) ? names[version] : "unknown";
}

static uint32_t state_of(const struct ek_image *img, const struct super_raw *sb)
{
	uint16_t state = le16_get(sb->s_state);

	return ((state & SUPER_STATE_VALID) != 0 ? (uint32_t)EK_STATE_CLEAN : 0) |
	       ((state & SUPER_STATE_ERROR) != 0 ? (uint32_t)EK_STATE_ERRORS : 0) |
	       ((state & SUPER_STATE_ORPHAN) != 0 ? (uint32_t)EK_STATE_ORPHANS : 0) |
	       (img->session->was_dirty ? (uint32_t)EK_STATE_DIRTY : 0);
}

/* The journal's length, 0 when its inode cannot be read: that is no reason to hide the rest. */
static uint64_t journal_blocks(struct task *t)
{
	const struct geom *g = &t->img->geom;
	struct ek_inode *inode;
	uint64_t blocks = 0;

	if (!geom_compat(g, COMPAT_HAS_JOURNAL) || g->journal_inum == 0 ||
	    g->journal_inum > g->inodes)
		return 0;
	if (inode_get(t->img, (ek_inum){g->journal_inum}, &inode) == 0) {
		blocks = inode->size >> g->block_bits;
		inode_put(t, inode);
	}
	return blocks;
}

static void shape(const struct geom *g, const struct super_raw *sb, struct ek_facts *f)
{
	f->blocks = g->blocks;
	f->reserved_blocks = g->reserved_blocks;
	f->overhead_blocks = (uint64_t)le32_get(sb->s_overhead_clusters) << g->cluster_bits;
	f->block_size = g->block_size;
	f->cluster_size = g->block_size << g->cluster_bits;
	f->inode_size = g->inode_size;
	f->inodes = g->inodes;
	f->first_inode = g->first_ino;
	f->groups = g->groups;
	f->blocks_per_group = g->blocks_per_group;
	f->inodes_per_group = g->inodes_per_group;
	f->first_data_block = g->first_data_block;
	f->flex_groups = geom_incompat(g, INCOMPAT_FLEX_BG) ? 1u << g->log_flex : 1;
	f->reserved_gdt_blocks = g->reserved_gdt;
	f->desc_size = g->desc_size;
	f->reserved_uid = g->resuid;
	f->reserved_gid = g->resgid;
	f->journal_inode = geom_compat(g, COMPAT_HAS_JOURNAL) ? g->journal_inum : 0;
}

static void history(const struct super_raw *sb, struct ek_facts *f)
{
	f->error_count = le32_get(sb->s_error_count);
	f->mount_count = le16_get(sb->s_mnt_count);
	f->max_mount_count = (int16_t)le16_get(sb->s_max_mnt_count);
	f->made = time_of(sb->s_mkfs_time, sb->s_mkfs_time_hi);
	f->mounted = time_of(sb->s_mtime, sb->s_mtime_hi);
	f->written = time_of(sb->s_wtime, sb->s_wtime_hi);
	f->checked = time_of(sb->s_lastcheck, sb->s_lastcheck_hi);
	f->first_error = time_of(sb->s_first_error_time, sb->s_first_error_time_hi);
	f->last_error = time_of(sb->s_last_error_time, sb->s_last_error_time_hi);
	f->written_kib = le64_get(sb->s_kbytes_written);
}

int ek_image_facts(struct ek_image *img, struct ek_facts *ret)
{
	struct task *t = session_begin(img);
	const struct super_raw *sb = image_super(img);
	const struct geom *g = &img->geom;
	struct ek_facts f = {.size = ret->size};

	memcpy(f.uuid, sb->s_uuid, sizeof(f.uuid));
	copy_text(f.label, sb->s_volume_name, sizeof(sb->s_volume_name));
	copy_text(f.last_mounted, sb->s_last_mounted, sizeof(sb->s_last_mounted));
	list_features(g, f.features, sizeof(f.features));
	f.revision = revision(g);
	shape(g, sb, &f);
	history(sb, &f);
	f.journal_blocks = journal_blocks(t);
	f.state = state_of(img, sb);
	f.hash = hash_name(g->hash_version);
	memcpy(f.hash_seed, sb->s_hash_seed, sizeof(f.hash_seed));
	session_hand_out(ret, ret->size, &f, sizeof(f));
	return session_end(img, 0, "", "");
}

/* Metadata that no file can have: the superblock's count when it has one, else that of the zones
 * and the journal. */
static uint64_t overhead(struct task *t)
{
	const struct geom *g = &t->img->geom;
	uint64_t n = le32_get(image_super(t->img)->s_overhead_clusters);

	if (n != 0)
		return n << g->cluster_bits;
	for (unsigned i = 0; i < g->zone_count; i++)
		n += g->zones[i].ino == 0 ? g->zones[i].len : 0;
	return n + g->first_data_block + journal_blocks(t);
}

int ek_image_space(struct ek_image *img, struct ek_space *ret)
{
	struct task *t = session_begin(img);
	const struct geom *g = &img->geom;
	uint64_t over = MIN(overhead(t), g->blocks);
	uint64_t kept = g->reserved_blocks + (img->groups.space.reserved << g->cluster_bits);
	struct ek_space s = {.size = ret->size};

	s.block_size = g->block_size;
	s.blocks = g->blocks - over;
	s.free_blocks = img->groups.space.free << g->cluster_bits;
	s.usable_blocks = s.free_blocks > kept ? s.free_blocks - kept : 0;
	s.inodes = g->inodes;
	s.free_inodes = img->groups.free_inodes;
	session_hand_out(ret, ret->size, &s, sizeof(s));
	return session_end(img, 0, "", "");
}
