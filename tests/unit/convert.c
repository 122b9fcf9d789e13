/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversion of files that hold anything, of any length, and its failures. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/check.h"
#include "extkit/convert.h"
#include "extkit/ctx.h"
#include "io/dev.h"
#include "tap.h"

#define MIB ((size_t)1 << 20)

static char dir[] = "/tmp/extkit-convert.XXXXXX";
static struct ek_ctx *ctx;

/* size bytes, some of which are zero, some a pattern, some neither. */
static void make(size_t size)
{
	uint8_t *p = calloc(1, size + 1);
	uint64_t x = 88172645463325252u;
	int fd = open("a", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(p != NULL && fd >= 0);
	for (size_t i = 0; i < size; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		switch (i / 5000 % 4) {
		case 0:
			p[i] = (uint8_t)x;
			break;
		case 1:
			p[i] = (uint8_t)(0x11 * (i % 4));
			break;
		}
	}
	if (size != 0)
		p[size - 1] = 0xee;
	CHECK_INT(write(fd, p, size), (ssize_t)size);
	close(fd);
	free(p);
}

static int convert(const char *src, const char *dst, unsigned to)
{
	struct ek_convert_options opt = {
	    .size = sizeof(opt), .flags = EK_CONVERT_FORCE, .to = to, .level = 1};

	return ek_convert(ctx, src, dst, &opt, NULL);
}

static bool same(const char *a, const char *b)
{
	struct dev *x, *y;
	bool equal;
	char *p, *q;

	CHECK_INT(dev_open(a, 0, NULL, &x), 0);
	CHECK_INT(dev_open(b, 0, NULL, &y), 0);
	equal = x->size == y->size;
	p = malloc(x->size + 1);
	q = malloc(x->size + 1);
	if (equal)
		equal = dev_read(x, 0, p, x->size) == 0 && dev_read(y, 0, q, x->size) == 0 &&
			memcmp(p, q, x->size) == 0;
	dev_close(x);
	dev_close(y);
	free(p);
	free(q);
	return equal;
}

TEST(every_length_comes_back_from_zstd_and_android_sparse)
{
	static const size_t sizes[] = {4,       512,     4096,          65536,   65540,
				       MIB - 4, MIB + 4, 2 * MIB + 512, 3 * MIB, 5 * MIB + 8192};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		make(sizes[i]);
		for (unsigned form = EK_FORM_ZSTD; form <= EK_FORM_SPARSE; form++) {
			CHECK_INT(convert("a", "b", form), 0);
			CHECK(same("a", "b"));
			CHECK_INT(convert("b", "c", EK_FORM_RAW), 0);
			CHECK(same("a", "c"));
		}
	}
}

TEST(lengths_that_no_block_divides_come_back_from_zstd)
{
	static const size_t sizes[] = {1, 3, 4097, MIB - 1, MIB + 1, 2 * MIB + 4095};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		make(sizes[i]);
		CHECK_INT(convert("a", "b", EK_FORM_ZSTD), 0);
		CHECK(same("a", "b"));
		CHECK_INT(convert("b", "c", EK_FORM_RAW), 0);
		CHECK(same("a", "c"));
		CHECK_INT(convert("a", "b", EK_FORM_QCOW2), 0);
		CHECK_INT(convert("a", "d", EK_FORM_SPARSE), -EINVAL);
		CHECK_INT(access("d", F_OK), -1);
	}
}

static unsigned masked;

/* In place of libc's: a mask is the whole process's, and other threads make files. */
mode_t umask(mode_t mask)
{
	masked++;
	return (mode_t)syscall(SYS_umask, mask);
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	CHECK_INT(stat(path, &st), 0);
	return st.st_mode & 07777;
}

TEST(a_new_file_has_the_usual_mode_and_one_that_was_there_its_own)
{
	mode_t before = umask(027);

	make(4096);
	unlink("b");
	masked = 0;
	CHECK_INT(convert("a", "b", EK_FORM_RAW), 0);
	CHECK_INT(mode_of("b"), 0640);
	CHECK_INT(chmod("b", 0606), 0);
	CHECK_INT(convert("a", "b", EK_FORM_RAW), 0);
	CHECK_INT(mode_of("b"), 0606);
	CHECK_INT(masked, 0);
	umask(before);
}

