/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows that others add to a report.  group and name are constants. */
#ifndef PAGECACHE_REGION_REPORT_H
#define PAGECACHE_REGION_REPORT_H

#include <stdint.h>

struct ek_region_report;

void region_report_add(struct ek_region_report *rep, const char *group, const char *name,
		       uint64_t value);

#endif
