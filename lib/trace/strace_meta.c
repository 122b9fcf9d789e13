/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that show or change attributes, by path, by descriptor, or by directory and path. */
#include "trace/strace.h"

/* How the file is given; the numbers of the arguments behind it follow. */
enum { BY_PATH, BY_LINK, BY_FD, BY_DIR };

#define AT_NOFOLLOW 0x100
#define AT_EMPTY    0x1000

static uint64_t at_flags(const struct strace_call *c, unsigned i)
{
	static const struct strace_word words[] = {
	    {"AT_SYMLINK_NOFOLLOW", AT_NOFOLLOW}, {"AT_EMPTY_PATH", AT_EMPTY}, {NULL, 0}};

	return strace_flags(call_arg(c, i), words);
}

static bool is_null(struct op_str a)
{
	return a.n == 4 && memcmp(a.p, "NULL", 4) == 0;
}

/* Begins the op with its file: false when it is outside.  *first is the argument behind it. */
static bool begin_meta(struct strace *s, struct task *t, const struct strace_call *c,
		       enum op_code code, int how, uint64_t flags)
{
	struct op_str path = call_arg(c, 1);
	bool nofollow = how == BY_LINK || (flags & AT_NOFOLLOW);
	struct op *op = import_begin(&s->im, code);
	struct name *n;
	bool inside;

	op->plain = 0;
	if (how == BY_FD || (how == BY_DIR && (is_null(path) || (flags & AT_EMPTY)))) {
		int fd;
		struct ofd *o = s->ofd ? s->ofd : call_fd(s, t, call_arg(c, 0), &fd);

		op = import_begin(&s->im, code); /* adopting a descriptor made an op of its own */
		op->plain = 0;
		if (!is_inside(s, o))
			return false;
		op->handle = o->handle;
		return true;
	}
	n = call_name(s, t, c, how == BY_DIR ? 0 : -1, how == BY_DIR ? 1 : 0,
		      nofollow ? 0 : WALK_FOLLOW);
	call_expect(s, n);
	op = import_begin(&s->im, code);
	inside = import_path(&s->im, n);
	op->flags = inside && nofollow ? OPF_NOFOLLOW : 0;
	name_put(&s->im.procs.names, n);
	if (!inside)
		call_outside(s);
	return inside;
}

void do_chmod(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	unsigned at = variant == BY_DIR ? 2 : 1;
	int64_t mode;

	if (!begin_meta(s, t, c, OP_CHMOD, variant, variant == BY_DIR ? at_flags(c, 3) : 0))
		return;
	if (!call_number(c, at, &mode))
		mode = (int64_t)strace_flags(call_arg(c, at), &(struct strace_word){NULL, 0});
	s->im.op.mode = (uint32_t)mode & 07777;
	import_emit(&s->im);
}

void do_chown(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	unsigned at = variant == BY_DIR ? 2 : 1;
	int64_t uid = -1, gid = -1;

	if (!begin_meta(s, t, c, OP_CHOWN, variant, variant == BY_DIR ? at_flags(c, 4) : 0))
		return;
	call_number(c, at, &uid);
	call_number(c, at + 1, &gid);
	s->im.op.uid = (uint32_t)uid;
	s->im.op.gid = (uint32_t)gid;
	import_emit(&s->im);
}

/* One of {tv_sec=S, tv_nsec=N}, {tv_sec=S, tv_usec=N}, UTIME_NOW, UTIME_OMIT. */
static struct op_time one_time(struct op_str *rest)
{
	struct op_time t = {0, OP_TIME_UNKNOWN};
	struct op_str sec, frac, probe = *rest;
	const char *now = memmem(rest->p, rest->n, "UTIME_", 6);
	int64_t v, ns;
	bool micro = false;

	if (!strace_next_field(&probe, "tv_sec", &sec))
		sec.p = NULL;
	if (now && (!sec.p || now < sec.p)) {
		t.nsec = now[6] == 'N' ? OP_TIME_NOW : OP_TIME_OMIT;
		now += 6;
		*rest = (struct op_str){now, (uint32_t)(rest->p + rest->n - now)};
		return t;
	}
	if (!sec.p || !strace_number(sec, &v))
		return t;
	*rest = probe;
	if (!strace_next_field(&probe, "tv_nsec", &frac)) {
		micro = true;
		if (!strace_next_field(&probe, "tv_usec", &frac))
			return t;
	}
	*rest = probe;
	/* strace prints the two words in place of nanoseconds too. */
	if (frac.n && frac.p[0] == 'U') {
		t.nsec = memmem(frac.p, frac.n, "NOW", 3) ? OP_TIME_NOW : OP_TIME_OMIT;
		return t;
	}
	if (strace_number(frac, &ns) && ns >= 0 && ns < 1000000000) {
		t.sec = v;
		t.nsec = (uint32_t)(micro ? ns % 1000000 * 1000 : ns);
	}
	return t;
}

