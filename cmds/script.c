/* SPDX-License-Identifier: BSD-2-Clause */
/* From a line to words, and from words to a verb that runs on an image that is held. */
#include "script.h"

#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "target.h"

/* ---- words ---- */

struct split {
	const char *at;
	char *to;
	const char *why;
};

static void take_single(struct split *s)
{
	const char *end = strchr(++s->at, '\'');

	if (end == NULL) {
		s->why = N_("a ' is not closed");
		return;
	}
	s->to = (char *)memcpy(s->to, s->at, (size_t)(end - s->at)) + (end - s->at);
	s->at = end + 1;
}

static void take_double(struct split *s)
{
	for (s->at++; *s->at != '"'; s->at++) {
		if (s->at[0] == '\\' && (s->at[1] == '"' || s->at[1] == '\\'))
			s->at++;
		if (*s->at == '\0') {
			s->why = N_("a \" is not closed");
			return;
		}
		*s->to++ = *s->at;
	}
	s->at++;
}

static void take_word(struct split *s)
{
	while (s->why == NULL && *s->at != '\0' && *s->at != ' ' && *s->at != '\t') {
		if (*s->at == '\'') {
			take_single(s);
		} else if (*s->at == '"') {
			take_double(s);
		} else {
			if (*s->at == '\\' && *++s->at == '\0') {
				s->why = N_("nothing follows the \\");
				return;
			}
			*s->to++ = *s->at++;
		}
	}
	*s->to++ = '\0';
}

int words_split(const char *line, struct words *ret, const char **why)
{
	size_t n = strlen(line);
	struct words w = {.v = calloc(n / 2 + 3, sizeof(char *)), .mem = malloc(2 * n + 2)};
	struct split s = {line, w.mem, NULL};

	if (w.v == NULL || w.mem == NULL)
		s.why = N_("no memory");
	while (s.why == NULL) {
		s.at += strspn(s.at, " \t");
		if (*s.at == '\0' || *s.at == '#')
			break;
		w.v[w.n++] = s.to;
		take_word(&s);
	}
	if (s.why != NULL) {
		words_free(&w);
		*why = s.why;
		return -1;
	}
	*ret = w;
	return 0;
}

void words_free(struct words *w)
{
	free(w->v);
	free(w->mem);
	*w = (struct words){0};
}

/* ---- verbs ---- */

/* They are about files of this machine, or open the image in a way of their own. */
static const char *const outside[] = {"apply", "create", "journal", "replay",
				      "shell", "size",   "trace",   "undo"};

int script_check(struct run *run, const struct words *w)
{
	const char *verb = w->v[0];
	const struct cmd *cmd;
	int words = 0;

	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		if (strcmp(outside[i], verb) == 0)
			return fail_usage(run, _("'%s' is not for scripts"), verb);
	cmd = cmd_find(w->v, w->n, &words);
	if (cmd != NULL)
		return EXIT_DONE;
	return fail_usage(run, _("there is no verb '%s'"), verb);
}

int script_run(struct run *outer, const struct words *w)
{
	char **v = calloc((size_t)w->n + 2, sizeof(*v));
	static char here[] = ".";
	const struct cmd *cmd;
	int n = w->n, words = 0, code;

	if (v == NULL)
		return fail(outer, EXIT_HOST, "%s", _("no memory"));
	memcpy(v, w->v, (size_t)n * sizeof(*v));
	cmd = cmd_find(v, n, &words);
	if (cmd != NULL && cmd->min_args == 1 && n > 0) {
		bool operand = false;

		for (int i = words; i < n; i++)
			operand = operand || v[i][0] != '-';
		if (!operand)
			v[n++] = here;
	}
	code = cmd_run_words(outer, n, v);
	free(v);
	return code;
}
