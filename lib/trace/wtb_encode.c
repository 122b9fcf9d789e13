/* SPDX-License-Identifier: BSD-2-Clause */
/* Items into columns: each column has its own buffer, joined when the block is full. */
#include "trace/wtb_encode.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc.h"
#include "base/mem.h"
#include "trace/interner.h"

/* What any item takes at most besides its texts and extents. */
#define ITEM_MAX ((size_t)512)

struct column {
	uint8_t *p;
	size_t n;
};

struct last {
	uint64_t end, len;
};

struct wtb_encoder {
	struct column col[COL_COUNT];
	struct interner *strings, *threads, *handles;
	struct last *last; /* per handle of the block, 0 for none */
	size_t last_cap;
	uint64_t time, first_time;
	uint32_t items, timed;
	size_t used; /* bytes in all columns */
	uint8_t *block;
	uint8_t shape[OP_COUNT];
};

unsigned wtb_shape(enum op_code code)
{
	const char *form = op_forms[code].args;
	unsigned shape =
	    code == OP_NODE || code == OP_EXPECT || code == OP_COMMENT ? 0 : SHAPE_TIME;

	if (!form)
		return shape;
	if (strchr(form, 'h') || strchr(form, 'x'))
		shape |= SHAPE_HANDLE;
	if (strchr(form, 'o'))
		shape |= SHAPE_OFF;
	if (strchr(form, 'l'))
		shape |= SHAPE_LEN;
	return shape;
}

struct wtb_encoder *wtb_encoder_new(void)
{
	struct wtb_encoder *e = mem_zero(sizeof(*e));
	bool ok = e != NULL;

	for (unsigned i = 0; ok && i < COL_COUNT; i++)
		ok = (e->col[i].p = malloc(WTB_OPS_MAX)) != NULL;
	ok = ok && (e->block = malloc(WTB_OPS_MAX)) && (e->strings = interner_new()) &&
	     (e->threads = interner_new()) && (e->handles = interner_new());
	for (unsigned i = 0; ok && i < OP_COUNT; i++)
		e->shape[i] = (uint8_t)wtb_shape((enum op_code)i);
	if (ok)
		return e;
	wtb_encoder_free(e);
	return NULL;
}

void wtb_encoder_free(struct wtb_encoder *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < COL_COUNT; i++)
		free(e->col[i].p);
	interner_free(e->strings);
	interner_free(e->threads);
	interner_free(e->handles);
	free(e->last);
	free(e->block);
	free(e);
}

static void put(struct wtb_encoder *e, enum wtb_column c, uint64_t v)
{
	uint8_t *p = e->col[c].p + e->col[c].n, *start = p;

	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	e->col[c].n += (size_t)(p - start);
	e->used += (size_t)(p - start);
}

static void put_raw(struct wtb_encoder *e, enum wtb_column c, const void *bytes, size_t n)
{
	memcpy(e->col[c].p + e->col[c].n, bytes, n);
	e->col[c].n += n;
	e->used += n;
}

/* The number of a text in this block; a new one goes into the strings. */
static uint32_t string_id(struct wtb_encoder *e, const char *p, uint32_t n)
{
	bool fresh;
	uint32_t id;

	if (n == 0)
		return 0;
	id = intern(e->strings, p, n, &fresh);
	if (fresh) {
		put(e, COL_STRINGS, n);
		put_raw(e, COL_STRINGS, p, n);
		put_raw(e, COL_STRINGS, "", 1);
	}
	return id;
}

static void put_string(struct wtb_encoder *e, struct op_str s)
{
	put(e, COL_ARGS, string_id(e, s.p, s.n));
}

static uint32_t number_id(struct wtb_encoder *e, struct interner *in, enum wtb_column c, uint32_t v)
{
	bool fresh;
	uint32_t id = intern_number(in, v, &fresh);

	if (fresh)
		put(e, c, v);
	return id;
}

/* The place of a handle in this block, with room for its last range. */
static uint32_t handle_id(struct wtb_encoder *e, uint32_t handle)
{
	uint32_t id = handle ? number_id(e, e->handles, COL_HANDLES, handle) : 0;

	return id < e->last_cap ? id : 0;
}

static void put_time(struct wtb_encoder *e, struct op_time t)
{
	put(e, COL_ARGS, fold((uint64_t)t.sec));
	put(e, COL_ARGS, t.nsec);
}

