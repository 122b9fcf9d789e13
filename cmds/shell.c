/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit shell: verbs on one image, line by line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"
#include "script.h"
#include "typing.h"

struct shell {
	struct run *run;
	struct held held;
	char cwd[4096];
	int code; /* of the last command */
	bool over;
};

/* ---- words of its own ---- */

/* path as seen from cwd, without "." and ".." as far as names go; false when it is too long. */
static bool resolve(const char *cwd, const char *path, char *to, size_t cap)
{
	char both[8192], *part, *rest = both;
	size_t n = 0;

	if (snprintf(both, sizeof(both), "%s/%s", path[0] == '/' ? "" : cwd, path) >=
	    (int)sizeof(both))
		return false;
	to[0] = '\0';
	while ((part = strsep(&rest, "/")) != NULL) {
		if (*part == '\0' || strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			char *slash = strrchr(to, '/');

			if (slash != NULL)
				*slash = '\0';
			n = strlen(to);
			continue;
		}
		if (n + strlen(part) + 2 > cap)
			return false;
		n += (size_t)snprintf(to + n, cap - n, "/%s", part);
	}
	if (n == 0)
		snprintf(to, cap, "/");
	return true;
}

static int change_folder(struct shell *sh, const char *path)
{
	struct images s = {.run = sh->run};
	char to[sizeof(sh->cwd)];
	struct place p;
	int code;

	if (!resolve(sh->cwd, path, to, sizeof(to)))
		return fail(sh->run, EXIT_PATH, _("%s: the path is too long"), path);
	code = images_root(&s, to, 0, &p);
	if (code == EXIT_DONE && !place_is_folder(&p))
		code = fail(sh->run, EXIT_PATH, _("%s is no folder"), to);
	code = images_end(&s, code);
	if (code == EXIT_DONE)
		memcpy(sh->cwd, to, sizeof(to));
	return code;
}

static void show_help(void)
{
	const struct cmd *c;

	printf("%-12s %s\n", "cd [PATH]", _("go to a folder of the image"));
	printf("%-12s %s\n", "pwd", _("tell where that is"));
	printf("%-12s %s\n", "exit", _("leave"));
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++)
		if (!c->hidden && c->run != NULL)
			printf("%-12s %s\n", c->name, _(c->brief));
	puts(_("VERB --help tells more."));
}

/* True when the words were the shell's own. */
static bool own_word(struct shell *sh, const struct words *w)
{
	const char *verb = w->v[0];

	if (strcmp(verb, "exit") == 0 || strcmp(verb, "quit") == 0)
		sh->over = true;
	else if (strcmp(verb, "cd") == 0 && w->n <= 2)
		sh->code = change_folder(sh, w->n == 2 ? w->v[1] : "/");
	else if (strcmp(verb, "pwd") == 0)
		puts(sh->cwd);
	else if (strcmp(verb, "help") == 0 && w->n == 1)
		show_help();
	else
		return false;
	return true;
}

/* ---- lines ---- */

static void run_line(struct shell *sh, const char *line)
{
	struct words w;
	const char *why;

	sh->code = EXIT_DONE;
	if (words_split(line, &w, &why) != 0) {
		sh->code = fail_usage(sh->run, "%s", _(why));
		return;
	}
	if (w.n > 0 && !own_word(sh, &w)) {
		struct ek_ctx *ctx = sh->run->ctx;

		sh->code = script_check(sh->run, &w);
		sh->run->ctx = NULL; /* each command has its own, as in a shell of the system */
		if (sh->code == EXIT_DONE)
			sh->code = script_run(sh->run, &w);
		sh->run->ctx = ctx;
	}
	words_free(&w);
	fflush(stdout);
}

