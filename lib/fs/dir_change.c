/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries that are added, removed and pointed elsewhere, with the folder's times. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/dir.h"
#include "fs/dir_block.h"
#include "fs/dir_impl.h"
#include "fs/htree.h"
#include "fs/inline.h"
#include "fs/names.h"

static uint8_t type_of(const struct ek_inode *target)
{
	switch (target->rec.mode & S_IFMT) {
	case S_IFREG:
		return DIRENT_FILE;
	case S_IFDIR:
		return DIRENT_DIR;
	case S_IFCHR:
		return DIRENT_CHR;
	case S_IFBLK:
		return DIRENT_BLK;
	case S_IFIFO:
		return DIRENT_FIFO;
	case S_IFSOCK:
		return DIRENT_SOCK;
	case S_IFLNK:
		return DIRENT_LNK;
	default:
		return DIRENT_UNKNOWN;
	}
}

static void changed(struct ek_inode *dir)
{
	dir->rec.mtime = inode_change_now(dir);
	dir->rec.ctime = dir->rec.mtime;
	dir->rec.version++;
}

/* Into block b, if it has room: -ENOSPC else. */
static int add_to_block(struct task *t, struct ek_inode *dir, struct buf *b,
			const struct new_entry *n)
{
	const struct geom *g = &dir->img->geom;
	uint32_t at, hint;
	void *view;
	int rc;

	if (!n->is_new && dir_block_find(g, b->data, n->name, n->len, NULL) != NULL)
		return -EEXIST;
	rc = dir_block_gap(g, b->data, n->len, &b->hint, &at);
	hint = b->hint;
	if (rc == 0)
		rc = handle_write(t->user.current, b, &view);
	if (rc < 0)
		return rc;
	dir_block_fill(g, view, at, n->name, n->len, n->ino, n->type);
	b->hint = hint;
	return handle_dirty(t->user.current, b);
}

static int add_linear(struct task *t, struct ek_inode *dir, const struct new_entry *e)
{
	bool index =
	    geom_compat(&dir->img->geom, COMPAT_DIR_INDEX) && (dir->rec.flags & INODE_INDEX) == 0;
	uint32_t n = dir_blocks(dir), at;
	struct buf *b;
	int rc;

	for (uint32_t i = 0; i < n; i++) {
		rc = dir_block_get(t, dir, i, &b);
		if (rc < 0)
			return rc;
		/* A damaged index is not indexed any more, but its blocks are no place for names.
		 */
		rc = dir_block_is_index(&dir->img->geom, b->data) ? -ENOSPC
								  : add_to_block(t, dir, b, e);
		if (rc == -ENOSPC && n == 1 && index)
			rc = htree_make(t, dir, b, e);
		buf_put(b);
		if (rc != -ENOSPC)
			return rc;
	}
	rc = dir_block_append(t, dir, &at, &b);
	if (rc < 0)
		return rc;
	rc = add_to_block(t, dir, b, e);
	buf_put(b);
	return rc;
}

static int add(struct task *t, struct ek_inode *dir, const struct new_entry *e)
{
	int rc = inode_is_inline(dir) ? inline_dir_add(t, dir, e) : 1;

	if (rc <= 0)
		return rc;
	rc = htree_in_use(dir) ? htree_add(t, dir, e) : -ENODATA;

	if (rc != -ENODATA)
		return rc;
	if (htree_in_use(dir))
		dir->rec.flags &= ~INODE_INDEX;
	return add_linear(t, dir, e);
}

int dir_add(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
	    struct ek_inode *target)
{
	struct new_entry e = {name, len, target->ino.v, type_of(target), false};
	ek_inum ino;
	int rc = dir_check(dir);

	if (rc < 0)
		return rc;
	if (len == 0 || len > NAME_MAX_BYTES)
		return len == 0 ? -EINVAL : -ENAMETOOLONG;
	/* Whoever looked before left its answer, which spares a walk along the names. */
	e.is_new = names_find(dir->img->names, dir, name, len, &ino) == 0;
	rc = add(t, dir, &e);
	if (rc < 0)
		return rc;
	names_note(dir->img->names, dir, name, len, target->ino);
	changed(dir);
	target->entry_in = dir->ino;
	return inode_mark_dirty(t, dir, MARK_DIR);
}

static int remove_inline(struct task *t, struct ek_inode *dir, const char *name, uint32_t len)
{
	int rc = inline_dir_remove(t, dir, name, len);

	if (rc == 0) {
		names_note(dir->img->names, dir, name, len, (ek_inum){0});
		changed(dir);
	}
	return rc;
}

int dir_remove(struct task *t, struct ek_inode *dir, const char *name, uint32_t len)
{
	struct dirent_raw *e, *prev;
	struct buf *b;
	void *view;
	int rc;

	if (inode_is_dir(dir) && inode_is_inline(dir))
		return remove_inline(t, dir, name, len);
	rc = dir_find(t, dir, name, len, &b, &e, &prev);
	if (rc < 0)
		return rc;
	rc = handle_write(t->user.current, b, &view);
	if (rc == 0) {
		dir_block_remove(&dir->img->geom, e, prev);
		names_note(dir->img->names, dir, name, len, (ek_inum){0});
		rc = handle_dirty(t->user.current, b);
		changed(dir);
	}
	buf_put(b);
	return rc;
}

int dir_set(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
	    const struct ek_inode *target)
{
	struct dirent_raw *e, *prev;
	struct buf *b;
	void *view;
	int rc;

	if (inode_is_dir(dir) && inode_is_inline(dir)) {
		rc = inline_dir_set(t, dir, name, len, target->ino.v, type_of(target));
		if (rc == 0)
			names_note(dir->img->names, dir, name, len, target->ino);
		return rc;
	}
	rc = dir_find(t, dir, name, len, &b, &e, &prev);
	if (rc < 0)
		return rc;
	rc = handle_write(t->user.current, b, &view);
	if (rc == 0) {
		e->inode = le32_make(target->ino.v);
		if (geom_incompat(&dir->img->geom, INCOMPAT_FILETYPE))
			e->file_type = type_of(target);
		names_note(dir->img->names, dir, name, len, target->ino);
		rc = handle_dirty(t->user.current, b);
	}
	buf_put(b);
	return rc;
}