static void put_arg(struct wtb_encoder *e, const struct op *o, char kind)
{
	switch (kind) {
	case 'H':
		put(e, COL_ARGS, handle_id(e, o->handle2));
		break;
	case 'w':
		put(e, COL_ARGS, o->window);
		break;
	case 'O':
		put(e, COL_ARGS, o->off2);
		break;
	case 'a':
		put(e, COL_ARGS, o->arg);
		break;
	case 'x':
	case 'p':
	case 't':
		put_string(e, o->path);
		break;
	case 'q':
		put_string(e, o->path2);
		break;
	case 'n':
		put_string(e, o->name);
		break;
	case 'm':
		put(e, COL_ARGS, o->mode);
		break;
	case 'u':
		put(e, COL_ARGS, o->uid);
		put(e, COL_ARGS, o->gid);
		break;
	case 'D':
		put(e, COL_ARGS, o->dev);
		break;
	case 'T':
		put_time(e, o->atime);
		put_time(e, o->mtime);
		break;
	case 'F':
	case 'V':
		put(e, COL_ARGS, o->sub);
		break;
	default: /* in a column of its own or among the flags */
		break;
	}
}

static void put_data(struct wtb_encoder *e, const struct op_data *d, const uint8_t *hash)
{
	put(e, COL_DATA, d->kind);
	switch (d->kind) {
	case DATA_CRC:
		put(e, COL_DATA, d->crc);
		break;
	case DATA_BLOB:
		put(e, COL_DATA, string_id(e, (const char *)hash, 32));
		break;
	case DATA_MIXED:
		put(e, COL_DATA, d->percent);
		put(e, COL_DATA, d->seed);
		break;
	case DATA_PATTERN:
		put(e, COL_DATA, d->seed);
		break;
	case DATA_INLINE:
		put(e, COL_DATA, d->n);
		put_raw(e, COL_DATA, d->bytes, d->n);
		break;
	default:
		break;
	}
}

static void put_keys(struct wtb_encoder *e, const struct op *o, const uint8_t *hash)
{
	bool named = o->code == OP_OBSERVED || o->code == OP_UNKNOWN;
	unsigned mask = (o->segs.n ? KEY_SEGS : 0) | (o->want != OP_NONE64 ? KEY_WANT : 0) |
			(o->code == OP_MWRITE && o->sub ? KEY_SUB : 0) |
			(o->code == OP_GAP ? KEY_ARG : 0) | (o->data.kind ? KEY_DATA : 0) |
			(o->id.n ? KEY_ID : 0) | (o->after.n ? KEY_AFTER : 0) |
			(o->extra.n ? KEY_EXTRA : 0) | (o->flags & OPF_MODE ? KEY_MODE : 0) |
			(named ? KEY_NAME : 0);

	put(e, COL_ARGS, mask);
	if (mask & KEY_SEGS)
		put_string(e, o->segs);
	if (mask & KEY_WANT)
		put(e, COL_ARGS, o->want);
	if (mask & KEY_SUB)
		put(e, COL_ARGS, o->sub);
	if (mask & KEY_ARG)
		put(e, COL_ARGS, o->arg);
	if (mask & KEY_DATA)
		put_data(e, &o->data, hash);
	if (mask & KEY_ID)
		put_string(e, o->id);
	if (mask & KEY_AFTER)
		put_string(e, o->after);
	if (mask & KEY_EXTRA)
		put_string(e, o->extra);
	if (mask & KEY_MODE)
		put(e, COL_ARGS, o->mode);
	if (mask & KEY_NAME)
		put_string(e, o->name);
}

static void put_node(struct wtb_encoder *e, const struct op_node *n)
{
	put(e, COL_ARGS, (uint8_t)n->type);
	put(e, COL_ARGS, n->mode);
	put(e, COL_ARGS, n->uid);
	put(e, COL_ARGS, n->gid);
	put(e, COL_ARGS, n->size);
	put(e, COL_ARGS, n->dev);
	put(e, COL_ARGS, n->ino);
	put_string(e, n->path);
	put_string(e, n->target);
	put_string(e, n->sha256);
	put_time(e, n->atime);
	put_time(e, n->mtime);
	put_string(e, n->extra);
	put(e, COL_ARGS, n->nextents);
	for (uint32_t i = 0; i < n->nextents; i++) {
		put(e, COL_ARGS, n->extents[i].lblk);
		put(e, COL_ARGS, n->extents[i].pblk);
		put(e, COL_ARGS, n->extents[i].len);
	}
}

/* The most an item can add to the block. */
static size_t item_bytes(const struct op *o)
{
	size_t n = ITEM_MAX;

	if (o->plain)
		return n;
	n += (size_t)o->path.n + o->path2.n + o->name.n + o->segs.n + o->id.n + o->after.n +
	     o->extra.n;
	if (o->node)
		n += (size_t)o->node->path.n + o->node->target.n + o->node->sha256.n +
		     o->node->extra.n + (size_t)o->node->nextents * 20;
	return n;
}

