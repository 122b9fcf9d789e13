/* SPDX-License-Identifier: BSD-2-Clause */
/* Cached writes against a plain buffer: whatever is dropped, flushed or short of memory meanwhile,
 * a file reads as it was written, before and after the image is opened again. */
#include "fs_image.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <malloc.h>

#include "fs/namei.h"
#include "pagecache/pagecache.h"

#define FILE_BYTES (6u << 20)

static struct diag diag;
static struct dev *dev;
static struct ek_image *img;
static struct task task;
static struct pagecache *pc;
static struct ek_inode *file;
static uint8_t *model, *back, *payload;
static uint64_t model_size;
static uint64_t state;

static uint32_t dice(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % n);
}

#define OK(call)                                                                                \
	do {                                                                                    \
		int64_t ok_rc = (call);                                                         \
		if (ok_rc < 0)                                                                  \
			TAP_FAIL("%s: %d: %s%s", #call, (int)ok_rc, diag.text, img->diag.text); \
	} while (0)

static void mount_image(const struct image_opts *opts, const struct pc_config *cfg)
{
	OK(image_open(dev, opts, &diag, &img));
	task_init(&task, img);
	OK(pc_open(img, &task, cfg, &diag, &pc));
}

static void unmount_image(void)
{
	OK(pc_sync(&task));
	pc_close(pc);
	OK(image_close(img));
}

static void find_file(void)
{
	OK(path_walk(&task, "/file", 0, &file));
	OK(pc_opened(&task, file, true));
}

static void start(uint32_t block_size, const struct image_opts *opts, const struct pc_config *cfg)
{
	struct shape s = {.size = 48u << 20, .block_size = block_size};
	struct ek_inode *root, *f;

	diag_clear(&diag);
	state = 1;
	model_size = 0;
	model = calloc(1, FILE_BYTES);
	back = calloc(1, FILE_BYTES);
	payload = malloc(FILE_BYTES);
	CHECK(model != NULL && back != NULL && payload != NULL);
	for (uint32_t i = 0; i < FILE_BYTES; i++)
		payload[i] = (uint8_t)dice(256);
	fs_make(&s, &dev);
	mount_image(opts, cfg);
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
	OK(fs_create(&task, root, "file", 4, 0644, &f));
	inode_put(&task, f);
	inode_put(&task, root);
	find_file();
}

static void stop(void)
{
	inode_put(&task, file);
	unmount_image();
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	dev_close(dev);
	free(model);
	free(back);
	free(payload);
}

static void compare(void)
{
	CHECK_INT(file->size, model_size);
	CHECK_INT(pc_read(&task, file, 0, FILE_BYTES, back, NULL), (int64_t)model_size);
	for (uint64_t i = 0; i < model_size; i++) {
		if (back[i] != model[i])
			TAP_FAIL("byte %llu is 0x%02x, not 0x%02x", (unsigned long long)i, back[i],
				 model[i]);
	}
}

static void compare_direct(void)
{
	memset(back, 0x55, FILE_BYTES);
	CHECK_INT(pc_direct_read(&task, file, 0, FILE_BYTES, back), (int64_t)model_size);
	CHECK(memcmp(back, model, model_size) == 0);
}

/* ---- operations on both ---- */

static void write_some(uint64_t pos, uint64_t len, bool direct)
{
	uint32_t from = dice(4096);
	struct pc_source src = {payload + from, 0};

	len = MIN(len, FILE_BYTES - MAX(pos, (uint64_t)from));
	if (direct)
		CHECK_INT(pc_direct_write(&task, file, pos, len, &src, 0), (int64_t)len);
	else
		CHECK_INT(pc_write(&task, file, pos, len, &src, 0), (int64_t)len);
	memcpy(model + pos, payload + from, len);
	model_size = MAX(model_size, pos + len);
}

static void store_some(uint64_t pos, uint64_t len)
{
	struct pc_source src = {payload, 0};

	OK(pc_mmap_write(&task, file, pos, len, &src, NULL));
	if (pos < model_size)
		memcpy(model + pos, payload, MIN(len, model_size - pos));
}

static void set_size(uint64_t size)
{
	OK(inode_set_size(&task, file, size));
	if (size < model_size)
		memset(model + size, 0, model_size - size);
	model_size = size;
}

static void falloc_some(int mode, uint64_t pos, uint64_t len)
{
	OK(inode_fallocate(&task, file, mode, pos, len));
	if (mode == 0)
		model_size = MAX(model_size, pos + len);
	else if (pos < model_size && mode != FALLOC_FL_KEEP_SIZE)
		memset(model + pos, 0, MIN(len, model_size - pos));
}

static void one_step(void)
{
	uint64_t pos = dice(FILE_BYTES - 300000), len = 1 + dice(dice(4) == 0 ? 300000 : 9000);
	uint64_t grown;

	switch (dice(12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		write_some(pos, len, false);
		break;
	case 4: /* appends */
		write_some(MIN(model_size, (uint64_t)FILE_BYTES - 300000), len, false);
		break;
	case 5:
		write_some(ROUND_DOWN(pos, (uint64_t)4096), 4096u * (1 + dice(16)), true);
		break;
	case 6:
		store_some(pos, len);
		break;
	case 7:
		grown = model_size + dice(50000);
		set_size(dice(3) == 0 ? pos : MIN(grown, (uint64_t)FILE_BYTES));
		break;
	case 8:
		falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pos, len);
		break;
	case 9:
		falloc_some(dice(2) == 0 ? 0 : FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, pos,
			    len);
		break;
	case 10:
		OK(dice(3) == 0 ? pc_sync(&task) : pc_fsync(&task, file, dice(2) == 0));
		break;
	default:
		OK(pc_dont_need(&task, file, pos, len));
		break;
	}
	img->now.sec += dice(20) == 0 ? 7 : 0;
	OK(pc_tick(&task));
}

static void play(uint32_t block_size, const struct image_opts *opts, const struct pc_config *cfg)
{
	start(block_size, opts, cfg);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 150; i++)
			one_step();
		compare();
		compare_direct();
		OK(pc_closed(&task, file, true));
		inode_put(&task, file);
		unmount_image();
		mount_image(opts, cfg);
		find_file();
		compare();
	}
	stop();
}

