/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of an image's opening and closing share. */
#ifndef FS_IMAGE_IMPL_H
#define FS_IMAGE_IMPL_H

#include "fs/image.h"

/* A reader must not change the image: from here on what is written stays in memory. */
int image_lay_over(struct ek_image *img);

/* Reads and proves the superblock, and makes the geometry.  img->torn_super says that its checksum
 * is wrong and only recovery can put it right. */
int image_read_super(struct ek_image *img);
/* Its block as a buffer, held as long as the cache lives. */
int image_hold_super(struct ek_image *img);

/* Before the first change: the log is in use, and orphans may be in the file. */
int image_mark_in_use(struct task *t);
/* After the last change, while the journal is open: free counts and flags. */
int image_settle_super(struct task *t);
/* When everything is home and the journal closed; none: there was no journal. */
int image_mark_clean(struct ek_image *img, bool none);

/* The log, or a journal of kind none, into img->jnl. */
int image_open_journal(struct task *t);

#endif
