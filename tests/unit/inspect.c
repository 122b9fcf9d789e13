/* SPDX-License-Identifier: BSD-2-Clause */
/* Inspection of images full of damage: whatever the bytes say, it ends, and stays in bounds. */
#include "fs_scenario.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/ctx.h"
#include "extkit/ctx.h"
#include "extkit/inspect.h"

static uint64_t seen;

static int look(const struct ek_structure *s, void *arg)
{
	(void)arg;
	for (uint32_t i = 0; i < s->nfields; i++) {
		for (uint32_t k = 0; k < s->fields[i].size; k++)
			seen += s->fields[i].bytes[k];
	}
	return 0;
}

static const char *const words[] = {
    "super",      "super:1",    "group:0",  "group:1",   "inode:2",   "inode:8",
    "inode:12",   "dir:2",      "dir:11",   "extents:2", "extents:8", "extents:12",
    "extents:13", "extents:14", "xattrs:2", "log",       "orphans"};

/* How many of the words could be shown. */
static unsigned look_at_all(struct ek_ctx *ctx, const char *path)
{
	struct ek_inspect *ins;
	unsigned shown = 0;

	if (ek_inspect_open(ctx, path, NULL, &ins) < 0)
		return 0;
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		shown += ek_inspect_show(ins, words[i], look, NULL) == 0;
	CHECK_INT(ek_inspect_close(ins), 0);
	return shown;
}

/* The bytes of a small image with something of everything. */
static uint8_t *make_bytes(uint32_t block_size, size_t *ret)
{
	static struct scenario sc;
	struct shape shape = {.block_size = block_size,
			      .size = 8 << 20,
			      .blocks_per_group = 1024,
			      .compat_on = COMPAT_ORPHAN_FILE};
	struct diag d = {0};
	struct ek_image *img;
	struct dev *dev;
	uint8_t *bytes;

	fs_make(&shape, &dev);
	CHECK_INT(fs_open(dev, IMAGE_WRITE, &d, &img), 0);
	sc.after = NULL;
	CHECK_INT(sc_run(&sc, img), 0);
	CHECK_INT(sc_setxattr(&sc, "/", "user.in-the-block", 300), 0);
	CHECK_INT(image_close(img), 0);
	bytes = malloc(dev->size);
	CHECK_INT(dev_read(dev, 0, bytes, dev->size), 0);
	*ret = dev->size;
	dev_close(dev);
	return bytes;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Bytes that are in use change: most of an image is zeros. */
static void damage(int fd, const uint8_t *bytes, size_t size, uint64_t *state)
{
	for (unsigned n = 0; n < 40;) {
		size_t at = random_next(state) % size;
		uint8_t v = (uint8_t)random_next(state);

		if (bytes[at] == 0 && random_next(state) % 50 != 0)
			continue;
		CHECK_INT(pwrite(fd, &v, 1, (off_t)at), 1);
		n++;
	}
}

static void inspect_damage(uint32_t block_size)
{
	char path[] = "/tmp/extkit-inspect-XXXXXX";
	uint64_t state = 88172645463325252ull;
	struct ek_ctx *ctx = NULL;
	int fd = mkstemp(path);
	size_t size;
	uint8_t *bytes = make_bytes(block_size, &size);

	CHECK(fd >= 0);
	CHECK_INT(ek_ctx_new(&ctx), 0);
	for (unsigned i = 0; i < 60; i++) {
		unsigned shown;

		CHECK_INT(pwrite(fd, bytes, size, 0), (int64_t)size);
		if (i > 0)
			damage(fd, bytes, size, &state);
		shown = look_at_all(ctx, path);
		CHECK(i > 0 || shown == ARRAY_SIZE(words));
	}
	CHECK(seen > 0);
	ek_ctx_free(ctx);
	close(fd);
	unlink(path);
	free(bytes);
}

TEST(damaged_images_with_small_blocks_are_looked_at_without_harm)
{
	inspect_damage(1024);
}

TEST(damaged_images_with_large_blocks_are_looked_at_without_harm)
{
	inspect_damage(4096);
}

int main(void)
{
	return tap_main();
}
