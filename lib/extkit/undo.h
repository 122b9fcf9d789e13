/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Edits that are taken back.
 *
 * A journal makes each edit happen or not.  Where there is none, and for a row of edits that is
 * meant as one, what is overwritten is kept in an undo file beside the image, IMAGE.undo: it is in
 * the file, and the file on its disk, before it is overwritten.  When the image is closed the file
 * goes.  When it is still there the edit was interrupted: writers refuse the image until ek_undo
 * has taken back what was done, or has been told to forget it.
 */
#ifndef EXTKIT_UNDO_H
#define EXTKIT_UNDO_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;
struct ek_image;

/* Instead of ek_image_close: the image, opened with EK_IMAGE_UNDO, is byte for byte as it was when
 * it was opened, and img is gone.  On failure the undo file may be left, and then ek_undo goes on.
 * With EK_IMAGE_DRY_RUN there is nothing to take back, which is fine. */
EK_EXPORT EK_MUST int ek_image_take_back(struct ek_image *img);

enum ek_undo_flag {
	EK_UNDO_FORGET = 1 << 0 /* the image stays as it is, only the file goes */
};

/* What was taken back. */
struct ek_undone {
	size_t size; /* sizeof(struct ek_undone) */
	uint64_t records, bytes;
};

/* Takes back what an interrupted edit of the image at path did, by the file undo (NULL: path with
 * ".undo" behind), which then goes.  Interrupted itself it can be called again.  ret may be NULL.
 *
 * -ENOENT: there is no undo file; -EINVAL: it is about another filesystem; -EBUSY: the edit is
 * still going on. */
EK_EXPORT EK_MUST int ek_undo(struct ek_ctx *ctx, const char *path, const char *undo,
			      unsigned flags, struct ek_undone *ret);

#ifdef __cplusplus
}
#endif
#endif