static void put_place(struct wtb_encoder *e, const struct op *o, unsigned shape)
{
	uint32_t id = shape & SHAPE_HANDLE ? handle_id(e, o->handle) : 0;
	struct last *last = &e->last[id];

	if (shape & SHAPE_HANDLE)
		put(e, COL_HANDLE, id);
	if (shape & SHAPE_OFF)
		put(e, COL_OFF, fold(o->off - last->end));
	if (shape & SHAPE_LEN) {
		put(e, COL_LEN, o->len == last->len ? 0 : o->len + 1);
		last->len = o->len;
	}
	if (shape & SHAPE_OFF)
		last->end = o->off + o->len;
}

static void put_when(struct wtb_encoder *e, const struct op *o)
{
	if (e->timed++ == 0)
		e->first_time = e->time = o->time;
	put(e, COL_THREAD,
	    o->thread == OP_NO_THREAD ? 0 : number_id(e, e->threads, COL_THREADS, o->thread));
	put(e, COL_TIME, fold(o->time - e->time));
	put(e, COL_DUR, o->dur + 1);
	e->time = o->time;
}

/* Room for the last ranges of the handles this item may bring. */
static int make_room(struct wtb_encoder *e)
{
	size_t need = interner_count(e->handles) + 3, had = e->last_cap;
	void *p = e->last;

	if (need <= had)
		return 0;
	if (mem_grow(&p, &e->last_cap, need, sizeof(*e->last)) < 0)
		return -ENOMEM;
	e->last = p;
	memset(e->last + had, 0, (e->last_cap - had) * sizeof(*e->last));
	return 0;
}

int wtb_encode(struct wtb_encoder *e, const struct op *o, const uint8_t *hash)
{
	unsigned shape = e->shape[o->code];
	size_t need = item_bytes(o);

	if (need > WTB_OPS_MAX / 2)
		return -E2BIG;
	if (WTB_BODY + 4 + e->used + need > WTB_OPS_MAX)
		return -EAGAIN;
	if (make_room(e) < 0 || interner_reserve(e->threads, 1, 0) < 0 ||
	    interner_reserve(e->handles, 2, 0) < 0 ||
	    (!o->plain && interner_reserve(e->strings, 16, need) < 0))
		return -ENOMEM;
	e->items++;
	put_raw(e, COL_CODE,
		&(uint8_t){(uint8_t)(o->code | (o->flags ? WTB_CODE_FLAGS : 0) |
				     (o->plain ? 0 : WTB_CODE_COLD))},
		1);
	if (shape & SHAPE_TIME)
		put_when(e, o);
	put_place(e, o, shape);
	if (o->flags)
		put(e, COL_ARGS, o->flags);
	if (o->plain)
		return 0;
	for (const char *f = op_forms[o->code].args; f && *f; f++)
		put_arg(e, o, *f);
	put_keys(e, o, hash);
	if (o->code == OP_NODE)
		put_node(e, o->node);
	return 0;
}

uint32_t wtb_encoded(const struct wtb_encoder *e, uint32_t *ret_timed, uint64_t *ret_first,
		     uint64_t *ret_last)
{
	*ret_timed = e->timed;
	*ret_first = e->timed ? e->first_time : 0;
	*ret_last = e->timed ? e->time : 0;
	return e->items;
}

static void put_le32(uint8_t *p, size_t v)
{
	le32 x = le32_make((uint32_t)v);

	memcpy(p, &x, 4);
}

static void reset(struct wtb_encoder *e)
{
	for (unsigned i = 0; i < COL_COUNT; i++)
		e->col[i].n = 0;
	interner_clear(e->strings);
	interner_clear(e->threads);
	interner_clear(e->handles);
	if (e->last)
		memset(e->last, 0, e->last_cap * sizeof(*e->last));
	e->items = e->timed = 0;
	e->used = 0;
}

const uint8_t *wtb_encoder_block(struct wtb_encoder *e, size_t *ret_n)
{
	size_t at = WTB_BODY;
	le64 first = le64_make(e->timed ? e->first_time : 0);

	for (unsigned i = 0; i < COL_COUNT; i++) {
		put_le32(e->block + 24 + 4 * i, e->col[i].n);
		memcpy(e->block + at, e->col[i].p, e->col[i].n);
		at += e->col[i].n;
	}
	put_le32(e->block, WTB_OPS);
	put_le32(e->block + 4, at + 4);
	put_le32(e->block + 8, e->items);
	put_le32(e->block + 12, COL_COUNT);
	memcpy(e->block + 16, &first, 8);
	put_le32(e->block + at, crc32c(UINT32_MAX, e->block, at) ^ UINT32_MAX);
	*ret_n = at + 4;
	reset(e);
	return e->block;
}
