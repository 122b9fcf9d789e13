/* SPDX-License-Identifier: BSD-2-Clause */
/* The n-th allocation of a day's work on an image fails; the linker brings calls here (--wrap). */
#include "fs_faults.h"

#include "fs/file.h"
#include "fs/namei.h"
#include "pagecache/pagecache.h"

static struct {
	bool armed, for_good;
	unsigned calls, nth;
} plan;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
int __real_posix_memalign(void **p, size_t align, size_t n);
char *__real_strdup(const char *s);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
int __wrap_posix_memalign(void **p, size_t align, size_t n);
char *__wrap_strdup(const char *s);

static bool fails(void)
{
	if (!plan.armed)
		return false;
	plan.calls++;
	return plan.calls == plan.nth || (plan.for_good && plan.calls > plan.nth);
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

int __wrap_posix_memalign(void **p, size_t align, size_t n)
{
	return fails() ? ENOMEM : __real_posix_memalign(p, align, n);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

static void fail_nth(bool for_good, const char *name)
{
	unsigned silent = 0, points = 0;
	struct dev *base;

	learn_model(&base);
	for (unsigned n = 1;; n++) {
		struct dev *copy;
		struct outcome o;

		fs_copy(base, &copy);
		plan.for_good = for_good;
		plan.nth = n;
		plan.calls = 0;
		plan.armed = true;
		work(copy, &o);
		plan.armed = false;
		check_outcome(copy, &o, name, n);
		if (n % 11 == 1 && have_e2fsck())
			CHECK_INT(fs_e2fsck(copy), 0);
		dev_close(copy);
		if (plan.calls < n)
			break;
		points++;
		silent += o.error == 0;
	}
	dev_close(base);
	printf("# %u points, %u of them made up for\n", points, silent);
	CHECK(points > 30);
}

TEST(an_allocation_that_fails_once_leaves_a_whole_image)
{
	fail_nth(false, "allocation");
}

TEST(memory_that_runs_out_leaves_a_whole_image)
{
	fail_nth(true, "allocations from");
}

TEST(an_allocation_that_fails_while_old_files_change_leaves_a_whole_image)
{
	two_days = true;
	fail_nth(false, "allocation");
	two_days = false;
}

TEST(an_allocation_that_fails_once_leaves_files_with_pointers_whole)
{
	shape = &with_pointers;
	fail_nth(false, "allocation");
	shape = &with_extents;
}

TEST(an_allocation_that_fails_once_leaves_files_in_clusters_whole)
{
	shape = &with_clusters;
	fail_nth(false, "allocation");
	shape = &with_extents;
}

TEST(an_allocation_that_fails_while_data_lie_in_inodes_leaves_a_whole_image)
{
	begin_small();
	fail_nth(false, "allocation");
	fail_nth(true, "allocations from");
	end_small();
}

/* ---- data that could not be sent ---- */

#define DATA_BYTES (1u << 20)

static uint8_t data[DATA_BYTES];

/* Bytes into a file of that name; whether all of it went well. */
static int put_data(struct task *t, const char *name, int byte)
{
	struct pc_source src = {data, 0};
	struct ek_inode *root, *f;
	int rc;

	memset(data, byte, sizeof(data));
	CHECK_INT(inode_get(t->img, (ek_inum){INUM_ROOT}, &root), 0);
	CHECK_INT(fs_create(t, root, name, (uint32_t)strlen(name), 0644, &f), 0);
	CHECK_INT(pc_opened(t, f, true), 0);
	CHECK_INT(pc_write(t, f, 0, DATA_BYTES, &src, 0), DATA_BYTES);
	plan.armed = plan.nth != 0;
	rc = pc_fsync(t, f, false);
	plan.armed = false;
	inode_put(t, f);
	inode_put(t, root);
	return rc;
}

static struct pagecache *open_cached(struct dev *dev, const struct policy *p, struct task *t)
{
	struct image_opts opts = {.flags = IMAGE_WRITE, .now = {1700000100, 0}, .policy = p};
	struct pc_config cfg = {.memory = 8u << 20};
	struct diag d = {0};
	struct ek_image *img;
	struct pagecache *pc;

	CHECK_INT(image_open(dev, &opts, &d, &img), 0);
	task_init(t, img);
	CHECK_INT(pc_open(img, t, &cfg, &d, &pc), 0);
	return pc;
}

/* A device whose free blocks hold what a file had that is gone. */
static void make_used(const struct policy *p, struct dev **ret)
{
	static const struct shape s = {.size = 16 << 20, .block_size = 4096};
	struct ek_inode *root;
	struct pagecache *pc;
	struct task t;

	fs_make(&s, ret);
	pc = open_cached(*ret, p, &t);
	for (unsigned i = 0; i < 8; i++)
		CHECK_INT(put_data(&t, (char[]){(char)('a' + i), '\0'}, 0xaa), 0);
	CHECK_INT(inode_get(t.img, (ek_inum){INUM_ROOT}, &root), 0);
	for (unsigned i = 0; i < 8; i++)
		CHECK_INT(fs_unlink(&t, root, (char[]){(char)('a' + i), '\0'}, 1), 0);
	inode_put(&t, root);
	CHECK_INT(pc_sync(&t), 0);
	pc_close(pc);
	CHECK_INT(image_close(t.img), 0);
}

static void check_file(struct dev *dev, unsigned n, int error)
{
	struct diag d = {0};
	struct ek_image *img;
	struct ek_inode *f;
	struct task t;
	size_t got = 0;

	CHECK_INT(fs_open(dev, IMAGE_WRITE, &d, &img), 0);
	task_init(&t, img);
	if (path_walk(&t, "/new", 0, &f) == 0) {
		CHECK_INT(file_read(&t, f, 0, data, DATA_BYTES, &got), 0);
		CHECK(error < 0 || got == DATA_BYTES);
		for (size_t i = 0; i < got; i++) {
			if (data[i] != 0x55 && (error == 0 || data[i] != 0))
				TAP_FAIL("allocation %u: byte %zu is 0x%02x", n, i, data[i]);
		}
		inode_put(&t, f);
	}
	CHECK_INT(image_close(img), 0);
}

static void fail_sending(const char *folio)
{
	struct policy p;
	struct dev *base;
	unsigned n = 0;

	CHECK_INT(policy_choose(NULL, &folio, 1, NULL, &p), 0);
	plan.nth = 0;
	make_used(&p, &base);
	do {
		struct pagecache *pc;
		struct dev *dev;
		struct task t;
		int rc;

		fs_copy(base, &dev);
		pc = open_cached(dev, &p, &t);
		plan.for_good = false;
		plan.calls = 0;
		plan.nth = ++n;
		rc = put_data(&t, "new", 0x55);
		(void)image_sync(&t);
		pc_close(pc);
		(void)image_close(t.img);
		plan.nth = 0;
		check_file(dev, n, rc);
		dev_close(dev);
	} while (plan.calls >= n);
	printf("# %s: %u allocations\n", folio, n - 1);
	CHECK(n > 2);
	dev_close(base);
}

TEST(data_that_could_not_be_sent_are_not_called_written)
{
	fail_sending("folio=s0");
	fail_sending("folio=s1");
	fail_sending("folio=s3");
}

int main(void)
{
	return tap_main();
}
