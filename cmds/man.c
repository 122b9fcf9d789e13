/* SPDX-License-Identifier: BSD-2-Clause */
/* Manual pages as roff.  They carry no date, so that the same tree gives the same bytes. */
#include <string.h>

#include "cmd.h"
#include "extkit/version.h"
#include "help.h"

/* Text as roff takes it: no escape, no request and no soft hyphen may come out of it. */
static void roff(FILE *to, const char *text)
{
	bool first = true;

	for (; *text != '\0'; text++) {
		if (first && (*text == '.' || *text == '\''))
			fputs("\\&", to);
		first = *text == '\n';
		if (*text == '\\')
			fputs("\\(rs", to);
		else if (*text == '-')
			fputs("\\-", to);
		else if (*text == '\'')
			fputs("\\(aq", to);
		else
			fputc(*text, to);
	}
}

/* Paragraphs: an empty line becomes a request. */
static void paragraphs(FILE *to, const char *text)
{
	const char *end;

	while ((end = strstr(text, "\n\n")) != NULL) {
		char part[4096];

		snprintf(part, sizeof(part), "%.*s", (int)(end - text), text);
		roff(to, part);
		fputs("\n.PP\n", to);
		text = end + strspn(end, "\n");
	}
	roff(to, text);
	fputc('\n', to);
}

static void heading(FILE *to, const char *name, const char *brief)
{
	char title[64];
	size_t i;

	snprintf(title, sizeof(title), "%s", name);
	for (i = 0; title[i] != '\0'; i++) {
		if (title[i] == ' ')
			title[i] = '-';
		else if (title[i] >= 'a' && title[i] <= 'z')
			title[i] = (char)(title[i] - 'a' + 'A');
	}
	fprintf(to, ".\\\" SPDX-License-Identifier: BSD-2-Clause\n");
	fprintf(to, ".TH %s 1 \"\" \"extkit " EK_VERSION "\" \"%s\"\n.SH %s\n", title,
		_("extkit manual"), _("NAME"));
	for (i = 0; name[i] != '\0'; i++)
		fputs(name[i] == ' ' || name[i] == '-' ? "\\-" : (char[]){name[i], '\0'}, to);
	fputs(" \\- ", to);
	roff(to, brief);
	fputc('\n', to);
}

static void option_rows(FILE *to, const struct opt *o)
{
	for (; o != NULL && o->kind != OPT_KIND_END; o++) {
		fputs(".TP\n", to);
		if (o->letter)
			fprintf(to, "\\fB\\-%c\\fR, ", o->letter);
		fputs("\\fB\\-\\-", to);
		roff(to, o->word);
		fputs("\\fR", to);
		if (o->arg != NULL) {
			fputs("=\\fI", to);
			roff(to, o->kind == OPT_KIND_CHOICE ? o->arg : _(o->arg));
			fputs("\\fR", to);
		}
		fputc('\n', to);
		roff(to, _(o->help));
		fputs(".\n", to);
	}
}

static void examples(FILE *to, const struct example *e)
{
	for (; e != NULL && e->line != NULL; e++) {
		fputs(".TP\n.B ", to);
		roff(to, e->line);
		fputc('\n', to);
		roff(to, _(e->says));
		fputs(".\n", to);
	}
}

static void synopsis(FILE *to, const struct cmd *cmd)
{
	fputs("\\fBextkit ", to);
	roff(to, cmd->name);
	fputs("\\fR ", to);
	if (cmd->options != NULL)
		roff(to, _("[options] "));
	roff(to, _(cmd->args));
	fputc('\n', to);
}

static void sub_verbs(FILE *to, const struct cmd *group)
{
	const struct cmd *c;
	size_t at = 0;

	while ((c = cmd_below(group, &at)) != NULL) {
		fputs(".SH ", to);
		for (const char *p = c->name; *p != '\0'; p++)
			fputc(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p, to);
		fputc('\n', to);
		synopsis(to, c);
		fputs(".PP\n", to);
		paragraphs(to, _(c->about));
		option_rows(to, c->options);
		examples(to, c->examples);
	}
}

static void exit_codes(FILE *to)
{
	fprintf(to, ".SH %s\n", _("EXIT STATUS"));
	for (const struct exit_row *r = exit_rows; r->says != NULL; r++) {
		fprintf(to, ".TP\n.B %d\n", r->code);
		roff(to, _(r->says));
		fputs(".\n", to);
	}
}

static void main_page(FILE *to)
{
	const struct cmd *c;

	heading(to, "extkit", _("work on ext2, ext3 and ext4 images without mounting them"));
	fprintf(to, ".SH %s\n", _("SYNOPSIS"));
	fprintf(to, "\\fBextkit\\fR \\fI%s\\fR [\\fI%s\\fR] \\fI%s\\fR...\n", _("VERB"),
		_("options"), _("IMG"));
	fprintf(to, ".SH %s\n", _("DESCRIPTION"));
	paragraphs(
	    to, _("An image argument is IMG, or IMG@@OFFSET for a filesystem that begins "
		  "there; a path inside is IMG:/PATH. An argument that names a file as it "
		  "stands is that file; otherwise the image ends at the first \":/\" whose "
		  "left part names one. Of a disk with partitions IMG@p2 is the second one, "
		  "IMG@LABEL=NAME the one whose filesystem has that label, IMG@PARTLABEL=NAME the "
		  "one that a GPT calls so.\n\n"
		  "An image may be remote: nbd://HOST[:PORT]/EXPORT or "
		  "nbd+unix:///EXPORT?socket=FILE (nbds and nbds+unix with TLS) is what an "
		  "NBD server offers. Such a name ends at the first \":/\" behind its "
		  "\"://\"; write %3A/ for one that belongs to it, and %40@ for \"@@\". "
		  "Nothing tells who else uses the export: see to it that there is one writer. "
		  "This needs libnbd.so.0 when it is used, and a server that answers nothing for "
		  "30 seconds is given up.\n\n"
		  "Each verb has a page of its own, extkit-VERB(1)."));
	fprintf(to, ".SH %s\n", _("VERBS"));
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++) {
		if (c->hidden || cmd_is_below(c))
			continue;
		fprintf(to, ".TP\n.BR extkit\\-%s (1)\n", c->name);
		roff(to, _(c->brief));
		fputs(".\n", to);
	}
	fprintf(to, ".SH %s\n", _("OPTIONS"));
	option_rows(to, global_options);
	exit_codes(to);
}

void man_page(FILE *to, const struct cmd *cmd)
{
	char name[64];

	if (cmd == NULL) {
		main_page(to);
		return;
	}
	snprintf(name, sizeof(name), "extkit-%s", cmd->name);
	heading(to, name, _(cmd->brief));
	fprintf(to, ".SH %s\n", _("SYNOPSIS"));
	synopsis(to, cmd);
	fprintf(to, ".SH %s\n", _("DESCRIPTION"));
	paragraphs(to, _(cmd->about));
	sub_verbs(to, cmd);
	fprintf(to, ".SH %s\n", _("OPTIONS"));
	option_rows(to, cmd->options);
	option_rows(to, global_options);
	if (cmd->examples != NULL)
		fprintf(to, ".SH %s\n", _("EXAMPLES"));
	examples(to, cmd->examples);
	exit_codes(to);
	fprintf(to, ".SH %s\n.BR extkit (1)\n", _("SEE ALSO"));
}
