/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folders: through the index when there is one, block by block otherwise.  A damaged index is
 * ignored: lookups and insertions fall back to the linear walk, which is always right.
 */
#include "fs/dir.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/name.h"
#include "fs/blocks.h"
#include "fs/dir_block.h"
#include "fs/dir_impl.h"
#include "fs/htree.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "fs/names.h"

uint32_t dir_blocks(const struct ek_inode *dir)
{
	return (uint32_t)(dir->size >> dir->img->geom.block_bits);
}

int dir_check(struct ek_inode *dir)
{
	uint64_t size = dir->size;

	if (!inode_is_dir(dir))
		return -ENOTDIR;
	if (inode_is_inline(dir))
		return 0;
	if (size == 0 || (size & (dir->img->geom.block_size - 1)) != 0 ||
	    size >> dir->img->geom.block_bits > MIN(dir->img->geom.blocks, (uint64_t)UINT32_MAX))
		return diag_set(&dir->img->diag, -EUCLEAN,
				"corrupt folder: inode %u: i_size %llu is no number of blocks",
				dir->ino.v, (unsigned long long)size);
	return 0;
}

/* The block whose place was looked up. */
static int read_block(struct ek_inode *dir, const struct map *m, struct buf **ret)
{
	if (m->state != MAP_MAPPED)
		return diag_set(&dir->img->diag, -EUCLEAN,
				"corrupt folder: inode %u: block %u is not mapped", dir->ino.v,
				m->lblk.v);
	return buf_get(dir->img->cache, m->pblk, &verify_dir_block, inode_owner(dir), ret);
}

int dir_block_get(struct task *t, struct ek_inode *dir, uint32_t n, struct buf **ret)
{
	struct map m = {.lblk = {n}, .len = 1};
	int rc;

	if (n >= dir_blocks(dir))
		return diag_set(&dir->img->diag, -EUCLEAN,
				"corrupt folder: inode %u: block %u is past its %u", dir->ino.v, n,
				dir_blocks(dir));
	rc = map_lookup(t, dir, &m);
	return rc < 0 ? rc : read_block(dir, &m, ret);
}

int dir_block_append(struct task *t, struct ek_inode *dir, uint32_t *n, struct buf **ret)
{
	struct map m = {.lblk = {dir_blocks(dir)}, .len = 1};
	struct buf *b;
	void *view;
	int rc = map_blocks(t, dir, &m, MAP_CREATE);

	if (rc < 0)
		return rc;
	rc = buf_new(dir->img->cache, m.pblk, &verify_dir_block, inode_owner(dir), &b);
	if (rc < 0)
		return rc;
	rc = handle_create(t->user.current, b, &view);
	if (rc == 0) {
		dir_block_init(&dir->img->geom, b->data);
		dir->size += dir->img->geom.block_size;
		dir->rec.size = dir->size;
		rc = inode_mark_dirty(t, dir, MARK_DIR);
	}
	if (rc < 0) {
		buf_put(b);
		return rc;
	}
	*n = m.lblk.v;
	*ret = b;
	return 0;
}

/* ---- walk ---- */

static int open_block(struct task *t, struct ek_inode *dir, struct dir_iter *it)
{
	uint32_t n = (uint32_t)(it->off >> dir->img->geom.block_bits);
	struct map m = {.lblk = {n}, .len = dir_blocks(dir) - n};
	int rc = map_lookup(t, dir, &m);

	if (rc < 0)
		return rc;
	if (m.state == MAP_MAPPED && m.len > 1 && !dir->img->writable &&
	    buf_find(dir->img->cache, m.pblk) == NULL)
		buf_read_ahead(dir->img->cache, m.pblk, m.len);
	if (m.state == MAP_HOLE) {
		it->off += (uint64_t)m.len << dir->img->geom.block_bits;
		return 1;
	}
	return read_block(dir, &m, &it->buf);
}

int dir_next(struct task *t, struct ek_inode *dir, struct dir_iter *it, struct dirent *ret)
{
	const struct geom *g = &dir->img->geom;
	int rc = it->off == 0 && it->buf == NULL ? dir_check(dir) : 0;

	if (rc == 0 && inode_is_inline(dir))
		return inline_dir_next(dir, it, ret);
	if (it->last)
		dir_iter_end(it);
	while (rc >= 0 && it->off < dir->size) {
		const struct dirent_raw *e;

		if (it->buf == NULL) {
			rc = open_block(t, dir, it);
			continue;
		}
		e = buf_view(it->buf, it->off & (g->block_size - 1), sizeof(*e));
		it->off += dir_rec_len(g, e);
		if (le32_get(e->inode) == 0) {
			if ((it->off & (g->block_size - 1)) == 0)
				dir_iter_end(it);
			continue;
		}
		if ((it->off & (g->block_size - 1)) == 0)
			it->last = true;
		*ret = (struct dirent){{le32_get(e->inode)},
				       (enum dirent_type)(geom_incompat(g, INCOMPAT_FILETYPE)
							      ? e->file_type
							      : DIRENT_UNKNOWN),
				       e->name_len,
				       e->name};
		return 1;
	}
	return rc < 0 ? rc : 0;
}

