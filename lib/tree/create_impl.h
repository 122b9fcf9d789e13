/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that make an image of trees share. */
#ifndef TREE_CREATE_IMPL_H
#define TREE_CREATE_IMPL_H

#include "extkit/tree.h"
#include "fs/build.h"
#include "tree/feed.h"
#include "tree/gather.h"
#include "tree/pieces.h"
#include "tree/report.h"
#include "tree/spool.h"
#include "tree/target.h"

struct dev;

#define MAKING_WAIT ((uint64_t)16 << 20) /* bytes of contents that wait in memory */

/* An image on its way. */
struct making {
	struct ek_ctx *ctx;
	struct diag *diag;
	struct ek_create_options opt;
	struct tree_feed feed;
	struct create_opts o;
	struct build *b;
	struct gather g;
	struct tree_source **sources;
	size_t nsources;
	struct tree_target target;
	struct dev *log;  /* a journal of its own device, or NULL */
	const char *path; /* NULL: only counts */
	struct tree_report *rep;
	uint8_t *wait;      /* MAKING_WAIT bytes of contents without a place, or NULL */
	struct spool spool; /* those behind them, once they are needed */
	uint64_t spooled;   /* bytes that wait in both */
	uint64_t bytes;
	struct gather_node **files; /* with contents, in the order they came */
	size_t nfiles, files_cap;
	struct tree_pieces *out; /* NULL: only counts */
	uint64_t written;        /* bytes that went past them */
	uint64_t keep;           /* bytes that may stay in the host's cache */
};

/* Contents of a file to the places of its blocks, from its source, or with s NULL from the spool.
 * Neighbours leave together: all is written after making_flush. */
int making_copy(struct making *m, struct tree_source *s, const struct gather_node *n);
int making_flush(struct making *m);

/* Contents that have no place yet wait in the spool, from n's token on; making_fetch reads them
 * there, and making_unspool ends it all. */
int making_spool(struct making *m, struct tree_source *s, struct gather_node *n);
int making_fetch(struct making *m, uint64_t at, void *buf, size_t len);
void making_unspool(struct making *m);

/* Places are dealt out from here on; what was spooled goes there. */
int making_settle(struct making *m);

/* Entries of all sources are gathered, and contents that cannot come later are read: making_entry
 * takes one of them, arg being the struct making. */
int making_take(struct making *m);
int making_entry(void *arg, struct tree_source *s, struct tree_entry *e);

#endif
