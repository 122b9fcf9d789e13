/* SPDX-License-Identifier: BSD-2-Clause */
/* Pools: items come in slabs and wait on a list of free ones, where an address sanitizer finds who
 * still uses them. */
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define SLAB_ITEMS 64u
#define LINE       64u /* bytes of a cache line */

struct slab {
	struct slab *next;
	_Alignas(LINE) unsigned char items[];
};

static int add_slab(struct pool *p)
{
	size_t size = p->size < LINE ? p->size : ROUND_UP(p->size, (size_t)LINE);
	struct slab *s = aligned_alloc(LINE, sizeof(*s) + SLAB_ITEMS * size);

	if (s == NULL)
		return -1;
	s->next = p->slabs;
	p->slabs = s;
	for (size_t i = 0; i < SLAB_ITEMS; i++)
		pool_give(p, s->items + i * size);
	return 0;
}

void *pool_take(struct pool *p)
{
	void *item;

	if (p->free == NULL && add_slab(p) < 0)
		return NULL;
	item = p->free;
	ASAN_UNPOISON_MEMORY_REGION(item, p->size);
	memcpy(&p->free, item, sizeof(p->free));
	memset(item, 0, p->size);
	return item;
}

void pool_give(struct pool *p, void *item)
{
	memcpy(item, &p->free, sizeof(p->free));
	p->free = item;
	ASAN_POISON_MEMORY_REGION(item, p->size);
}

void pool_end(struct pool *p)
{
	for (struct slab *s = p->slabs, *next; s != NULL; s = next) {
		next = s->next;
		free(s);
	}
	*p = (struct pool){.size = p->size};
}
