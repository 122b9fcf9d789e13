/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk of a tree: a stack of open folders instead of recursion, and a set of the folders that
 * were entered, so that a damaged image with a loop in it ends.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/str.h"
#include "extkit/inode.h"
#include "fs/inode.h"
#include "fs/listing.h"
#include "fs/session.h"
#include "tree/name_sort.h"

#define DEPTH_LIMIT 256

/* A folder whose entries are being handed out: from the image, or from the sorted copy, whose
 * memory stays for the next folder at this depth. */
struct level {
	struct ek_dir *dir;
	size_t path_len; /* of the folder itself */
	struct sorted *sorted;
	size_t n, at, cap;
	char *names;
	size_t names_len, names_cap;
	int end; /* what the folder ends with after its sorted entries */
};

struct seen {
	struct hash_node node;
};

struct ek_walk {
	struct ek_image *img;
	struct ek_inode *start; /* until it was handed out */
	struct ek_inode *last;  /* handed out, to be entered next unless pruned */
	struct str path;
	struct level levels[DEPTH_LIMIT];
	size_t depth;
	struct hash seen;
	struct sorted *spare; /* that entries are sorted with */
	size_t spare_cap;
	unsigned flags;
};

int ek_walk_open(struct ek_inode *inode, unsigned flags, struct ek_walk **ret)
{
	struct ek_walk *w = mem_zero(sizeof(*w));

	session_begin(inode->img);
	if (w != NULL) {
		w->img = inode->img;
		w->flags = flags;
		w->start = inode_ref(inode);
		*ret = w;
	}
	return session_end(inode->img, w != NULL ? 0 : -ENOMEM, "cannot walk", "a tree");
}

