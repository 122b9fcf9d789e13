/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Study 5's workload on every walk and tracking, with writers that are threads:
 *
 *	region [STORE [KNOBS [RUNS [PASSES]]]]
 *
 * STORE is a folder (else one of its own in TMPDIR) or an NBD URI, KNOBS are added to walk and
 * track.  A line is the median of each number over the runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "extkit/ctx.h"
#include "extkit/region.h"

#define RUNS_MAX 15u

static const char *const walks[] = {"region", "batch", "generic", "inline", "iter", "bitmap"};
static const char *const tracks[] = {"none", "range", "block", "bytes"};

/* What a line shows, by name of the report's row. */
static const char *const shown[] = {
    "stores", "bytes_stored",       "bytes_written",    "bytes_filled", "duplicate_visits",
    "skips",  "passes_ended_early", "conflict_flushes", "waits",        "elapsed_ns"};
enum { STORES, STORED, WRITTEN, FILLED, DUPLICATES, SKIPS, EARLY, CONFLICTS, WAITS, NS, SHOWN };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int one_run(struct ek_ctx *ctx, const struct ek_region_bench *opt, double to[SHOWN])
{
	struct ek_region_report *rep;

	if (ek_region_bench(ctx, opt, &rep) < 0) {
		fprintf(stderr, "region: %s\n", ek_ctx_message(ctx));
		return -1;
	}
	for (int i = 0; i < SHOWN; i++)
		to[i] = (double)ek_region_report_value(rep, shown[i]);
	ek_region_report_free(rep);
	return 0;
}

static void line(const char *walk, const char *track, double v[RUNS_MAX][SHOWN], unsigned runs)
{
	double m[SHOWN], sorted[RUNS_MAX];

	for (int i = 0; i < SHOWN; i++) {
		for (unsigned k = 0; k < runs; k++)
			sorted[k] = v[k][i];
		qsort(sorted, runs, sizeof(sorted[0]), by_value);
		m[i] = sorted[runs / 2];
	}
	printf(
	    "| %s | %s | %.0f | %.0f | %.2f | %.2f | %.0f | %.0f | %.0f | %.0f | %.2f | %.0f |\n",
	    walk, track, m[STORES], m[STORES] > 0 ? m[STORED] / m[STORES] / 1024 : 0,
	    m[STORED] / m[WRITTEN], m[FILLED] / m[WRITTEN], m[DUPLICATES], m[SKIPS], m[EARLY],
	    m[CONFLICTS], 1000 * m[WAITS] / (m[WRITTEN] / 4096),
	    m[WRITTEN] / (1 << 20) / (m[NS] / 1e9));
	fflush(stdout);
}

static int measure(struct ek_ctx *ctx, struct ek_region_bench *opt, const char *more, unsigned runs)
{
	puts("| walk | track | stores | KiB each | stored/written | read/written | duplicates | "
	     "skips "
	     "| ended early | conflicts | waits/1000 | MiB/s |\n"
	     "|---|---|---|---|---|---|---|---|---|---|---|---|");
	for (size_t w = 0; w < sizeof(walks) / sizeof(walks[0]); w++) {
		for (size_t t = 0; t < sizeof(tracks) / sizeof(tracks[0]); t++) {
			double v[RUNS_MAX][SHOWN];
			char knobs[512];

			snprintf(knobs, sizeof(knobs), "walk=%s,track=%s,%s", walks[w], tracks[t],
				 more);
			opt->knobs = knobs;
			for (unsigned k = 0; k < runs; k++) {
				opt->seed = k;
				if (one_run(ctx, opt, v[k]) < 0)
					return 1;
			}
			line(walks[w], tracks[t], v, runs);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct ek_region_bench opt = {.size = sizeof(opt), .flags = EK_REGION_THREADS};
	unsigned runs = argc > 3 ? (unsigned)atoi(argv[3]) : 3;
	const char *tmp = getenv("TMPDIR");
	char own[256], file[300];
	struct ek_ctx *ctx;
	int rc;

	snprintf(own, sizeof(own), "%s/region-bench.%d", tmp != NULL ? tmp : "/tmp", (int)getpid());
	snprintf(file, sizeof(file), "%s/study5", own);
	opt.store = argc > 1 ? argv[1] : own;
	opt.passes = argc > 4 ? (unsigned)atoi(argv[4]) : 4;
	if (runs < 1 || runs > RUNS_MAX || ek_ctx_new(&ctx) < 0)
		return 2;
	rc = measure(ctx, &opt, argc > 2 ? argv[2] : "stable=wait", runs);
	if (argc <= 1) {
		unlink(file);
		rmdir(own);
	}
	ek_ctx_free(ctx);
	return rc;
}
