/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACLs as text: "u::rwx,u:1000:rw-,g::r-x,m::rwx,o::---", with u or user, g or group, m or mask, o
 * or other, owners by number and permissions of any of r, w, x and -; and their bytes as
 * setxattr(2) takes them.
 */
#ifndef CMDS_ACL_H
#define CMDS_ACL_H

#include <stdbool.h>
#include <stddef.h>

#define ACL_ROWS 500u
#define ACL_MAX  (4 + 8 * (size_t)ACL_ROWS)
#define ACL_TEXT ((size_t)32 * ACL_ROWS)

/* True for the two attributes that hold ACLs. */
bool acl_is_name(const char *name);

/* Rows in any order; a mask that named rows need is made of what the group's rows allow.  The
 * number of bytes, or -1. */
int acl_parse(const char *text, unsigned char bytes[ACL_MAX]);

/* false when the bytes are no ACL that fits. */
bool acl_format(const void *bytes, size_t len, char text[ACL_TEXT]);

#endif
