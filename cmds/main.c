/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit VERB: finds the verb, fills its options, calls it, and closes the output. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "extkit/version.h"
#include "fail.h"
#include "help.h"
#include "progress.h"

/* A standard descriptor that nobody opened would be the next file's, and messages would be written
 * into an image.  What stands in its place can neither be read nor written. */
static void fill_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH) != fd)
			exit(EXIT_HOST);
	}
}

static void speak_the_users_language(void)
{
	const char *where = getenv("EXTKIT_LOCALEDIR");

	setlocale(LC_ALL, "");
	/* Numbers in reports are read by programs too. */
	setlocale(LC_NUMERIC, "C");
	bindtextdomain("extkit", where != NULL ? where : LOCALEDIR);
	bind_textdomain_codeset("extkit", "UTF-8");
	textdomain("extkit");
}

static int print_version(void)
{
	printf("extkit %s\n", ek_version());
	if (*ek_parts() != '\0')
		printf(_("with %s\n"), ek_parts());
	return EXIT_DONE;
}

static int no_such_verb(struct run *run, const char *typed)
{
	const char *guess = cmd_guess(typed);

	if (guess != NULL)
		return fail_usage(run, _("there is no verb '%s'; did you mean '%s'?"), typed,
				  guess);
	return fail_usage(run, _("there is no verb '%s'"), typed);
}

static int check_operands(struct run *run)
{
	const struct cmd *cmd = run->cmd;

	if (cmd->run == NULL)
		return run->argc > 0
			   ? fail_usage(run, _("there is no verb '%s %s'"), cmd->name, run->argv[0])
			   : fail_usage(run, _("which of its verbs?"));
	if (run->argc < cmd->min_args)
		return fail_usage(run, _("too few arguments, wanted: %s"), _(cmd->args));
	if (cmd->max_args >= 0 && run->argc > cmd->max_args)
		return fail_usage(run, _("one argument too many: '%s'"), run->argv[cmd->max_args]);
	return EXIT_DONE;
}

/* Runs the verb with everything it may use in place, or tells what is wrong with its options. */
static int call(struct run *run, const char *wrong)
{
	bool inside = run->ctx != NULL; /* of a script, whose context its image has */
	struct progress progress;
	int code, err;

	if (!inside && ek_ctx_new(&run->ctx) != 0)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	run->out =
	    out_new(run->to != NULL ? run->to : stdout, run->json, run->quiet, run->cmd->name);
	if (run->out == NULL) {
		if (!inside)
			ek_ctx_free(run->ctx);
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	}
	code = wrong != NULL ? fail_usage(run, "%s", wrong) : check_operands(run);
	if (code == EXIT_DONE) {
		progress_begin(&progress, run);
		code = run->cmd->run(run);
		progress_end(&progress, run);
	}
	err = out_close(run->out);
	run->out = NULL;
	if (!inside)
		ek_ctx_free(run->ctx);
	run->ctx = NULL;
	if (err != 0 && (code == EXIT_DONE || code == EXIT_NO))
		code = fail(run, EXIT_HOST, _("cannot write the output: %s"), strerror(-err));
	return code;
}

/* Help for a program is what --introspect prints. */
static int help_json(struct run *run)
{
	int words = 0;
	const struct cmd *cmd = run->argc > 0 ? cmd_find(run->argv, run->argc, &words) : NULL;

	if (run->argc > 0 && (cmd == NULL || words != run->argc))
		return fail_usage(run, _("there is no verb '%s'"), run->argv[run->argc - 1]);
	introspect(stdout, cmd);
	return EXIT_DONE;
}

/* Options behind a wrong one are not read any more. */
static bool has_word(int argc, char **argv, const char *word)
{
	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], word) == 0)
			return true;
	return false;
}

/* The verb's own options together with the global ones, in any order. */
static int run_verb(struct run *run, struct globals *globals, int argc, char **argv)
{
	const struct cmd *cmd = run->cmd;
	void *opts = calloc(1, cmd->opts_size + 1);
	const struct opt_into into[] = {{cmd->options, opts}, {global_options, globals}};
	char why[OPT_WHY];
	int code;

	if (opts == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	if (opt_parse(into, 2, &argc, argv, false, why) != 0) {
		run->json = globals->json || has_word(argc, argv, "--json");
		code = call(run, why);
		goto out;
	}
	run->opts = opts;
	run->argc = argc;
	run->argv = argv;
	run->json = globals->json;
	run->quiet = globals->quiet;
	run->progress = globals->progress;
	run->journal = globals->journal;
	run->no_replay = globals->no_replay;
	code = EXIT_DONE;
	if (globals->introspect || (globals->help && globals->json))
		introspect(stdout, cmd);
	else if (globals->json && strcmp(cmd->name, "help") == 0)
		code = help_json(run);
	else if (globals->help)
		help_verb(stdout, cmd);
	else if (globals->version)
		code = print_version();
	else
		code = call(run, NULL);
out:
	opt_free(cmd->options, opts);
	free(opts);
	return code;
}

int cmd_run_words(struct run *outer, int argc, char **argv)
{
	struct globals globals = {.quiet = outer->quiet, .progress = outer->progress};
	struct run run = {.ctx = outer->ctx,
			  .held = outer->held,
			  .where = outer->where,
			  .said = outer->said,
			  .to = outer->to};
	int words = 0;

	globals.journal = outer->journal;
	run.cmd = cmd_find(argv, argc, &words);
	if (run.cmd == NULL)
		return no_such_verb(&run, argv[0]);
	return run_verb(&run, &globals, argc - words, argv + words);
}

static int start(int argc, char **argv)
{
	struct globals globals = {0};
	const struct opt_into into[] = {{global_options, &globals}};
	struct run run = {0};
	char why[OPT_WHY];
	int words = 0;

	if (opt_parse(into, 1, &argc, argv, true, why) != 0)
		return fail_usage(&run, "%s", why);
	if (argc > 0) {
		run.cmd = cmd_find(argv, argc, &words);
		if (run.cmd == NULL)
			return no_such_verb(&run, argv[0]);
		return run_verb(&run, &globals, argc - words, argv + words);
	}
	if (globals.version)
		return print_version();
	if (globals.introspect)
		introspect(stdout, NULL);
	else if (globals.help)
		help_overview(stdout);
	else {
		help_overview(stderr);
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct run run = {0};
	int code, err;

	fill_descriptors();
	speak_the_users_language();
	code = start(argc - 1, argv + 1);
	/* Verbs have closed their output; this is for help and the like. */
	err = fflush(stdout) != 0 ? errno : ferror(stdout) != 0 ? EIO : 0;
	if (err != 0 && code == EXIT_DONE)
		code = fail(&run, EXIT_HOST, _("cannot write the output: %s"), strerror(err));
	return code;
}
