/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The vocabulary of the text form, shared by the readers and writers of both forms: one row per
 * op, and one list per enumeration.
 */
#ifndef TRACE_WORDS_H
#define TRACE_WORDS_H

#include "trace/op.h"

/*
 * What an op is followed by, in order, one letter per argument:
 *
 *	h handle    H handle2   w window (mN)   x path or handle
 *	o off       O off2      l len           a arg
 *	p path      q path2     t path, any text (link target)
 *	m mode      u uid gid   D dev as MAJOR:MINOR
 *	T two times n name      A access word   Y sync|async
 *	F falloc    V advice    W wait words    ? the next one may be missing
 */
struct op_form {
	const char *word;
	const char *args;
};

extern const struct op_form op_forms[OP_COUNT];

/* Words of an enumeration; the index is the value. */
extern const char *const op_falloc_words[FALLOC_COUNT];
/* As fallocate(2) takes them. */
extern const int op_falloc_modes[FALLOC_COUNT];
extern const char *const op_via_words[VIA_COUNT];
extern const char *const op_advice_words[ADVICE_COUNT];

/* Index of a word in words[0..n), or -1. */
int word_find(const char *const *words, unsigned n, const char *p, size_t len);

struct flag_word {
	uint32_t flag;
	const char *word;
};

/* Words inside flags=..., in the order they are written; ends with a NULL word. */
extern const struct flag_word open_flag_words[];

/* Words that stand alone after the arguments of other ops; ends with a NULL word. */
extern const struct flag_word bare_flag_words[];

#endif
