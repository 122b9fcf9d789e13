/* SPDX-License-Identifier: BSD-2-Clause */
/* Replay onto a folder: attributes, and the files that were there before. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/target_folder.h"

/* ---- attributes ---- */

static struct timespec pick_time(const struct op_time *from)
{
	if (from->nsec == OP_TIME_OMIT)
		return (struct timespec){0, UTIME_OMIT};
	if (from->nsec == OP_TIME_NOW || from->nsec == OP_TIME_UNKNOWN)
		return (struct timespec){0, UTIME_NOW};
	return (struct timespec){from->sec, from->nsec};
}

static int set_times(int fd, const struct op_time *atime, const struct op_time *mtime)
{
	struct timespec ts[2] = {pick_time(atime), pick_time(mtime)};

	return utimensat(fd, "", ts, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int set_xattr(struct folder_target *t, const char *path, const struct op *o)
{
	uint64_t len = MIN(o->len, (uint64_t)XATTR_SIZE_MAX);
	const uint8_t *value = folder_bytes(t, o, len);

	if (value == NULL)
		return -ENOMEM;
	return setxattr(path, o->name.p, value, len, 0) < 0 ? -errno : 0;
}

/* lsattr's letters. */
static int flag_bit(char letter)
{
	static const struct {
		char letter;
		int bit;
	} flags[] = {
	    {'a', FS_APPEND_FL},  {'c', FS_COMPR_FL},       {'d', FS_NODUMP_FL},
	    {'e', FS_EXTENT_FL},  {'i', FS_IMMUTABLE_FL},   {'j', FS_JOURNAL_DATA_FL},
	    {'s', FS_SECRM_FL},   {'t', FS_NOTAIL_FL},      {'u', FS_UNRM_FL},
	    {'x', FS_DAX_FL},     {'A', FS_NOATIME_FL},     {'C', FS_NOCOW_FL},
	    {'D', FS_DIRSYNC_FL}, {'F', FS_CASEFOLD_FL},    {'P', FS_PROJINHERIT_FL},
	    {'S', FS_SYNC_FL},    {'T', (int)FS_TOPDIR_FL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (flags[i].letter == letter)
			return flags[i].bit;
	}
	return 0;
}

static int set_flags(int fd, const char *change)
{
	int flags, add = 1;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return -errno;
	for (; *change != '\0'; change++) {
		if (*change == '+' || *change == '-' || *change == '=')
			add = *change != '-';
		if (*change == '=')
			flags = 0;
		flags = add ? flags | flag_bit(*change) : flags & ~flag_bit(*change);
	}
	return ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0 ? -errno : 0;
}

static int set_project(int fd, uint64_t id)
{
	struct fsxattr x;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0)
		return -errno;
	x.fsx_projid = (uint32_t)id;
	return ioctl(fd, FS_IOC_FSSETXATTR, &x) < 0 ? -errno : 0;
}

static int result(int rc)
{
	return rc < 0 ? -errno : 0;
}

/* fd may stand for a path only, so what has no AT_EMPTY_PATH goes by its name in /proc. */
static int change(struct folder_target *t, int fd, const struct op *o)
{
	struct folder_self self = folder_self(fd);

	switch (o->code) {
	case OP_TRUNCATE:
		return result(truncate(self.path, (off_t)o->len));
	case OP_FTRUNCATE:
		return result(ftruncate(fd, (off_t)o->len));
	case OP_CHMOD:
		return result(chmod(self.path, o->mode & 07777));
	case OP_CHOWN:
		return result(fchownat(fd, "", o->uid, o->gid, AT_EMPTY_PATH));
	case OP_UTIMENS:
		return set_times(fd, &o->atime, &o->mtime);
	case OP_SETXATTR:
		return set_xattr(t, self.path, o);
	case OP_REMOVEXATTR:
		return result(removexattr(self.path, o->name.p));
	case OP_SETFLAGS:
		return set_flags(fd, o->name.p != NULL ? o->name.p : "");
	case OP_SETPROJECT:
		return set_project(fd, o->arg);
	case OP_STAT:
		return result(fstat(fd, &(struct stat){0}));
	default:
		return -EINVAL;
	}
}

int folder_op_attr(struct folder_target *t, const struct op *o)
{
	int fd, rc;

	if (o->path.n == 0) {
		fd = folder_fd(t, o->handle);
		return fd >= 0 ? change(t, fd, o) : -EBADF;
	}
	fd = folder_open(t, o->path.p, O_PATH | ((o->flags & OPF_NOFOLLOW) != 0 ? O_NOFOLLOW : 0),
			 0);
	if (fd < 0)
		return fd;
	rc = change(t, fd, o);
	close(fd);
	return rc;
}

/* ---- initial files ---- */

/* The first name of an inode that may have more. */
struct first_name {
	struct hash_node node;
	uint32_t len;
	char path[];
};

static int remember_name(struct folder_target *t, const struct op_node *n)
{
	struct first_name *f;

	if (n->ino == 0 || n->type == 'd')
		return 0;
	f = malloc(sizeof(*f) + n->path.n + 1);
	if (f == NULL)
		return -ENOMEM;
	f->len = n->path.n;
	memcpy(f->path, n->path.p, n->path.n + 1);
	hash_insert(&t->links, &f->node, n->ino);
	return 0;
}

void folder_forget_links(struct folder_target *t)
{
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&t->links, &at)) != NULL)
		free(hash_entry(n, struct first_name, node));
	hash_free(&t->links);
}

