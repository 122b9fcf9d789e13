/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the binary form block by block: checks the block, learns its blobs or hands out its ops. */
#include "base/bytes.h"
#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "trace/frames.h"
#include "trace/stream.h"
#include "trace/wtb.h"
#include "trace/wtb_decode.h"

#include <errno.h>
#include <stdlib.h>

#define HEADER_MAX ((size_t)2 << 20)

struct wtb_source {
	struct op_source base;
	struct frames *frames;
	struct blobs *blobs;
	struct wtb_decoder w;
	char *header;
	uint8_t *block;
	size_t block_cap, block_n;
	uint64_t at, timed; /* of the current block; of all */
	bool repair, whole, done;
	int err;
	struct op gap; /* stands for a damaged block */
};

static uint32_t word(const uint8_t *p)
{
	le32 v;

	memcpy(&v, p, 4);
	return le32_get(v);
}

static uint64_t word64(const uint8_t *p)
{
	le64 v;

	memcpy(&v, p, 8);
	return le64_get(v);
}

static int damaged(struct wtb_source *s, const char *why)
{
	return diag_set(s->base.d, -EINVAL, "damaged trace: %s byte %llu (decompressed): %s",
			frames_name(s->frames), (unsigned long long)s->at, why);
}

bool wtb_is(const void *p, size_t n)
{
	return n >= 12 && word(p) == WTB_SKIP_HEADER && memcmp((const char *)p + 8, "WTB1", 4) == 0;
}

/* The header frame, or nothing when the file was recompressed without it. */
static int read_header(struct wtb_source *s)
{
	struct op_header *h = &s->base.header;
	const uint8_t *p;
	size_t n, len;
	int err = frames_header(s->frames, WTB_SKIP_HEADER, HEADER_MAX, &p, &n);

	h->text = "";
	h->version = 1;
	if (err <= 0)
		return err;
	if (n < 64 || memcmp(p, "WTB1", 4) != 0)
		return damaged(s, "the first frame is not a trace header");
	if (word(p + 4) > WTB_VERSION)
		return damaged(s, "a version newer than 1");
	len = word(p + 56);
	if (len != n - 64 || word(p + n - 4) != (crc32c(UINT32_MAX, p, n - 4) ^ UINT32_MAX))
		return damaged(s, "the header's checksum does not match");
	s->header = malloc(len + 1);
	if (!s->header)
		return diag_set(s->base.d, -ENOMEM, "read: no memory");
	memcpy(s->header, p + 60, len);
	s->header[len] = 0;
	h->text = s->header;
	h->len = len;
	h->plain_crc = word(p + 8) & 1;
	h->block = word(p + 12);
	h->page = word(p + 16);
	h->hz = word(p + 20);
	h->lost = word64(p + 24);
	return 0;
}

/* The next block into s->block: 1, 0 at the end, or an error. */
static int next_block(struct wtb_source *s)
{
	uint8_t head[8];
	void *p = s->block;
	size_t n;
	int err = frames_read(s->frames, head, 8);

	if (err <= 0)
		return err;
	s->at += s->block_n;
	n = word(head + 4);
	if (n < 12 || n > WTB_BLOCK_MAX)
		return damaged(s, "a block with an impossible length");
	if (mem_grow(&p, &s->block_cap, n, 1) < 0)
		return diag_set(s->base.d, -ENOMEM, "read: no memory for a block");
	s->block = p;
	s->block_n = n;
	memcpy(s->block, head, 8);
	return frames_read(s->frames, s->block + 8, n - 8);
}

static int learn_blobs(struct wtb_source *s)
{
	const uint8_t *p = s->block + 8, *end = s->block + s->block_n - 4;

	while (p < end) {
		uint8_t hash[32], *room;
		uint32_t n, known;

		if (end - p < 36)
			return damaged(s, "a blob runs past its block");
		n = word(p + 32);
		if (n == 0 || n > BLOBS_MAX || n > (size_t)(end - p) - 36)
			return damaged(s, "a blob with an impossible length");
		sha256_of(p + 36, n, hash);
		if (memcmp(hash, p, 32) != 0)
			return damaged(s, "a blob does not have its SHA-256");
		if (!blobs_find(s->blobs, hash, &known)) {
			room = blobs_room(s->blobs, n);
			if (!room)
				return diag_set(s->base.d, -ENOMEM, "read: no memory for a blob");
			memcpy(room, p + 36, n);
			blobs_add(s->blobs, hash, n);
		}
		p += 36 + n;
	}
	return 0;
}

