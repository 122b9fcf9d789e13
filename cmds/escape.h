/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Byte strings from images and traces are written to terminals and JSON through these two only.
 */
#ifndef CMDS_ESCAPE_H
#define CMDS_ESCAPE_H

#include <stdbool.h>
#include <stdio.h>

struct buffer;

/* Printable UTF-8 as it is, every other byte as \xNN; for people. */
void escape_text(struct buffer *to, const void *bytes, size_t n);

/* All of it is printable ASCII: escape_text would change nothing, and each byte is a column. */
bool escape_plain(const void *bytes, size_t n);

/* A JSON string with its quotes when bytes are UTF-8, else {"bytes":"hex"}; loses nothing. */
void escape_json(struct buffer *to, const void *bytes, size_t n);

/* The same for a short text, to a stream. */
void escape_json_file(FILE *to, const char *text);

/* How many columns the result of escape_text fills, counting one for each code point. */
size_t escape_width(const char *escaped, size_t n);

#endif
