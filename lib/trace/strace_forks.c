/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first pass: every return of a fork in the log, kept per parent in order.
 *
 * A child may run before its parent's line says its number, and with several births under way only
 * the numbers tell whose child it is.  A thread has one call at a time, so its n-th birth begun is
 * its n-th birth ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "trace/strace.h"

#define CHUNK ((size_t)1 << 20)

struct birth {
	uint32_t child;
	uint32_t next; /* of the same parent, + 1; 0 is the end */
};

struct parent {
	struct hash_node node;
	uint32_t first, last; /* births + 1 */
};

struct fork_list {
	struct birth *births;
	size_t n, cap;
	struct hash parents;
	struct strace_clock clock;
};

void fork_list_free(struct fork_list *l)
{
	size_t at = 0;
	struct hash_node *n;

	if (!l)
		return;
	while ((n = hash_pop(&l->parents, &at)))
		free(hash_entry(n, struct parent, node));
	hash_free(&l->parents);
	free(l->births);
	free(l);
}

static int add(struct fork_list *l, uint32_t tid, uint32_t child)
{
	struct hash_node *h = hash_find(&l->parents, tid);
	struct parent *p = h ? hash_entry(h, struct parent, node) : mem_zero(sizeof(*p));
	void *births = l->births;

	if (!p)
		return -ENOMEM;
	if (!h)
		hash_insert(&l->parents, &p->node, tid);
	if (l->n >= UINT32_MAX / 2 || mem_grow(&births, &l->cap, l->n + 1, sizeof(*l->births)) < 0)
		return -ENOMEM;
	l->births = births;
	l->births[l->n] = (struct birth){child, 0};
	l->n++;
	if (p->first)
		l->births[p->last - 1].next = (uint32_t)l->n;
	else
		p->first = (uint32_t)l->n;
	p->last = (uint32_t)l->n;
	return 0;
}

static bool is_birth(const struct strace_line *l)
{
	static const char *const names[] = {"vfork", "clone", "clone3", "fork"};

	for (unsigned i = 0; i < 4; i++)
		if (strlen(names[i]) == l->name_n && memcmp(names[i], l->name, l->name_n) == 0)
			return true;
	return false;
}

/* A line that has one of the words somewhere. */
static int look(struct fork_list *l, char *line, size_t n)
{
	struct strace_line sl;
	struct strace_call c;
	char keep = line[n];
	int err = 0;

	line[n] = 0;
	strace_scan(&l->clock, line, n, &sl);
	if ((sl.kind == STRACE_CALL || sl.kind == STRACE_RESUMED) && is_birth(&sl) &&
	    strace_split(sl.rest, sl.end, &c))
		err = add(l, sl.pid, c.failed || c.ret < 0 ? 0 : (uint32_t)c.ret);
	line[n] = keep;
	return err;
}

/* The first and the fourth letter of a word, of sixteen places at once. */
typedef uint8_t places __attribute__((vector_size(16)));

static bool may_begin(const char *p)
{
	places first, fourth, hit;
	uint64_t half[2];

	memcpy(&first, p, sizeof(first));
	memcpy(&fourth, p + 3, sizeof(fourth));
	hit = (places)(((first == 'f') & (fourth == 'k')) | ((first == 'c') & (fourth == 'n')));
	memcpy(half, &hit, sizeof(half));
	return (half[0] | half[1]) != 0;
}

static bool begins(const char *p, const char *end)
{
	size_t n = (size_t)(end - p);

	return (n >= 4 && memcmp(p, "fork", 4) == 0) || (n >= 5 && memcmp(p, "clone", 5) == 0);
}

/* The next place of either word in [p, end), or end. */
static char *find_word(char *p, char *end)
{
	while (p < end) {
		char *to = end;

		if (end - p >= (ptrdiff_t)sizeof(places) + 3) {
			to = p + sizeof(places);
			if (!may_begin(p))
				p = to;
		}
		for (; p < to; p++)
			if (begins(p, end))
				return p;
	}
	return end;
}

/* All whole lines in [p, end). */
static int look_at_lines(struct fork_list *l, char *start, char *end)
{
	char *p = start, *at;
	int err = 0;

	while (err == 0 && (at = find_word(p, end)) < end) {
		char *from = memrchr(start, '\n', (size_t)(at - start));
		char *to = memchr(at, '\n', (size_t)(end - at));

		from = from ? from + 1 : start;
		to = to ? to : end;
		err = look(l, from, (size_t)(to - from));
		p = to < end ? to + 1 : end;
	}
	return err;
}

int fork_list_read(struct instream *in, struct fork_list **ret)
{
	struct fork_list *l = mem_zero(sizeof(*l));
	char *buf = malloc(CHUNK + 1);
	size_t have = 0;
	int err = l && buf ? 0 : -ENOMEM;

	while (err == 0) {
		long got = instream_read(in, buf + have, CHUNK - have);
		char *end, *lf;

		if (got < 0)
			err = (int)got;
		if (got <= 0)
			break;
		end = buf + have + got;
		lf = memrchr(buf, '\n', (size_t)(end - buf));
		if (lf) {
			err = look_at_lines(l, buf, lf);
			have = (size_t)(end - lf - 1);
			memmove(buf, lf + 1, have);
		} else {
			/* A line longer than the buffer is a write: its beginning is enough. */
			have = (size_t)(end - buf) < CHUNK ? (size_t)(end - buf) : CHUNK / 2;
		}
	}
	free(buf);
	if (err < 0) {
		fork_list_free(l);
		return err;
	}
	*ret = l;
	return 0;
}

int fork_list_next(struct fork_list *l, uint32_t parent, uint32_t *ret)
{
	struct hash_node *h = l ? hash_find(&l->parents, parent) : NULL;
	struct parent *p = h ? hash_entry(h, struct parent, node) : NULL;

	if (!p || !p->first)
		return 0;
	*ret = l->births[p->first - 1].child;
	p->first = l->births[p->first - 1].next;
	return 1;
}
