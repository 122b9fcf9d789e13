/* SPDX-License-Identifier: BSD-2-Clause */
/* Region writeback with writers that are threads, and the study's workload. */
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "region_memory.h"

#define THREADS 4u
#define SHARE   ((uint64_t)1 << 20) /* bytes that belong to one thread */

static char folder[64];

static const char *store_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/region-unit.%d", (int)getpid());
	return folder;
}

static void remove_folder(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/study5", folder);
	unlink(path);
	rmdir(folder);
}

/* ---- threads ---- */

static struct share {
	pthread_t thread;
	unsigned id;
	uint8_t *want;
	int rc;
} shares[THREADS];

/* Blocks of the shares lie between one another, so folios and stores are shared. */
static uint64_t place(unsigned id, uint64_t at)
{
	return at / 1024 * 1024 * THREADS + id * 1024 + at % 1024;
}

static int share_write(struct share *s, uint64_t *rnd)
{
	uint64_t len = any(rnd) % 1024 + 1, at = any(rnd) % SHARE / 1024 * 1024;
	uint64_t in = any(rnd) % (1024 - len + 1);
	uint8_t buf[1024];

	for (uint64_t i = 0; i < len; i++)
		buf[i] = (uint8_t)any(rnd);
	memcpy(s->want + at + in, buf, len);
	return ek_region_write(file, s->id, place(s->id, at + in), buf, len);
}

static int share_read(struct share *s, uint64_t *rnd)
{
	uint64_t at = any(rnd) % SHARE / 1024 * 1024;
	uint8_t buf[1024];
	int rc = ek_region_read(file, s->id, place(s->id, at), buf, sizeof(buf));

	return rc < 0 ? rc : memcmp(buf, s->want + at, sizeof(buf)) != 0 ? -EIO : 0;
}

static void *run_share(void *arg)
{
	struct share *s = arg;
	uint64_t rnd = 4711 + s->id;

	for (unsigned i = 0; i < 1500 && s->rc == 0; i++) {
		uint64_t what = any(&rnd) % 100;

		if (what == 0)
			s->rc = ek_region_drop(file, s->id, 0, 0);
		else if (what == 1)
			s->rc = ek_region_fsync(file, s->id);
		else if (what < 20)
			s->rc = share_read(s, &rnd);
		else
			s->rc = share_write(s, &rnd);
	}
	return NULL;
}

static void start_shares(void)
{
	for (unsigned i = 0; i < THREADS; i++) {
		shares[i].id = i;
		shares[i].rc = 0;
		shares[i].want = calloc(1, SHARE);
		CHECK(shares[i].want != NULL);
		CHECK_INT(pthread_create(&shares[i].thread, NULL, run_share, &shares[i]), 0);
	}
}

static void check_shares(void)
{
	for (unsigned i = 0; i < THREADS; i++) {
		bool same = true;

		for (uint64_t at = 0; at < SHARE; at += 1024)
			same = same &&
			       memcmp(mem.bytes + place(i, at), shares[i].want + at, 1024) == 0;
		free(shares[i].want);
		CHECK(same);
	}
}

