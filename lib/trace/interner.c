/* SPDX-License-Identifier: BSD-2-Clause */
/* An open-addressing table of entry numbers; texts lie behind each other in one arena. */
#include "trace/interner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define SLOTS_START 1024u

struct entry {
	uint64_t key; /* the number, or the hash of the text */
	uint32_t at, n;
};

struct interner {
	struct entry *entries; /* entries[0] is number 1 */
	size_t entries_cap;
	uint32_t count;
	uint32_t *slots; /* numbers, 0 empty; a power of two of them, at most half full */
	uint32_t nslots;
	char *text;
	size_t text_len, text_cap;
};

struct interner *interner_new(void)
{
	return mem_zero(sizeof(struct interner));
}

void interner_free(struct interner *in)
{
	if (!in)
		return;
	free(in->entries);
	free(in->slots);
	free(in->text);
	free(in);
}

void interner_clear(struct interner *in)
{
	if (in->slots)
		memset(in->slots, 0, in->nslots * sizeof(*in->slots));
	in->count = 0;
	in->text_len = 0;
}

uint32_t interner_count(const struct interner *in)
{
	return in->count;
}

static void place(struct interner *in, uint32_t number)
{
	uint32_t i = (uint32_t)hash_mix(in->entries[number - 1].key) & (in->nslots - 1);

	while (in->slots[i])
		i = (i + 1) & (in->nslots - 1);
	in->slots[i] = number;
}

static int grow_slots(struct interner *in, uint32_t need)
{
	uint32_t nslots = in->nslots ? in->nslots : SLOTS_START;
	uint32_t *slots;

	while (nslots / 2 < need)
		nslots *= 2;
	if (nslots == in->nslots)
		return 0;
	slots = calloc(nslots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(in->slots);
	in->slots = slots;
	in->nslots = nslots;
	for (uint32_t number = 1; number <= in->count; number++)
		place(in, number);
	return 0;
}

int interner_reserve(struct interner *in, uint32_t n, size_t bytes)
{
	void *entries = in->entries, *text = in->text;
	int err;

	if (in->count > UINT32_MAX / 4 - n)
		return -ENOMEM;
	err = mem_grow(&entries, &in->entries_cap, in->count + n, sizeof(*in->entries));
	in->entries = entries;
	if (err == 0)
		err = mem_grow(&text, &in->text_cap, in->text_len + bytes, 1);
	in->text = text;
	return err < 0 ? err : grow_slots(in, in->count + n);
}

/* FNV's idea eight bytes at a time; the table mixes the result again. */
static uint64_t text_hash(const char *p, uint32_t n)
{
	uint64_t h = n, v;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&v, p, 8);
		h = hash_mix(h ^ v);
	}
	v = 0;
	if (n)
		memcpy(&v, p, n);
	return hash_mix(h ^ v);
}

/* The number, or 0 with *slot at the empty place. */
static uint32_t find(const struct interner *in, uint64_t key, const char *p, uint32_t n,
		     uint32_t *slot)
{
	uint32_t i = in->nslots ? (uint32_t)hash_mix(key) & (in->nslots - 1) : 0;

	for (; in->nslots && in->slots[i]; i = (i + 1) & (in->nslots - 1)) {
		const struct entry *e = &in->entries[in->slots[i] - 1];

		if (e->key == key && e->n == n && (n == 0 || memcmp(in->text + e->at, p, n) == 0))
			return in->slots[i];
	}
	*slot = i;
	return 0;
}

static uint32_t add(struct interner *in, uint64_t key, const char *p, uint32_t n, bool *fresh)
{
	uint32_t slot = 0, number = find(in, key, p, n, &slot);

	*fresh = number == 0;
	if (number)
		return number;
	in->entries[in->count] = (struct entry){key, (uint32_t)in->text_len, n};
	if (n)
		memcpy(in->text + in->text_len, p, n);
	in->text_len += n;
	in->slots[slot] = ++in->count;
	return in->count;
}

uint32_t intern(struct interner *in, const char *p, uint32_t n, bool *fresh)
{
	return add(in, text_hash(p, n), p, n, fresh);
}

uint32_t intern_number(struct interner *in, uint64_t v, bool *fresh)
{
	return add(in, v, NULL, 0, fresh);
}

uint32_t interned_number(const struct interner *in, uint64_t v)
{
	uint32_t slot;

	return find(in, v, NULL, 0, &slot);
}

uint64_t interner_key(const struct interner *in, uint32_t number)
{
	return in->entries[number - 1].key;
}
