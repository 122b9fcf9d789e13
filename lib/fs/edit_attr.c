/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of inodes for callers: permissions, owner, times, flags, project, attributes, size,
 * ranges.  What an inode cannot hold is refused before anything changes.
 */
#include <errno.h>
#include <linux/falloc.h>
#include <string.h>

#include "base/check.h"
#include "extkit/inode.h"
#include "fs/credits.h"
#include "fs/edit_impl.h"
#include "fs/inline.h"
#include "fs/inode.h"
#include "fs/map.h"
#include "fs/namei.h"
#include "fs/session.h"
#include "fs/xattr.h"
#include "fs/xattr_inode.h"

struct ek_attr edit_attr(const struct ek_attr *attr)
{
	struct ek_attr a = {.size = sizeof(a)};

	if (attr != NULL)
		session_hand_out(&a, attr->size, attr, sizeof(a));
	return a;
}

/* ---- what an inode can hold ---- */

/* Seconds of 34 bits from -2^31 on, and without room for the upper ones 32 bits. */
static int check_time(struct task *t, const struct ek_inode *inode, struct ek_time at)
{
	bool wide = inode->rec.extra_isize >= 16; /* atime_extra is the last of them */
	int64_t last = wide ? ((int64_t)1 << 34) - ((int64_t)1 << 31) - 1 : INT32_MAX;

	if (at.nsec > 999999999)
		return diag_set(&t->img->diag, -EINVAL,
				"bad time: %u nanoseconds are a second or more", at.nsec);
	if (at.sec >= INT32_MIN && at.sec <= last)
		return 0;
	return diag_set(&t->img->diag, -EINVAL,
			"bad time: inode %u: %lld seconds, it can hold %d to %lld", inode->ino.v,
			(long long)at.sec, INT32_MIN, (long long)last);
}

static int check_flags(struct task *t, const struct ek_inode *inode, uint32_t flags)
{
	uint32_t changed = (flags ^ inode->rec.flags) & EDIT_FLAGS, bad = 0;
	char names[128];

	if (!inode_is_dir(inode))
		bad = INODE_DIRSYNC | INODE_TOPDIR | INODE_PROJINHERIT;
	if (!inode_is_dir(inode) && !inode_is_file(inode))
		bad = ~(uint32_t)(INODE_NODUMP | INODE_NOATIME);
	bad &= flags & changed;
	if (bad != 0)
		return diag_set(&t->img->diag, -EINVAL,
				"bad flag: inode %u: its type cannot have %s", inode->ino.v,
				ek_flag_names(bad, names, sizeof(names)));
	if ((changed & INODE_PROJINHERIT) != 0 && !geom_ro_compat(&t->img->geom, RO_COMPAT_PROJECT))
		return diag_set(&t->img->diag, -EOPNOTSUPP,
				"unsupported: projinherit needs the feature project");
	return 0;
}

static int check_project(struct task *t, const struct ek_inode *inode)
{
	if (!geom_ro_compat(&t->img->geom, RO_COMPAT_PROJECT))
		return diag_set(&t->img->diag, -EOPNOTSUPP,
				"unsupported: the image has no feature project");
	if (inode->rec.extra_isize < 32)
		return diag_set(&t->img->diag, -EOPNOTSUPP,
				"unsupported: inode %u has no room for a project", inode->ino.v);
	return 0;
}

/* What lies in system. is the filesystem's, ACLs excepted, and those must make sense. */
static int check_name(struct task *t, const struct ek_inode *inode, const char *name,
		      const void *value, size_t len)
{
	bool access = strcmp(name, "system.posix_acl_access") == 0;
	bool byname = strcmp(name, "system.posix_acl_default") == 0;

	if (strncmp(name, "system.", 7) != 0)
		return 0;
	if (!access && !byname)
		return diag_set(&t->img->diag, -EOPNOTSUPP, "unsupported xattr name: %.64s", name);
	if (byname && !inode_is_dir(inode))
		return diag_set(&t->img->diag, -ENOTDIR,
				"bad ACL: inode %u: only folders have one for what is made in them",
				inode->ino.v);
	if (S_ISLNK(inode->rec.mode))
		return diag_set(&t->img->diag, -EOPNOTSUPP, "unsupported: link %u has no ACL",
				inode->ino.v);
	return edit_check_acl(&t->img->diag, value, len);
}

