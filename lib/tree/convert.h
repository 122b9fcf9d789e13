/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writers of the forms an image can have.  A writer is told of the image from its first byte to its
 * last, in pieces: data or zeros, without gaps.
 */
#ifndef TREE_CONVERT_H
#define TREE_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct ek_image;

#define PIECE ((size_t)1 << 20) /* bytes of a piece of data; only the last may be shorter */

/* The new file, and what has been written of it. */
struct form_file {
	int fd;
	const char *name; /* for messages */
	struct diag *diag;
	uint64_t at;   /* where the next bytes of form_add go */
	uint64_t size; /* of the image */
	int level;
};

struct form_ops {
	size_t bytes; /* of the writer, zeroed; its first member is struct form_file */
	int (*begin)(struct form_file *f);
	int (*data)(struct form_file *f, uint64_t off, const uint8_t *buf, size_t len);
	/* len is whole pieces, but at the end.  unused: nobody will miss what was there. */
	int (*zeros)(struct form_file *f, uint64_t off, uint64_t len, bool unused);
	int (*finish)(struct form_file *f); /* the file's length is at afterwards */
	void (*free)(struct form_file *f);  /* what begin made; may be NULL */
};

extern const struct form_ops form_raw, form_zstd, form_sparse, form_qcow2;

/* At the end, and anywhere before it. */
int form_add(struct form_file *f, const void *buf, size_t len);
int form_put(struct form_file *f, uint64_t off, const void *buf, size_t len);

/* ---- what a filesystem does not use (tree/convert_unused.c) ---- */

/* The first byte at or after off that is used, at most end; off and end count from the beginning of
 * the filesystem.  What lies behind the filesystem is used.  Fails as the bitmaps do. */
int unused_end(struct ek_image *img, uint64_t off, uint64_t end, uint64_t *ret);

/* Zeroes what is not used in the bytes buf, which begin at off. */
int unused_zero(struct ek_image *img, uint64_t off, uint8_t *buf, size_t len);

#endif
