/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a new image goes.  A regular file is written under a name of its own beside the one it
 * shall have, grows with what is written, and is renamed when it is whole; a device, or a place
 * inside a file, is written as it is.
 */
#ifndef TREE_TARGET_H
#define TREE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "extkit/create.h"

struct dev;

struct tree_target {
	char *path, *temp; /* temp: NULL when it is written in place */
	struct dev *file, *dev;
	struct diag *diag;
	bool fresh; /* reads as zeros */
	bool over;  /* an older file goes when it is placed */
};

int tree_target_open(const char *path, const struct ek_create_options *opt, uint64_t bytes,
		     struct diag *d, struct tree_target *t);

/* Bytes at off; a file of its own grows. */
int tree_target_write(struct tree_target *t, uint64_t off, const void *buf, size_t len);

/* The filesystem has so many bytes. */
int tree_target_fit(struct tree_target *t, uint64_t bytes);

/* Whole: it takes the place of what is there, which is kept until every byte is on the host's disk.
 * A file in nobody's place is written when the host likes, as cp leaves it. */
int tree_target_place(struct tree_target *t);

/* What was not placed goes. */
void tree_target_close(struct tree_target *t);

#endif
