/* SPDX-License-Identifier: BSD-2-Clause */
/* Points in time as they are typed. */
#ifndef CMDS_WHEN_H
#define CMDS_WHEN_H

#include "extkit/types.h"

/* "@SECONDS[.FRACTION]" with a sign if need be, or "YYYY-MM-DD[ HH:MM[:SS[.FRACTION]]]" with T or a
 * space between, always UTC, "Z" or " UTC" behind it or not: as extkit prints times.  Nine digits
 * of a fraction count.  0 or -1. */
int when_parse(const char *text, struct ek_time *ret);

#endif
