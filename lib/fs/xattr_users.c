/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inodes of attribute values from the side of those who change attributes: made, shared by equal
 * values, counted, and given back when nobody uses them.
 *
 * Which inode has which value is known only of those that were made or read since the image was
 * opened, as in Linux.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "fs/file.h"
#include "fs/inode.h"
#include "fs/xattr_format.h"
#include "fs/xattr_inode.h"
#include "fs/xattr_users.h"
#include "io/dev.h"

/* A known value. */
struct known {
	struct hash_node node; /* by checksum; several may have the same */
	ek_inum ino;
};

struct xattr_inodes {
	struct hash known;
	struct pool pool;
	struct ek_inode **gone; /* lost their last user; referenced */
	size_t count, room;
};

static struct xattr_inodes *table(struct ek_image *img)
{
	if (img->values == NULL) {
		img->values = mem_zero(sizeof(*img->values));
		if (img->values != NULL)
			img->values->pool.size = sizeof(struct known);
	}
	return img->values;
}

void xattr_inodes_close(struct ek_image *img)
{
	if (img->values == NULL)
		return;
	hash_free(&img->values->known);
	pool_end(&img->values->pool);
	free(img->values->gone);
	free(img->values);
	img->values = NULL;
}

/* ---- what is known ---- */

static struct known *find_known(const struct xattr_inodes *x, uint32_t hash, ek_inum ino)
{
	struct hash_node *n = hash_find(&x->known, hash);

	while (n != NULL) {
		struct known *k = hash_entry(n, struct known, node);

		if (n->key == hash && k->ino.v == ino.v)
			return k;
		n = n->next;
	}
	return NULL;
}

void xattr_inode_known(struct ek_inode *store)
{
	struct xattr_inodes *x = store->img->writable ? table(store->img) : NULL;
	uint32_t hash = (uint32_t)store->rec.atime.sec;
	struct known *k;

	if (x == NULL || find_known(x, hash, store->ino) != NULL)
		return;
	k = pool_take(&x->pool);
	if (k == NULL)
		return; /* an equal value is stored once more then */
	k->ino = store->ino;
	hash_insert(&x->known, &k->node, hash);
}

static void forget(struct ek_inode *store)
{
	struct xattr_inodes *x = store->img->values;
	struct known *k =
	    x != NULL ? find_known(x, (uint32_t)store->rec.atime.sec, store->ino) : NULL;

	if (k == NULL)
		return;
	hash_remove(&x->known, &k->node);
	pool_give(&x->pool, k);
}

/* ---- counting ---- */

int64_t xattr_inode_blocks(const struct ek_image *img, uint32_t size)
{
	const struct geom *g = &img->geom;

	return (int64_t)DIV_UP(size, g->block_size << g->cluster_bits) << g->cluster_bits;
}

/* Lustre's inodes have one user, whom they know, and no count. */
static uint64_t users_of(const struct ek_inode *store, const struct ek_inode *owner)
{
	if (xattr_inode_is_lustre(store, owner))
		return 1;
	return (uint64_t)(uint32_t)store->rec.ctime.sec << 32 | (uint32_t)store->rec.version;
}

static void set_users(struct ek_inode *store, uint64_t users)
{
	store->rec.ctime = (struct ek_time){(int64_t)(users >> 32), 0};
	store->rec.version = (uint32_t)users;
}

static int note_gone(struct ek_inode *store)
{
	struct xattr_inodes *x = table(store->img);
	void *rows = x != NULL ? x->gone : NULL;

	if (x == NULL || mem_grow(&rows, &x->room, x->count + 1, sizeof(*x->gone)) < 0)
		return diag_set(&store->img->diag, -ENOMEM, "out of memory for an attribute");
	x->gone = (struct ek_inode **)rows;
	x->gone[x->count++] = inode_ref(store);
	return 0;
}

static int change_users(struct task *t, struct ek_inode *owner, struct ek_inode *store, int change)
{
	uint64_t users = users_of(store, owner);
	int rc = 0;

	if ((users == 0 && change < 0) || (users == UINT64_MAX && change > 0))
		return diag_set(&t->img->diag, -EUCLEAN,
				"corrupt xattr: inode %u: value in inode %u has %llu users",
				owner->ino.v, store->ino.v, (unsigned long long)users);
	users = change < 0 ? users - 1 : users + 1;
	set_users(store, users);
	if (users == 0) {
		forget(store);
		store->rec.links = 0;
		rc = orphan_add(t, store);
		if (rc == 0)
			rc = note_gone(store);
	}
	return rc < 0 ? rc : inode_store(t, store);
}

static int change_entry(struct task *t, struct ek_inode *owner, struct xattr_ref r, int change)
{
	struct ek_inode *store;
	int rc = xattr_inode_get(t, owner, r, &store);

	if (rc < 0)
		return rc;
	rc = change_users(t, owner, store, change);
	inode_put(t, store);
	return rc;
}

int xattr_inode_use(struct task *t, struct ek_inode *owner, struct xattr_ref r)
{
	return change_entry(t, owner, r, 1);
}

