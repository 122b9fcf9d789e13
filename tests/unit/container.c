/* SPDX-License-Identifier: BSD-2-Clause */
/* Containers that are read without help: what is in them, and what their makers may claim. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/diag.h"
#include "base/str.h"
#include "io/compressed.h"
#include "io/container.h"
#include "io/dev.h"
#include "io/fault.h"
#include "io/memory.h"
#include "io/sparse.h"
#include "io/zstd.h"
#include "tap.h"

static struct diag diag;
static struct str bytes; /* the file to be */

static void put16(uint16_t v)
{
	le16 x = le16_make(v);

	str_add(&bytes, &x, 2);
}

static void put32(uint32_t v)
{
	le32 x = le32_make(v);

	str_add(&bytes, &x, 4);
}

static void begin(void)
{
	str_cut(&bytes, 0);
	diag_clear(&diag);
}

/* Opens what was put together. */
static int open_bytes(struct dev **ret)
{
	char path[] = "/tmp/extkit-container.XXXXXX";
	int fd = mkstemp(path), r;

	diag_clear(&diag);
	if (fd < 0 || write(fd, bytes.p, bytes.len) != (ssize_t)bytes.len)
		return -EIO;
	close(fd);
	r = dev_open(path, 0, &diag, ret);
	unlink(path);
	return r;
}

static int refused(void)
{
	struct dev *dev;
	int r = open_bytes(&dev);

	if (r == 0)
		dev_close(dev);
	return r;
}

/* ---- Android sparse ---- */

static void sparse_head(uint32_t block, uint32_t blocks, uint32_t chunks)
{
	begin();
	put32(SPARSE_MAGIC);
	put16(1);
	put16(0);
	put16(SPARSE_HEADER);
	put16(SPARSE_CHUNK_HEADER);
	put32(block);
	put32(blocks);
	put32(chunks);
	put32(0);
}

static void chunk(uint16_t kind, uint32_t blocks, uint32_t len)
{
	put16(kind);
	put16(0);
	put32(blocks);
	put32(len);
}

static void raw(uint32_t block, uint32_t blocks, char c)
{
	chunk(SPARSE_RAW, blocks, SPARSE_CHUNK_HEADER + block * blocks);
	memset(str_room(&bytes, (size_t)block * blocks), c, (size_t)block * blocks);
}

/* raw, fill, checksum, hole, raw: 6 blocks of 512 */
static void sparse_good(void)
{
	sparse_head(512, 6, 5);
	raw(512, 1, 'a');
	chunk(SPARSE_FILL, 2, 16);
	put32(0x44332211);
	chunk(SPARSE_CRC, 0, 16);
	put32(7);
	chunk(SPARSE_SKIP, 2, 12);
	raw(512, 1, 'z');
}

TEST(sparse_chunks_read_as_blocks_patterns_and_zeros)
{
	uint8_t all[6 * 512], some[1300];
	struct dev *dev;

	sparse_good();
	CHECK_INT(open_bytes(&dev), 0);
	CHECK_INT(dev->size, sizeof(all));
	CHECK_INT(dev_read(dev, 0, all, sizeof(all)), 0);
	CHECK(all[511] == 'a' && all[512] == 0x11 && all[513] == 0x22 && all[1535] == 0x44);
	CHECK(all[1536] == 0 && all[2559] == 0 && all[2560] == 'z' && all[3071] == 'z');
	for (uint64_t off = 0; off + sizeof(some) <= sizeof(all); off += 37) {
		CHECK_INT(dev_read(dev, off, some, sizeof(some)), 0);
		CHECK(memcmp(some, all + off, sizeof(some)) == 0);
	}
	CHECK_INT(dev_write(dev, 0, all, 1), -EROFS);
	CHECK_INT(dev_read(dev, 3000, all, 100), -EINVAL);
	dev_close(dev);
}

TEST(sparse_file_that_ends_anywhere_is_refused)
{
	size_t whole;

	sparse_good();
	whole = bytes.len;
	for (size_t n = 4; n < whole; n++) {
		sparse_good();
		str_cut(&bytes, n);
		CHECK_INT(refused(), -EUCLEAN);
	}
}

TEST(sparse_header_with_impossible_numbers_is_refused)
{
	sparse_head(0, 6, 0);
	CHECK_INT(refused(), -EUCLEAN);
	sparse_head(513, 6, 0);
	CHECK_INT(refused(), -EUCLEAN);
	sparse_head(4096, 1, 0xffffffff);
	CHECK_INT(refused(), -EUCLEAN);
	sparse_head(0xfffffffc, 0xffffffff, 0);
	CHECK_INT(refused(), -EUCLEAN);
	sparse_head(512, 6, 0);
	CHECK_INT(refused(), -EUCLEAN); /* nothing fills the image */
	sparse_good();
	bytes.p[4] = 2;
	CHECK_INT(refused(), -EOPNOTSUPP);
}

