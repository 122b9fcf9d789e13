/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arithmetic that says when it overflows.  Every helper returns true on overflow and leaves a
 * wrapped value in *ret, like the compiler builtins it wraps; use ck_shl for shifts by a count that
 * came from outside.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define ck_add(a, b, ret) __builtin_add_overflow((a), (b), (ret))
#define ck_sub(a, b, ret) __builtin_sub_overflow((a), (b), (ret))
#define ck_mul(a, b, ret) __builtin_mul_overflow((a), (b), (ret))

static inline bool ck_shl(uint64_t v, unsigned n, uint64_t *ret)
{
	if (n >= 64) {
		*ret = 0;
		return v != 0 || n >= 64;
	}
	*ret = v << n;
	return (*ret >> n) != v;
}

#define ARRAY_SIZE(a)                 (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)                     ((a) < (b) ? (a) : (b))
#define MAX(a, b)                     ((a) > (b) ? (a) : (b))
#define DIV_UP(n, d)                  (((n) + (d)-1) / (d))
#define ROUND_UP(n, d)                (DIV_UP(n, d) * (d))
#define ROUND_DOWN(n, d)              ((n) / (d) * (d))
#define is_pow2(n)                    ((n) != 0 && ((n) & ((n)-1)) == 0)
#define container_of(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

/* Largest n with (1 << n) <= v; v must not be 0. */
static inline unsigned ilog2(uint64_t v)
{
	return 63u - (unsigned)__builtin_clzll(v);
}

#endif
