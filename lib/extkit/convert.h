/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images from one form into another.
 *
 *	struct ek_convert_options opt = {.size = sizeof(opt), .to = EK_FORM_ZSTD};
 *
 *	if (ek_convert(ctx, "disk.img", "disk.img.zst", &opt, NULL) < 0)
 *		fprintf(stderr, "%s\n", ek_ctx_message(ctx));
 *
 * What is read may be anything that ek_image_open takes; what it holds need not be a filesystem.
 * The same bytes give the same file.
 */
#ifndef EXTKIT_CONVERT_H
#define EXTKIT_CONVERT_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;

enum ek_form {
	EK_FORM_RAW = 0, /* holes where nothing but zeros is */
	EK_FORM_ZSTD,    /* frames of 1 MiB with a seek table: can be read at random */
	EK_FORM_SPARSE,  /* Android's, with blocks of 4 KiB, or less where the size wants it */
	EK_FORM_QCOW2    /* version 3, not compressed; zeros up to a multiple of 512 bytes */
};

enum ek_convert_flag {
	EK_CONVERT_FORCE = 1 << 0, /* replace a file that is there */
	EK_CONVERT_TRIM = 1 << 1   /* blocks that the filesystem does not use become zeros */
};

/* Zero is a good value for every member but size. */
struct ek_convert_options {
	size_t size;     /* sizeof(struct ek_convert_options) */
	unsigned flags;  /* enum ek_convert_flag, or'ed */
	unsigned to;     /* enum ek_form */
	int level;       /* of zstd: 1 to 22; 0: 3 */
	uint64_t offset; /* bytes of the source before what is taken */
	uint64_t bytes;  /* how many; 0: all that follow */
};

struct ek_converted {
	size_t size;      /* sizeof(struct ek_converted) */
	uint64_t bytes;   /* of the image */
	uint64_t used;    /* of those, in pieces of 4 KiB that are not all zero */
	uint64_t written; /* of the new file, holes counted */
};

/* Writes src in the form opt->to to the file dst, under another name until it is whole.  ret may be
 * NULL.
 *
 * -EEXIST: dst is there, and EK_CONVERT_FORCE is not set; -EBUSY: it is mounted, or another program
 * writes it; -EINVAL: dst is no regular file, or an
 * option makes no sense; -EPERM: EK_CONVERT_TRIM, and the journal has to be replayed first; -EFBIG:
 * more than the form can hold. */
EK_EXPORT EK_MUST int ek_convert(struct ek_ctx *ctx, const char *src, const char *dst,
				 const struct ek_convert_options *opt, struct ek_converted *ret);

#ifdef __cplusplus
}
#endif
#endif
