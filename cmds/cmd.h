/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a verb is.  A command file holds its functions, one const option table and one record:
 *
 *	struct size_opts { struct opt_num free; bool exact; };
 *
 *	static const struct opt size_options[] = {
 *		OPT_SIZE(struct size_opts, free, 'f', "free", N_("SIZE"), N_("room to leave")),
 *		OPT_FLAG(struct size_opts, exact, 0, "exact", N_("fail rather than round")),
 *		OPT_END,
 *	};
 *
 *	COMMAND(size) = {
 *		.name = "size", .brief = N_("tell how large an image must be"), ...
 *	};
 *
 * COMMAND puts a pointer to the record where main finds it, so a new verb is one new file.  Help,
 * manual page, completion, --introspect and translation are made from the record.
 */
#ifndef CMDS_CMD_H
#define CMDS_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "extkit/ctx.h"
#include "opt.h"
#include "out.h"

/* Exit codes of every verb but check and repair, which keep the bit mask of fsck. */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_NO = 1,      /* the answer is no: differs, not found */
	EXIT_USAGE = 2,   /* the command line or the trace makes no sense */
	EXIT_DAMAGED = 3, /* the image is damaged, or refused */
	EXIT_SPACE = 4,   /* no space; the message says how much is missing */
	EXIT_PATH = 5,    /* a path inside the image is wrong */
	EXIT_FEATURE = 6, /* an unsupported feature, by name */
	EXIT_HOST = 7,    /* I/O error of the host */
	EXIT_SKIPPED = 8, /* done, but items were skipped: --keep-going only */
	EXIT_LOCKED = 9   /* the image is in use or mounted */
};

enum progress_mode { PROGRESS_AUTO, PROGRESS_NONE, PROGRESS_JSON };

struct held;

#define SAID_MAX 1024u

/* One call of a verb. */
struct run {
	const struct cmd *cmd;
	const void *opts; /* the verb's option struct, filled */
	int argc;         /* operands only */
	char **argv;
	bool json, quiet;
	int progress;        /* enum progress_mode */
	const char *journal; /* NULL: none was named */
	bool no_replay;
	const char *undo;        /* the undo file; NULL: beside the image */
	const struct held *held; /* the image that a script works on, or NULL */
	const char *where;       /* in the script, for messages: "edits:3: "; or NULL */
	char *said;              /* SAID_MAX bytes for the last failure's text, or NULL */
	FILE *to;                /* for the output; NULL: standard output */
	struct out *out;
	struct ek_ctx *ctx;
};

struct example {
	const char *line; /* the command, ready to be typed */
	const char *says; /* what it does, marked for translation */
};

struct cmd {
	const char *name;  /* "ls", or "trace import" for the sub-verb of a group */
	const char *brief; /* one line without a full stop */
	const char *args;  /* operands as the synopsis shows them: "IMG[:PATH]..." */
	const char *about; /* paragraphs, separated by an empty line */
	const struct opt *options;
	const struct example *examples; /* ends with line == NULL */
	int min_args, max_args;         /* operands; max_args < 0: any number */
	size_t opts_size;               /* of the option struct, 0 without options */
	bool hidden;                    /* from lists and the manual */
	int (*run)(struct run *run);    /* returns an exit code; NULL for a group of sub-verbs */
};

#define COMMAND(ident)                                                     \
	static const struct cmd verb_##ident;                              \
	static const struct cmd *const verb_at_##ident                     \
	    __attribute__((section("extkit_cmds"), used)) = &verb_##ident; \
	static const struct cmd verb_##ident

/* The verb number i in the order of names; NULL past the last. */
const struct cmd *cmd_at(size_t i);

/* Runs the verb that the words name on outer's image and context, with text going to outer->to. The
 * words are moved about.  An exit code. */
int cmd_run_words(struct run *outer, int argc, char **argv);

/* The verb that words (up to n of them) name: two words for a sub-verb, else one.  *ret_words says
 * how many were taken.  NULL: there is none. */
const struct cmd *cmd_find(char *const *words, int n, int *ret_words);

/* A verb or group by its full name, NULL when unknown. */
const struct cmd *cmd_named(const char *name);

/* The next sub-verb of group at or after *at, which is moved past it; start with 0; NULL at the
 * end. */
const struct cmd *cmd_below(const struct cmd *group, size_t *at);

/* True for "trace import", false for "trace" and "ls". */
bool cmd_is_below(const struct cmd *cmd);

/* The known name closest to what was typed, NULL when nothing is close. */
const char *cmd_guess(const char *typed);

/* Options every verb takes; they fill a struct globals. */
struct globals {
	bool json, quiet, help, version, introspect;
	int progress;
	const char *journal;
	bool no_replay;
};
extern const struct opt global_options[];

/* Exit codes with their meaning, for help and the manual; ends with says == NULL. */
struct exit_row {
	int code;
	const char *says;
};
extern const struct exit_row exit_rows[];

#endif