static int end_mark(struct wtb_source *s)
{
	if (s->block_n != 24)
		return damaged(s, "an end mark of another length");
	s->done = true;
	s->whole = (word(s->block + 16) & 1) && word64(s->block + 8) == s->timed;
	return 0;
}

static bool block_is_good(const struct wtb_source *s)
{
	size_t n = s->block_n - 4;

	return word(s->block + n) == (crc32c(UINT32_MAX, s->block, n) ^ UINT32_MAX);
}

/* What a damaged block leaves behind: a gap of the items it would have had. */
static void make_gap(struct wtb_source *s, uint64_t lost)
{
	op_clear(&s->gap);
	s->gap.code = OP_GAP;
	s->gap.plain = 0;
	s->gap.time = s->w.time;
	s->gap.arg = lost;
	s->w.left = 0;
	s->w.why = NULL;
}

/* How many items a damaged block claims to have. */
static uint64_t claimed(const struct wtb_source *s)
{
	return s->block_n >= WTB_BODY && word(s->block) == WTB_OPS ? word(s->block + 8) : 0;
}

/* Gets ready for the next items: 1 also when a gap is to be handed out, 0 at the end, or an
 * error. */
static int advance(struct wtb_source *s, bool *gap)
{
	int err = next_block(s);

	*gap = false;
	if (err <= 0) {
		s->done = true;
		return err;
	}
	err = block_is_good(s) ? 0 : damaged(s, "the block's checksum does not match");
	if (err == 0 && word(s->block) == WTB_OPS) {
		err = wtb_decode_start(&s->w, s->block, s->block_n);
		if (err == -EINVAL)
			err = damaged(s, s->w.why);
	} else if (err == 0 && word(s->block) == WTB_BLOBS) {
		err = learn_blobs(s);
	} else if (err == 0 && word(s->block) == WTB_END) {
		err = end_mark(s);
	} else if (err == 0) {
		err = damaged(s, "an unknown kind of block");
	}
	if (err < 0 && err != -ENOMEM && s->repair) {
		make_gap(s, claimed(s));
		*gap = true;
		err = 0;
	}
	return err < 0 ? err : 1;
}

static int give_gap(struct wtb_source *s, const struct op **ret)
{
	if (s->base.d)
		diag_clear(s->base.d);
	*ret = &s->gap;
	s->timed++;
	return 1;
}

static int wtb_next(struct op_source *base, const struct op **ret)
{
	struct wtb_source *s = (struct wtb_source *)base;
	bool gap;

	for (;;) {
		int err = s->err < 0 ? s->err : wtb_decode(&s->w);

		if (err > 0) {
			s->timed += s->w.op.code < OP_COMMENT;
			*ret = &s->w.op;
			return 1;
		}
		if (err == 0 && s->done)
			return 0;
		if (err == -EINVAL && s->err == 0 && s->repair) {
			make_gap(s, (uint64_t)s->w.left + 1);
			return give_gap(s, ret);
		}
		if (err == -EINVAL && s->err == 0)
			damaged(s, s->w.why);
		if (err == 0)
			err = advance(s, &gap);
		if (err > 0 && gap)
			return give_gap(s, ret);
		if (err < 0) {
			s->err = err;
			return err;
		}
	}
}

static bool wtb_whole(const struct op_source *base)
{
	return ((const struct wtb_source *)base)->whole;
}

static void wtb_close(struct op_source *base)
{
	struct wtb_source *s = (struct wtb_source *)base;

	frames_free(s->frames);
	blobs_free(s->blobs);
	wtb_decoder_free(&s->w);
	free(s->header);
	free(s->block);
	free(s);
}

static const struct op_source_ops wtb_source_ops = {
    .next = wtb_next,
    .whole = wtb_whole,
    .close = wtb_close,
};

int wtb_read(struct instream *in, unsigned flags, struct diag *d, struct op_source **ret)
{
	struct wtb_source *s = mem_zero(sizeof(*s));
	int err;

	if (!s) {
		instream_close(in);
		return diag_set(d, -ENOMEM, "read: no memory");
	}
	s->base.ops = &wtb_source_ops;
	s->base.d = d;
	s->repair = flags & WTB_REPAIR;
	op_clear(&s->w.op);
	err = frames_new(in, d, &s->frames);
	s->blobs = blobs_new(BLOBS_READER);
	s->w.blobs = s->blobs;
	if (err == 0 && !s->blobs)
		err = diag_set(d, -ENOMEM, "read: no memory");
	if (err == 0)
		err = read_header(s);
	if (err < 0) {
		wtb_close(&s->base);
		return err;
	}
	*ret = &s->base;
	return 0;
}
