/* SPDX-License-Identifier: BSD-2-Clause */
/* A day with what lies in inodes: small files and folders, and attribute values in inodes of their
 * own. */
#ifndef FS_SMALL_DAY_H
#define FS_SMALL_DAY_H

#include "fs_scenario.h"

#include "fs/inline.h"

static inline int fill_inline(struct scenario *s, const char *path, unsigned len)
{
	static uint8_t bytes[1024];
	struct ek_inode *inode;
	int rc = sc_open(s, path, &inode);

	if (rc < 0)
		return rc;
	memset(bytes, (int)('a' + len % 26), len);
	rc = inline_fill(&s->t, inode, bytes, len);
	inode_put(&s->t, inode);
	return rc == 1 ? 0 : rc == 0 ? -ENOSPC : rc;
}

static inline int inline_files(struct scenario *s)
{
	STEP(sc_create(s, "/i1"));
	STEP(fill_inline(s, "/i1", 30));
	STEP(sc_create(s, "/i2"));
	STEP(fill_inline(s, "/i2", 100));
	STEP(sc_setxattr(s, "/i2", "user.a", 10));
	STEP(sc_truncate(s, "/i2", 70));
	STEP(sc_truncate(s, "/i2", 20));
	STEP(sc_create(s, "/i3"));
	STEP(fill_inline(s, "/i3", 128));
	STEP(sc_truncate(s, "/i3", 5000));
	STEP(sc_fallocate(s, "/i2", FALLOC_FL_KEEP_SIZE, 8192, 4096));
	STEP(sc_rename(s, "/i1", "/i3", 0));
	STEP(sc_unlink(s, "/i2"));
	return 0;
}

static inline int inline_folders(struct scenario *s)
{
	char path[80];

	STEP(sc_mkdir(s, "/in"));
	STEP(sc_mkdir(s, "/to"));
	STEP(sc_mkdir(s, "/in/sub"));
	STEP(sc_rename(s, "/in/sub", "/to/sub", 0));
	for (unsigned i = 0; i < 12; i++) {
		snprintf(path, sizeof(path), "/in/name-%u", i);
		STEP(sc_link(s, "/i3", path));
	}
	for (unsigned i = 0; i < 12; i += 3) {
		snprintf(path, sizeof(path), "/in/name-%u", i);
		STEP(sc_unlink(s, path));
	}
	STEP(sc_rename(s, "/to/sub", "/in/sub", 0));
	STEP(sc_rmdir(s, "/in/sub"));
	STEP(sc_rmdir(s, "/to"));
	return 0;
}

static inline int values_apart(struct scenario *s)
{
	STEP(sc_create(s, "/v1"));
	STEP(sc_create(s, "/v2"));
	STEP(sc_setxattr(s, "/v1", "user.large", 3000));
	STEP(sc_setxattr(s, "/v2", "user.large", 3000));
	STEP(sc_setxattr(s, "/v1", "user.other", 65536));
	STEP(sc_setxattr(s, "/v1", "user.large", 40));
	STEP(sc_setxattr(s, "/v2", "user.more", 3000));
	for (unsigned i = 0; i < 8; i++) {
		char name[] = "user.number0";

		name[11] = (char)('0' + i);
		STEP(sc_setxattr(s, "/v2", name, 5000 + 26 * (i & 1)));
	}
	STEP(sc_setxattr(s, "/v1", "user.other", 0));
	STEP(sc_unlink(s, "/v2"));
	STEP(sc_unlink(s, "/v1"));
	return 0;
}

static inline int small_day(struct scenario *s)
{
	int rc = inline_files(s);

	return rc < 0 ? rc : inline_folders(s);
}

static inline int small_day_apart(struct scenario *s)
{
	int rc = small_day(s);

	return rc < 0 ? rc : values_apart(s);
}

#endif
