/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks from the inode's pointers to the block of pointers that holds the answer, at most three
 * steps whatever the image says.  Where a pointer is 0, all that lies below it is one hole.
 */
#include "fs/indirect.h"

#include <errno.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/map.h"
#include "ondisk/buf.h"

unsigned ind_bits(const struct ek_inode *inode)
{
	return inode->img->geom.block_bits - 2u;
}

/* The inode's pointer that lblk is below, and lblk's place there. */
static int first_step(const struct ek_inode *inode, uint32_t lblk, struct ind_place *p)
{
	struct ind_step *s = &p->step;
	unsigned bits = ind_bits(inode);
	uint64_t in = lblk;

	*p = (struct ind_place){0};
	*s = (struct ind_step){(const le32 *)(const void *)inode->rec.block, lblk, IND_DIRECT, 1,
			       NULL};
	if (lblk < IND_DIRECT)
		return 0;
	in -= IND_DIRECT;
	for (unsigned l = 1; l <= IND_LEVELS; l++) {
		s->span = (uint64_t)1 << bits * l;
		if (in < s->span) {
			s->at = IND_DIRECT + l - 1;
			s->count = s->at + 1;
			p->levels = l;
			p->in = in;
			return 0;
		}
		in -= s->span;
	}
	return diag_set(&inode->img->diag, -EFBIG,
			"inode %u: block %u is past the last that pointers reach", inode->ino.v,
			lblk);
}

/* Into the block that the current pointer names. */
static int descend(struct ek_inode *inode, struct ind_place *p)
{
	const struct geom *g = &inode->img->geom;
	struct ind_step *s = &p->step;
	uint64_t span = s->span >> ind_bits(inode);
	struct buf *b;
	ek_pblk at;
	int rc = geom_data_run(g, le32_get(s->row[s->at]), 1, inode->ino.v,
			       "corrupt block of pointers", &inode->img->diag, &at);

	if (rc == 0)
		rc = buf_get(inode->img->cache, at, &verify_any, inode_owner(inode), &b);
	if (rc < 0)
		return rc;
	buf_put(s->buf);
	*s = (struct ind_step){(const le32 *)(const void *)b->data, (uint32_t)(p->in / span),
			       1u << ind_bits(inode), span, b};
	p->in %= span;
	p->levels--;
	return 0;
}

int ind_find(struct ek_inode *inode, ek_lblk lblk, struct ind_place *ret)
{
	int rc = first_step(inode, lblk.v, ret);

	while (rc == 0 && ret->levels != 0 && le32_get(ret->step.row[ret->step.at]) != 0)
		rc = descend(inode, ret);
	return rc;
}

void ind_leave(struct ind_place *p)
{
	buf_put(p->step.buf);
	p->step.buf = NULL;
}

uint32_t ind_run(const struct ind_step *s, uint32_t most)
{
	uint32_t first = le32_get(s->row[s->at]), n = 1;

	most = MIN(most, s->count - s->at);
	while (n < most && le32_get(s->row[s->at + n]) == (first == 0 ? 0 : (uint64_t)first + n))
		n++;
	return n;
}

int ind_answer(struct ek_inode *inode, const struct ind_place *p, struct map *m)
{
	const struct ind_step *s = &p->step;
	uint32_t first = le32_get(s->row[s->at]);

	m->pblk = (ek_pblk){0};
	m->state = first == 0 ? MAP_HOLE : MAP_MAPPED;
	if (first == 0) {
		uint64_t most = MIN(m->len / s->span + 2, (uint64_t)s->count);
		uint64_t rest = s->span * ind_run(s, (uint32_t)most) - p->in;

		m->len = (uint32_t)MIN((uint64_t)m->len, rest);
		return 0;
	}
	m->len = ind_run(s, m->len);
	return geom_data_run(&inode->img->geom, first, m->len, inode->ino.v,
			     "corrupt block pointer", &inode->img->diag, &m->pblk);
}

int ind_lookup(struct ek_inode *inode, struct map *m)
{
	struct ind_place p;
	int rc = ind_find(inode, m->lblk, &p);

	count(&inode->img->counters, COUNTER_IND_MAP_BLOCKS, 1);
	if (rc == 0)
		rc = ind_answer(inode, &p, m);
	ind_leave(&p);
	return rc;
}

/* ---- limits ---- */

/* Pointer blocks of a file of n blocks without holes. */
static uint64_t pointer_blocks(uint64_t n, unsigned bits)
{
	uint64_t below = (uint64_t)1 << bits, sum = 0;

	n -= MIN(n, (uint64_t)IND_DIRECT);
	for (unsigned l = 1; l <= IND_LEVELS && n != 0; l++) {
		uint64_t here = MIN(n, (uint64_t)1 << bits * l);

		n -= here;
		for (unsigned k = 0; k < l; k++) {
			here = (here + below - 1) >> bits;
			sum += here;
		}
	}
	return sum;
}

uint64_t ind_max_blocks(const struct ek_inode *inode)
{
	const struct geom *g = &inode->img->geom;
	bool huge = geom_ro_compat(g, RO_COMPAT_HUGE_FILE);
	unsigned bits = ind_bits(inode);
	uint64_t counted = huge ? ((uint64_t)1 << 48) - 1 : UINT32_MAX >> (g->block_bits - 9u);
	uint64_t reached = IND_DIRECT;

	for (unsigned l = 1; l <= IND_LEVELS; l++)
		reached += (uint64_t)1 << bits * l;
	if (reached + pointer_blocks(reached, bits) <= counted)
		return reached;
	return counted - pointer_blocks(counted, bits);
}
