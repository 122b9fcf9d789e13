/* SPDX-License-Identifier: BSD-2-Clause */
/* The image target's insides: what its files share. */
#ifndef TRACE_TARGET_IMAGE_H
#define TRACE_TARGET_IMAGE_H

#include "base/hash.h"
#include "base/tap.h"
#include "extkit/replay.h"
#include "fs/image.h"
#include "fs/inode.h"
#include "pagecache/pagecache.h"
#include "trace/target.h"

/* Bytes of ops whose payload was not recorded: 00 01 .. ff, many times, so that a copy is long. */
#define PATTERN_BYTES 16384u
#define RECENT_FILES  4u
#define COPY_BYTES    65536u /* a pipe's worth: what one step of copy_file_range moves */

/* An open file of the trace. */
struct open_file {
	struct hash_node node;
	struct ek_inode *inode;
	bool writer;
	unsigned sync; /* enum pc_write_flag */
	bool direct;
	struct readahead reads;
};

struct image_target {
	struct target target;
	struct dev *dev;
	struct dev *under; /* what dev lies over when the target must not change, or NULL */
	struct ek_image *img;
	struct pagecache *pc;
	struct task task;
	struct hash files;
	struct open_file *recent[RECENT_FILES]; /* by handle: those that were used last */
	struct hash links;   /* initial files by recorded inode number, until the first op */
	struct hash written; /* files that were open for writing */
	struct target_extents extents;
	struct counters base; /* at begin() */
	struct counters result;
	uint8_t *pattern;            /* PATTERN_BYTES */
	struct pc_source any, given; /* the pattern; the bytes of a write that has its own */
	uint8_t *copy;               /* buffer of copies */
	struct ek_time start;
	uint64_t now_ns, next_tick;
	struct policy policy;
	struct image_opts opts; /* of every mount */
	struct pc_config pc_config;
	uint32_t umask;
	uint64_t nodes; /* initial files */
	bool no_stores, crash;
	struct tap tap; /* of a stage, for the caller of the replay */
	ek_replay_item_fn *item;
	void *item_data;
	int item_rc;   /* what the caller answered */
	bool counting; /* the first op was reached */
};

struct open_file *image_file(struct image_target *t, uint32_t handle);
/* Before a file is closed. */
void image_forget_recent(struct image_target *t);

/* The clock reaches ns after the trace's start, if it has not; no timer is looked at. */
void image_set_clock(struct image_target *t, uint64_t ns);
/* The time that files are given then. */
struct ek_time image_time_at(const struct image_target *t, uint64_t ns);

/* Operations on contents (target_image_data.c). */
typedef int image_op_fn(struct image_target *t, const struct op *o);
image_op_fn image_op_write, image_op_read, image_op_store, image_op_copy, image_op_falloc,
    image_op_fsync, image_op_sync_range, image_op_sync_all, image_op_msync, image_op_advise,
    image_op_drop_caches;

/* Operations on names (target_image_names.c). */
int image_op_open(struct image_target *t, const struct op *o);
int image_op_close(struct image_target *t, const struct op *o);
int image_op_name(struct image_target *t, const struct op *o);
int image_op_attr(struct image_target *t, const struct op *o);
void image_close_file(struct image_target *t, struct open_file *f);

/* The folder and last component of a path; the caller puts the folder. */
struct image_place {
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
};
int image_find_place(struct image_target *t, const struct op_str *path, struct image_place *ret);

/* False when from says that the time stays as it is; *to is untouched then. */
bool image_pick_time(const struct image_target *t, const struct op_time *from, struct ek_time *to);

/* Files from before the first op (target_image_nodes.c).  Two of one recorded inode number are one
 * file, unless they are folders. */
int image_node(struct image_target *t, const struct op_node *n);
void image_forget_links(struct image_target *t);

/* Tells what the image lacks for a write of len bytes alone; -ENOSPC. */
int image_no_space(struct image_target *t, uint64_t len, uint64_t written);

/* Which files were written, and how they lie at the end (target_image_extents.c). */
int image_note_written(struct image_target *t, const struct ek_inode *inode);
void image_forget_written(struct image_target *t);
int image_count_extents(struct image_target *t);

/* Written bytes of an op. */
static inline struct pc_source image_source(const struct image_target *t, const struct op *o)
{
	if (o->data_kind == DATA_ZERO)
		return (struct pc_source){NULL, 0};
	if ((o->data_kind == DATA_BLOB || o->data_kind == DATA_INLINE) && o->data.bytes != NULL &&
	    o->data.n >= o->len)
		return (struct pc_source){o->data.bytes, 0};
	return (struct pc_source){t->pattern, PATTERN_BYTES};
}

#endif
