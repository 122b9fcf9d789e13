/* SPDX-License-Identifier: BSD-2-Clause */
/* The attribute system.data, which holds inline data behind the first 60 bytes. */
#ifndef FS_INLINE_VALUE_H
#define FS_INLINE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct ek_inode;
struct task;

/* The value, writable under the running handle until inline_value_close. */
struct inline_value {
	struct buf *buf;
	void *raw;      /* the inode in its table */
	uint8_t *bytes; /* NULL when the attribute is not there */
	uint32_t size;
};

/* Joins the inode's block to the transaction and proves its attributes. */
int inline_value_open(struct task *t, struct ek_inode *inode, struct inline_value *ret);
/* Files what was changed; rc, or the error of that. */
int inline_value_close(struct task *t, struct ek_inode *inode, struct inline_value *v, int rc);

/* Sets the attribute to size bytes: what the old value had, then zeros.  -ENOSPC. */
int inline_value_resize(struct task *t, struct ek_inode *inode, uint32_t size);
/* 0 also when it was not there. */
int inline_value_remove(struct task *t, struct ek_inode *inode);

/* The largest size that the value may be given, by Linux's count: *ret.  *there tells whether the
 * attribute exists. */
int inline_value_room(struct ek_inode *inode, uint32_t *ret, bool *there);
/* Bytes that the value has now; 0 without one. */
int inline_value_size(struct ek_inode *inode, uint32_t *ret);

#endif
