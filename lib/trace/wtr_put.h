/* SPDX-License-Identifier: BSD-2-Clause */
/* Items as text.  Each function writes at p, where there is room, and returns the place behind. */
#ifndef TRACE_WTR_PUT_H
#define TRACE_WTR_PUT_H

#include "trace/op.h"

char *put_u64(char *p, uint64_t v);
char *put_octal(char *p, uint32_t v);
char *put_hex(char *p, const uint8_t *bytes, size_t n);
char *put_text(char *p, const char *text);
char *put_bytes(char *p, struct op_str s);

/* A name with %XX for bytes up to 0x20, 0x7f, '%' and what is not UTF-8: at most 3 * s.n. */
char *put_escaped(char *p, struct op_str s);

/* A line without its LF.  hash is for DATA_BLOB. */
char *put_timed(char *p, const struct op *o, const uint8_t *hash);
char *put_node(char *p, const struct op_node *n);

#endif
