/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of a script: a verb and what follows it, as typed in a shell, without the image.
 *
 * Words are parted by blanks; '...' is taken as it is; in "..." a backslash takes the meaning from
 * " and \; elsewhere it does so from any character.  What begins with # is a remark.  Nothing is
 * expanded.
 */
#ifndef CMDS_SCRIPT_H
#define CMDS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

struct run;

struct words {
	char **v;
	int n;
	char *mem;
};

/* 0, or -1 with *why set to a constant sentence that is marked for translation. */
int words_split(const char *line, struct words *ret, const char **why);
void words_free(struct words *w);

/* An exit code: EXIT_DONE when a script may have a line that begins with these words. */
int script_check(struct run *run, const struct words *w);

/* Runs the line on outer's image.  A verb that wants one operand at least and has none gets the
 * folder that paths begin in. */
int script_run(struct run *outer, const struct words *w);

#endif
