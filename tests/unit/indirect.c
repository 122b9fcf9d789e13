/* SPDX-License-Identifier: BSD-2-Clause */
/* Files mapped by block pointers, at every border of their levels: against a model that knows which
 * blocks are mapped, with e2fsck as the judge of what is on disk. */
#include "fs_image.h"

#include <fcntl.h>
#include <linux/falloc.h>

#include "fs/indirect.h"
#include "fs/map.h"
#include "fs/namei.h"

#define PER   256u /* pointers in a block of 1 KiB */
#define FIRST 12u
#define TWO   (FIRST + PER)
#define THREE (TWO + PER * PER)
#define LAST  (THREE + PER * PER * PER - 1)

static struct diag diag;
static struct dev *dev;
static struct ek_image *img;
static struct task task;
static struct ek_inode *file;

#define OK(call)                                                          \
	do {                                                              \
		int ok_rc = (call);                                       \
		if (ok_rc < 0)                                            \
			TAP_FAIL("%s: %d: %s%s", #call, ok_rc, diag.text, \
				 img != NULL ? img->diag.text : "");      \
	} while (0)

static const struct shape shape = {.size = 32 << 20, .block_size = 1024};
static const struct shape no_journal = {
    .size = 32 << 20, .block_size = 1024, .compat_off = COMPAT_HAS_JOURNAL};

/* An image with one file that is mapped by pointers, as older drivers left them. */
static void begin(const struct shape *s)
{
	struct ek_inode *root;

	img = NULL;
	diag_clear(&diag);
	fs_make(s, &dev);
	OK(fs_open(dev, IMAGE_WRITE, &diag, &img));
	task_init(&task, img);
	OK(inode_get(img, (ek_inum){2}, &root));
	OK(fs_create(&task, root, "f", 1, 0644, &file));
	inode_put(&task, root);
	file->rec.flags &= ~INODE_EXTENTS;
	memset(file->rec.block, 0, sizeof(file->rec.block));
	OK(inode_mark_dirty(&task, file, MARK_SETATTR));
}

static void end(void)
{
	inode_put(&task, file);
	OK(image_close(img));
	img = NULL;
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	dev_close(dev);
}

/* Maps [lblk, lblk + len) and makes the file as long; what each call gave is checked by a lookup.
 */
static void fill(uint32_t lblk, uint32_t len)
{
	while (len != 0) {
		struct map m = {.lblk = {lblk}, .len = len}, seen = {.lblk = {lblk}, .len = len};
		struct handle *h;

		OK(task_start_inode(&task, file, HANDLE_MAP_BLOCKS, map_credits(file, len, 1), 0,
				    &h));
		OK(map_blocks(&task, file, &m, MAP_CREATE | MAP_NO_NORMALIZE));
		if (((uint64_t)m.lblk.v + m.len) << 10 > file->size) {
			file->size = ((uint64_t)m.lblk.v + m.len) << 10;
			file->rec.size = file->size;
		}
		OK(inode_mark_dirty(&task, file, MARK_FALLOCATE));
		OK(handle_stop(h));
		OK(ind_lookup(file, &seen));
		CHECK_INT(seen.state, MAP_MAPPED);
		CHECK_INT((int64_t)seen.pblk.v, (int64_t)m.pblk.v);
		CHECK(seen.len >= m.len && m.len != 0);
		lblk += m.len;
		len -= m.len;
	}
}

static bool mapped(uint32_t lblk)
{
	struct map m = {.lblk = {lblk}, .len = 1};

	OK(ind_lookup(file, &m));
	return m.state == MAP_MAPPED;
}

static uint64_t blocks(void)
{
	return inode_sectors(file) >> 1;
}

static void punch(uint32_t from, uint32_t len)
{
	OK(inode_fallocate(&task, file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			   (uint64_t)from << 10, (uint64_t)len << 10));
}

TEST(the_first_and_the_last_block_of_each_level_are_mapped)
{
	static const struct {
		uint32_t lblk, cost; /* with the pointer blocks that come with it */
	} row[] = {{0, 1},
		   {11, 1},
		   {FIRST, 2},
		   {TWO - 1, 1},
		   {TWO, 3},
		   {TWO + PER - 1, 1},
		   {TWO + PER, 2},
		   {THREE - 1, 2},
		   {THREE, 4},
		   {THREE + PER, 2},
		   {THREE + PER * PER, 3},
		   {LAST, 3}};
	uint64_t sum = 0;

	begin(&shape);
	for (unsigned i = 0; i < ARRAY_SIZE(row); i++) {
		CHECK(!mapped(row[i].lblk));
		fill(row[i].lblk, 1);
		sum += row[i].cost;
		CHECK_INT((int64_t)blocks(), (int64_t)sum);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(row); i++)
		CHECK(mapped(row[i].lblk));
	end();
}

