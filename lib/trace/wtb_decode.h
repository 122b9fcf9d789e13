/* SPDX-License-Identifier: BSD-2-Clause */
/* One block of ops out of its columns; private to the binary form. */
#ifndef TRACE_WTB_DECODE_H
#define TRACE_WTB_DECODE_H

#include "trace/blobs.h"
#include "trace/wtb_block.h"

struct span {
	const uint8_t *p, *end;
};

struct wtb_decoder {
	struct span col[COL_COUNT];
	struct op_str *strings; /* strings[0] is none */
	size_t strings_cap;
	uint32_t nstrings;
	uint32_t *threads, *handles;
	size_t threads_cap, handles_cap;
	uint32_t nthreads, nhandles;
	struct {
		uint64_t end, len;
	} * last; /* per handle, 0 for none */
	size_t last_cap;
	uint8_t shape[OP_COUNT];
	uint32_t left; /* items not taken yet */
	uint64_t time;
	struct op op;
	struct op_node node;
	struct op_extent *extents;
	size_t extents_cap;
	const struct blobs *blobs;
	const char *why; /* what was wrong, after -EINVAL */
};

void wtb_decoder_free(struct wtb_decoder *w);

/* Starts on a block of n bytes whose checksum was right and which stays in place; 0, -EINVAL with
 * why, or -ENOMEM. */
int wtb_decode_start(struct wtb_decoder *w, const uint8_t *block, size_t n);

/* The next item into w->op: 1, 0 at the end of the block, or as above. */
int wtb_decode(struct wtb_decoder *w);

#endif
