/* SPDX-License-Identifier: BSD-2-Clause */
/* Revoked blocks: found by number, listed in the order in which they were revoked. */
#include <errno.h>

#include "journal/tx.h"

struct revoke *revokes_find(const struct revokes *r, uint64_t block)
{
	struct hash_node *n = hash_find(&r->by_block, block);

	return n != NULL ? hash_entry(n, struct revoke, node) : NULL;
}

int revokes_add(struct revokes *r, uint64_t block, uint32_t seq)
{
	struct revoke *v = revokes_find(r, block);

	if (v != NULL) {
		if (tid_after(seq, v->seq))
			v->seq = seq;
		return 0;
	}
	v = pool_take(&r->pool);
	if (v == NULL)
		return -ENOMEM;
	v->seq = seq;
	hash_insert(&r->by_block, &v->node, block);
	list_append(&r->order, &v->link);
	r->count++;
	return 0;
}

static void take_out(struct revokes *r, struct revoke *v)
{
	hash_remove(&r->by_block, &v->node);
	list_remove(&v->link);
	pool_give(&r->pool, v);
	r->count--;
}

void revokes_cancel(struct revokes *r, uint64_t block)
{
	struct revoke *v = r->count != 0 ? revokes_find(r, block) : NULL;

	if (v != NULL)
		take_out(r, v);
}

void revokes_clear(struct revokes *r)
{
	while (!list_empty(&r->order))
		take_out(r, list_first(&r->order, struct revoke, link));
}
