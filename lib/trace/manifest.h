/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that were there before a recording, as a source of OP_NODE items.
 *
 * From a .wtr file (its %init lines), or from a table with tabs: path, type, mode, uid, gid, links,
 * size, blocks, inode, SHA-256 or link target, extents; a first line that starts with "path" names
 * the columns and is left out.  A second table may give the extents: path, logical block, length,
 * physical block, flags.
 */
#ifndef TRACE_MANIFEST_H
#define TRACE_MANIFEST_H

#include "trace/op.h"

/* root is taken off the paths of tables; what is outside it is left out.  extents may be NULL.  The
 * extents are kept in memory. */
int manifest_open(const char *path, const char *extents, const char *root, struct diag *d,
		  struct op_source **ret);

#endif
