/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers out of columns.  One that runs past its column reads as 0 and marks the block as bad. */
#ifndef TRACE_WTB_TAKE_H
#define TRACE_WTB_TAKE_H

#include <errno.h>

#include "trace/wtb_decode.h"

static inline int bad(struct wtb_decoder *w, const char *why)
{
	if (!w->why)
		w->why = why;
	return -EINVAL;
}

/* The rest of a varint that has more than one byte. */
uint64_t wtb_take_long(struct wtb_decoder *w, enum wtb_column c);

static inline uint64_t take(struct wtb_decoder *w, enum wtb_column c)
{
	struct span *s = &w->col[c];

	if (s->p < s->end && *s->p < 0x80)
		return *s->p++;
	return wtb_take_long(w, c);
}

static inline uint32_t take32(struct wtb_decoder *w, enum wtb_column c)
{
	uint64_t v = take(w, c);

	if (v > UINT32_MAX)
		bad(w, "a number is too large");
	return (uint32_t)v;
}

#endif
