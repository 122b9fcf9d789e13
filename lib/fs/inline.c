/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads contents that lie in the inode.  A folder there begins with its parent's number; entries
 * follow up to the end of the first 60 bytes, and a second row of them fills the attribute.
 */
#include "fs/inline.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/dir.h"
#include "fs/dir_block.h"
#include "fs/xattr.h"
#include "ondisk/buf.h"

#define PARENT_BYTES 4u
#define ENTRY_HEAD   8u

/* Places of a walk: the two names that are not stored, then bytes of the contents. */
enum { AT_SELF, AT_PARENT, AT_ENTRIES = PARENT_BYTES };

int inline_read(struct ek_inode *inode, uint64_t off, void *buf, size_t len)
{
	uint8_t *to = buf;
	const void *tail;
	uint32_t n;
	struct buf *b;
	int rc = xattr_inline_data(inode, &b, &tail, &n);

	if (rc < 0)
		return rc;
	memset(to, 0, len);
	if (off < INLINE_HEAD) {
		size_t part = MIN(len, (size_t)(INLINE_HEAD - off));

		memcpy(to, inode->rec.block + off, part);
		to += part;
		len -= part;
		off += part;
	}
	off -= INLINE_HEAD;
	if (len != 0 && off < n)
		memcpy(to, (const uint8_t *)tail + off, MIN(len, (size_t)(n - off)));
	buf_put(b);
	return 0;
}

/* ---- folders ---- */

static int bad_entry(const struct ek_inode *dir, uint64_t off, const char *why)
{
	return diag_set(&dir->img->diag, -EUCLEAN,
			"corrupt folder: inode %u: inline entry at byte %llu: %s", dir->ino.v,
			(unsigned long long)off, why);
}

/* The entry at the walk's place, proved; the place moves behind it. */
static int take_entry(struct ek_inode *dir, struct dir_iter *it, const uint8_t *row, uint32_t at,
		      uint32_t end, const struct dirent_raw **ret)
{
	const struct dirent_raw *e = (const struct dirent_raw *)(const void *)(row + at);
	uint32_t len;

	if (end - at < ENTRY_HEAD)
		return bad_entry(dir, it->off, "is cut off");
	len = le16_get(e->rec_len);
	if (len < ENTRY_HEAD || len % 4 != 0 || len > end - at)
		return bad_entry(dir, it->off, "rec_len leads out of its row");
	if (e->name_len + ENTRY_HEAD > len)
		return bad_entry(dir, it->off, "name_len is more than rec_len holds");
	it->off += len;
	*ret = e;
	return 0;
}

static int stored_entry(struct ek_inode *dir, struct dir_iter *it, struct dirent *ret)
{
	const void *tail;
	uint32_t n;
	int rc;

	if (it->buf != NULL)
		dir_iter_end(it);
	rc = xattr_inline_data(dir, &it->buf, &tail, &n);
	while (rc == 0 && it->off < INLINE_HEAD + n) {
		bool head = it->off < INLINE_HEAD;
		const struct dirent_raw *e = NULL;

		rc = take_entry(dir, it, head ? dir->rec.block : tail,
				(uint32_t)(head ? it->off : it->off - INLINE_HEAD),
				head ? INLINE_HEAD : n, &e);
		if (rc == 0 && le32_get(e->inode) != 0) {
			*ret = (struct dirent){{le32_get(e->inode)},
					       (enum dirent_type)e->file_type,
					       e->name_len,
					       e->name};
			return 1;
		}
	}
	return rc;
}

int inline_dir_next(struct ek_inode *dir, struct dir_iter *it, struct dirent *ret)
{
	le32 parent;

	switch (it->off) {
	case AT_SELF:
		it->off = AT_PARENT;
		*ret = (struct dirent){dir->ino, DIRENT_DIR, 1, "."};
		return 1;
	case AT_PARENT:
		it->off = AT_ENTRIES;
		memcpy(&parent, dir->rec.block, sizeof(parent));
		*ret = (struct dirent){{le32_get(parent)}, DIRENT_DIR, 2, ".."};
		return 1;
	default:
		return stored_entry(dir, it, ret);
	}
}
