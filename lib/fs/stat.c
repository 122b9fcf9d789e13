/* SPDX-License-Identifier: BSD-2-Clause */
/* Inodes as callers of the public API see them: found by path or number, asked for their record. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "extkit/edit.h"
#include "extkit/inode.h"
#include "fs/inline.h"
#include "fs/namei.h"
#include "fs/session.h"

int ek_inode_open(struct ek_image *img, const char *path, unsigned flags, struct ek_inode **ret)
{
	struct task *t = session_begin(img);
	int rc = path_walk(t, path, (flags & EK_NOFOLLOW) != 0 ? WALK_NOFOLLOW : 0, ret);

	return session_end(img, rc, "cannot find", path);
}

int session_end_inode(struct ek_image *img, ek_inum ino, struct ek_inode **ret)
{
	char name[32];
	int rc = geom_inum(&img->geom, ino.v, "number", &img->diag, &ino);

	if (rc == 0)
		rc = inode_get(img, ino, ret);
	if (rc == 0)
		return session_end(img, 0, "", "");
	snprintf(name, sizeof(name), "inode %u", ino.v);
	return session_end(img, rc, "cannot read", name);
}

int ek_inode_open_number(struct ek_image *img, ek_inum ino, struct ek_inode **ret)
{
	session_begin(img);
	return session_end_inode(img, ino, ret);
}

void ek_inode_close(struct ek_inode *inode)
{
	struct ek_image *img;

	if (inode == NULL)
		return;
	img = inode->img;
	pthread_mutex_lock(&img->session->lock);
	inode_put(&img->session->task, inode);
	pthread_mutex_unlock(&img->session->lock);
}

int ek_inode_stat(struct ek_inode *inode, struct ek_stat *ret)
{
	struct ek_image *img = inode->img;
	const struct inode_rec *r = &inode->rec;
	struct ek_stat s = {.size = ret->size, .ino = inode->ino};

	/* A reader's record stays as it is while somebody has it. */
	if (img->writable)
		session_begin(img);
	s.mode = r->mode;
	s.links = r->links;
	s.uid = r->uid;
	s.gid = r->gid;
	s.project = r->projid;
	s.flags = r->flags;
	s.generation = r->generation;
	s.version = r->version;
	s.bytes = inode->size;
	s.sectors = inode_sectors(inode);
	if (inode_is_inline(inode) && S_ISREG(r->mode)) /* as stat(2): programs skip "holes" */
		s.sectors += DIV_UP(inode->size, (uint64_t)512);
	if (S_ISCHR(r->mode) || S_ISBLK(r->mode))
		inode_get_rdev(r, &s.dev_major, &s.dev_minor);
	s.atime = r->atime;
	s.mtime = r->mtime;
	s.ctime = r->ctime;
	/* i_crtime is the last of its 20 bytes behind i_extra_isize */
	s.has_crtime = r->extra_isize >= 20;
	if (s.has_crtime)
		s.crtime = r->crtime;
	s.xattr_block = (ek_pblk){r->file_acl};
	s.extra_size = r->extra_isize;
	session_hand_out(ret, ret->size, &s, sizeof(s));
	return img->writable ? session_end(img, 0, "", "") : 0;
}

int ek_inode_readlink(struct ek_inode *inode, char *buf, size_t cap)
{
	struct task *t = session_begin(inode->img);
	int rc = fs_readlink(t, inode, buf, (uint32_t)MIN(cap, (size_t)UINT32_MAX));

	return session_end_on(inode, rc, "cannot read a link");
}

static const struct {
	uint32_t bit;
	const char *name;
} flag_names[] = {
    {0x1, "secrm"},
    {0x2, "unrm"},
    {0x4, "compr"},
    {INODE_SYNC, "sync"},
    {INODE_IMMUTABLE, "immutable"},
    {INODE_APPEND, "append"},
    {INODE_NODUMP, "nodump"},
    {INODE_NOATIME, "noatime"},
    {INODE_ENCRYPT, "encrypt"},
    {INODE_INDEX, "index"},
    {INODE_JOURNAL_DATA, "journal_data"},
    {INODE_NOTAIL, "notail"},
    {INODE_DIRSYNC, "dirsync"},
    {INODE_TOPDIR, "topdir"},
    {INODE_HUGE_FILE, "huge_file"},
    {INODE_EXTENTS, "extents"},
    {INODE_VERITY, "verity"},
    {INODE_EA_INODE, "ea_inode"},
    {INODE_DAX, "dax"},
    {INODE_INLINE_DATA, "inline_data"},
    {INODE_PROJINHERIT, "projinherit"},
    {INODE_CASEFOLD, "casefold"},
};

static void append(char *buf, size_t cap, const char *word)
{
	size_t at = strlen(buf);

	snprintf(buf + at, cap - at, "%s%s", at != 0 ? " " : "", word);
}

const char *ek_flag_names(uint32_t flags, char *buf, size_t cap)
{
	char rest[16];

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(flag_names); i++) {
		if ((flags & flag_names[i].bit) == 0)
			continue;
		append(buf, cap, flag_names[i].name);
		flags &= ~flag_names[i].bit;
	}
	if (flags != 0) {
		snprintf(rest, sizeof(rest), "0x%x", flags);
		append(buf, cap, rest);
	}
	return buf;
}

uint32_t ek_flag_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(flag_names); i++)
		if (strcmp(flag_names[i].name, name) == 0)
			return flag_names[i].bit;
	return 0;
}
