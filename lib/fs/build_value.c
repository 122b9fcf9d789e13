/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attribute values of a bulk build that lie in inodes of their own (ea_inode).  Equal values share
 * one.  Until inodes have numbers, an entry names its value by its place in the set's list, from 1
 * on; how many users a value has is counted from entries behind inodes and in blocks, however many
 * inodes share the block.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/mem.h"
#include "fs/build_impl.h"

static struct build_value *find(const struct build *b, uint64_t key, const struct xattr_value *v)
{
	for (struct hash_node *n = hash_find(&b->values, key); n != NULL; n = n->next) {
		struct build_value *x = hash_entry(n, struct build_value, node);

		if (n->key == key && x->inode.size == v->size &&
		    memcmp(x->bytes, v->bytes, v->size) == 0)
			return x;
	}
	return NULL;
}

static struct build_value *make(struct build *b, uint64_t key, const struct xattr_value *v)
{
	struct build_value *x = mem_zero(sizeof(*x) + v->size);
	struct build_inode *i;

	if (x == NULL)
		return NULL;
	memcpy(x->bytes, v->bytes, v->size);
	x->hash = v->hash;
	i = &x->inode;
	i->mode = S_IFREG | 0600;
	i->flags = INODE_EA_INODE;
	i->size = v->size;
	i->mtime = i->crtime = b->o.now;
	/* all 32 bits, where a time has them */
	i->atime.sec = b->z.isize > 128 ? (int64_t)v->hash : (int32_t)v->hash;
	i->value = x;
	hash_insert(&b->values, &x->node, key);
	return x;
}

int build_value_take(struct build *b, struct build_xattrs *set, struct xattr_value *v)
{
	struct build_value *x;
	uint64_t key;

	v->hash = crc32c(b->l.geom.csum_seed, v->bytes, v->size);
	key = hash_seeded(b->secret, v->bytes, v->size);
	x = find(b, key, v);
	if (x == NULL)
		x = make(b, key, v);
	if (x == NULL || mem_grow((void **)&set->values, &set->values_cap, (size_t)set->nvalues + 1,
				  sizeof(*set->values)) < 0)
		return diag_set(b->diag, -ENOMEM, "out of memory for attributes");
	set->values[set->nvalues++] = (struct build_user){x, false};
	set->value_blocks += build_whole(b, DIV_UP(v->size, b->z.bs));
	v->inum = set->nvalues;
	return 0;
}

void build_values_free(struct build *b)
{
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&b->values, &at)) != NULL) {
		struct build_value *x = hash_entry(n, struct build_value, node);

		build_free_runs(&x->inode);
		free(x);
	}
	hash_free(&b->values);
}

/* ---- the list ---- */

/* The first user says whose the value is. */
static void list_set(struct build *b, const struct build_inode *owner)
{
	const struct build_xattrs *set = owner->xattrs;

	for (uint32_t k = 0; k < set->nvalues; k++) {
		struct build_value *v = set->values[k].value;

		if (v->users == 0) {
			v->inode.uid = owner->uid;
			v->inode.gid = owner->gid;
			b->inodes[b->n++] = &v->inode;
		}
		v->users += set->values[k].in_body ? set->users : set->nblocks;
	}
}

int build_values_list(struct build *b)
{
	uint32_t n = b->n;

	if (b->values.count == 0)
		return 0;
	b->list = mem_array(n + b->values.count, sizeof(*b->list), SIZE_MAX, b->diag);
	if (b->list == NULL)
		return -ENOMEM;
	memcpy(b->list, b->inodes, n * sizeof(*b->list));
	b->inodes = b->list;
	for (uint32_t i = 0; i < n; i++) {
		struct build_xattrs *set = b->inodes[i]->xattrs;

		if (set == NULL || set->listed)
			continue;
		set->listed = true;
		list_set(b, b->inodes[i]);
	}
	return 0;
}

/* ---- numbers ---- */

static void name_area(const struct build_xattrs *set, const struct xattr_area *a)
{
	struct xattr_entry *e;
	uint32_t at = a->first;

	while (a->base != NULL && (e = xattr_area_next(a, &at)) != NULL) {
		uint32_t place = le32_get(e->e_value_inum);

		if (place != 0)
			e->e_value_inum = le32_make(set->values[place - 1].value->inode.ino);
	}
}

void build_values_name(struct build *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		struct build_xattrs *set = b->inodes[i]->xattrs;
		struct xattr_area body, block;

		if (set == NULL || !set->listed)
			continue;
		body = (struct xattr_area){set->body, 0, b->z.isize - BUILD_BODY};
		block = (struct xattr_area){set->block, XATTR_BLOCK_HEAD, b->z.bs};
		name_area(set, &body);
		name_area(set, &block);
		set->listed = false;
	}
}

void build_value_record(const struct build_value *v, struct inode_rec *r)
{
	r->ctime = (struct ek_time){(int64_t)(v->users >> 32), 0};
	r->version = (uint32_t)v->users;
}

int build_value_write(struct build *b, struct build_out *o, const struct build_inode *x)
{
	uint8_t *block = calloc(1, b->z.bs);
	uint64_t at = 0;
	int rc = block == NULL ? -ENOMEM : 0;

	for (uint32_t i = 0; i < x->nruns; i++) {
		for (uint32_t k = 0; k < x->runs[i].len && rc == 0; k++, at += b->z.bs) {
			size_t n = (size_t)MIN(x->size - at, (uint64_t)b->z.bs);

			memset(block + n, 0, b->z.bs - n);
			memcpy(block, x->value->bytes + at, n);
			rc = build_out(o, (x->runs[i].pblk + k) << b->l.geom.block_bits, block,
				       b->z.bs);
		}
	}
	free(block);
	return rc;
}
