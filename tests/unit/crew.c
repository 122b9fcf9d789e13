/* SPDX-License-Identifier: BSD-2-Clause */
/* Replays by several threads: the order that files and names impose is kept. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extkit/create.h>
#include <extkit/ctx.h>
#include <extkit/replay.h>

#include "fs_image.h"

#include "fs/file.h"
#include "fs/namei.h"

static char trace[64], image[64];
static struct ek_ctx *ctx;

static void make_image(void)
{
	struct ek_create_options opt = {.size = sizeof(opt),
					.flags = EK_CREATE_FORCE,
					.bytes = 256u << 20,
					.block_size = 4096,
					.seed = "crew",
					.now = {1700000000, 0}};

	snprintf(image, sizeof(image), "/tmp/extkit-crew-%d.img", (int)getpid());
	CHECK_INT(ek_create(ctx, image, &opt), 0);
}

static void remove_files(void)
{
	unlink(image);
	unlink(trace);
}

static uint64_t row(struct ek_replay_report *rep, const char *name)
{
	const struct ek_replay_row *r;

	for (size_t i = 0; (r = ek_replay_report_row(rep, i)) != NULL; i++) {
		if (strcmp(r->name, name) == 0)
			return r->value;
	}
	return 0;
}

static struct ek_replay_report *replay(const char *what, uint32_t threads)
{
	struct ek_replay_options opt = {
	    .size = sizeof(opt), .threads = threads, .memory = 64u << 20};
	struct ek_replay_report *rep = NULL;
	int rc = ek_replay(ctx, what, image, &opt, &rep);

	if (rc < 0)
		TAP_FAIL("%s by %u: %d: %s", what, threads, rc, ek_ctx_message(ctx));
	return rep;
}

static void check_image(void)
{
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck_file(image), 0);
}

/* Reads a file of the image. */
static uint64_t read_file(const char *path, uint8_t *to, uint64_t max)
{
	struct image_opts opts = {.flags = 0};
	struct diag d = {.code = 0};
	struct ek_image *img;
	struct ek_inode *inode;
	struct task task;
	struct dev *dev;
	uint64_t size;
	size_t n;

	CHECK_INT(dev_open(image, 0, &d, &dev), 0);
	CHECK_INT(image_open(dev, &opts, &d, &img), 0);
	task_init(&task, img);
	CHECK_INT(path_walk(&task, path, 0, &inode), 0);
	size = inode->size;
	CHECK_INT(file_read(&task, inode, 0, to, MIN(size, max), &n), 0);
	CHECK_INT(n, MIN(size, max));
	inode_put(&task, inode);
	CHECK_INT(image_close(img), 0);
	dev_close(dev);
	return size;
}

TEST(workers_do_the_same_work_as_one)
{
	static const char *const loads[] = {
	    "gen:appenders:procs=8,size=1M,end=sync",
	    "gen:fstime:procs=4,buffer=4096,blocks=800,passes=10,end=sync",
	    "gen:folio:bs=64K,size=16M,overwrite=yes,procs=3,end=sync",
	    "gen:fstime:mode=copy,procs=3,buffer=1024,blocks=400,passes=8,end=sync",
	    "gen:folio:mode=read,from=disk,bs=64K,size=8M,procs=2,passes=3,end=sync",
	};
	static const uint32_t crews[] = {2, 5, EK_THREADS_TRACE};

	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		uint64_t bytes, calls, folios, reads;
		struct ek_replay_report *rep;

		make_image();
		rep = replay(loads[i], 1);
		bytes = row(rep, "ek.write_bytes");
		calls = row(rep, "event.ext4_da_write_end");
		folios = row(rep, "ek.folios_added");
		reads = row(rep, "read");
		ek_replay_report_free(rep);
		for (size_t k = 0; k < ARRAY_SIZE(crews); k++) {
			make_image();
			rep = replay(loads[i], crews[k]);
			CHECK_INT(row(rep, "ek.write_bytes"), bytes);
			CHECK_INT(row(rep, "event.ext4_da_write_end"), calls);
			CHECK_INT(row(rep, "ek.folios_added"), folios);
			CHECK_INT(row(rep, "read"), reads);
			ek_replay_report_free(rep);
			check_image();
		}
	}
	remove_files();
}

/* Two threads take turns in one file, names change between writes, and a file is cut and grows
 * again: whatever ran out of order would show in the bytes. */
static void write_trace(unsigned rounds)
{
	FILE *f;

	snprintf(trace, sizeof(trace), "/tmp/extkit-crew-%d.wtr", (int)getpid());
	f = fopen(trace, "w");
	CHECK(f != NULL);
	fprintf(f, "#wtrace 1\n#unit ns\n#clock virtual start=0\n%%ops\n"
		   "0 1 open h1 /shared rw flags=creat mode=0644\n"
		   "0 2 open h2 /shared rw\n");
	for (unsigned i = 0; i < rounds; i++) {
		unsigned ns = 1000 + i * 7000;

		for (unsigned k = 0; k < 50; k++)
			fprintf(f, "%u %u write h%u %u 4 data=x:%08x\n", ns + k, 1 + k % 2,
				1 + k % 2, (i * 31 + k * 4) % 5000, i * 50 + k);
		if (i % 10 == 3)
			fprintf(f, "%u 1 ftruncate h1 %u\n", ns + 60, 100 + i);
		if (i % 7 == 5)
			fprintf(f, "%u 2 rename /shared /moved\n%u 2 rename /moved /shared\n",
				ns + 61, ns + 62);
	}
	fprintf(f, "%u 1 close h1\n", 4000000000u);
	fclose(f);
}

TEST(operations_of_a_file_keep_their_order)
{
	static uint8_t want[8192], got[8192];
	uint64_t size;

	write_trace(200);
	make_image();
	ek_replay_report_free(replay(trace, 1));
	size = read_file("/shared", want, sizeof(want));
	CHECK(size > 1000);
	for (uint32_t threads = 2; threads < 5; threads++) {
		make_image();
		ek_replay_report_free(replay(trace, threads == 4 ? EK_THREADS_TRACE : threads));
		CHECK_INT(read_file("/shared", got, sizeof(got)), size);
		CHECK(memcmp(got, want, size) == 0);
		check_image();
	}
	remove_files();
}

TEST(a_failure_in_a_worker_ends_the_run_and_leaves_a_clean_image)
{
	struct ek_replay_options opt = {.size = sizeof(opt), .threads = 3, .memory = 64u << 20};
	struct ek_replay_report *rep;

	make_image();
	CHECK_INT(ek_replay(ctx, "gen:appenders:procs=8,size=64M,end=sync", image, &opt, &rep),
		  -ENOSPC);
	if (strstr(ek_ctx_message(ctx), "no space") == NULL)
		TAP_FAIL("%s", ek_ctx_message(ctx));
	check_image();
	remove_files();
}

int main(void)
{
	if (ek_ctx_new(&ctx) < 0)
		return 1;
	return tap_main();
}
