/* SPDX-License-Identifier: BSD-2-Clause */
/* libedit's readline face, or getline.  The library calls back without a context, so what is
 * offered is kept here while one word is completed. */
#include "typing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	typing_offer_fn *offer;
	void *ctx;
	char **words;
	size_t n, at;
} state;

bool typing_talks(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static char *plain_line(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n = getline(&line, &cap, stdin);

	if (n < 0) {
		free(line);
		return NULL;
	}
	if (n > 0 && line[n - 1] == '\n')
		line[n - 1] = '\0';
	return line;
}

#ifdef HAVE_LIBEDIT

#include <editline/readline.h>

static void add(const char *word)
{
	char **words = realloc(state.words, (state.n + 1) * sizeof(*words));

	if (words == NULL)
		return;
	state.words = words;
	words[state.n] = strdup(word);
	if (words[state.n] != NULL)
		state.n++;
}

/* The library frees what it is given. */
static char *next_offer(const char *text, int state_of_call)
{
	return state.at < state.n ? state.words[state.at++] : NULL;
}

static char **complete(const char *text, int start, int end)
{
	char **matches;

	free(state.words);
	state.words = NULL;
	state.n = state.at = 0;
	state.offer(state.ctx, rl_line_buffer, start, text, add);
	/* a folder's name goes on */
	rl_completion_append_character =
	    state.n == 1 && state.words[0][strlen(state.words[0]) - 1] == '/' ? '\0' : ' ';
	matches = rl_completion_matches(text, next_offer);
	rl_attempted_completion_over = 1; /* files of this machine are not meant */
	return matches;
}

void typing_begin(typing_offer_fn *offer, void *ctx)
{
	static char name[] = "extkit";

	state.offer = offer;
	state.ctx = ctx;
	rl_readline_name = name;
	rl_attempted_completion_function = complete;
	if (typing_talks())
		using_history();
}

char *typing_next(const char *prompt)
{
	char *line;

	if (!typing_talks())
		return plain_line();
	line = readline(prompt);
	if (line != NULL && *line != '\0')
		add_history(line);
	return line;
}

#else

void typing_begin(typing_offer_fn *offer, void *ctx)
{
	state.offer = offer;
	state.ctx = ctx;
}

char *typing_next(const char *prompt)
{
	if (typing_talks()) {
		fputs(prompt, stdout);
		fflush(stdout);
	}
	return plain_line();
}

#endif
