/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of one filesystem as native numbers, made once from a verified superblock.
 *
 * Only this module makes an ek_pblk or ek_inum out of a number that came from an image: every later
 * layer may trust them to be inside the filesystem.
 */
#ifndef ONDISK_GEOM_H
#define ONDISK_GEOM_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

#include "ondisk/features.h"

struct diag;
struct super_raw;

#define INUM_BAD     1u
#define INUM_ROOT    2u
#define INUM_RESIZE  7u
#define INUM_JOURNAL 8u
#define INUM_FIRST   11u

/* A run of metadata blocks that no file may map.  ino is the inode that may (the journal), or 0. */
struct zone {
	uint64_t start, len;
	uint32_t ino;
};

struct geom {
	uint64_t blocks;           /* filesystem size in blocks */
	uint32_t first_data_block; /* 1 with 1 KiB blocks, else 0 */
	uint32_t block_size;       /* bytes */
	uint8_t block_bits;        /* log2 of block_size */
	uint8_t cluster_bits;      /* log2 of blocks per cluster, 0 without bigalloc */
	uint8_t log_flex;          /* log2 of groups per flex group, 0 without flex_bg */
	uint8_t hash_version;      /* default directory hash, signedness included */
	uint32_t groups;
	uint32_t blocks_per_group;
	uint32_t clusters_per_group;
	uint32_t inodes_per_group;
	uint32_t inodes;
	uint32_t first_ino; /* first inode that is not reserved */
	uint16_t inode_size, desc_size;
	uint16_t min_extra_isize, want_extra_isize;
	uint32_t inodes_per_block, descs_per_block;
	uint32_t itable_blocks; /* per group */
	uint32_t gdt_blocks;    /* whole descriptor table */
	uint32_t reserved_gdt, first_meta_bg;
	uint32_t compat, incompat, ro_compat;
	uint32_t csum_seed; /* crc32c of the UUID, or s_checksum_seed */
	uint32_t hash_seed[4];
	uint32_t backup_bgs[2]; /* sparse_super2 */
	uint8_t uuid[16];
	uint32_t journal_inum, orphan_inum;
	uint64_t guard_block; /* with mmp, else 0 */
	bool hurd; /* made by the Hurd: inodes keep a translator and more mode bits in two fields */
	uint64_t reserved_blocks; /* for root */
	uint32_t resuid, resgid;

	struct zone *zones; /* sorted by start, disjoint */
	unsigned zone_count, zone_cap;
};

/* Fills g from a superblock that super_verify accepted. */
void geom_from_super(const struct super_raw *sb, struct geom *g);
void geom_free(struct geom *g);

static inline bool geom_compat(const struct geom *g, uint32_t bit)
{
	return (g->compat & bit) != 0;
}

static inline bool geom_incompat(const struct geom *g, uint32_t bit)
{
	return (g->incompat & bit) != 0;
}

static inline bool geom_ro_compat(const struct geom *g, uint32_t bit)
{
	return (g->ro_compat & bit) != 0;
}

/* Metadata blocks carry crc32c checksums. */
static inline bool geom_csum(const struct geom *g)
{
	return (g->ro_compat & RO_COMPAT_METADATA_CSUM) != 0;
}

/* Group descriptors carry a checksum (crc32c or crc16) and may be lazily initialised. */
static inline bool geom_gdt_csum(const struct geom *g)
{
	return (g->ro_compat & (RO_COMPAT_METADATA_CSUM | RO_COMPAT_GDT_CSUM)) != 0;
}

static inline uint32_t geom_group_of(const struct geom *g, ek_pblk b)
{
	return (uint32_t)((b.v - g->first_data_block) / g->blocks_per_group);
}

static inline uint32_t geom_offset_in_group(const struct geom *g, ek_pblk b)
{
	return (uint32_t)((b.v - g->first_data_block) % g->blocks_per_group);
}

static inline ek_pblk geom_group_start(const struct geom *g, uint32_t group)
{
	return (ek_pblk){g->first_data_block + (uint64_t)group * g->blocks_per_group};
}

/* Blocks from the start of its cluster to a block, of the disk or of a file. */
static inline uint32_t geom_in_cluster(const struct geom *g, uint64_t block)
{
	return (uint32_t)(block & ((1u << g->cluster_bits) - 1));
}

/* Clusters that [block, block + len) touches; of a file as well, where runs lie in their clusters
 * as they do on disk. */
static inline uint32_t geom_clusters(const struct geom *g, uint64_t block, uint32_t len)
{
	return (
	    uint32_t)((geom_in_cluster(g, block) + (uint64_t)len + (1u << g->cluster_bits) - 1) >>
		      g->cluster_bits);
}

/* Blocks of a group; the last may be short. */
static inline uint32_t geom_group_blocks(const struct geom *g, uint32_t group)
{
	uint64_t start = geom_group_start(g, group).v;

	return g->blocks - start < g->blocks_per_group ? (uint32_t)(g->blocks - start)
						       : g->blocks_per_group;
}

static inline uint32_t geom_inode_group(const struct geom *g, ek_inum ino)
{
	return (ino.v - 1) / g->inodes_per_group;
}

/* True when the group holds a superblock copy (and, without meta_bg, descriptors). */
bool geom_has_super(const struct geom *g, uint32_t group);

/* Block that holds descriptor table block n (primary copy), meta_bg included. */
ek_pblk geom_gdt_block(const struct geom *g, uint32_t n);

/* With meta_bg: where a group keeps its copy of its block of descriptors. */
ek_pblk geom_gdt_block_in(const struct geom *g, uint32_t group);

/* Blocks at the start of a group taken by superblock, descriptors and reserved descriptors. */
uint32_t geom_base_meta(const struct geom *g, uint32_t group);

/* A run of len blocks at raw, if it lies inside the filesystem; else -EUCLEAN and a story that
 * begins with what ("extent of inode 12"). */
int geom_run(const struct geom *g, uint64_t raw, uint64_t len, const char *what, struct diag *d,
	     ek_pblk *ret);

/* True when the run lies inside the filesystem and touches no zone but those of inode ino. */
bool geom_data_ok(const struct geom *g, uint64_t raw, uint64_t len, uint32_t ino);

/* The same as an error with a story. */
int geom_data_run(const struct geom *g, uint64_t raw, uint64_t len, uint32_t ino, const char *what,
		  struct diag *d, ek_pblk *ret);

/* An inode number, if 1 <= raw <= inodes. */
int geom_inum(const struct geom *g, uint32_t raw, const char *what, struct diag *d, ek_inum *ret);

/* Adds a metadata zone; one that overlaps another is damage: -EUCLEAN. */
int geom_add_zone(struct geom *g, uint64_t start, uint64_t len, uint32_t ino, const char *what,
		  struct diag *d);

#endif
