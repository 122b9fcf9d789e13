/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that change images for the public API share. */
#ifndef FS_EDIT_IMPL_H
#define FS_EDIT_IMPL_H

#include "extkit/edit.h"
#include "fs/image.h"

struct ek_inode;
struct handle;

/* Flags that users may change; the first eight are those of ext2. */
#define EDIT_FLAGS                                                                              \
	(0xffu | INODE_JOURNAL_DATA | INODE_NOTAIL | INODE_DIRSYNC | INODE_TOPDIR | INODE_DAX | \
	 INODE_PROJINHERIT)

/* A copy of the caller's attributes as far as they go; none for NULL. */
struct ek_attr edit_attr(const struct ek_attr *attr);

/* Sets attributes, mode, owner and the rest, each in a transaction or in the one that runs. */
int edit_set(struct task *t, struct ek_inode *inode, const struct ek_attr *attr);

/* Whether edit_set would refuse something of it. */
int edit_check(struct task *t, const struct ek_inode *inode, const struct ek_attr *attr);

/* Blocks that edit_set may dirty. */
unsigned edit_credits(const struct ek_image *img, const struct ek_attr *attr);

/* path_parent, and a story for paths that name no entry (-EISDIR). */
int edit_parent(struct task *t, const char *path, struct ek_inode **dir, const char **name,
		uint32_t *len);

/* Makes every folder before the last part of path. */
int edit_parents(struct task *t, const char *path);

/* The inode behind an entry; -ENOENT, and -EUCLEAN for one that no folder may name. */
int edit_entry(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
	       struct ek_inode **ret);

/* -ELOOP when dir is inode or lies below it. */
int edit_check_outside(struct task *t, const struct ek_inode *inode, struct ek_inode *dir);

/* A name that is about to get a new inode, and one transaction for all of it where the log can hold
 * that. */
struct slot {
	struct ek_inode *dir, *old; /* old: what goes for it, or NULL */
	struct ek_inode *made;      /* the new one's reference, given back by slot_close */
	const char *name;
	uint32_t len;
	struct handle *h; /* NULL: in as many transactions as there are steps */
};

/* Sets dir, name and len of the slot before.  What has the name goes when flags say so (enum
 * ek_put_flag).  credits: of what the caller will do on top of making and naming an inode. */
int slot_open(struct task *t, struct slot *s, unsigned flags, unsigned credits);

/* Ends it; when rc tells of a failure that is no damage the old inode has its name again. */
int slot_close(struct task *t, struct slot *s, int rc);

/* -EINVAL with a story for an ACL that Linux would not use. */
int edit_check_acl(struct diag *d, const void *acl, size_t len);

/* mode with the permissions that a checked ACL stands for: its owner, its mask or else its group,
 * its others. */
uint16_t edit_acl_mode(const void *acl, size_t len, uint16_t mode);

/* Before a name for new contents: they are on the disk, where nobody else sees to it.  A commit
 * flushes before its commit block, and what can be taken back may be in any state. */
int edit_flush(struct task *t);

/* Takes away everything below and including the entry. */
int edit_remove_tree(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		     uint64_t *count);

#endif
