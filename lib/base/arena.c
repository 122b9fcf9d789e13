/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arenas: pieces of pages, each twice as large as the one before up to 4 MiB, of which the kernel
 * makes huge pages where it can.  A fresh page is zeros already.
 */
#include "base/arena.h"

#include <sys/mman.h>

#include "base/check.h"

#define LEAST ((size_t)1 << 16)
#define MOST  ((size_t)1 << 22)
#define ALIGN _Alignof(max_align_t)

struct arena_piece {
	struct arena_piece *next;
	size_t size; /* bytes with this head */
	_Alignas(max_align_t) unsigned char bytes[];
};

static int add_piece(struct arena *a, size_t size)
{
	size_t want = a->pieces != NULL ? MIN(a->pieces->size * 2, MOST) : LEAST, least;
	struct arena_piece *p;

	if (ck_add(size, sizeof(*p), &least))
		return -1;
	want = MAX(want, least);
	p = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -1;
	if (want >= MOST)
		(void)madvise(p, want, MADV_HUGEPAGE);
	p->next = a->pieces;
	p->size = want;
	a->pieces = p;
	a->used = sizeof(*p);
	return 0;
}

void *arena_take(struct arena *a, size_t size)
{
	unsigned char *p;

	if (ck_add(size, ALIGN - 1, &size))
		return NULL;
	size &= ~(ALIGN - 1);
	if ((a->pieces == NULL || size > a->pieces->size - a->used) && add_piece(a, size) < 0)
		return NULL;
	p = (unsigned char *)a->pieces + a->used;
	a->used += size;
	return p;
}

void arena_end(struct arena *a)
{
	for (struct arena_piece *p = a->pieces, *next; p != NULL; p = next) {
		next = p->next;
		munmap(p, p->size);
	}
	*a = (struct arena){0};
}
