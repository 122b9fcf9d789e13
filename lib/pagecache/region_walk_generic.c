/* SPDX-License-Identifier: BSD-2-Clause */
/* Walk "generic": the common walker with a function for each folio, called through a pointer. */
#include "pagecache/region_walk_cache.h"

void walk_generic(struct flush *f)
{
	f->each = run_take;
	/* a pointer that the compiler cannot see through, as one from another module would be */
	__asm__ volatile("" : "+m"(f->each));
	walk_cache(f, f->each);
}
