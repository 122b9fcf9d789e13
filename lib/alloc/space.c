/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may take how much of the free space (delalloc-facts 2.4). */
#include <errno.h>

#include "alloc/groups.h"
#include "base/diag.h"

static bool fits(uint64_t free, uint64_t n, uint64_t kept)
{
	return free >= kept && free - kept >= n;
}

int space_check(const struct space *s, uint64_t n, unsigned flags, struct diag *d)
{
	uint64_t kept = s->dirty + s->reserved;

	if (fits(s->free, n, kept + s->root))
		return 0;
	if ((flags & SPACE_ROOT) != 0 && fits(s->free, n, kept))
		return 0;
	if ((flags & SPACE_RESERVE) != 0 && fits(s->free, n, s->dirty))
		return 0;
	if (d != NULL && d->code == 0) {
		uint64_t usable = s->free > kept ? s->free - kept : 0;

		d->need_blocks = n - (usable < n ? usable : n - 1);
		diag_set(d, -ENOSPC, "no space: %llu more blocks wanted, %llu free: %llu missing",
			 (unsigned long long)n, (unsigned long long)usable,
			 (unsigned long long)d->need_blocks);
	}
	return -ENOSPC;
}
