/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the items of a trace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "trace/handles.h"
#include "trace/interner.h"
#include "trace/report.h"

/* Threads that get a row of their own. */
#define ROWS_MAX 4096u

struct sum {
	uint64_t count, bytes, ns;
};

struct tally {
	struct sum op[OP_COUNT];
	struct interner *threads, *events;
	struct sum thread[ROWS_MAX];
	struct sum event[64];
	char event_name[64][48];
	uint64_t first, last, timed, lost, recorded, missing, max_open;
	struct handles handles;
};

struct tally *tally_new(void)
{
	struct tally *t = mem_zero(sizeof(*t));

	if (!t)
		return NULL;
	t->threads = interner_new();
	t->events = interner_new();
	if (handles_init(&t->handles) < 0 || !t->threads || !t->events) {
		tally_free(t);
		return NULL;
	}
	return t;
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	interner_free(t->threads);
	interner_free(t->events);
	handles_free(&t->handles);
	free(t);
}

static uint64_t bytes_of(const struct op *o)
{
	switch (o->code) {
	case OP_WRITE:
	case OP_READ:
	case OP_MWRITE:
	case OP_COPY:
	case OP_CLONE:
	case OP_DEDUPE:
	case OP_FALLOC:
	case OP_MSYNC:
	case OP_SYNCRANGE:
		return o->len;
	default:
		return 0;
	}
}

static void add(struct sum *s, const struct op *o)
{
	s->count++;
	s->bytes += bytes_of(o);
	s->ns += o->dur == OP_NONE64 ? 0 : o->dur;
}

static int count_thread(struct tally *t, const struct op *o)
{
	uint32_t id;
	bool fresh;

	if (o->thread == OP_NO_THREAD)
		return 0;
	id = interned_number(t->threads, o->thread);
	if (id == 0) {
		if (interner_reserve(t->threads, 1, 0) < 0)
			return -ENOMEM;
		id = intern_number(t->threads, o->thread, &fresh);
	}
	if (id <= ROWS_MAX)
		add(&t->thread[id - 1], o);
	return 0;
}

static int count_event(struct tally *t, const struct op *o)
{
	uint32_t id, n = MIN(o->name.n, (uint32_t)sizeof(t->event_name[0]) - 1);
	bool fresh;

	if (interner_count(t->events) >= ARRAY_SIZE(t->event_name))
		return 0;
	if (interner_reserve(t->events, 1, n) < 0)
		return -ENOMEM;
	id = intern(t->events, o->name.p, n, &fresh) - 1;
	memcpy(t->event_name[id], o->name.p, n);
	add(&t->event[id], o);
	return 0;
}

static void count_data(struct tally *t, const struct op *o)
{
	if (o->data_kind != DATA_BLOB && o->data_kind != DATA_INLINE)
		return;
	if (o->data.bytes)
		t->recorded += o->data.n;
	else
		t->missing++;
}

int tally_count(struct tally *t, const struct op *o)
{
	int err;

	add(&t->op[o->code], o);
	if (o->code == OP_NODE || o->code == OP_EXPECT || o->code == OP_COMMENT)
		return 0;
	if (t->timed++ == 0)
		t->first = t->last = o->time;
	t->first = MIN(t->first, o->time);
	t->last = MAX(t->last, o->time);
	if (o->code == OP_GAP)
		t->lost += o->arg;
	count_data(t, o);
	err = count_thread(t, o);
	if (err == 0 && (o->code == OP_OBSERVED || o->code == OP_UNKNOWN))
		err = count_event(t, o);
	if (err == 0)
		err = handles_follow(&t->handles, o);
	t->max_open = MAX(t->max_open, t->handles.open.count);
	return err;
}

static uint64_t work_ops(const struct tally *t)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < OP_COUNT; i++)
		n += op_is_work((enum op_code)i) ? t->op[i].count : 0;
	return n;
}

static int report_totals(struct ek_trace_report *r, const struct tally *t, bool whole)
{
	const struct {
		const char *name;
		uint64_t count, bytes, ns;
	} rows[] = {
	    {"ops", work_ops(t), 0, 0},
	    {"observed", t->op[OP_OBSERVED].count, 0, 0},
	    {"unknown", t->op[OP_UNKNOWN].count, 0, 0},
	    {"files before", t->op[OP_NODE].count, 0, 0},
	    {"expectations", t->op[OP_EXPECT].count, 0, 0},
	    {"span", t->timed, 0, t->last - t->first},
	    {"threads", interner_count(t->threads), 0, 0},
	    {"handles", t->handles.opened, 0, 0},
	    {"open at once", t->max_open, 0, 0},
	    {"left open", t->handles.open.count, 0, 0},
	    {"used without open", t->handles.unknown, 0, 0},
	    {"gaps", t->op[OP_GAP].count, 0, 0},
	    {"lost events", t->lost, 0, 0},
	    {"recorded bytes", 0, t->recorded, 0},
	    {"bytes not there", t->missing, 0, 0},
	    {"whole", whole, 0, 0},
	};
	int err = 0;

	for (unsigned i = 0; err == 0 && i < ARRAY_SIZE(rows); i++)
		err = report_add(r, "trace", rows[i].name, false, rows[i].count, rows[i].bytes,
				 rows[i].ns);
	return err;
}

/* One row per thread, in order of first use. */
static int report_threads(struct ek_trace_report *r, const struct tally *t)
{
	uint32_t n = MIN(interner_count(t->threads), ROWS_MAX);
	char name[16];
	int err = 0;

	for (uint32_t i = 0; err == 0 && i < n; i++) {
		const struct sum *s = &t->thread[i];

		snprintf(name, sizeof(name), "%llu",
			 (unsigned long long)interner_key(t->threads, i + 1));
		err = report_add(r, "thread", name, true, s->count, s->bytes, s->ns);
	}
	return err;
}

int report_tally(struct ek_trace_report *r, const struct tally *t, bool whole, bool full)
{
	int err = report_totals(r, t, whole);

	for (unsigned i = 1; full && err == 0 && i < OP_COUNT; i++)
		if (t->op[i].count && (op_is_work((enum op_code)i)))
			err = report_add(r, "op", op_word((enum op_code)i), false, t->op[i].count,
					 t->op[i].bytes, t->op[i].ns);
	if (full && err == 0)
		err = report_threads(r, t);
	for (uint32_t i = 0; full && err == 0 && i < interner_count(t->events); i++)
		err = report_add(r, "observed", t->event_name[i], true, t->event[i].count, 0, 0);
	return err;
}