int edit_check(struct task *t, const struct ek_inode *inode, const struct ek_attr *a)
{
	int rc = 0;

	if ((a->mask & EK_ATTR_ATIME) != 0)
		rc = check_time(t, inode, a->atime);
	if (rc == 0 && (a->mask & EK_ATTR_MTIME) != 0)
		rc = check_time(t, inode, a->mtime);
	if (rc == 0 && (a->mask & EK_ATTR_FLAGS) != 0)
		rc = check_flags(t, inode, a->flags);
	if (rc == 0 && (a->mask & EK_ATTR_PROJECT) != 0)
		rc = check_project(t, inode);
	for (size_t i = 0; i < a->nxattrs && rc == 0; i++)
		rc = check_name(t, inode, a->xattrs[i].name, a->xattrs[i].value, a->xattrs[i].len);
	return rc;
}

/* ---- setting ---- */

static const struct {
	unsigned theirs, ours;
} masks[] = {
    {EK_ATTR_MODE, ATTR_MODE},       {EK_ATTR_UID, ATTR_UID},     {EK_ATTR_GID, ATTR_GID},
    {EK_ATTR_ATIME, ATTR_ATIME},     {EK_ATTR_MTIME, ATTR_MTIME}, {EK_ATTR_FLAGS, ATTR_FLAGS},
    {EK_ATTR_PROJECT, ATTR_PROJECT},
};

static int set_rest(struct task *t, struct ek_inode *inode, const struct ek_attr *attr)
{
	struct attr a = {
	    .mode = (uint16_t)(attr->mode & 07777),
	    .uid = attr->uid,
	    .gid = attr->gid,
	    .flags = (inode->rec.flags & ~EDIT_FLAGS) | (attr->flags & EDIT_FLAGS),
	    .project = attr->project,
	    .atime = attr->atime,
	    .mtime = attr->mtime,
	};

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++)
		a.mask |= (attr->mask & masks[i].theirs) != 0 ? masks[i].ours : 0;
	/* a link's permissions mean nothing and are always the same */
	if (S_ISLNK(inode->rec.mode))
		a.mask &= ~(unsigned)ATTR_MODE;
	return a.mask == 0 ? 0 : fs_setattr(t, inode, &a);
}

int edit_set(struct task *t, struct ek_inode *inode, const struct ek_attr *attr)
{
	int rc = edit_check(t, inode, attr);

	for (size_t i = 0; i < attr->nxattrs && rc == 0; i++) {
		const struct ek_xattr *x = &attr->xattrs[i];

		rc = xattr_change(t, inode, x->name, x->value != NULL ? x->value : "", x->len);
	}
	return rc < 0 ? rc : set_rest(t, inode, attr);
}

unsigned edit_credits(const struct ek_image *img, const struct ek_attr *attr)
{
	unsigned n = CREDITS_ATTR + 3;

	for (size_t i = 0; i < attr->nxattrs && n < jnl_max_credits(img->jnl); i++)
		n += xattr_credits(img, attr->xattrs[i].len);
	return n;
}

/* Runs one change of an inode as one transaction where the log can hold it. */
int ek_inode_set(struct ek_inode *inode, const struct ek_attr *attr)
{
	struct ek_image *img = inode->img;
	struct task *t = session_begin(img);
	struct ek_attr a = edit_attr(attr);
	unsigned credits = edit_credits(img, &a);
	struct handle *h = NULL;
	int rc = session_check_writable(img);

	if (rc == 0)
		rc = edit_check(t, inode, &a);
	if (rc == 0 && credits <= jnl_max_credits(img->jnl))
		rc = task_start_inode(t, inode, HANDLE_INODE, credits, 0, &h);
	if (rc == 0)
		rc = edit_set(t, inode, &a);
	if (h != NULL)
		rc = handle_end(h, rc);
	return session_end_on(inode, rc, "cannot change");
}

uint32_t ek_flags_settable(void)
{
	return EDIT_FLAGS;
}

/* ---- size and ranges ---- */

int ek_inode_set_size(struct ek_inode *inode, uint64_t size)
{
	struct task *t = session_begin(inode->img);
	int rc = session_check_writable(inode->img);

	if (rc == 0)
		rc = inode_set_size(t, inode, size);
	return session_end_on(inode, rc, "cannot set the size");
}

