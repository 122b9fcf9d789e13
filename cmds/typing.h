/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines that somebody types: edited, remembered and completed where the program was built with
 * libedit and talks to a terminal, else read as they come. */
#ifndef CMDS_TYPING_H
#define CMDS_TYPING_H

#include <stdbool.h>

/* Offers what text, which begins at column start of line, may become: calls add for each. */
typedef void typing_offer_fn(void *ctx, const char *line, int start, const char *text,
			     void (*add)(const char *word));

/* Once, before the first line. */
void typing_begin(typing_offer_fn *offer, void *ctx);

/* True when somebody is there to read a prompt. */
bool typing_talks(void);

/* The next line without its newline, which the caller frees; NULL at the end. */
char *typing_next(const char *prompt);

#endif
