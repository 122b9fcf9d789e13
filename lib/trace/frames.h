/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The decompressed bytes of a row of zstd frames, with the skippable frames in between shown to
 * whoever asks: a zstd stream alone would swallow them.
 */
#ifndef TRACE_FRAMES_H
#define TRACE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct frames;
struct instream;

/* in must be raw and becomes the frames' own, even on failure. */
int frames_new(struct instream *in, struct diag *d, struct frames **ret);
void frames_free(struct frames *f);
const char *frames_name(const struct frames *f);

/* The first skippable frame, when the file begins with one: its bytes (at most max), owned by f
 * until the next call.  0 when there is none, 1 when there is, or an error. */
int frames_header(struct frames *f, uint32_t magic, size_t max, const uint8_t **ret, size_t *ret_n);

/* n decompressed bytes: 1, 0 at the end of the file (also when it stops within them: see
 * frames_torn()), or an error. */
int frames_read(struct frames *f, void *to, size_t n);
bool frames_torn(const struct frames *f);

#endif
