/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts and ends a qemu-nbd of our own.
 *
 * The program is handed a socket that listens already (descriptor 3, by the protocol of socket
 * activation) and the image (descriptor 4), so it needs neither a name nor time before we can
 * connect, and its end before that is the end of the connection.  It serves one client and ends
 * when that hangs up.  One that hangs up before they have agreed on anything it does not count, so
 * its standard input is a pipe of ours, and the kernel sends it a signal when our end closes, as it
 * does when our process dies.  (Being told of a parent's death would be simpler, but that is the
 * death of the thread that opened the image.)  While it starts, the program forgets a SIGTERM that
 * comes at the wrong moment, and has nothing to lose: until they have agreed the signal is SIGKILL.
 * A process group of its own keeps it from the interrupts of our terminal: it has to live until we
 * have cleaned up.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "io/qemu.h"
#include "io/qemu_impl.h"

#define PROGRAM "qemu-nbd"
#define PACKAGE "qemu-utils"
#define IMAGE   4 /* the child's descriptor */

struct plan {
	char program[4096], file[128], pid[32], path[4096];
	const char *argv[8];
	const char *envp[6];
	int listener, image, said, null;
	int life[2]; /* the pipe that it ends with */
};

/* What qemu calls the formats. */
static const char *driver_of(enum container kind)
{
	switch (kind) {
	case CONTAINER_QCOW:
		return "qcow";
	case CONTAINER_QCOW2:
		return "qcow2";
	case CONTAINER_VHD:
		return "vpc";
	case CONTAINER_VHDX:
		return "vhdx";
	default:
		return "vmdk";
	}
}

static int find_program(struct plan *p, struct diag *d)
{
	const char *path = getenv("PATH");

	if (path == NULL)
		path = "/usr/bin:/bin";
	while (*path != '\0') {
		size_t n = strcspn(path, ":");

		if (n != 0 &&
		    (size_t)snprintf(p->program, sizeof(p->program), "%.*s/" PROGRAM, (int)n,
				     path) < sizeof(p->program) &&
		    access(p->program, X_OK) == 0)
			return 0;
		path += n + (path[n] == ':');
	}
	return diag_set(d, -EOPNOTSUPP,
			PROGRAM " is not installed, and images of this kind are read by it: it is "
				"in the package " PACKAGE);
}

static void write_down(struct plan *p, enum container kind, bool write)
{
	size_t n = 0;

	/* backing: null closes the way to other files once more, whatever the header says */
	snprintf(p->file, sizeof(p->file),
		 "json:{\"driver\":\"%s\",\"backing\":null,\"file\":{\"driver\":\"file\","
		 "\"filename\":\"/proc/self/fd/%d\"}}",
		 driver_of(kind), IMAGE);
	p->argv[n++] = PROGRAM;
	p->argv[n++] = "--cache=writeback";
	p->argv[n++] = "--discard=unmap";
	if (!write)
		p->argv[n++] = "--read-only";
	p->argv[n++] = p->file;
	snprintf(p->path, sizeof(p->path), "PATH=%s", getenv("PATH") ? getenv("PATH") : "");
	n = 0;
	p->envp[n++] = p->path;
	p->envp[n++] = "LC_ALL=C";
	p->envp[n++] = "LISTEN_FDS=1";
	p->envp[n++] = p->pid;
}

/* A folder that only we may enter; its name has to leave room for a socket's. */
static int make_dir(struct qemu_child *c, struct diag *d)
{
	const char *tmp = getenv("TMPDIR");

	if (tmp == NULL || *tmp == '\0' || strlen(tmp) > sizeof(c->dir) - 20)
		tmp = "/tmp";
	snprintf(c->dir, sizeof(c->dir), "%s/extkit.XXXXXX", tmp);
	if (mkdtemp(c->dir) == NULL) {
		c->dir[0] = '\0';
		return diag_errno(d, -errno, "cannot make a folder in %s", tmp);
	}
	snprintf(c->socket, sizeof(c->socket), "%s/s", c->dir);
	return 0;
}

static int make_socket(struct qemu_child *c, struct diag *d)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path, c->socket, sizeof(c->socket));
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 &&
	    listen(fd, 1) == 0)
		return fd;
	diag_errno(d, -errno, "cannot make the socket %s", c->socket);
	if (fd >= 0)
		close(fd);
	return d != NULL && d->code < 0 ? d->code : -EIO;
}

/* ---- in the child: only calls that are safe after fork ---- */

static void put_pid(char *to)
{
	char digits[24];
	size_t n = 0;
	long pid = (long)getpid();

	for (; pid > 0; pid /= 10)
		digits[n++] = (char)('0' + pid % 10);
	memcpy(to, "LISTEN_PID=", 11);
	for (to += 11; n > 0;)
		*to++ = digits[--n];
	*to = '\0';
}

