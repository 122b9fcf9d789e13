/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes as base64 (RFC 4648, with padding), for blobs in the text form. */
#ifndef TRACE_BASE64_H
#define TRACE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#define BASE64_LEN(n) (((n) + 2) / 3 * 4)

/* Writes BASE64_LEN(n) characters. */
void base64_put(const uint8_t *p, size_t n, char *to);

/* Decodes n characters into at most room bytes; the number of bytes, or -1. */
long base64_get(const char *p, size_t n, uint8_t *to, size_t room);

#endif
