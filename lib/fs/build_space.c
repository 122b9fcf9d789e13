/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks are dealt out from the front of the device to its end, over the heads of groups: copies of
 * the superblock and of descriptors, and without flex_bg bitmaps and inode tables.  As long as the
 * size is not known, heads are given more than they will need; what remains becomes gaps, which are
 * filled before anything else.  With clusters everything is dealt out in whole ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/build_impl.h"

uint32_t build_head(const struct build *b, uint32_t group)
{
	const struct geom *g = &b->l.geom;
	uint32_t base;

	if (!b->exact)
		return geom_has_super(g, group) ? b->reserve : 0;
	if (group >= g->groups)
		return 0;
	base = (uint32_t)build_whole(b, geom_base_meta(g, group));
	if ((b->o.incompat & INCOMPAT_FLEX_BG) == 0)
		base += (uint32_t)build_whole(b, 2 + g->itable_blocks);
	return base;
}

static int append(struct build *b, struct block_run **v, size_t *n, size_t *cap, struct block_run r)
{
	if (r.len == 0)
		return 0;
	if (*n != 0 && (*v)[*n - 1].len != 0 && (*v)[*n - 1].start + (*v)[*n - 1].len == r.start) {
		(*v)[*n - 1].len += r.len;
		return 0;
	}
	if (mem_grow((void **)v, cap, *n + 1, sizeof(**v)) < 0)
		return diag_set(b->diag, -ENOMEM, "out of memory for the plan");
	(*v)[(*n)++] = r;
	return 0;
}

/* Pointers have 32 bits. */
static bool out_of_reach(const struct build *b, struct block_run r)
{
	return r.start + r.len > 1ull << 32 && !build_has_extents(b);
}

int build_note_used(struct build *b, struct block_run r)
{
	if (out_of_reach(b, r))
		return diag_set(
		    b->diag, -EFBIG,
		    "no extents: a file would get block %llu, pointers end at 4294967295",
		    (unsigned long long)(r.start + r.len - 1));
	b->space.taken += r.len;
	return append(b, &b->space.used, &b->space.nused, &b->space.used_cap, r);
}

int build_add_gap(struct build *b, struct block_run r)
{
	struct build_space *s = &b->space;

	return append(b, &s->gaps, &s->ngaps, &s->gaps_cap, r);
}

int build_give(struct build *b, struct block_run r)
{
	struct build_space *s = &b->space;
	int rc = append(b, &s->given, &s->ngiven, &s->given_cap, r);

	if (rc == 0)
		s->taken -= r.len;
	return rc < 0 ? rc : build_add_gap(b, r);
}

/* Moves the cursor out of a head; how many blocks are free there until the next head, up to
 * want. */
static uint64_t free_at_cursor(struct build *b, uint64_t want)
{
	const uint32_t bpg = b->z.bpg, first = b->z.first;
	struct build_space *s = &b->space;
	uint64_t group = (s->cursor - first) / bpg, n;
	uint32_t head = build_head(b, (uint32_t)group);

	if ((s->cursor - first) % bpg < head)
		s->cursor = first + group * bpg + head;
	n = first + (group + 1) * bpg - s->cursor;
	while (n < want && build_head(b, (uint32_t)++group) == 0)
		n += bpg;
	return MIN(n, want);
}

static bool from_gap(struct build_space *s, uint64_t want, uint64_t min_gap, struct block_run *ret)
{
	while (s->gap_at < s->ngaps && s->gaps[s->gap_at].len == 0)
		s->gap_at++;
	for (size_t i = s->gap_at; i < s->ngaps; i++) {
		struct block_run *gap = &s->gaps[i];

		if (gap->len == 0 || gap->len < min_gap)
			continue;
		*ret = (struct block_run){gap->start, MIN(want, gap->len)};
		gap->start += ret->len;
		gap->len -= ret->len;
		return true;
	}
	return false;
}

