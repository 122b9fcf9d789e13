/* SPDX-License-Identifier: BSD-2-Clause */
/* What a region counted, as rows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "pagecache/region.h"
#include "pagecache/region_report.h"

#define ROWS 256u /* more than there can be */

struct ek_region_report {
	size_t count;
	struct ek_region_row rows[ROWS];
	char names[EK_REGION_WRITERS * 3][24];
	size_t name_count;
};

static const char *const counter_name[RC_COUNT] = {
#define X(id, name) [RC_##id] = name,
    REGION_COUNTERS(X)
#undef X
};

static const char *const size_names[SIZE_CLASSES] = {"512", "1K",  "2K",   "4K",   "8K",   "16K",
						     "32K", "64K", "128K", "256K", "512K", "1M",
						     "2M",  "4M",  "8M",   "16M",  "32M",  "more"};

void region_report_add(struct ek_region_report *rep, const char *group, const char *name,
		       uint64_t value)
{
	if (rep->count < ROWS)
		rep->rows[rep->count++] = (struct ek_region_row){group, name, value};
}

static void add_writer(struct ek_region_report *rep, unsigned i, const char *what, uint64_t value)
{
	char *name = rep->names[rep->name_count++];

	snprintf(name, sizeof(rep->names[0]), "%u %s", i, what);
	region_report_add(rep, "writer", name, value);
}

static void add_writers(struct ek_region_report *rep, const struct ek_region *r)
{
	for (unsigned i = 0; i < EK_REGION_WRITERS; i++) {
		if (r->writers[i].bytes == 0)
			continue;
		add_writer(rep, i, "bytes", r->writers[i].bytes);
		add_writer(rep, i, "waits", r->writers[i].waits);
	}
}

int ek_region_report(struct ek_region *r, struct ek_region_report **ret)
{
	struct ek_region_report *rep = mem_zero(sizeof(*rep));

	if (rep == NULL)
		return -ENOMEM;
	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < RC_COUNT; i++)
		region_report_add(rep, "region", counter_name[i], r->c[i]);
	for (unsigned i = 0; i < SIZE_CLASSES; i++)
		region_report_add(rep, "store size", size_names[i], r->sizes[i]);
	add_writers(rep, r);
	region_report_add(rep, "region time", "wait_ns", r->wait_ns);
	region_report_add(rep, "region time", "store_ns", r->store_ns);
	pthread_mutex_unlock(&r->lock);
	*ret = rep;
	return 0;
}

void region_start_over(struct ek_region *r)
{
	pthread_mutex_lock(&r->lock);
	memset(r->c, 0, sizeof(r->c));
	memset(r->sizes, 0, sizeof(r->sizes));
	memset(r->writers, 0, sizeof(r->writers));
	r->wait_ns = 0;
	r->store_ns = 0;
	pthread_mutex_unlock(&r->lock);
}

const struct ek_region_row *ek_region_report_row(const struct ek_region_report *rep, size_t i)
{
	return i < rep->count ? &rep->rows[i] : NULL;
}

uint64_t ek_region_report_value(const struct ek_region_report *rep, const char *name)
{
	for (size_t i = 0; i < rep->count; i++) {
		const struct ek_region_row *row = &rep->rows[i];

		if (strncmp(row->group, "region", 6) == 0 && strcmp(row->name, name) == 0)
			return row->value;
	}
	return 0;
}

void ek_region_report_free(struct ek_region_report *rep)
{
	free(rep);
}
