/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees of an image into a folder of the host, an archive or a manifest.
 *
 * The image is not trusted: nothing is ever written outside of the folder, no link is followed, no
 * file that is there is overwritten, and what could gain rights (device nodes, set-user-ID bits,
 * owners, attributes) comes along only when asked for.
 *
 *	struct ek_export_options opt = {.size = sizeof(opt)};
 *	struct ek_export_report *report;
 *
 *	if (ek_export(inode, "out", &opt, &report) == 0) {
 *		...
 *		ek_export_report_free(report);
 *	}
 */
#ifndef EXTKIT_EXPORT_H
#define EXTKIT_EXPORT_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_inode;

enum ek_export_flag {
	EK_EXPORT_INTO = 1 << 0,   /* the folder may be there and hold other things */
	EK_EXPORT_NODES = 1 << 1,  /* device nodes, pipes and sockets */
	EK_EXPORT_SETID = 1 << 2,  /* set-user-ID, set-group-ID and sticky bits */
	EK_EXPORT_OWNER = 1 << 3,  /* owner and group; wants the right to */
	EK_EXPORT_XATTRS = 1 << 4, /* user.* and, with the right to, the others */
	EK_EXPORT_REPLACE = 1 << 5 /* ek_export_file: a file of that name goes */
};

enum ek_export_links {
	EK_LINKS_KEEP = 0, /* as they are, wherever they point */
	EK_LINKS_SKIP,
	EK_LINKS_INSIDE /* those that are relative and stay in the tree */
};

/* Zero is a good value for every member but size. */
struct ek_export_options {
	size_t size;          /* sizeof(struct ek_export_options) */
	unsigned flags;       /* enum ek_export_flag, or'ed */
	unsigned links;       /* enum ek_export_links */
	uint64_t max_entries; /* 0: 1,000,000 */
	uint64_t max_bytes;   /* of all files, holes counted; 0: 16 GiB */
};

enum ek_issue {
	EK_ISSUE_SKIPPED = 0, /* left out as the options say */
	EK_ISSUE_FAILED       /* could not be read or written */
};

struct ek_export_issue {
	unsigned kind;    /* enum ek_issue */
	int error;        /* negative errno, 0 for what was left out */
	const char *path; /* below the start */
	const char *why;  /* one line */
};

struct ek_export_report {
	uint64_t files, folders, links, hard_links, nodes;
	uint64_t bytes;           /* of files, holes counted */
	uint64_t skipped, failed; /* all of them, also those without a row */
	size_t nissues;           /* rows, at most 1,000 */
	const struct ek_export_issue *issues;
};

/* Exports what is below inode, a folder, into the folder dest, which is made, or must be empty.
 * Folders get their times and modes last.  A failure of one file is an issue and the rest goes on;
 * an error is returned when nothing can go on (no folder, a limit reached, stopped on request), and
 * what was written until then stays.  -EEXIST: dest is not empty; -EFBIG: a limit.  *ret is set on
 * success only. */
EK_EXPORT EK_MUST int ek_export(struct ek_inode *inode, const char *dest,
				const struct ek_export_options *opt, struct ek_export_report **ret);

/* One regular file to dest, a name that is free unless EK_EXPORT_REPLACE; with it the old file goes
 * when the new one is whole.  *ret_bytes may be NULL. */
EK_EXPORT EK_MUST int ek_export_file(struct ek_inode *inode, const char *dest,
				     const struct ek_export_options *opt, uint64_t *ret_bytes);

enum ek_stream_format {
	EK_FORMAT_TAR = 0, /* pax: keeps all but sockets and project numbers */
	EK_FORMAT_CPIO,    /* newc: no attributes, flags, parts of seconds, nor files of 4 GiB */
	EK_FORMAT_SPEC     /* a manifest (doc/SPEC.md): keeps everything */
};

enum ek_stream_flag {
	EK_STREAM_KEEP_GOING = 1 << 0 /* what the format cannot keep is an issue */
};

/* Zero is a good value for every member but size. */
struct ek_stream_options {
	size_t size;        /* sizeof(struct ek_stream_options) */
	unsigned flags;     /* enum ek_stream_flag, or'ed */
	unsigned format;    /* enum ek_stream_format */
	const char *filter; /* of an archive: "gzip", "zstd", "xz"...; NULL: none */
};

struct ek_tree_report;

/* Writes what is below inode, a folder, to fd, names of a folder in the order of their bytes: the
 * same tree gives the same bytes.  -EOPNOTSUPP for what the format cannot keep, unless it is to go
 * on; what was written until then is no whole archive.  *ret (tree.h, which frees it) has entries,
 * failed and issues. */
EK_EXPORT EK_MUST int ek_export_stream(struct ek_inode *inode, int fd,
				       const struct ek_stream_options *opt,
				       struct ek_tree_report **ret);

/* Accepts NULL. */
EK_EXPORT void ek_export_report_free(struct ek_export_report *report);

#ifdef __cplusplus
}
#endif
#endif