static void threads_on(const char *walk, const char *track, const char *stable, const char *more)
{
	memory_fresh();
	memset(mem.bytes, 0, SHARE * THREADS);
	mem.size = SHARE * THREADS;
	region_begin(EK_REGION_THREADS, "walk=%s,track=%s,stable=%s,%s", walk, track, stable, more);
	start_shares();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(shares[i].thread, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK_INT(shares[i].rc, 0);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	region_end();
	CHECK(!mem.overlapped);
	check_shares();
}

TEST(writers_in_one_file_keep_their_bytes_under_every_walk)
{
	for (size_t w = 0; w < ARRAY_SIZE(walk_words); w++)
		threads_on(walk_words[w], track_words[w % 4], stable_words[w % 3],
			   "folio=16K,block=1024,max_store=100000,inflight=4");
}

TEST(writers_in_one_file_keep_their_bytes_under_every_tracking)
{
	for (size_t t = 0; t < ARRAY_SIZE(track_words); t++)
		for (size_t s = 0; s < ARRAY_SIZE(stable_words); s++)
			threads_on("region", track_words[t], stable_words[s],
				   "folio=8K,dirty=256K,memory=8M,nr_to_write=32");
}

TEST(stores_one_after_another_work_with_threads_too)
{
	threads_on("batch", "range", "wait", "stores=sync,skips=cifs");
	threads_on("generic", "block", "copy", "stores=sync,block=512,folio=auto");
}

/* ---- fsync ends ---- */

static atomic_bool enough;

static void *hammer(void *arg)
{
	uint64_t n = 0;

	while (!atomic_load(&enough)) {
		n++;
		if (ek_region_write(file, 1, 0, &n, sizeof(n)) < 0)
			return arg;
	}
	return NULL;
}

TEST(fsync_ends_while_a_writer_hammers_one_block)
{
	for (size_t w = 0; w < ARRAY_SIZE(walk_words); w++) {
		uint8_t page[4096] = {1};
		pthread_t thread;
		void *bad;

		memory_fresh();
		atomic_store(&enough, false);
		region_begin(EK_REGION_THREADS, "walk=%s,track=none,stable=%s", walk_words[w],
			     stable_words[w % 3]);
		CHECK_INT(pthread_create(&thread, NULL, hammer, file), 0);
		for (unsigned i = 1; i < 40; i++) {
			CHECK_INT(ek_region_write(file, 0, i * 4096, page, sizeof(page)), 0);
			CHECK_INT(ek_region_fsync(file, 0), 0);
			CHECK_INT(mem.bytes[i * 4096], 1);
		}
		atomic_store(&enough, true);
		pthread_join(thread, &bad);
		CHECK(bad == NULL);
		region_end();
	}
}

/* ---- the study ---- */

/* A1 to A6 and C1 to C4 of the study. */
static const char *const systems[] = {
    "walk=batch,track=range,stable=wait,stores=sync,skips=afs",
    "walk=region,track=range,stable=wait,stores=sync,skips=afs",
    "walk=generic,track=range,stable=wait,stores=sync",
    "walk=batch,track=none,stable=wait,stores=sync,skips=afs",
    "walk=generic,track=none,stable=wait,stores=sync",
    "walk=inline,track=none,stable=wait,stores=sync",
    "walk=batch,track=none,stable=wait,skips=cifs",
    "walk=region,track=none,stable=wait,skips=cifs",
    "walk=generic,track=none,stable=wait",
    "walk=inline,track=none,stable=wait",
};

static struct ek_region_report *bench(const char *knobs, unsigned flags, unsigned passes)
{
	struct ek_region_bench opt = {.size = sizeof(opt),
				      .store = store_folder(),
				      .knobs = knobs,
				      .mib = 2,
				      .passes = passes,
				      .flags = flags};
	struct ek_region_report *rep = NULL;

	if (ctx == NULL)
		CHECK_INT(ek_ctx_new(&ctx), 0);
	CHECK_INT(ek_region_bench(ctx, &opt, &rep), 0);
	return rep;
}

static bool same_rows(const struct ek_region_report *a, const struct ek_region_report *b)
{
	const struct ek_region_row *x, *y;

	for (size_t i = 0; (x = ek_region_report_row(a, i)) != NULL; i++) {
		y = ek_region_report_row(b, i);
		if (y == NULL || strcmp(x->name, y->name) != 0)
			return false;
		if (strcmp(x->group, "region time") != 0 && x->value != y->value)
			return false;
	}
	return true;
}

TEST(each_system_of_the_study_counts_the_same_in_every_run)
{
	for (size_t i = 0; i < ARRAY_SIZE(systems); i++) {
		struct ek_region_report *a = bench(systems[i], 0, 2), *b = bench(systems[i], 0, 2);
		bool same = same_rows(a, b);

		CHECK_INT(ek_region_report_value(a, "bytes_written"), 4 * 2 * (2 << 20));
		CHECK(ek_region_report_value(a, "bytes_stored") >= 2 << 20);
		CHECK(ek_region_report_value(a, "elapsed_ns") > 0);
		ek_region_report_free(a);
		ek_region_report_free(b);
		CHECK(same);
	}
	remove_folder();
}

/* Making the file is not what is measured. */
TEST(the_study_s_times_are_those_of_the_writers)
{
	uint64_t whole = host_ns(CLOCK_PROCESS_CPUTIME_ID), cpu;
	struct ek_region_report *a = bench("walk=region", 0, 1);

	whole = host_ns(CLOCK_PROCESS_CPUTIME_ID) - whole;
	cpu = ek_region_report_value(a, "cpu_ns");
	CHECK(cpu > 0 && cpu < whole);
	ek_region_report_free(a);
	remove_folder();
}

TEST(the_study_runs_with_threads)
{
	for (size_t i = 0; i < ARRAY_SIZE(systems); i++) {
		struct ek_region_report *a = bench(systems[i], EK_REGION_THREADS, 1);

		CHECK_INT(ek_region_report_value(a, "bytes_written"), 4 * (2 << 20));
		ek_region_report_free(a);
	}
	remove_folder();
}

TEST(the_file_holds_what_was_written_last)
{
	struct ek_region_report *a = bench("walk=region", EK_REGION_THREADS, 2);
	uint8_t page[4096];
	char path[96];
	unsigned odd = 0;
	FILE *f;

	ek_region_report_free(a);
	snprintf(path, sizeof(path), "%s/study5", folder);
	f = fopen(path, "rb");
	CHECK(f != NULL);
	for (unsigned i = 0; i < (2 << 20) / 4096; i++) {
		odd += fread(page, 1, sizeof(page), f) != sizeof(page);
		odd += page[0] < 'a' || page[0] > 'd' || memcmp(page, page + 1, 4095) != 0;
	}
	odd += fgetc(f) != EOF;
	fclose(f);
	remove_folder();
	CHECK_INT(odd, 0);
}

int main(void)
{
	return tap_main();
}