int xattr_inode_leave(struct task *t, struct ek_inode *owner, struct xattr_ref r)
{
	int rc = change_entry(t, owner, r, -1);

	if (rc == 0)
		inode_add_blocks(owner, -xattr_inode_blocks(t->img, r.size));
	return rc;
}

void xattr_inode_reap(struct task *t)
{
	struct xattr_inodes *x = t->img->values;

	while (x != NULL && x->count != 0 && t->user.current == NULL)
		inode_put(t, x->gone[--x->count]);
}

/* ---- new values ---- */

static bool has_value(struct task *t, struct ek_inode *store, const struct xattr_value *v)
{
	uint8_t *bytes;
	size_t n = 0;
	bool same;

	if (store->rec.links == 0 || store->size != v->size)
		return false;
	bytes = malloc(v->size);
	same = bytes != NULL && file_read(t, store, 0, bytes, v->size, &n) == 0 && n == v->size &&
	       memcmp(bytes, v->bytes, n) == 0;
	free(bytes);
	return same;
}

/* 1 and the inode when one is known that has these bytes. */
static int find_equal(struct task *t, const struct xattr_value *v, struct ek_inode **ret)
{
	struct hash_node *n =
	    t->img->values != NULL ? hash_find(&t->img->values->known, v->hash) : NULL;

	for (; n != NULL; n = n->next) {
		struct ek_inode *store;

		if (n->key != v->hash)
			continue;
		if (inode_get(t->img, hash_entry(n, struct known, node)->ino, &store) < 0) {
			diag_clear(&t->img->diag);
			continue;
		}
		if (has_value(t, store, v)) {
			*ret = store;
			return 1;
		}
		inode_put(t, store);
	}
	return 0;
}

/* Before the transaction that names them commits, like the bytes of any new file. */
static int write_bytes(struct task *t, struct ek_inode *store, const struct xattr_value *v)
{
	uint64_t block = t->img->geom.block_size, whole = ROUND_UP((uint64_t)v->size, block);
	uint8_t *bytes = mem_aligned(4096, whole);
	int rc = 0;

	if (bytes == NULL)
		return diag_set(&t->img->diag, -ENOMEM, "out of memory for an attribute");
	memcpy(bytes, v->bytes, v->size);
	memset(bytes + v->size, 0, whole - v->size);
	for (uint64_t at = 0; at < v->size && rc == 0;) {
		uint64_t pos, run;

		rc = file_extend(t, store, at, v->size - at, &pos, &run);
		if (rc == 0)
			rc = dev_write(t->img->dev, pos, bytes + at, ROUND_UP(run, block));
		at += run;
	}
	free(bytes);
	return rc;
}

/* A new inode near its first user, with that one's owner. */
static int make_inode(struct task *t, struct ek_inode *owner, struct ek_inode **ret)
{
	struct ek_inode *root, *store;
	int rc = inode_get(t->img, (ek_inum){INUM_ROOT}, &root);

	if (rc < 0)
		return rc;
	t->goal_ino = owner->ino.v + 1;
	rc = inode_new(t, root, S_IFREG | 0600, NULL, 0, &store);
	inode_put(t, root);
	if (rc < 0)
		return rc;
	store->state &= ~(unsigned)INODE_STATE_MAY_INLINE;
	store->rec.flags |= INODE_EA_INODE;
	store->rec.uid = owner->rec.uid;
	store->rec.gid = owner->rec.gid;
	store->rec.links = 1;
	*ret = store;
	return 0;
}

static int make(struct task *t, struct ek_inode *owner, const struct xattr_value *v,
		struct ek_inode **ret)
{
	struct ek_inode *store;
	int rc = make_inode(t, owner, &store), end;

	if (rc < 0)
		return rc;
	/* All 32 bits; small inodes have no others, and what they cannot say they round. */
	store->rec.atime.sec = t->img->geom.inode_size > 128 ? (int64_t)v->hash : (int32_t)v->hash;
	store->rec.atime.nsec = 0;
	set_users(store, 1);
	rc = write_bytes(t, store, v);
	if (rc == 0)
		rc = inode_mark_dirty(t, store, MARK_XATTR);
	if (rc == 0) {
		xattr_inode_known(store);
		*ret = store;
		return 0;
	}
	end = change_users(t, owner, store, -1);
	inode_put(t, store);
	return end < 0 ? end : rc;
}

int xattr_inode_take(struct task *t, struct ek_inode *owner, struct xattr_value *v)
{
	struct ek_inode *store = NULL;
	int rc;

	v->hash = crc32c(t->img->geom.csum_seed, v->bytes, v->size);
	if (find_equal(t, v, &store) == 1)
		rc = change_users(t, owner, store, 1);
	else
		rc = make(t, owner, v, &store);
	if (rc < 0)
		return rc;
	v->inum = store->ino.v;
	inode_add_blocks(owner, xattr_inode_blocks(t->img, v->size));
	inode_put(t, store);
	return 0;
}
