/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way through the index of a folder: from the root down, in each node the last entry whose hash
 * is at or before the name's.  A leaf may be continued in the next one when names of one hash were
 * split: the next entry's hash then has its lowest bit set.
 */
#include "fs/htree_probe.h"

#include <errno.h>
#include <string.h>

#include "fs/map.h"
#include "fs/names.h"

bool htree_in_use(const struct ek_inode *dir)
{
	/* with casefold hashes are of folded names: what is read is searched name by name */
	return (dir->rec.flags & (INODE_INDEX | INODE_CASEFOLD)) == INODE_INDEX &&
	       geom_compat(&dir->img->geom, COMPAT_DIR_INDEX);
}

void htree_probe_end(struct htree_probe *p)
{
	for (unsigned i = 0; i <= HTREE_MAX_LEVELS; i++) {
		buf_put(p->frames[i].buf);
		p->frames[i].buf = NULL;
	}
}

/* Last entry at or before hash; entry 0 is before everything. */
static unsigned search(const struct htree_entry *e, uint32_t hash)
{
	unsigned lo = 1, hi = htree_count(e);

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (le32_get(e[mid].u.hash) > hash)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo - 1;
}

static int open_root(struct task *t, struct ek_inode *dir, struct htree_probe *p)
{
	const struct geom *g = &dir->img->geom;
	struct htree_frame *f = &p->frames[0];
	const struct htree_info *i;
	int rc = dir_block_get(t, dir, 0, &f->buf);

	if (rc < 0)
		return rc;
	if (!dir_block_is_index(g, f->buf->data) ||
	    htree_entries_offset(g, f->buf->data) != HTREE_ROOT_ENTRIES)
		return -ENODATA;
	i = htree_info(f->buf->data);
	p->levels = i->indirect_levels;
	p->version = i->hash_version;
	if (p->levels > htree_max_levels(dir->img) || p->version > 2 || i->unused_flags & 1)
		return -ENODATA;
	if (g->hash_version >= 3)
		p->version += 3;
	f->entries = htree_entries(f->buf->data, HTREE_ROOT_ENTRIES);
	return 0;
}

int htree_probe_name(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		     struct htree_probe *p)
{
	const struct geom *g = &dir->img->geom;
	int rc;

	memset(p, 0, sizeof(*p));
	rc = open_root(t, dir, p);
	if (rc == 0)
		rc = names_hash(dir->img->names, g->hash_seed, p->version, name, len, &p->hash);
	for (unsigned i = 0; rc == 0; i++) {
		struct htree_frame *f = &p->frames[i];

		f->pos = search(f->entries, p->hash);
		if (i == p->levels)
			return 0;
		rc = dir_block_get(t, dir, htree_child(f), &p->frames[i + 1].buf);
		if (rc == 0 &&
		    (!dir_block_is_index(g, p->frames[i + 1].buf->data) ||
		     htree_entries_offset(g, p->frames[i + 1].buf->data) != HTREE_NODE_ENTRIES))
			rc = -ENODATA;
		if (rc == 0)
			p->frames[i + 1].entries =
			    htree_entries(p->frames[i + 1].buf->data, HTREE_NODE_ENTRIES);
	}
	return rc;
}

/* Moves to the next leaf if names with this hash may go on there: 1 moved, 0 not. */
static int next_leaf(struct task *t, struct ek_inode *dir, struct htree_probe *p)
{
	int i = (int)p->levels;

	while (i >= 0 && p->frames[i].pos + 1 >= htree_count(p->frames[i].entries))
		i--;
	if (i < 0)
		return 0;
	p->frames[i].pos++;
	if (le32_get(p->frames[i].entries[p->frames[i].pos].u.hash) != (p->hash | 1))
		return 0;
	for (unsigned k = (unsigned)i + 1; k <= p->levels; k++) {
		int rc;

		buf_put(p->frames[k].buf);
		p->frames[k].buf = NULL;
		rc = dir_block_get(t, dir, htree_child(&p->frames[k - 1]), &p->frames[k].buf);
		if (rc < 0)
			return rc;
		if (!dir_block_is_index(&dir->img->geom, p->frames[k].buf->data))
			return -ENODATA;
		p->frames[k].entries = htree_entries(p->frames[k].buf->data, HTREE_NODE_ENTRIES);
		p->frames[k].pos = 0;
	}
	return 1;
}

int htree_lookup(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		 struct buf **leaf, struct dirent_raw **e, struct dirent_raw **prev)
{
	const struct geom *g = &dir->img->geom;
	struct htree_probe p;
	int rc = htree_probe_name(t, dir, name, len, &p);

	while (rc == 0) {
		struct buf *b;

		rc = dir_block_get(t, dir, htree_child(&p.frames[p.levels]), &b);
		if (rc < 0)
			break;
		*e = dir_block_find(g, b->data, name, len, prev);
		if (*e != NULL) {
			*leaf = b;
			break;
		}
		buf_put(b);
		rc = next_leaf(t, dir, &p);
		rc = rc == 1 ? 0 : rc == 0 ? -ENOENT : rc;
	}
	htree_probe_end(&p);
	return rc;
}
