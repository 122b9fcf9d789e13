/* SPDX-License-Identifier: BSD-2-Clause */
/* What a write of one page costs under each generation (delalloc-facts 2.6), and what the ends of
 * writes to inline files do when something fails (2.8). */
#include "cached_file.h"

#include "fs/inline.h"

struct cost {
	unsigned handles, joins, marks;
};

static struct policy policy;
static struct image_opts opts;

static void start_with(const char *a, const char *b, const struct pc_faults *faults)
{
	const char *set[] = {a, b};
	struct pc_config cfg = {.memory = 8u << 20};

	if (faults != NULL)
		cfg.faults = *faults;
	OK(policy_choose(NULL, set, b != NULL ? 2 : 1, &diag, &policy));
	opts = usual;
	opts.policy = &policy;
	start(4096, &opts, &cfg);
	write_some(0, 100, false); /* the first one stores the time */
}

static struct cost cost_of(uint64_t pos, uint64_t len)
{
	struct counters before = img->counters;
	const struct counters *now = &img->counters;

	write_some(pos, len, false);
	return (struct cost){
	    (unsigned)(now->v[COUNTER_HANDLE_START] - before.v[COUNTER_HANDLE_START]),
	    (unsigned)(now->v[COUNTER_NESTED_JOINS] - before.v[COUNTER_NESTED_JOINS]),
	    (unsigned)(now->v[COUNTER_MARK_INODE_DIRTY] - before.v[COUNTER_MARK_INODE_DIRTY])};
}

static void check_cost(const char *generation, char which, struct cost got, struct cost want)
{
	if (got.handles != want.handles || got.joins != want.joins || got.marks != want.marks)
		TAP_FAIL("%s, case %c: %u/%u/%u, not %u/%u/%u", generation, which, got.handles,
			 got.joins, got.marks, want.handles, want.joins, want.marks);
}

TEST(a_write_of_one_page_costs_what_its_generation_says)
{
	static const struct {
		const char *setting;
		struct cost a, b, c, d, e;
	} rows[] = {
	    {"write=g0", {1, 0, 0}, {1, 1, 1}, {1, 1, 2}, {1, 1, 1}, {1, 0, 1}},
	    {"write=g1", {1, 0, 0}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 0, 0}},
	    {"write=g3", {0, 0, 0}, {1, 0, 1}, {1, 0, 1}, {1, 0, 1}, {0, 0, 0}},
	    {"write=g4", {0, 0, 0}, {0, 0, 0}, {1, 0, 1}, {0, 0, 0}, {0, 0, 0}},
	    {"write=g5", {0, 0, 0}, {0, 0, 0}, {1, 0, 1}, {1, 0, 1}, {0, 0, 0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_with(rows[i].setting, NULL, NULL);
		check_cost(rows[i].setting, 'A', cost_of(10, 50), rows[i].a);
		check_cost(rows[i].setting, 'B', cost_of(100, 50), rows[i].b);
		OK(pc_sync(&task));
		check_cost(rows[i].setting, 'C', cost_of(150, 50), rows[i].c);
		check_cost(rows[i].setting, 'D', cost_of(8292, 100), rows[i].d);
		check_cost(rows[i].setting, 'E', cost_of(200, 50), rows[i].e);
		compare();
		stop();
	}
}

TEST(a_write_to_an_inline_file_costs_what_its_generation_says)
{
	static const struct {
		const char *write, *end;
		struct cost growing, same;
	} rows[] = {
	    {"write=g0", "inline=i0", {1, 2, 3}, {1, 2, 2}},
	    {"write=g1", "inline=i0", {1, 2, 2}, {1, 2, 2}},
	    {"write=g0", "inline=i3", {1, 1, 1}, {1, 1, 1}},
	    {"write=g3", "inline=i3", {1, 1, 1}, {1, 1, 1}},
	    {"write=g5", "inline=i3", {1, 1, 1}, {1, 1, 1}},
	};

	incompat_on = INCOMPAT_INLINE_DATA;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		start_with(rows[i].write, rows[i].end, NULL);
		check_cost(rows[i].end, 'F', cost_of(100, 10), rows[i].growing);
		check_cost(rows[i].end, 'f', cost_of(100, 10), rows[i].same);
		compare();
		stop();
	}
	incompat_on = 0;
}

/* ---- the defects that the second patch of the series mended ---- */

static int64_t write_failing(const char *end, const struct pc_faults *faults, uint64_t len)
{
	struct pc_source src;
	int64_t rc;

	incompat_on = INCOMPAT_INLINE_DATA;
	start_with(end, NULL, NULL);
	src = (struct pc_source){payload, 0};
	pc->faults = *faults;
	rc = pc_write(&task, file, 100, len, &src, 0);
	pc->faults = (struct pc_faults){0};
	incompat_on = 0;
	return rc;
}

static void forget_all(void)
{
	dev_close(dev);
	free(model);
	free(back);
	free(payload);
}

TEST(an_inode_that_cannot_be_found_was_tried_again_for_ever_and_is_an_error_now)
{
	static const struct pc_faults always = {.locate = {.every = 1}};

	CHECK_INT(write_failing("inline=i0", &always, 20), -ELOOP);
	CHECK(strstr(img->diag.text, "1000 times nothing was copied") != NULL);
	CHECK_INT(file->size, 100);
	diag_clear(&img->diag);
	stop();
	CHECK_INT(write_failing("inline=i3", &always, 20), -EIO);
	CHECK_INT(file->size, 100);
	inode_put(&task, file); /* a filesystem that lost a block takes no more changes */
	pc_close(pc);
	image_kill(img);
	forget_all();
}

/* The inode's bytes [100, 120) after a write of which the program had memory for 10. */
static void read_inode(uint8_t *ret, uint32_t *size)
{
	OK(inline_size(file, size));
	file->size = 120; /* to see what lies behind the end */
	OK(inline_read(file, 100, ret, 20));
	file->size = 110;
}

TEST(a_short_copy_stored_bytes_that_nobody_wrote_and_stores_what_came_now)
{
	static const struct pc_faults half = {.copy = {.every = 1}};
	uint8_t seen[20];
	uint32_t size;

	CHECK_INT(write_failing("inline=i0", &half, 20), 10);
	CHECK_INT(file->size, 110);
	read_inode(seen, &size);
	CHECK(memcmp(seen, payload, 10) == 0);
	CHECK_INT(size, 120); /* room that nothing filled */
	inode_put(&task, file);
	unmount_image();
	forget_all();
	CHECK_INT(write_failing("inline=i3", &half, 20), 10);
	CHECK_INT(file->size, 110);
	CHECK(list_empty(&file->orphan));
	read_inode(seen, &size);
	CHECK(memcmp(seen, payload, 10) == 0);
	CHECK_INT(size, 110);
	stop();
}

int main(void)
{
	return tap_main();
}
