/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that move and names that go.  A tree is removed deepest first without recursion: the stack
 * holds a folder and its name for each level, and a folder that is on the stack already is a loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/name.h"
#include "fs/dir.h"
#include "fs/edit_impl.h"
#include "fs/inline.h"
#include "fs/inode.h"
#include "fs/namei.h"
#include "fs/session.h"

/* ---- moving ---- */

struct end {
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
};

/* What either name means is checked before rename looks for itself. */
static int check_ends(struct task *t, struct end *from, struct end *to, bool *ret_same)
{
	struct ek_inode *a, *b = NULL;
	int rc = edit_entry(t, from->dir, from->name, from->len, &a);

	if (rc < 0)
		return rc;
	rc = edit_entry(t, to->dir, to->name, to->len, &b);
	if (rc == -ENOENT) {
		diag_clear(&t->img->diag);
		rc = 0;
	}
	if (rc == 0 && inode_is_dir(a))
		rc = edit_check_outside(t, a, to->dir);
	*ret_same = a == b;
	if (b != NULL)
		inode_put(t, b);
	inode_put(t, a);
	return rc;
}

static bool same_name(const struct end *a, const struct end *b)
{
	return a->dir == b->dir && a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

static int move(struct task *t, struct end *from, struct end *to, unsigned flags)
{
	bool same = false;
	int rc = check_ends(t, from, to, &same);

	if (rc < 0)
		return rc;
	if (same && same_name(from, to))
		return diag_set(&t->img->diag, -EEXIST, "bad path: both names are the same");
	if (same && (flags & EK_RENAME_NO_REPLACE) != 0)
		return -EEXIST;
	if (same && (flags & EK_RENAME_SWAP) == 0)
		return fs_unlink(t, from->dir, from->name, from->len);
	return fs_rename(t, from->dir, from->name, from->len, to->dir, to->name, to->len,
			 ((flags & EK_RENAME_NO_REPLACE) != 0 ? (unsigned)RENAME_NO_REPLACE : 0) |
			     ((flags & EK_RENAME_SWAP) != 0 ? (unsigned)RENAME_SWAP : 0));
}

int ek_rename(struct ek_image *img, const char *from, const char *to, unsigned flags)
{
	struct task *t = session_begin(img);
	struct end a, b;
	int rc = session_check_writable(img);

	if (rc == 0)
		rc = edit_parent(t, from, &a.dir, &a.name, &a.len);
	if (rc == 0) {
		rc = edit_parent(t, to, &b.dir, &b.name, &b.len);
		if (rc == 0) {
			rc = move(t, &a, &b, flags);
			inode_put(t, b.dir);
		}
		inode_put(t, a.dir);
	}
	return session_end(img, rc, "cannot move", from);
}

/* ---- removing ---- */

struct level {
	struct ek_inode *dir;
	uint64_t off;                  /* nothing is left before it but "." and ".." */
	char name[NAME_MAX_BYTES + 1]; /* in the level above */
	uint32_t len;
};

struct removal {
	struct task *t;
	struct level *levels;
	size_t n, cap;
	uint64_t *count;
};

static int push(struct removal *r, struct ek_inode *dir, const char *name, uint32_t len)
{
	int rc = mem_grow((void **)&r->levels, &r->cap, r->n + 1, sizeof(*r->levels));
	struct level *l;

	for (size_t i = 0; rc == 0 && i < r->n; i++)
		if (r->levels[i].dir == dir)
			rc = diag_set(&r->t->img->diag, -EUCLEAN,
				      "corrupt tree: folder %u lies in itself", dir->ino.v);
	if (rc == 0 && dir->ino.v == INUM_ROOT)
		rc = diag_set(&r->t->img->diag, -EUCLEAN, "corrupt tree: it holds the root");
	if (rc < 0) {
		inode_put(r->t, dir);
		return rc;
	}
	l = &r->levels[r->n++];
	*l = (struct level){.dir = dir, .len = len};
	memcpy(l->name, name, len);
	return 0;
}

/* Any entry that is left: 1 and its name, 0 when there is none. */
static int next_name(struct removal *r, struct level *l, char name[NAME_MAX_BYTES + 1],
		     uint32_t *len)
{
	struct dir_iter it = {.off = l->off};
	uint64_t block = r->t->img->geom.block_size;
	struct dirent e;
	int rc;

	while ((rc = dir_next(r->t, l->dir, &it, &e)) == 1 && name_is_dots(e.name, e.name_len))
		continue;
	if (rc == 1) {
		memcpy(name, e.name, e.name_len);
		*len = e.name_len;
	}
	/* the block that it was read from is where to go on */
	if (rc == 1 && !inode_is_inline(l->dir) && it.off != 0)
		l->off = ROUND_DOWN(it.off - 1, block);
	dir_iter_end(&it);
	return rc;
}

/* Removes one entry of the deepest folder, enters a folder, or leaves one that is empty. */
static int step(struct removal *r)
{
	struct level *l = &r->levels[r->n - 1];
	char name[NAME_MAX_BYTES + 1];
	struct ek_inode *inode;
	uint32_t len = 0;
	int rc = next_name(r, l, name, &len);

	if (rc < 0)
		return rc;
	if (rc == 0) {
		struct level gone = *l;

		r->n--;
		inode_put(r->t, gone.dir);
		rc = fs_rmdir(r->t, r->levels[r->n - 1].dir, gone.name, gone.len);
		*r->count += rc == 0 ? 1 : 0;
		return rc;
	}
	rc = edit_entry(r->t, l->dir, name, len, &inode);
	if (rc < 0)
		return rc;
	if (inode_is_dir(inode))
		return push(r, inode, name, len);
	inode_put(r->t, inode);
	rc = fs_unlink(r->t, l->dir, name, len);
	*r->count += rc == 0 ? 1 : 0;
	return rc;
}

/* The first level is the folder that the tree hangs in; it is not emptied. */
int edit_remove_tree(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		     uint64_t *count)
{
	struct removal r = {.t = t, .count = count};
	struct ek_inode *top;
	int rc = mem_grow((void **)&r.levels, &r.cap, 8, sizeof(*r.levels));

	if (rc < 0)
		return rc;
	r.levels[r.n++] = (struct level){.dir = inode_ref(dir)};
	rc = edit_entry(t, dir, name, len, &top);
	if (rc == 0)
		rc = push(&r, top, name, len);
	while (rc == 0 && r.n > 1)
		rc = step(&r);
	while (r.n > 0)
		inode_put(t, r.levels[--r.n].dir);
	free(r.levels);
	return rc;
}

static int remove_name(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		       unsigned flags, uint64_t *count)
{
	struct ek_inode *inode;
	bool folder;
	int rc = edit_entry(t, dir, name, len, &inode);

	if (rc < 0)
		return rc;
	folder = inode_is_dir(inode);
	inode_put(t, inode);
	if (folder && (flags & EK_REMOVE_TREE) != 0)
		return edit_remove_tree(t, dir, name, len, count);
	if (folder && (flags & EK_REMOVE_EMPTY) == 0)
		return -EISDIR;
	rc = folder ? fs_rmdir(t, dir, name, len) : fs_unlink(t, dir, name, len);
	*count += rc == 0 ? 1 : 0;
	return rc;
}

int ek_remove(struct ek_image *img, const char *path, unsigned flags, uint64_t *ret_count)
{
	struct task *t = session_begin(img);
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	uint64_t count = 0;
	int rc = session_check_writable(img);

	if (rc == 0)
		rc = edit_parent(t, path, &dir, &name, &len);
	if (rc == 0) {
		rc = remove_name(t, dir, name, len, flags, &count);
		inode_put(t, dir);
	}
	if (ret_count != NULL)
		*ret_count = count;
	return session_end(img, rc, "cannot remove", path);
}
