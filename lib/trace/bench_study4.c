/* SPDX-License-Identifier: BSD-2-Clause */
/* Study 4: how often an inode is marked dirty and copied while sixteen files grow side by side, one
 * block a call; published as seconds and as marks of 16 files of 3 GiB. */
#include <stdio.h>

#include "base/check.h"
#include "trace/bench.h"

#define PAGES (16.0 * 3 * 1024 * 256) /* of the published run */

/* "linux-3.13" is the oldest ext4 whose writeback keeps its budget; the study's was 3.3. */
static const struct bench_system systems[] = {
    {"ext3", "ext3-3.3", {NULL}},
    {"ext3 patch 1", "ext3-3.3", {"allocation=ext3-patch1"}},
    {"ext3 patched", "ext3-3.3-patched", {NULL}},
    {"ext4 no delalloc, no extents", "linux-3.13", {"mapping=indirect", "allocation=nodelalloc"}},
    {"ext4 no delalloc", "linux-3.13", {"allocation=nodelalloc"}},
    {"ext4 default", "linux-3.13", {NULL}},
    {"ext3, lazy", "ext3-3.3", {"inode=lazy"}},
    {"ext3 patch 1, lazy", "ext3-3.3", {"allocation=ext3-patch1", "inode=lazy"}},
    {"ext3 patched, lazy", "ext3-3.3-patched", {"inode=lazy"}},
    {"ext4 no delalloc, no extents, lazy",
     "linux-3.13",
     {"mapping=indirect", "allocation=nodelalloc", "inode=lazy"}},
    {"ext4 no delalloc, lazy", "linux-3.13", {"allocation=nodelalloc", "inode=lazy"}},
    {"ext4 default, lazy", "linux-3.13", {"inode=lazy"}},
    {"linux-6.18", NULL, {NULL}},
    {"linux-6.18, lazy", NULL, {"inode=lazy"}},
    {"native", "native", {NULL}},
};

static const struct {
	size_t system;
	double seconds, marks;
} published[] = {
    {0, 220.5, 50338104}, {2, 196.3, 25169658}, {3, 190.3, 28465799},
    {4, 201.5, 27963473}, {5, 223.3, 14026118},
};

static const struct bench_fact facts[] = {
    {.name = "marks/page", .up = COUNTER_MARK_INODE_DIRTY, .below = BELOW_PAGES, .whole = true},
    {.name = "inode copies", .up = COUNTER_INODE_SERIALISE, .whole = true},
    {.name = "commits", .up = COUNTER_RUN_STATS, .whole = true},
    {.name = "handles/page", .up = COUNTER_HANDLE_START, .below = BELOW_PAGES, .whole = true},
    {.name = "blocks logged", .up = COUNTER_TX_BLOCKS_LOGGED, .whole = true},
    {.name = NULL},
};

/* The full load is 16 files of 64 MiB; a second cell has one writer. */
static bool cell(size_t i, const struct ek_bench_options *opt, struct bench_cell *ret)
{
	unsigned streams = i == 0 ? 16 : 1;
	uint64_t size = ((uint64_t)1 << 20) * MAX(64 * opt->scale / 100, 1u);

	if (i > 1)
		return false;
	snprintf(ret->name, sizeof(ret->name), "%u stream%s", streams, streams > 1 ? "s" : "");
	snprintf(ret->spec, sizeof(ret->spec), "appenders:procs=%u,size=%llu,warm=yes,end=sync",
		 streams, (unsigned long long)size);
	size *= streams;
	ret->memory = 2 * size + ((uint64_t)64 << 20);
	ret->image_bytes = size * 5 / 4 + ((uint64_t)256 << 20);
	for (size_t k = 0; k < ARRAY_SIZE(published) && i == 0; k++) {
		ret->published[0][0][published[k].system] = published[k].seconds;
		ret->published[1][0][published[k].system] = published[k].marks / PAGES;
	}
	return true;
}

const struct bench_study bench_study4 = {
    .title = "inode marks while files grow",
    .systems = systems,
    .nsystems = ARRAY_SIZE(systems),
    .measures = {{BENCH_SECONDS, "s", true, {"32 cores, 3.3-rc1", NULL}},
		 {BENCH_MARKS, "marks/page", true, {"32 cores, 3.3-rc1", NULL}}},
    .nmeasures = 2,
    .facts = facts,
    .cell = cell,
};
