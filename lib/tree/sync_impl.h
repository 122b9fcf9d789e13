/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files that make an image's folder equal to a source share.
 *
 * A name goes through two records.  The image's names before anything changes are the nodes of a
 * comparison (diff_impl.h).  A place is what is there now, for each name that the source has
 * mentioned and the folders above it; it begins as the node says and follows every change.
 */
#ifndef TREE_SYNC_IMPL_H
#define TREE_SYNC_IMPL_H

#include "base/hash.h"
#include "extkit/tree.h"
#include "tree/diff_impl.h"
#include "tree/feed.h"
#include "tree/put.h"
#include "tree/report.h"

struct sync_place {
	struct hash_node node; /* by diff_key of the path */
	struct diff_node *was; /* what the image had, NULL when nothing */
	uint64_t inode;        /* tells inodes apart: the number, or one above all numbers */
	uint32_t type;         /* S_IFMT bits of what is there now, 0 for nothing */
	bool fresh;            /* it was made here, or its name was free */
	bool told;             /* the source has handed it out, and it was taken */
	bool entered;          /* the source has something below */
	bool same;             /* the source's inode was found here, and nothing changed */
	bool touched;          /* a folder whose names changed: its time is set at the end */
	bool has_mtime;
	struct ek_time mtime;
	struct sync_place *next; /* what gets further names since the inode here takes no more */
	char path[];
};

/* An inode of the image, by length and time of change. */
struct sync_kin {
	struct hash_node node;
	struct diff_node *of;
};

#define SYNC_TIME (1u << 2) /* of sync.words: the time of change differs */

struct sync {
	struct ek_ctx *ctx;
	struct diff diff; /* a is the image */
	struct tree_feed feed;
	struct tree_put put;
	struct tree_report *rep;
	struct hash places;
	struct sync_place **touched;
	size_t ntouched, touched_cap;
	uint64_t made; /* inodes so far, for their numbers in places */
	struct hash kins;
	struct sync_kin *kin;
	struct diff_node joined; /* stands for the names that sync_join made */
	unsigned words;
	unsigned flags;
	bool spare; /* lost+found is there and is left alone */
	ek_sync_fn *tell;
	void *arg;
};

/* ---- sync_place.c ---- */

/* The place of the first len bytes of path, NULL when nothing has mentioned it. */
struct sync_place *sync_find(const struct sync *y, const char *path, size_t len);

/* The same, and makes it; the folder above has one already. */
int sync_place(struct sync *y, const char *path, size_t len, struct sync_place **ret);

/* How many of the first len bytes of path name the folder above. */
size_t sync_up(const char *path, size_t len);

/* The folder above, NULL for the start. */
struct sync_place *sync_above(const struct sync *y, const char *path);

/* Sees to it that every folder above path is one. */
int sync_enter(struct sync *y, const char *path);

/* Takes away what is there, with everything below, to make room. */
int sync_clear(struct sync *y, struct sync_place *at);

/* What is there now was made just now.  inode: of another place, or 0 for one of its own. */
int sync_made(struct sync *y, struct sync_place *at, uint32_t type, uint64_t inode);

/* A name in the folder above path came or went. */
int sync_touch(struct sync *y, const char *path);

void sync_forget(struct sync *y);

/* ---- sync_entry.c ---- */

/* Takes one entry of the source: a feed_take. */
int sync_entry(void *arg, struct tree_source *s, struct tree_entry *e);

/* Nothing, or what is no folder, is under the name then.  A folder that the source has something
 * in is one for good. */
int sync_make_room(struct sync *y, struct sync_place *at);

/* Collects what differs: an ek_diff_fn. */
int sync_collect(void *arg, const struct ek_difference *d);

/* ---- sync_link.c ---- */

/* Takes an entry that is a further name. */
int sync_link(struct sync *y, struct sync_place *at, const struct tree_entry *e);

/* ---- sync_move.c ---- */

/* Finds inodes from here on. */
int sync_index(struct sync *y);

/* Notes that an entry with a new name may be found. */
void sync_want(struct sync *y, const struct tree_entry *e);

/* Whether it is worth to look for the entry's contents in the image. */
bool sync_has_kin(const struct sync *y, const struct tree_entry *e);

/* *ret stays as it is when there is none. */
int sync_find_kin(struct sync *y, struct tree_source *s, const struct tree_entry *e,
		  struct diff_node **ret);

/* The name becomes one of that inode's. */
int sync_join(struct sync *y, struct sync_place *at, struct diff_node *n);

/* ---- sync_first.c ---- */

/* Removes what the source has not, where its names can be read twice and nothing may fail. */
int sync_remove_first(struct sync *y);

/* ---- sync.c ---- */

/* A name that goes, with what is below. */
int sync_remove(struct sync *y, const char *name);
int sync_refuse_nothing(struct sync *y);

int sync_tell(struct sync *y, const char *path, const char *action);

#endif
