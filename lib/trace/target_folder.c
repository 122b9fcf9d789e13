/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay onto a mounted folder: each op is the system call that was recorded, on descriptors of
 * this process, so that a kernel can be measured on the ops that an image was replayed with.
 * Nothing is counted here; whoever wants counters traces the kernel.
 */
#include "trace/target_folder.h"
#include "trace/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "extkit/replay.h"

static struct folder_target *of(struct target *t)
{
	return container_of(t, struct folder_target, target);
}

int folder_fd(const struct folder_target *t, uint32_t handle)
{
	struct hash_node *n = hash_find(&t->files, handle);

	return n != NULL ? hash_entry(n, struct folder_file, node)->fd : -1;
}

typedef int op_fn(struct folder_target *t, const struct op *o);

/* ---- data ---- */

static int write_flags(const struct op *o)
{
	return ((o->flags & OPF_SYNC) != 0 ? RWF_SYNC : 0) |
	       ((o->flags & OPF_DSYNC) != 0 ? RWF_DSYNC : 0);
}

/* A direct write on a descriptor that is not: the descriptor becomes direct for one call. */
static int set_direct(int fd, const struct op *o, int *ret_before)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	*ret_before = flags;
	if ((o->flags & OPF_DIRECT) == 0 || (flags & O_DIRECT) != 0)
		return 0;
	return fcntl(fd, F_SETFL, flags | O_DIRECT) < 0 ? -errno : 1;
}

static int op_write_data(struct folder_target *t, const struct op *o)
{
	int fd = folder_fd(t, o->handle), before = 0, direct = 0;
	ssize_t n;

	if (fd < 0)
		return -EBADF;
	if ((o->flags & OPF_DIRECT) != 0)
		direct = set_direct(fd, o, &before);
	if (direct < 0)
		return direct;
	n = folder_write(t, fd, o, write_flags(o));
	if (direct > 0)
		fcntl(fd, F_SETFL, before);
	if (n >= 0 && (uint64_t)n < o->len)
		return diag_set(t->target.d, -ENOSPC, "no space: %lld of %llu bytes written",
				(long long)n, (unsigned long long)o->len);
	return n < 0 ? (int)n : 0;
}

static int op_falloc(struct folder_target *t, const struct op *o)
{
	int fd = folder_fd(t, o->handle);

	if (fd < 0)
		return -EBADF;
	if (o->sub >= FALLOC_COUNT)
		return -EINVAL;
	return fallocate(fd, op_falloc_modes[o->sub], (off_t)o->off, (off_t)o->len) < 0 ? -errno
											: 0;
}

static int op_fsync(struct folder_target *t, const struct op *o)
{
	int fd = folder_fd(t, o->handle), rc;

	if (fd < 0)
		return -EBADF;
	rc = o->code == OP_FDATASYNC ? fdatasync(fd) : fsync(fd);
	return rc < 0 ? -errno : 0;
}

static int op_sync_range(struct folder_target *t, const struct op *o)
{
	int fd = folder_fd(t, o->handle);
	unsigned flags = 0;

	if (fd < 0)
		return -EBADF;
	flags |= (o->flags & OPF_WAIT_BEFORE) != 0 ? (unsigned)SYNC_FILE_RANGE_WAIT_BEFORE : 0;
	flags |= (o->flags & OPF_START) != 0 ? (unsigned)SYNC_FILE_RANGE_WRITE : 0;
	flags |= (o->flags & OPF_WAIT_AFTER) != 0 ? (unsigned)SYNC_FILE_RANGE_WAIT_AFTER : 0;
	return sync_file_range(fd, (off_t)o->off, (off_t)o->len, flags) < 0 ? -errno : 0;
}

/* sync(2) too: the other file systems of this host are no part of the trace. */
static int op_sync_all(struct folder_target *t, const struct op *o)
{
	return syncfs(t->root) < 0 ? -errno : 0;
}

static int op_advise(struct folder_target *t, const struct op *o)
{
	static const int advice[ADVICE_COUNT] = {
	    [ADVICE_WILLNEED] = POSIX_FADV_WILLNEED,
	    [ADVICE_DONTNEED] = POSIX_FADV_DONTNEED,
	    [ADVICE_RANDOM] = POSIX_FADV_RANDOM,
	    [ADVICE_SEQUENTIAL] = POSIX_FADV_SEQUENTIAL,
	};
	int fd = folder_fd(t, o->handle);

	if (fd < 0)
		return -EBADF;
	if (o->sub >= ADVICE_COUNT)
		return -EINVAL;
	return -posix_fadvise(fd, (off_t)o->off, (off_t)o->len, advice[o->sub]);
}

