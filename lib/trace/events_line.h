/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of kernel events in their text forms: tracefs, trace-cmd report, perf script. */
#ifndef TRACE_EVENTS_LINE_H
#define TRACE_EVENTS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/op.h"

struct event_line {
	uint64_t time; /* ns */
	uint32_t pid;
	struct op_str task;   /* name of the task */
	struct op_str event;  /* "ext4_da_write_begin", without a group in front */
	struct op_str fields; /* the rest */
};

/* The line is no event: a header, a remark, or cut. */
bool event_scan(const char *line, size_t n, struct event_line *ret);

/* "entries-in-buffer/entries-written: A/B" and "CPU:n [LOST m EVENTS]": events that are missing. */
bool event_lost(const char *line, uint64_t *ret);

/* The value behind "key " or "key=" (decimal, 0x or 0-octal), or the word there. */
bool event_number(struct op_str fields, const char *key, uint64_t *ret);
bool event_word(struct op_str fields, const char *key, struct op_str *ret);

/* "dev 7,1", "dev 7:1", "bdi 7:1:", or "7,1 " at the beginning. */
bool event_dev(struct op_str fields, uint32_t *ret_major, uint32_t *ret_minor);

#endif
