/* SPDX-License-Identifier: BSD-2-Clause */
/* Folios made ready to be written into. */
#ifndef PAGECACHE_PREPARE_H
#define PAGECACHE_PREPARE_H

#include <stdint.h>

struct ek_inode;
struct folio;
struct mapping;
struct task;

/* The folio that holds pos, or a new one of an order for len bytes, with memory; NULL with *rc. */
struct folio *prepare_folio(struct task *t, struct mapping *m, uint64_t pos, uint64_t len, int *rc);

/* Blocks [lblk, lblk + n) of a hole become delayed: how many clusters that reserved, perhaps none.
 */
int delay_blocks(struct task *t, struct ek_inode *inode, uint32_t lblk, uint32_t n);

/* What a block holds that is not up to date: its states say so, nothing, or what the disk has. */
enum edge { EDGE_STATES, EDGE_EMPTY, EDGE_READ };

/* Blocks that [pos, pos + len) covers only partly become whole. */
int prepare_edges(struct task *t, struct folio *f, uint64_t pos, uint64_t len, enum edge edge);

/* [pos, pos + len) of the folio becomes mapped or reserved, ready to be copied into. */
int prepare_blocks(struct task *t, struct folio *f, uint64_t pos, uint64_t len);

#endif
