/* SPDX-License-Identifier: BSD-2-Clause */
/* Access lists of archive entries <-> the attributes that have them on Linux. */
#ifndef TREE_ACL_H
#define TREE_ACL_H

#include <stdint.h>

struct archive_entry;
struct ek_xattr;
struct xattr_list;

/* Adds system.posix_acl_access and _default where the entry has such lists, and gives the group's
 * bits of *mode what they are beside a list with a mask: that mask.  -ENOMEM, -EINVAL. */
int acl_from_archive(struct archive_entry *a, struct xattr_list *l, uint32_t *mode);

/* The value of such an attribute into the entry; -EINVAL when it is none. */
int acl_to_archive(struct archive_entry *a, const struct ek_xattr *x, int type);

#endif
