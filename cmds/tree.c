/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit tree: a tree as a drawing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "entry.h"
#include "fail.h"
#include "images.h"
#include "show.h"

struct tree_opts {
	struct opt_num depth;
	bool folders, sizes;
};

#define T struct tree_opts

static const struct opt tree_options[] = {
    OPT_NUMBER(T, depth, 'L', "depth", N_("N"), N_("at most N folders deep")),
    OPT_FLAG(T, folders, 'd', "folders", N_("folders only")),
    OPT_FLAG(T, sizes, 's', "size", N_("the length of files")),
    OPT_END,
};

#define DEPTH_MAX 300u

/* One row is held back until the next one tells whether it is the last of its folder. */
struct node {
	unsigned depth;
	char *text; /* what stands behind the branches, escaped by out */
	char *path;
	uint64_t bytes;
	const char *type;
};

struct drawing {
	struct run *run;
	struct node *v;
	size_t n, cap;
	uint64_t files, folders;
	struct trouble trouble;
};

static const struct out_col json_cols[] = {
    {"path", NULL, false}, {"depth", NULL, true}, {"type", NULL, false}, {"size", NULL, true}};
static const struct out_col text_cols[] = {{NULL, NULL, false}};

static char *text_of(struct drawing *d, const struct ek_found *f, const struct ek_stat *st,
		     const char *base)
{
	const struct tree_opts *o = d->run->opts;
	char target[4097] = "", size[SHOW_MAX + 4] = "", *text;

	if (S_ISLNK(st->mode) && ek_inode_readlink(f->inode, target, sizeof(target)) < 0)
		strcpy(target, "?");
	if (o->sizes && S_ISREG(st->mode))
		snprintf(size, sizeof(size), "[%llu]  ", (unsigned long long)st->bytes);
	if (asprintf(&text, "%s%s%s%s", size, f->depth == 0 ? base : f->name,
		     S_ISLNK(st->mode) ? " -> " : "", target) < 0)
		return NULL;
	return text;
}

static int add(struct drawing *d, const struct ek_found *f, const struct ek_stat *st,
	       const char *base)
{
	struct node *n;

	if (d->n == d->cap) {
		size_t cap = d->cap != 0 ? 2 * d->cap : 256;
		struct node *v = realloc(d->v, cap * sizeof(*v));

		if (v == NULL)
			return fail(d->run, EXIT_HOST, "%s", _("no memory"));
		d->v = v;
		d->cap = cap;
	}
	n = &d->v[d->n];
	*n = (struct node){f->depth, text_of(d, f, st, base), strdup(f->path), st->bytes,
			   entry_type(st->mode)};
	d->n++;
	return n->text != NULL && n->path != NULL ? EXIT_DONE
						  : fail(d->run, EXIT_HOST, "%s", _("no memory"));
}

static int step(struct drawing *d, struct ek_walk *walk, const struct ek_found *f, const char *base)
{
	const struct tree_opts *o = d->run->opts;
	struct ek_stat st = {.size = sizeof(st)};
	int err = f->error;

	if (err == 0)
		err = ek_inode_stat(f->inode, &st);
	if (err < 0) {
		trouble_add(d->run, &d->trouble, err);
		return EXIT_DONE;
	}
	if (o->depth.set && f->depth >= o->depth.v)
		ek_walk_prune(walk);
	if (!S_ISDIR(st.mode) && o->folders)
		return EXIT_DONE;
	if (S_ISDIR(st.mode))
		d->folders += f->depth != 0 ? 1 : 0;
	else
		d->files++;
	return add(d, f, &st, base);
}

/* Whether nothing follows at the depth of node i before something shallower does; rows are looked
 * at from the last to the first, and more[depth] says what was seen behind. */
static void mark_last(const struct drawing *d, bool *last)
{
	bool more[DEPTH_MAX] = {false};

	for (size_t i = d->n; i-- > 0;) {
		unsigned depth = d->v[i].depth < DEPTH_MAX ? d->v[i].depth : DEPTH_MAX - 1;

		last[i] = !more[depth];
		more[depth] = true;
		for (unsigned k = depth + 1; k < DEPTH_MAX && more[k]; k++)
			more[k] = false;
	}
}

static void draw_row(struct drawing *d, const struct node *n, bool last, bool *open)
{
	char *line = malloc((size_t)n->depth * 8 + strlen(n->text) + 16), *p = line;

	if (line == NULL)
		return;
	for (unsigned k = 1; k < n->depth && k < DEPTH_MAX; k++)
		p = stpcpy(p, open[k] ? "│   " : "    ");
	if (n->depth != 0) {
		p = stpcpy(p, last ? "└── " : "├── ");
		if (n->depth < DEPTH_MAX)
			open[n->depth] = !last;
	}
	strcpy(p, n->text);
	out_str(d->run->out, NULL, NULL, line);
	free(line);
}

static void draw(struct drawing *d)
{
	bool *last = calloc(d->n + 1, sizeof(*last));
	bool open[DEPTH_MAX] = {false};

	if (last == NULL)
		return;
	mark_last(d, last);
	for (size_t i = 0; i < d->n; i++) {
		const struct node *n = &d->v[i];

		if (!d->run->json) {
			draw_row(d, n, last[i], open);
			continue;
		}
		out_str(d->run->out, NULL, NULL, n->path);
		out_u64(d->run->out, NULL, NULL, n->depth);
		out_word(d->run->out, NULL, NULL, n->type);
		out_u64(d->run->out, NULL, NULL, n->bytes);
	}
	free(last);
}

static int tree_one(struct drawing *d, struct images *s, const char *arg)
{
	struct ek_inode *inode;
	struct ek_walk *walk;
	struct ek_found f;
	struct place p;
	int code = images_root(s, arg, 0, &p), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_inode_open(p.img, p.path, 0, &inode);
	if (err < 0)
		return fail_call(d->run, err);
	err = ek_walk_open(inode, EK_WALK_SORTED, &walk);
	if (err == 0) {
		while (code == EXIT_DONE && (err = ek_walk_next(walk, &f)) == 1)
			code = step(d, walk, &f, p.path);
		ek_walk_close(walk);
	}
	ek_inode_close(inode);
	if (err < 0)
		code = fail_call(d->run, err);
	draw(d);
	while (d->n > 0) {
		free(d->v[--d->n].text);
		free(d->v[d->n].path);
	}
	return code;
}

static int run_tree(struct run *run)
{
	struct images s = {.run = run};
	struct drawing d = {.run = run};
	int code = EXIT_DONE;

	out_table(run->out, "entries", run->json ? json_cols : text_cols, run->json ? 4 : 1);
	for (int i = 0; i < run->argc && code == EXIT_DONE; i++)
		code = tree_one(&d, &s, run->argv[i]);
	free(d.v);
	code = images_end(&s, code);
	if (code != EXIT_DONE)
		return code;
	out_table_end(run->out);
	if (run->json) {
		out_u64(run->out, "folders", NULL, d.folders);
		out_u64(run->out, "files", NULL, d.files);
	}
	return trouble_end(run, &d.trouble);
}

static const struct example tree_examples[] = {
    {"extkit tree disk.img:/etc", N_("draws what is below a folder")},
    {"extkit tree -d -L 2 disk.img", N_("draws two levels of folders")},
    {NULL, NULL},
};

COMMAND(tree) = {
    .name = "tree",
    .brief = N_("draw a tree"),
    .args = N_("IMG[:/PATH]..."),
    .about = N_("Entries are sorted by name, byte for byte. Links are shown with their targets and "
		"not followed."),
    .options = tree_options,
    .examples = tree_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct tree_opts),
    .run = run_tree,
};
