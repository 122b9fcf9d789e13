/* SPDX-License-Identifier: BSD-2-Clause */
/* Values inside strace arguments: numbers, descriptors, strings, words of flags. */
#ifndef TRACE_STRACE_VALUE_H
#define TRACE_STRACE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/op.h"

#define STRACE_AT_FDCWD (-100)

/* Decimal, octal with a leading 0, hexadecimal with 0x; a remark behind it is left alone. */
bool strace_number(struct op_str s, int64_t *ret);

/* "3", "3</path>", "AT_FDCWD", "AT_FDCWD</dir>": the number, and the decoration or an empty view.
 */
bool strace_fd(struct op_str s, int *ret, struct op_str *ret_path);

/* Undoes escapes of text (without quotes) into to, which has room for s.n + 1 bytes; the length. */
size_t strace_unescape(struct op_str s, char *to);

/* A quoted string: its inside, and whether it is all there (no "..." behind it). */
bool strace_string(struct op_str s, struct op_str *ret, bool *complete);

/* Words joined by | as a number, by a table; raw numbers count as they are; others are ignored. */
struct strace_word {
	const char *word;
	uint64_t value;
};
uint64_t strace_flags(struct op_str s, const struct strace_word *words);

/* The value behind "name=" in a struct or array, up to the next comma or bracket at its level. */
bool strace_field(struct op_str s, const char *name, struct op_str *ret);

/* Like strace_field, and moves *s behind it, to look for the next one of the same name. */
bool strace_next_field(struct op_str *s, const char *name, struct op_str *ret);

extern const struct strace_word strace_open_words[];
extern const struct strace_word strace_clone_words[];

#endif
