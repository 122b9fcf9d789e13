/* SPDX-License-Identifier: BSD-2-Clause */
/* A replay of fast commits, as its files share it. */
#ifndef FS_FAST_IMPL_H
#define FS_FAST_IMPL_H

#include "fs/fast_lives.h"
#include "fs/image.h"
#include "fs/orphan_file.h"

struct ek_inode;
struct fast_record;

struct fast {
	struct task *t;
	const struct fast_log *log;
	struct orphan_numbers orphans;
	struct fast_lives lives;
	size_t at;        /* the record that is being applied */
	struct handle *h; /* of the step that runs */
	unsigned most;    /* blocks that its transaction may have */
	uint32_t *inodes; /* what records are about */
	size_t count, cap;
};

/* The inode, or NULL when it is not in use. */
int fast_get(struct fast *f, uint32_t ino, struct ek_inode **ret);

bool fast_is_orphan(const struct fast *f, uint32_t ino);

/* Settles and deletes an inode that has no links; not one that is an orphan on disk, which is
 * deleted as one, by whoever opens the image for writing. */
int fast_end_inode(struct fast *f, struct ek_inode *inode);

/* CREATE, LINK, UNLINK. */
int fast_apply_name(struct fast *f, const struct fast_record *r);

#endif
