/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Study 5: how region writeback finds what is dirty.  Four writers overwrite
 * one file of 16 MiB in orders of their own and flush it after each pass;
 * published for afs and cifs.  The engine is that of extkit/region.h; here are
 * the study's systems as its knobs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "extkit/region.h"
#include "trace/bench.h"

#define WRITERS 4u
#define MIB     16u

/* Those without tracking are of afs alone: cifs never had it. */
static const struct bench_system systems[] = {
    {"base", NULL, {"walk=batch"}},
    {"single lookup", NULL, {"walk=region"}},
    {"write_cache_pages", NULL, {"walk=generic"}},
    {"own write_cache_pages", NULL, {"walk=inline"}},
    {"base, no tracking", NULL, {"walk=batch", "track=none"}},
    {"write_cache_pages, no tracking", NULL, {"walk=generic", "track=none"}},
    {"own write_cache_pages, no tracking", NULL, {"walk=inline", "track=none"}},
    {"iterator", NULL, {"walk=iter"}},
    {"native", NULL, {"walk=bitmap", "track=bytes", "stable=copy"}},
};
#define NO_TRACKING (1u << 4 | 1u << 5 | 1u << 6)

static const struct {
	const char *name, *knobs;
	bool turns;
	unsigned skip;
	double rates[7]; /* medians of the published runs, MiB/s */
} cells[] = {
    {"afs",
     "track=range,stable=wait,stores=sync,skips=afs",
     false,
     0,
     {303, 350, 285, 0, 320, 287, 302}},
    {"cifs",
     "track=none,stable=wait,stores=async,skips=cifs",
     false,
     NO_TRACKING,
     {464, 467, 457, 453, 0, 0, 0}},
    {"afs, writers in turns",
     "track=range,stable=wait,stores=sync,skips=afs",
     true,
     0,
     {303, 350, 285, 0, 320, 287, 302}},
    {"cifs, writers in turns",
     "track=none,stable=wait,stores=async,skips=cifs",
     true,
     NO_TRACKING,
     {464, 467, 457, 453, 0, 0, 0}},
};

static const struct bench_fact facts[] = {
    {.name = "stores"},  {.name = "stored/written"}, {.name = "KiB/store"},
    {.name = "lookups"}, {.name = "visits"},         {.name = "duplicates"},
    {.name = "skips"},   {.name = "waits"},          {.name = "conflict flushes"},
    {.name = NULL},
};

/* The full load is 20 passes of each writer. */
static bool cell(size_t i, const struct ek_bench_options *opt, struct bench_cell *ret)
{
	if (i >= ARRAY_SIZE(cells))
		return false;
	snprintf(ret->name, sizeof(ret->name), "%s", cells[i].name);
	snprintf(ret->spec, sizeof(ret->spec), "%s", cells[i].knobs);
	ret->turns = cells[i].turns;
	ret->skip = cells[i].skip;
	ret->passes = MAX(20 * opt->scale / 100, 1u);
	memcpy(ret->published[0][0], cells[i].rates, sizeof(cells[i].rates));
	return true;
}

/* ---- one run ---- */

static void read_report(const struct ek_region_report *rep, struct bench_result *ret)
{
	double written = (double)ek_region_report_value(rep, "bytes_written");
	double stored = (double)ek_region_report_value(rep, "bytes_stored");
	double stores = (double)ek_region_report_value(rep, "stores");
	static const char *const names[] = {"lookups", "folios_visited", "duplicate_visits",
					    "skips",   "waits",          "conflict_flushes"};

	ret->bytes = ek_region_report_value(rep, "bytes_written");
	ret->calls = ret->writes = ret->bytes / 4096;
	ret->facts[0] = stores;
	ret->facts[1] = written > 0 ? stored / written : 0;
	ret->facts[2] = stores > 0 ? stored / stores / 1024 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ret->facts[3 + i] = (double)ek_region_report_value(rep, names[i]);
	ret->cpu_ns = ek_region_report_value(rep, "cpu_ns");
	ret->wall_ns = ret->whole_ns = ek_region_report_value(rep, "elapsed_ns");
}

static int run_store(struct ek_ctx *ctx, const struct bench_cell *c, const struct bench_system *s,
		     const char *store, struct bench_result *ret)
{
	char knobs[256];
	struct ek_region_bench opt = {.size = sizeof(opt),
				      .store = store,
				      .knobs = knobs,
				      .writers = WRITERS,
				      .mib = MIB,
				      .passes = c->passes,
				      .flags = c->turns ? 0 : (unsigned)EK_REGION_THREADS,
				      .seed = 1};
	struct ek_region_report *rep;
	int n = snprintf(knobs, sizeof(knobs), "%s", c->spec), rc;

	for (size_t i = 0; i < BENCH_SETS && s->set[i] != NULL && n < (int)sizeof(knobs); i++)
		n += snprintf(knobs + n, sizeof(knobs) - (size_t)n, ",%s", s->set[i]);
	rc = ek_region_bench(ctx, &opt, &rep);
	if (rc < 0)
		return rc;
	memset(ret, 0, sizeof(*ret));
	ret->counted = true;
	read_report(rep, ret);
	ek_region_report_free(rep);
	return 0;
}

/* A folder of ours, and whatever the engine made in it. */
static void drop_folder(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir != NULL)
		closedir(dir);
	rmdir(path);
}

static int run(struct ek_ctx *ctx, const struct bench_cell *c, const struct bench_system *s,
	       const char *target, struct bench_result *ret)
{
	const char *tmp = getenv("TMPDIR");
	char folder[512];
	int rc;

	if (target != NULL)
		return run_store(ctx, c, s, strncmp(target, "dir:", 4) == 0 ? target + 4 : target,
				 ret);
	if (snprintf(folder, sizeof(folder), "%s/extkit-bench-XXXXXX",
		     tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp") >= (int)sizeof(folder))
		return diag_set(&ctx->diag, -ENAMETOOLONG, "bench: TMPDIR is too long");
	if (mkdtemp(folder) == NULL)
		return diag_errno(&ctx->diag, -errno, "bench: %s", folder);
	rc = run_store(ctx, c, s, folder, ret);
	drop_folder(folder);
	return rc;
}

const struct bench_study bench_study5 = {
    .title = "how region writeback finds what is dirty",
    .systems = systems,
    .nsystems = ARRAY_SIZE(systems),
    .measures = {{BENCH_RATE_WHOLE, "MiB/s", false, {"afs and cifs", NULL}}},
    .nmeasures = 1,
    .facts = facts,
    .cell = cell,
    .run = run,
};