/* 1 when the folder is new to this walk, 0 when it was entered before. */
static int note(struct ek_walk *w, uint32_t ino)
{
	struct seen *s;

	if (hash_find(&w->seen, ino) != NULL)
		return 0;
	s = mem_zero(sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	hash_insert(&w->seen, &s->node, ino);
	return 1;
}

static int refuse(struct ek_walk *w, int rc, const char *why)
{
	session_begin(w->img);
	diag_set(&w->img->diag, rc, "corrupt folder: inode %u: %s", w->last->ino.v, why);
	return session_end(w->img, rc, "cannot enter", str_text(&w->path));
}

static int no_memory(struct ek_walk *w)
{
	session_begin(w->img);
	return session_end(w->img, -ENOMEM, "cannot walk", str_text(&w->path));
}

/* ---- sorted folders ---- */

static int keep_entry(struct level *l, const struct dirent *e)
{
	int rc = mem_grow((void **)&l->sorted, &l->cap, l->n + 1, sizeof(*l->sorted));

	if (rc == 0)
		rc = mem_grow((void **)&l->names, &l->names_cap, l->names_len + e->name_len, 1);
	if (rc < 0)
		return rc;
	memcpy(l->names + l->names_len, e->name, e->name_len);
	l->sorted[l->n++] = (struct sorted){.key = name_key(e->name, e->name_len),
					    .name = l->names_len,
					    .name_len = e->name_len,
					    .mode = listing_mode(e->type),
					    .ino = e->ino};
	l->names_len += e->name_len;
	return 0;
}

static int sort(struct ek_walk *w, struct level *l)
{
	struct sorted *v;
	int rc = mem_grow((void **)&w->spare, &w->spare_cap, l->n, sizeof(*w->spare));

	if (rc < 0)
		return rc;
	v = name_sort(l->sorted, w->spare, l->n, l->names);
	if (v != l->sorted) {
		size_t cap = l->cap;

		w->spare = l->sorted;
		l->sorted = v;
		l->cap = w->spare_cap;
		w->spare_cap = cap;
	}
	return 0;
}

/* Reads the whole folder; damage is kept for the end, behind the entries that could be read.
 * -ENOMEM. */
static int read_sorted(struct ek_walk *w, struct level *l)
{
	struct task *t = session_begin(w->img);
	struct dirent e;
	int rc;

	while ((rc = listing_next(t, l->dir, &e)) == 1 && (rc = keep_entry(l, &e)) == 0)
		continue;
	l->end = session_end(w->img, rc, "cannot list", "a folder");
	return l->n > 1 ? sort(w, l) : 0;
}

static int level_next(const struct ek_walk *w, struct level *l, struct ek_entry *ret)
{
	const struct sorted *s;

	if ((w->flags & EK_WALK_SORTED) == 0)
		return ek_dir_next(l->dir, ret);
	if (l->at == l->n)
		return l->end;
	s = &l->sorted[l->at++];
	ret->ino = s->ino;
	ret->mode = s->mode;
	ret->name_len = s->name_len;
	memcpy(ret->name, l->names + s->name, s->name_len);
	ret->name[s->name_len] = '\0';
	return 1;
}

static void level_close(struct level *l)
{
	ek_dir_close(l->dir);
	l->dir = NULL;
	l->n = l->at = l->names_len = 0;
}

/* ---- steps ---- */

/* Opens the folder that was handed out last. */
static int enter(struct ek_walk *w)
{
	struct level *l;
	int rc;

	if (w->depth >= DEPTH_LIMIT)
		return refuse(w, -ELOOP, "it lies more than 256 folders deep");
	rc = note(w, w->last->ino.v);
	if (rc == 0)
		return refuse(w, -EUCLEAN, "it has more than one name, or contains itself");
	if (rc < 0)
		return no_memory(w);
	l = &w->levels[w->depth];
	rc = ek_dir_open(w->last, &l->dir);
	if (rc < 0)
		return rc;
	l->path_len = w->path.len;
	w->depth++;
	if ((w->flags & EK_WALK_SORTED) == 0 || read_sorted(w, l) == 0)
		return 0;
	level_close(&w->levels[--w->depth]);
	return no_memory(w);
}

static void forget_last(struct ek_walk *w)
{
	ek_inode_close(w->last);
	w->last = NULL;
}

/* The inode of an entry in the place of the one before: both under one lock. */
static int take_inode(struct ek_walk *w, ek_inum ino)
{
	struct task *t = session_begin(w->img);

	inode_put_off(t, w->last);
	w->last = NULL;
	return session_end_inode(w->img, ino, &w->last);
}

static int hand_out(struct ek_walk *w, ek_inum ino, size_t name_at, struct ek_found *ret)
{
	*ret = (struct ek_found){
	    .path = str_text(&w->path),
	    .path_len = w->path.len,
	    .depth = (unsigned)w->depth,
	    .ino = ino,
	    .inode = w->last,
	};
	ret->name = ret->path + name_at;
	ret->mode = w->last != NULL ? w->last->rec.mode : 0;
	return w->path.err != 0 ? no_memory(w) : 1;
}

/* A folder that could not be entered or read to its end is found once more, with its error. */
static int hand_out_error(struct ek_walk *w, int error, ek_inum ino, struct ek_found *ret)
{
	int rc = hand_out(w, ino, 0, ret);

	ret->inode = NULL;
	ret->mode = 0;
	ret->error = error;
	return rc;
}

/* Whoever joins names to paths must be able to trust them. */
static int check_name(struct ek_walk *w, const struct ek_entry *e)
{
	struct ek_image *img = w->img;

	if (name_is_sound(e->name, e->name_len))
		return 0;
	session_begin(img);
	diag_set(&img->diag, -EUCLEAN, "corrupt dirent: inode %u: its name is no name", e->ino.v);
	return session_end(img, -EUCLEAN, "cannot read", "a name");
}

/* The next entry of the innermost folder. */
static int next_entry(struct ek_walk *w, struct ek_found *ret)
{
	struct level *l = &w->levels[w->depth - 1];
	struct ek_entry e;
	size_t name_at;
	int rc = level_next(w, l, &e), error;

	str_cut(&w->path, l->path_len);
	if (rc <= 0) {
		forget_last(w);
		level_close(l);
		w->depth--;
		return rc == 0 ? 0 : hand_out_error(w, rc, (ek_inum){0}, ret);
	}
	if (w->path.len != 0)
		str_addc(&w->path, '/');
	name_at = w->path.len;
	str_add(&w->path, e.name, e.name_len);
	error = check_name(w, &e);
	if (error == 0)
		error = take_inode(w, e.ino);
	else
		forget_last(w);
	rc = hand_out(w, e.ino, name_at, ret);
	ret->error = error;
	return rc;
}

int ek_walk_next(struct ek_walk *walk, struct ek_found *ret)
{
	int rc;

	if (walk->start != NULL) {
		walk->last = walk->start;
		walk->start = NULL;
		return hand_out(walk, walk->last->ino, 0, ret);
	}
	if (walk->last != NULL && inode_is_dir(walk->last)) {
		ek_inum ino = walk->last->ino;

		rc = enter(walk);
		forget_last(walk);
		if (rc < 0)
			return hand_out_error(walk, rc, ino, ret);
	}
	while (walk->depth > 0) {
		rc = next_entry(walk, ret);
		if (rc != 0)
			return rc;
	}
	forget_last(walk);
	return 0;
}

void ek_walk_prune(struct ek_walk *walk)
{
	forget_last(walk);
}

void ek_walk_close(struct ek_walk *walk)
{
	struct hash_node *n;
	size_t at = 0;

	if (walk == NULL)
		return;
	while (walk->depth > 0)
		level_close(&walk->levels[--walk->depth]);
	for (unsigned i = 0; i < DEPTH_LIMIT; i++) {
		free(walk->levels[i].sorted);
		free(walk->levels[i].names);
	}
	ek_inode_close(walk->last);
	ek_inode_close(walk->start);
	while ((n = hash_pop(&walk->seen, &at)) != NULL)
		free(hash_entry(n, struct seen, node));
	hash_free(&walk->seen);
	free(walk->spare);
	str_free(&walk->path);
	free(walk);
}
