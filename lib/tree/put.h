/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries of sources into an image that is open for writing, by the calls that an editor would use:
 * what import and sync share.  Paths are those of entries, below the folder `to` of the image.
 */
#ifndef TREE_PUT_H
#define TREE_PUT_H

#include "base/str.h"
#include "extkit/edit.h"
#include "tree/source.h"

struct ek_image;
struct tree_feed;

struct tree_put {
	struct ek_image *img;
	const struct tree_feed *feed; /* limits */
	const char *to;
	uint64_t bytes; /* of contents so far */
	uint8_t *piece;
	struct str path, first; /* inside the image */
};

/* The first three members are the caller's; -ENOMEM. */
int put_open(struct tree_put *p);
void put_close(struct tree_put *p);

/* The path inside the image; valid until the next call of any function here.  NULL without memory,
 * and then p->path.err says so. */
const char *put_path(struct tree_put *p, const char *path);

/* What an entry says of its inode, flags too when it has none: a new inode has taken some from its
 * folder, and a folder that was there may have others.  A project when the source tells projects
 * and the image keeps them. */
struct ek_attr put_attr(const struct tree_put *p, const struct tree_entry *e);

/* Whether new folders inherit what the source does not tell: attributes with flags are set behind
 * ek_mkdir then, by put_fit. */
bool put_inherits(const struct tree_put *p, const struct tree_entry *e);

/* Makes *a fit the inode: whether it hands its project down is set where the source tells projects
 * and kept where it does not, and a project that it has is left out. */
void put_fit(const struct ek_inode *inode, const struct tree_entry *e, struct ek_attr *a);

/* A descriptor of the host with the entry's contents, at their start; the caller closes it. */
int put_spool(struct tree_put *p, struct tree_source *s, const struct tree_entry *e);

/* A regular file out of such a descriptor, in place of what is no folder. */
int put_contents(struct tree_put *p, int fd, const char *path, const struct ek_attr *a);

/* The entry itself, in place of what is no folder; no folder and no further name. */
int put_entry(struct tree_put *p, struct tree_source *s, const struct tree_entry *e,
	      const struct ek_attr *a);

/* One more name for first, in place of what is no folder. */
int put_link(struct tree_put *p, const char *first, const char *path);

/* A file of its own at path, the same in everything as first. */
int put_copy(struct tree_put *p, const char *first, const char *path);

/* The inode at path.  A link is meant itself, at the start what it leads to. */
int put_inode(struct tree_put *p, const char *path, struct ek_inode **ret);

/* Changes the inode at the entry's path as ek_inode_set does, made to fit. */
int put_set(struct tree_put *p, const struct tree_entry *e, const struct ek_attr *a);

/* Only its time of change. */
int put_time(struct tree_put *p, const char *path, struct ek_time mtime);

#endif
