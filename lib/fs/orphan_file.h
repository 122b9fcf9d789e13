/* SPDX-License-Identifier: BSD-2-Clause */
/* The hidden file of orphans: opening it, and making its blocks. */
#ifndef FS_ORPHAN_FILE_H
#define FS_ORPHAN_FILE_H

#include <stdint.h>

struct ek_image;
struct geom;
struct task;
struct verifier;

/* Reads the slots; nothing to do without the feature. */
int orphan_file_open(struct task *t);
void orphan_file_close(struct ek_image *img);
/* Slots in use. */
uint32_t orphan_file_used(const struct ek_image *img);

/* An empty block of the file, and how such blocks are verified and sealed. */
void orphan_block_init(const struct geom *g, uint8_t *data);
const struct verifier *orphan_block_verifier(void);

#endif
