/* SPDX-License-Identifier: BSD-2-Clause */
/* Documents made from the command records. */
#ifndef CMDS_HELP_H
#define CMDS_HELP_H

#include <stdio.h>

struct cmd;

/* The list of verbs. */
void help_overview(FILE *to);

/* Everything about one verb or group. */
void help_verb(FILE *to, const struct cmd *cmd);

/* extkit.1 with cmd == NULL, else extkit-VERB.1, as roff. */
void man_page(FILE *to, const struct cmd *cmd);

/* A completion script for bash. */
void complete_bash(FILE *to);

/* Verbs, operands, options, examples and exit codes as JSON; one verb, or all with NULL. */
void introspect(FILE *to, const struct cmd *cmd);

#endif
