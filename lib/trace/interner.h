/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers for texts or for sparse numbers, given in order of first use from 1. */
#ifndef TRACE_INTERNER_H
#define TRACE_INTERNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interner;

struct interner *interner_new(void);
void interner_free(struct interner *in);

/* Forgets all, keeps the memory. */
void interner_clear(struct interner *in);
uint32_t interner_count(const struct interner *in);

/* Makes sure that n more, with bytes of text in sum, need no memory; -ENOMEM. */
int interner_reserve(struct interner *in, uint32_t n, size_t bytes);

/* The number of a text or of a number; *fresh says whether it is new.  Room must be reserved. */
uint32_t intern(struct interner *in, const char *p, uint32_t n, bool *fresh);
uint32_t intern_number(struct interner *in, uint64_t v, bool *fresh);

/* The number of what is known already, or 0. */
uint32_t interned_number(const struct interner *in, uint64_t v);

/* What a number was given to by intern_number(). */
uint64_t interner_key(const struct interner *in, uint32_t number);

#endif
