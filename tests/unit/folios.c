/* SPDX-License-Identifier: BSD-2-Clause */
/* Which folios there are, and what a store into one of them fills: orders are those of Linux 6.18
 * for the same calls, from its tracepoint of pages added. */
#include "cached_file.h"

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

TEST(advice_changes_windows_as_in_linux)
{
	struct pc_config cfg = {.memory = 64u << 20};
	struct readahead sequential = {.advice = READAHEAD_SEQUENTIAL}, whole = sequential;
	struct readahead random = {.advice = READAHEAD_RANDOM};

	start(4096, &usual, &cfg);
	set_size(4 << 20);
	read_pages(&sequential, 0, 512, 1);
	CHECK_STR(folios(), "0:0 4:2 24:3 32:4 96:5 128:6 384:7 512:8");
	pc_drop_caches(pc);
	read_pages(&whole, 0, 256, 256);
	CHECK_STR(folios(), "0:0");
	CHECK_INT(mapping_of(file)->pages, 512);
	pc_drop_caches(pc);
	read_pages(&random, 0, 2, 1);
	read_pages(&random, 256, 768, 768);
	CHECK_STR(folios(), "0:0 256:0");
	CHECK_INT(mapping_of(file)->pages, 2 + 768);
	pc_drop_caches(pc);
	OK(pc_will_need(&task, file, 100000, 1 << 20));
	CHECK_STR(folios(), "24:0");
	CHECK_INT(mapping_of(file)->pages, 257);
	pc_drop_caches(pc);
	OK(pc_will_need(&task, file, 0, 0));
	CHECK_INT(mapping_of(file)->pages, 640);
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
