/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that make, copy and drop descriptors. */
#include <errno.h>

#include "trace/strace.h"

/* O_ bits of Linux as op flags. */
static uint32_t open_flags(uint64_t o)
{
	static const struct {
		uint64_t mask, value;
		uint32_t flag;
	} map[] = {
	    {0100, 0100, OPF_CREAT},          {0200, 0200, OPF_EXCL},
	    {01000, 01000, OPF_TRUNC},        {02000, 02000, OPF_APPEND},
	    {04010000, 04010000, OPF_SYNC},   {04010000, 010000, OPF_DSYNC},
	    {040000, 040000, OPF_DIRECT},     {0200000, 0200000, OPF_DIRECTORY},
	    {0400000, 0400000, OPF_NOFOLLOW}, {01000000, 01000000, OPF_NOATIME},
	    {010000000, 010000000, OPF_PATH}, {020200000, 020200000, OPF_TMPFILE},
	};
	uint32_t flags = (o & 3) == 0 ? OPF_READ : (o & 3) == 1 ? OPF_WRITE : OPF_READ | OPF_WRITE;

	if (o & 010000000)
		flags = 0;
	for (unsigned i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if ((o & map[i].mask) == map[i].value)
			flags |= map[i].flag;
	if (flags & OPF_TMPFILE)
		flags &= ~(uint32_t)OPF_DIRECTORY;
	return flags;
}

/* True when the open is known to have made the file. */
static bool made_it(const struct importer *im, const struct name *n, uint32_t flags)
{
	const struct file *dir = n->parent ? n->parent->file : NULL;

	if (!(flags & OPF_CREAT) || n->file)
		return false;
	return (flags & OPF_EXCL) || im->manifest || (dir && dir->complete);
}

/* What the open does to what is known about the file. */
static struct file *opened_file(struct name *n, uint32_t flags, bool made)
{
	struct file *f;

	if (flags & OPF_TMPFILE) {
		f = file_new('f');
	} else {
		f = file_get(name_file(n));
		if (f && (flags & OPF_DIRECTORY) && !f->type)
			f->type = 'd';
	}
	if (f && (made || ((flags & OPF_TRUNC) && (flags & OPF_WRITE)) || (flags & OPF_TMPFILE))) {
		f->type = f->type ? f->type : 'f';
		f->size = 0;
		f->size_known = true;
	}
	return f;
}

/* Opens a name below the root: a handle, and an op that says so. */
static void open_inside(struct strace *s, struct ofd *o, struct name *n, int64_t mode)
{
	struct importer *im = &s->im;
	bool made = made_it(im, n, o->flags);
	struct op *op;

	o->file = opened_file(n, o->flags, made);
	give_handle(im, o);
	op = import_begin(im, OP_OPEN);
	op->handle = o->handle;
	op->flags = o->flags | (made ? OPF_NEW : 0);
	if (!import_path(im, n))
		return;
	if (mode >= 0 && (o->flags & (OPF_CREAT | OPF_TMPFILE))) {
		op->mode = (uint32_t)mode & 07777;
		op->flags |= OPF_MODE;
	}
	import_emit(im);
}

/* The name that was really opened: strace prints it behind the result with -y. */
static struct name *opened_name(struct strace *s, struct name *n, const struct strace_call *c)
{
	struct op_str path = c->ret_path;
	char text[4096];
	size_t len;

	if (path.n == 0 || path.n >= sizeof(text) || path.p[0] == '(' ||
	    !(path.p[0] == '/' || path.p[0] == '\\'))
		return n;
	len = strace_unescape(path, text);
	if (text[0] != '/' || strlen(text) != len || strstr(text, "(deleted)"))
		return n;
	name_put(&s->im.procs.names, n);
	return names_walk(&s->im.procs.names, s->im.procs.names.root, text, len, 0);
}

enum { OPEN_PLAIN, OPEN_AT, OPEN_CREAT, OPEN_AT2 };

static void open_args(const struct strace_call *c, int variant, uint64_t *flags, int64_t *mode)
{
	unsigned at = variant == OPEN_AT ? 2 : 1;
	struct op_str field;

	*mode = -1;
	if (variant == OPEN_AT2) {
		*flags = strace_field(call_arg(c, 2), "flags", &field)
			     ? strace_flags(field, strace_open_words)
			     : 0;
		if (strace_field(call_arg(c, 2), "mode", &field))
			strace_number(field, mode);
	} else if (variant == OPEN_CREAT) {
		*flags = 0100 | 01 | 01000;
		call_number(c, 1, mode);
	} else {
		*flags = strace_flags(call_arg(c, at), strace_open_words);
		call_number(c, at + 1, mode);
	}
}

/* open, openat, creat, openat2. */
void do_open(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	bool at = variant == OPEN_AT || variant == OPEN_AT2;
	struct name *n;
	struct ofd *o = ofd_new();
	uint64_t bits;
	int64_t mode;

	if (!o) {
		import_fail(&s->im, -ENOMEM, "no memory for a descriptor");
		return;
	}
	open_args(c, variant, &bits, &mode);
	o->flags = open_flags(bits);
	n = call_name(s, t, c, at ? 0 : -1, at ? 1 : 0, o->flags & OPF_NOFOLLOW ? 0 : WALK_FOLLOW);
	if (n && !(o->flags & OPF_TMPFILE))
		n = opened_name(s, n, c);
	if (n && name_is_below(n, s->im.root))
		open_inside(s, o, n, mode);
	else
		call_outside(s);
	if (o->flags & OPF_TMPFILE)
		name_put(&s->im.procs.names, n); /* the directory, not the file */
	else
		o->name = n;
	call_install(s, t, (int)c->ret, o, bits & 02000000);
}

/* The descriptor is gone since the call began; a failing close closes too. */
void do_close(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct ofd *o = s->ofd;

	(void)t;
	(void)c;
	(void)variant;
	if (!is_inside(s, o))
		return;
	/* The last reference makes the op; see closed() in import.c. */
	s->ofd = NULL;
	ofd_put(&s->im.procs, o);
}

/* close_range(first, last, flags) */
void do_close_range(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word words[] = {
	    {"CLOSE_RANGE_UNSHARE", 2}, {"CLOSE_RANGE_CLOEXEC", 4}, {NULL, 0}};
	uint64_t flags = strace_flags(call_arg(c, 2), words);
	int64_t first, last;

	(void)variant;
	if (!call_number(c, 0, &first) || !call_number(c, 1, &last) || first < 0)
		return;
	if ((flags & 2) && task_unshare_files(&s->im.procs, t) < 0)
		import_fail(&s->im, -ENOMEM, "too many descriptors");
	for (size_t fd = (size_t)first; fd < t->files->cap && (int64_t)fd <= last; fd++) {
		if (flags & 4)
			t->files->slots[fd].cloexec = true;
		else
			ofd_put(&s->im.procs, fd_take(t, (int)fd));
	}
}

/* dup, dup2, dup3: variant is the argument with flags, or 0. */
void do_dup(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word words[] = {{"O_CLOEXEC", 02000000}, {NULL, 0}};
	int fd = (int)c->ret, from;
	struct op_str path;
	bool cloexec = variant > 1 && strace_flags(call_arg(c, (unsigned)variant), words);

	if (!strace_fd(call_arg(c, 0), &from, &path) || from == fd)
		return;
	if (!s->ofd || !s->ofd->handle)
		call_outside(s);
	if (variant == 0)
		call_install(s, t, fd, ofd_get(s->ofd), cloexec);
	else if (fd_install(&s->im.procs, t, fd, ofd_get(s->ofd), cloexec) < 0)
		import_fail(&s->im, -ENOMEM, "too many descriptors");
}

static bool word_is(struct op_str s, const char *word, const char *number)
{
	return (s.n == strlen(word) && memcmp(s.p, word, s.n) == 0) ||
	       (s.n == strlen(number) && memcmp(s.p, number, s.n) == 0);
}

/* fcntl: copies, close-on-exec, status flags; locks and the rest do not concern files' content. */
void do_fcntl(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word cloexec[] = {{"FD_CLOEXEC", 1}, {NULL, 0}};
	struct op_str what = call_arg(c, 1), path;
	const uint32_t status = OPF_APPEND | OPF_DIRECT;
	int fd;

	(void)variant;
	if (word_is(what, "F_DUPFD", "0") || word_is(what, "F_DUPFD_CLOEXEC", "0x406")) {
		call_install(s, t, (int)c->ret, ofd_get(s->ofd), !word_is(what, "F_DUPFD", "0"));
	} else if (word_is(what, "F_SETFD", "0x2")) {
		if (strace_fd(call_arg(c, 0), &fd, &path) && fd_get(t, fd))
			t->files->slots[fd].cloexec = strace_flags(call_arg(c, 2), cloexec) & 1;
	} else if (word_is(what, "F_SETFL", "0x4") && s->ofd) {
		s->ofd->flags =
		    (s->ofd->flags & ~status) |
		    (open_flags(strace_flags(call_arg(c, 2), strace_open_words)) & status);
	}
	if (!s->ofd || !s->ofd->handle)
		call_outside(s);
}

/* Sockets and their like: a new number for something that is not a file. */
void do_new_fd(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	(void)variant;
	s->im.counts.ignored++;
	call_install(s, t, (int)c->ret, NULL, false);
}

/* pipe, socketpair: two new numbers in an array, which is the argument variant. */
void do_pair(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct op_str a = call_arg(c, (unsigned)variant), path;
	const char *comma;
	int fd;

	s->im.counts.ignored++;
	if (a.n < 5 || a.p[0] != '[')
		return;
	if (strace_fd((struct op_str){a.p + 1, a.n - 2}, &fd, &path))
		call_install(s, t, fd, NULL, false);
	comma = memmem(a.p, a.n, ", ", 2);
	if (comma && strace_fd((struct op_str){comma + 2, (uint32_t)(a.p + a.n - 1 - comma - 2)},
			       &fd, &path))
		call_install(s, t, fd, NULL, false);
}
