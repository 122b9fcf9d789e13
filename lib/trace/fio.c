/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fio's I/O logs, versions 2 and 3, as a source of ops.
 *
 * Version 3 lines are "MICROSECONDS FILE ACTION [OFFSET LENGTH]", version 2 has no time but waits.
 * fio cannot log names with spaces, so a line has a fixed number of words or is torn: several
 * writers of one log leave such lines, which are counted and passed over.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/mem.h"
#include "trace/import.h"
#include "trace/stream.h"
#include "trace/wtr_line.h"

struct fio_file {
	struct hash_node node; /* by hash of the name */
	char *path;            /* below the root, NULL: outside */
	char *name;
	uint32_t handle; /* 0: not open */
};

struct fio {
	struct importer im;
	struct lines lines;
	struct hash files;
	int version;
	uint64_t wait; /* version 2: ns reached by waits */
	bool ended;
};

struct words {
	char *w[5];
	unsigned n;
};

static bool split(char *line, struct words *ret)
{
	ret->n = 0;
	for (char *p = line; *p;) {
		char *space = strchr(p, ' ');

		if (ret->n == 5 || space == p)
			return false;
		ret->w[ret->n++] = p;
		if (!space)
			return true;
		*space = 0;
		p = space + 1;
		if (*p == 0)
			return false;
	}
	return ret->n > 0;
}

static uint64_t name_key(const char *p)
{
	uint64_t h = 0;

	for (; *p; p++)
		h = hash_mix(h ^ (unsigned char)*p);
	return h;
}

/* The path below the root that a logged name stands for; relative names are below it. */
static char *below_root(const struct fio *f, const char *name)
{
	const char *root = f->im.opt.root ? f->im.opt.root : "/";
	size_t n = strlen(root);
	char *path;

	while (n && root[n - 1] == '/')
		n--;
	if (strstr(name, "..") || (name[0] == '/' && strncmp(name, root, n) != 0) ||
	    (name[0] == '/' && name[n] != '/'))
		return NULL;
	if (name[0] == '/')
		return strdup(name + n);
	path = malloc(strlen(name) + 2);
	if (path) {
		path[0] = '/';
		memcpy(path + 1, name, strlen(name) + 1);
	}
	return path;
}

static struct fio_file *find_file(struct fio *f, const char *name)
{
	uint64_t key = name_key(name);
	struct hash_node *h = hash_find(&f->files, key);
	struct fio_file *file;

	for (; h; h = h->next) {
		file = hash_entry(h, struct fio_file, node);
		if (h->key == key && strcmp(file->name, name) == 0)
			return file;
	}
	file = mem_zero(sizeof(*file));
	if (file)
		file->name = strdup(name);
	if (!file || !file->name) {
		free(file);
		import_fail(&f->im, -ENOMEM, "no memory for a name");
		return NULL;
	}
	file->path = below_root(f, name);
	hash_insert(&f->files, &file->node, key);
	return file;
}

static void open_file(struct fio *f, struct fio_file *file)
{
	struct op *op = import_begin(&f->im, OP_OPEN);

	file->handle = ++f->im.handles;
	op->handle = file->handle;
	op->flags = OPF_READ | OPF_WRITE | OPF_CREAT;
	op->plain = 0;
	op->path = (struct op_str){file->path, (uint32_t)strlen(file->path)};
	import_emit(&f->im);
}

static bool two_numbers(const struct words *w, unsigned at, uint64_t *off, uint64_t *len)
{
	return w->n == at + 2 && parse_number(w->w[at], strlen(w->w[at]), 10, off) &&
	       parse_number(w->w[at + 1], strlen(w->w[at + 1]), 10, len) && *off <= INT64_MAX &&
	       *len <= INT64_MAX;
}

static const struct {
	const char *word;
	enum op_code code;
} actions[] = {
    {"write", OP_WRITE}, {"read", OP_READ},          {"sync", OP_FSYNC},
    {"trim", OP_FALLOC}, {"datasync", OP_FDATASYNC}, {NULL, OP_NONE},
};

/* An action with an offset and a length. */
static void do_io(struct fio *f, struct fio_file *file, enum op_code code, uint64_t off,
		  uint64_t len)
{
	struct op *op;

	if (!file->handle)
		open_file(f, file);
	if (code == OP_READ && (f->im.opt.flags & IMPORT_NO_READS))
		return;
	op = import_begin(&f->im, code);
	op->handle = file->handle;
	if (code == OP_WRITE || code == OP_READ || code == OP_FALLOC) {
		op->off = off;
		op->len = len;
	}
	if (code == OP_FALLOC) {
		op->sub = FALLOC_PUNCH;
		op->plain = 0;
	}
	import_emit(&f->im);
}

