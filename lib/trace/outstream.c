/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes to a trace file or to memory through one buffer, with a running checksum, compressed when
 * asked to be. */
#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

struct outstream {
	struct diag *d;
	char *name;
	int fd; /* -1 for memory */
	int err;
	char *buf;
	size_t len;
	uint32_t crc;
	uint64_t count;
	ZSTD_CStream *z;
	void *packed;
	void *mem;
	size_t mem_len, mem_cap;
};

static int new_stream(const char *name, struct diag *d, struct outstream **ret)
{
	struct outstream *out = mem_zero(sizeof(*out));

	if (out) {
		out->d = d;
		out->fd = -1;
		out->crc = UINT32_MAX;
		out->name = strdup(name);
		out->buf = malloc(OUTSTREAM_ROOM * 2);
	}
	if (!out || !out->name || !out->buf) {
		if (out)
			outstream_close(out);
		return diag_set(d, -ENOMEM, "create: %s: no memory", name);
	}
	*ret = out;
	return 0;
}

static int start_zstd(struct outstream *out, int level)
{
	if (level == 0)
		return 0;
	out->z = ZSTD_createCStream();
	out->packed = malloc(ZSTD_CStreamOutSize());
	if (!out->z || !out->packed)
		return diag_set(out->d, -ENOMEM, "create: %s: no memory for zstd", out->name);
	ZSTD_CCtx_setParameter(out->z, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(out->z, ZSTD_c_checksumFlag, 1);
	return 0;
}

int outstream_open(const char *path, int level, struct diag *d, struct outstream **ret)
{
	struct outstream *out;
	int err = new_stream(path, d, &out);

	if (err < 0)
		return err;
	out->fd = strcmp(path, "-") == 0
		      ? dup(STDOUT_FILENO)
		      : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	err = out->fd < 0 ? diag_errno(d, -errno, "create: %s", path) : start_zstd(out, level);
	if (err < 0) {
		outstream_close(out);
		return err;
	}
	*ret = out;
	return 0;
}

int outstream_memory(struct diag *d, struct outstream **ret)
{
	return new_stream("memory", d, ret);
}

const void *outstream_bytes(const struct outstream *out, size_t *ret_len)
{
	*ret_len = out->mem_len;
	return out->mem;
}

static void fail(struct outstream *out, int err, const char *why)
{
	if (out->err == 0)
		out->err = diag_set(out->d, err, "write: %s: %s", out->name, why);
}

static void emit(struct outstream *out, const char *p, size_t n)
{
	while (n && out->err == 0 && out->fd >= 0) {
		ssize_t put = write(out->fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0) {
			out->err = diag_errno(out->d, -errno, "write: %s", out->name);
			return;
		}
		p += put;
		n -= (size_t)put;
	}
	if (n && out->err == 0) {
		if (mem_grow(&out->mem, &out->mem_cap, out->mem_len + n, 1) < 0) {
			fail(out, -ENOMEM, "no memory");
			return;
		}
		memcpy((char *)out->mem + out->mem_len, p, n);
		out->mem_len += n;
	}
}

/* Compresses n bytes; how says whether to end the frame. */
static void pack(struct outstream *out, const char *p, size_t n, ZSTD_EndDirective how)
{
	ZSTD_inBuffer src = {p, n, 0};
	size_t left;

	do {
		ZSTD_outBuffer dst = {out->packed, ZSTD_CStreamOutSize(), 0};

		left = ZSTD_compressStream2(out->z, &dst, &src, how);
		if (ZSTD_isError(left)) {
			fail(out, -EIO, ZSTD_getErrorName(left));
			return;
		}
		emit(out, out->packed, dst.pos);
	} while (how == ZSTD_e_continue ? src.pos < src.size : left != 0);
}

static void drain(struct outstream *out)
{
	out->crc = crc32c(out->crc, out->buf, out->len);
	out->count += out->len;
	if (out->z)
		pack(out, out->buf, out->len, ZSTD_e_continue);
	else
		emit(out, out->buf, out->len);
	out->len = 0;
}

char *outstream_room(struct outstream *out, size_t n)
{
	if (out->len + n > OUTSTREAM_ROOM * 2)
		drain(out);
	return out->err < 0 || n > OUTSTREAM_ROOM ? NULL : out->buf + out->len;
}

void outstream_put(struct outstream *out, size_t n)
{
	out->len += n;
}

void outstream_write(struct outstream *out, const void *p, size_t n)
{
	const char *from = p;

	while (n) {
		size_t part = n < OUTSTREAM_ROOM ? n : OUTSTREAM_ROOM;
		char *to = outstream_room(out, part);

		if (!to)
			return;
		memcpy(to, from, part);
		outstream_put(out, part);
		from += part;
		n -= part;
	}
}

uint32_t outstream_crc(struct outstream *out)
{
	drain(out);
	return ~out->crc;
}

uint64_t outstream_count(const struct outstream *out)
{
	return out->count + out->len;
}

int outstream_flush(struct outstream *out)
{
	drain(out);
	if (out->z)
		pack(out, NULL, 0, ZSTD_e_flush);
	return out->err;
}

int outstream_close(struct outstream *out)
{
	int err;

	if (out->buf)
		drain(out);
	if (out->z && out->packed)
		pack(out, NULL, 0, ZSTD_e_end);
	if (out->fd >= 0 && close(out->fd) < 0)
		fail(out, -errno, strerror(errno));
	err = out->err;
	ZSTD_freeCStream(out->z);
	free(out->packed);
	free(out->mem);
	free(out->buf);
	free(out->name);
	free(out);
	return err;
}
