/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of features: one row a bit, and searches over it. */
#include "ondisk/features.h"

#include <stdio.h>
#include <string.h>

#define R   FEATURE_READ
#define RM  (FEATURE_READ | FEATURE_MAKE)
#define RW  (FEATURE_READ | FEATURE_WRITE)
#define RWM (FEATURE_READ | FEATURE_WRITE | FEATURE_MAKE)
#define C   FEATURE_COMPAT
#define I   FEATURE_INCOMPAT
#define O   FEATURE_RO_COMPAT

const struct feature feature_table[] = {
    {C, COMPAT_DIR_PREALLOC, "dir_prealloc", RW},
    {C, COMPAT_IMAGIC_INODES, "imagic_inodes", R},
    {C, COMPAT_HAS_JOURNAL, "has_journal", RWM},
    {C, COMPAT_EXT_ATTR, "ext_attr", RWM},
    {C, COMPAT_RESIZE_INODE, "resize_inode", RWM},
    {C, COMPAT_DIR_INDEX, "dir_index", RWM},
    {C, COMPAT_SPARSE_SUPER2, "sparse_super2", RWM},
    {C, COMPAT_FAST_COMMIT, "fast_commit", RWM},
    {C, COMPAT_STABLE_INODES, "stable_inodes", RWM},
    {C, COMPAT_ORPHAN_FILE, "orphan_file", RWM},
    {I, INCOMPAT_FILETYPE, "filetype", RWM},
    {I, INCOMPAT_RECOVER, "needs_recovery", RW},
    {I, INCOMPAT_META_BG, "meta_bg", RWM},
    {I, INCOMPAT_EXTENTS, "extent", RWM},
    {I, INCOMPAT_EXTENTS, "extents", RWM},
    {I, INCOMPAT_64BIT, "64bit", RWM},
    {I, INCOMPAT_FLEX_BG, "flex_bg", RWM},
    {I, INCOMPAT_CSUM_SEED, "metadata_csum_seed", RWM},
    {I, INCOMPAT_COMPRESSION, "compression", 0},
    {I, INCOMPAT_JOURNAL_DEV, "journal_dev", 0},
    {I, INCOMPAT_MMP, "mmp", RWM},
    {I, INCOMPAT_EA_INODE, "ea_inode", RWM},
    {I, INCOMPAT_DIRDATA, "dirdata", 0},
    {I, INCOMPAT_LARGEDIR, "large_dir", RWM},
    {I, INCOMPAT_INLINE_DATA, "inline_data", RWM},
    {I, INCOMPAT_ENCRYPT, "encrypt", RWM},
    {I, INCOMPAT_CASEFOLD, "casefold", RM},
    {O, RO_COMPAT_SPARSE_SUPER, "sparse_super", RWM},
    {O, RO_COMPAT_LARGE_FILE, "large_file", RWM},
    {O, RO_COMPAT_BTREE_DIR, "btree_dir", R},
    {O, RO_COMPAT_HUGE_FILE, "huge_file", RWM},
    {O, RO_COMPAT_GDT_CSUM, "uninit_bg", RWM},
    {O, RO_COMPAT_GDT_CSUM, "uninit_groups", RWM},
    {O, RO_COMPAT_GDT_CSUM, "gdt_csum", RWM},
    {O, RO_COMPAT_DIR_NLINK, "dir_nlink", RWM},
    {O, RO_COMPAT_EXTRA_ISIZE, "extra_isize", RWM},
    {O, RO_COMPAT_HAS_SNAPSHOT, "has_snapshot", R},
    {O, RO_COMPAT_QUOTA, "quota", RM},
    {O, RO_COMPAT_BIGALLOC, "bigalloc", RWM},
    {O, RO_COMPAT_METADATA_CSUM, "metadata_csum", RWM},
    {O, RO_COMPAT_REPLICA, "replica", R},
    {O, RO_COMPAT_READONLY, "read-only", R},
    {O, RO_COMPAT_PROJECT, "project", RWM},
    {O, RO_COMPAT_SHARED_BLOCKS, "shared_blocks", R},
    {O, RO_COMPAT_VERITY, "verity", RWM},
    {O, RO_COMPAT_ORPHAN_PRESENT, "orphan_present", RW},
    {C, 0, NULL, 0},
};

const struct feature *feature_of(enum feature_word word, uint32_t bit)
{
	for (const struct feature *f = feature_table; f->name != NULL; f++) {
		if (f->word == word && f->bit == bit)
			return f;
	}
	return NULL;
}

const struct feature *feature_named(const char *name, size_t len)
{
	for (const struct feature *f = feature_table; f->name != NULL; f++) {
		if (strlen(f->name) == len && memcmp(f->name, name, len) == 0)
			return f;
	}
	return NULL;
}

const char *feature_list(enum feature_word word, uint32_t mask, char *buf, size_t size)
{
	static const char letter[] = {'C', 'I', 'R'};
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned bit = 0; bit < 32; bit++) {
		const struct feature *f;
		int w;

		if ((mask & (1u << bit)) == 0)
			continue;
		f = feature_of(word, 1u << bit);
		w = f != NULL ? snprintf(buf + n, size - n, "%s%s", n != 0 ? " " : "", f->name)
			      : snprintf(buf + n, size - n, "%sFEATURE_%c%u", n != 0 ? " " : "",
					 letter[word], bit);
		if (w < 0 || (size_t)w >= size - n)
			break;
		n += (size_t)w;
	}
	return buf;
}

uint32_t feature_lacking(enum feature_word word, uint32_t mask, unsigned want)
{
	uint32_t lacking = 0;

	for (unsigned bit = 0; bit < 32; bit++) {
		const struct feature *f;

		if ((mask & (1u << bit)) == 0)
			continue;
		f = feature_of(word, 1u << bit);
		if (f == NULL || (f->support & want) != want)
			lacking |= 1u << bit;
	}
	return lacking;
}
