/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that change names: in the tree of the importer first, so that it stays right outside the
 * traced root too, and as ops when they concern the root. */
#include <errno.h>
#include <stdlib.h>

#include "trace/strace.h"

/* variant: 1 with a directory argument. */
void do_mkdir(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct name *n = call_name(s, t, c, variant ? 0 : -1, variant ? 1 : 0, 0);
	int64_t mode = 0777;
	struct file *f;
	struct op *op;

	if (!n) {
		call_unplaced(s);
		return;
	}
	call_number(c, variant ? 2 : 1, &mode);
	op = import_begin(&s->im, OP_MKDIR);
	op->mode = (uint32_t)mode & 07777;
	if (import_path(&s->im, n))
		import_emit(&s->im);
	else
		call_outside(s);
	f = file_new('d');
	if (f)
		f->complete = true;
	name_set_file(n, f);
	name_put(&s->im.procs.names, n);
}

enum { UNLINK_FILE, UNLINK_DIR, UNLINK_AT };

/* unlink, rmdir, unlinkat(dir, path, AT_REMOVEDIR) */
void do_unlink(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word words[] = {{"AT_REMOVEDIR", 0x200}, {NULL, 0}};
	bool at = variant == UNLINK_AT;
	bool dir = at ? (strace_flags(call_arg(c, 2), words) & 0x200) != 0 : variant == UNLINK_DIR;
	struct name *n = call_name(s, t, c, at ? 0 : -1, at ? 1 : 0, 0);

	if (!n) {
		call_unplaced(s);
		return;
	}
	if (!dir)
		call_expect(s, n);
	import_begin(&s->im, dir ? OP_RMDIR : OP_UNLINK);
	if (import_path(&s->im, n))
		import_emit(&s->im);
	else
		call_outside(s);
	name_unlink(&s->im.procs.names, n);
	name_put(&s->im.procs.names, n);
}

static void name_goes(struct strace *s, const struct name *n)
{
	import_begin(&s->im, n->file && n->file->type == 'd' ? OP_RMDIR : OP_UNLINK);
	if (import_path(&s->im, n))
		import_emit(&s->im);
}

/* A file comes in, nobody saw with which bytes: it is made empty, instead of what had the name. */
static void name_comes(struct strace *s, const struct name *from, const struct name *to)
{
	bool dir = from->file && from->file->type == 'd';

	if (to->file)
		name_goes(s, to);
	import_begin(&s->im, dir ? OP_MKDIR : OP_MKNOD)->mode = dir ? 0755 : 0100644;
	s->im.op.extra = (struct op_str){"inferred=crossing", 17};
	if (import_path(&s->im, to))
		import_emit(&s->im);
}

/* The op of two names: emitted when both are inside.  Of a name that comes in or goes out the half
 * inside is told, for what follows to have it or not. */
static bool two_names(struct strace *s, enum op_code code, const struct name *a,
		      const struct name *b)
{
	bool a_in, b_in;

	import_begin(&s->im, code);
	a_in = import_path(&s->im, a);
	b_in = import_path2(&s->im, b);
	if (a_in != b_in)
		s->im.counts.crossing++;
	else if (!a_in)
		call_outside(s);
	if (b_in && !a_in)
		name_comes(s, a, b);
	else if (a_in && !b_in && code == OP_RENAME)
		name_goes(s, a);
	return a_in && b_in;
}

enum { RENAME_PLAIN, RENAME_AT, RENAME_AT2 };

void do_rename(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word words[] = {
	    {"RENAME_NOREPLACE", 1}, {"RENAME_EXCHANGE", 2}, {"RENAME_WHITEOUT", 4}, {NULL, 0}};
	bool at = variant != RENAME_PLAIN;
	struct name *from = call_name(s, t, c, at ? 0 : -1, at ? 1 : 0, 0);
	struct name *to = call_name(s, t, c, at ? 2 : -1, at ? 3 : 1, 0);
	uint64_t flags = variant == RENAME_AT2 ? strace_flags(call_arg(c, 4), words) : 0;
	struct names *ns = &s->im.procs.names;
	int err = 0;

	if (from && to && two_names(s, OP_RENAME, from, to)) {
		s->im.op.flags = (flags & 1 ? OPF_NOREPLACE : 0) | (flags & 2 ? OPF_EXCHANGE : 0) |
				 (flags & 4 ? OPF_WHITEOUT : 0);
		import_emit(&s->im);
	}
	if (from && to && from->file && from->file == to->file)
		err = 0; /* two links of one file: the kernel does nothing */
	else if (from && to)
		err = flags & 2 ? name_exchange(ns, from, to) : name_move(ns, from, to);
	else
		call_unplaced(s);
	if (err == -ENOMEM)
		import_fail(&s->im, err, "no memory for a name");
	name_put(ns, from);
	name_put(ns, to);
}

