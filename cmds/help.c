/* SPDX-License-Identifier: BSD-2-Clause */
/* Help that teaches: what a verb does, its options, examples; and the verb "help" itself. */
#include "help.h"

#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "escape.h"
#include "fail.h"

#define HELP_WIDTH 78

/* Prints text in lines that fit, each after indent blanks; an empty line in text stays one. */
static void paragraph(FILE *to, const char *text, int indent)
{
	int column = 0;

	while (*text != '\0') {
		size_t len = strcspn(text, " \n");
		int width;
		char word[128];

		if (text[0] == '\n') {
			fputs(column > 0 ? "\n\n" : "\n", to);
			column = 0;
			text += strspn(text, "\n");
			continue;
		}
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		width = (int)escape_width(word, strlen(word));
		if (column > 0 && column + 1 + width > HELP_WIDTH) {
			fputc('\n', to);
			column = 0;
		}
		column += fprintf(to, "%*s", column > 0 ? 1 : indent, "") + width;
		fputs(word, to);
		text += len;
		text += *text == ' ';
	}
	if (column > 0)
		fputc('\n', to);
}

static void title(FILE *to, const char *text)
{
	fprintf(to, "\n%s\n", text);
}

static void option_row(FILE *to, const struct opt *o)
{
	char left[96];
	size_t width;

	snprintf(left, sizeof(left), "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
		 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->word,
		 o->arg != NULL ? "=" : "",
		 o->arg == NULL || o->kind == OPT_KIND_CHOICE ? (o->arg ? o->arg : "") : _(o->arg));
	width = escape_width(left, strlen(left));
	fprintf(to, "  %s", left);
	if (width > 26)
		fprintf(to, "\n%30s", "");
	else
		fprintf(to, "%*s", (int)(28 - width), "");
	fprintf(to, "%s\n", _(o->help));
}

static void option_rows(FILE *to, const struct opt *o)
{
	for (; o != NULL && o->kind != OPT_KIND_END; o++)
		option_row(to, o);
}

static void verb_row(FILE *to, const struct cmd *c)
{
	fprintf(to, "  %-18s %s\n", c->name, _(c->brief));
}

void help_overview(FILE *to)
{
	const struct cmd *c;

	fprintf(to, "%s\n%s\n", _("Usage: extkit VERB [options] IMG..."),
		_("Works on ext2, ext3 and ext4 images without mounting them."));
	title(to, _("Verbs:"));
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++)
		if (!c->hidden && !cmd_is_below(c))
			verb_row(to, c);
	title(to, _("Options of every verb:"));
	option_rows(to, global_options);
	title(to, _("'extkit help VERB' shows one verb with examples."));
}

static void group_rows(FILE *to, const struct cmd *cmd)
{
	const struct cmd *c;
	size_t at = 0;

	title(to, _("Verbs:"));
	while ((c = cmd_below(cmd, &at)) != NULL)
		verb_row(to, c);
	fputc('\n', to);
	fprintf(to, _("'extkit help %s VERB' shows one of them.\n"), cmd->name);
}

void help_verb(FILE *to, const struct cmd *cmd)
{
	const struct example *e = cmd->examples;

	fprintf(to, _("Usage: extkit %s %s%s\n"), cmd->name,
		cmd->options != NULL ? _("[options] ") : "", _(cmd->args));
	paragraph(to, _(cmd->about), 0);
	if (cmd->run == NULL) {
		group_rows(to, cmd);
		return;
	}
	if (cmd->options != NULL)
		title(to, _("Options:"));
	option_rows(to, cmd->options);
	title(to, _("Options of every verb:"));
	option_rows(to, global_options);
	if (e != NULL)
		title(to, _("Examples:"));
	for (; e != NULL && e->line != NULL; e++) {
		fprintf(to, "  %s\n", e->line);
		paragraph(to, _(e->says), 6);
	}
}

/* ---- the verb ---- */

struct help_opts {
	bool man, completion, verbs;
};

static const struct opt help_options[] = {
    OPT_FLAG(struct help_opts, man, 0, "man", N_("print the manual page as roff")),
    OPT_FLAG(struct help_opts, completion, 0, "completion", N_("print a script for bash")),
    OPT_FLAG(struct help_opts, verbs, 0, "verbs", N_("print the names of all verbs")),
    OPT_END,
};

static int print_verbs(void)
{
	const struct cmd *c;

	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++)
		if (!c->hidden && !cmd_is_below(c))
			puts(c->name);
	return EXIT_DONE;
}

static int run_help(struct run *run)
{
	const struct help_opts *o = run->opts;
	const struct cmd *cmd = NULL;
	int words = 0;

	if (run->argc > 0) {
		cmd = cmd_find(run->argv, run->argc, &words);
		if (cmd == NULL || words != run->argc)
			return fail_usage(run, _("there is no verb '%s'"),
					  run->argv[run->argc - 1]);
	}
	if (o->verbs)
		return print_verbs();
	if (o->completion)
		complete_bash(stdout);
	else if (o->man)
		man_page(stdout, cmd);
	else if (cmd != NULL)
		help_verb(stdout, cmd);
	else
		help_overview(stdout);
	return EXIT_DONE;
}

static const struct example help_examples[] = {
    {"extkit help trace import", N_("how recorded system calls become a trace")},
    {"extkit help --man ls | man -l -", N_("read a manual page that is not installed")},
    {NULL, NULL},
};

COMMAND(help) = {
    .name = "help",
    .brief = N_("explain verbs and options"),
    .args = N_("[VERB...]"),
    .about = N_("Without a verb it lists all of them; with one it shows options and examples."),
    .options = help_options,
    .examples = help_examples,
    .max_args = 2,
    .opts_size = sizeof(struct help_opts),
    .run = run_help,
};
