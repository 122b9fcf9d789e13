/* SPDX-License-Identifier: BSD-2-Clause */
/* Walk "inline": the common walker, with the call known when it is compiled. */
#include "pagecache/region_walk_cache.h"

void walk_inline(struct flush *f)
{
	walk_cache(f, run_take);
}