enum { TIMES_AT, TIMES_UTIMES, TIMES_UTIME, TIMES_FUTIMESAT };

/* {actime=S, modtime=S} of utime. */
static void utime_times(struct op *op, struct op_str a)
{
	struct op_str field;
	int64_t v;

	op->atime = op->mtime = (struct op_time){0, OP_TIME_UNKNOWN};
	if (strace_field(a, "actime", &field) && strace_number(field, &v))
		op->atime = (struct op_time){v, 0};
	if (strace_field(a, "modtime", &field) && strace_number(field, &v))
		op->mtime = (struct op_time){v, 0};
}

/* utimensat, utimes, utime, futimesat */
void do_times(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	bool at = variant == TIMES_AT || variant == TIMES_FUTIMESAT;
	struct op_str a = call_arg(c, at ? 2 : 1);
	struct op *op = &s->im.op;

	if (!begin_meta(s, t, c, OP_UTIMENS, at ? BY_DIR : BY_PATH,
			variant == TIMES_AT ? at_flags(c, 3) : 0))
		return;
	if (is_null(a)) {
		op->atime = op->mtime = (struct op_time){0, OP_TIME_NOW};
	} else if (variant == TIMES_UTIME) {
		utime_times(op, a);
	} else {
		op->atime = one_time(&a);
		op->mtime = one_time(&a);
	}
	import_emit(&s->im);
}

enum { XATTR_SET = 0, XATTR_REMOVE = 16 };

/* setxattr(file, name, value, size, flags), removexattr(file, name): variant adds how the file is
 * given. */
void do_xattr(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	bool set = !(variant & XATTR_REMOVE);
	struct op_str name, inside;
	bool complete;
	int64_t size;

	if (!begin_meta(s, t, c, set ? OP_SETXATTR : OP_REMOVEXATTR, variant & 15, 0))
		return;
	name = call_text(s, c, 1);
	if (name.n == 0 || strlen(name.p) != name.n ||
	    (set && (!call_number(c, 3, &size) || size < 0))) {
		call_unplaced(s);
		return;
	}
	s->im.op.name = name;
	if (set) {
		s->im.op.len = (uint64_t)size;
		if (strace_string(call_arg(c, 2), &inside, &complete) && complete &&
		    import_data_room(&s->im, (size_t)inside.n + 1) &&
		    strace_unescape(inside, (char *)s->im.data) >= (size_t)size)
			import_data(&s->im, (size_t)size);
	}
	import_emit(&s->im);
}

/* An open file of unknown size: here it is. */
static void learn_size(struct strace *s, const struct strace_call *c, unsigned at)
{
	struct op_str field;
	int64_t size;

	if (!s->ofd || !s->ofd->handle || !s->ofd->file || s->ofd->file->size_known)
		return;
	if (strace_field(call_arg(c, at), "st_size", &field) && strace_number(field, &size) &&
	    size >= 0) {
		s->ofd->file->size = (uint64_t)size;
		s->ofd->file->size_known = true;
	}
}

static void emit_stat(struct strace *s, struct task *t, const struct strace_call *c, int how,
		      uint64_t flags)
{
	if (s->im.opt.flags & IMPORT_NO_READS)
		s->im.counts.ignored++;
	else if (begin_meta(s, t, c, OP_STAT, how, flags))
		import_emit(&s->im);
}

/* stat, lstat, fstat, newfstatat: who saw the times makes the next change take exact ones. */
void do_stat(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	uint64_t flags = variant == BY_DIR ? at_flags(c, 3) : 0;
	struct op_str path = call_arg(c, 1);

	if (variant == BY_FD)
		learn_size(s, c, 1);
	if (variant == BY_DIR && path.n == 2)
		learn_size(s, c, 2);
	emit_stat(s, t, c, variant, flags);
}

/* statx(dir, path, flags, mask, {...}) */
void do_statx(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word words[] = {{"STATX_MTIME", 0x40},
						   {"STATX_CTIME", 0x80},
						   {"STATX_BASIC_STATS", 0x7ff},
						   {"STATX_ALL", 0xfff},
						   {NULL, 0}};

	(void)variant;
	if ((strace_flags(call_arg(c, 3), words) & 0xc0) == 0)
		s->im.counts.ignored++;
	else
		emit_stat(s, t, c, BY_DIR, at_flags(c, 2));
}
