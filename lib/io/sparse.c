/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An Android sparse image as a device: its chunks are read into a table, sorted as they come by the
 * first byte of the image they stand for, and a read is a binary search and a walk from there.
 */
#include "io/sparse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/dev_impl.h"

struct sparse_head {
	le32 magic;
	le16 major, minor, header, chunk_header;
	le32 block, blocks, chunks, checksum;
};

struct sparse_chunk {
	le16 kind, reserved;
	le32 blocks, bytes;
};

_Static_assert(sizeof(struct sparse_head) == SPARSE_HEADER, "as on disk");
_Static_assert(sizeof(struct sparse_chunk) == SPARSE_CHUNK_HEADER, "as on disk");

struct run {
	uint64_t start; /* in the image */
	uint64_t at;    /* in the file, with SPARSE_RAW */
	uint32_t fill;
	uint32_t kind;
};

struct sparse {
	struct dev dev;
	struct dev *file;
	struct run *runs; /* without empty ones */
	size_t count;
};

static int tell_damage(const struct dev *file, const char *why, uint64_t value)
{
	return diag_set(file->diag, -EUCLEAN, "corrupt Android sparse image: %s: %s %" PRIu64,
			file->name, why, value);
}

static int check_head(const struct dev *file, const struct sparse_head *h, uint64_t *ret_size)
{
	uint32_t block = le32_get(h->block);
	uint64_t size;

	if (le16_get(h->major) != 1)
		return diag_set(file->diag, -EOPNOTSUPP,
				"cannot read %s: it is Android sparse of version %u, not 1",
				file->name, le16_get(h->major));
	if (le16_get(h->header) < SPARSE_HEADER)
		return tell_damage(file, "bytes of the header", le16_get(h->header));
	if (le16_get(h->chunk_header) < SPARSE_CHUNK_HEADER)
		return tell_damage(file, "bytes of a chunk's header", le16_get(h->chunk_header));
	if (block == 0 || block % 4 != 0)
		return tell_damage(file, "block size", block);
	size = (uint64_t)le32_get(h->blocks) * block;
	if (size > INT64_MAX)
		return tell_damage(file, "bytes", size);
	if ((uint64_t)le32_get(h->chunks) * le16_get(h->chunk_header) > file->size)
		return tell_damage(file,
				   "more chunks than the file has room for:", le32_get(h->chunks));
	*ret_size = size;
	return 0;
}

/* How many bytes of data a chunk must have in the file; UINT64_MAX: there is no such kind. */
static uint64_t data_bytes(uint32_t kind, uint64_t image_bytes)
{
	switch (kind) {
	case SPARSE_RAW:
		return image_bytes;
	case SPARSE_FILL:
	case SPARSE_CRC:
		return 4;
	case SPARSE_SKIP:
		return 0;
	default:
		return UINT64_MAX;
	}
}

/* Where the reading of the table is. */
struct place {
	uint64_t file, image;
	uint32_t header, block;
};

static int read_chunk(struct sparse *s, struct place *at)
{
	struct sparse_chunk c;
	uint64_t bytes, data;
	struct run *run = &s->runs[s->count];
	int r = at->file > s->file->size || at->header > s->file->size - at->file
		    ? tell_damage(s->file, "the file ends before the chunk at", at->file)
		    : dev_read(s->file, at->file, &c, sizeof(c));

	if (r < 0)
		return r;
	bytes = (uint64_t)le32_get(c.blocks) * at->block;
	data = data_bytes(le16_get(c.kind), bytes);
	if (data == UINT64_MAX)
		return tell_damage(s->file, "unknown kind of chunk", le16_get(c.kind));
	if (le32_get(c.bytes) != data + at->header)
		return tell_damage(s->file, "wrong number of bytes in a chunk:", le32_get(c.bytes));
	if (data > s->file->size - at->file - at->header)
		return tell_damage(s->file, "the file ends inside of the chunk at", at->file);
	*run =
	    (struct run){.start = at->image, .at = at->file + at->header, .kind = le16_get(c.kind)};
	at->file += at->header + data;
	if (run->kind == SPARSE_CRC || bytes == 0)
		return bytes == 0 ? 0 : tell_damage(s->file, "blocks in a checksum:", bytes);
	if (bytes > s->dev.size - at->image)
		return tell_damage(s->file, "chunks reach past the end of the image, which has",
				   s->dev.size);
	at->image += bytes;
	s->count++;
	return run->kind == SPARSE_FILL ? dev_read(s->file, run->at, &run->fill, 4) : 0;
}

static int read_table(struct sparse *s)
{
	struct sparse_head h;
	struct place at;
	uint32_t chunks;
	int r =
	    s->file->size < sizeof(h)
		? tell_damage(s->file, "the file ends inside of the header: bytes", s->file->size)
		: dev_read(s->file, 0, &h, sizeof(h));

	if (r == 0)
		r = check_head(s->file, &h, &s->dev.size);
	if (r < 0)
		return r;
	chunks = le32_get(h.chunks);
	s->runs = mem_array((size_t)chunks + 1, sizeof(struct run), MEM_CAP, s->dev.diag);
	if (s->runs == NULL)
		return -ENOMEM;
	at = (struct place){.file = le16_get(h.header),
			    .header = le16_get(h.chunk_header),
			    .block = le32_get(h.block)};
	for (uint32_t i = 0; i < chunks && r == 0; i++)
		r = read_chunk(s, &at);
	if (r == 0 && at.image != s->dev.size)
		r = tell_damage(s->file, "its chunks do not fill the image: bytes", at.image);
	return r;
}

/* ---- the device ---- */

/* The run that holds the byte off, which is inside of the image. */
static size_t run_at(const struct sparse *s, uint64_t off)
{
	size_t low = 0, high = s->count;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (s->runs[mid].start <= off)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static void fill(uint8_t *buf, uint64_t off, size_t len, uint32_t pattern)
{
	uint8_t bytes[4];

	memcpy(bytes, &pattern, sizeof(bytes));
	if (bytes[0] == bytes[1] && bytes[1] == bytes[2] && bytes[2] == bytes[3]) {
		memset(buf, bytes[0], len);
		return;
	}
	for (size_t i = 0; i < len; i++)
		buf[i] = bytes[(off + i) % 4];
}

static int sparse_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	struct sparse *s = (struct sparse *)dev;
	uint8_t *to = buf;
	size_t n;
	int r = 0;

	for (size_t i = run_at(s, off); len != 0 && r == 0; i++) {
		const struct run *run = &s->runs[i];
		uint64_t end = i + 1 < s->count ? run[1].start : dev->size;

		n = (size_t)MIN((uint64_t)len, end - off);
		if (run->kind == SPARSE_RAW)
			r = dev_read(s->file, run->at + (off - run->start), to, n);
		else
			fill(to, off, n, run->kind == SPARSE_FILL ? run->fill : 0);
		off += n;
		to += n;
		len -= n;
	}
	return r;
}

static void sparse_close(struct dev *dev)
{
	struct sparse *s = (struct sparse *)dev;

	free(s->runs);
	dev_close(s->file);
}

static const struct dev_ops sparse_ops = {
    .name = "sparse",
    .read = sparse_read,
    .close = sparse_close,
};

int sparse_open(struct dev *file, struct dev **ret)
{
	struct sparse *s = dev_new(sizeof(*s), &sparse_ops, file->name, file->diag);
	int r;

	if (s == NULL) {
		dev_close(file);
		return -ENOMEM;
	}
	s->file = file;
	s->dev.is_block = true;
	r = read_table(s);
	if (r < 0)
		dev_close(&s->dev);
	else
		*ret = &s->dev;
	return r;
}
