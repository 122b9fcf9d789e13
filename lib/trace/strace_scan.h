/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of strace output taken apart, without knowing any call.
 *
 * Understood in front of a call: nothing, "PID ", "[pid PID] "; then nothing, -t -tt -ttt times,
 * -r differences, "(+ difference)" behind another time.
 */
#ifndef TRACE_STRACE_SCAN_H
#define TRACE_STRACE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/op.h"

enum strace_kind {
	STRACE_CALL,       /* name(args) = result */
	STRACE_UNFINISHED, /* name(args <unfinished ...> */
	STRACE_RESUMED,    /* <... name resumed>args) = result */
	STRACE_EXIT,       /* +++ exited with 0 +++ and its like */
	STRACE_SIGNAL,     /* --- SIGCHLD ... --- */
	STRACE_NOISE,      /* anything else: not a line of strace, or cut */
};

/* How times were written so far, so that differences can be added up and midnights crossed. */
struct strace_clock {
	uint64_t now; /* ns; of the last line */
	uint64_t day; /* ns of midnights passed, for -t and -tt */
	bool epoch;   /* the times are -ttt */
	bool none;    /* a line without a time was seen: lines are 1 us apart */
};

struct strace_line {
	enum strace_kind kind;
	bool has_pid;
	uint32_t pid;
	uint64_t time; /* ns, as the clock says */
	const char *name;
	size_t name_n;
	char *rest; /* behind "(" or "resumed>", up to end; without "<unfinished ...>" */
	char *end;
};

void strace_scan(struct strace_clock *clock, char *line, size_t n, struct strace_line *ret);

#define STRACE_ARGS 12

/* The arguments and the result of a call.  Views into the line. */
struct strace_call {
	struct op_str arg[STRACE_ARGS];
	unsigned nargs;
	bool failed; /* returned -1 or is unknown ("?") */
	bool unknown;
	int64_t ret;
	struct op_str ret_path; /* <...> behind the result, without the brackets */
	uint64_t dur;           /* ns from -T, or OP_NONE64 */
};

/* Splits at commas outside quotes and brackets; false when the line was cut before its result. */
bool strace_split(char *p, char *end, struct strace_call *ret);

#endif
