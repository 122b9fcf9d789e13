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

#define VALUE_MAX 65536u

static int bad(const struct ek_inode *owner, const struct xattr_entry *e, const char *why)
{
	return diag_set(&owner->img->diag, -EUCLEAN,
			"corrupt xattr: inode %u: value of %u bytes in inode %u: %s", owner->ino.v,
			le32_get(e->e_value_size), le32_get(e->e_value_inum), why);
}

static bool proved(const struct ek_inode *owner, const struct ek_inode *store, const uint8_t *value,
		   uint32_t size)
{
	uint32_t sum = crc32c(owner->img->geom.csum_seed, value, size);

	return sum == (uint32_t)store->rec.atime.sec ||
	       ((uint32_t)store->rec.mtime.sec == owner->ino.v &&
		store->rec.generation == owner->rec.generation);
}

static int read_value(struct task *t, struct ek_inode *owner, struct ek_inode *store,
		      const struct xattr_entry *e, uint8_t **ret)
{
	uint32_t size = le32_get(e->e_value_size);
	uint8_t *value;
	size_t n = 0;
	int rc;

	if (!inode_is_file(store) || (store->rec.flags & INODE_EA_INODE) == 0)
		return bad(owner, e, "it is no inode for values");
	if (store->size != size)
		return bad(owner, e, "i_size is not that");
	value = malloc(size != 0 ? size : 1);
	if (value == NULL)
		return diag_set(&owner->img->diag, -ENOMEM, "out of memory for an attribute");
	rc = file_read(t, store, 0, value, size, &n);
	if (rc == 0 && !proved(owner, store, value, size))
		rc = bad(owner, e, "its checksum does not match");
	if (rc < 0)
		free(value);
	else
		*ret = value;
	return rc;
}

int xattr_inode_value(struct task *t, struct ek_inode *owner, const struct xattr_entry *e,
		      uint8_t **ret)
{
	struct ek_image *img = owner->img;
	struct ek_inode *store;
	ek_inum ino;
	int rc;

	if (le32_get(e->e_value_size) > VALUE_MAX)
		return bad(owner, e, "that is more than 65536");
	rc = geom_inum(&img->geom, le32_get(e->e_value_inum), "attribute value", &img->diag, &ino);
	if (rc == 0)
		rc = inode_get(img, ino, &store);
	if (rc < 0)
		return rc;
	rc = read_value(t, owner, store, e, ret);
	inode_put(t, store);
	return rc;
}
