/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bios and completions.  The conversion of unwritten extents joins a transaction right away; the
 * commit of that transaction drains the queue first, so on disk the data always precedes the
 * extents that show it.
 */
#include "pagecache/ioend.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/map.h"
#include "io/bio.h"

/* ---- bios ---- */

struct flight {
	struct pagecache *pc;
	unsigned count;
	struct folio *folio[];
};

static void flight_done(void *ctx, int result)
{
	struct flight *fl = ctx;

	if (result < 0 && fl->pc->error == 0)
		fl->pc->error = result;
	for (unsigned i = 0; i < fl->count; i++)
		folio_end_write(fl->folio[i]);
	fl->pc->writes_in_flight--;
	free(fl);
}

static int send(struct data_bio *b)
{
	struct flight *fl = malloc(sizeof(*fl) + b->count * sizeof(fl->folio[0]));
	int rc;

	if (fl == NULL)
		return diag_set(&b->pc->img->diag, -ENOMEM, "out of memory for a bio");
	fl->pc = b->pc;
	fl->count = b->count;
	for (unsigned i = 0; i < b->count; i++) {
		fl->folio[i] = b->folio[i];
		folio_begin_write(b->folio[i]);
	}
	b->pc->writes_in_flight++;
	rc = bioq_write(b->pc->img->bioq, b->off, b->iov, b->count, b->flags, flight_done, fl);
	if (rc < 0)
		flight_done(fl, rc);
	return rc;
}

int data_bio_submit(struct data_bio *b)
{
	if (b->count != 0 && b->error == 0)
		b->error = send(b);
	b->count = 0;
	b->len = 0;
	return b->error;
}

int data_bio_add(struct data_bio *b, struct folio *f, uint32_t from, uint32_t n, ek_pblk pblk)
{
	unsigned bits = pc_block_bits(b->pc);
	uint64_t off = pblk.v << bits, len = (uint64_t)n << bits;
	uint8_t *at = f->data + ((size_t)from << bits);
	struct iovec *last = b->count != 0 ? &b->iov[b->count - 1] : NULL;
	int rc;

	if (b->count != 0 && (b->off + b->len != off || b->count == BIO_SEGMENTS)) {
		rc = data_bio_submit(b);
		if (rc < 0)
			return rc;
		last = NULL;
	}
	if (b->count == 0)
		b->off = off;
	if (last != NULL && (uint8_t *)last->iov_base + last->iov_len == at &&
	    b->folio[b->count - 1] == f) {
		last->iov_len += len;
	} else {
		b->iov[b->count] = (struct iovec){at, len};
		b->folio[b->count++] = f;
	}
	b->len += len;
	return 0;
}

/* ---- completions ---- */

int ioend_add(struct ioend *e, uint32_t lblk, uint32_t len)
{
	struct byte_run *last = e->count != 0 ? &e->runs[e->count - 1] : NULL;

	if (last != NULL && last->lblk + last->len == lblk) {
		last->len += len;
		return 0;
	}
	if (mem_grow((void **)&e->runs, &e->cap, e->count + 1, sizeof(*e->runs)) < 0)
		return -ENOMEM;
	e->runs[e->count++] = (struct byte_run){lblk, len};
	return 0;
}

void ioend_cancel(struct ioend *e)
{
	if (e->reserved != NULL)
		handle_free_reserved(e->reserved);
	free(e->runs);
	*e = (struct ioend){0};
}

int ioend_convert(struct task *t, struct ek_inode *inode, const struct byte_run *r)
{
	uint32_t at = r->lblk, end = r->lblk + r->len;

	while (at < end) {
		struct map m = {.lblk = {at}, .len = end - at};
		int rc = map_blocks(t, inode, &m, MAP_CONVERT | MAP_METADATA_NOFAIL);

		if (rc == 0)
			rc = inode_mark_dirty(t, inode, MARK_CONVERT_END);
		if (rc < 0)
			return rc;
		tap_send(&t->img->tap, STAGE_COMPLETION, "", inode->ino.v, at, m.len, 0);
		at += m.len;
	}
	return 0;
}

int ioend_finish(struct task *t, struct ioend *e)
{
	struct handle *h = e->reserved;
	int rc = 0;

	if (e->count == 0) {
		ioend_cancel(e);
		return 0;
	}
	if (h != NULL) {
		e->reserved = NULL;
		count(&t->img->counters, COUNTER_JOURNAL_START_RESERVED, 1);
		rc = handle_start_reserved(h, &t->user, HANDLE_EXT_CONVERT);
		if (rc < 0)
			handle_free_reserved(h);
	} else {
		rc = task_start_inode(t, e->inode, HANDLE_EXT_CONVERT,
				      map_credits(e->inode, e->runs[0].len, 1), 0, &h);
	}
	if (rc < 0) {
		ioend_cancel(e);
		return rc;
	}
	for (size_t i = 0; i < e->count && rc == 0; i++)
		rc = ioend_convert(t, e->inode, &e->runs[i]);
	rc = handle_end(h, rc);
	ioend_cancel(e);
	return rc;
}
