/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder target's insides: what its files share. */
#ifndef TRACE_TARGET_FOLDER_H
#define TRACE_TARGET_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "trace/target.h"

/* An open file of the trace. */
struct folder_file {
	struct hash_node node; /* by handle */
	int fd;
};

struct folder_target {
	struct target target;
	int root; /* everything happens below this folder */
	struct hash files;
	struct hash links;    /* first names of initial files, by inode number */
	uint8_t *pattern;     /* FILL_BYTES of 00 01 .. ff, aligned for direct I/O */
	uint8_t *zeros;       /* as many of 00 */
	uint8_t *scratch;     /* what reads fill and what blobs for direct I/O pass through */
	size_t scratch_cap;   /* at least FILL_BYTES */
	int stores;           /* memory file that stores are read from, -1: not made yet */
	mode_t umask;         /* the trace's */
	mode_t cut;           /* bits that the process's own takes away besides */
	bool no_stores, walk; /* walk: the kernel has no openat2 */
};

#define FILL_BYTES ((size_t)1 << 20)

/* The descriptor of a handle, or -1. */
int folder_fd(const struct folder_target *t, uint32_t handle);

/* ---- paths (target_folder_path.c) ---- */

/* Opens a path of the trace below the root.  Absolute links mean the root, as they would if the
 * folder were an image; nothing outside it and no other mount can be reached.  flags and mode are
 * open(2)'s; returns a descriptor or a negative errno. */
int folder_open(struct folder_target *t, const char *path, int flags, mode_t mode);

/* The folder that holds a name, and the name. */
struct folder_place {
	int dir; /* close with folder_leave() */
	char name[256];
};
int folder_enter(struct folder_target *t, const struct op_str *path, struct folder_place *ret);
void folder_leave(const struct folder_target *t, const struct folder_place *at);

/* A path by which calls that take no O_PATH descriptor reach what fd stands for. */
struct folder_self {
	char path[32];
};
struct folder_self folder_self(int fd);

/* ---- data (target_folder_data.c) ---- */

/* The bytes of an op, or the pattern: one pwrite(2), as many as the kernel takes at once. */
ssize_t folder_write(struct folder_target *t, int fd, const struct op *o, int rwf);
int folder_fill(struct folder_target *t, int fd, uint64_t len); /* pattern from 0 on */
int folder_read(struct folder_target *t, const struct op *o);
int folder_store(struct folder_target *t, const struct op *o);
int folder_msync(struct folder_target *t, const struct op *o);
int folder_copy(struct folder_target *t, const struct op *o);

/* Byte i of what op o writes or sets. */
const uint8_t *folder_bytes(struct folder_target *t, const struct op *o, uint64_t len);

/* ---- names and attributes (target_folder_names.c) ---- */

int folder_op_open(struct folder_target *t, const struct op *o);
int folder_op_close(struct folder_target *t, const struct op *o);
int folder_op_name(struct folder_target *t, const struct op *o);
void folder_close_file(struct folder_file *f);

/* ---- attributes (target_folder_attr.c) ---- */

int folder_op_attr(struct folder_target *t, const struct op *o);
int folder_node(struct folder_target *t, const struct op_node *n);
void folder_forget_links(struct folder_target *t);

#endif
