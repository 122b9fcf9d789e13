/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * POSIX access lists as Linux has them in attributes: a version, then eight bytes for each row: a
 * tag, permissions, a number.  Rows go by tag, then number.
 */
#ifdef HAVE_LIBARCHIVE
#include "tree/acl.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/mem.h"
#include "tree/xattrs.h"

#define NO_ID     0xffffffffu
#define ROWS_MAX  8191u /* what an attribute holds */
#define ROW_BYTES 8u
#define MASK      0x10u

struct row {
	uint16_t tag, perm;
	uint32_t id;
};

static const struct {
	int archive;
	uint16_t tag;
	bool has_id;
} tags[] = {
    {ARCHIVE_ENTRY_ACL_USER_OBJ, 0x01, false},  {ARCHIVE_ENTRY_ACL_USER, 0x02, true},
    {ARCHIVE_ENTRY_ACL_GROUP_OBJ, 0x04, false}, {ARCHIVE_ENTRY_ACL_GROUP, 0x08, true},
    {ARCHIVE_ENTRY_ACL_MASK, 0x10, false},      {ARCHIVE_ENTRY_ACL_OTHER, 0x20, false},
};

static int by_tag(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int take_row(int permset, int tag, int qual, struct row *ret)
{
	for (unsigned i = 0; i < ARRAY_SIZE(tags); i++) {
		if (tags[i].archive != tag)
			continue;
		if (tags[i].has_id && qual < 0)
			return -EINVAL;
		*ret = (struct row){tags[i].tag, (uint16_t)(permset & 7),
				    tags[i].has_id ? (uint32_t)qual : NO_ID};
		return 0;
	}
	return -EINVAL;
}

static int set_attribute(struct xattr_list *l, const char *name, struct row *rows, size_t n)
{
	uint8_t *value = malloc(4 + n * ROW_BYTES);
	le32 version = le32_make(2);
	int rc;

	if (value == NULL)
		return -ENOMEM;
	qsort(rows, n, sizeof(*rows), by_tag);
	memcpy(value, &version, 4);
	for (size_t i = 0; i < n; i++) {
		le16 half[2] = {le16_make(rows[i].tag), le16_make(rows[i].perm)};
		le32 id = le32_make(rows[i].id);

		memcpy(value + 4 + i * ROW_BYTES, half, 4);
		memcpy(value + 8 + i * ROW_BYTES, &id, 4);
	}
	rc = xattr_list_set(l, name, value, 4 + n * ROW_BYTES);
	free(value);
	return rc;
}

static int take_list(struct archive_entry *a, struct xattr_list *l, int type, const char *name,
		     uint32_t *mode)
{
	int n = archive_entry_acl_reset(a, type), got, permset, tag, qual, rc = 0;
	struct row *rows;
	size_t count = 0;

	if (n <= 0 || (type == ARCHIVE_ENTRY_ACL_TYPE_ACCESS && n <= 3))
		return 0; /* nothing but the mode */
	if ((unsigned)n > ROWS_MAX)
		return -EINVAL;
	rows = calloc((size_t)n, sizeof(*rows));
	if (rows == NULL)
		return -ENOMEM;
	while (rc == 0 && count < (size_t)n) {
		const char *who;

		if (archive_entry_acl_next(a, type, &got, &permset, &tag, &qual, &who) !=
		    ARCHIVE_OK)
			break;
		rc = take_row(permset, tag, qual, &rows[count++]);
	}
	for (size_t i = 0; i < count && rc == 0 && type == ARCHIVE_ENTRY_ACL_TYPE_ACCESS; i++) {
		if (rows[i].tag == MASK)
			*mode = (*mode & ~070u) | (uint32_t)(rows[i].perm & 7) << 3;
	}
	if (rc == 0)
		rc = set_attribute(l, name, rows, count);
	free(rows);
	return rc;
}

int acl_from_archive(struct archive_entry *a, struct xattr_list *l, uint32_t *mode)
{
	int rc = take_list(a, l, ARCHIVE_ENTRY_ACL_TYPE_ACCESS, "system.posix_acl_access", mode);

	return rc < 0 ? rc
		      : take_list(a, l, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, "system.posix_acl_default",
				  mode);
}

int acl_to_archive(struct archive_entry *a, const struct ek_xattr *x, int type)
{
	const uint8_t *p = x->value;

	if (x->len < 4 || (x->len - 4) % ROW_BYTES != 0)
		return -EINVAL;
	for (size_t at = 4; at < x->len; at += ROW_BYTES) {
		le16 half[2];
		le32 id;
		unsigned i = 0;

		memcpy(half, p + at, 4);
		memcpy(&id, p + at + 4, 4);
		while (i < ARRAY_SIZE(tags) && tags[i].tag != le16_get(half[0]))
			i++;
		if (i == ARRAY_SIZE(tags))
			return -EINVAL;
		if (archive_entry_acl_add_entry(a, type, le16_get(half[1]) & 7, tags[i].archive,
						tags[i].has_id ? (int)le32_get(id) : -1,
						"") != ARCHIVE_OK)
			return -EINVAL;
	}
	return 0;
}
#endif