static const struct image_opts usual = {.flags = IMAGE_WRITE, .now = {1700000100, 0}};

TEST(a_file_reads_as_written_with_4k_blocks)
{
	struct pc_config cfg = {.memory = 64u << 20};

	play(4096, &usual, &cfg);
}

TEST(a_file_reads_as_written_with_1k_blocks)
{
	struct pc_config cfg = {.memory = 64u << 20};

	play(1024, &usual, &cfg);
}

TEST(a_cache_smaller_than_the_file_makes_no_difference)
{
	struct pc_config cfg = {.memory = 2u << 20};

	play(4096, &usual, &cfg);
}

TEST(low_thresholds_make_no_difference)
{
	struct pc_config cfg = {.memory = 64u << 20, .background_pages = 40, .dirty_pages = 80};

	play(4096, &usual, &cfg);
}

TEST(clean_folios_without_memory_make_no_difference)
{
	struct pc_config cfg = {
	    .memory = 64u << 20, .backed = 1, .background_pages = 40, .dirty_pages = 80};

	play(4096, &usual, &cfg);
	play(1024, &usual, &cfg);
}

TEST(a_stream_goes_round_in_a_little_memory_and_is_still_cached)
{
	struct pc_config cfg = {.memory = 64u << 20, .backed = 1};
	uint64_t reads;

	start(4096, &usual, &cfg);
	for (uint64_t at = 0; at + 65536 <= FILE_BYTES; at += 65536) {
		write_some(at, 65536, false);
		OK(pc_fsync(&task, file, true));
	}
	CHECK(pc->resident * PAGE_BYTES > FILE_BYTES / 2);
	CHECK(fpool_pages(pc->pool) * PAGE_BYTES <= 2 * CHUNK_BYTES);
	reads = img->counters.v[COUNTER_DISK_RD_IOS];
	compare();
	CHECK_INT(img->counters.v[COUNTER_DISK_RD_IOS], reads);
	CHECK(fpool_pages(pc->pool) >= pc->resident);
	stop();
}

/* Blocks that a write was to fill must not show what their new memory held before. */
TEST(a_failed_overwrite_of_a_folio_without_memory_leaves_its_contents)
{
	struct pc_config cfg = {.memory = 64u << 20, .backed = 1};
	struct pc_source src = {payload, 0};
	struct folio *f;

	start(4096, &usual, &cfg);
	set_size(FILE_BYTES);
	CHECK_INT(pc_read(&task, file, 0, 65536, back, NULL), 65536); /* holes */
	OK(pc_sync(&task));
	f = mapping_find(file->mapping, 0);
	f->flags &= (uint8_t)~FOLIO_ACTIVE;
	for (uint64_t at = CHUNK_BYTES; f->data != NULL && at + 65536 <= FILE_BYTES; at += 65536) {
		write_some(at, 65536, false);
		OK(pc_fsync(&task, file, true));
	}
	CHECK(f->data == NULL);
	img->groups.space.reserved += img->groups.space.free;
	CHECK_INT(pc_write(&task, file, 0, folio_bytes(f), &src, 0), -ENOSPC);
	img->groups.space.reserved -= img->groups.space.free;
	diag_clear(&img->diag);
	compare();
	stop();
}

