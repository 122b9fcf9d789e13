/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes of a replay onto a folder: each recorded call becomes one call of the same length, whatever
 * its size, so that the kernel sees what it saw when the trace was made.  What is written repeats a
 * buffer by reference (an iovec for each repetition) and is never assembled.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "trace/target_folder.h"

#define VECS      1024u             /* IOV_MAX: one call moves up to a GiB */
#define COPY_MAX  65536u            /* a step of a copy whose source is not in the folder */
#define STORE_MAX ((size_t)1 << 20) /* of stores at once; whole repetitions of the pattern */
#define READ_MAX  0x7ffff000u       /* the most that one read(2) returns */

static bool recorded(const struct op *o, uint64_t len)
{
	return (o->data_kind == DATA_BLOB || o->data_kind == DATA_INLINE) &&
	       o->data.bytes != NULL && o->data.n >= len;
}

/* Makes scratch hold at least n bytes. */
static int scratch_room(struct folder_target *t, size_t n)
{
	uint8_t *p;

	if (n <= t->scratch_cap)
		return 0;
	p = mem_aligned(4096, n);
	if (p == NULL)
		return -ENOMEM;
	free(t->scratch);
	t->scratch = p;
	t->scratch_cap = n;
	return 0;
}

const uint8_t *folder_bytes(struct folder_target *t, const struct op *o, uint64_t len)
{
	if (recorded(o, len)) {
		if (scratch_room(t, len) < 0)
			return NULL;
		memcpy(t->scratch, o->data.bytes, len);
		return t->scratch;
	}
	if (len > FILL_BYTES)
		return NULL;
	return o->data_kind == DATA_ZERO ? t->zeros : t->pattern;
}

static int fill_vecs(uint8_t *p, uint64_t len, struct iovec vec[VECS])
{
	int n = 0;

	while (len != 0 && n < (int)VECS) {
		size_t piece = MIN(len, (uint64_t)FILL_BYTES);

		vec[n++] = (struct iovec){p, piece};
		len -= piece;
	}
	return n;
}

/* Up to len bytes that repeat p at off, in as few calls as the kernel allows. */
static ssize_t write_repeated(int fd, uint8_t *p, uint64_t len, uint64_t off, int rwf)
{
	struct iovec vec[VECS];
	uint64_t done = 0;

	while (done < len) {
		uint8_t *from = p + done % 256;
		uint64_t want =
		    done % 256 != 0 ? MIN(len - done, FILL_BYTES - done % 256) : len - done;
		ssize_t n = pwritev2(fd, vec, fill_vecs(from, want, vec), (off_t)(off + done), rwf);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return done != 0 ? (ssize_t)done : n < 0 ? -errno : 0;
		done += (uint64_t)n;
	}
	return (ssize_t)done;
}

static ssize_t write_once(int fd, const uint8_t *p, uint64_t len, uint64_t off, int rwf)
{
	uint64_t done = 0;

	while (done < len) {
		struct iovec v = {(uint8_t *)(uintptr_t)(p + done), len - done};
		ssize_t n = pwritev2(fd, &v, 1, (off_t)(off + done), rwf);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return done != 0 ? (ssize_t)done : n < 0 ? -errno : 0;
		done += (uint64_t)n;
	}
	return (ssize_t)done;
}

ssize_t folder_write(struct folder_target *t, int fd, const struct op *o, int rwf)
{
	if (o->off > INT64_MAX || o->len > INT64_MAX - o->off)
		return -EFBIG;
	if (recorded(o, o->len)) {
		const uint8_t *p = folder_bytes(t, o, o->len);

		return p != NULL ? write_once(fd, p, o->len, o->off, rwf) : -ENOMEM;
	}
	return write_repeated(fd, o->data_kind == DATA_ZERO ? t->zeros : t->pattern, o->len, o->off,
			      rwf);
}

int folder_fill(struct folder_target *t, int fd, uint64_t len)
{
	ssize_t n = len <= INT64_MAX ? write_repeated(fd, t->pattern, len, 0, 0) : -EFBIG;

	return n < 0 ? (int)n : (uint64_t)n < len ? -ENOSPC : 0;
}

int folder_read(struct folder_target *t, const struct op *o)
{
	struct iovec vec[VECS];
	int fd = folder_fd(t, o->handle);
	uint64_t done = 0, len = MIN(o->len, (uint64_t)READ_MAX);

	if (fd < 0)
		return -EBADF;
	/* System calls refuse what ends behind every file; for other targets there is nothing. */
	len = o->off > INT64_MAX ? 0 : MIN(len, INT64_MAX - o->off);
	while (done < len) {
		int vecs = fill_vecs(t->scratch, len - done, vec);
		ssize_t n = preadv(fd, vec, vecs, (off_t)(o->off + done));

		if (n < 0 && errno == EISDIR)
			return 0; /* a folder was listed */
		if (n <= 0)
			return n < 0 ? -errno : 0;
		done += (uint64_t)n;
	}
	return 0;
}

