/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks a whole image and sums up what is there: names, modes, sizes, contents, attributes, but no
 * times and no places on disk.  Two images with one digest hold the same tree.
 *
 * Damage is counted and walked around, so the same walk serves sound images (errors must be 0) and
 * hostile ones (it must end).
 */
#ifndef FS_WALK_H
#define FS_WALK_H

#include "fs_image.h"

#include "base/bitmap.h"
#include "fs/dir.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "fs/namei.h"
#include "fs/xattr.h"

#define WALK_BYTES ((uint64_t)16 << 20) /* of file data that one walk reads at most */
#define WALK_STEPS 200000u

struct walk {
	uint64_t digest;
	uint64_t sectors; /* of all inodes seen */
	unsigned inodes;  /* seen, each once */
	unsigned errors;  /* damage met */
	char first[200];  /* what the first one was */
	uint64_t bytes;   /* read so far */
	unsigned steps;   /* taken so far */
	uint8_t *seen;    /* a bit for each inode */
	struct walk_dir *stack;
	size_t depth, cap;
};

struct walk_dir {
	ek_inum ino;
	uint64_t path;
};

static inline uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h ^ h >> 29;
}

static inline uint64_t mix_number(uint64_t h, uint64_t v)
{
	return mix(h, &v, sizeof(v));
}

static inline void walk_error(struct walk *w, struct ek_image *img, const char *what, int rc)
{
	if (w->errors++ == 0)
		snprintf(w->first, sizeof(w->first), "%s: %d: %.160s", what, rc, img->diag.text);
}

/* Blocks of a file that are not all zeros, in any order. */
static inline uint64_t walk_data(struct walk *w, struct ek_inode *inode)
{
	struct ek_image *img = inode->img;
	uint32_t bs = img->geom.block_size;
	static uint8_t data[65536];
	uint64_t sum = 0, at = 0;
	struct task t;
	struct map m;
	int rc = 0;

	task_init(&t, img);
	if (inode_is_inline(inode)) {
		uint32_t n = (uint32_t)MIN(inode->size, (uint64_t)4096);

		rc = inline_read(inode, 0, data, n);
		if (rc < 0)
			walk_error(w, img, "inline", rc);
		return rc < 0 ? 0 : mix(9, data, n);
	}
	while (at <= UINT32_MAX && (rc = map_next(&t, inode, (ek_lblk){(uint32_t)at}, &m)) == 1) {
		for (uint32_t i = 0; i < m.len && m.state == MAP_MAPPED; i++) {
			uint64_t pos = (uint64_t)(m.lblk.v + i) * bs, n;

			if (pos >= inode->size || w->bytes > WALK_BYTES)
				break;
			n = MIN((uint64_t)bs, inode->size - pos);
			w->bytes += bs;
			rc = dev_read(img->dev, (m.pblk.v + i) * bs, data, bs);
			if (rc < 0)
				walk_error(w, img, "read", rc);
			else if (data[0] != 0 || memcmp(data, data + 1, (size_t)n - 1) != 0)
				sum += mix(mix_number(7, pos), data, (size_t)n);
		}
		if (w->steps++ > WALK_STEPS)
			break;
		at = (uint64_t)m.lblk.v + m.len;
	}
	if (rc < 0)
		walk_error(w, img, "map", rc);
	return sum;
}

static inline int walk_xattr(void *ctx, const struct xattr_item *item)
{
	uint64_t *sum = ctx;

	*sum += mix(mix(3, item->name, strlen(item->name)), item->value, item->len);
	return 0;
}

static inline uint64_t walk_attributes(struct walk *w, struct task *t, struct ek_inode *inode)
{
	uint64_t sum = 0;
	int rc = xattr_each(t, inode, walk_xattr, &sum);

	if (rc < 0)
		walk_error(w, inode->img, "xattr", rc);
	return sum;
}

/* Everything about the inode but its names. */
static inline uint64_t walk_inode(struct walk *w, struct task *t, struct ek_inode *inode)
{
	uint64_t h = mix_number(mix_number(1, inode->rec.mode), inode->rec.links);
	uint32_t major, minor;
	char target[4096];
	int rc;

	h = mix_number(h, walk_attributes(w, t, inode));
	if (S_ISLNK(inode->rec.mode)) {
		rc = fs_readlink(t, inode, target, sizeof(target));
		if (rc < 0)
			walk_error(w, inode->img, "readlink", rc);
		else
			h = mix(h, target, strlen(target));
	} else if (inode_is_file(inode)) {
		h = mix_number(mix_number(h, inode->size), walk_data(w, inode));
	} else if (!inode_is_dir(inode)) {
		inode_get_rdev(&inode->rec, &major, &minor);
		h = mix_number(mix_number(h, major), minor);
	}
	return h;
}

