/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that change or tell the size of files, and those that write them back. */
#include "base/check.h"
#include "trace/strace.h"

enum { SIZE_PATH, SIZE_FD };

/* truncate(path, size), ftruncate(fd, size) */
void do_size(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	bool by_path = variant == SIZE_PATH;
	struct name *n = by_path ? call_name(s, t, c, -1, 0, WALK_FOLLOW) : NULL;
	struct file *f = by_path ? (n ? name_file(n) : NULL) : (s->ofd ? s->ofd->file : NULL);
	struct op *op = import_begin(&s->im, by_path ? OP_TRUNCATE : OP_FTRUNCATE);
	int64_t size;

	if (call_number(c, 1, &size) && size >= 0 &&
	    (by_path ? import_path(&s->im, n) : is_inside(s, s->ofd))) {
		op->len = (uint64_t)size;
		op->handle = by_path ? 0 : s->ofd->handle;
		import_emit(&s->im);
		if (f) {
			f->size = (uint64_t)size;
			f->size_known = true;
		}
	} else if (by_path) {
		call_outside(s);
	}
	name_put(&s->im.procs.names, n);
}

/* fallocate(fd, mode, offset, length) */
void do_falloc(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word words[] = {{"FALLOC_FL_KEEP_SIZE", 1},
						   {"FALLOC_FL_PUNCH_HOLE", 2},
						   {"FALLOC_FL_COLLAPSE_RANGE", 8},
						   {"FALLOC_FL_ZERO_RANGE", 16},
						   {"FALLOC_FL_INSERT_RANGE", 32},
						   {"FALLOC_FL_UNSHARE_RANGE", 64},
						   {NULL, 0}};
	uint64_t mode = strace_flags(call_arg(c, 1), words);
	struct ofd *o = s->ofd;
	int64_t off, len;
	struct op *op;

	(void)t;
	(void)variant;
	if (!is_inside(s, o) || !call_number(c, 2, &off) || !call_number(c, 3, &len) || off < 0 ||
	    len <= 0)
		return;
	op = import_begin(&s->im, OP_FALLOC);
	op->handle = o->handle;
	op->off = (uint64_t)off;
	op->len = (uint64_t)len;
	op->plain = 0;
	op->sub = mode & 2    ? FALLOC_PUNCH
		  : mode & 8  ? FALLOC_COLLAPSE
		  : mode & 16 ? (mode & 1 ? FALLOC_ZEROKEEP : FALLOC_ZERO)
		  : mode & 32 ? FALLOC_INSERT
		  : mode & 64 ? FALLOC_UNSHARE
		  : mode & 1  ? FALLOC_KEEP
			      : FALLOC_ALLOC;
	import_emit(&s->im);
	if (!o->file)
		return;
	if (mode & 8)
		o->file->size -= MIN(o->file->size, (uint64_t)len);
	else if (mode & 32)
		o->file->size += (uint64_t)len;
	else if (!(mode & 3))
		file_grow(o->file, (uint64_t)off + (uint64_t)len);
}

/* fsync, fdatasync, syncfs, sync: variant is the op. */
void do_sync(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct op *op;

	(void)t;
	(void)c;
	if (variant != OP_SYNC && !is_inside(s, s->ofd))
		return;
	op = import_begin(&s->im, (enum op_code)variant);
	if (variant == OP_FSYNC || variant == OP_FDATASYNC)
		op->handle = s->ofd->handle;
	import_emit(&s->im);
}

/* sync_file_range(fd, offset, length, flags); variant 1 has the flags second. */
void do_syncrange(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word words[] = {{"SYNC_FILE_RANGE_WAIT_BEFORE", OPF_WAIT_BEFORE},
						   {"SYNC_FILE_RANGE_WRITE", OPF_START},
						   {"SYNC_FILE_RANGE_WAIT_AFTER", OPF_WAIT_AFTER},
						   {NULL, 0}};
	unsigned at = variant ? 2 : 1, flags_at = variant ? 1 : 3;
	struct op_str a = call_arg(c, flags_at);
	int64_t off, len, raw;
	struct op *op;

	(void)t;
	if (!is_inside(s, s->ofd) || !call_number(c, at, &off) || !call_number(c, at + 1, &len) ||
	    off < 0 || len < 0)
		return;
	op = import_begin(&s->im, OP_SYNCRANGE);
	op->handle = s->ofd->handle;
	op->off = (uint64_t)off;
	op->len = (uint64_t)len;
	op->plain = 0;
	op->flags = strace_number(a, &raw) ? (uint32_t)(raw & 7) * OPF_WAIT_BEFORE
					   : (uint32_t)strace_flags(a, words);
	if (op->flags)
		import_emit(&s->im);
}

