/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that move bytes: writes with what strace recorded of them, reads, copies. */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "trace/strace.h"
#include "trace/wtr_put.h"

enum { IO_SEQ, IO_AT, IO_VEC, IO_VEC_AT };

/* Adds a quoted string to the recorded bytes; false when it is not all there. */
static bool add_bytes(struct strace *s, struct op_str quoted, size_t *have)
{
	struct op_str inside;
	bool complete;

	if (!strace_string(quoted, &inside, &complete) || !complete ||
	    !import_data_room(&s->im, *have + inside.n + 1))
		return false;
	*have += strace_unescape(inside, (char *)s->im.data + *have);
	return true;
}

/* Walks [{iov_base="...", iov_len=N}, ...]: sums lengths, writes them to segs, and gathers bytes.
 * Returns the sum; *complete says whether all bytes are there. */
static uint64_t walk_vector(struct strace *s, struct op_str v, bool bytes, size_t *have,
			    bool *complete)
{
	struct op_str base, len;
	char *to = s->segs;
	uint64_t sum = 0;

	*complete = v.n > 2 && v.p[0] == '[' && v.p[1] == '{';
	s->segs[0] = 0;
	while (v.n && *complete) {
		int64_t n;

		if (!strace_next_field(&v, "iov_base", &base))
			break;
		if (!strace_next_field(&v, "iov_len", &len) || !strace_number(len, &n) || n < 0) {
			*complete = false;
			break;
		}
		if (bytes && !add_bytes(s, base, have))
			bytes = *complete = false;
		sum += (uint64_t)n;
		if (to + 24 < s->segs + sizeof(s->segs)) {
			if (to != s->segs)
				*to++ = ',';
			to = put_u64(to, (uint64_t)n);
			*to = 0;
		}
	}
	/* "...]": strace cut the array. */
	if (memmem(v.p, v.n, "...", 3))
		*complete = false;
	return sum;
}

static uint32_t rw_flags(const struct strace_call *c, unsigned i)
{
	static const struct strace_word words[] = {
	    {"RWF_HIPRI", 0},
	    {"RWF_DSYNC", OPF_DSYNC},
	    {"RWF_SYNC", OPF_SYNC},
	    {"RWF_APPEND", OPF_APPEND},
	    {"RWF_ATOMIC", OPF_ATOMIC},
	    {"RWF_DONTCACHE", OPF_DONTCACHE},
	    {NULL, 0},
	};
	struct op_str a = call_arg(c, i);

	return a.n && a.p[0] == 'R' ? (uint32_t)strace_flags(a, words) : 0;
}

/* How many bytes were asked for, and the recorded ones; the number of bytes recorded, or 0. */
static size_t write_bytes(struct strace *s, const struct strace_call *c, int variant,
			  uint64_t *asked)
{
	bool keep = !(s->im.opt.flags & IMPORT_SCRUB), complete = false;
	size_t have = 0;
	int64_t n = 0;

	s->segs[0] = 0;
	if (variant == IO_VEC || variant == IO_VEC_AT) {
		*asked = walk_vector(s, call_arg(c, 1), keep, &have, &complete);
		if (!complete)
			have = 0;
	} else {
		call_number(c, 2, &n);
		*asked = (uint64_t)MAX(n, 0);
		if (keep && !add_bytes(s, call_arg(c, 1), &have))
			have = 0;
	}
	return have;
}

/* Where a write goes, and where the descriptor stands then. */
static uint64_t write_place(struct strace *s, struct ofd *o, const struct strace_call *c,
			    int variant, uint32_t flags)
{
	int64_t at = 0;

	if (flags & OPF_APPEND)
		return file_size(&s->im, o->file);
	if (variant == IO_AT || variant == IO_VEC_AT) {
		call_number(c, 3, &at);
		if (at >= 0)
			return (uint64_t)at;
	}
	return o->offset;
}

