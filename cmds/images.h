/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several operands, some of them in the same image: each image is opened once and closed when the
 * verb ends, so that what a verb does to one is one running transaction.
 */
#ifndef CMDS_IMAGES_H
#define CMDS_IMAGES_H

#include "extkit/edit.h"
#include "target.h"

struct images_row;

struct images {
	struct run *run;
	struct images_row *v;
	size_t n, cap;
};

/* A path in an open image; valid until images_end. */
struct place {
	struct ek_image *img;
	const char *path;
};

/* Opens the image of arg, unless it is open, and tells the path.  flags: enum ek_image_flag; what
 * will be written must be asked for first.  An argument without a path is a usage error.  An exit
 * code; images_end must follow in any case. */
int images_get(struct images *s, const char *arg, unsigned flags, struct place *ret);

/* The same, and a missing path is the root. */
int images_root(struct images *s, const char *arg, unsigned flags, struct place *ret);

/* Closes all; the first failure becomes the exit code unless code tells of one already. */
int images_end(struct images *s, int code);

/* How to open for writing; dry: what is done stays in memory. */
unsigned images_write(bool dry);

bool place_is_folder(const struct place *p);

/* Where something with the last name of "from" goes: into p when that is a folder, ends in a slash,
 * or when into says so; else p itself.  The caller frees it; NULL without memory. */
char *place_name(const struct place *p, const char *from, bool into);

/* ---- inodes ---- */

enum each_flag {
	EACH_TREE = 1 << 0,     /* and everything below; links are not followed then */
	EACH_NOFOLLOW = 1 << 1, /* a link at the end is meant itself */
	EACH_MAKE = 1 << 2,     /* a file that is missing is made, empty */
	EACH_OPTIONAL = 1 << 3  /* what is missing is passed over */
};

/* One inode: an exit code. */
typedef int each_fn(struct run *run, void *ctx, struct ek_inode *inode, const struct ek_stat *st,
		    const char *path);

/* Opens the operand for writing (or as flags say) and calls fn for what it names. */
int each_operand(struct images *s, const char *arg, unsigned image_flags, unsigned flags,
		 each_fn *fn, void *ctx);

/* The same for operands from first on, with the images closed at the end. */
int each_operands(struct run *run, int first, unsigned image_flags, unsigned flags, each_fn *fn,
		  void *ctx);

#endif
