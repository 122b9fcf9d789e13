/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes of inodes that are built in bulk.  Each distinct set is encoded once: what fits goes
 * behind the inode's fields, the rest to a block that up to 1024 inodes share.  With ea_inode the
 * value of what fits neither goes to an inode.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/str.h"
#include "fs/build_impl.h"
#include "fs/edit_impl.h"

#define ACL_CAP 65536u

/* A set as one row of bytes: equal rows are equal sets. */
static int flatten(const struct ek_xattr *x, size_t n, struct str *s)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t len = x[i].len;

		str_add(s, x[i].name, strlen(x[i].name) + 1);
		str_add(s, &len, sizeof(len));
		str_add(s, x[i].value, x[i].len);
	}
	return s->err;
}

static struct build_xattrs *find(struct build *b, uint64_t key, const struct str *s)
{
	for (struct hash_node *n = hash_find(&b->sets, key); n != NULL; n = n->next) {
		struct build_xattrs *set = hash_entry(n, struct build_xattrs, node);

		if (n->key == key && set->source_len == s->len &&
		    memcmp(set->source, s->p, s->len) == 0)
			return set;
	}
	return NULL;
}

static int too_large(struct build *b, const struct ek_xattr *x, const char *path)
{
	char shown[128], name[64];

	return diag_set(
	    b->diag, -E2BIG,
	    "attribute too large: %s: %s of %zu bytes does not fit a block of %u with the "
	    "others",
	    escape_to(shown, sizeof(shown), path, strlen(path)),
	    escape_to(name, sizeof(name), x->name, strlen(x->name)), x->len, b->z.bs);
}

struct encoding {
	struct build *b;
	struct build_xattrs *set;
	struct xattr_area body, block;
	uint8_t *acl;
	const char *path;
};

static int bad_name(struct encoding *e, const struct ek_xattr *x)
{
	char shown[128], name[64];

	return diag_set(e->b->diag, -EOPNOTSUPP, "attribute name: %s: '%s' cannot be kept",
			escape_to(shown, sizeof(shown), e->path, strlen(e->path)),
			escape_to(name, sizeof(name), x->name, strlen(x->name)));
}

static int bad_acl(struct encoding *e, const struct ek_xattr *x)
{
	char shown[128];

	return diag_replace(e->b->diag, -EINVAL, "access list: %s: %s is damaged",
			    escape_to(shown, sizeof(shown), e->path, strlen(e->path)), x->name);
}

/* A name with its index, and what it is to have. */
struct item {
	uint8_t index;
	const char *name;
	uint32_t len;
	struct xattr_value value;
};

/* 1: behind the inode; 0: in the block. */
static int place(struct encoding *e, const struct item *i)
{
	int rc = -ENOSPC;

	if (e->body.base != NULL)
		rc = xattr_area_set(&e->body, i->index, i->name, i->len, &i->value, false);
	if (rc == 0)
		return 1;
	return rc == -ENOSPC ? xattr_area_set(&e->block, i->index, i->name, i->len, &i->value, true)
			     : rc;
}

static int place_apart(struct encoding *e, struct item *i)
{
	int rc = build_value_take(e->b, e->set, &i->value);

	if (rc < 0)
		return rc;
	rc = place(e, i);
	e->set->values[e->set->nvalues - 1].in_body = rc == 1;
	return rc;
}

/* As the kernel does: what would fill a block goes to an inode at once. */
static int place_anywhere(struct encoding *e, struct item *i)
{
	uint32_t most = e->b->z.bs - XATTR_BLOCK_HEAD - 20 - 4;
	bool may = (e->b->o.incompat & INCOMPAT_EA_INODE) != 0 && i->value.size != 0;
	int rc = -ENOSPC;

	if (!may || ROUND_UP(i->value.size, 4u) <= most)
		rc = place(e, i);
	return rc == -ENOSPC && may ? place_apart(e, i) : rc;
}

static int add(struct encoding *e, const struct ek_xattr *x)
{
	struct xattr_value v = {.bytes = x->value, .size = (uint32_t)x->len};
	const char *rest;
	uint8_t index = xattr_prefix(x->name, &rest);
	size_t len = index != 0 ? strlen(rest) : 0;
	struct item i;
	int rc;

	/* what lies in system. is the filesystem's */
	if (index == 0 || index == 7 || len > 255 || (len == 0 && index != 2 && index != 3))
		return bad_name(e, x);
	if (x->len > ACL_CAP)
		return too_large(e->b, x, e->path);
	if (index == 2 || index == 3) {
		rc = edit_check_acl(e->b->diag, x->value, x->len);
		if (rc == 0)
			rc = xattr_acl_pack(x->value, x->len, e->acl, ACL_CAP);
		if (rc < 0)
			return bad_acl(e, x);
		v = (struct xattr_value){.bytes = e->acl, .size = (uint32_t)rc};
	}
	i = (struct item){index, rest, (uint32_t)len, v};
	rc = place_anywhere(e, &i);
	return rc == -ENOSPC ? too_large(e->b, x, e->path) : MIN(rc, 0);
}