/* Windows are made for each store; caches, mounts and frozen file systems are the host's. */
static op_fn *const handlers[OP_COUNT] = {
    [OP_OPEN] = folder_op_open,     [OP_CLOSE] = folder_op_close,
    [OP_WRITE] = op_write_data,     [OP_READ] = folder_read,
    [OP_MWRITE] = folder_store,     [OP_MSYNC] = folder_msync,
    [OP_COPY] = folder_copy,        [OP_CLONE] = folder_copy,
    [OP_TRUNCATE] = folder_op_attr, [OP_FTRUNCATE] = folder_op_attr,
    [OP_FALLOC] = op_falloc,        [OP_FSYNC] = op_fsync,
    [OP_FDATASYNC] = op_fsync,      [OP_SYNCRANGE] = op_sync_range,
    [OP_SYNCFS] = op_sync_all,      [OP_SYNC] = op_sync_all,
    [OP_MKDIR] = folder_op_name,    [OP_RMDIR] = folder_op_name,
    [OP_UNLINK] = folder_op_name,   [OP_RENAME] = folder_op_name,
    [OP_LINK] = folder_op_name,     [OP_SYMLINK] = folder_op_name,
    [OP_MKNOD] = folder_op_name,    [OP_CHMOD] = folder_op_attr,
    [OP_CHOWN] = folder_op_attr,    [OP_UTIMENS] = folder_op_attr,
    [OP_SETXATTR] = folder_op_attr, [OP_REMOVEXATTR] = folder_op_attr,
    [OP_SETFLAGS] = folder_op_attr, [OP_SETPROJECT] = folder_op_attr,
    [OP_ADVISE] = op_advise,        [OP_FREEZE] = op_sync_all,
    [OP_STAT] = folder_op_attr,
};

/* EBADF of a system call is a handle that was opened for something else, not one that is missing.
 */
static int folder_op(struct target *target, const struct op *o)
{
	struct folder_target *t = of(target);
	op_fn *fn = o->code < OP_COUNT ? handlers[o->code] : NULL;
	int rc = fn != NULL ? fn(t, o) : 0;

	if (rc == -EBADF && o->code != OP_OPEN && o->path.n == 0 && folder_fd(t, o->handle) >= 0 &&
	    (o->handle2 == 0 || folder_fd(t, o->handle2) >= 0))
		rc = -EACCES;
	if (rc >= 0)
		return 0;
	if (o->path.n != 0)
		return diag_errno(target->d, rc, "%s %s", op_word(o->code), o->path.p);
	return diag_errno(target->d, rc, "%s h%u at %llu, %llu bytes", op_word(o->code), o->handle,
			  (unsigned long long)o->off, (unsigned long long)o->len);
}

/* ---- life ---- */

static int target_node(struct target *target, const struct op_node *n)
{
	return folder_node(of(target), n);
}

static int folder_begin(struct target *target)
{
	struct folder_target *t = of(target);

	folder_forget_links(t);
	return syncfs(t->root) < 0 ? diag_errno(target->d, -errno, "syncfs") : 0;
}

/* The kernel has its own clock. */
static int folder_tick(struct target *target, uint64_t ns)
{
	return 0;
}

static void close_files(struct folder_target *t)
{
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&t->files, &at)) != NULL)
		folder_close_file(hash_entry(n, struct folder_file, node));
}

static int folder_finish(struct target *target)
{
	struct folder_target *t = of(target);

	close_files(t);
	return syncfs(t->root) < 0 ? diag_errno(target->d, -errno, "syncfs") : 0;
}

static const struct counters *folder_counters(struct target *target)
{
	return NULL;
}

static void folder_close(struct target *target)
{
	struct folder_target *t = of(target);

	close_files(t);
	hash_free(&t->files);
	folder_forget_links(t);
	if (t->root >= 0)
		close(t->root);
	if (t->stores >= 0)
		close(t->stores);
	free(t->pattern);
	free(t->zeros);
	free(t->scratch);
	free(t);
}

static const struct target_ops folder_ops = {
    .node = target_node,
    .begin = folder_begin,
    .tick = folder_tick,
    .op = folder_op,
    .finish = folder_finish,
    .counters = folder_counters,
    .close = folder_close,
};

static int make_buffers(struct folder_target *t)
{
	t->pattern = mem_aligned(4096, FILL_BYTES);
	t->zeros = mem_aligned(4096, FILL_BYTES);
	t->scratch = mem_aligned(4096, FILL_BYTES);
	if (t->pattern == NULL || t->zeros == NULL || t->scratch == NULL)
		return -ENOMEM;
	t->scratch_cap = FILL_BYTES;
	memset(t->zeros, 0, FILL_BYTES);
	for (size_t i = 0; i < FILL_BYTES; i++)
		t->pattern[i] = (uint8_t)i;
	return 0;
}

/* As far as the kernel tells it: umask(2) would change it for other threads too. */
static mode_t process_umask(void)
{
	FILE *in = fopen("/proc/self/status", "re");
	unsigned mask = 0777;
	char line[128];

	while (in != NULL && fgets(line, sizeof(line), in) != NULL) {
		if (sscanf(line, "Umask: %o", &mask) == 1)
			break;
	}
	if (in != NULL)
		fclose(in);
	return mask & 0777;
}

int target_open_folder(const char *path, const struct ek_replay_options *opt, struct diag *d,
		       struct target **ret)
{
	struct folder_target *t = mem_zero(sizeof(*t));
	int rc;

	if (t == NULL)
		return diag_set(d, -ENOMEM, "out of memory for a replay");
	t->target.ops = &folder_ops;
	t->target.d = d;
	t->stores = -1;
	t->umask = opt->umask == 0 ? 022 : opt->umask == UINT32_MAX ? 0 : opt->umask & 0777;
	t->cut = process_umask() & ~t->umask;
	t->no_stores = (opt->flags & EK_REPLAY_NO_STORES) != 0;
	t->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = t->root < 0 ? -errno : make_buffers(t);
	if (rc < 0) {
		folder_close(&t->target);
		return diag_errno(d, rc, "cannot open folder '%s'", path);
	}
	*ret = &t->target;
	return 0;
}
