// SPDX-License-Identifier: BSD-2-Clause
/* The binary form of traces: lossless both ways, torn files give what they have, lies are found. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/diag.h"
#include "every_op.h"
#include "trace/stream.h"
#include "trace/wtb.h"
#include "trace/wtb_decode.h"
#include "trace/wtb_encode.h"
#include "trace/wtr.h"

static struct diag diag;

/* Copies a source into a new memory sink of either form; the caller frees. */
static char *copy_to(struct op_source *s, bool binary, size_t *ret_n)
{
	struct outstream *out;
	struct op_sink *k;
	const void *p;
	char *copy = NULL;

	if (outstream_memory(&diag, &out) == 0 &&
	    (binary ? wtb_write(out, 3, &diag, &k) : wtr_write(out, &diag, &k)) == 0) {
		if (op_copy(s, k) == 0) {
			p = outstream_bytes(out, ret_n);
			copy = calloc(1, *ret_n + 1);
			memcpy(copy, p, *ret_n);
		}
		op_sink_close(k);
	}
	op_source_close(s);
	return copy;
}

static struct op_source *open_as(const void *p, size_t n, bool binary, unsigned flags)
{
	struct instream *in;
	struct op_source *s;

	diag_clear(&diag);
	if (instream_memory(p, n, "t", binary ? INSTREAM_RAW : 0, &diag, &in) < 0 ||
	    (binary ? wtb_read(in, flags, &diag, &s) : wtr_read(in, flags, &diag, &s)) < 0)
		return NULL;
	return s;
}

static char *to_binary(const char *text, size_t *ret_n)
{
	struct op_source *s = open_as(text, strlen(text), false, 0);

	return s ? copy_to(s, true, ret_n) : NULL;
}

static char *to_text(const void *p, size_t n)
{
	struct op_source *s = open_as(p, n, true, 0);
	size_t len;

	return s ? copy_to(s, false, &len) : NULL;
}

/* Reads all of it; the number of items or an error. */
static int drain(const void *p, size_t n, unsigned flags, uint64_t *ret_lost)
{
	struct op_source *s = open_as(p, n, true, flags);
	const struct op *o;
	int err, items = 0;

	*ret_lost = 0;
	if (!s)
		return diag.code;
	while ((err = op_next(s, &o)) > 0) {
		items++;
		if (o->code == OP_GAP)
			*ret_lost += o->arg;
	}
	op_source_close(s);
	return err < 0 ? err : items;
}

/* A text of n writes, each with its own time. */
static char *many_writes(int n)
{
	char *text = malloc((size_t)n * 48 + 64), *p = text;

	p += sprintf(p, "#wtrace 1\n%%ops\n");
	for (int i = 0; i < n; i++)
		p += sprintf(p, "%d %d write h%d %d %d\n", i * 1777 + i % 13, 100 + i % 7,
			     1 + i % 50, i * 31, 100 + i % 977);
	return text;
}

TEST(every_op_survives_the_binary_form)
{
	size_t n;
	char *binary = to_binary(every_op, &n), *text, *want = strdup(every_op);

	*strstr(want, "%end") = 0;
	CHECK(binary != NULL);
	CHECK(wtb_is(binary, n));
	text = to_text(binary, n);
	CHECK(text != NULL);
	CHECK_STR(text, want);
	free(text);
	free(want);
	free(binary);
}

TEST(many_blocks_survive_the_binary_form)
{
	size_t n, again_n;
	char *want = many_writes(300000), *binary = to_binary(want, &n), *text, *again;

	CHECK(binary != NULL);
	text = to_text(binary, n);
	CHECK(text != NULL);
	CHECK(strcmp(text, want) == 0);
	again = to_binary(text, &again_n);
	CHECK_INT(again_n, n);
	CHECK(memcmp(again, binary, n) == 0);
	free(again);
	free(text);
	free(binary);
	free(want);
}

TEST(the_end_mark_tells_a_whole_trace)
{
	const char *lines = "#wtrace 1\n%ops\n1 2 sync\n%end ops=1 crc32c=";
	uint32_t crc = crc32c(UINT32_MAX, lines, strlen(lines) - 18) ^ UINT32_MAX;
	char text[100], *binary, *back;
	size_t n;

	snprintf(text, sizeof(text), "%s%08x\n", lines, crc);
	binary = to_binary(text, &n);
	CHECK(binary != NULL);
	back = to_text(binary, n);
	CHECK_STR(back, text);
	free(back);
	free(binary);
}

