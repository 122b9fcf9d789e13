/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Crash states, built from three layers: the bytes at the start, an overlay with all epochs that
 * are over (the floor), and an overlay with those writes of the current epoch that a state picks.
 *
 * Candidates come in stages, a row of names below; a candidate is a stage and two counters, and
 * what it picks follows from these and the seed alone.  Candidates whose bytes and promises were
 * seen before are skipped.  A state's bytes are hashed as the sum over its changed pieces of
 * h(offset, new) - h(offset, floor), so that it costs what the epoch wrote, not what the image has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/dev_impl.h"
#include "io/memory.h"
#include "io/record_log.h"
#include "io/recorder.h"

enum stage { PREFIX, TORN, SUBSET, DROPPED, ALONE, RANDOM, STAGES };

static const char *const stage_names[STAGES] = {"prefix",      "torn",      "subset",
						"one dropped", "one alone", "random"};

struct seen {
	struct hash_node node;
};

struct states {
	struct states_opts opts;
	const struct record *log;
	size_t log_count;
	struct dev *floor, *cur;
	uint64_t floor_hash, full_hash; /* before and after the current epoch */
	struct hash seen;

	size_t next;                /* first record after the current epoch */
	const struct record **item; /* the epoch's writes and resizes */
	size_t count, cap;
	uint64_t epoch;
	size_t marks;
	uint64_t last_mark;

	enum stage stage; /* the current candidate */
	size_t i, j;
};

/* A number that depends on all four and the seed. */
static uint64_t draw(const struct states *st, uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(hash_mix(st->opts.seed ^ st->epoch) ^ a) ^ b);
}

/* Collects the records up to the next flush: 1, or 0 when the log is used up. */
static int next_epoch(struct states *st)
{
	st->count = 0;
	if (st->next > st->log_count)
		return 0;
	for (; st->next < st->log_count; st->next++) {
		const struct record *r = &st->log[st->next];
		void *item = st->item;

		if (r->kind == RECORD_FLUSH)
			break;
		if (r->kind == RECORD_MARK) {
			st->marks++;
			st->last_mark = r->mark;
			continue;
		}
		if (mem_grow(&item, &st->cap, st->count + 1, sizeof(const struct record *)) < 0)
			return -ENOMEM;
		st->item = (const struct record **)item;
		st->item[st->count++] = r;
	}
	st->next++; /* over the flush, or past the end */
	st->stage = PREFIX;
	st->i = st->j = 0;
	return 1;
}

/* The bytes of r that a torn state keeps, which is nothing or all when r is one sector. */
static uint64_t torn_length(const struct states *st, const struct record *r, size_t how)
{
	uint64_t sector = st->opts.sector;
	uint64_t first = ROUND_DOWN(r->off, sector) + sector - r->off;
	uint64_t last = r->len != 0 ? ROUND_DOWN(r->off + r->len - 1, sector) : r->off;

	if (r->kind != RECORD_WRITE || first >= r->len)
		return 0;
	last -= r->off;
	if (how == 0)
		return first;
	if (how == 1)
		return last;
	return first + draw(st, st->i, 3) % ((last - first) / sector + 1) * sector;
}

/* How much of item k the candidate keeps. */
static uint64_t kept(const struct states *st, size_t k)
{
	const struct record *r = st->item[k];
	bool in = false;

	if (st->stage == TORN && k == st->i)
		return torn_length(st, r, st->j);
	if (st->stage == PREFIX || st->stage == TORN)
		return k < st->i ? r->len : 0;
	if (r->kind == RECORD_RESIZE)
		return r->len;
	if (st->stage == SUBSET)
		in = st->i >> k & 1;
	else if (st->stage == DROPPED)
		in = k != st->i;
	else if (st->stage == ALONE)
		in = k == st->i;
	else
		in = draw(st, st->i, k) & 1;
	return in ? r->len : 0;
}

static bool has_item(const struct states *st, size_t k)
{
	return st->item[k]->kind == RECORD_RESIZE && st->stage <= TORN ? k < st->i : true;
}

static int apply(struct dev *dev, const struct record *r, uint64_t len)
{
	if (r->kind == RECORD_RESIZE)
		return dev_resize(dev, r->len);
	if (r->data == NULL)
		return dev_zero(dev, r->off, len);
	return dev_write(dev, r->off, r->data, (size_t)len);
}

/* How many candidates a stage has. */
static size_t stage_size(const struct states *st)
{
	bool small = st->count <= st->opts.full;

	switch (st->stage) {
	case PREFIX:
		return st->count + 1;
	case TORN:
		return st->count;
	case SUBSET:
		return small ? (size_t)1 << st->count : 0;
	case DROPPED:
	case ALONE:
		return small ? 0 : st->count;
	default:
		return small ? 0 : st->opts.random;
	}
}

/* Goes on to the next candidate of the epoch. */
static void advance(struct states *st)
{
	if (st->stage == TORN && st->j < 2) {
		st->j++;
		return;
	}
	st->j = 0;
	st->i++;
}

