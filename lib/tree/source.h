/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees as streams of entries: folders of the host, archives, manifests and images all hand out the
 * same record, folders before what is in them (an archive may break that).
 *
 * Contents are read either later, in any order of entries (a folder), or only while their entry is
 * the last one handed out (a stream).
 */
#ifndef TREE_SOURCE_H
#define TREE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "extkit/inode.h"

/* Bytes [from, to) of a file that are more than a hole. */
struct tree_range {
	uint64_t from, to;
};

/* Everything belongs to the source and is valid until the next call. */
struct tree_entry {
	const char *path; /* below the start, "" for the start itself; no part is "", "." or ".." */
	const char *link; /* another name of the inode that was handed out before, or NULL */
	uint32_t mode;    /* type and permissions */
	uint32_t uid, gid, project, flags;
	uint32_t dev_major, dev_minor;
	uint32_t nlink; /* 0: not known */
	struct ek_time atime, mtime, ctime, crtime;
	bool has_atime, has_ctime, has_crtime; /* else: mtime, and the time of creation twice */
	bool no_mtime;                         /* the source tells none: the time of creation */
	bool has_project;                      /* else: not known, and project is 0 */
	bool has_contents;                     /* false for a further name without any */
	uint64_t size;
	const char *target; /* of a link */
	const struct ek_xattr *xattrs;
	size_t nxattrs;
	const struct tree_range *data; /* NULL: all of size */
	size_t ndata;
	uint64_t token; /* names contents */
};

/* Flags of inodes that are a matter of their owner: the others say how an inode is stored. */
#define TREE_FLAGS 0x2203c0ffu

struct tree_source;

struct tree_source_ops {
	/* 1 and an entry, 0 at the end.  An entry that cannot be had is -error with its path in
	 * *ret and its story in diag: 1 may follow on the next call. */
	int (*next)(struct tree_source *s, struct tree_entry *ret);
	/* The entry handed out last is not taken: a folder is not entered, and the next name of a
	 * file comes as its first.  May be NULL: then neither can be helped. */
	void (*prune)(struct tree_source *s);
	/* Fills buf with len bytes of contents from off on; a stream wants ascending off. */
	int (*read)(struct tree_source *s, uint64_t token, uint64_t off, void *buf, size_t len);
	void (*close)(struct tree_source *s);
	/* A descriptor of the host that has the contents, the source's own and good until the next
	 * call, or negative.  May be NULL. */
	int (*host)(struct tree_source *s, uint64_t token);
};

struct tree_source {
	const struct tree_source_ops *ops;
	struct diag *diag;
	const char *name; /* as it was given */
	bool later;       /* contents may be read until close */
	bool past_cache;  /* contents need not stay in the host's cache; the reader's to set */
	bool strict;      /* a second entry of the same path is an error */
};

struct ek_ctx;

/* Opens what is at name by what it is: a folder, an image, a manifest, an archive; "-" is an
 * archive on standard input. */
int tree_open(struct ek_ctx *ctx, const char *name, struct tree_source **ret);

int tree_open_folder(const char *name, struct diag *d, struct tree_source **ret);
int tree_open_archive(const char *name, struct diag *d, struct tree_source **ret);
int tree_open_spec(const char *name, struct diag *d, struct tree_source **ret);
int tree_open_image(struct ek_ctx *ctx, const char *name, struct tree_source **ret);

/* The path in the form that entries have, into buf of the same size or more: leading "./" and
 * closing slashes go.  -EINVAL with a story for what leads out of the tree or is no name. */
int tree_clean_path(const char *where, const char *path, char *buf, struct diag *d);

#endif
