/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inode of a value is shared by all who have the same one; the checksum of the value is where a
 * time of access would be.  Lustre's have none, but know the file they belong to.
 */
#include "fs/xattr_inode.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/mem.h"
#include "fs/file.h"
#include "fs/inode.h"
#include "fs/xattr_format.h"
#include "fs/xattr_users.h"

#define VALUE_MAX 65536u

static int bad(const struct ek_inode *owner, struct xattr_ref r, const char *why)
{
	return diag_set(&owner->img->diag, -EUCLEAN,
			"corrupt xattr: inode %u: value of %u bytes in inode %u: %s", owner->ino.v,
			r.size, r.inum, why);
}

bool xattr_inode_is_lustre(const struct ek_inode *store, const struct ek_inode *owner)
{
	return (uint32_t)store->rec.mtime.sec == owner->ino.v &&
	       store->rec.generation == owner->rec.generation;
}

static bool proved(const struct ek_inode *owner, const struct ek_inode *store, const uint8_t *value,
		   uint32_t size)
{
	uint32_t sum = crc32c(owner->img->geom.csum_seed, value, size);

	return sum == (uint32_t)store->rec.atime.sec || xattr_inode_is_lustre(store, owner);
}

static int prove_inode(const struct ek_inode *owner, const struct ek_inode *store,
		       struct xattr_ref r)
{
	if (store == owner || !inode_is_file(store) || (store->rec.flags & INODE_EA_INODE) == 0)
		return bad(owner, r, "it is no inode for values");
	if (store->size != r.size)
		return bad(owner, r, "i_size is not that");
	return 0;
}

int xattr_inode_get(struct task *t, struct ek_inode *owner, struct xattr_ref r,
		    struct ek_inode **ret)
{
	struct ek_image *img = owner->img;
	struct ek_inode *store;
	ek_inum ino;
	int rc;

	if (r.size > VALUE_MAX)
		return bad(owner, r, "that is more than 65536");
	rc = geom_inum(&img->geom, r.inum, "attribute value", &img->diag, &ino);
	if (rc == 0)
		rc = inode_get(img, ino, &store);
	if (rc < 0)
		return rc;
	rc = prove_inode(owner, store, r);
	if (rc < 0) {
		inode_put(t, store);
		return rc;
	}
	*ret = store;
	return 0;
}

static int read_value(struct task *t, struct ek_inode *owner, struct ek_inode *store,
		      struct xattr_ref r, uint8_t **ret)
{
	uint32_t size = r.size;
	uint8_t *value = malloc(size != 0 ? size : 1);
	size_t n = 0;
	int rc;

	if (value == NULL)
		return diag_set(&owner->img->diag, -ENOMEM, "out of memory for an attribute");
	rc = file_read(t, store, 0, value, size, &n);
	if (rc == 0 && !proved(owner, store, value, size))
		rc = bad(owner, r, "its checksum does not match");
	if (rc < 0)
		free(value);
	else
		*ret = value;
	return rc;
}

int xattr_inode_value(struct task *t, struct ek_inode *owner, struct xattr_ref r, uint8_t **ret)
{
	struct ek_inode *store;
	int rc = xattr_inode_get(t, owner, r, &store);

	if (rc < 0)
		return rc;
	rc = read_value(t, owner, store, r, ret);
	if (rc == 0 && !xattr_inode_is_lustre(store, owner))
		xattr_inode_known(store);
	inode_put(t, store);
	return rc;
}

uint32_t xattr_inode_threshold(const struct ek_image *img)
{
	return img->geom.block_size - XATTR_BLOCK_HEAD - 20 - 4; /* an entry, and the end mark */
}
