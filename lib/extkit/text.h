/* SPDX-License-Identifier: BSD-2-Clause */
/* Byte strings of an image or a trace, character by character, for programs that show them. */
#ifndef EXTKIT_TEXT_H
#define EXTKIT_TEXT_H

#include <stdbool.h>

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Decodes the character at p, of which n bytes (at least 1) are there.  Returns its length in bytes
 * with its number in *ret and, in *ret_shown, whether a terminal may show it: controls and the
 * marks that reorder, split or hide text may not.  Returns 0, with both untouched, when the bytes
 * are not strict UTF-8; the caller then deals with one byte and goes on behind it. */
EK_EXPORT size_t ek_utf8(const void *p, size_t n, uint32_t *ret, bool *ret_shown);

#ifdef __cplusplus
}
#endif
#endif