/* A signal when the other end of standard input closes; if it has by now, this is the end. */
static void end_with_parent(void)
{
	struct pollfd in = {.fd = STDIN_FILENO};
	sigset_t none;

	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (fcntl(STDIN_FILENO, F_SETOWN, getpid()) < 0 ||
	    fcntl(STDIN_FILENO, F_SETSIG, SIGKILL) < 0 ||
	    fcntl(STDIN_FILENO, F_SETFL, O_ASYNC) < 0 || poll(&in, 1, 0) != 0)
		_exit(127);
}

static void become(struct plan *p)
{
	const int from[5] = {p->life[0], p->null, p->said, p->listener, p->image};
	int high[5];

	close(p->life[1]);
	/* out of the way first: a descriptor may lie where another has to go */
	for (int i = 0; i < 5; i++)
		high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 16);
	for (int i = 0; i < 5; i++) {
		if (high[i] < 0 || dup2(high[i], i) < 0)
			_exit(127);
	}
#ifdef SYS_close_range
	syscall(SYS_close_range, 5u, ~0u, 0u); /* what others opened */
#endif
	setpgid(0, 0);
	end_with_parent();
	put_pid(p->pid);
	execve(p->program, (char *const *)(uintptr_t)p->argv, (char *const *)(uintptr_t)p->envp);
	_exit(127);
}

/* ---- in the parent ---- */

static void close_both(const int ends[2])
{
	for (int i = 0; i < 2; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
	}
}

static int spawn(struct plan *p, struct diag *d, struct qemu_child *c)
{
	int said[2] = {-1, -1}, r = 0;

	p->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (p->null < 0 || pipe2(said, O_CLOEXEC) < 0 || pipe2(p->life, O_CLOEXEC) < 0)
		r = -errno;
	p->said = said[1];
	c->pid = r == 0 ? fork() : -1;
	if (c->pid == 0)
		become(p);
	if (r == 0 && c->pid < 0)
		r = -errno;
	if (p->null >= 0)
		close(p->null);
	if (r < 0) {
		close_both(said);
		close_both(p->life);
		return diag_errno(d, r, "cannot start " PROGRAM);
	}
	close(said[1]);
	c->said = said[0];
	c->life = p->life[1];
	c->sign = p->life[0];
	return 0;
}

int qemu_start(int fd, enum container kind, bool write, struct diag *d, struct qemu_child *ret)
{
	struct qemu_child c = {.said = -1, .life = -1, .sign = -1};
	struct plan p = {.listener = -1, .image = fd, .life = {-1, -1}};
	int r = find_program(&p, d);

	if (r < 0)
		return r;
	write_down(&p, kind, write);
	r = make_dir(&c, d);
	if (r == 0)
		r = p.listener = make_socket(&c, d);
	if (r >= 0)
		r = spawn(&p, d, &c);
	if (p.listener >= 0)
		close(p.listener);
	if (r < 0) {
		qemu_hide(&c);
		return r;
	}
	*ret = c;
	return 0;
}

void qemu_hide(struct qemu_child *c)
{
	if (c->dir[0] == '\0')
		return;
	unlink(c->socket);
	rmdir(c->dir);
	c->dir[0] = '\0';
}

void qemu_agreed(struct qemu_child *c)
{
	fcntl(c->sign, F_SETSIG, SIGTERM);
	close(c->sign);
	c->sign = -1;
}

/* Reads to the end of what the program says; false when ms passed before that. */
static bool drain(struct qemu_child *c, unsigned ms, char *text, size_t cap)
{
	uint64_t end = host_ms() + ms, now;
	size_t have = 0;
	char more[512];

	while ((now = host_ms()) < end) {
		struct pollfd p = {.fd = c->said, .events = POLLIN};
		ssize_t n;

		if (poll(&p, 1, (int)(end - now)) <= 0)
			continue;
		n = read(c->said, more, sizeof(more));
		if (n == 0 || (n < 0 && errno != EINTR))
			return true;
		for (ssize_t i = 0; i < n && have + 1 < cap; i++)
			text[have++] = more[i];
		if (cap != 0)
			text[have] = '\0';
	}
	return false;
}

void qemu_listen(struct qemu_child *c, char *text, size_t cap)
{
	text[0] = '\0';
	drain(c, QEMU_WAIT_MS / 10, text, cap);
}

void qemu_end(struct qemu_child *c, bool patience)
{
	qemu_hide(c);
	if (!patience || !drain(c, QEMU_WAIT_MS, NULL, 0)) {
		kill(c->pid, SIGTERM);
		if (!drain(c, QEMU_WAIT_MS / 10, NULL, 0))
			kill(c->pid, SIGKILL);
	}
	close(c->said);
	close(c->life);
	if (c->sign >= 0)
		close(c->sign);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