TEST(a_run_ends_with_its_pointer_block)
{
	struct map m = {.lblk = {0}, .len = 1000};
	struct handle *h;

	begin(&shape);
	OK(task_start_inode(&task, file, HANDLE_MAP_BLOCKS, map_credits(file, 1000, 1), 0, &h));
	OK(map_blocks(&task, file, &m, MAP_CREATE | MAP_NO_NORMALIZE));
	CHECK_INT(m.len, 12);
	m = (struct map){.lblk = {FIRST + 6}, .len = 1000};
	OK(map_blocks(&task, file, &m, MAP_CREATE | MAP_NO_NORMALIZE));
	CHECK_INT(m.len, PER - 6);
	m = (struct map){.lblk = {FIRST}, .len = 1000};
	OK(map_blocks(&task, file, &m, MAP_CREATE | MAP_NO_NORMALIZE));
	CHECK_INT(m.len, 6); /* up to what is mapped */
	file->size = (uint64_t)TWO << 10;
	file->rec.size = file->size;
	OK(inode_mark_dirty(&task, file, MARK_FALLOCATE));
	OK(handle_stop(h));
	end();
}

TEST(holes_are_as_long_as_what_is_missing)
{
	struct map m = {.lblk = {0}, .len = UINT32_MAX};

	begin(&shape);
	OK(ind_lookup(file, &m));
	CHECK_INT(m.len, 12);
	m = (struct map){.lblk = {FIRST + 7}, .len = UINT32_MAX};
	OK(ind_lookup(file, &m));
	CHECK_INT(m.len, PER - 7);
	m = (struct map){.lblk = {TWO + 7}, .len = UINT32_MAX};
	OK(ind_lookup(file, &m));
	CHECK_INT(m.len, PER * PER - 7);
	fill(TWO + 3 * PER + 5, 1);
	m = (struct map){.lblk = {TWO + 7}, .len = UINT32_MAX};
	OK(ind_lookup(file, &m));
	CHECK_INT(m.len, 3 * PER - 7);
	m = (struct map){.lblk = {TWO + 3 * PER}, .len = UINT32_MAX};
	OK(ind_lookup(file, &m));
	CHECK_INT(m.len, 5);
	end();
}

TEST(behind_the_last_pointer_nothing_is_mapped)
{
	struct map m = {.lblk = {LAST + 1}, .len = 1};

	begin(&shape);
	CHECK_INT(ind_lookup(file, &m), -EFBIG);
	CHECK_INT((int64_t)map_size_limit(file), (int64_t)(LAST + 1) << 10);
	CHECK_INT(inode_set_size(&task, file, ((uint64_t)(LAST + 1) << 10) + 1), -EFBIG);
	OK(inode_set_size(&task, file, (uint64_t)(LAST + 1) << 10));
	end();
}

TEST(preallocation_and_shifts_are_refused)
{
	begin(&shape);
	fill(0, 20);
	CHECK_INT(inode_fallocate(&task, file, 0, 0, 4096), -EOPNOTSUPP);
	CHECK_INT(inode_fallocate(&task, file, FALLOC_FL_ZERO_RANGE, 0, 4096), -EOPNOTSUPP);
	CHECK_INT(inode_fallocate(&task, file, FALLOC_FL_COLLAPSE_RANGE, 0, 4096), -EOPNOTSUPP);
	CHECK_INT(inode_fallocate(&task, file, FALLOC_FL_INSERT_RANGE, 0, 4096), -EOPNOTSUPP);
	CHECK_INT((int64_t)blocks(), 21);
	end();
}

/* The first blocks around each border, and at each a size to cut to. */
static const uint32_t border[] = {0,
				  1,
				  11,
				  FIRST,
				  FIRST + 1,
				  TWO - 1,
				  TWO,
				  TWO + 1,
				  TWO + PER - 1,
				  TWO + PER,
				  TWO + 2 * PER,
				  THREE - 1,
				  THREE,
				  THREE + 1,
				  THREE + PER,
				  THREE + PER *PER,
				  THREE + PER *PER + PER + 1,
				  LAST};

static uint64_t pointer_blocks_below(const bool *have)
{
	uint64_t sum = 0, seen[ARRAY_SIZE(border) * 3];
	unsigned n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(border); i++) {
		uint64_t at = border[i], first = FIRST;

		for (unsigned l = 1; have[i] && at >= FIRST && l <= 3; l++) {
			uint64_t span = l == 1 ? PER : l == 2 ? PER * PER : PER * PER * PER;
			uint64_t below = PER;

			if (at >= first + span) {
				first += span;
				continue;
			}
			for (unsigned k = 0; k < l; k++, below *= PER) {
				uint64_t id =
				    (uint64_t)l << 56 | (uint64_t)k << 48 | (at - first) / below;
				bool old = false;

				for (unsigned j = 0; j < n; j++)
					old = old || seen[j] == id;
				if (!old)
					seen[n++] = id;
			}
			break;
		}
	}
	for (unsigned i = 0; i < ARRAY_SIZE(border); i++)
		sum += have[i];
	return sum + n;
}

