/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folders that are written once.  One that fits a block is a row of entries by name.  A larger one
 * is written with its index: names in the order of their hashes fill leaves completely, block 0
 * becomes the root, and inner nodes, where the root has no room for all leaves, follow behind the
 * leaves.  Without dir_index blocks are filled one after the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/build_impl.h"
#include "fs/htree_probe.h"
#include "ondisk/buf.h"

#define DOTS 24u /* bytes of "." and ".." */

/* ---- order ---- */

static int by_name(const void *a, const void *b)
{
	const struct build_name *x = *(struct build_name *const *)a;
	const struct build_name *y = *(struct build_name *const *)b;
	int order = memcmp(x->name, y->name, MIN(x->len, y->len));

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static int by_hash(const void *a, const void *b)
{
	const struct build_name *x = *(struct build_name *const *)a;
	const struct build_name *y = *(struct build_name *const *)b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor < y->minor ? -1 : 1;
	return by_name(a, b);
}

static bool has_index(const struct build *b, const struct build_inode *dir)
{
	return dir->dir_blocks > 1 && (b->o.compat & COMPAT_DIR_INDEX) != 0 && dir->nnames > 2 &&
	       dir->min_blocks == 0;
}

/* Names [*at, end of the block) fit behind from bytes; *at moves on. */
static void pack(const struct build *b, const struct build_inode *dir, uint32_t from, uint32_t *at)
{
	uint32_t room = dir_usable(&b->l.geom) - from;

	while (*at < dir->nnames && dir_entry_size(dir->names[*at]->len) <= room) {
		room -= dir_entry_size(dir->names[*at]->len);
		(*at)++;
	}
}

/* ---- the index's shape ---- */

struct shape {
	uint32_t leaves, nodes[HTREE_MAX_LEVELS], levels, root_limit, node_limit;
};

static int shape_of(struct build *b, uint32_t leaves, struct shape *s)
{
	const struct geom *g = &b->l.geom;
	uint32_t tail = geom_csum(g) ? 8 : 0, n = leaves;
	unsigned most = geom_incompat(g, INCOMPAT_LARGEDIR) ? 2 : 1;

	*s = (struct shape){.leaves = leaves};
	s->root_limit = (g->block_size - HTREE_ROOT_ENTRIES - tail) / 8;
	s->node_limit = (g->block_size - HTREE_NODE_ENTRIES - tail) / 8;
	while (n > s->root_limit) {
		if (s->levels == most)
			return diag_set(
			    b->diag, -EFBIG,
			    "a folder of %u blocks: its index has no room for more than %u "
			    "levels (larger blocks or -O large_dir would do)",
			    leaves, most + 1);
		n = DIV_UP(n, s->node_limit);
		s->nodes[s->levels++] = n;
	}
	return 0;
}

static uint32_t index_blocks(const struct shape *s)
{
	uint32_t n = 1;

	for (unsigned i = 0; i < s->levels; i++)
		n += s->nodes[i];
	return n;
}

static uint32_t count_leaves(const struct build *b, const struct build_inode *dir)
{
	uint32_t at = 0, n = 0;

	while (at < dir->nnames) {
		pack(b, dir, 0, &at);
		n++;
	}
	return n;
}

static int plan_index(struct build *b, struct build_inode *dir)
{
	const struct geom *g = &b->l.geom;
	struct shape s;
	int rc = 0;

	for (uint32_t i = 0; i < dir->nnames && rc == 0; i++) {
		struct build_name *n = dir->names[i];

		rc = dir_hash(g->hash_seed, g->hash_version, n->name, n->len, &n->hash, &n->minor);
	}
	if (rc < 0)
		return rc;
	qsort(dir->names, dir->nnames, sizeof(struct build_name *), by_hash);
	rc = shape_of(b, count_leaves(b, dir), &s);
	if (rc == 0)
		dir->dir_blocks = s.leaves + index_blocks(&s);
	return rc;
}

int build_dir_plan(struct build *b, struct build_inode *dir)
{
	uint32_t at = 0, from = DOTS;

	if (dir->nnames > 1)
		qsort(dir->names, dir->nnames, sizeof(struct build_name *), by_name);
	dir->dir_blocks = 0;
	if (build_dir_inside(b, dir))
		return 0;
	do {
		pack(b, dir, from, &at);
		from = 0;
		dir->dir_blocks++;
	} while (at < dir->nnames);
	dir->dir_blocks = MAX(dir->dir_blocks, dir->min_blocks);
	return has_index(b, dir) ? plan_index(b, dir) : 0;
}

/* ---- bytes ---- */

static uint8_t type_of(const struct build *b, uint32_t mode)
{
	static const uint8_t types[16] = {
	    [S_IFREG >> 12] = DIRENT_FILE, [S_IFDIR >> 12] = DIRENT_DIR,
	    [S_IFCHR >> 12] = DIRENT_CHR,  [S_IFBLK >> 12] = DIRENT_BLK,
	    [S_IFIFO >> 12] = DIRENT_FIFO, [S_IFSOCK >> 12] = DIRENT_SOCK,
	    [S_IFLNK >> 12] = DIRENT_LNK};

	return (b->o.incompat & INCOMPAT_FILETYPE) != 0 ? types[mode >> 12 & 15] : 0;
}

/* A folder while it is written. */
struct writing {
	struct build *b;
	struct build_out *out;
	const struct build_inode *dir;
	uint8_t *block;
	uint32_t run, off; /* where the next block goes */
	uint32_t *hashes;  /* the first of each leaf */
};

static uint32_t put(const struct build *b, uint8_t *block, uint32_t at, const char *name,
		    uint32_t len, const struct build_inode *inode, uint32_t size)
{
	struct dirent_raw *e = (struct dirent_raw *)(void *)(block + at);

	e->inode = le32_make(inode->ino);
	dir_set_rec_len(&b->l.geom, e, size);
	e->name_len = (uint8_t)len;
	e->file_type = type_of(b, inode->mode);
	memcpy(e->name, name, len);
	return at + size;
}

void build_dir_put(const struct build *b, uint8_t *bytes, uint32_t at, const struct build_name *n,
		   uint32_t size)
{
	put(b, bytes, at, n->name, n->len, n->inode, size);
}

static uint32_t put_dots(struct writing *w, uint32_t size)
{
	const struct build_inode *up = w->dir->parent != NULL ? w->dir->parent : w->dir;

	put(w->b, w->block, 0, ".", 1, w->dir, 12);
	return put(w->b, w->block, 12, "..", 2, up, size);
}

/* Names [at, end) behind from bytes; the last entry reaches to the end of the block. */
static void put_names(struct writing *w, uint32_t from, uint32_t at, uint32_t end)
{
	uint32_t usable = dir_usable(&w->b->l.geom);

	for (; at < end; at++) {
		const struct build_name *n = w->dir->names[at];
		uint32_t size = at + 1 < end ? dir_entry_size(n->len) : usable - from;

		from = put(w->b, w->block, from, n->name, n->len, n->inode, size);
	}
}

static int send(struct writing *w)
{
	const struct geom *g = &w->b->l.geom;
	const struct build_run *r = &w->dir->runs[w->run];
	struct buf buf = {.pblk = {r->pblk + w->off},
			  .data = w->block,
			  .size = g->block_size,
			  .owner = {w->dir->ino, w->dir->generation}};

	verify_dir_block.seal(g, &buf);
	if (++w->off == r->len) {
		w->run++;
		w->off = 0;
	}
	return build_out(w->out, buf.pblk.v << g->block_bits, w->block, g->block_size);
}

static int write_linear(struct writing *w)
{
	uint32_t at = 0;
	int rc = 0;

	for (uint32_t n = 0; n < w->dir->dir_blocks && rc == 0; n++) {
		uint32_t begin = at, from = n == 0 ? DOTS : 0;

		dir_block_init(&w->b->l.geom, w->block);
		pack(w->b, w->dir, from, &at);
		if (n == 0)
			put_dots(w, at == begin ? dir_usable(&w->b->l.geom) - 12 : 12);
		put_names(w, from, begin, at);
		rc = send(w);
	}
	return rc;
}

/* ---- index ---- */

/* Entries of an index block for n children, the first of which is block first. */
static void put_index(struct htree_entry *e, const uint32_t *hashes, uint32_t first, uint32_t n)
{
	e[0].block = le32_make(first);
	for (uint32_t i = 1; i < n; i++) {
		e[i].u.hash = le32_make(hashes[i]);
		e[i].block = le32_make(first + i);
	}
	htree_set_count(e, n);
}

static int write_root(struct writing *w, const struct shape *s, const uint32_t *hashes)
{
	const struct geom *g = &w->b->l.geom;
	uint32_t first = 1 + (s->levels != 0 ? s->leaves : 0), n = s->leaves;

	memset(w->block, 0, g->block_size);
	put_dots(w, g->block_size - 12);
	htree_root_init(g, w->block, g->hash_version % 3u);
	for (unsigned i = 0; i < s->levels; i++)
		n = s->nodes[i];
	for (unsigned i = 0; i + 1 < s->levels; i++)
		first += s->nodes[i];
	htree_info(w->block)->indirect_levels = (uint8_t)s->levels;
	put_index(htree_entries(w->block, HTREE_ROOT_ENTRIES), hashes, first, n);
	return send(w);
}

/* The first hash below each node of a level, from those of the level below. */
static void lift(const struct shape *s, uint32_t *hashes, uint32_t n)
{
	for (uint32_t i = 0; i * s->node_limit < n; i++)
		hashes[i] = hashes[i * s->node_limit];
}

/* Where each leaf begins; a hash that goes on in the next leaf is marked by its lowest bit. */
static void find_leaves(const struct writing *w, uint32_t *hashes)
{
	uint32_t at = 0, n = 0;

	while (at < w->dir->nnames) {
		uint32_t hash = w->dir->names[at]->hash;

		hashes[n++] = at != 0 && w->dir->names[at - 1]->hash == hash ? hash | 1 : hash;
		pack(w->b, w->dir, 0, &at);
	}
}

static int write_leaves(struct writing *w)
{
	uint32_t at = 0;
	int rc = 0;

	while (at < w->dir->nnames && rc == 0) {
		uint32_t begin = at;

		dir_block_init(&w->b->l.geom, w->block);
		pack(w->b, w->dir, 0, &at);
		put_names(w, 0, begin, at);
		rc = send(w);
	}
	return rc;
}

static int write_nodes(struct writing *w, const struct shape *s, uint32_t *hashes)
{
	uint32_t below = s->leaves, first = 1;
	int rc = 0;

	for (unsigned level = 0; level < s->levels && rc == 0; level++) {
		for (uint32_t i = 0; i < s->nodes[level] && rc == 0; i++) {
			uint32_t at = i * s->node_limit;
			struct htree_entry *e = htree_node_init(&w->b->l.geom, w->block);

			put_index(e, hashes + at, first + at, MIN(s->node_limit, below - at));
			rc = send(w);
		}
		lift(s, hashes, below);
		first += below;
		below = s->nodes[level];
	}
	return rc;
}

static int write_indexed(struct writing *w)
{
	uint32_t leaves = count_leaves(w->b, w->dir), n = leaves;
	uint32_t *hashes = mem_array(leaves, sizeof(*hashes), MEM_CAP, w->b->diag);
	struct shape s;
	int rc = hashes == NULL ? -ENOMEM : shape_of(w->b, leaves, &s);

	if (rc == 0) {
		find_leaves(w, hashes);
		for (unsigned i = 0; i < s.levels; i++) {
			lift(&s, hashes, n);
			n = s.nodes[i];
		}
		rc = write_root(w, &s, hashes);
	}
	if (rc == 0)
		rc = write_leaves(w);
	if (rc == 0) {
		find_leaves(w, hashes);
		rc = write_nodes(w, &s, hashes);
	}
	free(hashes);
	return rc;
}

int build_dir_write(struct build *b, struct build_out *o, const struct build_inode *dir)
{
	struct writing w = {.b = b, .out = o, .dir = dir, .block = mem_aligned(4096, b->z.bs)};
	int rc;

	if (w.block == NULL)
		return -ENOMEM;
	rc = has_index(b, dir) ? write_indexed(&w) : write_linear(&w);
	free(w.block);
	return rc;
}
