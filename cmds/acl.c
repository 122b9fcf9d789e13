/* SPDX-License-Identifier: BSD-2-Clause */
/* ACLs between text and bytes, which are little-endian: a version, then tag, permissions and id. */
#include "acl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"

struct row {
	uint32_t tag, perm, id;
};

struct kind {
	const char *word;
	uint32_t plain, named; /* tags without and with an id; named 0: never has one */
};

static const struct kind kinds[] = {
    {"user", 0x01, 0x02},
    {"group", 0x04, 0x08},
    {"mask", 0x10, 0},
    {"other", 0x20, 0},
};

#define NO_ID UINT32_MAX

bool acl_is_name(const char *name)
{
	return strcmp(name, "system.posix_acl_access") == 0 ||
	       strcmp(name, "system.posix_acl_default") == 0;
}

/* ---- text ---- */

static const struct kind *kind_of(const char *p, size_t len)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((len == 1 && p[0] == kinds[i].word[0]) ||
		    (len == strlen(kinds[i].word) && memcmp(p, kinds[i].word, len) == 0))
			return &kinds[i];
	return NULL;
}

static bool parse_id(const char *p, size_t len, uint32_t *ret)
{
	char text[24];
	uint64_t v;

	if (len >= sizeof(text))
		return false;
	memcpy(text, p, len);
	text[len] = '\0';
	if (opt_number(text, &v) != 0 || v >= NO_ID)
		return false;
	*ret = (uint32_t)v;
	return true;
}

/* "u:1000:rw-", which ends at the comma or the end. */
static bool parse_row(const char *p, size_t len, struct row *ret)
{
	const char *end = p + len, *colon = memchr(p, ':', len);
	const struct kind *k = colon != NULL ? kind_of(p, (size_t)(colon - p)) : NULL;
	const char *second = k != NULL ? memchr(colon + 1, ':', (size_t)(end - colon - 1)) : NULL;
	struct row r = {.id = NO_ID};

	if (second == NULL)
		return false;
	r.tag = k->plain;
	if (second != colon + 1) {
		r.tag = k->named;
		if (r.tag == 0 || !parse_id(colon + 1, (size_t)(second - colon - 1), &r.id))
			return false;
	}
	for (p = second + 1; p < end; p++) {
		if (*p == 'r')
			r.perm |= 4;
		else if (*p == 'w')
			r.perm |= 2;
		else if (*p == 'x')
			r.perm |= 1;
		else if (*p != '-')
			return false;
	}
	*ret = r;
	return true;
}

static int by_tag(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* The mask that rows for named users and groups need. */
static void add_mask(struct row *rows, size_t *n)
{
	uint32_t seen = 0, perm = 0;

	for (size_t i = 0; i < *n; i++) {
		seen |= rows[i].tag;
		if ((rows[i].tag & (0x02 | 0x04 | 0x08)) != 0)
			perm |= rows[i].perm;
	}
	if ((seen & (0x02 | 0x08)) != 0 && (seen & 0x10) == 0)
		rows[(*n)++] = (struct row){0x10, perm, NO_ID};
}

static void put(unsigned char *to, uint32_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (unsigned char)(v >> (8 * i));
}

int acl_parse(const char *text, unsigned char bytes[ACL_MAX])
{
	struct row rows[ACL_ROWS];
	size_t n = 0;

	while (*text != '\0') {
		size_t len = strcspn(text, ",");

		if (n + 1 >= ACL_ROWS || !parse_row(text, len, &rows[n]))
			return -1;
		n++;
		text += len;
		if (*text == ',')
			text++;
	}
	add_mask(rows, &n);
	qsort(rows, n, sizeof(rows[0]), by_tag);
	put(bytes, 2, 4);
	for (size_t i = 0; i < n; i++) {
		put(bytes + 4 + 8 * i, rows[i].tag, 2);
		put(bytes + 6 + 8 * i, rows[i].perm, 2);
		put(bytes + 8 + 8 * i, rows[i].id, 4);
	}
	return (int)(4 + 8 * n);
}

/* ---- bytes ---- */

static uint32_t get(const unsigned char *from, unsigned bytes)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint32_t)from[i] << (8 * i);
	return v;
}

static size_t format_row(const struct row *r, char *text, size_t room)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char id[16] = "";

		if (r->tag == kinds[i].named)
			snprintf(id, sizeof(id), "%u", r->id);
		else if (r->tag != kinds[i].plain)
			continue;
		return (size_t)snprintf(text, room, "%c:%s:%c%c%c", kinds[i].word[0], id,
					r->perm & 4 ? 'r' : '-', r->perm & 2 ? 'w' : '-',
					r->perm & 1 ? 'x' : '-');
	}
	return 0;
}

bool acl_format(const void *bytes, size_t len, char text[ACL_TEXT])
{
	const unsigned char *p = bytes;
	size_t at = 0;

	if (len < 4 || (len - 4) % 8 != 0 || len > ACL_MAX || get(p, 4) != 2)
		return false;
	text[0] = '\0';
	for (size_t i = 4; i < len; i += 8) {
		struct row r = {get(p + i, 2), get(p + i + 2, 2), get(p + i + 4, 4)};
		size_t n;

		if (i > 4)
			text[at++] = ',';
		n = format_row(&r, text + at, ACL_TEXT - at);
		if (n == 0)
			return false;
		at += n;
	}
	return true;
}