TEST(a_part_is_taken)
{
	struct ek_convert_options opt = {
	    .size = sizeof(opt), .flags = EK_CONVERT_FORCE, .offset = 4096, .bytes = 8192};
	struct ek_converted done = {.size = sizeof(done)};

	make(MIB);
	CHECK_INT(ek_convert(ctx, "a", "b", &opt, &done), 0);
	CHECK_INT(done.bytes, 8192);
	CHECK_INT(done.written, 8192);
	opt.bytes = MIB;
	CHECK_INT(ek_convert(ctx, "a", "b", &opt, NULL), -EINVAL);
	opt.offset = 2 * MIB;
	CHECK_INT(ek_convert(ctx, "a", "b", &opt, NULL), -EINVAL);
}

TEST(options_that_make_no_sense_are_refused)
{
	struct ek_convert_options opt = {.size = sizeof(opt), .level = 23};

	make(4096);
	CHECK_INT(ek_convert(ctx, "a", "new", &opt, NULL), -EINVAL);
	opt.level = -1;
	CHECK_INT(ek_convert(ctx, "a", "new", &opt, NULL), -EINVAL);
	opt.level = 0;
	opt.to = 4;
	CHECK_INT(ek_convert(ctx, "a", "new", &opt, NULL), -EINVAL);
	opt.to = EK_FORM_RAW;
	CHECK_INT(ek_convert(ctx, "a", "nbd://host/new", &opt, NULL), -EOPNOTSUPP);
	make(0);
	CHECK_INT(ek_convert(ctx, "a", "new", &opt, NULL), -EINVAL);
	CHECK_INT(access("new", F_OK), -1);
}

static int stop(void *arg, const struct ek_progress *step)
{
	return step->done >= 2 * MIB;
}

/* Only "a" and "b" are there. */
static bool nothing_left(void)
{
	return system("test \"$(ls)\" = \"$(printf 'a\\nb')\"") == 0;
}

TEST(a_conversion_that_is_stopped_or_fails_leaves_the_old_file)
{
	struct rlimit old, few;

	CHECK_INT(system("rm -f ./*"), 0);
	make(4 * MIB);
	CHECK_INT(convert("a", "b", EK_FORM_RAW), 0);
	for (unsigned form = EK_FORM_RAW; form <= EK_FORM_QCOW2; form++) {
		ek_ctx_on_progress(ctx, stop, NULL);
		CHECK_INT(convert("a", "b", form), -ECANCELED);
		ek_ctx_on_progress(ctx, NULL, NULL);
		CHECK(nothing_left());
		CHECK_INT(getrlimit(RLIMIT_FSIZE, &old), 0);
		few = (struct rlimit){.rlim_cur = 300000, .rlim_max = old.rlim_max};
		CHECK_INT(setrlimit(RLIMIT_FSIZE, &few), 0);
		CHECK_INT(convert("a", "b", form), -EFBIG);
		CHECK_INT(setrlimit(RLIMIT_FSIZE, &old), 0);
		CHECK_INT(ek_ctx_from_host(ctx), 1);
		CHECK(nothing_left());
	}
	CHECK(same("a", "b"));
}

TEST(a_file_that_is_written_by_another_is_not_replaced)
{
	struct dev *other;

	make(4 * MIB);
	for (unsigned form = EK_FORM_RAW; form <= EK_FORM_QCOW2; form++) {
		CHECK_INT(convert("a", "b", form), 0);
		CHECK_INT(dev_open("b", DEV_WRITE | DEV_PLAIN, NULL, &other), 0);
		CHECK_INT(convert("a", "b", form), -EBUSY);
		dev_close(other);
		CHECK_INT(convert("a", "b", form), 0);
	}
}

int main(void)
{
	int r;

	signal(SIGXFSZ, SIG_IGN);
	if (mkdtemp(dir) == NULL || chdir(dir) < 0 || ek_ctx_new(&ctx) < 0)
		return 1;
	r = tap_main();
	ek_ctx_free(ctx);
	if (system("rm -f ./*") != 0 || chdir("/") < 0)
		return 1;
	rmdir(dir);
	return r;
}
