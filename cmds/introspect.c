/* SPDX-License-Identifier: BSD-2-Clause */
/* The command records as JSON, for editors, wrappers and tests. */
#include <string.h>

#include "cmd.h"
#include "escape.h"
#include "extkit/version.h"
#include "help.h"

static const char *const kinds[] = {
    [OPT_KIND_FLAG] = "flag",     [OPT_KIND_TEXT] = "text", [OPT_KIND_FILE] = "file",
    [OPT_KIND_NUMBER] = "number", [OPT_KIND_SIZE] = "size", [OPT_KIND_TIME] = "time",
    [OPT_KIND_CHOICE] = "choice", [OPT_KIND_LIST] = "list",
};

static void member(FILE *to, const char *key, const char *text)
{
	fprintf(to, "\"%s\":", key);
	escape_json_file(to, text);
}

static void options(FILE *to, const struct opt *o)
{
	fputs("\"options\":[", to);
	for (const struct opt *first = o; o != NULL && o->kind != OPT_KIND_END; o++) {
		fputs(o == first ? "\n{" : ",\n{", to);
		member(to, "word", o->word);
		if (o->letter)
			fprintf(to, ",\"letter\":\"%c\"", o->letter);
		fputc(',', to);
		member(to, "kind", kinds[o->kind]);
		if (o->arg != NULL) {
			fputc(',', to);
			member(to, o->kind == OPT_KIND_CHOICE ? "choices" : "arg", o->arg);
		}
		fputc(',', to);
		member(to, "help", _(o->help));
		fputc('}', to);
	}
	fputc(']', to);
}

static void verb(FILE *to, const struct cmd *cmd)
{
	fputc('{', to);
	member(to, "name", cmd->name);
	fputc(',', to);
	member(to, "brief", _(cmd->brief));
	fputc(',', to);
	member(to, "args", cmd->args);
	fputc(',', to);
	member(to, "about", _(cmd->about));
	fprintf(to, ",\"group\":%s,", cmd->run == NULL ? "true" : "false");
	options(to, cmd->options);
	fputs(",\"examples\":[", to);
	for (const struct example *e = cmd->examples; e != NULL && e->line != NULL; e++) {
		fputs(e == cmd->examples ? "{" : ",{", to);
		member(to, "line", e->line);
		fputc(',', to);
		member(to, "says", _(e->says));
		fputc('}', to);
	}
	fputs("]}", to);
}

void introspect(FILE *to, const struct cmd *cmd)
{
	const struct cmd *c;
	bool more = false;

	fputc('{', to);
	member(to, "extkit", ek_version());
	fputs(",\"verbs\":[", to);
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++) {
		if (c->hidden || (cmd != NULL && c != cmd))
			continue;
		fputs(more ? ",\n" : "\n", to);
		more = true;
		verb(to, c);
	}
	fputs("],\"global\":{", to);
	options(to, global_options);
	fputs("},\"exit\":[", to);
	for (const struct exit_row *r = exit_rows; r->says != NULL; r++) {
		fprintf(to, "%s{\"code\":%d,", r == exit_rows ? "\n" : ",\n", r->code);
		member(to, "says", _(r->says));
		fputc('}', to);
	}
	fputs("]}\n", to);
}
