/* SPDX-License-Identifier: BSD-2-Clause */
/* What handlers of calls share: arguments, names, descriptors, sizes. */
#include <errno.h>

#include "base/check.h"
#include "base/mem.h"
#include "trace/strace.h"

struct op_str call_arg(const struct strace_call *c, unsigned i)
{
	return i < c->nargs ? c->arg[i] : (struct op_str){"", 0};
}

bool call_number(const struct strace_call *c, unsigned i, int64_t *ret)
{
	return strace_number(call_arg(c, i), ret);
}

void call_outside(struct strace *s)
{
	s->im.counts.outside++;
}

void call_unplaced(struct strace *s)
{
	s->im.counts.unplaced++;
}

bool is_inside(struct strace *s, const struct ofd *o)
{
	if (o && o->handle)
		return true;
	call_outside(s);
	return false;
}

/* Unescapes into a buffer that grows. */
static struct op_str unescape_into(struct strace *s, struct op_str from, char **buf, size_t *cap)
{
	void *p = *buf;

	if (mem_grow(&p, cap, (size_t)from.n + 1, 1) < 0) {
		import_fail(&s->im, -ENOMEM, "no memory for a path");
		return (struct op_str){"", 0};
	}
	*buf = p;
	return (struct op_str){*buf, (uint32_t)strace_unescape(from, *buf)};
}

struct op_str call_text(struct strace *s, const struct strace_call *c, unsigned i)
{
	struct op_str inside;
	bool complete;

	if (!strace_string(call_arg(c, i), &inside, &complete))
		return (struct op_str){"", 0};
	return unescape_into(s, inside, &s->text, &s->text_cap);
}

/* The name of an absolute path that strace printed as a decoration, or NULL. */
static struct name *decorated(struct strace *s, struct op_str path)
{
	struct op_str text;

	if (path.n == 0)
		return NULL;
	text = unescape_into(s, path, &s->text2, &s->text2_cap);
	if (text.n == 0 || text.p[0] != '/' || strlen(text.p) != text.n)
		return NULL;
	return names_walk(&s->im.procs.names, s->im.procs.names.root, text.p, text.n, 0);
}

/* A descriptor nobody saw being opened but strace knows the path of: it was inherited. */
static struct ofd *adopt(struct strace *s, struct task *t, int fd, struct op_str path)
{
	struct name *n = decorated(s, path);
	struct importer *im = &s->im;
	struct ofd *o;

	if (!n)
		return NULL;
	o = name_is_below(n, im->root) ? ofd_new() : NULL;
	if (!o) {
		name_put(&im->procs.names, n);
		return NULL;
	}
	o->name = n;
	o->file = file_get(name_file(n));
	o->flags = OPF_READ | OPF_WRITE;
	im->counts.inherited++;
	give_handle(im, o);
	import_begin(im, OP_OPEN)->handle = o->handle;
	im->op.flags = OPF_READ | OPF_WRITE;
	if (o->file && o->file->type == 'd')
		im->op.flags = OPF_READ;
	if (import_path(im, n))
		import_emit(im);
	if (fd_install(&im->procs, t, fd, o, false) < 0)
		import_fail(im, -ENOMEM, "too many descriptors");
	return fd_get(t, fd);
}

struct ofd *call_fd(struct strace *s, struct task *t, struct op_str arg, int *ret_fd)
{
	struct op_str path;
	struct ofd *o;

	*ret_fd = -1;
	if (!strace_fd(arg, ret_fd, &path))
		return NULL;
	o = fd_get(t, *ret_fd);
	if (!o && path.n && path.p[0] == '/' && *ret_fd >= 0)
		o = adopt(s, t, *ret_fd, path);
	return o;
}

/* strace -y shows the folder of the process in each call that could begin there: who did not see
 * how it came there knows it from then on.  Most show what the one before did. */
static void learn_cwd(struct strace *s, struct task *t, struct op_str shown)
{
	struct cwd *cwd = t->cwd;
	struct name *at;
	void *p = cwd->shown;

	if (shown.n == 0 || (cwd->nshown == shown.n && memcmp(cwd->shown, shown.p, shown.n) == 0))
		return;
	at = decorated(s, shown);
	if (at == NULL)
		return;
	if (at != cwd->name)
		cwd_set(&s->im.procs, t, at);
	name_put(&s->im.procs.names, at);
	if (mem_grow(&p, &cwd->shown_cap, shown.n, 1) < 0)
		return;
	cwd->shown = p;
	memcpy(cwd->shown, shown.p, shown.n);
	cwd->nshown = shown.n;
}

/* Where relative paths of a call begin, whose folder is fd, shown as shown; a reference. */
static struct name *base_of(struct strace *s, struct task *t, int fd, struct op_str shown)
{
	struct ofd *o = fd >= 0 ? fd_get(t, fd) : NULL;

	if (fd == STRACE_AT_FDCWD)
		return name_get(t->cwd->name);
	return o && o->name ? name_get(o->name) : decorated(s, shown);
}

struct name *call_name(struct strace *s, struct task *t, const struct strace_call *c, int dir,
		       unsigned path, unsigned walk)
{
	struct op_str text = call_text(s, c, path), shown = {"", 0};
	int fd = STRACE_AT_FDCWD;
	bool known = dir < 0 || strace_fd(call_arg(c, (unsigned)dir), &fd, &shown);
	struct name *base, *n;

	if (known && fd == STRACE_AT_FDCWD)
		learn_cwd(s, t, shown);
	if (text.n == 0 || strlen(text.p) != text.n)
		return NULL;
	if (text.p[0] == '/')
		base = name_get(s->im.procs.names.root);
	else
		base = known ? base_of(s, t, fd, shown) : NULL;
	if (!base)
		return NULL;
	n = names_walk(&s->im.procs.names, base, text.p, text.n, walk);
	name_put(&s->im.procs.names, base);
	return n;
}

void call_install(struct strace *s, struct task *t, int fd, struct ofd *o, bool cloexec)
{
	if (fd_get(t, fd))
		s->im.counts.inferred_closes++;
	if (fd_install(&s->im.procs, t, fd, o, cloexec) < 0)
		import_fail(&s->im, -ENOMEM, "too many descriptors");
}

void give_handle(struct importer *im, struct ofd *o)
{
	o->handle = ++im->handles;
}

void file_grow(struct file *f, uint64_t end)
{
	if (!f)
		return;
	if (end > f->size)
		f->size = end;
}

uint64_t file_size(struct importer *im, struct file *f)
{
	if (!f)
		return 0;
	if (!f->size_known)
		im->counts.unknown_sizes++;
	f->size_known = true;
	return f->size;
}

/* A name that is used but was never made, in a root of which all is known: something that strace
 * did not show made it.  That is bind() when the log has only file and descriptor calls. */
void call_expect(struct strace *s, struct name *n)
{
	struct importer *im = &s->im;

	if (!im->manifest || !n || n->file || n == im->root || !name_is_below(n, im->root))
		return;
	im->counts.inferred_names++;
	import_begin(im, OP_MKNOD)->mode = 0140777;
	im->op.extra = (struct op_str){"inferred=bind", 13};
	if (import_path(im, n))
		import_emit(im);
	name_set_file(n, file_new('s'));
}