TEST(recorded_bytes_come_back_with_every_use)
{
	static uint8_t bytes[100000];
	struct op_header h = {.text = "wtrace 1", .len = 8};
	struct outstream *out;
	struct op_source *s;
	struct op_sink *k;
	const struct op *got;
	const void *p;
	struct op o;
	size_t n;

	CHECK_INT(outstream_memory(&diag, &out), 0);
	CHECK_INT(wtb_write(out, 3, &diag, &k), 0);
	CHECK_INT(op_sink_header(k, &h), 0);
	for (int i = 0; i < 400; i++) { /* 40 MB: more than the window of either side */
		op_clear(&o);
		o.code = OP_WRITE;
		o.plain = 0;
		o.handle = 1;
		o.len = sizeof(bytes);
		o.data_kind = o.data.kind = DATA_BLOB;
		memset(bytes, i % 200, sizeof(bytes));
		o.data.bytes = bytes;
		o.data.n = sizeof(bytes);
		CHECK_INT(op_write(k, &o), 0);
	}
	CHECK_INT(op_finish(k, true), 0);
	p = outstream_bytes(out, &n);
	s = open_as(p, n, true, 0);
	for (int i = 0; i < 400; i++) {
		CHECK_INT(op_next(s, &got), 1);
		CHECK(got->data.bytes != NULL);
		CHECK_INT(got->data.n, sizeof(bytes));
		CHECK_INT(got->data.bytes[i % 1000], i % 200);
	}
	CHECK_INT(op_next(s, &got), 0);
	CHECK(op_whole(s));
	op_source_close(s);
	op_sink_close(k);
}

TEST(a_torn_file_gives_the_blocks_it_has)
{
	size_t n;
	char *text = many_writes(1000), *binary = to_binary(text, &n);
	uint64_t lost;
	int most = 0;

	for (size_t cut = 0; cut < n; cut += 1 + n / 700) {
		int items = drain(binary, cut, 0, &lost);

		if (items < 0)
			TAP_FAIL("cut at %zu of %zu: %s", cut, n, diag.text);
		most = items > most ? items : most;
	}
	CHECK_INT(most, 1000);
	free(binary);
	free(text);
}

TEST(a_damaged_file_is_refused_and_repair_goes_as_far_as_it_can)
{
	size_t n;
	char *text = many_writes(1000), *binary = to_binary(text, &n), *hit = malloc(n);
	int refused = 0;
	uint64_t lost;

	for (size_t at = 0; at < n; at += 1 + n / 500) {
		memcpy(hit, binary, n);
		hit[at] ^= 0x40;
		refused += drain(hit, n, 0, &lost) < 0;
		(void)drain(hit, n, WTB_REPAIR, &lost);
	}
	/* Damage behind the end mark is in the tables, which streaming readers do not need. */
	CHECK(refused > 200);
	free(hit);
	free(binary);
	free(text);
}

/* One block of every op, in memory, with a way to spoil it and set the checksum right again. */
TEST(columns_that_lie_are_found_by_the_decoder)
{
	struct op_source *s = open_as(every_op, sizeof(every_op) - 1, false, 0);
	struct wtb_encoder *e = wtb_encoder_new();
	struct wtb_decoder w = {.blobs = NULL};
	struct blobs *blobs = blobs_new(BLOBS_READER);
	const struct op *o;
	const uint8_t *block;
	uint8_t *hit;
	uint64_t seed = 7;
	size_t n;
	int err, wrong = 0;

	while (op_next(s, &o) > 0)
		CHECK_INT(wtb_encode(e, o, o->data.hash), 0);
	block = wtb_encoder_block(e, &n);
	hit = malloc(n);
	w.blobs = blobs;
	for (int round = 0; round < 20000; round++) {
		memcpy(hit, block, n);
		for (int i = 0; i < 3; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			hit[8 + (seed >> 33) % (n - 8)] = (uint8_t)(seed >> 20);
		}
		err = wtb_decode_start(&w, hit, n);
		while (err >= 0 && (err = wtb_decode(&w)) > 0)
			;
		wrong += err < 0;
	}
	CHECK(wrong > 1000);
	free(hit);
	wtb_decoder_free(&w);
	wtb_encoder_free(e);
	blobs_free(blobs);
	op_source_close(s);
}

TEST(the_last_frame_is_a_seek_table_over_the_whole_file)
{
	size_t n, sum = 0, raw = 0;
	char *text = many_writes(300000), *binary = to_binary(text, &n);
	const uint8_t *end = (const uint8_t *)binary + n;
	le32 v;
	uint32_t frames;

	memcpy(&v, end - 4, 4);
	CHECK_INT(le32_get(v), WTB_SEEK_MAGIC);
	memcpy(&v, end - 9, 4);
	frames = le32_get(v);
	CHECK(frames > 3);
	for (uint32_t i = 0; i < frames; i++) {
		memcpy(&v, end - 9 - 12 * (frames - i), 4);
		sum += le32_get(v);
		memcpy(&v, end - 9 - 12 * (frames - i) + 4, 4);
		raw += le32_get(v);
	}
	CHECK_INT(sum, n - 8 - 9 - 12 * (size_t)frames);
	CHECK(raw > 300000);
	free(binary);
	free(text);
}

int main(void)
{
	return tap_main();
}
