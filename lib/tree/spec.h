/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of manifests (doc/SPEC.md): how bytes are written in them. */
#ifndef TREE_SPEC_H
#define TREE_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Bytes as text: what is no visible character becomes \ooo. */
void spec_text(struct str *to, const void *bytes, size_t n);

/* The same in place: \ooo becomes a byte.  The new length, or -EINVAL. */
int spec_untext(char *text, size_t *len);

/* A value that may be any bytes: as text where that is short, else in base64 behind "0s". */
void spec_bytes(struct str *to, const void *bytes, size_t n);

/* A value that spec_bytes wrote, or hexadecimal behind "0x", in place. */
int spec_unbytes(char *text, size_t *len);

/* Base64, in pieces of three bytes; only the last one may be shorter. */
void spec_base64(struct str *to, const uint8_t *p, size_t n);
/* n characters, a multiple of four, become *len bytes. */
int spec_unbase64(const char *p, size_t n, uint8_t *to, size_t *len);

#endif