static void do_action(struct fio *f, const struct words *w, unsigned at)
{
	struct fio_file *file = find_file(f, w->w[at - 1]);
	const char *action = w->w[at];
	uint64_t off = 0, len = 0;
	unsigned i = 0;

	if (!file)
		return;
	f->im.counts.calls++;
	if (!file->path) {
		f->im.counts.outside++;
	} else if (strcmp(action, "open") == 0 && w->n == at + 1) {
		if (!file->handle)
			open_file(f, file);
	} else if (strcmp(action, "close") == 0 && w->n == at + 1) {
		if (file->handle) {
			import_begin(&f->im, OP_CLOSE)->handle = file->handle;
			import_emit(&f->im);
		}
		file->handle = 0;
	} else if (strcmp(action, "add") != 0 || w->n != at + 1) {
		while (actions[i].word && strcmp(actions[i].word, action) != 0)
			i++;
		if (actions[i].word && two_numbers(w, at + 1, &off, &len))
			do_io(f, file, actions[i].code, off, len);
		else if (!actions[i].word)
			import_unknown(&f->im, action, strlen(action));
		else
			import_cut(&f->im, instream_name(f->lines.in), f->lines.number);
	}
}

/* "FILE wait TIME 0": until that time since the start, in practice; or for that long. */
static bool do_wait(struct fio *f, const struct words *w)
{
	uint64_t us, unused;

	if (f->version != 2 || w->n < 3 || strcmp(w->w[1], "wait") != 0)
		return false;
	if (!two_numbers(w, 2, &us, &unused) || us > UINT64_MAX / 2000) {
		import_cut(&f->im, instream_name(f->lines.in), f->lines.number);
		return true;
	}
	if (f->im.opt.flags & IMPORT_WAIT_RELATIVE)
		f->wait += us * 1000;
	else if (us * 1000 > f->wait)
		f->wait = us * 1000;
	return true;
}

static void one_line(struct fio *f, char *line, size_t n)
{
	struct words w;
	uint64_t us = 0;
	unsigned at = f->version == 3 ? 2 : 1;

	f->im.counts.lines++;
	if (f->lines.torn || f->lines.too_long || memchr(line, 0, n) || !split(line, &w) ||
	    w.n <= at || (f->version == 3 && !parse_number(w.w[0], strlen(w.w[0]), 10, &us)) ||
	    us > UINT64_MAX / 2000) {
		import_cut(&f->im, instream_name(f->lines.in), f->lines.number);
		return;
	}
	if (do_wait(f, &w))
		return;
	f->im.now = f->version == 3 ? us * 1000 : f->wait;
	do_action(f, &w, at);
}

static int fio_next(struct op_source *base, const struct op **ret)
{
	struct fio *f = (struct fio *)base;
	int err = f->im.nodes ? import_next_node(&f->im, ret) : 0;
	char *line;
	size_t n;

	if (err)
		return err;
	for (;;) {
		const struct op *o = reorder_take(f->im.order, f->ended ? UINT64_MAX : f->im.now);

		if (o) {
			*ret = o;
			return 1;
		}
		if (f->ended || f->im.err < 0)
			return f->im.err;
		err = lines_next(&f->lines, &line, &n);
		if (err > 0)
			one_line(f, line, n);
		else if (err < 0)
			import_fail(&f->im, err, "cannot read the log");
		else
			f->ended = true;
	}
}

static bool fio_whole(const struct op_source *base)
{
	return ((const struct fio *)base)->im.err == 0;
}

static void fio_close(struct op_source *base)
{
	struct fio *f = (struct fio *)base;
	struct hash_node *h;
	size_t at = 0;

	while ((h = hash_pop(&f->files, &at))) {
		struct fio_file *file = hash_entry(h, struct fio_file, node);

		free(file->path);
		free(file->name);
		free(file);
	}
	hash_free(&f->files);
	if (f->lines.in)
		lines_free(&f->lines);
	import_free(&f->im);
	free(f);
}

static const struct op_source_ops fio_ops = {
    .next = fio_next,
    .whole = fio_whole,
    .close = fio_close,
};

static int read_version(struct fio *f)
{
	char *line;
	size_t n;
	int err = lines_next(&f->lines, &line, &n);

	if (err < 0)
		return err;
	if (err > 0 && strcmp(line, "fio version 3 iolog") == 0)
		f->version = 3;
	else if (err > 0 && strcmp(line, "fio version 2 iolog") == 0)
		f->version = 2;
	else
		return diag_set(f->im.base.d, -EINVAL,
				"%s:1:1: expected \"fio version 2 iolog\" or 3",
				instream_name(f->lines.in));
	return import_header(&f->im, f->version == 3 ? "fio iolog 3" : "fio iolog 2", "relative");
}

int fio_import(struct instream *in, const struct import_options *opt, struct diag *d,
	       struct op_source **ret)
{
	struct fio *f = mem_zero(sizeof(*f));
	int err;

	if (!f) {
		instream_close(in);
		return diag_set(d, -ENOMEM, "import: no memory");
	}
	err = import_init(&f->im, opt, d);
	f->im.base.ops = &fio_ops;
	f->im.now_thread = 1;
	f->im.now_dur = OP_NONE64;
	if (lines_init(&f->lines, in, WTR_LINE_MAX) < 0)
		err = diag_set(d, -ENOMEM, "import: no memory");
	if (err == 0)
		err = read_version(f);
	if (err < 0) {
		fio_close(&f->im.base);
		return err;
	}
	*ret = &f->im.base;
	return 0;
}
