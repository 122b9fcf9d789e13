/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of images in the form people know from other tools. */
#ifndef CMDS_SHOW_H
#define CMDS_SHOW_H

#include <stddef.h>
#include <stdint.h>

#include "extkit/types.h"

#define SHOW_MAX 64

/* Each fills buf (SHOW_MAX bytes) and returns it. */

/* "drwxr-sr-t", as ls -l writes a mode. */
const char *show_mode(char *buf, uint32_t mode);

/* "2026-11-30 12:00:00.000000004 UTC"; years past 9999 and before 0 are written out. */
const char *show_time(char *buf, struct ek_time t);

/* "1.5 MiB": at most one digit after the point, rounded up so that nothing looks smaller. */
const char *show_size(char *buf, uint64_t bytes);

/* "1.234567890 s" for nanoseconds. */
const char *show_span(char *buf, uint64_t ns);

/* Sixteen bytes as a UUID is written. */
const char *show_uuid(char *buf, const uint8_t *uuid);

#endif