/* ---- mappings ---- */

struct window {
	uint8_t *map; /* of whole pages */
	size_t len, skip;
};

/* Maps the pages of [off, off + len) as far as the file reaches; 1, or 0 when it reaches nothing.
 */
static int map_range(int fd, uint64_t off, uint64_t len, int prot, struct window *ret)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = off & ~(page - 1), end;
	struct stat st;
	void *p;

	if (off > INT64_MAX - page || fstat(fd, &st) < 0)
		return -EINVAL;
	end = ((uint64_t)st.st_size + page - 1) & ~(page - 1);
	end = MIN(end, len > INT64_MAX - off - page ? INT64_MAX : off + len);
	if (end <= off)
		return 0;
	p = mmap(NULL, end - start, prot, MAP_SHARED, fd, (off_t)start);
	if (p == MAP_FAILED)
		return -errno;
	*ret = (struct window){p, end - start, off - start};
	return 1;
}

/* read(2) into the mapping: the same faults as stores by the program, but where the file system has
 * no room this fails, and a store would be a signal. */
static int store_piece(struct folder_target *t, const struct op *piece, uint8_t *to)
{
	size_t done = 0, len = (size_t)piece->len;

	if (folder_write(t, t->stores, piece, 0) != (ssize_t)len)
		return -ENOMEM;
	while (done < len) {
		ssize_t n = pread(t->stores, to + done, len - done, (off_t)done);

		if (n <= 0)
			return n < 0 && errno != EFAULT ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

/* In pieces: a mapping may be as large as a file full of holes, and memory is not. */
static int store_bytes(struct folder_target *t, const struct op *o, uint8_t *to, size_t len)
{
	bool kept = recorded(o, len);
	struct op piece = *o;
	int rc = 0;

	if (t->stores < 0)
		t->stores = memfd_create("stores", MFD_CLOEXEC);
	if (t->stores < 0)
		return -errno;
	piece.off = 0;
	for (size_t done = 0; done < len && rc == 0; done += (size_t)piece.len) {
		piece.len = MIN(len - done, STORE_MAX);
		if (kept) {
			piece.data.bytes = o->data.bytes + done;
			piece.data.n = o->data.n - (uint32_t)done;
		}
		rc = store_piece(t, &piece, to + done);
	}
	return rc;
}

/* The program's own mapping may have been of any size: what counts is the store and its faults. */
int folder_store(struct folder_target *t, const struct op *o)
{
	int fd = folder_fd(t, o->handle), rc;
	struct window w;

	if (fd < 0)
		return -EBADF;
	if (t->no_stores)
		return 0;
	rc = map_range(fd, o->off, o->len, PROT_READ | PROT_WRITE, &w);
	if (rc <= 0)
		return rc;
	rc = store_bytes(t, o, w.map + w.skip, w.len - w.skip);
	munmap(w.map, w.len);
	return rc;
}

int folder_msync(struct folder_target *t, const struct op *o)
{
	int fd = folder_fd(t, o->handle), rc;
	struct window w;

	if (fd < 0)
		return -EBADF;
	if (t->no_stores || (o->flags & OPF_ASYNC) != 0)
		return 0;
	rc = map_range(fd, o->off, o->len, PROT_READ, &w);
	if (rc <= 0)
		return rc;
	rc = msync(w.map, w.len, MS_SYNC) < 0 ? -errno : 0;
	munmap(w.map, w.len);
	return rc;
}

/* ---- copies ---- */

/* The source lies outside the traced root: its bytes are the pattern, in steps of a pipe. */
static int copy_from_outside(struct folder_target *t, int to, const struct op *o)
{
	uint64_t done = 0;

	if (o->off2 > INT64_MAX || o->len > INT64_MAX - o->off2)
		return -EFBIG;
	while (done < o->len) {
		uint64_t n = MIN(o->len - done, (uint64_t)COPY_MAX);
		ssize_t rc = write_repeated(to, t->pattern, n, o->off2 + done, 0);

		if (rc < (ssize_t)n)
			return rc < 0 ? (int)rc : -ENOSPC;
		done += n;
	}
	return 0;
}

int folder_copy(struct folder_target *t, const struct op *o)
{
	int from = o->handle != 0 ? folder_fd(t, o->handle) : -1, to = folder_fd(t, o->handle2);
	loff_t in = (loff_t)o->off, out = (loff_t)o->off2;
	uint64_t done = 0;

	if (to < 0 || (from < 0 && o->handle != 0))
		return -EBADF;
	if (from < 0)
		return copy_from_outside(t, to, o);
	while (done < o->len) {
		size_t want = MIN(o->len - done, (uint64_t)1 << 30);
		ssize_t n = copy_file_range(from, &in, to, &out, want, 0);

		if (n < 0)
			return -errno;
		if (n == 0)
			break; /* the source ends here */
		done += (uint64_t)n;
	}
	return 0;
}
