/* SPDX-License-Identifier: BSD-2-Clause */
/* Buddies and the allocator against models: chunks counted one by one, and an owner for each block.
 */
#include "fs_image.h"

#include "alloc/buddy.h"
#include "alloc/mballoc.h"
#include "base/bitmap.h"
#include "journal/journal.h"

#define CLUSTERS 1000u

static uint64_t state = 1;

static uint32_t pick(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

/* The largest aligned free chunk at each place, found by looking at every bit. */
static void count_chunks(const uint8_t *map, unsigned max_order, uint32_t *chunks)
{
	memset(chunks, 0, BUDDY_ORDERS * sizeof(*chunks));
	for (uint32_t at = 0; at < CLUSTERS;) {
		unsigned k = 0;

		if (bitmap_test(map, at)) {
			at++;
			continue;
		}
		while (k < max_order && at % (2u << k) == 0 && at + (2u << k) <= CLUSTERS) {
			bool all = true;

			for (uint32_t i = at; i < at + (2u << k); i++)
				all = all && !bitmap_test(map, i);
			if (!all)
				break;
			k++;
		}
		chunks[k]++;
		at += 1u << k;
	}
}

static void compare(const struct buddy *b, const uint8_t *model)
{
	uint32_t chunks[BUDDY_ORDERS], free = 0, runs = 0, first = CLUSTERS;
	int largest = -1;

	count_chunks(model, b->max_order, chunks);
	for (uint32_t i = 0; i < CLUSTERS; i++) {
		bool is_free = !bitmap_test(model, i);

		CHECK_INT(bitmap_test(b->map, i), !is_free);
		free += is_free;
		runs += is_free && (i == 0 || bitmap_test(model, i - 1));
		first = is_free && first == CLUSTERS ? i : first;
	}
	for (unsigned k = 0; k < BUDDY_ORDERS; k++) {
		CHECK_INT(b->chunks[k], chunks[k]);
		largest = chunks[k] != 0 ? (int)k : largest;
	}
	CHECK_INT(b->free, free);
	CHECK_INT(b->fragments, runs);
	CHECK_INT(b->largest, largest);
	CHECK(b->first_free <= first);
}

TEST(chunk_counts_follow_every_change)
{
	static uint8_t map[1024], model[1024];
	struct buddy b;

	memset(map + CLUSTERS / 8, 0xff, sizeof(map) - CLUSTERS / 8);
	memcpy(model, map, sizeof(map));
	buddy_init(&b, map, CLUSTERS, 10);
	compare(&b, model);
	for (unsigned n = 0; n < 3000; n++) {
		uint32_t start = pick(CLUSTERS), len = 1 + pick(n % 3 == 0 ? 200 : 9), got = 0;
		bool used = bitmap_test(model, start);

		while (got < len && start + got < CLUSTERS &&
		       bitmap_test(model, start + got) == used)
			got++;
		for (uint32_t i = start; i < start + got; i++)
			used ? bitmap_clear(model, i) : bitmap_set(model, i);
		if (used)
			buddy_mark_free(&b, start, got);
		else
			buddy_mark_used(&b, start, got);
		if (n % 7 == 0)
			compare(&b, model);
	}
	compare(&b, model);
}

/* ---- the allocator ---- */

#define RUNS 400u

static struct run {
	uint64_t start;
	uint32_t len;
} runs[RUNS];

static uint8_t *owned; /* a byte for each block that the test holds */
static struct dev *dev;
static struct ek_image *img;
static struct task task;

static uint32_t cluster; /* of the image, in blocks; 0: without */

static void open_image(void)
{
	struct shape s = {
	    .size = cluster != 0 ? 80 << 20 : 24 << 20, .block_size = 1024, .cluster = cluster};
	struct diag d = {0};

	fs_make(&s, &dev);
	CHECK_INT(fs_open(dev, IMAGE_WRITE, &d, &img), 0);
	task_init(&task, img);
	owned = calloc(img->geom.blocks, 1);
	CHECK(owned != NULL);
	memset(runs, 0, sizeof(runs));
}

static uint64_t free_bits(void)
{
	uint64_t n = 0;

	for (uint32_t g = 0; g < img->geom.groups; g++) {
		struct buf *b;

		CHECK_INT(groups_block_bitmap(&img->groups, g, &b), 0);
		for (uint32_t i = 0; i < geom_group_blocks(&img->geom, g) >> img->geom.cluster_bits;
		     i++)
			n += !bitmap_test(b->data, i);
		buf_put(b);
	}
	return n;
}

static uint64_t free_counted(void)
{
	uint64_t n = 0;

	for (uint32_t g = 0; g < img->geom.groups; g++)
		n += img->groups.desc[g].free_clusters;
	return n;
}

/* The blocks of all clusters that a run touches. */
static void whole_clusters(uint64_t start, uint32_t len, uint64_t *from, uint64_t *to)
{
	const struct geom *g = &img->geom;

	*from = start - geom_in_cluster(g, start);
	*to = *from + ((uint64_t)geom_clusters(g, start, len) << g->cluster_bits);
}

static void take(struct run *r)
{
	struct mb_request req = {.len = 1 + pick(pick(4) == 0 ? 700 : 12),
				 .goal = {1 + pick((uint32_t)img->geom.blocks - 1)},
				 .lblk = {cluster != 0 ? pick(1000) : 0},
				 .flags = pick(2) != 0 ? MB_DATA | MB_NOPREALLOC : 0};
	struct handle *h;
	uint32_t len;
	uint64_t from, to;
	ek_pblk at;
	int rc;

	CHECK_INT(task_start(&task, HANDLE_MISC, 20, &h), 0);
	rc = mb_new_blocks(img->mb, h, &req, &at, &len);
	CHECK_INT(handle_stop(h), 0);
	if (rc == -ENOSPC) {
		diag_clear(&img->diag);
		return;
	}
	CHECK_INT(rc, 0);
	CHECK(len >= 1 && len <= req.len);
	CHECK_INT(geom_in_cluster(&img->geom, at.v), geom_in_cluster(&img->geom, req.lblk.v));
	whole_clusters(at.v, len, &from, &to);
	for (uint64_t i = from; i < to; i++) {
		if (owned[i] != 0)
			TAP_FAIL("block %llu was given twice", (unsigned long long)i);
		CHECK(geom_data_ok(&img->geom, i, 1, 0));
		owned[i] = 1;
	}
	*r = (struct run){at.v, len};
}

static void give(struct run *r)
{
	struct handle *h;
	uint64_t from, to;

	CHECK_INT(task_start(&task, HANDLE_MISC, 20, &h), 0);
	CHECK_INT(mb_free_blocks(img->mb, h, (ek_pblk){r->start}, r->len, false), 0);
	CHECK_INT(handle_stop(h), 0);
	whole_clusters(r->start, r->len, &from, &to);
	for (uint64_t i = from; i < to; i++)
		owned[i] = 0;
	r->len = 0;
}

static void take_and_give(void)
{
	uint64_t free_at_start, held = 0;

	open_image();
	free_at_start = img->groups.space.free;
	CHECK_INT(free_bits(), free_at_start);
	for (unsigned n = 0; n < 6000; n++) {
		struct run *r = &runs[pick(RUNS)];

		if (r->len == 0)
			take(r);
		else
			give(r);
		if (n % 50 == 0)
			CHECK_INT(image_sync(&task), 0);
		if (n % 200 == 0) {
			CHECK_INT(free_bits(), img->groups.space.free);
			CHECK_INT(free_counted(), img->groups.space.free);
		}
	}
	for (unsigned i = 0; i < RUNS; i++)
		held +=
		    runs[i].len != 0 ? geom_clusters(&img->geom, runs[i].start, runs[i].len) : 0;
	CHECK_INT(img->groups.space.free, free_at_start - held);
	for (unsigned i = 0; i < RUNS; i++) {
		if (runs[i].len != 0)
			give(&runs[i]);
	}
	CHECK_INT(image_sync(&task), 0);
	CHECK_INT(img->groups.space.free, free_at_start);
	CHECK_INT(image_close(img), 0);
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	dev_close(dev);
	free(owned);
}

TEST(no_block_is_given_twice_and_no_count_is_lost)
{
	take_and_give();
}

TEST(no_cluster_is_given_twice_and_runs_lie_in_theirs_as_asked)
{
	static const uint32_t sizes[] = {2, 4, 16};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		cluster = sizes[i];
		take_and_give();
	}
	cluster = 0;
}