TEST(sparse_chunks_that_reach_too_far_are_refused)
{
	sparse_head(512, 1, 1);
	raw(512, 2, 'a');
	CHECK_INT(refused(), -EUCLEAN);
	sparse_head(512, 4, 1);
	chunk(SPARSE_SKIP, 0xffffffff, 12);
	CHECK_INT(refused(), -EUCLEAN);
	sparse_head(512, 1, 1);
	chunk(SPARSE_RAW, 1, 524);
	CHECK_INT(refused(), -EUCLEAN);
	sparse_head(512, 1, 1);
	chunk(SPARSE_RAW, 0x800000, 12); /* 2^32 bytes: the length in 32 bits would fit */
	CHECK_INT(refused(), -EUCLEAN);
	sparse_head(512, 1, 1);
	chunk(0xCAC5, 1, 12);
	CHECK_INT(refused(), -EUCLEAN);
}

TEST(sparse_bytes_may_be_anything)
{
	uint8_t *p, buf[512];
	struct dev *dev;

	sparse_good();
	for (size_t i = 4; i < bytes.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			p = (uint8_t *)bytes.p;
			p[i] ^= (uint8_t)(1 << bit);
			if (open_bytes(&dev) == 0) {
				for (uint64_t off = 0; off + 512 <= dev->size && off < 65536;
				     off += 512)
					CHECK_INT(dev_read(dev, off, buf, 512), 0);
				dev_close(dev);
			}
			p = (uint8_t *)bytes.p;
			p[i] ^= (uint8_t)(1 << bit);
		}
	}
}

/* ---- zstd with a seek table ---- */

#define FRAMES 5
#define FRAME  3000u

static uint32_t packed[FRAMES];

static uint8_t plain_at(uint64_t off)
{
	return (uint8_t)(off / 100 + off % 7);
}

static void frames_only(void)
{
	uint8_t plain[FRAME], out[FRAME + 1000];

	begin();
	for (unsigned i = 0; i < FRAMES; i++) {
		for (unsigned k = 0; k < FRAME; k++)
			plain[k] = plain_at(i * FRAME + k);
		packed[i] = (uint32_t)ZSTD_compress(out, sizeof(out), plain, FRAME, 3);
		str_add(&bytes, out, packed[i]);
	}
}

static void table(uint32_t count, uint8_t flags, const uint32_t *ends)
{
	put32(ZSTD_TABLE_MAGIC);
	put32(count * 8 + ZSTD_FOOTER);
	for (uint32_t i = 0; i < count; i++) {
		put32(ends[2 * i]);
		put32(ends[2 * i + 1]);
	}
	put32(count);
	str_addc(&bytes, (char)flags);
	put32(ZSTD_FOOTER_MAGIC);
}

static void zstd_with(int frame, uint32_t length, uint32_t holds, uint8_t flags)
{
	uint32_t rows[2 * FRAMES];

	frames_only();
	for (int i = 0; i < FRAMES; i++) {
		rows[2 * i] = i == frame ? length : packed[i];
		rows[2 * i + 1] = i == frame ? holds : FRAME;
	}
	table(FRAMES, flags, rows);
}

TEST(zstd_with_a_table_is_read_at_random)
{
	uint8_t buf[FRAME + 500];
	struct dev *dev;

	zstd_with(-1, 0, 0, 0);
	CHECK_INT(open_bytes(&dev), 0);
	CHECK_STR(dev->ops->name, "zstd");
	CHECK_INT(dev->size, FRAMES * FRAME);
	for (uint64_t k = 0; k < 50; k++) {
		uint64_t off = k * 7919 % (FRAMES * FRAME - sizeof(buf));

		CHECK_INT(dev_read(dev, off, buf, sizeof(buf)), 0);
		for (size_t i = 0; i < sizeof(buf); i++)
			CHECK(buf[i] == plain_at(off + i));
	}
	CHECK_INT(dev_write(dev, 0, buf, 1), -EROFS);
	dev_close(dev);
}

TEST(zstd_without_a_table_is_decompressed_into_memory)
{
	uint8_t buf[FRAME];
	struct dev *dev;

	frames_only();
	CHECK_INT(open_bytes(&dev), 0);
	CHECK_STR(dev->ops->name, "compressed");
	CHECK_INT(dev->size, FRAMES * FRAME);
	CHECK_INT(dev_read(dev, 2 * FRAME + 5, buf, sizeof(buf)), 0);
	for (size_t i = 0; i < sizeof(buf); i++)
		CHECK(buf[i] == plain_at(2 * FRAME + 5 + i));
	dev_close(dev);
	str_cut(&bytes, bytes.len - 3);
	CHECK_INT(refused(), -EUCLEAN);
}

