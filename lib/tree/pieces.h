/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents on their way to a new image, in pieces of a mebibyte.  Where the target is a file of its
 * own, a thread writes one piece while the next is filled: half of the time that a tree of small
 * files takes is the host's, for the pages of the image.
 */
#ifndef TREE_PIECES_H
#define TREE_PIECES_H

#include <stddef.h>
#include <stdint.h>

struct tree_pieces;
struct tree_target;

#define TREE_PIECE ((size_t)1 << 20) /* bytes at most */

/* Until they are settled the target is theirs: nobody else resizes or closes it. */
int tree_pieces_open(struct tree_target *t, struct tree_pieces **ret);

/* Room for the next bytes at off of the target, at most *len of them, behind what was added if they
 * are neighbours.  What was added goes out when they are not, or when its piece is full. */
int tree_pieces_room(struct tree_pieces *p, uint64_t off, size_t *len, uint8_t **ret);

/* The first len bytes of the last room are filled. */
void tree_pieces_add(struct tree_pieces *p, size_t len);

/* Bytes that were handed over to be written. */
uint64_t tree_pieces_out(const struct tree_pieces *p);

/* From here on what goes out need not stay in the host's cache. */
void tree_pieces_past_cache(struct tree_pieces *p);

/* Everything is written, or the first error comes back, as from each call after it. */
int tree_pieces_settle(struct tree_pieces *p);

/* What was not settled may be missing.  p may be NULL. */
void tree_pieces_close(struct tree_pieces *p);

#endif
