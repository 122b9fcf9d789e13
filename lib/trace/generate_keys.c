/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of generators: read from text, checked against their limits, and listed for help. */
#include "trace/generate_keys.h"

#include <errno.h>
#include <stdio.h>

#include "base/check.h"
#include "base/diag.h"
#include "extkit/generate.h"
#include "trace/wtr_line.h"

struct word {
	const char *p;
	size_t n;
};

static bool same(struct word w, const char *text)
{
	return strlen(text) == w.n && memcmp(text, w.p, w.n) == 0;
}

/* The position of a word in "one|two", or -1. */
static int choice_of(const char *words, struct word w)
{
	for (int i = 0;; i++) {
		size_t n = strcspn(words, "|");

		if (n == w.n && memcmp(words, w.p, n) == 0)
			return i;
		if (words[n] == '\0')
			return -1;
		words += n + 1;
	}
}

/* Decimal digits; a size may end in K, M, G or T. */
static bool number_of(struct word w, bool size, uint64_t *ret)
{
	static const char units[] = "KMGT";
	const char *unit = size && w.n > 1 ? strchr(units, w.p[w.n - 1]) : NULL;
	unsigned shift = unit != NULL && *unit != '\0' ? 10 * (unsigned)(unit - units + 1) : 0;
	uint64_t v;

	if (!parse_number(w.p, w.n - (shift != 0), 10, &v) || v > UINT64_MAX >> shift)
		return false;
	*ret = v << shift;
	return true;
}

static int bad_value(const struct gen *g, const struct gen_key *key, struct word w, struct diag *d)
{
	int n = (int)MIN(w.n, (size_t)60);

	if (key->kind == GEN_WORD)
		return diag_set(d, -EINVAL, "generate: %s: %s=%.*s: not one of %s", g->is->name,
				key->name, n, w.p, key->words);
	return diag_set(d, -EINVAL, "generate: %s: %s=%.*s: not a %s from %llu to %llu",
			g->is->name, key->name, n, w.p, key->kind == GEN_SIZE ? "size" : "number",
			(unsigned long long)key->least, (unsigned long long)key->most);
}

/* One "KEY=VALUE". */
static int take_pair(struct gen *g, struct word pair, struct diag *d)
{
	const char *equal = memchr(pair.p, '=', pair.n);
	struct word name = {pair.p, equal != NULL ? (size_t)(equal - pair.p) : pair.n};
	const struct gen_key *key = g->is->keys;
	struct word value;
	uint64_t v;
	int choice;

	if (equal == NULL)
		return diag_set(d, -EINVAL, "generate: %s: '%.*s': expected KEY=VALUE", g->is->name,
				(int)MIN(pair.n, (size_t)60), pair.p);
	value = (struct word){equal + 1, pair.n - name.n - 1};
	while (key->name != NULL && !same(name, key->name))
		key++;
	if (key->name == NULL)
		return diag_set(d, -EINVAL, "generate: %s has no key '%.*s'", g->is->name,
				(int)MIN(name.n, (size_t)60), name.p);
	if (key->kind == GEN_WORD) {
		choice = choice_of(key->words, value);
		if (choice < 0)
			return bad_value(g, key, value, d);
		v = (uint64_t)choice;
	} else if (!number_of(value, key->kind == GEN_SIZE, &v) || v < key->least ||
		   v > key->most) {
		return bad_value(g, key, value, d);
	}
	g->v[key - g->is->keys] = v;
	return 0;
}

static const struct generator *named(struct word w)
{
	for (unsigned i = 0; generators[i] != NULL; i++)
		if (same(w, generators[i]->name))
			return generators[i];
	return NULL;
}

int generate_values(const char *spec, struct gen *g, struct diag *d)
{
	size_t n = strcspn(spec, ":");
	int rc = 0;

	g->is = named((struct word){spec, n});
	if (g->is == NULL)
		return diag_set(d, -EINVAL, "generate: there is no generator '%.*s'",
				(int)MIN(n, (size_t)60), spec);
	for (unsigned i = 0; g->is->keys[i].name != NULL; i++)
		g->v[i] = g->is->keys[i].usual;
	for (spec += n; rc == 0 && *spec != '\0'; spec += n) {
		spec++;
		n = strcspn(spec, ",");
		rc = n != 0 ? take_pair(g, (struct word){spec, n}, d) : 0;
	}
	return rc;
}

/* ---- lists for people ---- */

/* The generator at i; NULL past the last. */
static const struct generator *at(size_t i)
{
	for (size_t k = 0; generators[k] != NULL; k++)
		if (k == i)
			return generators[k];
	return NULL;
}

const char *ek_generator_name(size_t i)
{
	const struct generator *g = at(i);

	return g != NULL ? g->name : NULL;
}

const char *ek_generator_says(size_t i)
{
	const struct generator *g = at(i);

	return g != NULL ? g->says : NULL;
}

static void show_usual(const struct gen_key *key, char buf[24])
{
	static const char units[] = " KMGT";
	const char *word = key->words;
	unsigned unit = 0;
	uint64_t v = key->usual;

	if (key->kind == GEN_WORD) {
		for (; v != 0; v--)
			word += strcspn(word, "|") + 1;
		snprintf(buf, 24, "%.*s", (int)strcspn(word, "|"), word);
		return;
	}
	for (; key->kind == GEN_SIZE && v != 0 && v % 1024 == 0 && unit < 4; unit++)
		v /= 1024;
	snprintf(buf, 24, "%llu%.*s", (unsigned long long)v, unit != 0, units + unit);
}

int ek_generator_key(size_t i, size_t key, char buf[24], struct ek_generator_key *ret)
{
	static const char *const kinds[] = {[GEN_NUMBER] = "NUMBER", [GEN_SIZE] = "SIZE"};
	const struct generator *g = at(i);
	const struct gen_key *k = g != NULL ? g->keys : NULL;

	for (; k != NULL && k->name != NULL && key != 0; key--)
		k++;
	if (k == NULL || k->name == NULL)
		return 0;
	show_usual(k, buf);
	*ret = (struct ek_generator_key){
	    .name = k->name,
	    .values = k->kind == GEN_WORD ? k->words : kinds[k->kind],
	    .usual = buf,
	    .says = k->says,
	};
	return 1;
}