/* A file that cannot be read may be a good one: its disk is not. */
TEST(a_compressed_file_that_cannot_be_read_is_not_called_damaged)
{
	static const enum container kinds[] = {CONTAINER_ZSTD, CONTAINER_GZIP, CONTAINER_XZ,
					       CONTAINER_BZIP2};
	struct dev *base, *faulty, *dev;

	CHECK_INT(dev_open_memory(3 << 20, &diag, &base), 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int r;

		CHECK_INT(fault_open(base, &faulty), 0);
		fault_arm(faulty, &(struct fault){.calls = FAULT_READ, .nth = 1, .error = EIO});
		diag_clear(&diag);
		r = compressed_open(faulty, kinds[i], UINT64_MAX, &dev);
		if (r != -EOPNOTSUPP) /* built without libarchive */
			CHECK_INT(r, -EIO);
		CHECK(diag.host || r == -EOPNOTSUPP);
	}
	dev_close(base);
}

TEST(zstd_table_that_does_not_fit_its_frames_is_refused)
{
	zstd_with(2, 1, FRAME, 0);
	CHECK_INT(refused(), -EUCLEAN);
	zstd_with(2, 0xffffffff, FRAME, 0);
	CHECK_INT(refused(), -EUCLEAN);
	zstd_with(-1, 0, 0, 0x40);
	CHECK_INT(refused(), -EUCLEAN);
	frames_only();
	put32(0xffffffff); /* frames, without a table */
	str_addc(&bytes, 0);
	put32(ZSTD_FOOTER_MAGIC);
	CHECK_INT(refused(), -EUCLEAN);
	zstd_with(1, packed[1], 0xffffffff, 0);
	CHECK_INT(refused(), -EOPNOTSUPP);
}

TEST(zstd_frame_that_lies_about_its_size_fails_when_it_is_read)
{
	uint8_t buf[64];
	struct dev *dev;

	for (int more = -1; more <= 1; more += 2) {
		zstd_with(1, packed[1], (uint32_t)((int)FRAME + more), 0);
		CHECK_INT(open_bytes(&dev), 0);
		CHECK_INT(dev_read(dev, 0, buf, sizeof(buf)), 0);
		CHECK_INT(dev_read(dev, FRAME + 10, buf, sizeof(buf)), -EUCLEAN);
		CHECK(strstr(diag.text, "corrupt zstd file") != NULL);
		dev_close(dev);
	}
}

TEST(zstd_bytes_may_be_anything)
{
	uint8_t *p, buf[512];
	struct dev *dev;

	zstd_with(-1, 0, 0, 0);
	for (size_t i = 0; i < bytes.len; i++) {
		p = (uint8_t *)bytes.p;
		p[i] ^= 0x55;
		if (open_bytes(&dev) == 0) {
			for (uint64_t off = 0; off + 512 <= dev->size && off < 65536; off += 512)
				(void)!dev_read(dev, off, buf, 512);
			dev_close(dev);
		}
		p = (uint8_t *)bytes.p;
		p[i] ^= 0x55;
	}
}

/* A frame of a few bytes for each 128 KiB of the same letter. */
TEST(zstd_that_would_fill_memory_is_refused)
{
	size_t piece = 64 << 20, cap = ZSTD_compressBound(piece), n;
	char *plain = malloc(piece), *out = malloc(cap);

	CHECK(plain != NULL && out != NULL);
	memset(plain, 'x', piece);
	n = ZSTD_compress(out, cap, plain, piece, 1);
	begin();
	for (int i = 0; i < 17; i++)
		str_add(&bytes, out, n);
	free(plain);
	free(out);
	CHECK_INT(refused(), -EFBIG);
}

/* ---- what is what ---- */

TEST(a_superblock_beats_what_stands_before_it)
{
	uint8_t head[CONTAINER_HEAD] = "QFI\xfb\0\0\0\3";

	CHECK_INT(container_find(head, sizeof(head)), CONTAINER_QCOW2);
	head[1024 + 4] = 8;
	head[1024 + 56] = 0x53;
	head[1024 + 57] = 0xef;
	CHECK_INT(container_find(head, sizeof(head)), CONTAINER_RAW);
	CHECK_INT(container_find(head, 8), CONTAINER_QCOW2);
	CHECK_INT(container_find(head, 3), CONTAINER_RAW);
	CHECK_INT(container_find(head, 0), CONTAINER_RAW);
}

int main(void)
{
	int r = tap_main();

	str_free(&bytes);
	return r;
}