void dir_iter_end(struct dir_iter *it)
{
	buf_put(it->buf);
	it->buf = NULL;
	it->last = false;
}

/* ---- find ---- */

static int find_linear(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		       struct buf **ret, struct dirent_raw **e, struct dirent_raw **prev)
{
	uint32_t n = dir_blocks(dir);

	for (uint32_t i = 0; i < n; i++) {
		struct map m = {.lblk = {i}, .len = n - i};
		struct buf *b;
		int rc = map_lookup(t, dir, &m);

		if (rc == 0 && m.state == MAP_HOLE) {
			i += m.len - 1;
			continue;
		}
		if (rc == 0)
			rc = read_block(dir, &m, &b);
		if (rc < 0)
			return rc;
		*e = dir_block_find(&dir->img->geom, b->data, name, len, prev);
		if (*e != NULL) {
			*ret = b;
			return 0;
		}
		buf_put(b);
	}
	return -ENOENT;
}

int dir_find(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, struct buf **ret,
	     struct dirent_raw **e, struct dirent_raw **prev)
{
	int rc = dir_check(dir);

	if (rc < 0)
		return rc;
	if (htree_in_use(dir) && !name_is_dots(name, len)) {
		rc = htree_lookup(t, dir, name, len, ret, e, prev);
		if (rc != -ENODATA)
			return rc;
	}
	return find_linear(t, dir, name, len, ret, e, prev);
}

static int prove_ino(struct ek_inode *dir, uint32_t raw, ek_inum *ret)
{
	struct ek_image *img = dir->img;
	int rc = geom_inum(&img->geom, raw, "dirent", &img->diag, ret);

	if (rc == 0 && ret->v < img->geom.first_ino && ret->v != INUM_ROOT)
		rc = diag_set(&img->diag, -EUCLEAN,
			      "corrupt dirent: folder %u names reserved inode %u", dir->ino.v,
			      ret->v);
	return rc;
}

static int look_up_inline(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
			  ek_inum *ret)
{
	struct dir_iter it = {.off = 0};
	struct dirent e;
	int rc;

	do {
		rc = dir_next(t, dir, &it, &e);
	} while (rc == 1 && (e.name_len != len || memcmp(e.name, name, len) != 0));
	rc = rc == 1 ? prove_ino(dir, e.ino.v, ret) : rc == 0 ? -ENOENT : rc;
	dir_iter_end(&it);
	return rc;
}

static int look_up(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		   ek_inum *ret)
{
	struct dirent_raw *e, *prev;
	struct buf *b;
	int rc;

	if (inode_is_dir(dir) && inode_is_inline(dir))
		return look_up_inline(t, dir, name, len, ret);
	rc = dir_find(t, dir, name, len, &b, &e, &prev);
	if (rc < 0)
		return rc;
	rc = prove_ino(dir, le32_get(e->inode), ret);
	buf_put(b);
	return rc;
}

int dir_lookup(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, ek_inum *ret)
{
	ek_inum ino = {0};
	int rc;

	if (len > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	rc = names_find(dir->img->names, dir, name, len, &ino);
	if (rc < 0) {
		rc = look_up(t, dir, name, len, &ino);
		if (rc != 0 && rc != -ENOENT)
			return rc;
		names_note(dir->img->names, dir, name, len, rc == 0 ? ino : (ek_inum){0});
	} else {
		rc = rc == 1 ? 0 : -ENOENT;
	}
	if (rc == 0)
		*ret = ino;
	return rc;
}

/* ---- whole folders ---- */

int dir_init(struct task *t, struct ek_inode *dir, ek_inum parent)
{
	struct buf *b;
	uint32_t n;
	int rc = inline_dir_init(t, dir, parent);

	if (rc != -ENOSPC)
		return rc;
	rc = dir_block_append(t, dir, &n, &b);
	if (rc < 0)
		return rc;
	dir_block_dots(&dir->img->geom, b->data, dir->ino.v, parent.v);
	rc = handle_dirty(t->user.current, b);
	buf_put(b);
	return rc;
}

int dir_empty(struct task *t, struct ek_inode *dir)
{
	struct dir_iter it = {0};
	struct dirent e;
	int rc, empty = 1;

	while (empty && (rc = dir_next(t, dir, &it, &e)) == 1)
		empty = name_is_dots(e.name, e.name_len);
	dir_iter_end(&it);
	return empty && rc < 0 ? rc : empty;
}
