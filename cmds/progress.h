/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far a long run has come: a line on a terminal that rewrites itself, or JSON lines, on stderr.
 * Also turns Ctrl-C into a clean end: the next report makes the library undo and return
 * -ECANCELED.
 */
#ifndef CMDS_PROGRESS_H
#define CMDS_PROGRESS_H

#include <stdint.h>

struct run;

struct progress {
	int mode;              /* enum progress_mode; AUTO has become NONE off a terminal */
	uint64_t begun, shown; /* milliseconds of a steady clock */
	int drawn;
};

/* Listens on run->ctx until progress_end. */
void progress_begin(struct progress *progress, struct run *run);
void progress_end(struct progress *progress, struct run *run);

#endif
