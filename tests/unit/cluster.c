/* SPDX-License-Identifier: BSD-2-Clause */
/* Files in clusters: reserved once, owned as long as one block is mapped, freed with the last one.
 * What is counted is held against the two trees, block by block. */
#include "cached_file.h"

#include "fs/blocks.h"
#include "fs/cluster.h"
#include "fs/extent.h"
#include "fs/map.h"

#define BLOCK 1024u
#define LOOK  (FILE_BYTES / BLOCK) /* blocks that the file may have */

static const struct pc_config cache = {.memory = 16u << 20};

static void begin(uint32_t block_size, uint32_t blocks)
{
	cluster = blocks;
	start(block_size, &usual, &cache);
	cluster = 0;
}

/* ---- what the trees say ---- */

struct truth {
	uint64_t mapped, reserved; /* clusters */
};

static bool is_mapped[LOOK], is_delayed[LOOK];

static void look(struct truth *ret)
{
	uint32_t per = 1u << img->geom.cluster_bits;
	struct es_extent e;
	struct map m;

	memset(is_mapped, 0, sizeof(is_mapped));
	memset(is_delayed, 0, sizeof(is_delayed));
	for (ek_lblk at = {0}; map_next(&task, file, at, &m) == 1; at.v = m.lblk.v + m.len) {
		CHECK_INT((m.lblk.v ^ (uint32_t)m.pblk.v) & (per - 1), 0);
		for (uint32_t i = 0; i < m.len; i++)
			is_mapped[m.lblk.v + i] = true;
	}
	for (ek_lblk at = {0}; es_next(&file->es, at, &e) && e.lblk.v < LOOK;
	     at.v = e.lblk.v + e.len) {
		for (uint32_t i = 0; i < e.len && e.type == ES_DELAYED; i++)
			is_delayed[e.lblk.v + i] = true;
	}
	*ret = (struct truth){0, 0};
	for (uint32_t at = 0; at < LOOK; at += per) {
		bool mapped = false, delayed = false;

		for (uint32_t i = at; i < MIN(at + per, LOOK); i++) {
			mapped |= is_mapped[i];
			delayed |= is_delayed[i];
		}
		ret->mapped += mapped;
		ret->reserved += delayed && !mapped;
	}
}

/* Clusters of the extent tree itself: the file's i_blocks have them too. */
static uint64_t tree_clusters(void)
{
	const struct geom *g = &img->geom;
	uint64_t all = inode_sectors(file) << 9 >> g->block_bits >> g->cluster_bits;
	struct truth t;

	look(&t);
	CHECK(all >= t.mapped);
	return all - t.mapped;
}

static void check_counts(void)
{
	struct truth t;

	look(&t);
	CHECK_INT(file->reserved, t.reserved);
	CHECK_INT(img->groups.space.dirty, t.reserved);
	CHECK_INT(
	    inode_sectors(file) % (2u << img->geom.cluster_bits << (img->geom.block_bits - 10)), 0);
	if (extent_depth(ext_root(file)) == 0)
		CHECK_INT(tree_clusters(), 0);
}

static uint64_t mapped(void)
{
	struct truth t;

	look(&t);
	return t.mapped;
}

static void write_blocks(uint32_t at, uint32_t n)
{
	write_some((uint64_t)at * BLOCK, (uint64_t)n * BLOCK, false);
	check_counts();
}

static void sync_file(void)
{
	OK(pc_fsync(&task, file, false));
	check_counts();
	CHECK_INT(file->reserved, 0);
}

static void punch_blocks(uint32_t at, uint32_t n)
{
	falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (uint64_t)at * BLOCK,
		    (uint64_t)n * BLOCK);
	check_counts();
}

/* ---- reservations ---- */

TEST(a_cluster_is_reserved_once)
{
	static const struct {
		uint32_t at, n, reserved;
	} rows[] = {{1, 1, 1}, {3, 1, 1},  {0, 1, 1},  {2, 1, 1},  {5, 2, 2},   {4, 4, 2},
		    {7, 3, 3}, {0, 10, 3}, {15, 1, 4}, {10, 6, 4}, {16, 16, 8}, {30, 8, 10}};

	begin(BLOCK, 4);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		write_blocks(rows[i].at, rows[i].n);
		CHECK_INT(file->reserved, rows[i].reserved);
	}
	CHECK_INT(img->counters.v[COUNTER_RESERVE_BLOCKS], 10);
	CHECK_INT(img->counters.v[COUNTER_DA_RESERVE_SPACE], 10);
	sync_file();
	CHECK_INT(mapped(), 10);
	CHECK_INT(img->counters.v[COUNTER_CLAIM_BLOCKS], 10);
	CHECK_INT(inode_sectors(file), 10 * 8);
	compare();
	stop();
}

TEST(nothing_is_reserved_for_blocks_of_a_cluster_that_has_a_place)
{
	begin(BLOCK, 16);
	write_blocks(5, 2);
	sync_file();
	CHECK_INT(mapped(), 1);
	write_blocks(0, 2);
	write_blocks(9, 7);
	CHECK_INT(file->reserved, 0);
	write_blocks(15, 2);
	CHECK_INT(file->reserved, 1);
	sync_file();
	CHECK_INT(mapped(), 2);
	compare();
	stop();
}