TEST(a_cluster_that_the_end_cuts_is_given_to_nobody)
{
	struct mb_request req = {.len = 4, .flags = MB_DATA | MB_NOPREALLOC};
	uint64_t last;
	struct handle *h;
	uint32_t len;
	ek_pblk at;

	cluster = 4;
	open_image();
	last = img->geom.blocks - 4;
	img->geom.blocks--;
	req.goal.v = last;
	req.flags |= MB_TRY_GOAL;
	CHECK_INT(task_start(&task, HANDLE_MISC, 20, &h), 0);
	CHECK_INT(mb_new_blocks(img->mb, h, &req, &at, &len), 0);
	CHECK(at.v < last);
	req.goal.v = last - 4;
	CHECK_INT(mb_new_blocks(img->mb, h, &req, &at, &len), 0);
	CHECK_INT(at.v, last - 4);
	CHECK_INT(handle_stop(h), 0);
	img->geom.blocks++;
	image_close(img);
	dev_close(dev);
	free(owned);
	cluster = 0;
}

TEST(blocks_freed_are_not_given_again_before_the_commit)
{
	struct mb_request req = {.len = 64, .goal = {3000}, .flags = MB_DATA | MB_NOPREALLOC};
	struct handle *h;
	uint32_t len, again;
	ek_pblk at, next;

	open_image();
	CHECK_INT(task_start(&task, HANDLE_MISC, 40, &h), 0);
	CHECK_INT(mb_new_blocks(img->mb, h, &req, &at, &len), 0);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(image_sync(&task), 0);
	CHECK_INT(task_start(&task, HANDLE_MISC, 40, &h), 0);
	CHECK_INT(mb_free_blocks(img->mb, h, at, len, false), 0);
	req.goal = at;
	CHECK_INT(mb_new_blocks(img->mb, h, &req, &next, &again), 0);
	CHECK(next.v + again <= at.v || next.v >= at.v + len);
	CHECK_INT(mb_free_blocks(img->mb, h, next, again, false), 0);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(image_sync(&task), 0);
	CHECK_INT(task_start(&task, HANDLE_MISC, 40, &h), 0);
	CHECK_INT(mb_new_blocks(img->mb, h, &req, &next, &again), 0);
	CHECK_INT(next.v, at.v);
	CHECK_INT(mb_free_blocks(img->mb, h, next, again, false), 0);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(image_close(img), 0);
	dev_close(dev);
	free(owned);
}

