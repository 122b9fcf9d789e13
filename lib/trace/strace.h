/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The importer of strace logs, private to its parts.
 *
 *	strace_input	lines of one log, or of one per thread merged by time
 *	strace_forks	a first pass over a log: who gave birth to whom
 *	strace		the source of ops
 *	strace_halves	halves of calls put together, tasks found
 *	strace_tools	what handlers share
 *	strace_table	all calls known, by name
 *	strace_open, _data, _names, _meta, _task	what the calls do
 *
 * State changes when a call ends and its op carries the time at which it began; but a descriptor in
 * the first argument is looked up, and closed, when the call begins, as the kernel does.
 */
#ifndef TRACE_STRACE_H
#define TRACE_STRACE_H

#include "trace/import.h"
#include "trace/strace_scan.h"
#include "trace/strace_value.h"
#include "trace/stream.h"

/* The longest line understood: 4 MiB of data as \x escapes. */
#define STRACE_LINE_MAX ((size_t)24 << 20)

struct strace;

enum strace_class {
	CALL_IGNORED = 1, /* no effect on files: not even split */
	CALL_FD = 2,      /* the first argument is a descriptor, looked up when the call begins */
	CALL_CLOSES = 4,  /* and closed then */
	CALL_FORKS = 8,   /* makes a task when it begins */
	CALL_HOLDS = 16,  /* may become an op whatever its descriptor */
	CALL_FAILS_TOO = 32, /* handled even when it failed */
};

struct strace_row {
	const char *name;
	void (*run)(struct strace *s, struct task *t, const struct strace_call *c, int variant);
	unsigned classes;
	int variant;
};

/* Handlers, one group per file.  variant tells apart calls of one shape. */
typedef void strace_handler(struct strace *s, struct task *t, const struct strace_call *c,
			    int variant);
strace_handler do_open, do_close, do_close_range, do_dup, do_fcntl, do_new_fd, do_pair;
strace_handler do_write, do_read, do_seek, do_copy, do_size, do_falloc, do_sync, do_syncrange,
    do_advise, do_ioctl;
strace_handler do_mkdir, do_unlink, do_rename, do_link, do_symlink, do_mknod, do_chdir, do_getcwd,
    do_bind;
strace_handler do_stat, do_statx, do_chmod, do_chown, do_times, do_xattr;
strace_handler do_clone, do_exec, do_mmap, do_munmap, do_mremap, do_msync, do_unshare;

/* Finds a call; NULL when it is in no table. */
struct strace_table;
struct strace_table *strace_table_new(void);
const struct strace_row *strace_find(const struct strace_table *t, const char *name, size_t n);

/* Children in the order in which their parents made them. */
struct fork_list;
int fork_list_read(struct instream *in, struct fork_list **ret);
void fork_list_free(struct fork_list *l);

/* The next child of a parent: 1 and its number (0: the call failed), or 0 when there is none. */
int fork_list_next(struct fork_list *l, uint32_t parent, uint32_t *ret);

/* Lines in the order in which calls end, as far as the logs tell. */
struct strace_input;
int strace_input_open(const char *const *paths, unsigned n, struct diag *d,
		      struct strace_input **ret);

/* One log that is open already; it becomes the input's own, even on failure. */
int strace_input_stream(struct instream *stream, struct diag *d, struct strace_input **ret);
void strace_input_close(struct strace_input *in);

/* 1 with a line, 0 at the end, or an error.  *torn: the line has no LF or was too long. */
int strace_input_next(struct strace_input *in, struct strace_line *ret, bool *torn);

/* Where the last line stands. */
const char *strace_input_where(const struct strace_input *in, uint64_t *ret_line);

/* No line to come begins earlier than this, unfinished calls aside. */
uint64_t strace_input_earliest(const struct strace_input *in);

struct holder {
	uint32_t tid;
	uint64_t time;
};

struct strace {
	struct importer im;
	struct strace_input *input;
	struct strace_table *table;
	struct fork_list *forks;  /* NULL for pipes and per-thread logs */
	struct strace_line first; /* read for its time, not worked on yet */
	bool have_first, first_torn, ended;
	struct strace_call call;
	struct ofd *ofd;        /* of the first argument of the call being handled */
	struct holder *holders; /* calls under way that may become ops */
	size_t nholders, holders_cap;
	uint32_t last_tid;
	char *joined; /* both halves of a call */
	size_t joined_cap;
	char *text; /* for unescaped paths */
	size_t text_cap;
	char *text2;
	size_t text2_cap;
	char segs[4096];
};

/* Works on one line.  torn: it has no LF. */
void strace_line_do(struct strace *s, struct strace_line *l, bool torn);

/* Counts and notes a line that ends too early or makes no sense. */
void strace_cut(struct strace *s);

/* Tools of the handlers. */

/* Called with a name that must exist: see there. */
void call_expect(struct strace *s, struct name *n);

/* An argument, or an empty view. */
struct op_str call_arg(const struct strace_call *c, unsigned i);
bool call_number(const struct strace_call *c, unsigned i, int64_t *ret);

/* The name that a path argument leads to, with a reference, or NULL.  dir is the number of the
 * directory argument before it, or -1. */
struct name *call_name(struct strace *s, struct task *t, const struct strace_call *c, int dir,
		       unsigned path, unsigned walk);

/* A quoted argument without its quotes and escapes in s->text; empty when it is not one. */
struct op_str call_text(struct strace *s, const struct strace_call *c, unsigned i);

/* The descriptor in argument i, adopting one that was inherited; not a reference. */
struct ofd *call_fd(struct strace *s, struct task *t, struct op_str arg, int *ret_fd);

/* True when the descriptor is a file in the traced root; counts it as outside otherwise. */
bool is_inside(struct strace *s, const struct ofd *o);

/* Counts a call that touches nothing in the traced root. */
void call_outside(struct strace *s);

/* Counts a call that cannot be said in ops. */
void call_unplaced(struct strace *s);

/* Gives a descriptor a new number; what was there without having been closed is closed. */
void call_install(struct strace *s, struct task *t, int fd, struct ofd *o, bool cloexec);

/* Makes the open file o known under a fresh handle. */
void give_handle(struct importer *im, struct ofd *o);

/* What a child shares with its parent, from the call and its arguments (enum clone_share). */
unsigned strace_clone_share(const struct strace_row *row, const char *args);

void file_grow(struct file *f, uint64_t end);
uint64_t file_size(struct importer *im, struct file *f);

#endif
