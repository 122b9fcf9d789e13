/* SPDX-License-Identifier: BSD-2-Clause */
/* Streaming copies: whole cache lines with non-temporal stores, the rest with memcpy. */
#include "base/copy.h"

#include <stdint.h>
#include <string.h>

#define LINE 64u

#ifdef __SSE2__
#include <emmintrin.h>

#define WORTH_IT 256u /* bytes */

static void store_lines(uint8_t *to, const uint8_t *from, size_t n)
{
	for (size_t i = 0; i < n; i += LINE) {
		__m128i a = _mm_loadu_si128((const void *)(from + i));
		__m128i b = _mm_loadu_si128((const void *)(from + i + 16));
		__m128i c = _mm_loadu_si128((const void *)(from + i + 32));
		__m128i d = _mm_loadu_si128((const void *)(from + i + 48));

		_mm_stream_si128((void *)(to + i), a);
		_mm_stream_si128((void *)(to + i + 16), b);
		_mm_stream_si128((void *)(to + i + 32), c);
		_mm_stream_si128((void *)(to + i + 48), d);
	}
}

void copy_past_cache(void *to, const void *from, size_t n)
{
	size_t head = -(uintptr_t)to % LINE, whole;

	if (n < WORTH_IT) {
		memcpy(to, from, n);
		return;
	}
	memcpy(to, from, head);
	whole = (n - head) / LINE * LINE;
	store_lines((uint8_t *)to + head, (const uint8_t *)from + head, whole);
	memcpy((uint8_t *)to + head + whole, (const uint8_t *)from + head + whole,
	       n - head - whole);
}

void copy_settle(void)
{
	_mm_sfence();
}

#else

void copy_past_cache(void *to, const void *from, size_t n)
{
	memcpy(to, from, n);
}

void copy_settle(void)
{
}

#endif
