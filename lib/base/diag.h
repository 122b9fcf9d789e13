/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What went wrong, in one line.
 *
 * A failing function leaves its story here and returns a negative errno.  The form is
 * "what: where: why and the value", for example
 * "corrupt extent header: inode 12 block 8193: eh_entries 341 exceeds 340".
 * The first story of a call wins: outer layers may pass a code on without wrapping it.
 */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stdbool.h>
#include <stdint.h>

#define DIAG_TEXT 480

struct diag {
	int code;             /* negative errno, 0 when nothing is recorded */
	bool host;            /* the host refused, rather than the image or the caller */
	uint64_t need_blocks; /* blocks missing, with -ENOSPC; 0 when unknown */
	uint64_t need_inodes; /* inodes missing, with -ENOSPC; 0 when unknown */
	char text[DIAG_TEXT];
};

/* Forgets the last story.  Public calls do this on entry. */
static inline void diag_clear(struct diag *d)
{
	d->code = 0;
	d->host = false;
	d->need_blocks = 0;
	d->need_inodes = 0;
	d->text[0] = '\0';
}

/* Records code and text unless a story is already there; returns code.  d may be NULL. */
int diag_set(struct diag *d, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Replaces whatever is there. */
int diag_replace(struct diag *d, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* "what: strerror(-code)" for failures of the host. */
int diag_errno(struct diag *d, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
