/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes from an image, made safe to show.
 *
 * Names, labels, link targets, xattrs: whatever an image says about itself goes through here before
 * it reaches a terminal, a log or a diagnostic.  Printable UTF-8 stays as it is.  Each byte of
 * everything else becomes \xNN: broken or overlong UTF-8, surrogates, C0, DEL and C1 controls, the
 * bidirectional controls that let text lie about its order, line and paragraph separators, and the
 * invisible tag and annotation characters.  A backslash stays as it is, so the result is for
 * people; a program that must get the bytes back uses the JSON output.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stddef.h>

struct str;

/* Appends the escaped form of the n bytes at p. */
void escape_add(struct str *out, const void *p, size_t n);

/* Fills dst (cap bytes, at least 1) and closes it with 0.  What does not fit is left out in whole
 * characters or whole \xNN.  Returns dst, so that it can stand in an argument list. */
const char *escape_to(char *dst, size_t cap, const void *p, size_t n);

#endif