int build_take(struct build *b, uint64_t want, uint64_t min_gap, struct block_run *ret)
{
	struct build_space *s = &b->space;
	uint64_t whole = build_whole(b, want);
	int rc;

	if (!from_gap(s, whole, min_gap, ret)) {
		ret->len = free_at_cursor(b, whole);
		ret->start = s->cursor;
		s->cursor += ret->len;
	}
	rc = build_note_used(b, *ret);
	ret->len = MIN(ret->len, want);
	return rc;
}

int build_take_whole(struct build *b, uint64_t len, uint64_t *ret)
{
	struct build_space *s = &b->space;
	uint64_t n = free_at_cursor(b, len);

	while (n < len) {
		int rc = build_add_gap(b, (struct block_run){s->cursor, n});

		if (rc < 0)
			return rc;
		s->cursor += n;
		n = free_at_cursor(b, len);
	}
	*ret = s->cursor;
	s->cursor += len;
	return 0;
}

int build_free_heads(struct build *b)
{
	const struct geom *g = &b->l.geom;
	int rc = 0;

	for (uint32_t i = 0; i < g->groups && rc == 0; i++) {
		uint64_t start = geom_group_start(g, i).v;
		uint32_t head = build_head(b, i);

		if (start >= b->data_end)
			break;
		if (head != 0 && head < b->reserve)
			rc = build_add_gap(
			    b, (struct block_run){start + head,
						  MIN(b->reserve, geom_group_blocks(g, i)) - head});
	}
	return rc;
}

/* ---- what is in use ---- */

/* A place from which on something is used once more, or once less. */
struct edge {
	uint64_t at;
	int by;
};

static int by_place(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static size_t put_edges(const struct block_run *v, size_t n, int by, struct edge *to)
{
	for (size_t i = 0; i < n; i++) {
		to[2 * i] = (struct edge){v[i].start, by};
		to[2 * i + 1] = (struct edge){v[i].start + v[i].len, -by};
	}
	return 2 * n;
}

int build_used(struct build *b, struct block_run **ret, size_t *n)
{
	struct build_space *s = &b->space;
	size_t count = 0, cap = 0, total = 2 * (s->nused + s->ngiven);
	struct edge *e = mem_array(total, sizeof(*e), SIZE_MAX, b->diag);
	struct block_run *v = NULL;
	int depth = 0, rc = e == NULL ? -ENOMEM : 0;

	if (rc < 0)
		return rc;
	put_edges(s->given, s->ngiven, -1, e + put_edges(s->used, s->nused, 1, e));
	qsort(e, total, sizeof(*e), by_place);
	for (size_t i = 0; i + 1 < total && rc == 0; i++) {
		depth += e[i].by;
		if (depth > 0)
			rc = append(b, &v, &count, &cap,
				    (struct block_run){e[i].at, e[i + 1].at - e[i].at});
	}
	free(e);
	if (rc < 0) {
		free(v);
		return rc;
	}
	s->nused = s->ngiven = 0;
	*ret = v;
	*n = count;
	return 0;
}

/* ---- copies ---- */

static int copy_runs(struct block_run **to, size_t *n, size_t *cap, const struct block_run *from,
		     size_t nfrom)
{
	if (mem_grow((void **)to, cap, nfrom, sizeof(*from)) < 0)
		return -ENOMEM;
	if (nfrom != 0)
		memcpy(*to, from, nfrom * sizeof(*from));
	*n = nfrom;
	return 0;
}

int build_space_copy(struct build_space *to, const struct build_space *from)
{
	int rc = copy_runs(&to->gaps, &to->ngaps, &to->gaps_cap, from->gaps, from->ngaps);

	if (rc == 0)
		rc = copy_runs(&to->used, &to->nused, &to->used_cap, from->used, from->nused);
	if (rc == 0)
		rc = copy_runs(&to->given, &to->ngiven, &to->given_cap, from->given, from->ngiven);
	to->cursor = from->cursor;
	to->gap_at = from->gap_at;
	to->taken = from->taken;
	return rc;
}

void build_space_free(struct build_space *s)
{
	free(s->gaps);
	free(s->used);
	free(s->given);
	*s = (struct build_space){0};
}
