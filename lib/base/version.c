/* SPDX-License-Identifier: BSD-2-Clause */
/* The release of the library and the optional parts it was built with. */
#include "extkit/version.h"

#ifdef HAVE_LIBURING
#define PART_URING " uring"
#else
#define PART_URING ""
#endif

const char *ek_version(void)
{
	return EK_VERSION;
}

const char *ek_parts(void)
{
	/* The leading blank exists only when a part does; skip it without a branch at run time. */
	static const char parts[] = PART_URING;

	return sizeof(parts) > 1 ? parts + 1 : parts;
}