/* Blocks of [off, off + len) that have no place. */
static int count_holes(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t len,
		       uint64_t *ret)
{
	unsigned bits = t->img->geom.block_bits;
	uint64_t at = off >> bits, end = MIN((off + len - 1) >> bits, (uint64_t)UINT32_MAX - 1) + 1;

	for (*ret = 0; at < end;) {
		struct map m = {.lblk = {(uint32_t)at}, .len = (uint32_t)(end - at)};
		int rc = map_lookup(t, inode, &m);

		if (rc < 0)
			return rc;
		if (m.state == MAP_HOLE)
			*ret += m.len;
		at += m.len;
	}
	return 0;
}

/* A range that there is no room for would be filled as far as there is, as Linux does; for an edit
 * that is half a change. */
static int check_room(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t len)
{
	uint64_t holes;
	int rc;

	if (!inode_is_file(inode) || inode_has_pointers(inode) || inode_is_inline(inode) ||
	    len == 0 || len > map_size_limit(inode) || off > map_size_limit(inode) - len)
		return 0; /* small, or refused for another reason */
	rc = count_holes(t, inode, off, len, &holes);
	holes >>= t->img->geom.cluster_bits;
	if (rc < 0 || holes == 0)
		return rc;
	return space_check(&t->img->groups.space, holes, SPACE_ROOT, &t->img->diag);
}

int ek_inode_fallocate(struct ek_inode *inode, enum ek_falloc how, uint64_t off, uint64_t len)
{
	static const int modes[] = {0,
				    FALLOC_FL_KEEP_SIZE,
				    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				    FALLOC_FL_ZERO_RANGE,
				    FALLOC_FL_COLLAPSE_RANGE,
				    FALLOC_FL_INSERT_RANGE};
	struct task *t = session_begin(inode->img);
	int rc = session_check_writable(inode->img);

	if (rc == 0 && (unsigned)how >= ARRAY_SIZE(modes))
		rc = -EINVAL;
	if (rc == 0 &&
	    (how == EK_FALLOC_ALLOCATE || how == EK_FALLOC_KEEP_SIZE || how == EK_FALLOC_ZERO))
		rc = check_room(t, inode, off, len);
	if (rc == 0)
		rc = inode_fallocate(t, inode, modes[how], off, len);
	return session_end_on(inode, rc, "cannot change a range");
}

/* ---- attributes ---- */

static int set_xattr(struct task *t, struct ek_inode *inode, const char *name, const void *value,
		     size_t len, unsigned flags)
{
	bool access = strcmp(name, "system.posix_acl_access") == 0;
	struct attr a = {.mask = ATTR_MODE};
	struct handle *h;
	int rc = check_name(t, inode, name, value, len);

	if (rc < 0)
		return rc;
	rc = task_start_inode(t, inode, HANDLE_XATTR, xattr_credits(t->img, len) + CREDITS_ATTR, 0,
			      &h);

	if (rc < 0)
		return rc;
	rc = xattr_set(t, inode, name, value, len,
		       ((flags & EK_XATTR_CREATE) != 0 ? (unsigned)XATTR_ONLY_CREATE : 0) |
			   ((flags & EK_XATTR_REPLACE) != 0 ? (unsigned)XATTR_ONLY_REPLACE : 0));
	if (rc == 0 && access) {
		a.mode = edit_acl_mode(value, len, inode->rec.mode);
		rc = fs_setattr(t, inode, &a);
	}
	return handle_end(h, rc);
}

int ek_inode_set_xattr(struct ek_inode *inode, const char *name, const void *value, size_t len,
		       unsigned flags)
{
	struct task *t = session_begin(inode->img);
	int rc = session_check_writable(inode->img);

	if (rc == 0) {
		rc = set_xattr(t, inode, name, value != NULL ? value : "", len, flags);
		xattr_inode_reap(t);
	}
	return session_end(inode->img, rc, "cannot set an attribute", name);
}

int ek_inode_remove_xattr(struct ek_inode *inode, const char *name)
{
	struct task *t = session_begin(inode->img);
	int rc = session_check_writable(inode->img);

	if (rc == 0)
		rc = xattr_change(t, inode, name, NULL, 0);
	return session_end(inode->img, rc, "cannot remove an attribute", name);
}
