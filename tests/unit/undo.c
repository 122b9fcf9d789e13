/* SPDX-License-Identifier: BSD-2-Clause */
/* The undo device: what it keeps, what it gives back, and every end that a crash could leave. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "io/dev.h"
#include "io/fault.h"
#include "io/undo.h"

#define WINDOW ((size_t)64 * 4096)
#define SIZE   (10 * WINDOW + 512) /* the last unit is not whole */

static struct diag diag;
static uint8_t old_bytes[SIZE], got[SIZE];
static const struct undo_id id = {"an identity"};
static uint32_t seed;

#define OK(call)                                                         \
	do {                                                             \
		int ok_rc = (call);                                      \
		if (ok_rc < 0)                                           \
			TAP_FAIL("%s: %d: %s", #call, ok_rc, diag.text); \
	} while (0)

static uint32_t next(void)
{
	return seed = seed * 1664525 + 1013904223;
}

struct place {
	char dir[32], file[64];
	struct dev *base, *dev;
};

static void begin(struct place *p)
{
	strcpy(p->dir, "/tmp/extkit-undo-XXXXXX");
	if (mkdtemp(p->dir) == NULL)
		abort();
	snprintf(p->file, sizeof(p->file), "%s/undo", p->dir);
	seed = 5;
	for (size_t i = 0; i < SIZE; i++)
		old_bytes[i] = (uint8_t)(next() >> 24);
	memset(old_bytes + 3 * WINDOW, 0, 2 * WINDOW);
	OK(dev_open_memory(SIZE, &diag, &p->base));
	OK(dev_write(p->base, 0, old_bytes, SIZE));
	OK(dev_open_undo(p->base, p->file, &id, &p->dev));
}

static void end(struct place *p)
{
	dev_close(p->dev);
	dev_close(p->base);
	unlink(p->file);
	CHECK_INT(rmdir(p->dir), 0);
}

static void write_some(struct dev *dev)
{
	uint8_t bytes[9000];
	size_t off = next() % SIZE, len = 1 + next() % sizeof(bytes);

	len = len > SIZE - off ? SIZE - off : len;
	memset(bytes, (int)(next() >> 24), len);
	if (next() % 5 == 0)
		OK(dev_zero(dev, off, len));
	else
		OK(dev_write(dev, off, bytes, len));
}

static bool is_old(struct dev *dev)
{
	OK(dev_read(dev, 0, got, SIZE));
	return memcmp(got, old_bytes, SIZE) == 0;
}

static bool there(const char *path)
{
	return access(path, F_OK) == 0;
}

TEST(what_was_kept_in_memory_comes_back)
{
	struct place p;

	begin(&p);
	for (int i = 0; i < 20; i++)
		write_some(p.dev);
	CHECK(!is_old(p.dev));
	CHECK(!there(p.file));
	OK(undo_take_back(p.dev));
	CHECK(is_old(p.base));
	CHECK(!there(p.file));
	write_some(p.dev);
	OK(undo_take_back(p.dev));
	CHECK(is_old(p.base));
	end(&p);
}

TEST(what_is_kept_in_the_file_comes_back)
{
	struct place p;

	begin(&p);
	write_some(p.dev);
	OK(undo_arm(p.dev));
	CHECK(there(p.file));
	OK(undo_arm(p.dev));
	for (int i = 0; i < 20; i++)
		write_some(p.dev);
	OK(undo_take_back(p.dev));
	CHECK(is_old(p.base));
	CHECK(!there(p.file));
	end(&p);
}

TEST(what_is_meant_to_stay_stays)
{
	struct place p;

	begin(&p);
	OK(undo_arm(p.dev));
	write_some(p.dev);
	OK(undo_keep(p.dev));
	CHECK(!there(p.file));
	CHECK(!is_old(p.base));
	end(&p);
}

/* After each write the process ends: the file gives back what was there. */
TEST(a_file_that_is_left_gives_the_device_back_after_any_write)
{
	for (unsigned last = 0; last < 25; last++) {
		struct undo_done done;
		struct place p;

		begin(&p);
		OK(undo_arm(p.dev));
		for (unsigned i = 0; i < last; i++)
			write_some(p.dev);
		OK(undo_replay(p.file, p.base, NULL, NULL, &done));
		CHECK(is_old(p.base));
		OK(undo_replay(p.file, p.base, NULL, NULL, &done)); /* and again */
		CHECK(is_old(p.base));
		end(&p);
	}
}

/* The file is cut anywhere behind what was safe before the last write, which did not happen. */
TEST(a_torn_end_of_the_file_is_passed_over)
{
	struct undo_done done;
	struct place p;
	struct stat before, after;

	begin(&p);
	OK(undo_arm(p.dev));
	for (int i = 0; i < 3; i++)
		write_some(p.dev);
	CHECK_INT(stat(p.file, &before), 0);
	OK(dev_read(p.base, 0, got, SIZE));
	static uint8_t changed[SIZE];
	memcpy(changed, got, SIZE);
	for (after = before; after.st_size == before.st_size;) {
		write_some(p.dev);
		CHECK_INT(stat(p.file, &after), 0);
		if (after.st_size == before.st_size)
			OK(dev_read(p.base, 0, changed, SIZE));
	}
	for (off_t size = after.st_size; size >= before.st_size; size -= 9973) {
		CHECK_INT(truncate(p.file, size), 0);
		OK(dev_write(p.base, 0, changed, SIZE));
		OK(undo_replay(p.file, p.base, NULL, NULL, &done));
		CHECK(is_old(p.base));
	}
	end(&p);
}

TEST(a_bit_that_flips_in_the_head_or_a_record_is_noticed)
{
	struct undo_done whole, done;
	struct place p;
	struct stat st;
	uint8_t byte;
	int fd;

	begin(&p);
	OK(undo_arm(p.dev));
	for (int i = 0; i < 6; i++)
		write_some(p.dev);
	OK(undo_replay(p.file, p.base, NULL, NULL, &whole));
	CHECK_INT(stat(p.file, &st), 0);
	fd = open(p.file, O_RDWR);
	for (off_t at = 0; at < st.st_size; at += at < 60 ? 1 : at < 4096 ? 4036 : 60013) {
		int rc;

		CHECK_INT(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		CHECK_INT(pwrite(fd, &byte, 1, at), 1);
		done = whole;
		rc = undo_replay(p.file, p.base, NULL, NULL, &done);
		CHECK(at < 60 ? rc < 0 : at < 4096 || done.records < whole.records);
		byte ^= 0x10;
		CHECK_INT(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
	end(&p);
}

static int refuse(void *ctx, const struct undo_id *have)
{
	CHECK(memcmp(have, &id, sizeof(id)) == 0);
	return -EXDEV;
}

TEST(a_file_about_something_else_is_refused)
{
	struct undo_done done;
	struct dev *small;
	struct place p;

	begin(&p);
	OK(undo_arm(p.dev));
	write_some(p.dev);
	CHECK_INT(undo_replay(p.file, p.base, refuse, NULL, &done), -EXDEV);
	CHECK(!is_old(p.base));
	OK(dev_open_memory(4096, &diag, &small));
	CHECK_INT(undo_replay(p.file, small, NULL, NULL, &done), -EINVAL);
	dev_close(small);
	CHECK_INT(undo_replay("/nowhere/undo", p.base, NULL, NULL, &done), -ENOENT);
	end(&p);
}

TEST(nothing_is_overwritten_that_could_not_be_kept)
{
	struct dev *base, *bad, *dev;
	uint8_t bytes[4096] = {1};

	OK(dev_open_memory(SIZE, &diag, &base));
	OK(fault_open(base, &bad));
	OK(dev_open_undo(bad, "/nowhere/undo", &id, &dev));
	CHECK(undo_arm(dev) < 0);
	CHECK(dev_write(dev, 0, bytes, sizeof(bytes)) < 0);
	dev_close(dev);
	OK(dev_open_undo(bad, NULL, &id, &dev));
	fault_arm(bad, &(struct fault){.calls = FAULT_READ, .nth = 1, .error = EIO});
	CHECK_INT(dev_write(dev, 0, bytes, sizeof(bytes)), -EIO);
	CHECK_INT(dev_write(dev, 8192, bytes, sizeof(bytes)), -EIO);
	CHECK_INT(undo_arm(dev), -EIO);
	OK(dev_read(base, 0, bytes, sizeof(bytes)));
	CHECK_INT(bytes[0], 0);
	dev_close(dev);
	dev_close(bad);
	dev_close(base);
}

TEST(what_is_in_memory_comes_back_although_no_file_can_be_made)
{
	struct dev *dev;
	struct place p;

	begin(&p);
	OK(dev_open_undo(p.base, "/nowhere/undo", &id, &dev));
	for (int i = 0; i < 20; i++)
		write_some(dev);
	CHECK_INT(undo_arm(dev), -ENOENT);
	CHECK(dev_write(dev, 0, "x", 1) < 0);
	OK(undo_take_back(dev));
	CHECK(is_old(p.base));
	write_some(dev);
	OK(undo_take_back(dev)); /* nor now, and nobody asked for one */
	CHECK(is_old(p.base));
	dev_close(dev);
	end(&p);
}

TEST(a_file_that_is_there_is_never_overwritten)
{
	struct place p;
	int fd;

	begin(&p);
	fd = open(p.file, O_CREAT | O_WRONLY, 0600);
	CHECK_INT(write(fd, "mine", 4), 4);
	close(fd);
	CHECK_INT(undo_arm(p.dev), -EEXIST);
	CHECK(dev_write(p.dev, 0, "x", 1) < 0);
	CHECK(there(p.file));
	end(&p);
}

TEST(much_that_is_kept_goes_to_the_file)
{
	const uint64_t size = 80 << 20;
	static uint8_t mega[1 << 20];
	struct place p;
	struct dev *base, *dev;

	begin(&p);
	memset(mega, 7, sizeof(mega));
	OK(dev_open_memory(size, &diag, &base));
	for (uint64_t at = 0; at < size; at += sizeof(mega))
		OK(dev_write(base, at, mega, sizeof(mega)));
	OK(dev_open_undo(base, p.file, &id, &dev));
	OK(dev_zero(dev, 0, size));
	CHECK(there(p.file));
	OK(undo_take_back(dev));
	for (uint64_t at = 0; at < size; at += sizeof(mega)) {
		static uint8_t back[1 << 20];

		OK(dev_read(base, at, back, sizeof(back)));
		CHECK(memcmp(back, mega, sizeof(back)) == 0);
	}
	dev_close(dev);
	dev_close(base);
	end(&p);
}

int main(void)
{
	return tap_main();
}
