/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of verbs, which the linker collects from every command file, and what they share. */
#include "cmd.h"

#include <stdlib.h>
#include <string.h>

/* The linker names the ends of a section after it. */
extern const struct cmd *const __start_extkit_cmds[];
extern const struct cmd *const __stop_extkit_cmds[];

const struct opt global_options[] = {
    OPT_FLAG(struct globals, json, 0, "json", N_("print one JSON object")),
    OPT_FLAG(struct globals, quiet, 'q', "quiet", N_("leave out notes, headings and progress")),
    OPT_CHOICE(struct globals, progress, 0, "progress", "auto|none|json",
	       N_("tell on stderr how far a long run has come")),
    OPT_FILE(struct globals, journal, 0, "journal", N_("FILE"),
	     N_("where the journal of the image lies, when it is outside")),
    OPT_FLAG(struct globals, no_replay, 0, "no-replay",
	     N_("read what is in place, without what the journal holds")),
    OPT_FLAG(struct globals, help, 'h', "help", N_("show this help")),
    OPT_FLAG(struct globals, version, 0, "version", N_("show the release")),
    OPT_FLAG(struct globals, introspect, 0, "introspect", N_("describe verbs and options as JSON")),
    OPT_END,
};

const struct exit_row exit_rows[] = {
    {EXIT_DONE, N_("done")},
    {EXIT_NO, N_("the answer is no: differs, not found")},
    {EXIT_USAGE, N_("the command line or the trace makes no sense")},
    {EXIT_DAMAGED, N_("the image is damaged, or refused")},
    {EXIT_SPACE, N_("no space; the message tells what is missing")},
    {EXIT_PATH, N_("a path inside the image is wrong")},
    {EXIT_FEATURE, N_("a feature is not supported; the message names it")},
    {EXIT_HOST, N_("input or output error of the host")},
    {EXIT_SKIPPED, N_("done, but some items were skipped")},
    {EXIT_LOCKED, N_("the image is in use or mounted")},
    {0, NULL},
};

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct cmd *const *)a)->name, (*(const struct cmd *const *)b)->name);
}

/* A file may hold several verbs, and the linker keeps the order of files. */
static const struct cmd *const *sorted(size_t n)
{
	static const struct cmd **row;

	if (row == NULL && (row = malloc(n * sizeof(*row))) != NULL) {
		memcpy(row, __start_extkit_cmds, n * sizeof(*row));
		qsort(row, n, sizeof(*row), by_name);
	}
	return row != NULL ? row : __start_extkit_cmds;
}

const struct cmd *cmd_at(size_t i)
{
	size_t n = (size_t)(__stop_extkit_cmds - __start_extkit_cmds);

	return i < n ? sorted(n)[i] : NULL;
}

const struct cmd *cmd_named(const char *name)
{
	const struct cmd *c;

	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

bool cmd_is_below(const struct cmd *cmd)
{
	return strchr(cmd->name, ' ') != NULL;
}

const struct cmd *cmd_below(const struct cmd *group, size_t *at)
{
	size_t n = strlen(group->name);
	const struct cmd *c;

	while ((c = cmd_at((*at)++)) != NULL)
		if (strncmp(c->name, group->name, n) == 0 && c->name[n] == ' ' && !c->hidden)
			return c;
	return NULL;
}

const struct cmd *cmd_find(char *const *words, int n, int *ret_words)
{
	const struct cmd *c;

	for (size_t i = 0; n > 1 && (c = cmd_at(i)) != NULL; i++) {
		const char *gap = strchr(c->name, ' ');
		size_t len = gap != NULL ? (size_t)(gap - c->name) : 0;

		if (gap != NULL && strncmp(c->name, words[0], len) == 0 && words[0][len] == '\0' &&
		    strcmp(gap + 1, words[1]) == 0) {
			*ret_words = 2;
			return c;
		}
	}
	*ret_words = 1;
	return n > 0 ? cmd_named(words[0]) : NULL;
}

/* Single-letter edits between two words, counted up to a limit that names of verbs fit in. */
static size_t distance(const char *a, const char *b)
{
	enum { MAX = 32 };
	size_t row[MAX + 1], n = strlen(a), m = strlen(b);

	if (n > MAX || m > MAX)
		return MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t before = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t change = before + (a[i - 1] != b[j - 1]);
			size_t edit = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			before = row[j];
			row[j] = change < edit ? change : edit;
		}
	}
	return row[m];
}

const char *cmd_guess(const char *typed)
{
	const char *best = NULL;
	size_t least = strlen(typed) / 2 + 1;
	const struct cmd *c;

	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++) {
		size_t d = distance(typed, c->name);

		if (d < least && !c->hidden) {
			least = d;
			best = c->name;
		}
	}
	return best;
}
