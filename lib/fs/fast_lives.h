/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who an inode number belongs to while fast commits are applied: a number may be given back and
 * taken again within one log, and its generation tells one life from the next.
 */
#ifndef FS_FAST_LIVES_H
#define FS_FAST_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct fast_log;

/* What one INODE record says. */
struct fast_life {
	uint32_t ino, generation;
	size_t at;   /* which record it is */
	bool begins; /* it is of an inode that was made: the record with its first name follows */
};

struct fast_lives {
	struct fast_life *v; /* by inode, generation, beginnings last, and record */
	size_t count;
};

int fast_lives_open(const struct fast_log *log, struct diag *d, struct fast_lives *ret);
void fast_lives_close(struct fast_lives *l);

/* A record behind number at is of the same life. */
bool fast_lives_on(const struct fast_lives *l, uint32_t ino, uint32_t generation, size_t at);

/* The life begins with a record behind number at: the image has it from a replay that was cut off,
 * and what comes before that record was another's. */
bool fast_lives_later(const struct fast_lives *l, uint32_t ino, uint32_t generation, size_t at);

/* Record number at, an INODE, begins a life. */
bool fast_lives_begin(const struct fast_log *log, size_t at);

#endif
