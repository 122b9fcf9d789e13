/* SPDX-License-Identifier: BSD-2-Clause */
/* The area behind an inode's fields, and the block that takes over when that is full. */
#include "fs/xattr_area.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"

int xattr_parse_name(struct task *t, const char *full, struct xattr_name *ret)
{
	ret->index = xattr_prefix(full, &ret->text);
	if (ret->index == 0)
		return diag_set(&t->img->diag, -EOPNOTSUPP, "unsupported xattr name: %.64s", full);
	ret->len = (uint32_t)strnlen(ret->text, 256);
	if (ret->len > 255 || (ret->len == 0 && ret->index != 2 && ret->index != 3))
		return -ERANGE;
	return 0;
}

bool xattr_body_area(const struct ek_inode *inode, uint8_t *raw, struct xattr_area *a,
		     uint32_t need)
{
	uint32_t head = 128u + inode->rec.extra_isize, size = inode->img->geom.inode_size;
	le32 magic;

	if (size <= 128 || head + 8 > size || inode->rec.extra_isize == 0)
		return false;
	memcpy(&magic, raw + head, 4);
	if (le32_get(magic) != XATTR_MAGIC) {
		if (need == 0 || need + 4 > size - head - 4)
			return false;
		memset(raw + head, 0, size - head);
		magic = le32_make(XATTR_MAGIC);
		memcpy(raw + head, &magic, 4);
	}
	*a = (struct xattr_area){raw + head + 4, 0, size - head - 4};
	return true;
}

int xattr_get_block(struct ek_inode *inode, struct buf **ret)
{
	struct ek_image *img = inode->img;
	ek_pblk block;
	int rc =
	    geom_data_run(&img->geom, inode->rec.file_acl, 1, 0, "i_file_acl", &img->diag, &block);

	if (rc < 0)
		return rc;
	return buf_get(img->cache, block, &verify_xattr_block, (struct buf_owner){0, 0}, ret);
}

int xattr_body_open(struct ek_inode *inode, struct buf **buf, struct xattr_area *a)
{
	const void *raw;
	struct buf *b;
	int rc = inode_raw_view(inode, &b, &raw);

	if (rc < 0)
		return rc;
	if (xattr_body_area(inode, (uint8_t *)(uintptr_t)raw, a, 0)) {
		rc = xattr_area_verify(a, "inode", inode->ino.v, &inode->img->diag);
		rc = rc < 0 ? rc : 1;
	}
	if (rc == 1)
		*buf = b;
	else
		buf_put(b);
	return rc;
}

int xattr_each_area(struct ek_inode *inode, xattr_area_fn *fn, void *ctx)
{
	struct xattr_area a;
	struct buf *b;
	int rc = xattr_body_open(inode, &b, &a);

	if (rc == 1) {
		rc = fn(ctx, &a, true);
		buf_put(b);
	}
	if (rc != 0 || inode->rec.file_acl == 0)
		return rc;
	rc = xattr_get_block(inode, &b);
	if (rc < 0)
		return rc;
	a = (struct xattr_area){b->data, XATTR_BLOCK_HEAD, b->size};
	rc = fn(ctx, &a, false);
	buf_put(b);
	return rc;
}
