/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes "MICROSECONDS FILE ACTION [OFFSET LENGTH]", with an "add" in front of the first use of
 * each file as fio wants it. */
#include "trace/fio_write.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/hash.h"
#include "base/mem.h"
#include "trace/interner.h"
#include "trace/stream.h"
#include "trace/wtr_put.h"

struct fio_handle {
	struct hash_node node;
	struct op_str path; /* own memory */
};

struct fio_sink {
	struct op_sink base;
	struct outstream *out;
	struct hash handles;
	struct interner *added;
	uint64_t left_out;
};

static int fio_header(struct op_sink *base, const struct op_header *h)
{
	struct fio_sink *s = (struct fio_sink *)base;

	(void)h;
	outstream_write(s->out, "fio version 3 iolog\n", 20);
	return 0;
}

static int put_line(struct fio_sink *s, const struct op *o, struct op_str path, const char *action,
		    bool range)
{
	char *start = outstream_room(s->out, (size_t)path.n + 128), *p = start;

	if (!start)
		return outstream_flush(s->out);
	p = put_u64(p, o->time / 1000);
	*p++ = ' ';
	p = put_bytes(p, path);
	*p++ = ' ';
	p = put_text(p, action);
	if (range) {
		*p++ = ' ';
		p = put_u64(p, o->off);
		*p++ = ' ';
		p = put_u64(p, o->len);
	}
	*p++ = '\n';
	outstream_put(s->out, (size_t)(p - start));
	return 0;
}

static struct fio_handle *find(const struct fio_sink *s, uint32_t handle)
{
	struct hash_node *n = hash_find(&s->handles, handle);

	return n ? hash_entry(n, struct fio_handle, node) : NULL;
}

static void drop(struct fio_handle *h)
{
	free((char *)(uintptr_t)h->path.p);
	free(h);
}

static int put_open(struct fio_sink *s, const struct op *o)
{
	struct fio_handle *h = find(s, o->handle);
	bool fresh;
	int err;

	for (uint32_t i = 0; i < o->path.n; i++)
		if ((unsigned char)o->path.p[i] <= ' ')
			return diag_set(
			    s->base.d, -EINVAL,
			    "export: open at %llu ns: fio cannot log a name with spaces",
			    (unsigned long long)o->time);
	if (h) {
		hash_remove(&s->handles, &h->node);
		drop(h);
	}
	h = mem_zero(sizeof(*h));
	if (h)
		h->path = (struct op_str){strndup(o->path.p, o->path.n), o->path.n};
	if (!h || !h->path.p || interner_reserve(s->added, 1, o->path.n) < 0) {
		free(h);
		return diag_set(s->base.d, -ENOMEM, "export: no memory");
	}
	hash_insert(&s->handles, &h->node, o->handle);
	intern(s->added, o->path.p, o->path.n, &fresh);
	err = fresh ? put_line(s, o, h->path, "add", false) : 0;
	return err < 0 ? err : put_line(s, o, h->path, "open", false);
}

static const char *action_of(const struct op *o)
{
	switch (o->code) {
	case OP_CLOSE:
		return "close";
	case OP_WRITE:
	case OP_MWRITE:
		return "write";
	case OP_READ:
		return "read";
	case OP_FSYNC:
		return "sync";
	case OP_FDATASYNC:
		return "datasync";
	case OP_FALLOC:
		return o->sub == FALLOC_PUNCH ? "trim" : NULL;
	default:
		return NULL;
	}
}

static int fio_item(struct op_sink *base, const struct op *o)
{
	struct fio_sink *s = (struct fio_sink *)base;
	const char *action = action_of(o);
	struct fio_handle *h;
	int err;

	if (o->code == OP_OPEN && !(o->flags & (OPF_DIRECTORY | OPF_PATH | OPF_TMPFILE)))
		return put_open(s, o);
	h = action ? find(s, o->handle) : NULL;
	if (!h) {
		s->left_out += op_is_work((enum op_code)o->code);
		return 0;
	}
	err = put_line(s, o, h->path, action, o->code != OP_CLOSE);
	if (o->code == OP_CLOSE) {
		hash_remove(&s->handles, &h->node);
		drop(h);
	}
	return err;
}

static int fio_flush(struct op_sink *base)
{
	return outstream_flush(((struct fio_sink *)base)->out);
}

static int fio_finish(struct op_sink *base, bool whole)
{
	(void)whole;
	return fio_flush(base);
}

static void fio_sink_close(struct op_sink *base)
{
	struct fio_sink *s = (struct fio_sink *)base;
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&s->handles, &at)))
		drop(hash_entry(n, struct fio_handle, node));
	hash_free(&s->handles);
	interner_free(s->added);
	outstream_close(s->out);
	free(s);
}

static const struct op_sink_ops fio_sink_ops = {fio_header, fio_item, fio_flush, fio_finish,
						fio_sink_close};

uint64_t fio_sink_left_out(const struct op_sink *s)
{
	return ((const struct fio_sink *)s)->left_out;
}

int fio_write(struct outstream *out, struct diag *d, struct op_sink **ret)
{
	struct fio_sink *s = mem_zero(sizeof(*s));

	if (!s || !(s->added = interner_new())) {
		free(s);
		outstream_close(out);
		return diag_set(d, -ENOMEM, "export: no memory");
	}
	s->base.ops = &fio_sink_ops;
	s->base.d = d;
	s->out = out;
	*ret = &s->base;
	return 0;
}