TEST(blocks_freed_twice_are_damage)
{
	struct mb_request req = {.len = 4, .goal = {3000}, .flags = MB_DATA | MB_NOPREALLOC};
	struct handle *h;
	uint32_t len;
	ek_pblk at;

	open_image();
	CHECK_INT(task_start(&task, HANDLE_MISC, 40, &h), 0);
	CHECK_INT(mb_new_blocks(img->mb, h, &req, &at, &len), 0);
	CHECK_INT(mb_free_blocks(img->mb, h, at, len, false), 0);
	CHECK_INT(mb_free_blocks(img->mb, h, at, len, false), -EUCLEAN);
	CHECK(strstr(img->diag.text, "free") != NULL);
	CHECK_INT(handle_stop(h), 0);
	image_close(img);
	dev_close(dev);
	free(owned);
}

/* ---- inodes ---- */

TEST(inodes_are_given_once_and_freed_once)
{
	static uint32_t mine[2000];
	struct handle *h;
	uint64_t free_inodes;
	unsigned n = 0;
	ek_inum ino;
	bool used;
	int rc;

	open_image();
	free_inodes = img->groups.free_inodes;
	for (;; n++) {
		struct ialloc_request req = {
		    .parent = {INUM_ROOT},
		    .parent_is_top = true,
		    .mode = (uint16_t)(n % 5 == 0 ? S_IFDIR | 0755 : S_IFREG | 0644),
		    .name_hash = n * 77777};

		CHECK_INT(task_start(&task, HANDLE_MISC, 20, &h), 0);
		rc = ialloc_new(&img->ialloc, h, &req, &ino);
		CHECK_INT(handle_stop(h), 0);
		if (rc < 0)
			break;
		CHECK(n < ARRAY_SIZE(mine));
		CHECK(ino.v >= img->geom.first_ino && ino.v <= img->geom.inodes);
		for (unsigned i = 0; i < n; i++)
			CHECK(mine[i] != ino.v);
		mine[n] = ino.v;
	}
	CHECK_INT(rc, -ENOSPC);
	CHECK_INT(n, free_inodes);
	CHECK_INT(img->groups.free_inodes, 0);
	for (unsigned i = 0; i < n; i++) {
		CHECK_INT(ialloc_in_use(&img->ialloc, (ek_inum){mine[i]}, &used), 0);
		CHECK(used);
		CHECK_INT(task_start(&task, HANDLE_MISC, 20, &h), 0);
		CHECK_INT(ialloc_free(&img->ialloc, h, (ek_inum){mine[i]}, i % 5 == 0), 0);
		CHECK_INT(handle_stop(h), 0);
	}
	CHECK_INT(img->groups.free_inodes, free_inodes);
	CHECK_INT(task_start(&task, HANDLE_MISC, 20, &h), 0);
	CHECK_INT(ialloc_free(&img->ialloc, h, (ek_inum){mine[0]}, true), -EUCLEAN);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(image_close(img), 0);
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	dev_close(dev);
	free(owned);
}

int main(void)
{
	return tap_main();
}
