/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns a command line into the option structs that const tables describe. */
#include "opt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int opt_number(const char *text, uint64_t *ret)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	unsigned long long v;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	v = strtoull(text, &end, hex ? 16 : 10);
	if (errno != 0 || *end != '\0' || end == text)
		return -1;
	*ret = v;
	return 0;
}

struct unit {
	const char *name;
	uint64_t scale;
};

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", 1ULL << 10},
    {"k", 1ULL << 10},
    {"KiB", 1ULL << 10},
    {"kB", 1000},
    {"M", 1ULL << 20},
    {"m", 1ULL << 20},
    {"MiB", 1ULL << 20},
    {"MB", 1000000},
    {"G", 1ULL << 30},
    {"g", 1ULL << 30},
    {"GiB", 1ULL << 30},
    {"GB", 1000000000},
    {"T", 1ULL << 40},
    {"t", 1ULL << 40},
    {"TiB", 1ULL << 40},
    {"TB", 1000000000000},
    {"P", 1ULL << 50},
    {"PiB", 1ULL << 50},
    {"PB", 1000000000000000},
    {NULL, 0},
};

static const struct unit time_units[] = {
    {"", 1000000000},  {"ns", 1},          {"us", 1000},         {"ms", 1000000},
    {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}, {NULL, 0},
};

