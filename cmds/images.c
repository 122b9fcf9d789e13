/* SPDX-License-Identifier: BSD-2-Clause */
/* Images of a verb's operands, known by the host's file or by a URI as it is written. */
#include "images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "fail.h"

struct images_row {
	struct target target;
	bool shared; /* the image belongs to another row */
};

unsigned images_write(bool dry)
{
	return EK_IMAGE_WRITE | (dry ? (unsigned)EK_IMAGE_DRY_RUN : 0);
}

/* ---- opening ---- */

static struct images_row *new_row(struct images *s)
{
	if (s->n == s->cap) {
		size_t cap = s->cap != 0 ? 2 * s->cap : 8;
		struct images_row *v = realloc(s->v, cap * sizeof(*v));

		if (v == NULL)
			return NULL;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n] = (struct images_row){0};
	return &s->v[s->n];
}

static const struct images_row *find_row(const struct images *s, const struct target *wanted)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct target *t = &s->v[i].target;

		if (!s->v[i].shared && !t->held && t->offset == wanted->offset &&
		    target_same(t->image, wanted->image))
			return &s->v[i];
	}
	return NULL;
}

static int open_named(struct images *s, const char *arg, unsigned flags, struct images_row *row)
{
	const struct images_row *known;
	int code = target_parse(s->run, arg, &row->target);

	if (code != EXIT_DONE)
		return code;
	known = find_row(s, &row->target);
	if (known != NULL) {
		row->target.img = known->target.img;
		row->shared = true;
		return EXIT_DONE;
	}
	free(row->target.image);
	return target_open(s->run, arg, flags, &row->target);
}

static int open_row(struct images *s, const char *arg, unsigned flags, struct images_row *row)
{
	char *whole;
	int code;

	if (target_is_held(s->run, arg))
		return target_open(s->run, arg, flags, &row->target);
	whole = target_whole(s->run, arg);
	if (whole == NULL)
		return fail(s->run, EXIT_HOST, "%s", _("no memory"));
	code = open_named(s, whole, flags, row);
	free(whole);
	return code;
}

int images_root(struct images *s, const char *arg, unsigned flags, struct place *ret)
{
	struct images_row *row = new_row(s);
	int code;

	if (row == NULL)
		return fail(s->run, EXIT_HOST, "%s", _("no memory"));
	code = open_row(s, arg, flags, row);
	if (code != EXIT_DONE)
		return code;
	s->n++;
	*ret = (struct place){row->target.img, row->target.path};
	return EXIT_DONE;
}

int images_get(struct images *s, const char *arg, unsigned flags, struct place *ret)
{
	int code = images_root(s, arg, flags, ret);

	if (code == EXIT_DONE && !s->v[s->n - 1].target.has_path)
		return fail_usage(s->run, _("where in the image? wanted: %s"), "IMG:/PATH");
	return code;
}

int images_end(struct images *s, int code)
{
	while (s->n > 0) {
		struct images_row *row = &s->v[--s->n];

		if (row->shared)
			free(row->target.image);
		else
			code = target_end(s->run, &row->target, code);
	}
	free(s->v);
	s->v = NULL;
	s->cap = 0;
	return code;
}

/* ---- names ---- */

bool place_is_folder(const struct place *p)
{
	struct ek_inode *inode;
	bool yes;

	if (ek_inode_open(p->img, p->path, 0, &inode) < 0)
		return false;
	yes = target_is_folder(inode);
	ek_inode_close(inode);
	return yes;
}

/* The last part of a path, without slashes behind it. */
static const char *last_part(const char *path, size_t *ret_len)
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	*ret_len = end - start;
	return path + start;
}

char *place_name(const struct place *p, const char *from, bool into)
{
	size_t n = strlen(p->path), len;
	const char *name = last_part(from, &len);
	char *path = malloc(n + 1 + len + 1);

	if (path == NULL)
		return NULL;
	memcpy(path, p->path, n + 1);
	if (into || (n > 0 && path[n - 1] == '/') || place_is_folder(p)) {
		if (n > 0 && path[n - 1] != '/')
			path[n++] = '/';
		memcpy(path + n, name, len);
		path[n + len] = '\0';
	}
	return path;
}

/* ---- inodes ---- */

struct each {
	struct run *run;
	const char *base;
	each_fn *fn;
	void *ctx;
};

static int call_one(struct each *e, struct ek_inode *inode, const char *below)
{
	struct ek_stat st = {.size = sizeof(st)};
	size_t n = strlen(e->base);
	char *path = malloc(n + 1 + strlen(below) + 1);
	int err = ek_inode_stat(inode, &st), code;

	if (path == NULL)
		return fail(e->run, EXIT_HOST, "%s", _("no memory"));
	memcpy(path, e->base, n + 1);
	if (*below != '\0') {
		if (n > 0 && path[n - 1] != '/')
			path[n++] = '/';
		strcpy(path + n, below);
	}
	code = err < 0 ? fail_call(e->run, err) : e->fn(e->run, e->ctx, inode, &st, path);
	free(path);
	return code;
}

static int call_tree(struct each *e, struct ek_inode *top)
{
	struct ek_walk *walk;
	struct ek_found f;
	int code = EXIT_DONE, err = ek_walk_open(top, EK_WALK_SORTED, &walk);

	if (err < 0)
		return fail_call(e->run, err);
	while (code == EXIT_DONE && (err = ek_walk_next(walk, &f)) == 1)
		code = f.error < 0 ? fail_call(e->run, f.error) : call_one(e, f.inode, f.path);
	ek_walk_close(walk);
	return err < 0 ? fail_call(e->run, err) : code;
}

int each_operand(struct images *s, const char *arg, unsigned image_flags, unsigned flags,
		 each_fn *fn, void *ctx)
{
	bool nofollow = (flags & (EACH_TREE | EACH_NOFOLLOW)) != 0;
	struct each e = {.run = s->run, .fn = fn, .ctx = ctx};
	struct ek_inode *inode;
	struct place p;
	int code = images_root(s, arg, image_flags, &p), err;

	if (code != EXIT_DONE)
		return code;
	e.base = p.path;
	err = ek_inode_open(p.img, p.path, nofollow ? EK_NOFOLLOW : 0, &inode);
	if (err == -ENOENT && (flags & EACH_OPTIONAL) != 0)
		return EXIT_DONE;
	if (err == -ENOENT && (flags & EACH_MAKE) != 0) {
		err = ek_put_bytes(p.img, p.path, "", 0, 0, NULL);
		if (err == 0)
			err = ek_inode_open(p.img, p.path, EK_NOFOLLOW, &inode);
	}
	if (err < 0)
		return fail_call(s->run, err);
	code = (flags & EACH_TREE) != 0 ? call_tree(&e, inode) : call_one(&e, inode, "");
	ek_inode_close(inode);
	return code;
}

int each_operands(struct run *run, int first, unsigned image_flags, unsigned flags, each_fn *fn,
		  void *ctx)
{
	struct images s = {.run = run};
	int code = EXIT_DONE;

	for (int i = first; i < run->argc && code == EXIT_DONE; i++)
		code = each_operand(&s, run->argv[i], image_flags, flags, fn, ctx);
	return images_end(&s, code);
}