/* fadvise64(fd, offset, length, advice); variant 1 is readahead(fd, offset, count). */
void do_advise(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	static const struct strace_word words[] = {{"POSIX_FADV_RANDOM", ADVICE_RANDOM + 1},
						   {"POSIX_FADV_SEQUENTIAL", ADVICE_SEQUENTIAL + 1},
						   {"POSIX_FADV_WILLNEED", ADVICE_WILLNEED + 1},
						   {"POSIX_FADV_DONTNEED", ADVICE_DONTNEED + 1},
						   {NULL, 0}};
	uint64_t advice = variant ? ADVICE_WILLNEED + 1 : strace_flags(call_arg(c, 3), words);
	int64_t off, len;
	struct op *op;

	(void)t;
	if (!is_inside(s, s->ofd) || !call_number(c, 1, &off) || !call_number(c, 2, &len) ||
	    off < 0 || len < 0 || advice == 0 || advice > ADVICE_COUNT)
		return; /* the other advices change nothing the model has */
	op = import_begin(&s->im, OP_ADVISE);
	op->handle = s->ofd->handle;
	op->off = (uint64_t)off;
	op->len = (uint64_t)len;
	op->plain = 0;
	op->sub = (uint8_t)(advice - 1);
	import_emit(&s->im);
}

static const struct {
	const char *word;
	char letter;
} flag_letters[] = {
    {"FS_APPEND_FL", 'a'},   {"FS_COMPR_FL", 'c'},       {"FS_NODUMP_FL", 'd'},
    {"FS_EXTENT_FL", 'e'},   {"FS_IMMUTABLE_FL", 'i'},   {"FS_JOURNAL_DATA_FL", 'j'},
    {"FS_SECRM_FL", 's'},    {"FS_NOTAIL_FL", 't'},      {"FS_UNRM_FL", 'u'},
    {"FS_NOATIME_FL", 'A'},  {"FS_NOCOW_FL", 'C'},       {"FS_DIRSYNC_FL", 'D'},
    {"FS_CASEFOLD_FL", 'F'}, {"FS_PROJINHERIT_FL", 'P'}, {"FS_SYNC_FL", 'S'},
    {"FS_TOPDIR_FL", 'T'},   {"FS_DAX_FL", 'x'},
};

/* FS_IOC_SETFLAGS sets all flags at once, so the op says "=letters". */
static void set_flags(struct strace *s, struct op_str arg)
{
	char text[32], *to = text;
	struct op *op = import_begin(&s->im, OP_SETFLAGS);

	*to++ = '=';
	for (unsigned i = 0; i < ARRAY_SIZE(flag_letters); i++)
		if (memmem(arg.p, arg.n, flag_letters[i].word, strlen(flag_letters[i].word)))
			*to++ = flag_letters[i].letter;
	*to = 0;
	op->plain = 0;
	op->handle = s->ofd->handle;
	op->name = (struct op_str){text, (uint32_t)(to - text)};
	import_emit(&s->im);
}

static void clone_range(struct strace *s, struct task *t, const struct strace_call *c, bool whole)
{
	struct op_str arg = call_arg(c, 2), field;
	int64_t off = 0, len = 0, off2 = 0;
	struct ofd *from;
	struct op *op;
	int fd;

	if (whole) {
		from = call_fd(s, t, arg, &fd);
	} else {
		from = strace_field(arg, "src_fd", &field) ? call_fd(s, t, field, &fd) : NULL;
		if (strace_field(arg, "src_offset", &field))
			strace_number(field, &off);
		if (strace_field(arg, "src_length", &field))
			strace_number(field, &len);
		if (strace_field(arg, "dest_offset", &field))
			strace_number(field, &off2);
	}
	if (!from || !from->handle || off < 0 || len < 0 || off2 < 0) {
		call_unplaced(s);
		return;
	}
	if (len == 0 && from->file && from->file->size >= (uint64_t)off)
		len = (int64_t)(from->file->size - (uint64_t)off);
	op = import_begin(&s->im, OP_CLONE);
	op->plain = 0;
	op->handle = from->handle;
	op->handle2 = s->ofd->handle;
	op->off = (uint64_t)off;
	op->off2 = (uint64_t)off2;
	op->len = (uint64_t)len;
	import_emit(&s->im);
	file_grow(s->ofd->file, (uint64_t)off2 + (uint64_t)len);
}

static bool starts(struct op_str s, const char *word)
{
	return s.n >= strlen(word) && memcmp(s.p, word, strlen(word)) == 0;
}

void do_ioctl(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	struct op_str what = call_arg(c, 1);
	char name[IMPORT_NAME];

	(void)variant;
	if (!is_inside(s, s->ofd))
		return;
	if (starts(what, "FS_IOC_SETFLAGS") || starts(what, "EXT2_IOC_SETFLAGS")) {
		set_flags(s, call_arg(c, 2));
	} else if (starts(what, "FICLONERANGE") || starts(what, "BTRFS_IOC_CLONE_RANGE")) {
		clone_range(s, t, c, false);
	} else if (starts(what, "FICLONE") || starts(what, "BTRFS_IOC_CLONE")) {
		clone_range(s, t, c, true);
	} else if (starts(what, "FIFREEZE") || starts(what, "FITHAW")) {
		import_begin(&s->im, starts(what, "FITHAW") ? OP_THAW : OP_FREEZE);
		import_emit(&s->im);
	} else if (starts(what, "FS_IOC_GETFLAGS") || starts(what, "TCGETS") ||
		   starts(what, "FS_IOC_FIEMAP") || starts(what, "FIONREAD")) {
		s->im.counts.ignored++;
	} else {
		size_t n = MIN(what.n, sizeof(name) - 7);

		memcpy(name, "ioctl:", 6);
		memcpy(name + 6, what.p, n);
		import_unknown(&s->im, name, n + 6);
	}
}
