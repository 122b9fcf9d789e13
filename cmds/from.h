/* SPDX-License-Identifier: BSD-2-Clause */
/* Trees as sources of images: the options that create, size, import and sync share. */
#ifndef CMDS_FROM_H
#define CMDS_FROM_H

#include "cmd.h"
#include "extkit/tree.h"

struct from_opts {
	struct opt_list excludes, users, groups;
	const char *owner, *group, *file_contexts, *xattr_file, *fs_config;
	struct opt_num max_entries, max_bytes;
	bool all_root, clamp, keep_going, no_xattrs;
};

/* T is the option struct, m its member of type struct from_opts. */
#define ROWS_FROM(T, m)                                                                          \
	OPT_FLAG(T, m.all_root, 0, "all-root", N_("everything belongs to 0:0")),                 \
	    OPT_TEXT(T, m.owner, 0, "owner", N_("UID"), N_("everything belongs to this user")),  \
	    OPT_TEXT(T, m.group, 0, "group", N_("GID"), N_("everything belongs to this group")), \
	    OPT_LIST(T, m.users, 0, "map-users", N_("FROM:TO:COUNT"),                            \
		     N_("users FROM and up become TO and up; may be given again")),              \
	    OPT_LIST(T, m.groups, 0, "map-groups", N_("FROM:TO:COUNT"),                          \
		     N_("the same for groups")),                                                 \
	    OPT_LIST(T, m.excludes, 0, "exclude", N_("PATTERN"),                                 \
		     N_("leave out what matches; with a slash of the path, else of any name")),  \
	    OPT_FILE(T, m.file_contexts, 0, "file-contexts", N_("FILE"),                         \
		     N_("SELinux labels by regular expressions of paths")),                      \
	    OPT_FILE(T, m.xattr_file, 0, "xattr-file", N_("FILE"),                               \
		     N_("attributes by paths, as getfattr --dump writes them")),                 \
	    OPT_FILE(T, m.fs_config, 0, "fs-config", N_("FILE"),                                 \
		     N_("owners, modes and capabilities by paths, as Android has them")),        \
	    OPT_FLAG(T, m.clamp, 0, "clamp-mtime",                                               \
		     N_("no time is after that of the image (SOURCE_DATE_EPOCH)")),              \
	    OPT_FLAG(T, m.no_xattrs, 0, "no-xattrs", N_("leave attributes of sources out")),     \
	    OPT_FLAG(T, m.keep_going, 0, "keep-going",                                           \
		     N_("list what cannot be kept and go on; the exit code is 8")),              \
	    OPT_COUNT(T, m.max_entries, 0, "max-entries", N_("N"),                               \
		      N_("fail behind N files; 16777216")),                                      \
	    OPT_ROOM(T, m.max_bytes, 0, "max-bytes", N_("SIZE"),                                 \
		     N_("fail behind SIZE of data; 16T"))

/* The word of an option that was given, which says nothing without sources; NULL: none. */
const char *from_given(const struct from_opts *o);

/* Fills *tree; its lists are freed by from_free. */
int from_fill(struct run *run, const struct from_opts *o, struct ek_tree_options *tree);
void from_free(struct ek_tree_options *tree);

/* "-" and other pipes: what was read is gone. */
bool from_reads_once(const char *source);

/* Whether the sources make sense, before an image is opened: reads them to their ends, pipes
 * excepted, which come only once. */
int from_check(struct run *run, const struct ek_tree_options *tree);

/* "auto", "min" or a size. */
int from_size(struct run *run, const char *text, struct ek_tree_options *tree, uint64_t *bytes);

/* Rows of what is missing; EXIT_DONE or EXIT_SKIPPED. */
int from_issues(struct run *run, const struct ek_tree_report *r);

/* The bill in rows. */
void from_bill(struct run *run, const struct ek_tree_report *r);

#endif