/* write, pwrite64, writev, pwritev, pwritev2. */
void do_write(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct ofd *o = s->ofd;
	uint64_t asked, len = (uint64_t)c->ret, off;
	uint32_t flags;
	struct op *op;
	size_t have;

	(void)t;
	if (!is_inside(s, o) || c->ret == 0)
		return;
	have = write_bytes(s, c, variant, &asked);
	flags = rw_flags(c, 4) | rw_flags(c, 5) | (o->flags & (OPF_APPEND | OPF_DIRECT));
	off = write_place(s, o, c, variant, flags);
	op = import_begin(&s->im, OP_WRITE);
	op->handle = o->handle;
	op->flags = flags;
	op->off = off;
	op->len = len;
	if (asked > len) {
		op->plain = 0;
		op->want = asked;
	}
	if (s->segs[0] && strchr(s->segs, ',') && asked == len) {
		op->plain = 0;
		op->segs = (struct op_str){s->segs, (uint32_t)strlen(s->segs)};
	}
	if (have >= len)
		import_data(&s->im, (size_t)len);
	else if (call_arg(c, 1).n > 5 && !(s->im.opt.flags & IMPORT_SCRUB))
		s->im.counts.partial_data++;
	import_emit(&s->im);
	if ((variant == IO_SEQ || variant == IO_VEC) || (flags & OPF_APPEND))
		o->offset = off + len;
	file_grow(o->file, off + len);
}

/* read, pread64, readv, preadv, preadv2: bytes are never kept. */
void do_read(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct ofd *o = s->ofd;
	int64_t at = 0;
	uint64_t off;
	struct op *op;

	(void)t;
	if (!is_inside(s, o) || c->ret == 0)
		return;
	off = o->offset;
	if ((variant == IO_AT || variant == IO_VEC_AT) && call_number(c, 3, &at) && at >= 0)
		off = (uint64_t)at;
	else
		o->offset += (uint64_t)c->ret;
	if (s->im.opt.flags & IMPORT_NO_READS)
		return;
	op = import_begin(&s->im, OP_READ);
	op->handle = o->handle;
	op->flags = o->flags & OPF_DIRECT;
	op->off = off;
	op->len = (uint64_t)c->ret;
	import_emit(&s->im);
}

/* lseek(fd, offset, whence) = place */
void do_seek(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct op_str whence = call_arg(c, 2);
	int64_t off;

	(void)t;
	(void)variant;
	if (!is_inside(s, s->ofd))
		return;
	s->ofd->offset = (uint64_t)c->ret;
	if (s->ofd->file && call_number(c, 1, &off) && off <= c->ret &&
	    ((whence.n == 8 && memcmp(whence.p, "SEEK_END", 8) == 0) ||
	     (whence.n == 3 && memcmp(whence.p, "0x2", 3) == 0))) {
		s->ofd->file->size = (uint64_t)(c->ret - off);
		s->ofd->file->size_known = true;
	}
}

/* An offset passed by address, "[123]" or "[123 => 456]"; false for NULL. */
static bool offset_at(const struct strace_call *c, unsigned i, uint64_t *ret)
{
	struct op_str a = call_arg(c, i);
	int64_t v;

	if (a.n < 3 || a.p[0] != '[' || !strace_number((struct op_str){a.p + 1, a.n - 1}, &v) ||
	    v < 0)
		return false;
	*ret = (uint64_t)v;
	return true;
}

static void emit_copy(struct strace *s, const struct ofd *from, uint64_t off, const struct ofd *to,
		      uint64_t off2, uint64_t len)
{
	bool in = from && from->handle, out = to && to->handle;
	struct op *op;

	if (!in && !out) {
		call_outside(s);
		return;
	}
	if (in && !out && (s->im.opt.flags & IMPORT_NO_READS))
		return;
	op = import_begin(&s->im, in && out ? OP_COPY : out ? OP_WRITE : OP_READ);
	op->handle = in ? from->handle : to->handle;
	op->off = in ? off : off2;
	op->len = len;
	if (in && out) {
		op->plain = 0;
		op->handle2 = to->handle;
		op->off2 = off2;
	}
	import_emit(&s->im);
}

enum { COPY_RANGE, COPY_SENDFILE };

/* copy_file_range and splice (in, off, out, off, len), sendfile (out, in, off, len). */
void do_copy(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	bool send = variant == COPY_SENDFILE;
	int fd;
	struct ofd *second = call_fd(s, t, call_arg(c, send ? 1 : 2), &fd);
	struct ofd *from = send ? second : s->ofd, *to = send ? s->ofd : second;
	uint64_t off = from ? from->offset : 0, off2 = to ? to->offset : 0;
	uint64_t len = (uint64_t)c->ret;
	bool off_given = offset_at(c, send ? 2 : 1, &off);
	bool off2_given = !send && offset_at(c, 3, &off2);

	if (c->ret == 0)
		return;
	if (to && (to->flags & OPF_APPEND) && !off2_given)
		off2 = file_size(&s->im, to->file);
	emit_copy(s, from, off, to, off2, len);
	if (from && !off_given)
		from->offset += len;
	if (to && !off2_given)
		to->offset = off2 + len;
	if (to)
		file_grow(to->file, off2 + len);
}
