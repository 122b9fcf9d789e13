/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries of sources on their way into a tree: filtered, counted against the caller's limits, and
 * when the caller would go on, listed instead of taken where they fail.
 */
#ifndef TREE_FEED_H
#define TREE_FEED_H

#include "extkit/tree.h"
#include "tree/source.h"

struct ek_ctx;
struct tree_filter;
struct tree_report;

/* Takes an entry, which it may change; an error is one of it alone unless nothing can follow it:
 * -ENOMEM, -ENOSPC, -EFBIG, -EIO, -ECANCELED. */
typedef int feed_take(void *arg, struct tree_source *s, struct tree_entry *e);

struct tree_feed {
	struct ek_ctx *ctx;
	struct ek_tree_options tree; /* limits are never 0 */
	struct tree_filter *filter;
	struct tree_report *rep; /* entries are counted there */
	const char *stage;       /* what progress calls it */
	feed_take *take;
	void *arg;
};

/* The caller's options as far as they go; everything else is the taker's to set. */
void feed_options(struct tree_feed *f, const struct ek_tree_options *tree);

/* Reads the side files.  now: no time is later where the caller wants that. */
int feed_open(struct tree_feed *f, struct ek_time now);
void feed_close(struct tree_feed *f);

/* All entries of one source. */
int feed_source(struct tree_feed *f, struct tree_source *s);

/* More contents than the caller allows: -EFBIG. */
int feed_check_bytes(const struct tree_feed *f, uint64_t bytes);

#endif
