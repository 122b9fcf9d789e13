/* SPDX-License-Identifier: BSD-2-Clause */
/* Items into the columns of one block; private to the binary form. */
#ifndef TRACE_WTB_ENCODE_H
#define TRACE_WTB_ENCODE_H

#include "trace/wtb_block.h"

struct wtb_encoder;

struct wtb_encoder *wtb_encoder_new(void);
void wtb_encoder_free(struct wtb_encoder *e);

/* 0, -EAGAIN when the item needs a fresh block (nothing was added), -E2BIG when it fits into none,
 * -ENOMEM.  hash names the data of a DATA_BLOB item. */
int wtb_encode(struct wtb_encoder *e, const struct op *o, const uint8_t *hash);

/* Number of items and of timed items in the block being filled, and the times of the latter. */
uint32_t wtb_encoded(const struct wtb_encoder *e, uint32_t *ret_timed, uint64_t *ret_first,
		     uint64_t *ret_last);

/* The finished block in memory of the encoder, and an empty one to go on with. */
const uint8_t *wtb_encoder_block(struct wtb_encoder *e, size_t *ret_n);

#endif
