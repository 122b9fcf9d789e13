/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks from the inode's pointers to the block of pointers that holds the answer, at most three
 * steps whatever the image says.  Where a pointer is 0, all that lies below it is one hole.
 */
#include "fs/indirect.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/check.h"
#include "fs/blocks.h"
#include "fs/map.h"
#include "ondisk/buf.h"

#define DIRECT 12u
#define LEVELS 3u

/* A place in the tree: a row of pointers, and which of them leads on. */
struct step {
	const le32 *row;
	uint32_t at, count; /* pointers in the row */
	uint64_t span;      /* blocks of the file below each */
	struct buf *buf;    /* that holds the row, NULL for the inode */
};

static unsigned pointer_bits(const struct ek_inode *inode)
{
	return inode->img->geom.block_bits - 2;
}

/* The inode's pointer that lblk is below, and lblk's place there. */
static int first_step(const struct ek_inode *inode, uint32_t lblk, struct step *s, unsigned *levels,
		      uint64_t *ret_in)
{
	unsigned bits = pointer_bits(inode);
	uint64_t in = lblk;

	*s = (struct step){(const le32 *)(const void *)inode->rec.block, lblk, DIRECT, 1, NULL};
	*levels = 0;
	*ret_in = 0;
	if (lblk < DIRECT)
		return 0;
	in -= DIRECT;
	for (unsigned l = 1; l <= LEVELS; l++) {
		s->span = (uint64_t)1 << bits * l;
		if (in < s->span) {
			s->at = DIRECT + l - 1;
			s->count = s->at + 1;
			*levels = l;
			*ret_in = in;
			return 0;
		}
		in -= s->span;
	}
	return -EFBIG;
}

/* Into the block that the current pointer names. */
static int descend(struct ek_inode *inode, struct step *s, uint64_t *in)
{
	const struct geom *g = &inode->img->geom;
	struct buf *b;
	ek_pblk at;
	int rc = geom_data_run(g, le32_get(s->row[s->at]), 1, inode->ino.v,
			       "corrupt block of pointers", &inode->img->diag, &at);

	if (rc == 0)
		rc = buf_get(inode->img->cache, at, &verify_any, inode_owner(inode), &b);
	if (rc < 0)
		return rc;
	buf_put(s->buf);
	s->span >>= pointer_bits(inode);
	*s = (struct step){(const le32 *)(const void *)b->data, (uint32_t)(*in / s->span),
			   1u << pointer_bits(inode), s->span, b};
	*in %= s->span;
	return 0;
}

/* Pointers from here on that are 0, or that name blocks one after the other. */
static uint32_t run_length(const struct step *s, uint32_t most)
{
	uint32_t first = le32_get(s->row[s->at]), n = 1;

	most = MIN(most, s->count - s->at);
	while (n < most && le32_get(s->row[s->at + n]) == (first == 0 ? 0 : first + n))
		n++;
	return n;
}

static int answer(struct ek_inode *inode, const struct step *s, uint64_t in, struct map *m)
{
	uint32_t first = le32_get(s->row[s->at]);

	m->pblk = (ek_pblk){0};
	m->state = first == 0 ? MAP_HOLE : MAP_MAPPED;
	if (first == 0) {
		uint64_t rest = s->span * (s->span == 1 ? run_length(s, m->len) : 1) - in;

		m->len = (uint32_t)MIN((uint64_t)m->len, rest);
		return 0;
	}
	m->len = run_length(s, m->len);
	return geom_data_run(&inode->img->geom, first, m->len, inode->ino.v,
			     "corrupt block pointer", &inode->img->diag, &m->pblk);
}

int ind_lookup(struct ek_inode *inode, struct map *m)
{
	struct step s;
	unsigned levels;
	uint64_t in;
	int rc;

	count(&inode->img->counters, COUNTER_IND_MAP_BLOCKS, 1);
	rc = first_step(inode, m->lblk.v, &s, &levels, &in);
	if (rc < 0)
		return diag_set(&inode->img->diag, rc,
				"inode %u: block %u is past the last that pointers reach",
				inode->ino.v, m->lblk.v);
	while (levels-- != 0 && le32_get(s.row[s.at]) != 0 && rc == 0)
		rc = descend(inode, &s, &in);
	if (rc == 0)
		rc = answer(inode, &s, in, m);
	buf_put(s.buf);
	return rc;
}