/* link(old, new), linkat(dir, old, dir, new, flags) */
void do_link(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word words[] = {
	    {"AT_SYMLINK_FOLLOW", 0x400}, {"AT_EMPTY_PATH", 0x1000}, {NULL, 0}};
	uint64_t flags = variant ? strace_flags(call_arg(c, 4), words) : 0;
	struct name *from =
	    call_name(s, t, c, variant ? 0 : -1, variant ? 1 : 0, flags & 0x400 ? WALK_FOLLOW : 0);
	struct name *to = call_name(s, t, c, variant ? 2 : -1, variant ? 3 : 1, 0);

	if (!from || !to || (flags & 0x1000)) {
		call_unplaced(s); /* a file without a name gets one: no op says that */
	} else {
		if (two_names(s, OP_LINK, from, to))
			import_emit(&s->im);
		name_set_file(to, file_get(name_file(from)));
	}
	name_put(&s->im.procs.names, from);
	name_put(&s->im.procs.names, to);
}

/* symlink(target, new), symlinkat(target, dir, new) */
void do_symlink(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct name *n = call_name(s, t, c, variant ? 1 : -1, variant ? 2 : 1, 0);
	struct op_str target = call_text(s, c, 0);
	struct file *f;

	if (!n || target.n == 0 || strlen(target.p) != target.n) {
		call_unplaced(s);
		name_put(&s->im.procs.names, n);
		return;
	}
	import_begin(&s->im, OP_SYMLINK);
	if (import_path2(&s->im, n)) {
		s->im.op.path = target;
		import_emit(&s->im);
	} else {
		call_outside(s);
	}
	f = file_new('l');
	if (f)
		f->target = strndup(target.p, target.n);
	name_set_file(n, f);
	name_put(&s->im.procs.names, n);
}

/* The file type bits of mknod. */
static uint32_t type_bits(struct op_str mode)
{
	static const struct strace_word words[] = {{"S_IFREG", 0100000},  {"S_IFCHR", 020000},
						   {"S_IFBLK", 060000},   {"S_IFIFO", 010000},
						   {"S_IFSOCK", 0140000}, {NULL, 0}};

	return (uint32_t)strace_flags(mode, words) & 0177777;
}

/* mknod(path, mode, makedev(...)), mknodat(dir, path, mode, dev) */
void do_mknod(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct name *n = call_name(s, t, c, variant ? 0 : -1, variant ? 1 : 0, 0);
	struct op_str dev = call_arg(c, variant ? 3 : 2);
	struct op *op = import_begin(&s->im, OP_MKNOD);
	int64_t major, minor;
	const char *comma;

	if (!n) {
		call_unplaced(s);
		return;
	}
	op->mode = type_bits(call_arg(c, variant ? 2 : 1));
	comma = dev.n > 8 && memcmp(dev.p, "makedev(", 8) == 0 ? memchr(dev.p, ',', dev.n) : NULL;
	if (comma &&
	    strace_number((struct op_str){dev.p + 8, (uint32_t)(comma - dev.p - 8)}, &major) &&
	    strace_number((struct op_str){comma + 2, (uint32_t)(dev.p + dev.n - comma - 2)},
			  &minor))
		op->dev = (uint64_t)major << 32 | (uint32_t)minor;
	if (import_path(&s->im, n))
		import_emit(&s->im);
	else
		call_outside(s);
	name_set_file(n, file_new(0));
	name_put(&s->im.procs.names, n);
}

/* bind(fd, {sa_family=AF_UNIX, sun_path="..."}, length) makes the name of a socket. */
void do_bind(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct strace_call one = {.nargs = 1};
	struct name *n;

	(void)variant;
	if (!strace_field(call_arg(c, 1), "sun_path", &one.arg[0]) || one.arg[0].n < 2 ||
	    one.arg[0].p[0] != '"') {
		s->im.counts.ignored++;
		return;
	}
	n = call_name(s, t, &one, -1, 0, 0);
	if (!n)
		return;
	import_begin(&s->im, OP_MKNOD)->mode = 0140777;
	if (import_path(&s->im, n))
		import_emit(&s->im);
	else
		call_outside(s);
	name_set_file(n, file_new('s'));
	name_put(&s->im.procs.names, n);
}

/* chdir(path); variant 1 is fchdir(fd). */
void do_chdir(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct name *n = NULL;

	s->im.counts.ignored++;
	if (!variant)
		n = call_name(s, t, c, -1, 0, WALK_FOLLOW);
	else if (s->ofd)
		n = name_get(s->ofd->name);
	if (n)
		cwd_set(&s->im.procs, t, n);
	name_put(&s->im.procs.names, n);
}

/* getcwd("/dir", size): what the kernel says is right. */
void do_getcwd(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct name *n = call_name(s, t, c, -1, 0, 0);

	(void)variant;
	s->im.counts.ignored++;
	if (n && call_text(s, c, 0).p[0] == '/')
		cwd_set(&s->im.procs, t, n);
	name_put(&s->im.procs.names, n);
}
