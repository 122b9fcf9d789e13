/* SPDX-License-Identifier: BSD-2-Clause */
/* A sorted index of the INODE records of fast commits. */
#include "fs/fast_lives.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "journal/fast.h"
#include "ondisk/inode.h"

static int by_number(const void *x, const void *y)
{
	const struct fast_life *a = x, *b = y;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	if (a->begins != b->begins)
		return a->begins ? 1 : -1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* The kernel writes a new inode, its ranges, and then its name. */
bool fast_lives_begin(const struct fast_log *log, size_t at)
{
	uint32_t ino = log->records[at].ino;

	for (size_t i = at + 1; i < log->count && log->records[i].ino == ino; i++) {
		if (log->records[i].tag == JBD2_FC_CREATE)
			return true;
		if (log->records[i].tag != JBD2_FC_ADD_RANGE &&
		    log->records[i].tag != JBD2_FC_DEL_RANGE)
			return false;
	}
	return false;
}

int fast_lives_open(const struct fast_log *log, struct diag *d, struct fast_lives *ret)
{
	struct fast_lives l = {0};

	l.v = mem_array(log->count, sizeof(*l.v), MEM_CAP, d);
	if (l.v == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < log->count; i++) {
		const struct fast_record *r = &log->records[i];
		const struct inode_raw *raw = (const struct inode_raw *)(const void *)r->raw;

		if (r->tag == JBD2_FC_INODE)
			l.v[l.count++] = (struct fast_life){r->ino, le32_get(raw->i_generation), i,
							    fast_lives_begin(log, i)};
	}
	if (l.count > 1)
		qsort(l.v, l.count, sizeof(*l.v), by_number);
	*ret = l;
	return 0;
}

void fast_lives_close(struct fast_lives *l)
{
	free(l->v);
}

/* There is an entry like want, or one that differs from it in coming later only. */
static bool has(const struct fast_lives *l, struct fast_life want)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_number(&l->v[mid], &want) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->count && l->v[low].ino == want.ino &&
	       l->v[low].generation == want.generation && l->v[low].begins == want.begins;
}

bool fast_lives_on(const struct fast_lives *l, uint32_t ino, uint32_t generation, size_t at)
{
	return has(l, (struct fast_life){ino, generation, at + 1, false}) ||
	       fast_lives_later(l, ino, generation, at);
}

bool fast_lives_later(const struct fast_lives *l, uint32_t ino, uint32_t generation, size_t at)
{
	return has(l, (struct fast_life){ino, generation, at + 1, true});
}
