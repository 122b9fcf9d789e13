/* SPDX-License-Identifier: BSD-2-Clause */
/* Folios made ready to be written into. */
#ifndef PAGECACHE_PREPARE_H
#define PAGECACHE_PREPARE_H

#include <stdint.h>

struct folio;
struct mapping;
struct task;

/* The folio that holds pos, or a new one of an order for len bytes, with memory; NULL with *rc. */
struct folio *prepare_folio(struct task *t, struct mapping *m, uint64_t pos, uint64_t len, int *rc);

/* Blocks that [pos, pos + len) covers only partly become whole: zeros when new, read when old. */
int prepare_edges(struct task *t, struct folio *f, uint64_t pos, uint64_t len);

/* [pos, pos + len) of the folio becomes mapped or reserved, ready to be copied into. */
int prepare_blocks(struct task *t, struct folio *f, uint64_t pos, uint64_t len);

#endif
