/* SPDX-License-Identifier: BSD-2-Clause */
/* Read-ahead while the device takes its time: reads are done no sooner than somebody waits for
 * them, and until then their memory holds something else. */
#include "cached_file.h"

#include "io/dev_impl.h"

#define POISON 0xdd
#define QUEUE  256u

struct late {
	struct dev dev;
	struct dev *base;
	struct dev_req *queue[QUEUE];
	unsigned queued, most;
	int error; /* of the next read that is served late */
};

static struct late *late;

static int late_read(struct dev *d, uint64_t off, void *buf, size_t len)
{
	return dev_read(((struct late *)d)->base, off, buf, len);
}

static int late_write(struct dev *d, uint64_t off, const void *buf, size_t len)
{
	return dev_write(((struct late *)d)->base, off, buf, len);
}

static int late_flush(struct dev *d)
{
	return dev_flush(((struct late *)d)->base);
}

static int late_submit(struct dev *d, struct dev_req **reqs, unsigned n)
{
	struct late *l = (struct late *)d;

	for (unsigned i = 0; i < n; i++) {
		if (reqs[i]->write || l->queued == QUEUE) {
			dev_serve(d, reqs[i]);
			continue;
		}
		for (unsigned k = 0; k < reqs[i]->iovcnt; k++)
			memset(reqs[i]->iov[k].iov_base, POISON, reqs[i]->iov[k].iov_len);
		l->queue[l->queued++] = reqs[i];
		l->most = MAX(l->most, l->queued);
	}
	return 0;
}

/* One at a time, the last first. */
static int late_reap(struct dev *d, unsigned min)
{
	struct late *l = (struct late *)d;
	struct dev_req *req;

	if (l->queued == 0 || min == 0)
		return 0;
	req = l->queue[--l->queued];
	if (l->error != 0) {
		req->result = l->error;
		l->error = 0;
		req->done(req);
	} else {
		dev_serve(d, req);
	}
	return 1;
}

static const struct dev_ops late_ops = {
    .name = "late",
    .read = late_read,
    .write = late_write,
    .flush = late_flush,
    .submit = late_submit,
    .reap = late_reap,
};

/* A file of so many bytes that are on the device, none of them cached. */
static void start_late(const struct image_opts *opts, uint64_t memory, uint64_t bytes)
{
	struct pc_config cfg = {.memory = memory};

	start(4096, opts, &cfg);
	write_some(0, bytes, false);
	inode_put(&task, file);
	unmount_image();
	late = dev_new(sizeof(*late), &late_ops, "late", &diag);
	CHECK(late != NULL);
	dev_like(&late->dev, dev);
	late->base = dev;
	dev = &late->dev;
	mount_image(opts, &cfg);
	find_file();
}

static void stop_late(void)
{
	inode_put(&task, file);
	unmount_image();
	CHECK_INT(late->queued, 0);
	dev = late->base;
	dev_close(&late->dev);
	stop_device();
}

static void read_some(struct readahead *ra, uint64_t pos, uint64_t len)
{
	CHECK_INT(pc_read(&task, file, pos, len, back, ra), (int64_t)len);
	CHECK(memcmp(back, model + pos, len) == 0);
}

TEST(the_next_window_is_asked_for_and_not_waited_for)
{
	struct readahead ra = {0};

	start_late(&usual, 64u << 20, 4u << 20);
	for (uint64_t at = 0; at < 1u << 20; at += 65536)
		read_some(&ra, at, 65536);
	CHECK(late->queued > 0);
	for (uint64_t at = 1u << 20; at < 4u << 20; at += 65536)
		read_some(&ra, at, 65536);
	stop_late();
}

/* A window is in flight behind the first 256 KiB. */
static void start_window(const struct image_opts *opts)
{
	struct readahead ra = {0};

	start_late(opts, 64u << 20, 4u << 20);
	for (uint64_t at = 0; at < 256u << 10; at += 65536)
		read_some(&ra, at, 65536);
	CHECK(late->queued > 0);
}

TEST(a_write_into_bytes_that_are_on_their_way_stays)
{
	static const char *const folios[] = {"folio=s0", "folio=s1", "folio=s2", "folio=s3"};

	for (unsigned i = 0; i < ARRAY_SIZE(folios); i++) {
		struct image_opts opts = usual;
		struct policy policy;

		CHECK_INT(policy_choose(NULL, &folios[i], 1, &diag, &policy), 0);
		opts.policy = &policy;
		start_window(&opts);
		write_some((256u << 10) + 100, 3000, false);
		write_some((300u << 10), 8192, false);
		compare();
		stop_late();
	}
}

TEST(a_file_is_cut_in_the_middle_of_what_is_on_its_way)
{
	start_window(&usual);
	set_size((300u << 10) + 77);
	set_size(1u << 20);
	compare();
	stop_late();
}

TEST(a_hole_is_punched_into_what_is_on_its_way)
{
	start_window(&usual);
	falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (257u << 10) + 5, 100u << 10);
	compare();
	stop_late();
}

TEST(caches_are_dropped_and_files_closed_with_reads_on_their_way)
{
	start_window(&usual);
	pc_drop_caches(pc);
	compare();
	stop_late();
	start_window(&usual);
	stop_late();
}

TEST(a_direct_write_meets_reads_on_their_way)
{
	start_window(&usual);
	write_some(260u << 10, 65536, true);
	compare();
	stop_late();
}

TEST(who_comes_to_what_could_not_be_read_ahead_reads_it_again)
{
	start_window(&usual);
	late->error = -EIO;
	compare();
	CHECK_INT(late->error, 0);
	stop_late();
}

TEST(a_cache_that_is_smaller_than_its_windows_reads_what_is_there)
{
	struct readahead ra = {0};

	start_late(&usual, 1u << 20, 4u << 20);
	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint64_t at = 0; at < 4u << 20; at += 32768)
			read_some(&ra, at, 32768);
	}
	stop_late();
}

TEST(random_work_on_a_late_device_gives_the_bytes_that_were_written)
{
	struct readahead ra = {0};

	start_late(&usual, 3u << 20, 5u << 20);
	for (unsigned i = 0; i < 4000; i++) {
		uint64_t pos = dice(5u << 20), len = 1 + dice(100000);

		switch (dice(12)) {
		case 0:
			write_some(pos, len, false);
			break;
		case 1:
			store_some(pos, len);
			break;
		case 2:
			set_size(pos);
			break;
		case 3:
			falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pos, len);
			break;
		case 4:
			write_some(pos, len, dice(4) == 0);
			break;
		case 5:
			if (dice(8) == 0)
				pc_drop_caches(pc);
			break;
		default:
			pos = dice(4) != 0 ? ra.prev_pos : pos;
			if (pos < model_size)
				read_some(&ra, pos, MIN(len, model_size - pos));
		}
	}
	compare();
	printf("# at most %u reads in flight\n", late->most);
	stop_late();
}

int main(void)
{
	return tap_main();
}
