/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose each block of an image is: metadata of groups, the log, what files and folders hold and
 * what their maps and attributes take, and of the rest whether it is free.
 */
#ifndef TREE_OWNERS_H
#define TREE_OWNERS_H

#include "extkit/diff.h"

struct ek_image;
struct owners;

/* Walks all of the image: memory goes with the number of its extents.  What cannot be read owns
 * nothing.  -ENOMEM, or what the caller's progress returned. */
int owners_open(struct ek_image *img, struct owners **ret);
void owners_close(struct owners *o);

/* The owner of block, and in *len for how many blocks from there on it is the same one with the
 * next part.  Behind the end of the filesystem "nothing". */
struct ek_block_owner owners_at(struct owners *o, uint64_t block, uint64_t *len);

#endif
