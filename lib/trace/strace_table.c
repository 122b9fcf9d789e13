/* SPDX-License-Identifier: BSD-2-Clause */
/* Every system call the importer knows, and a hash table over them. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "trace/strace.h"

#define FD    CALL_FD
#define HOLDS CALL_HOLDS

static const struct strace_row rows[] = {
    {"open", do_open, HOLDS, 0},
    {"openat", do_open, HOLDS, 1},
    {"creat", do_open, HOLDS, 2},
    {"openat2", do_open, HOLDS, 3},
    {"close", do_close, FD | CALL_CLOSES | CALL_FAILS_TOO, 0},
    {"close_range", do_close_range, HOLDS, 0},
    {"dup", do_dup, FD, 0},
    {"dup2", do_dup, FD, 1},
    {"dup3", do_dup, FD, 2},
    {"fcntl", do_fcntl, FD, 0},
    {"fcntl64", do_fcntl, FD, 0},
    {"socket", do_new_fd, 0, 0},
    {"accept", do_new_fd, 0, 0},
    {"accept4", do_new_fd, 0, 0},
    {"epoll_create", do_new_fd, 0, 0},
    {"epoll_create1", do_new_fd, 0, 0},
    {"eventfd", do_new_fd, 0, 0},
    {"eventfd2", do_new_fd, 0, 0},
    {"signalfd4", do_new_fd, 0, 0},
    {"timerfd_create", do_new_fd, 0, 0},
    {"inotify_init", do_new_fd, 0, 0},
    {"inotify_init1", do_new_fd, 0, 0},
    {"fanotify_init", do_new_fd, 0, 0},
    {"memfd_create", do_new_fd, 0, 0},
    {"memfd_secret", do_new_fd, 0, 0},
    {"userfaultfd", do_new_fd, 0, 0},
    {"perf_event_open", do_new_fd, 0, 0},
    {"pidfd_open", do_new_fd, 0, 0},
    {"pidfd_getfd", do_new_fd, 0, 0},
    {"open_tree", do_new_fd, 0, 0},
    {"io_uring_setup", do_new_fd, 0, 0},
    {"landlock_create_ruleset", do_new_fd, 0, 0},
    {"pipe", do_pair, 0, 0},
    {"pipe2", do_pair, 0, 0},
    {"socketpair", do_pair, 0, 3},

    {"write", do_write, FD, 0},
    {"pwrite64", do_write, FD, 1},
    {"pwrite", do_write, FD, 1},
    {"writev", do_write, FD, 2},
    {"pwritev", do_write, FD, 3},
    {"pwritev2", do_write, FD, 3},
    {"read", do_read, FD, 0},
    {"pread64", do_read, FD, 1},
    {"pread", do_read, FD, 1},
    {"readv", do_read, FD, 2},
    {"preadv", do_read, FD, 3},
    {"preadv2", do_read, FD, 3},
    {"lseek", do_seek, FD, 0},
    {"copy_file_range", do_copy, FD, 0},
    {"splice", do_copy, FD, 0},
    {"sendfile", do_copy, FD, 1},
    {"sendfile64", do_copy, FD, 1},
    {"truncate", do_size, HOLDS, 0},
    {"truncate64", do_size, HOLDS, 0},
    {"ftruncate", do_size, FD, 1},
    {"ftruncate64", do_size, FD, 1},
    {"fallocate", do_falloc, FD, 0},
    {"fsync", do_sync, FD, OP_FSYNC},
    {"fdatasync", do_sync, FD, OP_FDATASYNC},
    {"syncfs", do_sync, FD, OP_SYNCFS},
    {"sync", do_sync, HOLDS, OP_SYNC},
    {"sync_file_range", do_syncrange, FD, 0},
    {"sync_file_range2", do_syncrange, FD, 1},
    {"fadvise64", do_advise, FD, 0},
    {"readahead", do_advise, FD, 1},
    {"ioctl", do_ioctl, FD, 0},

    {"mkdir", do_mkdir, HOLDS, 0},
    {"mkdirat", do_mkdir, HOLDS, 1},
    {"unlink", do_unlink, HOLDS, 0},
    {"rmdir", do_unlink, HOLDS, 1},
    {"unlinkat", do_unlink, HOLDS, 2},
    {"rename", do_rename, HOLDS, 0},
    {"renameat", do_rename, HOLDS, 1},
    {"renameat2", do_rename, HOLDS, 2},
    {"link", do_link, HOLDS, 0},
    {"linkat", do_link, HOLDS, 1},
    {"symlink", do_symlink, HOLDS, 0},
    {"symlinkat", do_symlink, HOLDS, 1},
    {"mknod", do_mknod, HOLDS, 0},
    {"mknodat", do_mknod, HOLDS, 1},
    {"bind", do_bind, HOLDS, 0},
    {"chdir", do_chdir, 0, 0},
    {"fchdir", do_chdir, FD, 1},
    {"getcwd", do_getcwd, 0, 0},

    {"stat", do_stat, HOLDS, 0},
    {"stat64", do_stat, HOLDS, 0},
    {"lstat", do_stat, HOLDS, 1},
    {"lstat64", do_stat, HOLDS, 1},
    {"fstat", do_stat, FD, 2},
    {"fstat64", do_stat, FD, 2},
    {"newfstatat", do_stat, HOLDS | FD, 3},
    {"fstatat64", do_stat, HOLDS | FD, 3},
    {"statx", do_statx, HOLDS | FD, 0},
    {"chmod", do_chmod, HOLDS, 0},
    {"fchmod", do_chmod, FD, 2},
    {"fchmodat", do_chmod, HOLDS, 3},
    {"fchmodat2", do_chmod, HOLDS, 3},
    {"chown", do_chown, HOLDS, 0},
    {"lchown", do_chown, HOLDS, 1},
    {"fchown", do_chown, FD, 2},
    {"fchownat", do_chown, HOLDS, 3},
    {"utimensat", do_times, HOLDS, 0},
    {"utimes", do_times, HOLDS, 1},
    {"utime", do_times, HOLDS, 2},
    {"futimesat", do_times, HOLDS, 3},
    {"setxattr", do_xattr, HOLDS, 0},
    {"lsetxattr", do_xattr, HOLDS, 1},
    {"fsetxattr", do_xattr, FD, 2},
    {"removexattr", do_xattr, HOLDS, 16},
    {"lremovexattr", do_xattr, HOLDS, 17},
    {"fremovexattr", do_xattr, FD, 18},

    {"fork", do_clone, CALL_FORKS, 0},
    {"vfork", do_clone, CALL_FORKS, 1},
    {"clone", do_clone, CALL_FORKS, 0},
    {"clone3", do_clone, CALL_FORKS, 0},
    {"execve", do_exec, 0, 0},
    {"execveat", do_exec, 0, 0},
    {"unshare", do_unshare, 0, 0},
    {"mmap", do_mmap, HOLDS, 0},
    {"mmap2", do_mmap, HOLDS, 0},
    {"munmap", do_munmap, HOLDS, 0},
    {"mremap", do_mremap, 0, 0},
    {"msync", do_msync, HOLDS, 0},
};

/* Calls without an effect on the files of the model. */
static const char *const ignored[] = {
    "access",
    "faccessat",
    "faccessat2",
    "statfs",
    "fstatfs",
    "statfs64",
    "fstatfs64",
    "readlink",
    "readlinkat",
    "getdents",
    "getdents64",
    "getxattr",
    "lgetxattr",
    "fgetxattr",
    "listxattr",
    "llistxattr",
    "flistxattr",
    "name_to_handle_at",
    "flock",
    "exit",
    "exit_group",
    "wait4",
    "waitid",
    "waitpid",
    "kill",
    "tkill",
    "tgkill",
    "brk",
    "mprotect",
    "madvise",
    "mincore",
    "mlock",
    "munlock",
    "mlockall",
    "munlockall",
    "futex",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "nanosleep",
    "clock_nanosleep",
    "clock_gettime",
    "clock_getres",
    "gettimeofday",
    "time",
    "times",
    "alarm",
    "pause",
    "setitimer",
    "getitimer",
    "timer_create",
    "timer_settime",
    "timer_delete",
    "timerfd_settime",
    "timerfd_gettime",
    "getpid",
    "gettid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getresuid",
    "getresgid",
    "getgroups",
    "setuid",
    "setgid",
    "setreuid",
    "setregid",
    "setresuid",
    "setresgid",
    "setgroups",
    "getpgid",
    "getpgrp",
    "setpgid",
    "getsid",
    "setsid",
    "umask",
    "getrlimit",
    "setrlimit",
    "prlimit64",
    "getrusage",
    "sysinfo",
    "uname",
    "arch_prctl",
    "prctl",
    "set_tid_address",
    "set_robust_list",
    "get_robust_list",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "rt_sigpending",
    "rt_sigqueueinfo",
    "sigaltstack",
    "restart_syscall",
    "sched_yield",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_getparam",
    "sched_setparam",
    "sched_getscheduler",
    "sched_setscheduler",
    "getpriority",
    "setpriority",
    "ioprio_get",
    "ioprio_set",
    "getrandom",
    "getcpu",
    "membarrier",
    "capget",
    "capset",
    "personality",
    "seccomp",
    "connect",
    "listen",
    "getsockname",
    "getpeername",
    "setsockopt",
    "getsockopt",
    "sendto",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "sendmmsg",
    "recvmmsg",
    "shutdown",
    "inotify_add_watch",
    "inotify_rm_watch",
    "shmget",
    "shmat",
    "shmdt",
    "shmctl",
    "semget",
    "semop",
    "semtimedop",
    "semctl",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "tee",
    "vmsplice",
    "pidfd_send_signal",
    "kcmp",
    "cachestat",
    "landlock_add_rule",
    "landlock_restrict_self",
    "set_mempolicy",
    "mbind",
    "get_mempolicy",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "eventfd_read",
    "ptrace",
};

