/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * POSIX ACLs have two forms.  User space: version 2, then entries of tag, permissions and id, 8
 * bytes each.  Disk: version 1, then entries that leave the id out (4 bytes) unless the tag names a
 * user or a group (8 bytes).
 */
#include <errno.h>
#include <string.h>

#include "fs/xattr_format.h"

#define USER_VERSION 2u
#define DISK_VERSION 1u
#define TAG_USER     0x02u
#define TAG_GROUP    0x08u
#define NO_ID        0xffffffffu

struct acl_entry {
	le16 tag, perm;
	le32 id;
};

static bool has_id(unsigned tag)
{
	return tag == TAG_USER || tag == TAG_GROUP;
}

static bool known(unsigned tag)
{
	return tag == 0x01 || tag == TAG_USER || tag == 0x04 || tag == TAG_GROUP || tag == 0x10 ||
	       tag == 0x20;
}

int xattr_acl_pack(const void *user, size_t len, void *out, size_t cap)
{
	const uint8_t *in = user;
	uint8_t *o = out;
	le32 version;
	size_t n = 4;

	if (len < 4 || (len - 4) % 8 != 0 || cap < 4)
		return -EINVAL;
	memcpy(&version, in, 4);
	if (le32_get(version) != USER_VERSION)
		return -EINVAL;
	version = le32_make(DISK_VERSION);
	memcpy(o, &version, 4);
	for (size_t i = 4; i < len; i += 8) {
		struct acl_entry e;
		size_t size;

		memcpy(&e, in + i, 8);
		if (!known(le16_get(e.tag)))
			return -EINVAL;
		size = has_id(le16_get(e.tag)) ? 8 : 4;
		if (n + size > cap)
			return -EINVAL;
		memcpy(o + n, &e, size);
		n += size;
	}
	return (int)n;
}

int xattr_acl_unpack(const void *disk, size_t len, void *out, size_t cap)
{
	const uint8_t *in = disk;
	uint8_t *o = out;
	le32 version;
	size_t n = 4, i = 4;

	if (len < 4)
		return -EINVAL;
	memcpy(&version, in, 4);
	if (le32_get(version) != DISK_VERSION)
		return -EINVAL;
	version = le32_make(USER_VERSION);
	if (cap >= 4)
		memcpy(o, &version, 4);
	while (i < len) {
		struct acl_entry e = {{{0}}, {{0}}, le32_make(NO_ID)};
		size_t size;

		if (len - i < 4)
			return -EINVAL;
		memcpy(&e, in + i, 4);
		size = has_id(le16_get(e.tag)) ? 8 : 4;
		if (!known(le16_get(e.tag)) || len - i < size)
			return -EINVAL;
		memcpy(&e, in + i, size);
		if (n + 8 <= cap)
			memcpy(o + n, &e, 8);
		n += 8;
		i += size;
	}
	return (int)n;
}
