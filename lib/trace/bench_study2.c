/* SPDX-License-Identifier: BSD-2-Clause */
/* Study 2: a writeback budget that is overrun lets the flusher chase the writer through ever
 * smaller extents.  dd of one large file, while dirty pages are limited. */
#include <stdio.h>

#include "base/check.h"
#include "trace/bench.h"

static const struct bench_system systems[] = {
    {"3.11 rule", "linux-3.13", {"budget=r0", "wrap=w0"}},
    {"3.13 rule", "linux-3.13", {NULL}},
    {"6.3 rule", "linux-3.13", {"budget=r2"}},
    {"linux-6.18", NULL, {NULL}},
    {"native", "native", {NULL}},
};

static const struct bench_fact facts[] = {
    {.name = "writepages", .up = COUNTER_WRITEPAGES, .whole = true},
    {.name = "extents", .up = COUNTER_DA_WRITE_PAGES_EXTENT, .whole = true},
    {.name = "blocks/extent",
     .up = COUNTER_WP_EXTENT_BLOCKS,
     .below = BELOW_COUNTER,
     .other = COUNTER_DA_WRITE_PAGES_EXTENT,
     .whole = true},
    {.name = "blocks/writepages",
     .up = COUNTER_WP_EXTENT_BLOCKS,
     .below = BELOW_COUNTER,
     .other = COUNTER_WRITEPAGES,
     .whole = true},
    {.name = "handles", .up = COUNTER_HANDLE_START, .whole = true},
    {.name = "data bios", .up = COUNTER_BIO_W, .whole = true},
    {.name = "throttles", .up = COUNTER_THROTTLES, .whole = true},
    {.name = NULL},
};

/* The full load is 768 MiB by calls of 8 KiB under a limit of 64 MiB. */
static bool cell(size_t i, const struct ek_bench_options *opt, struct bench_cell *ret)
{
	uint64_t count = (uint64_t)96 * 1024 * opt->scale / 100, bytes = count * 8192;

	if (i != 0)
		return false;
	snprintf(ret->name, sizeof(ret->name), "dd bs=8K");
	snprintf(ret->spec, sizeof(ret->spec), "dd:bs=8K,count=%llu,procs=%u,warm=yes,end=sync",
		 (unsigned long long)count, opt->procs);
	ret->dirty = bytes * opt->procs / 12;
	ret->background = ret->dirty / 2;
	ret->memory = bytes * opt->procs + ((uint64_t)128 << 20);
	ret->image_bytes = bytes * opt->procs * 5 / 4 + ((uint64_t)256 << 20);
	ret->published[0][0][0] = 157;
	ret->published[0][0][1] = 174;
	return true;
}

const struct bench_study bench_study2 = {
    .title = "a writeback budget that is overrun",
    .systems = systems,
    .nsystems = ARRAY_SIZE(systems),
    .measures = {{BENCH_RATE_WHOLE, "MB/s", false, {"A15, SATA SSD", NULL}}},
    .nmeasures = 1,
    .facts = facts,
    .cell = cell,
};
