/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a replay onto a region: the recorded ones, zeros, or the pattern; in pieces of a
 * megabyte where they are not kept as a whole.  What does not fit as a whole is not begun. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "pagecache/region.h"
#include "trace/target_region.h"

/* n bytes of the op from done on, a piece at most. */
static const uint8_t *bytes_of(struct region_target *t, const struct op *o, uint64_t done, size_t n)
{
	if ((o->data_kind == DATA_BLOB || o->data_kind == DATA_INLINE) && o->data.bytes != NULL &&
	    o->data.n >= o->len)
		return o->data.bytes + done;
	if (o->data_kind != DATA_ZERO)
		return t->pattern;
	memset(t->scratch, 0, n);
	return t->scratch;
}

static int write_op(struct region_target *t, struct region_handle *h, const struct op *o)
{
	unsigned writer = region_writer(t, o);
	uint64_t done = 0;
	int rc = region_check_end(t->region, o->off, o->len);

	while (done < o->len && rc == 0) {
		size_t n = (size_t)MIN(o->len - done, (uint64_t)REGION_PIECE);

		rc = ek_region_write(h->file, writer, o->off + done, bytes_of(t, o, done, n), n);
		done += n;
	}
	return rc;
}

int region_fill(struct region_target *t, struct ek_region_file *f, uint64_t off, uint64_t len)
{
	int rc = region_check_end(t->region, off, len);

	for (uint64_t done = 0; done < len && rc == 0; done += REGION_PIECE)
		rc = ek_region_write(f, 0, off + done, t->pattern,
				     (size_t)MIN(len - done, (uint64_t)REGION_PIECE));
	return rc;
}

int region_op_write(struct region_target *t, struct region_handle *h, const struct op *o)
{
	unsigned writer = region_writer(t, o);
	int rc = write_op(t, h, o);

	if (rc == 0 && (o->flags & OPF_DIRECT) != 0)
		rc = ek_region_flush(h->file, writer, o->off, o->len, EK_REGION_SYNC);
	if (rc == 0 && (h->sync || (o->flags & (OPF_SYNC | OPF_DSYNC)) != 0))
		rc = ek_region_fsync(h->file, writer);
	return rc;
}

int region_op_read(struct region_target *t, struct region_handle *h, const struct op *o)
{
	uint64_t size = ek_region_file_size(h->file), done = 0, len;
	int rc = 0;

	len = o->off < size ? MIN(o->len, size - o->off) : 0;
	while (done < len && rc == 0) {
		size_t n = (size_t)MIN(len - done, (uint64_t)REGION_PIECE);

		rc = ek_region_read(h->file, region_writer(t, o), o->off + done, t->scratch, n);
		done += n;
	}
	return rc;
}

/* A store through a mapping: what lies behind the end of the file goes nowhere. */
int region_op_store(struct region_target *t, struct region_handle *h, const struct op *o)
{
	uint64_t size = ek_region_file_size(h->file);
	struct op inside = *o;

	if (t->no_stores || o->off >= size)
		return 0;
	inside.len = MIN(o->len, size - o->off);
	return write_op(t, h, &inside);
}

int region_op_msync(struct region_target *t, struct region_handle *h, const struct op *o)
{
	if (t->no_stores || (o->flags & OPF_ASYNC) != 0 || o->len == 0)
		return 0;
	return ek_region_flush(h->file, region_writer(t, o), o->off, o->len, EK_REGION_SYNC);
}

/* There is nothing to reserve: only sizes change, and what becomes zero. */
int region_op_falloc(struct region_target *t, struct region_handle *h, const struct op *o)
{
	uint64_t size = ek_region_file_size(h->file), end = o->off + o->len;
	unsigned writer = region_writer(t, o);
	uint64_t inside = o->off < size ? MIN(end, size) - o->off : 0;

	switch (o->sub) {
	case FALLOC_ALLOC:
		return end > size ? ek_region_truncate(h->file, writer, end) : 0;
	case FALLOC_KEEP:
	case FALLOC_UNSHARE:
		return 0;
	case FALLOC_ZERO:
		return ek_region_zero(h->file, writer, o->off, o->len);
	case FALLOC_PUNCH:
	case FALLOC_ZEROKEEP:
		return inside != 0 ? ek_region_zero(h->file, writer, o->off, inside) : 0;
	default:
		return -EOPNOTSUPP;
	}
}

int region_op_sync(struct region_target *t, struct region_handle *h, const struct op *o)
{
	return ek_region_fsync(h->file, region_writer(t, o));
}

int region_op_sync_range(struct region_target *t, struct region_handle *h, const struct op *o)
{
	bool wait = (o->flags & (OPF_WAIT_BEFORE | OPF_WAIT_AFTER)) != 0;

	if ((o->flags & OPF_START) == 0 && !wait)
		return 0;
	return ek_region_flush(h->file, region_writer(t, o), o->off, o->len,
			       wait ? EK_REGION_SYNC : EK_REGION_NOWAIT);
}

int region_op_advise(struct region_target *t, struct region_handle *h, const struct op *o)
{
	if (o->sub != ADVICE_DONTNEED)
		return 0;
	return ek_region_drop(h->file, region_writer(t, o), o->off, o->len);
}

/* from is NULL when the source lies outside the trace: its bytes are the pattern. */
int region_op_copy(struct region_target *t, const struct op *o, struct region_handle *from,
		   struct region_handle *to)
{
	uint64_t size = from != NULL ? ek_region_file_size(from->file) : UINT64_MAX, done = 0, len;
	unsigned writer = region_writer(t, o);
	int rc = 0;

	len = o->off < size ? MIN(o->len, size - o->off) : 0;
	if (from == NULL)
		return region_fill(t, to->file, o->off2, len);
	while (done < len && rc == 0) {
		size_t n = (size_t)MIN(len - done, (uint64_t)REGION_PIECE);

		rc = ek_region_read(from->file, writer, o->off + done, t->scratch, n);
		if (rc == 0)
			rc = ek_region_write(to->file, writer, o->off2 + done, t->scratch, n);
		done += n;
	}
	return rc;
}
