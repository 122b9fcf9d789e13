/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A seekable zstd file as a device.  A read finds the frames that hold its bytes, and takes them
 * from a cache of decompressed ones; the frame that was used longest ago makes room.  One lock is
 * held from the search to the copy: decompressing is what costs.
 */
#include "io/zstd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/zstd_impl.h"

static size_t plain_bytes(const struct zstd *z, size_t frame)
{
	return (size_t)(z->frames[frame + 1].image - z->frames[frame].image);
}

/* ---- the cache ---- */

static struct zslot *find_slot(struct zstd *z, size_t frame)
{
	for (size_t i = 0; i < ZSTD_SLOTS; i++) {
		if (z->slots[i].full && z->slots[i].frame == frame)
			return &z->slots[i];
	}
	return NULL;
}

static struct zslot *oldest_slot(struct zstd *z)
{
	struct zslot *oldest = &z->slots[0];

	for (size_t i = 1; i < ZSTD_SLOTS; i++) {
		if (z->slots[i].used < oldest->used)
			oldest = &z->slots[i];
	}
	return oldest;
}

static void empty_slot(struct zstd *z, struct zslot *s)
{
	z->held -= s->cap;
	free(s->bytes);
	*s = (struct zslot){0};
}

/* A slot that has room for len bytes; its memory is used again when it fits. */
static struct zslot *make_slot(struct zstd *z, size_t len)
{
	struct zslot *s = oldest_slot(z);

	if (s->cap >= len && s->cap / 2 <= len) {
		s->full = false;
		return s;
	}
	empty_slot(z, s);
	while (z->held != 0 && z->held + len > ZSTD_CACHE) {
		struct zslot *victim = NULL;

		for (size_t i = 0; i < ZSTD_SLOTS; i++) {
			struct zslot *c = &z->slots[i];

			if (c->cap != 0 && (victim == NULL || c->used < victim->used))
				victim = c;
		}
		empty_slot(z, victim);
	}
	s->bytes = malloc(len);
	if (s->bytes == NULL)
		return NULL;
	s->cap = len;
	z->held += len;
	return s;
}

/* ---- frames ---- */

/* The compressed bytes of the frame, in z->packed. */
static int read_packed(struct zstd *z, size_t frame, size_t *ret_len)
{
	uint64_t start = z->frames[frame].file;
	size_t len = (size_t)(z->frames[frame + 1].file - start);

	if (len > z->packed_cap) {
		uint8_t *more = realloc(z->packed, len);

		if (more == NULL)
			return -ENOMEM;
		z->packed = more;
		z->packed_cap = len;
	}
	*ret_len = len;
	return dev_read(z->file, start, z->packed, len);
}

static int load(struct zstd *z, size_t frame, struct zslot **ret)
{
	size_t want = plain_bytes(z, frame), len = 0, got;
	struct zslot *s;
	int r = read_packed(z, frame, &len);

	if (r < 0)
		return r;
	s = make_slot(z, want);
	if (s == NULL)
		return -ENOMEM;
	got = ZSTD_decompressDCtx(z->ctx, s->bytes, want, z->packed, len);
	if (ZSTD_isError(got))
		return diag_set(z->dev.diag, -EUCLEAN, "corrupt zstd file: %s: frame %zu: %s",
				z->file->name, frame, ZSTD_getErrorName(got));
	if (got != want)
		return zstd_tell(z->file, "a frame holds less than the seek table says: bytes",
				 got);
	s->frame = frame;
	s->full = true;
	*ret = s;
	return 0;
}

static int get(struct zstd *z, size_t frame, struct zslot **ret)
{
	struct zslot *s = find_slot(z, frame);
	int r = s != NULL ? 0 : load(z, frame, &s);

	if (r < 0)
		return r;
	s->used = ++z->clock;
	*ret = s;
	return 0;
}

/* The last frame that begins at or before off; empty ones before it are passed over. */
static size_t frame_at(const struct zstd *z, uint64_t off)
{
	size_t low = 0, high = z->count;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (z->frames[mid].image <= off)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static int read_frames(struct zstd *z, uint64_t off, uint8_t *to, size_t len)
{
	for (size_t i = frame_at(z, off); len != 0; i++) {
		size_t skip = (size_t)(off - z->frames[i].image), n;
		struct zslot *s;
		int r;

		if (plain_bytes(z, i) == 0)
			continue;
		r = get(z, i, &s);
		if (r < 0)
			return r;
		n = MIN(len, plain_bytes(z, i) - skip);
		memcpy(to, s->bytes + skip, n);
		off += n;
		to += n;
		len -= n;
	}
	return 0;
}

/* ---- the device ---- */

static int zstd_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	struct zstd *z = (struct zstd *)dev;
	int r;

	pthread_mutex_lock(&z->lock);
	r = read_frames(z, off, buf, len);
	pthread_mutex_unlock(&z->lock);
	return r;
}

static void zstd_close(struct dev *dev)
{
	struct zstd *z = (struct zstd *)dev;

	for (size_t i = 0; i < ZSTD_SLOTS; i++)
		free(z->slots[i].bytes);
	free(z->packed);
	free(z->frames);
	ZSTD_freeDCtx(z->ctx);
	pthread_mutex_destroy(&z->lock);
	dev_close(z->file);
}

static const struct dev_ops zstd_ops = {
    .name = "zstd",
    .read = zstd_read,
    .close = zstd_close,
};

int zstd_open(struct dev *file, struct dev **ret)
{
	struct zstd *z = dev_new(sizeof(*z), &zstd_ops, file->name, file->diag);
	int r;

	if (z == NULL) {
		dev_close(file);
		return -ENOMEM;
	}
	z->file = file;
	z->dev.is_block = true;
	pthread_mutex_init(&z->lock, NULL);
	z->ctx = ZSTD_createDCtx();
	r = z->ctx != NULL
		? zstd_read_table(z)
		: diag_set(file->diag, -ENOMEM, "cannot open %s: out of memory", file->name);
	if (r < 0)
		dev_close(&z->dev);
	else
		*ret = &z->dev;
	return r;
}
