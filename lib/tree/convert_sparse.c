/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An Android sparse image (io/sparse.h).  Neighbours of one kind share a chunk, whose header is
 * written when the chunk ends; the file's header comes last of all.  Zeros are a pattern, since a
 * device that is flashed with the image may hold anything; what nobody uses is left out.
 */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/diag.h"
#include "io/sparse.h"
#include "tree/convert.h"

#define BLOCK_MAX     4096u
#define RAW_BYTES_MAX ((uint64_t)64 << 20) /* readers may take a chunk into memory whole */

struct sparse_form {
	struct form_file file;
	uint32_t block, chunks;
	uint16_t kind; /* of the open chunk; 0: none */
	uint32_t fill;
	uint64_t header; /* where it goes */
	uint64_t bytes;  /* of the image in it */
};

static int sparse_begin(struct form_file *f)
{
	struct sparse_form *s = (struct sparse_form *)f;

	s->block = BLOCK_MAX;
	while (s->block > 4 && f->size % s->block != 0)
		s->block /= 2;
	if (f->size % s->block != 0)
		return diag_set(f->diag, -EINVAL, "%s: %llu bytes are no blocks of 4", f->name,
				(unsigned long long)f->size);
	if (f->size / s->block > UINT32_MAX)
		return diag_set(f->diag, -EFBIG, "%s: too large for Android sparse: %llu bytes",
				f->name, (unsigned long long)f->size);
	f->at = SPARSE_HEADER;
	return 0;
}

static int end_chunk(struct sparse_form *s)
{
	uint32_t data = s->kind == SPARSE_RAW ? (uint32_t)s->bytes : s->kind == SPARSE_FILL ? 4 : 0;
	uint8_t h[SPARSE_CHUNK_HEADER + 4] = {0};
	size_t len = SPARSE_CHUNK_HEADER + (s->kind == SPARSE_FILL ? 4 : 0);
	le16 kind = le16_make(s->kind);
	le32 blocks = le32_make((uint32_t)(s->bytes / s->block));
	le32 bytes = le32_make(SPARSE_CHUNK_HEADER + data);

	if (s->kind == 0)
		return 0;
	memcpy(h, &kind, 2);
	memcpy(h + 4, &blocks, 4);
	memcpy(h + 8, &bytes, 4);
	memcpy(h + 12, &s->fill, 4);
	s->kind = 0;
	return form_put(&s->file, s->header, h, len);
}

/* len bytes of the image belong to a chunk of that kind. */
static int extend(struct sparse_form *s, uint16_t kind, uint32_t fill, uint64_t len)
{
	bool fits = s->kind == kind && (kind != SPARSE_FILL || s->fill == fill) &&
		    (kind != SPARSE_RAW || s->bytes + len <= RAW_BYTES_MAX);
	int rc = fits ? 0 : end_chunk(s);

	if (rc < 0)
		return rc;
	if (!fits) {
		s->kind = kind;
		s->fill = fill;
		s->bytes = 0;
		s->header = s->file.at;
		s->file.at += SPARSE_CHUNK_HEADER + (kind == SPARSE_FILL ? 4u : 0u);
		s->chunks++;
	}
	s->bytes += len;
	return 0;
}

/* Whether the block is one word again and again. */
static bool is_fill(const uint8_t *p, size_t len)
{
	return memcmp(p, p + 4, len - 4) == 0;
}

static int add_raw(struct sparse_form *s, const uint8_t *p, size_t len)
{
	int rc = len != 0 ? extend(s, SPARSE_RAW, 0, len) : 0;

	return rc < 0 || len == 0 ? rc : form_add(&s->file, p, len);
}

static int sparse_data(struct form_file *f, uint64_t off, const uint8_t *buf, size_t len)
{
	struct sparse_form *s = (struct sparse_form *)f;
	size_t from = 0;
	int rc = 0;

	for (size_t at = 0; at < len && rc == 0; at += s->block) {
		uint32_t fill;

		if (!is_fill(buf + at, s->block))
			continue;
		memcpy(&fill, buf + at, 4);
		rc = add_raw(s, buf + from, at - from);
		if (rc == 0)
			rc = extend(s, SPARSE_FILL, fill, s->block);
		from = at + s->block;
	}
	return rc < 0 ? rc : add_raw(s, buf + from, len - from);
}

static int sparse_zeros(struct form_file *f, uint64_t off, uint64_t len, bool unused)
{
	return extend((struct sparse_form *)f, unused ? SPARSE_SKIP : SPARSE_FILL, 0, len);
}

static int sparse_finish(struct form_file *f)
{
	struct sparse_form *s = (struct sparse_form *)f;
	uint8_t h[SPARSE_HEADER] = {0};
	const le32 words[] = {le32_make(SPARSE_MAGIC),
			      le32_make(1),
			      le32_make(SPARSE_HEADER | SPARSE_CHUNK_HEADER << 16),
			      le32_make(s->block),
			      le32_make((uint32_t)(f->size / s->block)),
			      le32_make(s->chunks)};
	int rc = end_chunk(s);

	memcpy(h, words, sizeof(words));
	return rc < 0 ? rc : form_put(f, 0, h, sizeof(h));
}

const struct form_ops form_sparse = {
    .bytes = sizeof(struct sparse_form),
    .begin = sparse_begin,
    .data = sparse_data,
    .zeros = sparse_zeros,
    .finish = sparse_finish,
};
