/* SPDX-License-Identifier: BSD-2-Clause */
/* Gets ready for a block: finds its columns and reads the tables of texts, threads and handles. */
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "trace/wtb_take.h"

/* The rest of a varint that has more than one byte. */
uint64_t wtb_take_long(struct wtb_decoder *w, enum wtb_column c)
{
	const uint8_t *p = w->col[c].p, *end = w->col[c].end;
	uint64_t v = 0;

	for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
		v |= (uint64_t)(*p & 0x7f) << shift;
		if (*p++ < 0x80) {
			w->col[c].p = p;
			return v;
		}
	}
	w->col[c].p = end;
	bad(w, "a number runs past its column");
	return 0;
}

static int start_strings(struct wtb_decoder *w)
{
	struct span *s = &w->col[COL_STRINGS];
	uint32_t n = 1;

	while (s->p < s->end) {
		uint64_t len = take(w, COL_STRINGS);
		void *p = w->strings;

		if (mem_grow(&p, &w->strings_cap, n + 1, sizeof(*w->strings)) < 0)
			return -ENOMEM;
		w->strings = p;
		if (len >= (size_t)(s->end - s->p) || s->p[len] != 0)
			return bad(w, "a text runs past its column");
		w->strings[n++] = (struct op_str){(const char *)s->p, (uint32_t)len};
		s->p += len + 1;
	}
	w->strings[0] = (struct op_str){"", 0};
	w->nstrings = n;
	return 0;
}

/* A table of numbers; place 0 holds none. */
static int start_numbers(struct wtb_decoder *w, enum wtb_column c, uint32_t none, uint32_t **table,
			 size_t *cap, uint32_t *ret_n)
{
	uint32_t n = 0;

	while (w->col[c].p < w->col[c].end) {
		void *p = *table;

		if (mem_grow(&p, cap, n + 2, sizeof(**table)) < 0)
			return -ENOMEM;
		*table = p;
		(*table)[++n] = take32(w, c);
	}
	(*table)[0] = none;
	*ret_n = n;
	return w->why ? -EINVAL : 0;
}

static int start_tables(struct wtb_decoder *w)
{
	void *strings = w->strings, *threads = w->threads, *handles = w->handles, *last = w->last;
	int err = 0;

	if (mem_grow(&strings, &w->strings_cap, 1, sizeof(*w->strings)) < 0)
		err = -ENOMEM;
	w->strings = strings;
	if (mem_grow(&threads, &w->threads_cap, 1, sizeof(*w->threads)) < 0)
		err = -ENOMEM;
	w->threads = threads;
	if (mem_grow(&handles, &w->handles_cap, 1, sizeof(*w->handles)) < 0)
		err = -ENOMEM;
	w->handles = handles;
	if (err == 0)
		err = start_strings(w);
	if (err == 0)
		err = start_numbers(w, COL_THREADS, OP_NO_THREAD, &w->threads, &w->threads_cap,
				    &w->nthreads);
	if (err == 0)
		err = start_numbers(w, COL_HANDLES, 0, &w->handles, &w->handles_cap, &w->nhandles);
	if (err == 0)
		err = mem_grow(&last, &w->last_cap, w->nhandles + 1, sizeof(*w->last));
	w->last = last;
	if (err == 0)
		memset(w->last, 0, (w->nhandles + 1) * sizeof(*w->last));
	return err;
}

static uint32_t word(const uint8_t *p)
{
	le32 v;

	memcpy(&v, p, 4);
	return le32_get(v);
}

int wtb_decode_start(struct wtb_decoder *w, const uint8_t *block, size_t n)
{
	size_t at = WTB_BODY;
	le64 first;

	w->why = NULL;
	w->left = 0;
	if (n < WTB_BODY + 4 || word(block + 12) != COL_COUNT)
		return bad(w, "a block of another shape");
	for (unsigned i = 0; i < COL_COUNT; i++) {
		size_t len = word(block + 24 + 4 * i);

		if (len > n - 4 - at)
			return bad(w, "columns run past the block");
		w->col[i] = (struct span){block + at, block + at + len};
		at += len;
	}
	memcpy(&first, block + 16, 8);
	w->time = le64_get(first);
	w->left = word(block + 8);
	if (w->left > (size_t)(w->col[COL_CODE].end - w->col[COL_CODE].p))
		return bad(w, "more items than bytes");
	for (unsigned i = 0; i < OP_COUNT; i++)
		w->shape[i] = (uint8_t)wtb_shape((enum op_code)i);
	op_clear(&w->op);
	return start_tables(w);
}

void wtb_decoder_free(struct wtb_decoder *w)
{
	free(w->strings);
	free(w->threads);
	free(w->handles);
	free(w->last);
	free(w->extents);
}
