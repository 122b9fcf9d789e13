/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of a seekable zstd file: found from the end of the file, believed when its frames fill
 * the file up to where it begins. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/zstd.h"
#include "io/zstd_impl.h"

#define AT_ONCE 4096u /* entries */

struct footer {
	le32 frames;
	uint8_t flags;
	le32 magic;
};

_Static_assert(sizeof(struct footer) == ZSTD_FOOTER, "as on disk");

int zstd_tell(const struct dev *file, const char *why, uint64_t value)
{
	return diag_set(file->diag, -EUCLEAN, "corrupt zstd file: %s: %s %" PRIu64, file->name, why,
			value);
}

static int read_footer(struct dev *file, struct footer *ret)
{
	return dev_read(file, file->size - sizeof(*ret), ret, sizeof(*ret));
}

int zstd_has_table(struct dev *file)
{
	struct footer f;
	int r;

	if (file->size < sizeof(f))
		return 0;
	r = read_footer(file, &f);
	return r < 0 ? r : le32_get(f.magic) == ZSTD_FOOTER_MAGIC;
}

/* Where the table begins; *ret_step is the size of an entry. */
static int find_table(struct zstd *z, uint64_t *ret_start, size_t *ret_step)
{
	struct dev *file = z->file;
	struct footer f;
	uint64_t bytes;
	le32 head[2];
	int r = read_footer(file, &f);

	if (r < 0)
		return r;
	if ((f.flags & 0x7c) != 0)
		return zstd_tell(file, "unknown flags of the seek table:", f.flags);
	*ret_step = f.flags & 0x80 ? 12 : 8;
	z->count = le32_get(f.frames);
	bytes = z->count * (uint64_t)*ret_step + sizeof(f);
	if (bytes + sizeof(head) > file->size)
		return zstd_tell(
		    file, "the seek table has more frames than there is room for:", z->count);
	*ret_start = file->size - bytes - sizeof(head);
	r = dev_read(file, *ret_start, head, sizeof(head));
	if (r < 0)
		return r;
	if (le32_get(head[0]) != ZSTD_TABLE_MAGIC)
		return zstd_tell(file, "no seek table at offset", *ret_start);
	if (le32_get(head[1]) != bytes)
		return zstd_tell(file, "wrong length of the seek table:", le32_get(head[1]));
	return 0;
}

/* The frame's end becomes the start of the next. */
static int add_frame(struct zstd *z, size_t i, uint32_t packed, uint32_t plain)
{
	struct zframe *f = &z->frames[i];

	if (plain > ZSTD_FRAME_MAX)
		return diag_set(z->dev.diag, -EOPNOTSUPP,
				"cannot read %s: frame %zu holds %u bytes, more than %u",
				z->file->name, i, plain, ZSTD_FRAME_MAX);
	if (packed > ZSTD_compressBound(plain) + 4096)
		return zstd_tell(z->file, "a frame of the seek table is too long: bytes", packed);
	f[1].file = f->file + packed;
	if (ck_add(f->image, (uint64_t)plain, &f[1].image) || f[1].image > INT64_MAX)
		return zstd_tell(z->file, "the frames hold too much: frame", i);
	return 0;
}

static int read_entries(struct zstd *z, uint64_t at, size_t step, uint8_t *buf)
{
	int r = 0;

	for (size_t i = 0; i < z->count && r == 0;) {
		size_t n = MIN(z->count - i, (size_t)AT_ONCE);

		r = dev_read(z->file, at, buf, n * step);
		for (size_t k = 0; k < n && r == 0; k++, i++) {
			le32 packed, plain;

			memcpy(&packed, buf + k * step, 4);
			memcpy(&plain, buf + k * step + 4, 4);
			r = add_frame(z, i, le32_get(packed), le32_get(plain));
		}
		at += n * step;
	}
	return r;
}

int zstd_read_table(struct zstd *z)
{
	uint64_t start = 0;
	size_t step = 0;
	uint8_t *buf;
	int r = find_table(z, &start, &step);

	if (r < 0)
		return r;
	z->frames = mem_array(z->count + 1, sizeof(*z->frames), MEM_CAP, z->dev.diag);
	buf = malloc((size_t)AT_ONCE * 12);
	r = z->frames == NULL || buf == NULL
		? diag_set(z->dev.diag, -ENOMEM, "cannot open %s: out of memory", z->file->name)
		: read_entries(z, start + 8, step, buf);
	free(buf);
	if (r == 0 && z->frames[z->count].file != start)
		r = zstd_tell(z->file, "the frames of the seek table do not end where it begins:",
			      z->frames[z->count].file);
	if (r == 0)
		z->dev.size = z->frames[z->count].image;
	return r;
}
