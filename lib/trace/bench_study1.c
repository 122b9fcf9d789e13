/* SPDX-License-Identifier: BSD-2-Clause */
/* Study 1: what a journal handle over each delayed write costs. UnixBench's file tests before and
 * after each of four patches; published for 4.19 on eight ARM cores, and on a Xeon with 56 copies.
 */
#include <stdio.h>

#include "base/check.h"
#include "trace/bench.h"

static const struct bench_system systems[] = {
    {"before", "linux-5.14", {NULL}},
    {"patch 1", "linux-5.14", {"write=g1"}},
    {"patches 1-3", "linux-5.14", {"write=g1", "inline=i3"}},
    {"patches 1-4", "linux-5.15", {NULL}},
    {"linux-6.18", NULL, {NULL}},
    {"native", "native", {NULL}},
};
#define BEFORE 0
#define AFTER  3

static const struct bench_fact facts[] = {
    {.name = "handles/call", .up = COUNTER_HANDLE_START, .below = BELOW_CALLS},
    {.name = "joins/call", .up = COUNTER_NESTED_JOINS, .below = BELOW_CALLS},
    {.name = "marks/call", .up = COUNTER_MARK_INODE_DIRTY, .below = BELOW_CALLS},
    {.name = "locks/call", .up = COUNTER_PAGE_LOCKS, .below = BELOW_CALLS},
    {.name = "lookups/call", .up = COUNTER_ES_LOOKUP, .below = BELOW_CALLS},
    {.name = NULL},
};

/* KB/s before and after, for both machines. */
static const struct {
	const char *mode;
	unsigned buffer, blocks;
	double arm[2], xeon[2];
} rows[] = {
    {"copy", 1024, 2000, {1124181, 2026206}, {422965, 732716}},
    {"copy", 256, 500, {281885, 829534}, {105077, 184940}},
    {"copy", 4096, 8000, {3383785, 4066659}, {1429092, 2427152}},
    {"read", 1024, 2000, {8702173, 8877219}, {0, 0}},
    {"read", 256, 500, {3869384, 3997445}, {0, 0}},
    {"read", 4096, 8000, {13043151, 13179885}, {0, 0}},
    {"write", 1024, 2000, {1107185, 4256929}, {0, 0}},
    {"write", 256, 500, {270493, 1305320}, {0, 0}},
    {"write", 4096, 8000, {4018084, 10721052}, {0, 0}},
};

/* What patches 2 and 3 are about, which UnixBench is not: small files that stay in their inodes,
 * written byte by byte.  The full load is 1,000 of them. */
static void inline_cell(const struct ek_bench_options *opt, struct bench_cell *ret)
{
	unsigned files = MIN(MAX(10 * opt->scale, 1u), 1000u);

	snprintf(ret->name, sizeof(ret->name), "inline appends");
	snprintf(ret->spec, sizeof(ret->spec), "dd:bs=1,count=100,procs=%u,end=sync", files);
	ret->features = "inline_data";
	ret->image_bytes = (uint64_t)64 << 20;
	ret->memory = (uint64_t)64 << 20;
	ret->background = ret->dirty = ret->memory;
}

/* The full load is 500 passes of 2,000 calls. */
static bool cell(size_t i, const struct ek_bench_options *opt, struct bench_cell *ret)
{
	if (i > ARRAY_SIZE(rows))
		return false;
	if (i == ARRAY_SIZE(rows)) {
		inline_cell(opt, ret);
		return true;
	}
	snprintf(ret->name, sizeof(ret->name), "%s %u/%u", rows[i].mode, rows[i].buffer,
		 rows[i].blocks);
	snprintf(ret->spec, sizeof(ret->spec),
		 "fstime:mode=%s,buffer=%u,blocks=%u,passes=%u,procs=%u,end=sync", rows[i].mode,
		 rows[i].buffer, rows[i].blocks, 5 * opt->scale, opt->procs);
	ret->image_bytes = (uint64_t)(64 + 24 * opt->procs) << 20;
	ret->memory = (uint64_t)(128 + 24 * opt->procs) << 20;
	ret->background = ret->dirty = ret->memory;
	for (unsigned k = 0; k < 2; k++) {
		ret->published[0][0][k == 0 ? BEFORE : AFTER] = rows[i].arm[k];
		ret->published[0][1][k == 0 ? BEFORE : AFTER] = rows[i].xeon[k];
	}
	return true;
}

const struct bench_study bench_study1 = {
    .title = "a journal handle over each delayed write",
    .systems = systems,
    .nsystems = ARRAY_SIZE(systems),
    .measures = {{BENCH_RATE_KB, "KB/s", false, {"4.19, 8 ARM cores", "Xeon, 56 copies"}}},
    .nmeasures = 1,
    .facts = facts,
    .cell = cell,
};
