/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a verb fails: one line "extkit VERB: ..." on stderr, the same as a member of the JSON object,
 * and an exit code.  Each returns the code, so that a verb ends with "return fail...(run, ...)".
 */
#ifndef CMDS_FAIL_H
#define CMDS_FAIL_H

struct run;

/* The last story of run->ctx; err is the negative errno that the library call returned. */
int fail_call(struct run *run, int err);

/* The same where an image was to be opened: what is no filesystem is the image's fault, not the
 * command line's. */
int fail_open(struct run *run, int err);

/* A sentence of our own. */
int fail(struct run *run, int exit_code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The command line is wrong: EXIT_USAGE and a hint at --help. */
int fail_usage(struct run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Only the line, which stays one whatever is in the names of files; the verb goes on. */
void fail_tell(const struct run *run, const char *text);

/* The exit code for a negative errno; host says that the host, not the image, gave it. */
int fail_code(int err, int host);

#endif
