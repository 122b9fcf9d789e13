/* SPDX-License-Identifier: BSD-2-Clause */
/* Where streams of entries end other than in an image: archives and manifests. */
#ifndef TREE_SINK_H
#define TREE_SINK_H

#include "tree/source.h"

struct tree_sink;

struct tree_sink_ops {
	/* Takes the entry with its contents, which are read from s.  An entry that the format
	 * cannot keep whole is refused before anything of it is written: -EOPNOTSUPP. */
	int (*put)(struct tree_sink *k, struct tree_source *s, const struct tree_entry *e);
	int (*finish)(struct tree_sink *k);
	void (*close)(struct tree_sink *k);
};

struct tree_sink {
	const struct tree_sink_ops *ops;
	struct diag *diag;
};

/* format: "tar" or "cpio"; filter: a compression that libarchive knows ("gzip", "zstd", "xz"), or
 * NULL.  fd stays the caller's. */
int tree_sink_archive(int fd, const char *format, const char *filter, struct diag *d,
		      struct tree_sink **ret);
int tree_sink_spec(int fd, struct diag *d, struct tree_sink **ret);

#endif
