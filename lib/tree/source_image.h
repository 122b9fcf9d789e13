/* SPDX-License-Identifier: BSD-2-Clause */
/* Part of an image as a source. */
#ifndef TREE_SOURCE_IMAGE_H
#define TREE_SOURCE_IMAGE_H

#include "tree/source.h"

struct ek_inode;

/* What is below inode, a folder.  owned: closing the source closes the image.  Stories go to the
 * image's context. */
int tree_source_of_inode(struct ek_inode *inode, bool owned, const char *name,
			 struct tree_source **ret);

#endif
