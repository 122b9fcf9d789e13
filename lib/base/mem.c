/* SPDX-License-Identifier: BSD-2-Clause */
/* Capped allocation. */
#include "base/mem.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"

void *mem_array(size_t n, size_t size, size_t cap, struct diag *d)
{
	size_t total;
	void *p;

	if (ck_mul(n, size, &total) || total > cap) {
		diag_set(d, -ENOMEM, "refused to allocate %zu items of %zu bytes: limit %zu bytes",
			 n, size, cap);
		return NULL;
	}
	p = calloc(total != 0 ? total : 1, 1);
	if (p == NULL)
		diag_set(d, -ENOMEM, "out of memory: %zu bytes", total);
	return p;
}

void *mem_zero(size_t size)
{
	return calloc(1, size);
}

int mem_grow(void **p, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap != 0 ? *cap : 8, bytes;
	void *q;

	if (need <= *cap)
		return 0;
	while (n < need) {
		if (ck_mul(n, (size_t)2, &n))
			return -ENOMEM;
	}
	if (ck_mul(n, size, &bytes))
		return -ENOMEM;
	q = realloc(*p, bytes);
	if (q == NULL)
		return -ENOMEM;
	*p = q;
	*cap = n;
	return 0;
}

void *mem_aligned(size_t align, size_t size)
{
	void *p;

	if (posix_memalign(&p, align, size != 0 ? size : align) != 0)
		return NULL;
	return p;
}

bool mem_is_zero(const void *p, size_t n)
{
	const uint8_t *b = p;

	return n == 0 || (b[0] == 0 && memcmp(b, b + 1, n - 1) == 0);
}