TEST(without_delayed_allocation_a_file_reads_as_written)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};

	opts.nodelalloc = true;
	play(4096, &opts, &cfg);
	play(1024, &opts, &cfg);
}

TEST(with_written_extents_at_once_a_file_reads_as_written)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};

	opts.dioread_lock = true;
	play(4096, &opts, &cfg);
}

/* Every write is in flight or clean after a flush: what is being written must not count as room. */
TEST(small_random_writes_pass_through_a_cache_of_one_chunk)
{
	struct pc_config cfg = {.memory = 1};

	start(4096, &usual, &cfg);
	for (unsigned i = 0; i < 96; i++)
		write_some(i * 65536ull, 65536, false);
	for (unsigned i = 0; i < 1500; i++)
		write_some((uint64_t)dice(FILE_BYTES / 4096 - 1) * 4096, 4096, false);
	compare();
	stop();
}

/* The run [0, 27) is collected as one extent up to the end of the file, but block 20 has a place
 * already: what comes after the folio that holds it must not be forgotten. */
TEST(an_extent_that_is_mapped_in_part_is_written_to_its_end)
{
	struct pc_config cfg = {.memory = 64u << 20};

	start(1024, &usual, &cfg);
	write_some(2 * 1024, 20 * 1024 + 189, false);
	OK(inode_fallocate(&task, file, FALLOC_FL_ZERO_RANGE, 22 * 1024 + 552, 123));
	model_size = 22 * 1024 + 675;
	write_some(model_size, 5784, false);
	OK(pc_fsync(&task, file, false));
	CHECK_INT(pc->dirty_total, 0);
	compare();
	stop();
}

/* Multigrain timestamps: a change in the tick that stat showed takes the exact time, and no file is
 * given a time before that any more. */
TEST(a_write_after_stat_takes_an_exact_time)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};
	struct ek_inode *root, *other;
	uint64_t updates;

	opts.tick_ns = 4000000;
	start(4096, &opts, &cfg);
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
	OK(fs_create(&task, root, "other", 5, 0644, &other));
	img->now.nsec = 9000000;
	write_some(0, 100, false);
	CHECK_INT(file->rec.mtime.nsec, 8000000);
	updates = img->counters.v[COUNTER_TS_UPDATES];
	img->now.nsec = 9000001;
	write_some(0, 100, false);
	CHECK_INT(img->counters.v[COUNTER_TS_UPDATES], updates);
	inode_times_shown(file);
	img->now.nsec = 9000002;
	write_some(0, 100, false);
	CHECK_INT(file->rec.mtime.nsec, 9000002);
	CHECK_INT(file->rec.ctime.nsec, 9000002);
	img->now.nsec = 9000003;
	write_some(0, 100, false);
	CHECK_INT(img->counters.v[COUNTER_TS_UPDATES], updates + 1);
	OK(inode_touch_modify(&task, other));
	CHECK_INT(other->rec.mtime.nsec, 9000002);
	inode_times_shown(file);
	img->now.nsec = 12000001;
	write_some(0, 100, false);
	CHECK_INT(file->rec.mtime.nsec, 12000000);
	inode_put(&task, other);
	inode_put(&task, root);
	stop();
}

TEST(an_overwrite_of_cached_data_allocates_nothing)
{
	struct pc_config cfg = {.memory = 64u << 20};
	struct mallinfo2 before, after;

	start(4096, &usual, &cfg);
	write_some(0, 4u << 20, false);
	before = mallinfo2();
	for (unsigned i = 0; i < 10000; i++)
		write_some((uint64_t)dice(1000) * 4096 + dice(100), 1 + dice(3000), false);
	after = mallinfo2();
	CHECK_INT(after.uordblks, before.uordblks);
	CHECK_INT(after.hblks, before.hblks);
	compare();
	stop();
}

/* 1 KiB blocks: the fault at 4096 is for one block where the file ends at 5000, for three where it
 * ends at 7000, wherever in the page the store goes. */
TEST(a_store_behind_the_end_of_a_file_fills_the_blocks_of_its_last_page)
{
	struct pc_config cfg = {.memory = 64u << 20};

	start(1024, &usual, &cfg);
	set_size(5000);
	store_some(8000, 100);
	OK(pc_fsync(&task, file, false));
	CHECK_INT(file->rec.blocks, 2);
	set_size(7000);
	store_some(4096, 10);
	OK(pc_fsync(&task, file, false));
	CHECK_INT(file->rec.blocks, 6);
	store_some(8192, 100);
	OK(pc_fsync(&task, file, false));
	CHECK_INT(file->rec.blocks, 6);
	compare();
	set_size(20000);
	compare();
	stop();
}