/* Digits, perhaps a fraction of up to nine digits, a unit.  The fraction must come out even. */
static int scaled(const char *text, const struct unit *units, uint64_t *ret)
{
	uint64_t whole = 0, part = 0, below = 1, v;
	const char *p = text;

	if (*p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
			return -1;
	if (*p == '.') {
		for (p++; *p >= '0' && *p <= '9' && below < 1000000000; p++, below *= 10)
			part = part * 10 + (uint64_t)(*p - '0');
		if (below == 1)
			return -1;
	}
	while (units->name != NULL && strcmp(units->name, p) != 0)
		units++;
	if (units->name == NULL || __builtin_mul_overflow(whole, units->scale, &v))
		return -1;
	unsigned __int128 fraction = (unsigned __int128)part * units->scale;

	if (fraction % below != 0 || __builtin_add_overflow(v, (uint64_t)(fraction / below), &v))
		return -1;
	*ret = v;
	return 0;
}

int opt_size(const char *text, uint64_t *ret)
{
	return scaled(text, size_units, ret);
}

int opt_time(const char *text, uint64_t *ret)
{
	return scaled(text, time_units, ret);
}

/* The position of value in "one|two|three", -1 when it is not there. */
static int choice_of(const char *choices, const char *value)
{
	size_t n = strlen(value);

	for (int at = 0;; at++) {
		size_t len = strcspn(choices, "|");

		if (len == n && memcmp(choices, value, n) == 0)
			return at;
		if (choices[len] == '\0')
			return -1;
		choices += len + 1;
	}
}

static int list_add(struct opt_list *list, const char *value, char why[OPT_WHY])
{
	const char **v = realloc(list->v, (list->n + 1) * sizeof(*v));

	if (v == NULL) {
		snprintf(why, OPT_WHY, _("no memory"));
		return -1;
	}
	v[list->n++] = value;
	list->v = v;
	return 0;
}

static int bad_value(const struct opt *o, const char *value, const char *want, char why[OPT_WHY])
{
	snprintf(why, OPT_WHY, _("--%s: '%s' is not %s"), o->word, value, want);
	return -1;
}

static int store_number(const struct opt *o, struct opt_num *num, const char *value,
			char why[OPT_WHY])
{
	uint64_t v;

	if (o->kind == OPT_KIND_NUMBER && opt_number(value, &v) != 0)
		return bad_value(o, value, _("a number"), why);
	if (o->kind == OPT_KIND_SIZE && opt_size(value, &v) != 0)
		return bad_value(o, value, _("a size such as 4096, 64K, 256M or 10GB"), why);
	if (o->kind == OPT_KIND_TIME && opt_time(value, &v) != 0)
		return bad_value(o, value, _("a time such as 30s, 5ms or 100us"), why);
	if (o->positive && v == 0)
		return bad_value(o, value, _("above 0"), why);
	num->v = v;
	num->set = true;
	return 0;
}

static int store(const struct opt *o, void *fill, const char *value, char why[OPT_WHY])
{
	void *at = (char *)fill + o->at;
	int choice;

	switch (o->kind) {
	case OPT_KIND_FLAG:
		*(bool *)at = true;
		return 0;
	case OPT_KIND_TEXT:
	case OPT_KIND_FILE:
		*(const char **)at = value;
		return 0;
	case OPT_KIND_CHOICE:
		choice = choice_of(o->arg, value);
		if (choice < 0)
			return bad_value(o, value, o->arg, why);
		*(int *)at = choice;
		return 0;
	case OPT_KIND_LIST:
		return list_add(at, value, why);
	default:
		return store_number(o, at, value, why);
	}
}

static const struct opt *find_letter(const struct opt_into *into, size_t n, char letter,
				     void **ret_fill)
{
	for (size_t i = 0; i < n; i++)
		for (const struct opt *o = into[i].table; o != NULL && o->kind != OPT_KIND_END; o++)
			if (o->letter == letter && letter != '\0') {
				*ret_fill = into[i].fill;
				return o;
			}
	return NULL;
}

static const struct opt *find_word(const struct opt_into *into, size_t n, const char *word,
				   size_t len, void **ret_fill)
{
	for (size_t i = 0; i < n; i++)
		for (const struct opt *o = into[i].table; o != NULL && o->kind != OPT_KIND_END; o++)
			if (strlen(o->word) == len && memcmp(o->word, word, len) == 0) {
				*ret_fill = into[i].fill;
				return o;
			}
	return NULL;
}

struct parse {
	const struct opt_into *into;
	size_t n;
	int argc, at;
	char **argv;
	char *why;
};

/* The value of o: what follows in the same argument, else the next argument. */
static int take_value(struct parse *p, const struct opt *o, void *fill, const char *rest)
{
	if (o->kind != OPT_KIND_FLAG && rest == NULL) {
		if (p->at + 1 >= p->argc) {
			snprintf(p->why, OPT_WHY, _("--%s needs a value: %s"), o->word, o->arg);
			return -1;
		}
		rest = p->argv[++p->at];
	}
	return store(o, fill, rest, p->why);
}

static int parse_word(struct parse *p)
{
	const char *word = p->argv[p->at] + 2;
	size_t len = strcspn(word, "=");
	const char *value = word[len] == '=' ? word + len + 1 : NULL;
	void *fill;
	const struct opt *o = find_word(p->into, p->n, word, len, &fill);

	if (o == NULL) {
		snprintf(p->why, OPT_WHY, _("unknown option --%.*s"), (int)len, word);
		return -1;
	}
	if (o->kind == OPT_KIND_FLAG && value != NULL) {
		snprintf(p->why, OPT_WHY, _("--%s takes no value"), o->word);
		return -1;
	}
	return take_value(p, o, fill, value);
}

static int parse_letters(struct parse *p)
{
	for (const char *l = p->argv[p->at] + 1; *l != '\0'; l++) {
		void *fill;
		const struct opt *o = find_letter(p->into, p->n, *l, &fill);

		if (o == NULL) {
			snprintf(p->why, OPT_WHY, _("unknown option -%c"), *l);
			return -1;
		}
		if (o->kind != OPT_KIND_FLAG)
			return take_value(p, o, fill, l[1] != '\0' ? l + 1 : NULL);
		if (store(o, fill, NULL, p->why) != 0)
			return -1;
	}
	return 0;
}

int opt_parse(const struct opt_into *into, size_t n, int *argc, char **argv, bool stop_at_operand,
	      char why[OPT_WHY])
{
	struct parse p = {into, n, *argc, 0, argv, why};
	int kept = 0;
	bool words = true;

	for (; p.at < p.argc; p.at++) {
		char *arg = argv[p.at];
		int bad = 0;

		if (words && strcmp(arg, "--") == 0)
			words = false;
		else if (words && arg[0] == '-' && arg[1] == '-')
			bad = parse_word(&p);
		else if (words && arg[0] == '-' && arg[1] != '\0')
			bad = parse_letters(&p);
		else {
			argv[kept++] = arg;
			words = words && !stop_at_operand;
		}
		if (bad != 0)
			return -1;
	}
	*argc = kept;
	return 0;
}

void opt_free(const struct opt *table, void *fill)
{
	for (const struct opt *o = table; o != NULL && o->kind != OPT_KIND_END; o++)
		if (o->kind == OPT_KIND_LIST)
			free(((struct opt_list *)(void *)((char *)fill + o->at))->v);
}