TEST(a_cut_at_every_border_leaves_what_is_before_it)
{
	for (unsigned cut = 0; cut < ARRAY_SIZE(border); cut++) {
		bool have[ARRAY_SIZE(border)];
		uint64_t free_before;

		begin(&shape);
		free_before = img->groups.space.free;
		for (unsigned i = 0; i < ARRAY_SIZE(border); i++) {
			fill(border[i], 1);
			have[i] = border[i] < border[cut];
		}
		OK(inode_set_size(&task, file, (uint64_t)border[cut] << 10));
		for (unsigned i = 0; i < ARRAY_SIZE(border); i++)
			CHECK_INT(mapped(border[i]), have[i]);
		CHECK_INT((int64_t)blocks(), (int64_t)pointer_blocks_below(have));
		CHECK_INT((int64_t)(free_before - img->groups.space.free), (int64_t)blocks());
		end();
	}
}

TEST(a_punch_between_any_two_borders_leaves_what_is_around_it)
{
	for (unsigned a = 0; a < ARRAY_SIZE(border); a++) {
		bool have[ARRAY_SIZE(border)];

		begin(a % 2 == 0 ? &shape : &no_journal);
		for (unsigned b = a + 1; b < ARRAY_SIZE(border); b++) {
			for (unsigned i = 0; i < ARRAY_SIZE(border); i++) {
				if (!mapped(border[i]))
					fill(border[i], 1);
				have[i] = border[i] < border[a] || border[i] >= border[b];
			}
			punch(border[a], border[b] - border[a]);
			for (unsigned i = 0; i < ARRAY_SIZE(border); i++)
				CHECK_INT(mapped(border[i]), have[i]);
			/* a pointer block that the range does not reach the end of may stay empty
			 */
			CHECK(blocks() >= pointer_blocks_below(have));
		}
		OK(inode_set_size(&task, file, 0));
		CHECK_INT((int64_t)blocks(), 0);
		end();
	}
}

TEST(what_is_left_of_a_punched_pointer_block_is_found)
{
	begin(&shape);
	fill(0, TWO + 3 * PER);
	punch(FIRST + 10, 20);
	punch(TWO - 5, 10);
	punch(TWO + PER, PER);
	for (uint32_t i = 0; i < TWO + 3 * PER; i++) {
		bool gone = (i >= FIRST + 10 && i < FIRST + 30) || (i >= TWO - 5 && i < TWO + 5) ||
			    (i >= TWO + PER && i < TWO + 2 * PER);

		CHECK_INT(mapped(i), !gone);
	}
	CHECK_INT((int64_t)blocks(), TWO + 3 * PER - 30 - PER + 1 + 1 + 2);
	end();
}

TEST(a_large_file_is_freed_in_as_many_transactions_as_it_takes)
{
	struct ek_inode *root;
	uint64_t free_before;

	begin(&shape);
	free_before = img->groups.space.free;
	for (uint32_t i = 0; i < 60; i++) /* nothing lies beside anything */
		fill(THREE + i * PER * PER, 1 + i % 3);
	for (uint32_t i = 0; i < 6000; i += 2)
		fill(i, 1);
	OK(inode_get(img, (ek_inum){2}, &root));
	OK(fs_unlink(&task, root, "f", 1));
	inode_put(&task, root);
	inode_put(&task, file);
	CHECK_INT((int64_t)img->groups.space.free, (int64_t)free_before);
	OK(image_close(img));
	img = NULL;
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	dev_close(dev);
}

/* A pointer block made to name itself, or a block twice, as damage would. */
static void damage(uint32_t at, uint32_t value)
{
	uint32_t ind;
	le32 raw;

	memcpy(&raw, file->rec.block + 12 * 4, 4);
	ind = le32_get(raw);
	inode_put(&task, file);
	OK(image_close(img));
	raw = le32_make(value != 0 ? value : ind);
	CHECK_INT(dev_write(dev, ((uint64_t)ind << 10) + at * 4, &raw, 4), 0);
	OK(fs_open(dev, IMAGE_WRITE, &diag, &img));
	task_init(&task, img);
	OK(inode_get(img, (ek_inum){12}, &file));
}

TEST(a_pointer_block_that_names_itself_is_told)
{
	begin(&shape);
	fill(FIRST, 10);
	fill(TWO, 1);
	damage(3, 0);
	CHECK(inode_set_size(&task, file, 0) < 0);
	inode_put(&task, file);
	image_kill(img);
	dev_close(dev);
}

TEST(a_pointer_into_metadata_is_told)
{
	struct map m = {.lblk = {FIRST + 3}, .len = 4};

	begin(&shape);
	fill(FIRST, 10);
	damage(3, 2);
	CHECK_INT(ind_lookup(file, &m), -EUCLEAN);
	CHECK_INT(inode_set_size(&task, file, 0), -EUCLEAN);
	inode_put(&task, file);
	image_kill(img);
	dev_close(dev);
}

TEST(a_run_of_pointers_ends_at_the_last_number_there_is)
{
	const le32 row[3] = {le32_make(UINT32_MAX - 1), le32_make(UINT32_MAX), le32_make(0)};
	const struct ind_step s = {.row = row, .at = 0, .count = 3, .span = 1};

	CHECK_INT(ind_run(&s, 3), 2);
}

int main(void)
{
	return tap_main();
}
