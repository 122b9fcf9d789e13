/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit apply: a script of edits, all of them or none. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "extkit/undo.h"
#include "fail.h"
#include "images.h"
#include "script.h"

struct apply_opts {
	const char *undo;
	bool dry;
};

#define T struct apply_opts

static const struct opt apply_options[] = {
    OPT_FILE(T, undo, 0, "undo-file", N_("FILE"), N_("the undo file, otherwise IMG.undo")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

struct line {
	struct words words;
	size_t number;
	bool may_fail;
};

struct script {
	const char *name;
	struct line *v;
	size_t n, cap;
};

/* ---- reading ---- */

static void script_free(struct script *s)
{
	for (size_t i = 0; i < s->n; i++)
		words_free(&s->v[i].words);
	free(s->v);
}

static int add_line(struct run *run, struct script *s, const char *text, size_t number)
{
	struct line l = {.number = number};
	const char *why;

	if (text[0] == '-' && text[1] != '\0') {
		l.may_fail = true;
		text++;
	}
	if (words_split(text, &l.words, &why) != 0)
		return fail_usage(run, "%s", _(why));
	if (l.words.n == 0) {
		words_free(&l.words);
		return EXIT_DONE;
	}
	if (s->n == s->cap) {
		size_t cap = s->cap != 0 ? 2 * s->cap : 64;
		struct line *v = realloc(s->v, cap * sizeof(*v));

		if (v == NULL) {
			words_free(&l.words);
			return fail(run, EXIT_HOST, "%s", _("no memory"));
		}
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = l;
	return script_check(run, &l.words);
}

static void set_where(struct run *run, char *where, size_t cap, const struct script *s,
		      size_t number)
{
	snprintf(where, cap, "%s:%zu: ", s->name, number);
	run->where = where;
}

static int read_lines(struct run *run, struct script *s, FILE *f)
{
	char *text = NULL, where[512];
	size_t cap = 0, number = 0;
	ssize_t n;
	int code = EXIT_DONE;

	while (code == EXIT_DONE && (n = getline(&text, &cap, f)) > 0) {
		set_where(run, where, sizeof(where), s, ++number);
		if (text[n - 1] == '\n')
			text[--n] = '\0';
		if (memchr(text, '\0', (size_t)n) != NULL)
			code = fail_usage(run, "%s", _("a line has a zero byte inside"));
		else
			code = add_line(run, s, text + strspn(text, " \t"), number);
	}
	run->where = NULL;
	if (code == EXIT_DONE && ferror(f))
		code = fail(run, EXIT_HOST, "%s: %s", s->name, strerror(errno));
	free(text);
	return code;
}

/* The whole script, proved as far as it goes without an image, before anything is done. */
static int read_script(struct run *run, struct script *s)
{
	const char *path = run->argc > 1 ? run->argv[1] : "-";
	bool std = strcmp(path, "-") == 0;
	FILE *f = std ? stdin : fopen(path, "re");
	int code;

	s->name = std ? "-" : path;
	if (f == NULL)
		return fail(run, EXIT_HOST, "%s: %s", path, strerror(errno));
	code = read_lines(run, s, f);
	if (!std)
		fclose(f);
	return code;
}

/* ---- running ---- */

static const struct out_col apply_cols[] = {
    {"line", NULL, true}, {"verb", NULL, false}, {"exit", NULL, true}, {"output", NULL, false}};

/* One line; with JSON what it prints becomes a cell. */
static int run_line(struct run *run, struct script *s, const struct line *l)
{
	char where[512], *text = NULL;
	size_t len = 0;
	int code;

	set_where(run, where, sizeof(where), s, l->number);
	run->to = run->json ? open_memstream(&text, &len) : NULL;
	code = script_run(run, &l->words);
	run->where = NULL;
	if (run->json) {
		if (run->to != NULL)
			fclose(run->to);
		run->to = NULL;
		out_u64(run->out, NULL, NULL, l->number);
		out_str(run->out, NULL, NULL, l->words.v[0]);
		out_u64(run->out, NULL, NULL, (uint64_t)code);
		out_bytes(run->out, NULL, NULL, text != NULL ? text : "", len);
		free(text);
	}
	return l->may_fail ? EXIT_DONE : code;
}

static int run_lines(struct run *run, struct script *s)
{
	char said[SAID_MAX] = "";
	int code = EXIT_DONE;

	if (run->json)
		out_table(run->out, "lines", apply_cols, 4);
	run->said = said;
	for (size_t i = 0; i < s->n && code == EXIT_DONE; i++)
		code = run_line(run, s, &s->v[i]);
	run->said = NULL;
	if (run->json) {
		out_table_end(run->out);
		if (code != EXIT_DONE)
			out_error(run->out, code, said, ek_ctx_missing_blocks(run->ctx),
				  ek_ctx_missing_inodes(run->ctx));
	}
	return code;
}

/* A script on standard input is read by now: a verb that reads there gets nothing. */
static void shut_input(const struct script *s)
{
	int fd = strcmp(s->name, "-") == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		dup2(fd, STDIN_FILENO);
		close(fd);
	}
}

static int take_back(struct run *run, struct target *t, int code)
{
	int err = ek_image_take_back(t->img);

	t->img = NULL;
	if (err < 0)
		return fail_call(run, err);
	out_note(run->out, "%s", _("nothing was changed"));
	return code;
}

static int run_apply(struct run *run)
{
	const struct apply_opts *o = run->opts;
	struct script s = {0};
	struct held held = {.name = run->argv[0], .cwd = "/"};
	struct target t;
	int code = read_script(run, &s);

	if (code == EXIT_DONE) {
		run->undo = o->undo;
		code = target_open(run, run->argv[0], images_write(o->dry) | EK_IMAGE_UNDO, &t);
	}
	if (code == EXIT_DONE && t.has_path)
		code = target_end(run, &t, fail_usage(run, _("an image alone is wanted: IMG")));
	else if (code == EXIT_DONE) {
		shut_input(&s);
		held.img = t.img;
		run->held = &held;
		code = run_lines(run, &s);
		run->held = NULL;
		if (code != EXIT_DONE)
			code = take_back(run, &t, code);
		code = target_end(run, &t, code);
	}
	script_free(&s);
	return code;
}

static const struct example apply_examples[] = {
    {"printf 'rm /etc/motd\\nput motd /etc/\\n' | extkit apply disk.img",
     N_("exchanges a file; both lines or none")},
    {"extkit apply --dry-run disk.img edits.txt", N_("tells whether it would work")},
    {NULL, NULL},
};

COMMAND(apply) = {
    .name = "apply",
    .brief = N_("run a script of edits, all or none"),
    .args = N_("IMG [SCRIPT]"),
    .about = N_(
	"Each line is a verb with its options and paths, without the image: put motd /etc/. "
	"Quotes work as in a shell, nothing is expanded, # begins a remark, and what is IMG:/PATH "
	"is another image. A script is read from standard input when it is \"-\" or missing.\n\n"
	"It stops at the first line that fails, and then the image is as it was before, byte for "
	"byte. A line that begins with - may fail. What fits one transaction of the journal is "
	"one; a longer script, one that needs the room it frees, or one for an image without a "
	"journal, keeps what it overwrites in IMG.undo until it is done: where that file is left, "
	"undo takes it back."),
    .options = apply_options,
    .examples = apply_examples,
    .min_args = 1,
    .max_args = 2,
    .opts_size = sizeof(struct apply_opts),
    .run = run_apply,
};
