/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A chained hash table of 64-bit keys whose links live inside the things it finds.
 *
 *	struct hash h = {0};
 *	hash_insert(&h, &thing->node, key);
 *	struct hash_node *n = hash_find(&h, key);
 *	...
 *	hash_free(&h);
 *
 * It doubles when it holds as many nodes as slots.  Inserting cannot fail: where there is no memory
 * for a larger table the chains grow instead.  Equal keys may be inserted more than once; find
 * returns the youngest.  The caller owns the nodes and locks the table.  The order of iteration has
 * no meaning and must not reach any output.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/check.h"

/* Every bit of x reaches every bit of the result; one to one. */
static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93;
	x ^= x >> 29;
	x *= 0xa0761d6478bd642f;
	x ^= x >> 32;
	return x;
}

/* A key of n bytes, such as a name; others may have the same. */
static inline uint64_t hash_bytes(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t k = 1469598103934665603u;

	for (size_t i = 0; i < n; i++)
		k = (k ^ b[i]) * 1099511628211u;
	return k;
}

/* The same for bytes of somebody else.  Who chooses the bytes and does not know the seed cannot
 * have many of the same key, as he could with a checksum. */
static inline uint64_t hash_seeded(uint64_t seed, const void *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;
	uint64_t word, key = hash_mix(seed ^ n);

	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		key = hash_mix(key ^ word);
	}
	word = 0;
	memcpy(&word, p, n);
	return hash_mix(key ^ word);
}

/* A seed that nobody knows. */
static inline uint64_t hash_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = (uint64_t)(uintptr_t)&seed;
	return seed;
}

struct hash_node {
	struct hash_node *next;
	uint64_t key;
};

struct hash {
	struct hash_node **slot; /* 1 << bits chains, or NULL */
	struct hash_node *one;   /* the only chain while slot is NULL */
	size_t count;
	unsigned bits;
};

#define hash_entry(p, type, member) container_of(p, type, member)

static inline struct hash_node **hash_chain(const struct hash *h, uint64_t key)
{
	if (h->slot == NULL)
		return (struct hash_node **)&h->one;
	return &h->slot[hash_mix(key) >> (64 - h->bits)];
}

static inline struct hash_node *hash_find(const struct hash *h, uint64_t key)
{
	struct hash_node *n = *hash_chain(h, key);

	while (n != NULL && n->key != key)
		n = n->next;
	return n;
}

/* The chain after n, or the first one when n is NULL: hash_next(h, NULL) starts an iteration,
 * during which nothing may be inserted or removed. */
static inline struct hash_node *hash_next(const struct hash *h, const struct hash_node *n)
{
	size_t i = 0, slots = h->slot != NULL ? (size_t)1 << h->bits : 0;

	if (n != NULL && n->next != NULL)
		return n->next;
	if (h->slot == NULL)
		return n == NULL ? h->one : NULL;
	if (n != NULL)
		i = (size_t)(hash_chain(h, n->key) - h->slot) + 1;
	while (i < slots && h->slot[i] == NULL)
		i++;
	return i < slots ? h->slot[i] : NULL;
}

static inline void hash_link(struct hash *h, struct hash_node *n)
{
	struct hash_node **chain = hash_chain(h, n->key);

	n->next = *chain;
	*chain = n;
}

static inline void hash_grow(struct hash *h)
{
	struct hash old = *h;
	struct hash_node *n, *next;
	unsigned bits = h->slot != NULL ? h->bits + 1 : 6;
	void *slot = bits < 48 ? calloc((size_t)1 << bits, sizeof(struct hash_node *)) : NULL;
	size_t slots = old.slot != NULL ? (size_t)1 << old.bits : 1;

	if (slot == NULL)
		return;
	h->slot = (struct hash_node **)slot;
	h->one = NULL;
	h->bits = bits;
	for (size_t i = 0; i < slots; i++) {
		for (n = old.slot != NULL ? old.slot[i] : old.one; n != NULL; n = next) {
			next = n->next;
			hash_link(h, n);
		}
	}
	free(old.slot);
}

static inline void hash_insert(struct hash *h, struct hash_node *n, uint64_t key)
{
	size_t slots = h->slot != NULL ? (size_t)1 << h->bits : 4;

	if (h->count >= slots)
		hash_grow(h);
	n->key = key;
	hash_link(h, n);
	h->count++;
}

/* n must be in the table. */
static inline void hash_remove(struct hash *h, struct hash_node *n)
{
	struct hash_node **link = hash_chain(h, n->key);

	while (*link != n)
		link = &(*link)->next;
	*link = n->next;
	h->count--;
}

/* Takes out some node, NULL when the table is empty; emptying a table this way is O(nodes + slots)
 * as long as *at, which starts at 0, is passed along. */
static inline struct hash_node *hash_pop(struct hash *h, size_t *at)
{
	size_t slots = h->slot != NULL ? (size_t)1 << h->bits : 1;

	for (; *at < slots; (*at)++) {
		struct hash_node **chain = h->slot != NULL ? &h->slot[*at] : &h->one;
		struct hash_node *n = *chain;

		if (n != NULL) {
			*chain = n->next;
			h->count--;
			return n;
		}
	}
	return NULL;
}

/* Gives back the table itself; the nodes are the caller's. */
static inline void hash_free(struct hash *h)
{
	free(h->slot);
	*h = (struct hash){0};
}

#endif
