/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a trace file or of memory, decompressed on the way when they are zstd frames. */
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define IN_CHUNK ((size_t)128 << 10)

struct instream {
	struct diag *d;
	char *name;
	int fd; /* -1 for memory */
	const uint8_t *mem;
	size_t mem_left;
	ZSTD_DStream *z;
	uint8_t *raw; /* compressed bytes, or those read while looking for the magic number */
	size_t raw_pos, raw_len;
	bool held, frame_open, torn, seekable;
	uint8_t ahead[INSTREAM_PEEK]; /* what was looked at and not read yet */
	size_t ahead_pos, ahead_len;
};

static long read_fd(struct instream *in, void *buf, size_t n)
{
	for (;;) {
		ssize_t got = read(in->fd, buf, n);

		if (got >= 0)
			return got;
		if (errno != EINTR)
			return diag_errno(in->d, -errno, "read: %s", in->name);
	}
}

/* Some bytes as they are in the file. */
static long read_raw(struct instream *in, void *buf, size_t n)
{
	if (in->raw_pos < in->raw_len) {
		size_t left = in->raw_len - in->raw_pos;

		n = n < left ? n : left;
		memcpy(buf, in->raw + in->raw_pos, n);
		in->raw_pos += n;
		return (long)n;
	}
	if (in->fd >= 0)
		return read_fd(in, buf, n);
	n = n < in->mem_left ? n : in->mem_left;
	if (n)
		memcpy(buf, in->mem, n);
	in->mem += n;
	in->mem_left -= n;
	return (long)n;
}

static bool is_zstd(const uint8_t *p, size_t n)
{
	static const uint8_t magic[4] = {0x28, 0xb5, 0x2f, 0xfd};

	return n >= 4 && memcmp(p, magic, 4) == 0;
}

/* Reads the first bytes and decides whether they need a decompressor. */
static int sniff(struct instream *in)
{
	size_t have = 0;

	in->raw = malloc(IN_CHUNK);
	if (!in->raw)
		return diag_set(in->d, -ENOMEM, "open: %s: no memory", in->name);
	while (have < 4) {
		long got = read_raw(in, in->raw + have, IN_CHUNK - have);

		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	in->raw_len = have;
	if (!is_zstd(in->raw, have))
		return 0;
	in->z = ZSTD_createDStream();
	if (!in->z)
		return diag_set(in->d, -ENOMEM, "open: %s: no memory for zstd", in->name);
	/* 128 MiB of history is zstd's own default limit; more would be the file's wish. */
	ZSTD_DCtx_setParameter(in->z, ZSTD_d_windowLogMax, 27);
	return 0;
}

static int new_stream(const char *name, struct diag *d, struct instream **ret)
{
	struct instream *in = mem_zero(sizeof(*in));

	if (in) {
		in->name = strdup(name);
		in->d = d;
		in->fd = -1;
	}
	if (!in || !in->name) {
		free(in);
		return diag_set(d, -ENOMEM, "open: %s: no memory", name);
	}
	*ret = in;
	return 0;
}

static int open_fd(struct instream *in, const char *path)
{
	struct stat st;

	in->fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0 || fstat(in->fd, &st) < 0)
		return diag_errno(in->d, -errno, "open: %s", path);
	if (S_ISDIR(st.st_mode))
		return diag_errno(in->d, -EISDIR, "open: %s", path);
	in->seekable = S_ISREG(st.st_mode) && strcmp(path, "-") != 0;
	return 0;
}

int instream_open(const char *path, unsigned flags, struct diag *d, struct instream **ret)
{
	struct instream *in;
	int err = new_stream(path, d, &in);

	if (err < 0)
		return err;
	err = open_fd(in, path);
	if (err == 0 && !(flags & INSTREAM_RAW))
		err = sniff(in);
	if (err < 0) {
		instream_close(in);
		return err;
	}
	*ret = in;
	return 0;
}

int instream_memory(const void *p, size_t n, const char *name, unsigned flags, struct diag *d,
		    struct instream **ret)
{
	struct instream *in;
	int err = new_stream(name, d, &in);

	if (err < 0)
		return err;
	in->mem = p;
	in->mem_left = n;
	in->seekable = true;
	err = flags & INSTREAM_RAW ? 0 : sniff(in);
	if (err < 0) {
		instream_close(in);
		return err;
	}
	*ret = in;
	return 0;
}

/* More compressed bytes into raw; 1, 0 at the end, or an error. */
static int refill(struct instream *in)
{
	long got;

	in->raw_pos = in->raw_len = 0;
	got = read_raw(in, in->raw, IN_CHUNK);
	if (got < 0)
		return (int)got;
	in->raw_len = (size_t)got;
	return got > 0;
}

static long read_zstd(struct instream *in, void *buf, size_t n)
{
	ZSTD_outBuffer out = {buf, n, 0};

	while (out.pos < n) {
		ZSTD_inBuffer src = {in->raw, in->raw_len, in->raw_pos};
		size_t rc;

		/* A call that filled the caller's buffer may hold more without any input. */
		if (src.pos == src.size && !in->held) {
			int more = refill(in);

			if (more < 0)
				return more;
			if (more == 0)
				break;
			continue;
		}
		rc = ZSTD_decompressStream(in->z, &out, &src);
		if (ZSTD_isError(rc))
			return diag_set(in->d, -EINVAL, "read: %s: zstd: %s", in->name,
					ZSTD_getErrorName(rc));
		if (src.pos > in->raw_pos)
			in->frame_open = rc != 0;
		in->raw_pos = src.pos;
		in->held = out.pos == n;
	}
	in->torn = out.pos < n && in->frame_open;
	return (long)out.pos;
}

static size_t take_ahead(struct instream *in, void *buf, size_t n)
{
	n = MIN(n, in->ahead_len - in->ahead_pos);
	memcpy(buf, in->ahead + in->ahead_pos, n);
	in->ahead_pos += n;
	return n;
}

static long read_new(struct instream *in, void *buf, size_t n)
{
	size_t have = 0;

	if (in->z)
		return read_zstd(in, buf, n);
	while (have < n) {
		long got = read_raw(in, (char *)buf + have, n - have);

		if (got < 0)
			return got;
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return (long)have;
}

long instream_read(struct instream *in, void *buf, size_t n)
{
	size_t have = in->ahead_pos < in->ahead_len ? take_ahead(in, buf, n) : 0;
	long got;

	if (have == n && n != 0)
		return (long)n;
	got = read_new(in, (char *)buf + have, n - have);
	return got < 0 ? got : (long)have + got;
}

long instream_peek(struct instream *in, void *buf, size_t n)
{
	size_t left = in->ahead_len - in->ahead_pos;

	n = MIN(n, INSTREAM_PEEK);
	if (left < n) {
		long got;

		memmove(in->ahead, in->ahead + in->ahead_pos, left);
		in->ahead_pos = 0;
		in->ahead_len = left;
		got = read_new(in, in->ahead + left, n - left);
		if (got < 0)
			return got;
		left += (size_t)got;
		in->ahead_len = left;
	}
	n = MIN(n, left);
	memcpy(buf, in->ahead + in->ahead_pos, n);
	return (long)n;
}

bool instream_torn(const struct instream *in)
{
	return in->torn;
}

const char *instream_name(const struct instream *in)
{
	return in->name;
}

bool instream_again(const struct instream *in)
{
	return in->seekable;
}

void instream_close(struct instream *in)
{
	if (!in)
		return;
	ZSTD_freeDStream(in->z);
	if (in->fd >= 0)
		close(in->fd);
	free(in->raw);
	free(in->name);
	free(in);
}