#define SLOTS 1024u

struct strace_table {
	const struct strace_row *slot[SLOTS];
	struct strace_row ignored[ARRAY_SIZE(ignored)];
};

static unsigned hash_name(const char *p, size_t n)
{
	unsigned h = (unsigned)n;

	for (size_t i = 0; i < n; i++)
		h = h * 31 + (unsigned char)p[i];
	return (h ^ h >> 10) & (SLOTS - 1);
}

static void add(struct strace_table *t, const struct strace_row *row)
{
	unsigned i = hash_name(row->name, strlen(row->name));

	while (t->slot[i])
		i = (i + 1) & (SLOTS - 1);
	t->slot[i] = row;
}

struct strace_table *strace_table_new(void)
{
	struct strace_table *t = mem_zero(sizeof(*t));

	if (!t)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add(t, &rows[i]);
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++) {
		t->ignored[i] = (struct strace_row){ignored[i], NULL, CALL_IGNORED, 0};
		add(t, &t->ignored[i]);
	}
	return t;
}

const struct strace_row *strace_find(const struct strace_table *t, const char *name, size_t n)
{
	unsigned i = hash_name(name, n);

	for (; t->slot[i]; i = (i + 1) & (SLOTS - 1)) {
		const char *have = t->slot[i]->name;

		if (*have == *name && strncmp(have, name, n) == 0 && have[n] == 0)
			return t->slot[i];
	}
	return NULL;
}
