/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * O_DIRECT: when a file gets it, and how callers who are not aligned are served.
 *
 * A file whose size is no multiple of the alignment stays buffered: its last bytes could not be
 * written without making it longer.  An unaligned call goes through a bounce buffer; an unaligned
 * write first reads the two blocks at its edges, under a lock, so that two neighbours in one block
 * do not undo each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/mem.h"
#include "io/file.h"

#define ALIGN_GUESS 4096u /* for kernels before 6.1, which cannot be asked; no disk wants more */

/* What the kernel wants of addresses, offsets and lengths; 0: no O_DIRECT here. */
static uint32_t wanted_align(const struct file *f)
{
#ifdef STATX_DIOALIGN
	struct statx sx;

	if (statx(f->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) == 0 &&
	    (sx.stx_mask & STATX_DIOALIGN)) {
		if (sx.stx_dio_offset_align == 0)
			return 0;
		return MAX(sx.stx_dio_mem_align, sx.stx_dio_offset_align);
	}
#endif
	return MAX(ALIGN_GUESS, f->dev.sector);
}

static int set_flag(const struct file *f, bool on)
{
	int flags = fcntl(f->fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_DIRECT : flags & ~O_DIRECT;
	return fcntl(f->fd, F_SETFL, flags) < 0 ? -errno : 0;
}

void direct_start(struct file *f)
{
	uint32_t align = wanted_align(f);

	if (!is_pow2(align) || align > DIRECT_BOUNCE / 2 || f->dev.size % align != 0)
		return;
	f->bounce = mem_aligned(MAX(align, ALIGN_GUESS), DIRECT_BOUNCE);
	if (f->bounce == NULL || set_flag(f, true) < 0) {
		free(f->bounce);
		f->bounce = NULL;
		return;
	}
	f->direct = true;
	f->dev.align = align;
}

void direct_stop(struct file *f)
{
	set_flag(f, false);
	f->direct = false;
	f->dev.align = 1;
}

bool direct_fits(const struct file *f, uint64_t off, const struct iovec *iov, unsigned n)
{
	uintptr_t bits = (uintptr_t)off;

	if (!f->direct)
		return true;
	for (unsigned i = 0; i < n; i++)
		bits |= (uintptr_t)iov[i].iov_base | iov[i].iov_len;
	return bits % f->dev.align == 0;
}

/* The block-aligned stretch around one part of an unaligned call. */
struct window {
	uint64_t start;
	size_t head; /* bytes before the caller's */
	size_t len;  /* the caller's */
	size_t span; /* all, whole blocks */
};

static int fill(struct file *f, bool write, const struct window *w, size_t from, size_t len)
{
	struct iovec iov = {f->bounce + from, len};

	return file_move(f, write, w->start + from, &iov, 1, 0);
}

static int read_window(struct file *f, const struct window *w, uint8_t *buf)
{
	int r = fill(f, false, w, 0, w->span);

	if (r == 0)
		memcpy(buf, f->bounce + w->head, w->len);
	return r;
}

static int write_window(struct file *f, const struct window *w, const uint8_t *buf)
{
	size_t block = f->dev.align, last = w->span - block;
	int r = 0;

	if (w->head != 0)
		r = fill(f, false, w, 0, block);
	if (r == 0 && w->head + w->len != w->span && (last != 0 || w->head == 0))
		r = fill(f, false, w, last, block);
	if (r < 0)
		return r;
	memcpy(f->bounce + w->head, buf, w->len);
	return fill(f, true, w, 0, w->span);
}

int direct_bounce(struct file *f, bool write, uint64_t off, uint8_t *buf, size_t len)
{
	uint64_t block = f->dev.align;
	int r = 0;

	pthread_mutex_lock(&f->bounce_lock);
	while (len != 0 && r == 0) {
		struct window w = {.start = ROUND_DOWN(off, block)};

		w.head = (size_t)(off - w.start);
		w.len = MIN(len, DIRECT_BOUNCE - w.head);
		w.span = (size_t)ROUND_UP(w.head + w.len, block);
		r = write ? write_window(f, &w, buf) : read_window(f, &w, buf);
		off += w.len;
		buf += w.len;
		len -= w.len;
	}
	pthread_mutex_unlock(&f->bounce_lock);
	return r;
}