TEST(delayed_blocks_beside_an_allocated_one_give_their_reservation_up)
{
	begin(BLOCK, 4);
	write_blocks(0, 1);
	write_blocks(6, 4);
	CHECK_INT(file->reserved, 3);
	falloc_some(FALLOC_FL_KEEP_SIZE, 2 * BLOCK,
		    3 * BLOCK); /* the other ends of both clusters */
	check_counts();
	CHECK_INT(file->reserved, 1);
	CHECK_INT(inode_sectors(file), 2 * 8);
	sync_file();
	CHECK_INT(inode_sectors(file), 3 * 8);
	compare();
	stop();
}

TEST(a_cluster_that_is_freed_under_delayed_blocks_is_reserved_again)
{
	begin(BLOCK, 4);
	write_blocks(0, 2);
	write_blocks(6, 2);
	sync_file();
	write_blocks(3, 2);
	CHECK_INT(file->reserved, 0);
	punch_blocks(0, 2);
	CHECK_INT(file->reserved, 1);
	punch_blocks(5, 3);
	CHECK_INT(file->reserved, 2);
	CHECK_INT(inode_sectors(file), 0);
	sync_file();
	CHECK_INT(mapped(), 2);
	compare();
	stop();
}

TEST(delayed_blocks_that_go_release_what_only_they_reserved)
{
	begin(BLOCK, 4);
	write_blocks(0, 12);
	punch_blocks(1, 2);
	CHECK_INT(file->reserved, 3);
	punch_blocks(0, 4);
	CHECK_INT(file->reserved, 2);
	punch_blocks(5, 6);
	CHECK_INT(file->reserved, 2);
	set_size(5 * BLOCK);
	check_counts();
	CHECK_INT(file->reserved, 1);
	set_size(4 * BLOCK);
	check_counts();
	CHECK_INT(file->reserved, 0);
	stop();
}

TEST(a_removed_file_leaves_nothing_reserved)
{
	struct ek_inode *root;

	begin(BLOCK, 16);
	write_blocks(3, 40);
	sync_file();
	write_blocks(50, 33);
	CHECK(img->groups.space.dirty != 0);
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
	OK(fs_unlink(&task, root, "file", 4));
	inode_put(&task, root);
	OK(pc_closed(&task, file, true));
	inode_put(&task, file);
	CHECK_INT(img->groups.space.dirty, 0);
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &file));
	stop();
}

/* ---- partial clusters ---- */

static void one_hole(uint32_t from, uint32_t to, bool more)
{
	uint64_t before;
	uint32_t gone = 0;

	write_blocks(0, 16);
	if (more)
		punch_blocks(6, 1); /* two extents in a cluster */
	sync_file();
	before = img->groups.space.free + tree_clusters();
	punch_blocks(from, to - from);
	for (uint32_t c = 0; c < 16; c += 4) {
		bool left = false;

		for (uint32_t i = c; i < c + 4; i++)
			left |= (i < from || i >= to) && !(more && i == 6);
		gone += !left;
	}
	CHECK_INT((int64_t)(img->groups.space.free + tree_clusters() - before), (int64_t)gone);
	CHECK_INT(mapped(), 4 - gone);
	compare();
}

TEST(a_hole_frees_the_clusters_of_which_nothing_is_left)
{
	begin(BLOCK, 4);
	for (uint32_t from = 0; from < 16; from++) {
		for (uint32_t to = from + 1; to <= 16; to++) {
			one_hole(from, to, false);
			one_hole(from, to, true);
		}
	}
	stop();
}

TEST(a_cut_frees_the_clusters_behind_the_last_block)
{
	begin(BLOCK, 4);
	for (uint32_t size = 0; size <= 16; size++) {
		write_blocks(0, 16);
		sync_file();
		set_size((uint64_t)size * BLOCK);
		check_counts();
		CHECK_INT(mapped(), (size + 3) / 4);
		compare();
		set_size(16 * BLOCK);
		compare();
		set_size(0);
	}
	stop();
}

TEST(holes_in_a_cluster_are_filled_in_any_order)
{
	static const uint32_t order[] = {2, 0, 3, 1, 6, 5, 7, 4};

	begin(BLOCK, 4);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		uint64_t free = img->groups.space.free;

		if (i % 2 == 0)
			falloc_some(0, (uint64_t)order[i] * BLOCK, BLOCK);
		else
			write_some((uint64_t)order[i] * BLOCK, BLOCK, true);
		check_counts();
		CHECK_INT((int64_t)(free - img->groups.space.free), i % 4 == 0 ? 1 : 0);
	}
	sync_file();
	compare();
	stop();
}

