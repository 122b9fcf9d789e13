/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows between who reads inodes and who shows them.
 *
 * Rows are collected in a batch with their text; full batches go to a thread that shows them while
 * the next one is filled.  The batches form a ring, so memory is bounded and the order is kept.
 * Lists that fit into one batch, and systems that give no thread, have their rows shown by the
 * caller.
 */
#ifndef CMDS_ROWS_H
#define CMDS_ROWS_H

#include <pthread.h>
#include <stdbool.h>

#include "buffer.h"
#include "extkit/inode.h"

#define BATCHES    16u
#define ROWS_MAX   256u
#define ROWS_BYTES ((size_t)128 << 10) /* of text, after which a batch is full too */

/* Texts are places in the batch's. */
struct row {
	struct ek_stat st;
	ek_inum ino;
	unsigned flags; /* enum entry_flag */
	bool known;     /* st is valid */
	size_t path, path_len;
	size_t target, target_len; /* of a link; 0 bytes: none, or not asked for */
	size_t context, context_len;
};

struct batch {
	struct buffer text;
	struct row row[ROWS_MAX];
	size_t n;
};

typedef void rows_show_fn(void *ctx, const struct row *row, const char *text);

struct rows {
	rows_show_fn *show;
	void *ctx;
	struct batch batch[BATCHES];
	unsigned filled, shown; /* batches so far; the one that is being filled is number filled */
	bool threaded;          /* the thread runs */
	bool alone;             /* no thread could be made */
	bool over;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/* A row to fill, and the text to append its parts to; both until rows_add. */
struct row *rows_next(struct rows *r, struct buffer **text);
void rows_add(struct rows *r);

/* Returns when all rows are shown.  More may follow. */
void rows_flush(struct rows *r);

/* The same, and frees the text. */
void rows_end(struct rows *r);

#endif
