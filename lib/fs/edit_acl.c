/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACLs in the form of setxattr(2): four bytes of version, then rows of tag, permissions and id.
 * Linux refuses to use one that is out of order or incomplete, so none may get into an image.
 */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/diag.h"
#include "fs/edit_impl.h"

enum tag {
	TAG_OWNER = 0x01,
	TAG_USER = 0x02,
	TAG_GROUP_OWNER = 0x04,
	TAG_GROUP = 0x08,
	TAG_MASK = 0x10,
	TAG_OTHER = 0x20
};

struct row {
	unsigned tag, perm;
	uint32_t id;
};

#define HEAD    4u
#define ROW     8u
#define VERSION 2u

static struct row row_at(const uint8_t *acl, size_t at)
{
	le16 tag, perm;
	le32 id;

	memcpy(&tag, acl + at, 2);
	memcpy(&perm, acl + at + 2, 2);
	memcpy(&id, acl + at + 4, 4);
	return (struct row){le16_get(tag), le16_get(perm), le32_get(id)};
}

/* Tags rise, and so do ids within those of users and of groups. */
static bool follows(const struct row *a, const struct row *b)
{
	bool named = b->tag == TAG_USER || b->tag == TAG_GROUP;

	return b->tag > a->tag || (named && b->tag == a->tag && b->id > a->id);
}

int edit_check_acl(struct diag *d, const void *acl, size_t len)
{
	const unsigned needed = TAG_OWNER | TAG_GROUP_OWNER | TAG_OTHER;
	struct row before = {0};
	unsigned seen = 0;
	le32 version;

	if (len < HEAD || (len - HEAD) % ROW != 0)
		return diag_set(d, -EINVAL, "bad ACL: %zu bytes, wanted %u and %u for each row",
				len, HEAD, ROW);
	memcpy(&version, acl, sizeof(version));
	if (le32_get(version) != VERSION)
		return diag_set(d, -EINVAL, "bad ACL: version %u, wanted %u", le32_get(version),
				VERSION);
	for (size_t at = HEAD; at < len; at += ROW) {
		struct row r = row_at(acl, at);

		if ((r.tag & (r.tag - 1)) != 0 || r.tag > TAG_OTHER || r.perm > 7 ||
		    !follows(&before, &r))
			return diag_set(d, -EINVAL,
					"bad ACL: row %zu: tag 0x%x permissions %u id %u",
					(at - HEAD) / ROW, r.tag, r.perm, r.id);
		seen |= r.tag;
		before = r;
	}
	if ((seen & needed) != needed ||
	    ((seen & (TAG_USER | TAG_GROUP)) != 0 && (seen & TAG_MASK) == 0))
		return diag_set(d, -EINVAL, "bad ACL: owner, group, others or mask are missing");
	return 0;
}

uint16_t edit_acl_mode(const void *acl, size_t len, uint16_t mode)
{
	unsigned owner = 0, group = 0, other = 0;

	for (size_t at = HEAD; at < len; at += ROW) {
		struct row r = row_at(acl, at);

		if (r.tag == TAG_OWNER)
			owner = r.perm;
		else if (r.tag == TAG_GROUP_OWNER || r.tag == TAG_MASK) /* the mask comes later */
			group = r.perm;
		else if (r.tag == TAG_OTHER)
			other = r.perm;
	}
	return (uint16_t)((mode & 07000) | owner << 6 | group << 3 | other);
}