/* An extent tree of several leaves: neighbours of a block may lie in another one. */
TEST(neighbours_in_other_leaves_are_found)
{
	begin(BLOCK, 4);
	for (uint32_t at = 0; at < 2000; at += 4)
		falloc_some(0, (uint64_t)(at + 1) * BLOCK, BLOCK);
	check_counts();
	CHECK(extent_depth(ext_root(file)) != 0);
	CHECK_INT(mapped(), 500);
	for (uint32_t at = 0; at < 2000; at += 4) {
		falloc_some(0, (uint64_t)(at + 3) * BLOCK, BLOCK);
		falloc_some(0, (uint64_t)at * BLOCK, BLOCK);
	}
	CHECK_INT(mapped(), 500);
	CHECK(tree_clusters() >= 3);
	for (uint32_t at = 0; at < 2000; at += 4)
		punch_blocks(at + (at / 4 % 4), 1);
	CHECK_INT(mapped(), 500);
	punch_blocks(0, 1997);
	CHECK_INT(mapped(), 1);
	compare();
	stop();
}

/* ---- at random ---- */

static void random_op(void)
{
	uint64_t size = 1u << img->geom.cluster_bits << img->geom.block_bits;
	uint64_t pos = dice(200 * BLOCK), len = 1 + dice(dice(3) == 0 ? 60 * BLOCK : 3 * BLOCK);
	uint32_t bs = img->geom.block_size;

	switch (dice(9)) {
	case 0:
	case 1:
	case 2:
		write_some(pos, len, false);
		break;
	case 3:
		write_some(pos / bs * bs, ROUND_UP(len, bs), true);
		break;
	case 4:
		falloc_some(dice(2) != 0 ? 0 : FALLOC_FL_KEEP_SIZE, pos, len);
		break;
	case 5:
		falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pos, len);
		break;
	case 6:
		falloc_some(FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, pos, len);
		break;
	case 7:
		set_size(pos);
		break;
	default:
		pos = pos / size * size;
		if (pos + size < model_size && dice(2) != 0) {
			OK(inode_fallocate(&task, file, FALLOC_FL_COLLAPSE_RANGE, pos, size));
			memmove(model + pos, model + pos + size, model_size - pos - size);
			memset(model + model_size - size, 0, size);
			model_size -= size;
		} else if (pos < model_size && model_size + size < FILE_BYTES / 2) {
			OK(inode_fallocate(&task, file, FALLOC_FL_INSERT_RANGE, pos, size));
			memmove(model + pos + size, model + pos, model_size - pos);
			memset(model + pos, 0, size);
			model_size += size;
		} else {
			OK(pc_fsync(&task, file, false));
		}
	}
}

static void random_file(uint32_t block_size, uint32_t blocks, uint64_t seed)
{
	begin(block_size, blocks);
	state = seed;
	for (unsigned i = 0; i < 1500; i++) {
		random_op();
		check_counts();
		if (i % 50 == 0)
			compare();
	}
	sync_file();
	compare();
	set_size(0);
	CHECK_INT(inode_sectors(file), 0);
	stop();
}

TEST(reservations_and_places_follow_the_trees_whatever_is_done)
{
	random_file(1024, 2, 1);
	random_file(1024, 4, 2);
	random_file(1024, 16, 3);
	random_file(1024, 64, 4);
	random_file(4096, 2, 5);
	random_file(4096, 16, 6);
}

/* ---- damage ---- */

TEST(ranges_of_blocks_are_neither_collapsed_nor_inserted)
{
	begin(BLOCK, 4);
	write_blocks(0, 40);
	CHECK_INT(inode_fallocate(&task, file, FALLOC_FL_COLLAPSE_RANGE, 4 * BLOCK, 2 * BLOCK),
		  -EINVAL);
	CHECK_INT(inode_fallocate(&task, file, FALLOC_FL_INSERT_RANGE, 2 * BLOCK, 4 * BLOCK),
		  -EINVAL);
	OK(inode_fallocate(&task, file, FALLOC_FL_COLLAPSE_RANGE, 4 * BLOCK, 4 * BLOCK));
	check_counts();
	CHECK_INT(mapped(), 9);
	stop();
}

/* The file's one extent begins a block later in its cluster on disk than in the file. */
TEST(an_extent_that_is_shifted_in_its_cluster_is_damage)
{
	struct extent_node *root;
	struct extent e;

	begin(BLOCK, 4);
	write_blocks(0, 2);
	sync_file();
	root = ext_root(file);
	e = extent_decode(&root->e.leaf[0]);
	e.pblk.v++;
	extent_encode(&e, &root->e.leaf[0]);
	OK(es_remove(&file->es, (ek_lblk){0}, LOOK, NULL));
	CHECK_INT(inode_fallocate(&task, file, 0, 3 * BLOCK, BLOCK), -EUCLEAN);
	CHECK(strstr(img->diag.text, "elsewhere in its cluster") != NULL);
	diag_clear(&img->diag);
	CHECK_INT(
	    inode_fallocate(&task, file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, BLOCK),
	    -EUCLEAN);
	inode_put(&task, file);
	pc_close(pc);
	image_close(img);
	dev_close(dev);
	free(model);
	free(back);
	free(payload);
}

int main(void)
{
	return tap_main();
}