static void finish_block(struct encoding *e)
{
	struct xattr_head *head = (struct xattr_head *)(void *)e->block.base;

	if (xattr_area_empty(&e->block)) {
		free(e->set->block);
		e->set->block = NULL;
		return;
	}
	head->h_magic = le32_make(XATTR_MAGIC);
	head->h_blocks = le32_make(1);
	xattr_block_rehash(e->block.base, e->b->z.bs);
}

static int encode(struct build *b, struct build_xattrs *set, const struct ek_xattr *x, size_t n,
		  const char *path)
{
	uint32_t room = b->z.isize > BUILD_BODY + 4 ? b->z.isize - BUILD_BODY : 0;
	struct encoding e = {.b = b, .set = set, .path = path};
	int rc = 0;

	set->block = calloc(1, b->z.bs);
	set->body = room != 0 ? calloc(1, room) : NULL;
	e.acl = malloc(ACL_CAP);
	if (set->block == NULL || e.acl == NULL || (room != 0 && set->body == NULL))
		rc = diag_set(b->diag, -ENOMEM, "out of memory for attributes");
	e.body = (struct xattr_area){set->body, 0, room};
	e.block = (struct xattr_area){set->block, XATTR_BLOCK_HEAD, b->z.bs};
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = add(&e, &x[i]);
	if (rc == 0)
		finish_block(&e);
	free(e.acl);
	return rc;
}

void build_xattrs_free(struct build_xattrs *set)
{
	if (set == NULL)
		return;
	free(set->body);
	free(set->block);
	free(set->pblk);
	free(set->values);
	free(set);
}

static int make_set(struct build *b, const struct str *s, uint64_t key, const struct ek_xattr *x,
		    size_t n, const char *path, struct build_xattrs **ret)
{
	struct build_xattrs *set = mem_zero(sizeof(*set) + s->len);
	int rc = set != NULL ? encode(b, set, x, n, path) : -ENOMEM;

	if (rc < 0) {
		build_xattrs_free(set);
		return rc;
	}
	set->source_len = s->len;
	memcpy(set->source, s->p, s->len);
	hash_insert(&b->sets, &set->node, key);
	*ret = set;
	return 0;
}

/* The first attributes turn ext_attr on, as they do when they are set later. */
static int allow(struct build *b, const char *path)
{
	char shown[128];

	if (b->o.revision0)
		return diag_set(b->diag, -EOPNOTSUPP, "attributes: %s: revision 0 has none",
				escape_to(shown, sizeof(shown), path, strlen(path)));
	b->o.compat |= COMPAT_EXT_ATTR;
	return 0;
}

int build_xattrs(struct build *b, const struct ek_xattr *x, size_t n, const char *path,
		 struct build_xattrs **ret)
{
	struct str s = {0};
	struct build_xattrs *set = NULL;
	uint64_t key;
	int rc = n != 0 ? allow(b, path) : 0;

	if (rc == 0)
		rc = flatten(x, n, &s);
	if (rc == 0 && n != 0) {
		key = hash_seeded(b->secret, s.p, s.len);
		set = find(b, key, &s);
		if (set == NULL)
			rc = make_set(b, &s, key, x, n, path, &set);
	}
	str_free(&s);
	if (rc == 0)
		*ret = set;
	return rc;
}

static int write_set(struct build *b, struct build_out *o, struct build_xattrs *set)
{
	const struct geom *g = &b->l.geom;
	struct xattr_head *head = (struct xattr_head *)(void *)set->block;
	int rc = 0;

	for (uint32_t i = 0; i < set->nblocks && rc == 0; i++) {
		struct buf buf = {
		    .pblk = {set->pblk[i]}, .data = set->block, .size = g->block_size};

		head->h_refcount =
		    le32_make(MIN(BUILD_XATTR_USERS, set->users - i * BUILD_XATTR_USERS));
		verify_xattr_block.seal(g, &buf);
		rc = build_out(o, buf.pblk.v << g->block_bits, set->block, g->block_size);
	}
	return rc;
}

int build_xattrs_write(struct build *b, struct build_out *o)
{
	int rc = 0;

	/* in the order of the inodes, so that neighbours are written together */
	for (uint32_t i = 0; i < b->n && rc == 0; i++) {
		struct build_xattrs *set = b->inodes[i]->xattrs;

		if (set == NULL || set->nblocks == 0)
			continue;
		rc = write_set(b, o, set);
		set->nblocks = 0;
	}
	return rc;
}