/* Skips used-up and empty stages; false at the end of the epoch. */
static bool candidate(struct states *st)
{
	while (st->stage < STAGES && st->i >= stage_size(st)) {
		st->stage++;
		st->i = 0;
	}
	return st->stage < STAGES;
}

static uint64_t hash_piece(uint64_t off, const uint8_t *p, size_t n)
{
	uint64_t lane[4] = {off, 1, 2, 3}, sum = 0;

	for (size_t i = 0; i + 32 <= n; i += 32) {
		for (size_t l = 0; l < 4; l++) {
			uint64_t v;

			memcpy(&v, p + i + 8 * l, sizeof(v));
			v = (lane[l] ^ v) * 0x9fb21c651e98df25;
			lane[l] = v ^ v >> 29;
		}
	}
	for (size_t l = 0; l < 4; l++)
		sum = hash_mix(sum ^ lane[l]);
	return sum;
}

/* The floor's hash plus what the current overlay changes. */
static int hash_state(struct states *st, uint64_t *ret)
{
	uint64_t sum = st->floor_hash, off;
	const void *pos = NULL, *bytes;
	uint8_t buf[4096];
	size_t len;
	int r = 0;

	while (r == 0 && (bytes = memory_next(st->cur, &pos, &off, &len)) != NULL) {
		size_t n = off < st->floor->size ? (size_t)MIN(len, st->floor->size - off) : 0;

		memset(buf, 0, sizeof(buf));
		if (n != 0)
			r = dev_read(st->floor, off, buf, n);
		sum += hash_piece(off, bytes, len) - hash_piece(off, buf, len);
	}
	if (r < 0)
		return r;
	*ret = sum + hash_mix(st->cur->size) - hash_mix(st->floor->size);
	return 0;
}

/* 1 when bytes and promises are new, 0 when not. */
static int remember(struct states *st, uint64_t hash)
{
	uint64_t key = hash ^ hash_mix(st->marks);
	struct seen *s;

	if (hash_find(&st->seen, key) != NULL)
		return 0;
	s = malloc(sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	hash_insert(&st->seen, &s->node, key);
	return 1;
}

/* Builds the candidate in st->cur; returns 1 when it is a new state, 0 when not. */
static int build(struct states *st, struct state *state)
{
	uint64_t hash;
	int r;

	dev_close(st->cur);
	st->cur = NULL;
	r = dev_open_overlay(st->floor, &st->cur);
	*state = (struct state){.how = stage_names[st->stage],
				.epoch = st->epoch,
				.marks = st->marks,
				.last_mark = st->last_mark};
	for (size_t k = 0; k < st->count && r == 0; k++) {
		uint64_t len = kept(st, k);

		if (!has_item(st, k) || (len == 0 && st->item[k]->kind == RECORD_WRITE))
			continue;
		state->writes += st->item[k]->kind == RECORD_WRITE;
		r = apply(st->cur, st->item[k], len);
	}
	if (r == 0)
		r = hash_state(st, &hash);
	if (r < 0)
		return r;
	if (st->stage == PREFIX && st->i == st->count)
		st->full_hash = hash;
	return remember(st, hash);
}

/* The epoch is over: all it wrote is there from now on. */
static int raise_floor(struct states *st)
{
	int r = 0;

	dev_close(st->cur);
	st->cur = NULL;
	for (size_t k = 0; k < st->count && r == 0; k++)
		r = apply(st->floor, st->item[k], st->item[k]->len);
	st->floor_hash = st->full_hash;
	st->epoch++;
	return r;
}

int states_next(struct states *st, struct dev **ret, struct state *ret_state)
{
	struct state state;
	int r;

	for (;;) {
		while (!candidate(st)) {
			r = raise_floor(st);
			if (r == 0)
				r = next_epoch(st);
			if (r <= 0)
				return r;
		}
		r = build(st, &state);
		advance(st);
		if (r == 1) {
			*ret = st->cur;
			*ret_state = state;
		}
		if (r != 0)
			return r;
	}
}

int states_open(struct dev *dev, const struct states_opts *opts, struct states **ret)
{
	struct states *st = mem_zero(sizeof(*st));
	int r;

	if (st == NULL)
		return -ENOMEM;
	st->opts = *opts;
	st->opts.sector = opts->sector != 0 ? opts->sector : 512;
	st->opts.full = opts->full != 0 ? MIN(opts->full, 16) : 10;
	st->opts.random = opts->random != 0 ? opts->random : 64;
	st->log = recorder_log(dev, &st->log_count);
	r = dev_open_overlay(recorder_origin(dev), &st->floor);
	if (r == 0)
		r = next_epoch(st);
	if (r < 0) {
		states_close(st);
		return r;
	}
	*ret = st;
	return 0;
}

void states_close(struct states *st)
{
	struct hash_node *n;
	size_t at = 0;

	if (st == NULL)
		return;
	while ((n = hash_pop(&st->seen, &at)) != NULL)
		free(hash_entry(n, struct seen, node));
	hash_free(&st->seen);
	dev_close(st->cur);
	dev_close(st->floor);
	free(st->item);
	free(st);
}