/* Bytes written from 3035 on make one folio of 64 KiB; a store into another page of it gives the
 * two blocks before them a place too. */
TEST(a_store_fills_the_holes_of_the_whole_folio)
{
	struct pc_config cfg = {.memory = 64u << 20};

	start(1024, &usual, &cfg);
	write_some(3035, 90000, false);
	OK(pc_fsync(&task, file, false));
	CHECK_INT(file->rec.blocks, 2 * 89);
	store_some(46730, 100);
	OK(pc_fsync(&task, file, false));
	CHECK_INT(file->rec.blocks, 2 * 91);
	compare();
	stop();
}

/* First page and order of each folio that is cached, in runs of one order. */
static const char *folios(void)
{
	static char text[256];
	size_t n = 0;
	unsigned order = UINT32_MAX;
	struct mapping *m = file->mapping;
	struct folio *f;

	text[0] = '\0';
	for (uint32_t page = 0; (f = mapping_next(m, TAG_HEAD, page, UINT32_MAX)) != NULL;) {
		if (f->order != order || f->index != page)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u:%u",
					      n != 0 ? " " : "", f->index, f->order);
		order = f->order;
		page = f->index + folio_pages(f);
	}
	return text;
}

static void read_pages(struct readahead *ra, uint32_t page, uint32_t n, uint32_t step)
{
	for (uint32_t i = page; i < page + n; i += step)
		CHECK_INT(pc_read(&task, file, (uint64_t)i << 12, step << 12, back, ra),
			  (int64_t)step << 12);
}

/* The folios are those of Linux 6.18 for the same reads, from its tracepoint. */
TEST(read_ahead_makes_the_folios_that_linux_makes)
{
	struct pc_config cfg = {.memory = 64u << 20};
	struct readahead ra = {0}, other = {0}, again = {0};

	start(4096, &usual, &cfg);
	set_size(4 << 20);
	read_pages(&ra, 0, 256, 1);
	CHECK_STR(folios(), "0:0 4:2 24:3 32:4 96:5 128:6 256:7 512:8");
	pc_drop_caches(pc);
	read_pages(&other, 0, 256, 4);
	CHECK_STR(folios(), "0:0 16:2 80:4 224:5 256:6 512:8 768:7");
	pc_drop_caches(pc);
	CHECK_INT(pc_read(&task, file, 1000000, 20000, back, &again), 20000);
	CHECK_INT(pc_read(&task, file, 3000000, 4096, back, &again), 4096);
	CHECK_INT(pc_read(&task, file, 3004096, 4096, back, &again), 4096);
	CHECK_STR(folios(), "244:0 732:0");
	compare();
	stop();
}

/* A pipe has no room for all that is asked for when the first page is cut: the page behind it is
 * read all the same, and windows begin one page later. */
TEST(a_copy_asks_for_a_page_more_than_its_pipe_holds)
{
	struct pc_config cfg = {.memory = 64u << 20};
	struct readahead ra = {0};

	start(4096, &usual, &cfg);
	set_size(4 << 20);
	CHECK_INT(pc_splice(&task, file, 361304, 64680, 65536, back, &ra), 64680);
	CHECK_STR(folios(), "88:0");
	CHECK_INT(mapping_of(file)->pages, 17);
	CHECK_INT(pc_splice(&task, file, 425984, 65536, 65536, back, &ra), 65536);
	CHECK_INT(mapping_of(file)->pages, 17 + 64);
	CHECK_INT(pc_splice(&task, file, 491520, 65536, 65536, back, &ra), 65536);
	CHECK_STR(folios(), "88:0 170:1 172:2");
	stop();
}

/* Page 5 of 16 is lost: it goes, the pages beside its ends are folios, and what is left is in
 * pieces as large as alignment allows. */
TEST(a_hole_splits_a_clean_folio_and_leaves_a_dirty_one)
{
	struct pc_config cfg = {.memory = 64u << 20};

	start(4096, &usual, &cfg);
	write_some(0, 65536, false);
	write_some(65536, 65536, false);
	CHECK_STR(folios(), "0:4");
	OK(pc_fsync(&task, file, false));
	write_some(65536, 10, false);
	falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 20480, 4096);
	falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 65536 + 20480, 4096);
	CHECK_STR(folios(), "0:2 4:0 6:0 8:3 16:4");
	compare();
	falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3000, 15000);
	compare();
	set_size(100000);
	compare();
	set_size(200000);
	compare();
	stop();
}

int main(void)
{
	return tap_main();
}
