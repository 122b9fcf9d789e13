/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel knows about traced tasks: descriptors, working directory, mappings; shared or
 * copied at clone as the flags say.
 */
#ifndef TRACE_PROCS_H
#define TRACE_PROCS_H

#include "trace/names.h"
#include "trace/op.h"

/* Descriptors above this are not followed. */
#define FD_MAX 65536

/* An open file description. */
struct ofd {
	uint32_t refs;
	uint32_t handle;   /* 0: not in the traced root, or not a file */
	struct name *name; /* NULL: not a file with a name */
	struct file *file;
	uint64_t offset;
	uint32_t flags; /* OPF_READ WRITE PATH APPEND DIRECT SYNC DSYNC */
};

struct fd_slot {
	struct ofd *ofd; /* NULL: closed, or never seen */
	bool cloexec;
};

struct fd_table {
	uint32_t refs;
	struct fd_slot *slots;
	size_t cap;
};

struct cwd {
	uint32_t refs;
	struct name *name;
	char *shown; /* the last text that the log showed of it, to know that text again */
	size_t nshown, shown_cap;
};

/* A shared mapping of a file in the traced root. */
struct window {
	uint32_t refs;
	uint32_t number;
	struct ofd *ofd;
};

struct mapping {
	uint64_t start, len, off;
	struct window *window;
};

struct space {
	uint32_t refs;
	struct mapping *maps;
	size_t n, cap;
};

/* A call that has begun. */
struct pending {
	char *text; /* its arguments as far as printed */
	size_t text_n, text_cap;
	uint64_t time;
	const void *call; /* row of the caller's table, NULL: none */
	struct ofd *ofd;  /* the descriptor in its first argument, taken when the call began */
	bool holds;       /* may become an op: later ops wait for it */
};

struct task {
	struct hash_node node; /* by tid */
	uint32_t tid;
	struct fd_table *files;
	struct cwd *cwd;
	struct space *space;
	struct pending pending;
};

enum clone_share { SHARE_FILES = 1, SHARE_CWD = 2, SHARE_SPACE = 4 };

/* Called when the last reference to an open file description or window goes. */
struct procs_events {
	void (*closed)(void *arg, struct ofd *o);
	void (*unmapped)(void *arg, const struct window *w);
};

struct procs {
	struct hash tasks;
	struct names names;
	const struct procs_events *events;
	void *arg;
	size_t slots_left; /* in all tables together */
	uint32_t windows;
};

int procs_init(struct procs *ps, const struct procs_events *events, void *arg);

/* Frees all without telling anyone. */
void procs_free(struct procs *ps);

struct task *task_find(const struct procs *ps, uint32_t tid);

/* A new task, a clone of parent (or with nothing open, in "/", for NULL).  An older task with the
 * same number ends first.  NULL without memory. */
struct task *task_new(struct procs *ps, uint32_t tid, const struct task *parent, unsigned share);
void task_end(struct procs *ps, struct task *t);

/* What execve does: closes what is marked, forgets mappings, stops sharing. */
int task_exec(struct procs *ps, struct task *t);

/* Stops sharing descriptors (unshare, close_range). */
int task_unshare_files(struct procs *ps, struct task *t);

struct ofd *ofd_new(void);
struct ofd *ofd_get(struct ofd *o);
void ofd_put(struct procs *ps, struct ofd *o);

/* What fd refers to, or NULL. */
struct ofd *fd_get(const struct task *t, int fd);

/* Puts o (its reference is taken over; NULL closes) at fd; what was there is let go.  -ENOMEM. */
int fd_install(struct procs *ps, struct task *t, int fd, struct ofd *o, bool cloexec);

/* Takes what was at fd out, with its reference. */
struct ofd *fd_take(struct task *t, int fd);

void cwd_set(struct procs *ps, struct task *t, struct name *n);

/* Numbers of windows count from 1; 0 is returned in *ret_number when the range is nonsense. */
int space_map(struct procs *ps, struct task *t, uint64_t start, uint64_t len, uint64_t off,
	      struct ofd *o, uint32_t *ret_number);
void space_unmap(struct procs *ps, struct task *t, uint64_t start, uint64_t len);

#endif
