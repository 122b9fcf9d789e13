/* SPDX-License-Identifier: BSD-2-Clause */
/* How fast transactions commit, go home and recover, on a device in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/diag.h"
#include "io/bio.h"
#include "io/dev.h"
#include "journal/journal.h"
#include "ondisk/features.h"
#include "ondisk/jbd2.h"

#define LOG    8192u /* blocks of 4 KiB: 32 MiB */
#define AT     70000u
#define ROUNDS 40u
#define BLOCKS 2690u

static struct diag diag;
static struct geom geom = {
    .blocks = AT + LOG, .block_size = 4096, .block_bits = 12, .ro_compat = RO_COMPAT_METADATA_CSUM};
static const struct jnl_run run = {0, LOG, AT};
static struct jnl_config cfg = {
    .diag = &diag, .runs = &run, .run_count = 1, .blocks = LOG, .commit_interval = 5};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s\n", diag.text);
	exit(1);
}

static void show(const char *what, double start, double n, const char *unit)
{
	double s = seconds() - start;

	printf("%-34s %10.0f %s/s  %8.1f ns each\n", what, n / s, unit, s / n * 1e9);
}

static void change(struct jnl *j, uint64_t from, unsigned n, char c)
{
	struct jnl_user user = {NULL};
	struct handle *h;

	must(handle_start(j, &user, HANDLE_MISC, n, 0, 8, &h));
	for (unsigned i = 0; i < n; i++) {
		struct buf *b;

		must(buf_new(cfg.cache, (ek_pblk){from + i}, &verify_any, (struct buf_owner){0, 0},
			     &b));
		memset(b->data, c, 64);
		must(handle_dirty(h, b));
		buf_put(b);
	}
	must(handle_stop(h));
}

int main(void)
{
	static const uint8_t uuid[16];
	struct jnl_user user = {NULL};
	struct handle *h;
	struct dev *dev;
	struct jnl *j;
	uint32_t count;
	double start;

	must(dev_open_memory(geom.blocks << geom.block_bits, &diag, &dev));
	must(buf_cache_open(dev, &geom, 256 << 20, &diag, &cfg.cache));
	must(bioq_open(dev, NULL, &diag, &cfg.bioq));
	must(jnl_format(&cfg, 0, uuid, 0));
	must(jnl_open(&cfg, &j));
	start = seconds();
	for (unsigned i = 0; i < 5000000; i++) {
		must(handle_start(j, &user, HANDLE_INODE, 2, 0, 8, &h));
		must(handle_stop(h));
	}
	show("handle start and stop", start, 5000000, "handles");
	start = seconds();
	for (unsigned i = 0; i < ROUNDS; i++) {
		change(j, 64 + i % 3 * 10000, BLOCKS, (char)i);
		must(jnl_commit_running(j));
	}
	show("change, commit, checkpoint", start, (double)ROUNDS * BLOCKS, "blocks");
	must(jnl_checkpoint(j, true));
	start = seconds();
	for (unsigned i = 0; i < 20000; i++) {
		change(j, 64, 6, (char)i);
		must(jnl_commit_running(j));
	}
	show("commit of 6 blocks", start, 20000, "commits");
	must(jnl_checkpoint(j, true));
	change(j, 64, BLOCKS, 'x');
	must(jnl_commit_running(j));
	change(j, 64 + 10000, BLOCKS, 'y');
	must(jnl_commit_running(j));
	jnl_kill(j);
	must(jnl_open(&cfg, &j));
	start = seconds();
	must(jnl_recover(j, &count));
	show("recover", start, 2.0 * BLOCKS, "blocks");
	must(jnl_close(j));
	bioq_close(cfg.bioq);
	buf_cache_close(cfg.cache);
	dev_close(dev);
	return 0;
}
