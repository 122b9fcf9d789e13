/* SPDX-License-Identifier: BSD-2-Clause */
/* A completion script for bash: one case for each verb, from the option tables. */
#include <string.h>

#include "cmd.h"
#include "help.h"

static void words_of(FILE *to, const struct opt *o)
{
	for (; o != NULL && o->kind != OPT_KIND_END; o++)
		fprintf(to, " --%s%s", o->word, o->kind == OPT_KIND_FLAG ? "" : "=");
}

static void choices_of(FILE *to, const char *verb, const struct opt *o)
{
	for (; o != NULL && o->kind != OPT_KIND_END; o++) {
		if (o->kind != OPT_KIND_CHOICE)
			continue;
		fprintf(to, "\t'%s --%s') words='", verb, o->word);
		for (const char *p = o->arg; *p != '\0'; p++)
			fputc(*p == '|' ? ' ' : *p, to);
		fputs("' ;;\n", to);
	}
}

static void verb_list(FILE *to, const struct cmd *group)
{
	const struct cmd *c;
	size_t at = 0;

	if (group != NULL) {
		while ((c = cmd_below(group, &at)) != NULL)
			fprintf(to, " %s", strchr(c->name, ' ') + 1);
		return;
	}
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++)
		if (!c->hidden && !cmd_is_below(c))
			fprintf(to, " %s", c->name);
}

static void head(FILE *to)
{
	fputs("# SPDX-License-Identifier: BSD-2-Clause\n"
	      "# bash completion for extkit, printed by extkit help --completion\n"
	      "_extkit() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal verb='' words='' w i\n"
	      "\tCOMPREPLY=()\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tw=${COMP_WORDS[i]}\n"
	      "\t\tcase $w in -*|=) continue ;; esac\n"
	      "\t\tif [[ -z $verb ]]; then verb=$w\n",
	      to);
	fputs("\t\telif [[ ' ", to);
}

static void tail(FILE *to)
{
	fputs("\tif [[ -n $words ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	      "\t\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace\n"
	      "\t\t[[ ${#COMPREPLY[@]} -gt 0 ]] && return\n"
	      "\tfi\n"
	      "\tcompopt -o default\n"
	      "}\n"
	      "complete -F _extkit extkit\n",
	      to);
}

void complete_bash(FILE *to)
{
	const struct cmd *c;

	head(to);
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++)
		if (c->run == NULL)
			fprintf(to, "%s ", c->name);
	fputs("' == *\" $verb \"* ]]; then verb+=\" $w\"; break\n"
	      "\t\tfi\n"
	      "\tdone\n"
	      "\tif [[ $cur == '=' ]]; then cur=''\n"
	      "\telif [[ $prev == '=' ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}\n"
	      "\tfi\n"
	      "\tcase \"$verb $prev\" in\n",
	      to);
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++)
		choices_of(to, c->name, c->options);
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++)
		choices_of(to, c->name, global_options);
	fputs("\tesac\n\t[[ -n $words ]] || case \"$verb\" in\n\t'') words='", to);
	verb_list(to, NULL);
	words_of(to, global_options);
	fputs("' ;;\n", to);
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++) {
		fprintf(to, "\t'%s')", c->name);
		fputs(c->run == NULL ? " words='" : " [[ $cur == -* ]] && words='", to);
		verb_list(to, c);
		words_of(to, c->options);
		words_of(to, global_options);
		fputs("' ;;\n", to);
	}
	fputs("\tesac\n", to);
	tail(to);
}
