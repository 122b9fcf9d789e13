/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths of a trace below the folder that it is replayed onto, and nowhere else.
 *
 * A trace is hostile: it may name "..", make links to anywhere and device nodes.  openat2(2)
 * resolves as if the folder were the root and refuses to cross mounts.  Where the kernel has no
 * openat2, the path is walked one component at a time without following links.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/target_folder.h"

static const char *below(const char *path)
{
	while (*path == '/')
		path++;
	return *path != '\0' ? path : ".";
}

/* The next component of *path into name: its length, 0 at the end, -1 when too long. */
static int component(const char **path, char name[256])
{
	size_t n;

	while (**path == '/')
		(*path)++;
	n = strcspn(*path, "/");
	if (n > 255)
		return -1;
	memcpy(name, *path, n);
	name[n] = '\0';
	*path += n;
	return (int)n;
}

static bool is_last(const char *path)
{
	return path[strspn(path, "/")] == '\0';
}

static int walk_open(const struct folder_target *t, const char *path, int flags, mode_t mode)
{
	int dir = t->root, next, n;
	char name[256];

	for (;;) {
		n = component(&path, name);
		if (n < 0 || strcmp(name, "..") == 0) {
			next = n < 0 ? -ENAMETOOLONG : -EXDEV;
			break;
		}
		if (is_last(path)) {
			next = openat(dir, n != 0 ? name : ".", flags | O_NOFOLLOW, mode);
			next = next < 0 ? -errno : next;
			break;
		}
		next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0) {
			next = -errno;
			break;
		}
		if (dir != t->root)
			close(dir);
		dir = next;
	}
	if (dir != t->root)
		close(dir);
	return next;
}

static int try_openat2(const struct folder_target *t, const char *path, int flags, mode_t mode)
{
	bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
	struct open_how how = {.flags = (uint64_t)(unsigned)flags,
			       .mode = makes ? mode & 07777u : 0,
			       .resolve =
				   RESOLVE_IN_ROOT | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS};
	long fd;

	do
		fd = syscall(SYS_openat2, t->root, below(path), &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN); /* somebody renamed during a "..": once more */
	return fd < 0 ? -errno : (int)fd;
}

int folder_open(struct folder_target *t, const char *path, int flags, mode_t mode)
{
	int fd;

	flags |= O_CLOEXEC | O_NOCTTY;
	if ((flags & O_PATH) != 0)
		flags &= O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY;
	if (!t->walk) {
		fd = try_openat2(t, path, flags, mode);
		if (fd != -ENOSYS && fd != -EPERM)
			return fd;
		if (fd == -EPERM && try_openat2(t, "/", O_PATH | O_CLOEXEC, 0) != -EPERM)
			return fd;
		t->walk = true;
	}
	return walk_open(t, below(path), flags, mode);
}

static int split(const struct op_str *path, size_t *ret_dir, struct folder_place *ret)
{
	size_t end = path->n, at;

	while (end > 0 && path->p[end - 1] == '/')
		end--;
	at = end;
	while (at > 0 && path->p[at - 1] != '/')
		at--;
	if (end == at)
		return -EEXIST; /* the root itself */
	if (end - at >= sizeof(ret->name))
		return -ENAMETOOLONG;
	memcpy(ret->name, path->p + at, end - at);
	ret->name[end - at] = '\0';
	*ret_dir = at;
	return 0;
}

int folder_enter(struct folder_target *t, const struct op_str *path, struct folder_place *ret)
{
	char dir[4096];
	size_t n;
	int rc = split(path, &n, ret);

	if (rc < 0)
		return rc;
	if (n >= sizeof(dir))
		return -ENAMETOOLONG;
	memcpy(dir, path->p, n);
	dir[n] = '\0';
	if (strspn(dir, "/") == n) {
		ret->dir = t->root;
		return 0;
	}
	rc = folder_open(t, dir, O_PATH | O_DIRECTORY, 0);
	if (rc < 0)
		return rc;
	ret->dir = rc;
	return 0;
}

void folder_leave(const struct folder_target *t, const struct folder_place *at)
{
	if (at->dir != t->root)
		close(at->dir);
}

struct folder_self folder_self(int fd)
{
	struct folder_self s;

	snprintf(s.path, sizeof(s.path), "/proc/self/fd/%d", fd);
	return s;
}
