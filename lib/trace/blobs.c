/* SPDX-License-Identifier: BSD-2-Clause */
/* A first-in-first-out ring of blobs: bytes in one buffer, entries in another, found by hash. */
#include "trace/blobs.h"
#include "base/check.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES 16384u
#define BUCKETS 16384u
#define NIL     UINT32_MAX

struct entry {
	uint8_t hash[32];
	uint32_t at, n;
	uint32_t next; /* older entry of the same bucket */
};

struct blobs {
	uint8_t *buf;
	struct entry *entries;
	uint32_t *bucket;
	uint32_t first, count; /* oldest entry, number of entries */
	uint32_t at;           /* where the next blob goes */
	size_t window;
	uint32_t max_entries;
};

struct blobs *blobs_new(enum blobs_side side)
{
	struct blobs *b = mem_zero(sizeof(*b));

	if (b) {
		b->window = BLOBS_WINDOW * side;
		b->max_entries = ENTRIES * side;
	}
	return b;
}

void blobs_free(struct blobs *b)
{
	if (!b)
		return;
	free(b->buf);
	free(b->entries);
	free(b->bucket);
	free(b);
}

static int start(struct blobs *b)
{
	b->buf = malloc(b->window);
	b->entries = malloc(b->max_entries * sizeof(*b->entries));
	b->bucket = malloc(BUCKETS * sizeof(*b->bucket));
	if (!b->buf || !b->entries || !b->bucket)
		return -1;
	memset(b->bucket, 0xff, BUCKETS * sizeof(*b->bucket));
	return 0;
}

static uint32_t *bucket_of(const struct blobs *b, const uint8_t *hash)
{
	uint32_t v;

	memcpy(&v, hash, sizeof(v));
	return &b->bucket[v % BUCKETS];
}

const uint8_t *blobs_find(const struct blobs *b, const uint8_t hash[32], uint32_t *ret_n)
{
	if (b->count == 0)
		return NULL;
	for (uint32_t i = *bucket_of(b, hash); i != NIL; i = b->entries[i].next) {
		const struct entry *e = &b->entries[i];

		if (memcmp(e->hash, hash, 32) != 0)
			continue;
		*ret_n = e->n;
		return b->buf + e->at;
	}
	return NULL;
}

static void forget_oldest(struct blobs *b)
{
	struct entry *e = &b->entries[b->first];
	uint32_t *link = bucket_of(b, e->hash);

	while (*link != b->first)
		link = &b->entries[*link].next;
	*link = e->next;
	b->first = (b->first + 1) % b->max_entries;
	b->count--;
}

/* True when the oldest blob lies in the way of n bytes at b->at. */
static bool in_the_way(const struct blobs *b, size_t n)
{
	const struct entry *e = &b->entries[b->first];

	return b->count && e->at < b->at + n && b->at < (uint64_t)e->at + e->n;
}

uint8_t *blobs_room(struct blobs *b, size_t n)
{
	if (n == 0 || n > BLOBS_MAX || (!b->bucket && start(b) < 0))
		return NULL;
	if (b->at + n > b->window) {
		/* What lies behind the old position is older than what lies at the front. */
		while (b->count && b->entries[b->first].at >= b->at)
			forget_oldest(b);
		b->at = 0;
	}
	while (b->count == b->max_entries || in_the_way(b, n))
		forget_oldest(b);
	return b->buf + b->at;
}

void blobs_add(struct blobs *b, const uint8_t hash[32], size_t n)
{
	uint32_t i = (b->first + b->count) % b->max_entries;
	uint32_t *bucket = bucket_of(b, hash);
	struct entry *e = &b->entries[i];

	memcpy(e->hash, hash, 32);
	e->at = b->at;
	e->n = (uint32_t)n;
	e->next = *bucket;
	*bucket = i;
	b->count++;
	b->at += (uint32_t)n;
}