/* Names of the folder that the word is in, with a slash behind folders. */
static void offer_paths(struct shell *sh, const char *text, void (*add)(const char *word))
{
	const char *slash = strrchr(text, '/');
	size_t head = slash != NULL ? (size_t)(slash - text) + 1 : 0;
	char folder[4096], word[8192];
	struct images s = {.run = sh->run};
	struct ek_inode *inode;
	struct ek_dir *dir;
	struct ek_entry e;
	struct place p;

	snprintf(word, sizeof(word), "%.*s.", (int)head, text);
	if (!resolve(sh->cwd, word, folder, sizeof(folder)))
		return;
	if (images_root(&s, folder, 0, &p) == EXIT_DONE &&
	    ek_inode_open(p.img, p.path, 0, &inode) == 0) {
		if (ek_dir_open(inode, &dir) == 0) {
			while (ek_dir_next(dir, &e) == 1) {
				snprintf(word, sizeof(word), "%.*s%s%s", (int)head, text, e.name,
					 S_ISDIR(e.mode) ? "/" : "");
				if (strncmp(word, text, strlen(text)) == 0)
					add(word);
			}
			ek_dir_close(dir);
		}
		ek_inode_close(inode);
	}
	images_end(&s, EXIT_DONE);
}

static void offer(void *ctx, const char *line, int start, const char *text,
		  void (*add)(const char *word))
{
	struct shell *sh = ctx;
	const struct cmd *c;
	size_t n = strlen(text);

	if (strspn(line, " \t") < (size_t)start) {
		offer_paths(sh, text, add);
		return;
	}
	for (size_t i = 0; (c = cmd_at(i)) != NULL; i++)
		if (!c->hidden && !cmd_is_below(c) && strncmp(c->name, text, n) == 0)
			add(c->name);
	if (strncmp("cd", text, n) == 0)
		add("cd");
	if (strncmp("exit", text, n) == 0)
		add("exit");
}

/* The image without what is inside it, and the folder that the first line begins in. */
static int enter(struct shell *sh, const char *arg, char **name)
{
	struct target t;
	int code = target_parse(sh->run, arg, &t);

	if (code != EXIT_DONE)
		return code;
	*name = strndup(arg, strlen(arg) - (t.has_path ? strlen(t.path) + 1 : 0));
	if (*name == NULL) {
		free(t.image);
		return fail(sh->run, EXIT_HOST, "%s", _("no memory"));
	}
	sh->held = (struct held){.name = *name, .cwd = sh->cwd};
	sh->run->held = &sh->held;
	code = change_folder(sh, t.path);
	free(t.image);
	return code;
}

static void take_lines(struct shell *sh, bool talks)
{
	char prompt[4200], *line;

	typing_begin(offer, sh);
	while (!sh->over) {
		snprintf(prompt, sizeof(prompt), "%s> ", sh->cwd);
		line = typing_next(prompt);
		if (line == NULL)
			break;
		run_line(sh, line);
		free(line);
		if (!talks && sh->code != EXIT_DONE)
			break;
	}
}

static int run_shell(struct run *run)
{
	struct shell sh = {.run = run, .cwd = "/"};
	bool talks = typing_talks();
	char *name = NULL;

	if (run->json)
		return fail_usage(run, _("give --json to the verbs instead"));
	sh.code = enter(&sh, run->argv[0], &name);
	if (sh.code == EXIT_DONE) {
		take_lines(&sh, talks);
		sh.code = talks ? EXIT_DONE : sh.code;
	}
	run->held = NULL;
	free(name);
	return sh.code;
}

static const struct example shell_examples[] = {
    {"extkit shell disk.img", N_("asks for verbs until exit or Ctrl-D")},
    {"extkit shell disk.img:/etc", N_("begins in a folder")},
    {"printf 'cd /etc\\nls -l\\n' | extkit shell disk.img", N_("takes them from elsewhere")},
    {NULL, NULL},
};

COMMAND(shell) = {
    .name = "shell",
    .brief = N_("verbs on an image, line by line"),
    .args = N_("IMG[:/PATH]"),
    .about = N_(
	"Lines are verbs as in apply, and paths may begin in the folder that cd went to. Each is "
	"a command of its own: what it did is in the image when the next prompt comes, and a line "
	"that fails undoes no other. At a terminal lines can be edited, are remembered, and the "
	"Tab key completes verbs and paths. Elsewhere the first line that fails ends the shell."),
    .examples = shell_examples,
    .min_args = 1,
    .max_args = 1,
    .run = run_shell,
};
