/* SPDX-License-Identifier: BSD-2-Clause */
/* Free, allocated, preallocated and reserved blocks are conserved by every step (delalloc-facts
 * 13.4, 7): what each of the four parties believes is compared after each operation. */
#include "cached_file.h"

#include "alloc/mb.h"

static uint64_t base; /* clusters used by others than the file */

static uint32_t clusters_of(uint32_t group)
{
	return (uint32_t)(geom_group_blocks(&img->geom, group) >> img->geom.cluster_bits);
}

/* Clear bits of a group's bitmap. */
static uint64_t free_in(uint32_t group)
{
	struct buf *map;
	uint64_t n = 0;

	CHECK_INT(groups_block_bitmap(&img->groups, group, &map), 0);
	for (uint32_t i = 0; i < clusters_of(group); i++)
		n += !bitmap_test(map->data, i);
	buf_put(map);
	return n;
}

static uint64_t free_in_bitmaps(void)
{
	uint64_t n = 0;

	for (uint32_t g = 0; g < img->geom.groups; g++)
		n += free_in(g);
	return n;
}

/* Clusters that the bitmap gives as free but the allocator keeps: preallocated, or freed by a
 * transaction that has not committed. */
static uint64_t kept_back(void)
{
	uint64_t n = 0;

	for (uint32_t g = 0; g < img->geom.groups; g++) {
		const struct buddy *b = &img->mb->buddies[g];

		n += b->map != NULL ? free_in(g) - b->free : 0;
	}
	return n;
}

static uint64_t preallocated(void)
{
	uint64_t n = 0;

	list_for_each (at, &img->mb->all)
		n += list_entry(at, struct prealloc, all)->free;
	CHECK_INT(n, img->mb->prealloc_free);
	return n;
}

static uint64_t freed_not_committed(void)
{
	uint64_t n = 0;

	list_for_each (at, &img->mb->pending) {
		const struct pending *p = list_entry(at, struct pending, link);

		for (size_t i = 0; i < p->count; i++)
			n += p->runs[i].len;
	}
	return n;
}

/* Delayed blocks of the file, or the clusters of them that hold nothing else. */
static uint64_t delayed(void)
{
	struct es_extent e = {.len = 0};
	uint64_t n = 0;

	for (uint64_t at = 0; es_find(&file->es, ES_DELAYED, (ek_lblk){(uint32_t)at}, &e);
	     at = e.lblk.v + e.len)
		n += e.len;
	return n;
}

static uint64_t owned(void)
{
	return (file->rec.blocks << 9) >> img->geom.block_bits >> img->geom.cluster_bits;
}

static uint64_t all_clusters(void)
{
	uint64_t n = 0;

	for (uint32_t g = 0; g < img->geom.groups; g++)
		n += clusters_of(g);
	return n;
}

static void check_conserved(void)
{
	const struct space *s = &img->groups.space;

	CHECK_INT(free_in_bitmaps(), s->free);
	CHECK_INT(kept_back(), preallocated() + freed_not_committed());
	CHECK_INT(s->dirty, file->reserved);
	if (img->geom.cluster_bits == 0)
		CHECK_INT(file->reserved, delayed());
	else
		CHECK(file->reserved <= delayed());
	CHECK_INT(s->free + owned() + base, all_clusters());
	CHECK(s->free >= s->dirty);
}

/* A write that may find no room: what was written counts. */
static void try_write(uint64_t pos, uint64_t len)
{
	struct pc_source src = {payload, 0};
	int64_t n = pc_write(&task, file, pos, len, &src, 0);

	CHECK(n >= 0 || n == -ENOSPC);
	diag_clear(&img->diag);
}

static void try_falloc(int mode, uint64_t pos, uint64_t len)
{
	int rc = inode_fallocate(&task, file, mode, pos, len);

	CHECK(rc == 0 || rc == -ENOSPC);
	diag_clear(&img->diag);
}

static void step(void)
{
	uint64_t pos = dice(5u << 20), len = 1 + dice(dice(3) == 0 ? 900000 : 20000);

	switch (dice(14)) {
	case 0:
		OK(inode_set_size(&task, file, pos));
		break;
	case 1:
		try_falloc(0, pos, len);
		break;
	case 2:
		try_falloc(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pos, len);
		break;
	case 3:
		OK(pc_fsync(&task, file, dice(2) == 0));
		break;
	case 4:
		OK(pc_sync_range(&task, file, pos, len, 2));
		break;
	case 5:
		img->now.sec += (int64_t)dice(40);
		OK(pc_tick(&task));
		break;
	case 6:
		if (dice(8) == 0)
			OK(pc_sync(&task));
		break;
	default:
		try_write(pos, len);
	}
}

static void work(uint32_t block_size, const struct image_opts *opts)
{
	struct pc_config cfg = {.memory = 16u << 20};

	start(block_size, opts, &cfg);
	base = all_clusters() - img->groups.space.free - owned();
	for (unsigned i = 0; i < 1500; i++) {
		step();
		check_conserved();
	}
	OK(pc_sync(&task));
	check_conserved();
	CHECK_INT(img->groups.space.dirty, 0);
	CHECK_INT(file->reserved, 0);
	CHECK_INT(freed_not_committed(), 0);
	stop();
}

TEST(every_step_conserves_blocks)
{
	work(4096, &usual);
	work(1024, &usual);
}

TEST(every_step_conserves_blocks_of_a_full_filesystem)
{
	image_size = 9u << 20;
	work(1024, &usual);
	image_size = 0;
}

TEST(every_step_conserves_clusters)
{
	cluster = 16;
	work(4096, &usual);
	cluster = 0;
}

TEST(every_step_of_every_policy_of_folios_and_budgets_conserves_blocks)
{
	static const char *const sets[] = {
	    "folio=s0", "folio=s2", "folio=s3", "budget=r0", "allocation=nodelalloc", "inode=lazy"};

	for (unsigned i = 0; i < ARRAY_SIZE(sets); i++) {
		struct image_opts opts = usual;
		struct policy policy;

		CHECK_INT(policy_choose(NULL, &sets[i], 1, &diag, &policy), 0);
		opts.policy = &policy;
		work(4096, &opts);
	}
}

int main(void)
{
	return tap_main();
}
