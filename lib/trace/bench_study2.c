/* SPDX-License-Identifier: BSD-2-Clause */
/* Study 2: a writeback budget that is overrun lets the flusher chase the writer through ever
 * smaller extents.  dd of one large file, while dirty pages are limited. */
#include <stdio.h>

#include "base/check.h"
#include "trace/bench.h"

/* Writes without a handle of their own, so that those of writeback can be counted. */
static const struct bench_system systems[] = {
    {"3.11 rule", "linux-3.13", {"write=g4", "budget=r0", "wrap=w0"}},
    {"3.13 rule", "linux-3.13", {"write=g4"}},
    {"6.3 rule", "linux-3.13", {"write=g4", "budget=r2"}},
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
    {.name = "overruns", .up = COUNTER_BUDGET_OVERRUNS, .whole = true},
    {.name = "pages over", .up = COUNTER_BUDGET_OVERRUN_PAGES, .whole = true},
    {.name = NULL},
};

/* dd by calls of 8 KiB under a limit; the full load is 768 MiB under 64 MiB.  The program makes 180
 * MB/s and the disk 200 when its requests are large, as on the published machine: a writer that is
 * a little slower than the disk is what the rule needs to go wrong. */
#define DD_CALL_NS   45000u
#define DD_EXTENT_NS 100000u
#define DD_PAGE_NS   20000u
static void dd_cell(const struct ek_bench_options *opt, struct bench_cell *ret)
{
	uint64_t count = MAX((uint64_t)96 * 1024 * opt->scale / 100, 512u), bytes = count * 8192;

	snprintf(ret->name, sizeof(ret->name), "dd bs=8K");
	snprintf(ret->spec, sizeof(ret->spec), "dd:bs=8K,count=%llu,procs=%u,ns=%u,end=sync",
		 (unsigned long long)count, opt->procs, DD_CALL_NS * opt->procs);
	ret->extent_ns = DD_EXTENT_NS;
	ret->page_ns = DD_PAGE_NS;
	ret->dirty = bytes * opt->procs / 12;
	ret->background = ret->dirty / 2;
	ret->memory = bytes * opt->procs + ((uint64_t)128 << 20);
	ret->image_bytes = bytes * opt->procs * 5 / 4 + ((uint64_t)256 << 20);
	ret->published[0][0][0] = 157;
	ret->published[0][0][1] = 174;
}

#define UNIT_NS  1000000u /* the flusher's time for an extent */
#define PAGES    262144u  /* of the full load */
#define LIMIT    4096u    /* dirty pages at which the flusher begins */
#define PAGE_LEN 4096u

/* Pages that the writer makes in one unit, and blocks of an extent by the model of the two rules:
 * calculated, not measured by anybody. */
static const struct {
	unsigned rate;
	double model[2];
} rates[] = {
    {5, {5.7, 1024}}, {10, {12.7, 1024}}, {20, {34.2, 1024}},
    {30, {78, 1024}}, {40, {216, 1024}},  {45, {523, 1024}},
};

/* A writer that is never stopped, beside a flusher that takes a unit for each extent and a fiftieth
 * of it for each page. */
static void rate_cell(unsigned i, const struct ek_bench_options *opt, struct bench_cell *ret)
{
	uint64_t pages = MAX((uint64_t)PAGES * opt->scale / 100, 2 * LIMIT);

	snprintf(ret->name, sizeof(ret->name), "%u pages a unit", rates[i].rate);
	snprintf(ret->spec, sizeof(ret->spec), "dd:bs=4K,count=%llu,ns=%u,end=sync",
		 (unsigned long long)pages, UNIT_NS / rates[i].rate);
	ret->extent_ns = UNIT_NS;
	ret->page_ns = UNIT_NS / 50;
	ret->background = (uint64_t)LIMIT * PAGE_LEN;
	ret->memory = pages * PAGE_LEN + ((uint64_t)64 << 20);
	ret->dirty = ret->memory;
	ret->image_bytes = pages * PAGE_LEN * 5 / 4 + ((uint64_t)256 << 20);
	ret->in_memory = true;
	ret->published[1][0][0] = rates[i].model[0];
	ret->published[1][0][1] = rates[i].model[1];
}

static bool cell(size_t i, const struct ek_bench_options *opt, struct bench_cell *ret)
{
	if (i > ARRAY_SIZE(rates))
		return false;
	if (i == 0)
		dd_cell(opt, ret);
	else
		rate_cell((unsigned)i - 1, opt, ret);
	return true;
}

const struct bench_study bench_study2 = {
    .title = "a writeback budget that is overrun",
    .systems = systems,
    .nsystems = ARRAY_SIZE(systems),
    .measures = {{BENCH_RATE_WHOLE, "MB/s", false, {"A15, SATA SSD", NULL}},
		 {BENCH_EXTENT, "blocks/extent", false, {"a model's calculation", NULL}}},
    .nmeasures = 2,
    .facts = facts,
    .cell = cell,
};
