/* SPDX-License-Identifier: BSD-2-Clause */
/* Study 3: large folios for regular files, with and without a state for each block.  fio's reads
 * and writes of one file; published for a Xeon with a ramdisk and an NVMe disk. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "trace/bench.h"

static const struct bench_system systems[] = {
    {"base", NULL, {"folio=s0"}},
    {"iomap + large folio", "iomap", {NULL}},
    {"base + large folio", NULL, {NULL}},
    {"native", "native", {NULL}},
};

static const struct bench_fact facts[] = {
    {.name = "folios", .up = COUNTER_FOLIOS_ADDED},
    {.name = "begins/call", .up = COUNTER_DA_WRITE_BEGIN, .below = BELOW_CALLS},
    {.name = "lookups/call", .up = COUNTER_ES_LOOKUP, .below = BELOW_CALLS},
    {.name = "reserves/call", .up = COUNTER_DA_RESERVE_SPACE, .below = BELOW_CALLS},
    {.name = "buffers/call", .up = COUNTER_BUFFERS_WALKED, .below = BELOW_CALLS},
    {.name = "locks/call", .up = COUNTER_PAGE_LOCKS, .below = BELOW_CALLS},
    {.name = "handles/call", .up = COUNTER_HANDLE_START, .below = BELOW_CALLS},
    {.name = "data bios", .up = COUNTER_BIO_W, .whole = true},
    {.name = NULL},
};

/* MB/s in the order base, iomap, base with large folios, for calls of 4K, 64K and 1M. */
static const struct {
	const char *name;
	const char *spec;
	bool in_memory, sync, background;
	double rates[3][3];
} rows[] = {
    {"hole",
     "mode=read,from=hole",
     true,
     false,
     false,
     {{2253, 2975, 2918}, {3043, 4860, 4767}, {2960, 4942, 4738}}},
    {"ramdisk",
     "mode=read,from=disk",
     true,
     false,
     false,
     {{1732, 2069, 1930}, {2156, 2850, 2584}, {2093, 2841, 2586}}},
    {"nvme",
     "mode=read,from=disk",
     false,
     false,
     false,
     {{1323, 1425, 1341}, {1471, 1574, 1586}, {2012, 2153, 2122}}},
    {"cache N N N",
     "mode=write",
     true,
     false,
     false,
     {{1631, 1719, 1655}, {2088, 5092, 3690}, {2143, 5716, 3901}}},
    {"cache Y N N",
     "mode=write,overwrite=yes",
     true,
     false,
     false,
     {{1755, 1834, 1767}, {2290, 5142, 4200}, {2352, 5577, 4276}}},
    {"ramdisk N N Y",
     "mode=write",
     true,
     false,
     true,
     {{1424, 1384, 1449}, {1950, 4640, 3528}, {1968, 5201, 3814}}},
    {"ramdisk N Y N",
     "mode=write,sync=yes",
     true,
     true,
     false,
     {{39, 51, 39}, {371, 560, 395}, {1050, 1835, 1657}}},
    {"ramdisk Y N Y",
     "mode=write,overwrite=yes",
     true,
     false,
     true,
     {{1609, 1731, 1723}, {2134, 4844, 4151}, {2248, 5372, 4210}}},
    {"ramdisk Y Y N",
     "mode=write,overwrite=yes,sync=yes",
     true,
     true,
     false,
     {{711, 730, 711}, {1170, 2171, 1969}, {1229, 2269, 1944}}},
    {"nvme N N Y",
     "mode=write",
     false,
     false,
     true,
     {{1458, 1512, 1559}, {1827, 4431, 3390}, {1835, 4919, 3658}}},
    {"nvme N Y N",
     "mode=write,sync=yes",
     false,
     true,
     false,
     {{46, 46, 45}, {403, 541, 470}, {649, 1351, 886}}},
    {"nvme Y N Y",
     "mode=write,overwrite=yes",
     false,
     false,
     true,
     {{1456, 1693, 1637}, {2064, 4669, 4010}, {2131, 5273, 4260}}},
    {"nvme Y Y N",
     "mode=write,overwrite=yes,sync=yes",
     false,
     true,
     false,
     {{222, 220, 232}, {840, 1214, 1156}, {714, 1504, 1320}}},
};

/* The full load is 1 GiB; with a sync after each call at most 2,000 of them. */
static uint64_t size_of(const struct ek_bench_options *opt, bool sync, uint64_t bs)
{
	uint64_t size = ((uint64_t)1 << 20) * MAX(1024 * opt->scale / 100, 1u);
	uint64_t synced = MAX((uint64_t)20 * opt->scale, 1u) * bs;

	return sync ? MIN(size, synced) : size;
}

static bool cell(size_t i, const struct ek_bench_options *opt, struct bench_cell *ret)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} sizes[] = {{"4K", 4096}, {"64K", 65536}, {"1M", 1 << 20}};
	size_t row = i / ARRAY_SIZE(sizes), k = i % ARRAY_SIZE(sizes);
	uint64_t size;

	if (row >= ARRAY_SIZE(rows))
		return false;
	size = size_of(opt, rows[row].sync, sizes[k].bytes);
	snprintf(ret->name, sizeof(ret->name), "%s %s %s",
		 strncmp(rows[row].spec, "mode=read", 9) == 0 ? "read" : "write", rows[row].name,
		 sizes[k].name);
	snprintf(ret->spec, sizeof(ret->spec),
		 "folio:%s,bs=%s,size=%llu,procs=%u,warm=yes,end=sync", rows[row].spec,
		 sizes[k].name, (unsigned long long)size, opt->procs);
	size *= opt->procs;
	ret->in_memory = rows[row].in_memory;
	ret->memory = size * 5 / 4 + ((uint64_t)64 << 20);
	ret->warm = true;
	ret->flusher = rows[row].background;
	ret->background = rows[row].background ? size / 8 : ret->memory;
	ret->dirty = ret->memory;
	ret->image_bytes = size * 5 / 4 + ((uint64_t)256 << 20);
	memcpy(ret->published[0][0], rows[row].rates[k], sizeof(rows[row].rates[k]));
	return true;
}

const struct bench_study bench_study3 = {
    .title = "large folios for regular files",
    .systems = systems,
    .nsystems = ARRAY_SIZE(systems),
    .measures = {{BENCH_RATE_MB, "MB/s", false, {"Xeon, 6.15-rc6", NULL}}},
    .nmeasures = 1,
    .facts = facts,
    .cell = cell,
};
