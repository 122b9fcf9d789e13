/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's clocks as one number.  Only for measuring and waiting: no output depends on them. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t host_ns(clockid_t which)
{
	struct timespec ts;

	clock_gettime(which, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t host_ms(void)
{
	return host_ns(CLOCK_MONOTONIC) / 1000000u;
}

#endif
