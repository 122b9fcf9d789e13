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

/* A page every 254 us for each of sixteen streams: 48 GiB in 200 seconds, as published.  How often
 * timestamps move, and inodes are marked for it, depends on it.  The slow load lasts for several
 * commits. */
static const struct {
	const char *name;
	unsigned streams, page_ns;
	bool published;
} loads[] = {
    {"16 streams", 16, 254000, true},
    {"1 stream", 1, 254000 / 16, false},
    {"16 streams, slow", 16, 2500000, false},
};

/* The full load is 64 MiB for each stream. */
static bool cell(size_t i, const struct ek_bench_options *opt, struct bench_cell *ret)
{
	uint64_t size = ((uint64_t)1 << 20) * MAX(64 * opt->scale / 100, 1u);

	if (i >= ARRAY_SIZE(loads))
		return false;
	snprintf(ret->name, sizeof(ret->name), "%s", loads[i].name);
	snprintf(ret->spec, sizeof(ret->spec),
		 "appenders:procs=%u,size=%llu,ns=%u,warm=yes,end=sync", loads[i].streams,
		 (unsigned long long)size, loads[i].page_ns);
	size *= loads[i].streams;
	ret->memory = 2 * size + ((uint64_t)64 << 20);
	ret->image_bytes = size * 5 / 4 + ((uint64_t)256 << 20);
	for (size_t k = 0; k < ARRAY_SIZE(published) && loads[i].published; k++) {
		ret->published[0][0][published[k].system] = published[k].seconds;
		ret->published[1][0][published[k].system] = published[k].marks / PAGES;
	}
	return true;
}

const struct bench_study bench_study4 = {
    .title = "inode marks while files grow",
    .systems = systems,
    .nsystems = ARRAY_SIZE(systems),
    .measures = {{BENCH_SECONDS, "s", true, {"32 cores, 3.3-rc1: seconds", NULL}},
		 {BENCH_MARKS, "marks/page", true, {"32 cores, 3.3-rc1: marks", NULL}}},
    .nmeasures = 2,
    .facts = facts,
    .cell = cell,
};
