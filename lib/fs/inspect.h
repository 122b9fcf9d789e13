/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures found on a device that is not believed; what extkit/inspect.h stands on. */
#ifndef FS_INSPECT_H
#define FS_INSPECT_H

#include "base/diag.h"
#include "extkit/inspect.h"
#include "ondisk/buf.h"
#include "ondisk/field.h"
#include "ondisk/geom.h"

struct ek_ctx;

/* What one checksum covers, and how it is made. */
struct unit {
	enum { UNIT_SUPER, UNIT_GROUP, UNIT_INODE, UNIT_BLOCK, UNIT_LOG, UNIT_GUARD } kind;
	uint64_t at;  /* in the filesystem, bytes */
	uint32_t len; /* bytes */
	uint8_t *data;
	const struct verifier *ver; /* of a block */
	struct buf_owner owner;
	uint32_t number; /* of the group or inode */
};

/* One structure inside a unit, and bytes behind its fixed part that belong to it. */
struct found {
	const struct unit *unit;
	const struct field_table *table;
	uint32_t off;          /* in the unit, bytes */
	const char *tail_name; /* or NULL */
	uint32_t tail_off, tail_len;
	uint32_t index;
};

struct ek_inspect {
	struct ek_ctx *ctx;
	struct dev *file, *dev; /* dev: the filesystem at 0 */
	struct geom geom;
	struct diag *diag;
	unsigned flags;
	uint8_t *scratch; /* for sealing: checksums are where the data say, up to 1 MiB away */
	struct ek_field *fields;
};

#define INSPECT_SCRATCH ((size_t)1 << 20)

typedef int found_fn(struct ek_inspect *ins, const struct found *f, void *arg);

/* Hands what the word names to fn, in order. */
int inspect_find(struct ek_inspect *ins, const char *what, found_fn *fn, void *arg);

/* Blocks of a file in order, by its raw inode: fn gets the file block and the block. */
typedef int inspect_block_fn(struct ek_inspect *ins, uint64_t lblk, uint64_t block, void *arg);
int inspect_file_blocks(struct ek_inspect *ins, const uint8_t *inode, uint64_t limit,
			inspect_block_fn *fn, void *arg);

/* Each node of an inode's extent tree, the root in the inode first. */
int inspect_extents(struct ek_inspect *ins, const struct unit *inode, found_fn *fn, void *arg,
		    uint32_t *index);

/* Reads one block, -EUCLEAN when it lies outside; what names the reason. */
int inspect_read_block(struct ek_inspect *ins, uint64_t block, const char *what, uint8_t *data);

#endif
