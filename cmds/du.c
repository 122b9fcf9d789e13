/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit du: what trees take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"
#include "show.h"

struct du_opts {
	bool all, summary, apparent;
	struct opt_num depth;
};

#define T struct du_opts

static const struct opt du_options[] = {
    OPT_FLAG(T, all, 'a', "all", N_("files too, not folders alone")),
    OPT_FLAG(T, summary, 's', "summarize", N_("one row for each PATH")),
    OPT_FLAG(T, apparent, 'b', "apparent-size", N_("lengths instead of blocks")),
    OPT_NUMBER(T, depth, 'd', "depth", N_("N"), N_("rows at most N folders deep")),
    OPT_END,
};

/* A folder that is being added up. */
struct level {
	char *path;
	uint64_t bytes, inodes;
};

struct sums {
	struct run *run;
	const char *base;
	struct level *v;
	size_t n, cap;
	uint32_t *seen; /* inodes with several names, sorted: each counts once */
	size_t nseen, seen_cap;
	struct trouble trouble;
};

static const struct out_col du_cols[] = {
    {"bytes", N_("Size"), true}, {"inodes", N_("Inodes"), true}, {"path", N_("Path"), false}};

/* True the first time. */
static bool first_time(struct sums *s, const struct ek_stat *st)
{
	size_t lo = 0, hi = s->nseen;

	if (S_ISDIR(st->mode) || st->links < 2)
		return true;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->seen[mid] < st->ino.v)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < s->nseen && s->seen[lo] == st->ino.v)
		return false;
	if (s->nseen == s->seen_cap) {
		size_t cap = s->seen_cap != 0 ? 2 * s->seen_cap : 64;
		uint32_t *v = realloc(s->seen, cap * sizeof(*v));

		if (v == NULL)
			return true;
		s->seen = v;
		s->seen_cap = cap;
	}
	memmove(s->seen + lo + 1, s->seen + lo, (s->nseen - lo) * sizeof(*s->seen));
	s->seen[lo] = st->ino.v;
	s->nseen++;
	return true;
}

static void row(struct sums *s, size_t depth, uint64_t bytes, uint64_t inodes, const char *path)
{
	const struct du_opts *o = s->run->opts;
	size_t n = strlen(s->base);
	bool slash = *path != '\0' && (n == 0 || s->base[n - 1] != '/');
	char text[SHOW_MAX], *whole;

	if ((o->summary && depth != 0) || (o->depth.set && depth > o->depth.v))
		return;
	if (asprintf(&whole, "%s%s%s", s->base, slash ? "/" : "", path) < 0)
		return;
	out_u64_as(s->run->out, NULL, NULL, bytes, show_size(text, bytes));
	out_u64(s->run->out, NULL, NULL, inodes);
	out_str(s->run->out, NULL, NULL, whole);
	free(whole);
}

/* Folders that the walk has left are told and added to what they lie in. */
static void leave(struct sums *s, size_t depth)
{
	while (s->n > depth) {
		struct level *l = &s->v[--s->n];

		row(s, s->n, l->bytes, l->inodes, l->path);
		if (s->n > 0) {
			s->v[s->n - 1].bytes += l->bytes;
			s->v[s->n - 1].inodes += l->inodes;
		}
		free(l->path);
	}
}

static int enter(struct sums *s, const char *path, uint64_t bytes)
{
	if (s->n == s->cap) {
		size_t cap = s->cap != 0 ? 2 * s->cap : 64;
		struct level *v = realloc(s->v, cap * sizeof(*v));

		if (v == NULL)
			return fail(s->run, EXIT_HOST, "%s", _("no memory"));
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n] = (struct level){strdup(path), bytes, 1};
	if (s->v[s->n].path == NULL)
		return fail(s->run, EXIT_HOST, "%s", _("no memory"));
	s->n++;
	return EXIT_DONE;
}

static int step(struct sums *s, const struct ek_found *f)
{
	const struct du_opts *o = s->run->opts;
	struct ek_stat st = {.size = sizeof(st)};
	uint64_t bytes;
	int err = f->error;

	leave(s, f->depth);
	if (err == 0)
		err = ek_inode_stat(f->inode, &st);
	if (err < 0) {
		trouble_add(s->run, &s->trouble, err);
		return EXIT_DONE;
	}
	if (!first_time(s, &st))
		return EXIT_DONE;
	bytes = o->apparent ? st.bytes : st.sectors * 512;
	if (S_ISDIR(st.mode))
		return enter(s, f->path, bytes);
	if (o->all || f->depth == 0)
		row(s, f->depth, bytes, 1, f->path);
	if (s->n > 0) {
		s->v[s->n - 1].bytes += bytes;
		s->v[s->n - 1].inodes++;
	}
	return EXIT_DONE;
}

static int du_one(struct sums *sums, struct images *s, const char *arg)
{
	struct ek_inode *inode;
	struct ek_walk *walk;
	struct ek_found f;
	struct place p;
	int code = images_root(s, arg, 0, &p), err;

	if (code != EXIT_DONE)
		return code;
	sums->base = p.path;
	err = ek_inode_open(p.img, p.path, EK_NOFOLLOW, &inode);
	if (err < 0)
		return fail_call(sums->run, err);
	err = ek_walk_open(inode, EK_WALK_SORTED, &walk);
	if (err == 0) {
		while (code == EXIT_DONE && (err = ek_walk_next(walk, &f)) == 1)
			code = step(sums, &f);
		ek_walk_close(walk);
	}
	leave(sums, 0);
	ek_inode_close(inode);
	return err < 0 ? fail_call(sums->run, err) : code;
}

static int run_du(struct run *run)
{
	struct images s = {.run = run};
	struct sums sums = {.run = run};
	int code = EXIT_DONE;

	out_table(run->out, "entries", du_cols, 3);
	for (int i = 0; i < run->argc && code == EXIT_DONE; i++) {
		sums.nseen = 0;
		code = du_one(&sums, &s, run->argv[i]);
	}
	free(sums.v);
	free(sums.seen);
	code = images_end(&s, code);
	if (code != EXIT_DONE)
		return code;
	out_table_end(run->out);
	return trouble_end(run, &sums.trouble);
}

static const struct example du_examples[] = {
    {"extkit du -s disk.img:/usr", N_("tells what a tree takes")},
    {"extkit du -d 1 disk.img", N_("tells it for each folder of the root")},
    {NULL, NULL},
};

COMMAND(du) = {
    .name = "du",
    .brief = N_("tell what trees take"),
    .args = N_("IMG[:/PATH]..."),
    .about = N_("Blocks of files, folders and attributes count, holes do not; a file with several "
		"names counts once. A folder is told after what is in it."),
    .options = du_options,
    .examples = du_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct du_opts),
    .run = run_du,
};