static int link_node(struct folder_target *t, const struct first_name *first,
		     const struct folder_place *at)
{
	struct op_str path = {first->path, first->len};
	struct folder_place from;
	int rc = folder_enter(t, &path, &from);

	if (rc < 0)
		return rc;
	rc = result(linkat(from.dir, from.name, at->dir, at->name, 0));
	folder_leave(t, &from);
	return rc;
}

static int make_file(struct folder_target *t, const struct op_node *n,
		     const struct folder_place *at)
{
	int fd =
	    openat(at->dir, at->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, n->mode & 07777);
	int rc;

	if (fd < 0)
		return -errno;
	rc = folder_fill(t, fd, n->size);
	close(fd);
	return rc;
}

static mode_t type_bits(char type)
{
	return type == 'c' ? S_IFCHR : type == 'b' ? S_IFBLK : type == 'p' ? S_IFIFO : S_IFSOCK;
}

static int make_node(struct folder_target *t, const struct op_node *n,
		     const struct folder_place *at)
{
	mode_t mode = n->mode & 07777;

	switch (n->type) {
	case 'f':
		return make_file(t, n, at);
	case 'd':
		return result(mkdirat(at->dir, at->name, mode));
	case 'l':
		return result(symlinkat(n->target.p, at->dir, at->name));
	case 'c':
	case 'b':
	case 'p':
	case 's':
		return result(mknodat(at->dir, at->name, type_bits(n->type) | mode,
				      makedev((unsigned)(n->dev >> 32), (unsigned)n->dev)));
	default:
		return -EINVAL;
	}
}

/* Owner first: a change of owner takes set-id bits away. */
static int dress_node(struct folder_target *t, const struct op_node *n)
{
	int fd = folder_open(t, n->path.p, O_PATH | O_NOFOLLOW, 0), rc = 0;
	struct op_time atime = n->atime, mtime = n->mtime;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	if (rc == 0 && (st.st_uid != n->uid || st.st_gid != n->gid))
		rc = result(fchownat(fd, "", n->uid, n->gid, AT_EMPTY_PATH));
	if (rc == 0 && n->type != 'l')
		rc = result(chmod(folder_self(fd).path, n->mode & 07777));
	if (atime.nsec == OP_TIME_UNKNOWN)
		atime.nsec = OP_TIME_OMIT;
	if (mtime.nsec == OP_TIME_UNKNOWN)
		mtime.nsec = OP_TIME_OMIT;
	if (rc == 0 && (atime.nsec != OP_TIME_OMIT || mtime.nsec != OP_TIME_OMIT))
		rc = set_times(fd, &atime, &mtime);
	close(fd);
	return rc;
}

static int add_node(struct folder_target *t, const struct op_node *n)
{
	struct hash_node *first =
	    n->ino != 0 && n->type != 'd' ? hash_find(&t->links, n->ino) : NULL;
	struct folder_place at;
	int rc = folder_enter(t, &n->path, &at);

	if (rc < 0)
		return rc;
	if (first != NULL)
		rc = link_node(t, hash_entry(first, struct first_name, node), &at);
	else
		rc = make_node(t, n, &at);
	folder_leave(t, &at);
	return rc < 0 || first != NULL ? rc : remember_name(t, n);
}

/* What is there already keeps its content and gets the node's attributes. */
int folder_node(struct folder_target *t, const struct op_node *n)
{
	int rc = add_node(t, n);

	if (rc == 0 || rc == -EEXIST)
		rc = dress_node(t, n);
	return rc < 0 ? diag_errno(t->target.d, rc, "initial file %s", n->path.p) : 0;
}