static inline void walk_push(struct walk *w, ek_inum ino, uint64_t path)
{
	if (w->depth == w->cap) {
		w->cap = w->cap * 2 + 16;
		w->stack = realloc(w->stack, w->cap * sizeof(w->stack[0]));
		if (w->stack == NULL)
			abort();
	}
	w->stack[w->depth++] = (struct walk_dir){ino, path};
}

static inline void walk_entry(struct walk *w, struct task *t, struct ek_inode *dir,
			      const struct dirent *e, uint64_t path)
{
	struct ek_inode *inode;
	char name[256];
	ek_inum found;
	int rc;

	memcpy(name, e->name, e->name_len);
	if (e->name_len <= 2 && memcmp(name, "..", e->name_len) == 0)
		return;
	path = mix(path, name, e->name_len);
	rc = dir_lookup(t, dir, name, e->name_len, &found);
	if (rc < 0 || found.v != e->ino.v) {
		walk_error(w, t->img, "lookup", rc);
		return;
	}
	rc = inode_get(t->img, found, &inode);
	if (rc < 0) {
		walk_error(w, t->img, "inode", rc);
		return;
	}
	w->digest += mix_number(path, walk_inode(w, t, inode));
	if (getenv("WALK") != NULL)
		printf("# %.*s: inode %u mode 0%o links %u size %llu: %llx\n", (int)e->name_len,
		       name, found.v, inode->rec.mode, inode->rec.links,
		       (unsigned long long)inode->size,
		       (unsigned long long)walk_inode(w, t, inode));
	if ((w->seen[found.v >> 3] >> (found.v & 7) & 1) == 0) {
		w->seen[found.v >> 3] |= (uint8_t)(1u << (found.v & 7));
		w->inodes++;
		w->sectors += inode_sectors(inode);
		if (inode_is_dir(inode))
			walk_push(w, found, path);
	}
	inode_put(t, inode);
}

static inline void walk_folder(struct walk *w, struct task *t, struct walk_dir from)
{
	struct dir_iter it = {0};
	struct ek_inode *dir;
	struct dirent e;
	int rc = inode_get(t->img, from.ino, &dir);

	if (rc < 0) {
		walk_error(w, t->img, "folder", rc);
		return;
	}
	while ((rc = dir_next(t, dir, &it, &e)) == 1 && w->steps++ < WALK_STEPS)
		walk_entry(w, t, dir, &e, from.path);
	dir_iter_end(&it);
	if (rc < 0)
		walk_error(w, t->img, "folder", rc);
	inode_put(t, dir);
}

/* Down from the root. */
static inline void walk_tree(struct ek_image *img, struct walk *w)
{
	struct ek_inode *root;
	struct task t;

	memset(w, 0, sizeof(*w));
	w->seen = calloc(img->geom.inodes / 8 + 1u, 1);
	if (w->seen == NULL)
		abort();
	task_init(&t, img);
	if (inode_get(img, (ek_inum){INUM_ROOT}, &root) == 0) {
		w->digest = walk_inode(w, &t, root);
		w->sectors = inode_sectors(root);
		w->inodes = 1;
		inode_put(&t, root);
	}
	walk_push(w, (ek_inum){INUM_ROOT}, 5);
	while (w->depth > 0 && w->steps < WALK_STEPS)
		walk_folder(w, &t, w->stack[--w->depth]);
	free(w->stack);
	free(w->seen);
}

/* Each inode of the tables, named or not. */
static inline void walk_tables(struct ek_image *img, struct walk *w)
{
	struct task t;

	memset(w, 0, sizeof(*w));
	task_init(&t, img);
	for (uint32_t i = 1; i <= img->geom.inodes && w->steps < WALK_STEPS; i++) {
		struct dir_iter it = {0};
		struct ek_inode *inode;
		struct dirent e;

		w->steps++;
		if (inode_get(img, (ek_inum){i}, &inode) < 0)
			continue;
		walk_inode(w, &t, inode);
		if (inode_is_dir(inode))
			walk_data(w, inode);
		while (inode_is_dir(inode) && dir_next(&t, inode, &it, &e) == 1) {
			char name[256];
			ek_inum found;

			memcpy(name, e.name, e.name_len);
			dir_lookup(&t, inode, name, e.name_len, &found);
			if (w->steps++ > WALK_STEPS)
				break;
		}
		dir_iter_end(&it);
		inode_put(&t, inode);
	}
}

#endif
