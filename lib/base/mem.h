/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory whose size came from outside goes through here, so that no count in an image or a trace
 * can ask for more than the caller's cap.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

struct diag;

/* The most a single count from an image may ask for. */
#define MEM_CAP ((size_t)512 << 20)

/* Zeroed array of n elements of size bytes; NULL when n * size overflows or exceeds cap, or when
 * the host has no memory.  d (may be NULL) gets -ENOMEM and the sizes. */
void *mem_array(size_t n, size_t size, size_t cap, struct diag *d);

/* Zeroed struct; NULL without memory. */
void *mem_zero(size_t size);

/* Grows *p (capacity *cap elements of size bytes) to hold at least need elements, doubling; returns
 * 0 or -ENOMEM with *p and *cap unchanged. */
int mem_grow(void **p, size_t *cap, size_t need, size_t size);

/* Every byte of n is 0; true of none at all. */
bool mem_is_zero(const void *p, size_t n);

/* Block-aligned buffer for direct I/O; free with free(). */
void *mem_aligned(size_t align, size_t size);

#endif
