/* SPDX-License-Identifier: BSD-2-Clause */
/* Contents that a manifest has in its lines, or in files beside it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"
#include "tree/manifest_impl.h"
#include "tree/spec.h"

/* Bytes [off, off + len) of what base64 stands for. */
static int read_base64(struct reader *r, const struct place *p, uint64_t off, uint8_t *to,
		       size_t len)
{
	char text[4096];
	uint8_t bytes[3072];

	while (len > 0) {
		uint64_t at = off / 3 * 4;
		size_t want = (size_t)MIN((uint64_t)sizeof(text), p->len - at),
		       skip = (size_t)(off % 3);
		size_t have, n;

		if (at >= p->len || pread(r->fd, text, want, (off_t)(p->at + at)) != (ssize_t)want)
			return diag_errno(r->s.diag, -EIO, "cannot read %s", r->s.name);
		if (spec_unbase64(text, want, bytes, &have) < 0 || have <= skip)
			return diag_set(r->s.diag, -EINVAL,
					"manifest %s: contents at byte %" PRIu64 " are no base64",
					r->s.name, p->at + at);
		n = MIN(len, have - skip);
		memcpy(to, bytes + skip, n);
		to += n;
		off += n;
		len -= n;
	}
	return 0;
}

static int read_file(struct reader *r, const struct place *p, uint64_t token, uint64_t off,
		     uint8_t *to, size_t len)
{
	if (r->open_fd < 0 || r->open_token != token) {
		if (r->open_fd >= 0)
			close(r->open_fd);
		r->open_token = token;
		r->open_fd = openat(r->folder, p->text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (r->open_fd < 0)
			return diag_errno(r->s.diag, -errno, "cannot read %s", p->text);
	}
	while (len > 0) {
		ssize_t n = pread(r->open_fd, to, len, (off_t)off);

		if (n <= 0)
			return n < 0 ? diag_errno(r->s.diag, -errno, "cannot read %s", p->text)
				     : diag_set(r->s.diag, -ESTALE, "changed while it was read: %s",
						p->text);
		to += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Bytes of one range, or of the whole. */
static int read_packed(struct reader *r, const struct place *p, uint64_t off, uint8_t *to,
		       size_t len)
{
	if (p->kind == PLACE_BASE64)
		return read_base64(r, p, off, to, len);
	memcpy(to, p->text + off, len);
	return 0;
}

/* The first range that ends behind off, from the last one on where the same file goes on: who asks
 * for one range after the other does not pass over all of them each time. */
static void find_range(struct reader *r, uint64_t token, uint64_t off)
{
	const struct place *p = &r->places[token];
	struct range_cursor *c = &r->cursor;

	if (c->token != token || c->at == p->ndata || p->data[c->at].from > off)
		*c = (struct range_cursor){.token = token};
	for (; c->at < p->ndata && p->data[c->at].to <= off; c->at++)
		c->packed += p->data[c->at].to - p->data[c->at].from;
}

int manifest_read(struct tree_source *s, uint64_t token, uint64_t off, void *buf, size_t len)
{
	struct reader *r = container_of(s, struct reader, s);
	const struct place *p = &r->places[token];
	uint64_t packed, end = off + len;
	uint8_t *to = buf;
	int rc = 0;

	if (p->kind == PLACE_FILE)
		return read_file(r, p, token, off, to, len);
	if (p->data == NULL)
		return read_packed(r, p, off, to, len);
	memset(to, 0, len);
	find_range(r, token, off);
	packed = r->cursor.packed;
	for (size_t i = r->cursor.at; i < p->ndata && p->data[i].from < end && rc == 0; i++) {
		uint64_t from = MAX(p->data[i].from, off), till = MIN(p->data[i].to, end);

		rc = read_packed(r, p, packed + from - p->data[i].from, to + (from - off),
				 (size_t)(till - from));
		packed += p->data[i].to - p->data[i].from;
	}
	return rc;
}
