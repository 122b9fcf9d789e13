/* SPDX-License-Identifier: BSD-2-Clause */
/* The n-th allocation of a day's work on an image fails; the linker brings calls here (--wrap). */
#include "fs_faults.h"

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

int main(void)
{
	return tap_main();
}
