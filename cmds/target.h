/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Image arguments: IMG, IMG@@OFFSET, and IMG:/PATH for what is inside; of a disk IMG@pN,
 * IMG@LABEL=NAME and IMG@PARTLABEL=NAME for a partition.
 *
 * An argument that names a file as it stands is that file.  Otherwise it is split at the first ":/"
 * whose left part names a file (with or without what follows an @), so images whose own names have
 * ":/" inside work too; when no left part does, at the first ":/".  OFFSET is a size: 1M, 0x100000.
 *
 * A URI (nbd://HOST[:PORT]/EXPORT, nbd+unix:///EXPORT?socket=FILE, nbds for TLS) is never a file:
 * it is split at the first ":/" behind its "://".  One that belongs to the URI is written "%3A/",
 * and "@@" is written "%40@".
 */
#ifndef CMDS_TARGET_H
#define CMDS_TARGET_H

#include <stdbool.h>

#include "extkit/image.h"
#include "extkit/inode.h"

struct run;

/* The image that a script or shell works on: arguments without ":/" are paths in it, from cwd on.
 */
struct held {
	struct ek_image *img; /* open as long as the script runs; NULL: opened for each command */
	const char *name;     /* IMG as it was given */
	const char *cwd;      /* "/" or "/a/b" */
};

struct target {
	char *image;
	uint64_t offset;
	const char *path; /* inside; "/" when none was given */
	bool has_path;
	bool held;            /* img is the script's */
	struct ek_image *img; /* after target_open */
};

/* arg as it would be outside of a script, IMG:/PATH; the caller frees it.  NULL without memory. */
char *target_whole(struct run *run, const char *arg);

/* True when arg is a path in the image that a script has open. */
bool target_is_held(struct run *run, const char *arg);

/* True when two images are named alike or are one file. */
bool target_same(const char *a, const char *b);

/* Splits arg.  An exit code; EXIT_DONE is good, and then target_end must follow. */
int target_parse(struct run *run, const char *arg, struct target *ret);

/* The same, and opens the image, or takes the one that a script holds.  flags: enum
 * ek_image_flag. */
int target_open(struct run *run, const char *arg, unsigned flags, struct target *ret);

/* What can be a folder only by mistake is told by its path. */
bool target_is_folder(struct ek_inode *inode);

/* Closes and frees.  A failure to finish the image becomes the exit code, unless code tells of one
 * already. */
int target_end(struct run *run, struct target *target, int code);

/* SOURCE_DATE_EPOCH as the time of all changes; 0 when it is not set.  An exit code. */
int target_now(struct run *run, struct ek_time *ret);

/* Failures that do not end a verb: told at once as text, the first one at the end in JSON. */
struct trouble {
	int code; /* of the first */
	uint64_t count;
	char text[512];
};

/* The last story of the context. */
void trouble_add(struct run *run, struct trouble *trouble, int err);

/* The verb's exit code. */
int trouble_end(struct run *run, const struct trouble *trouble);

#endif
