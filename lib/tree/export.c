/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Export of a tree in passes that leave an attacker nothing to use:
 *
 * 1. The walk makes folders (0700) and files, and hard links to files it made itself.
 * 2. Then symbolic links: no path is resolved through them any more.
 * 3. Then modes, owners, attributes and times of folders, the leaves first.
 *
 * What passes 2 and 3 need is remembered: paths of links and folders, and of files with more than
 * one name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "extkit/inode.h"
#include "fs/inode.h"
#include "fs/session.h"
#include "tree/export_impl.h"
#include "tree/host.h"

#define ENTRIES_MAX 1000000u
#define BYTES_MAX   ((uint64_t)16 << 30)

/* ---- folders that things are made in ---- */

int export_parent(struct export *x, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash != NULL ? (size_t)(slash - path) : 0;
	char *head;

	if (x->parent >= 0 && strncmp(x->parent_path, path, n) == 0 && x->parent_path[n] == '\0') {
		*name = slash != NULL ? slash + 1 : path;
		return x->parent;
	}
	head = strndup(path, n);
	if (head == NULL)
		return -ENOMEM;
	export_leave_parent(x);
	x->parent = host_parent(x->root, path, name);
	x->parent_path = head;
	return x->parent;
}

void export_leave_parent(struct export *x)
{
	if (x->parent >= 0)
		close(x->parent);
	free(x->parent_path);
	x->parent = -1;
	x->parent_path = NULL;
}

/* ---- pass 1 ---- */

static int stop(struct export *x, int rc, const char *what, uint64_t limit)
{
	return diag_set(&x->img->session->ctx->diag, rc, "export: %s: more than %llu", what,
			(unsigned long long)limit);
}

static int make_folder(struct export *x, const struct ek_found *f)
{
	const char *name;
	int at, rc;

	if (f->path_len == 0)
		return export_remember(&x->folders, f->ino, "");
	at = export_parent(x, f->path, &name);
	if (at < 0)
		return at;
	rc = mkdirat(at, name, 0700) < 0 ? -errno : 0;
	if (rc == 0)
		rc = export_remember(&x->folders, f->ino, f->path);
	if (rc == 0)
		x->rep->folders++;
	return rc;
}

static int link_name(struct export *x, const struct first_name *first, int at, const char *name)
{
	const char *old_name;
	int old = host_parent(x->root, first->path, &old_name), rc;

	if (old < 0)
		return old;
	rc = linkat(old, old_name, at, name, 0) < 0 ? -errno : 0;
	close(old);
	x->rep->hard_links += rc == 0 ? 1 : 0;
	return rc;
}

static int note_name(struct export *x, const struct ek_found *f)
{
	struct first_name *n = malloc(sizeof(*n) + f->path_len + 1);

	if (n == NULL)
		return -ENOMEM;
	memcpy(n->path, f->path, f->path_len + 1);
	hash_insert(&x->names, &n->node, f->ino.v);
	return 0;
}

/* A file that could not be filled does not stay half done. */
static int make_new_file(struct export *x, const struct ek_found *f, const struct ek_stat *st,
			 int at, const char *name)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return -errno;
	rc = host_copy(f->inode, st->bytes, fd, x->piece, EXPORT_PIECE);
	if (rc == 0)
		rc = host_finish(f->inode, st, fd, x->opt.flags);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		unlinkat(at, name, 0);
	else
		x->rep->files++;
	return rc;
}

static int make_file(struct export *x, const struct ek_found *f, const struct ek_stat *st)
{
	struct hash_node *first = st->links > 1 ? hash_find(&x->names, f->ino.v) : NULL;
	const char *name;
	int at, rc;

	if (first == NULL && st->bytes > x->opt.max_bytes - x->rep->bytes)
		return stop(x, -EFBIG, "bytes", x->opt.max_bytes);
	at = export_parent(x, f->path, &name);
	if (at < 0)
		return at;
	if (first != NULL) {
		rc = link_name(x, hash_entry(first, struct first_name, node), at, name);
	} else {
		rc = make_new_file(x, f, st, at, name);
		if (rc == 0)
			x->rep->bytes += st->bytes;
		if (rc == 0 && st->links > 1)
			rc = note_name(x, f);
	}
	return rc;
}

/* The owner first, and the mode not wider than before until he is right. */
static int finish_node(const struct export *x, const struct ek_stat *st, int at, const char *name)
{
	mode_t mode = st->mode & ((x->opt.flags & EK_EXPORT_SETID) != 0 ? 07777 : 0777);
	struct timespec times[2] = {
	    {st->atime.sec, (long)st->atime.nsec},
	    {st->mtime.sec, (long)st->mtime.nsec},
	};

	if ((x->opt.flags & EK_EXPORT_OWNER) != 0 &&
	    fchownat(at, name, st->uid, st->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (fchmodat(at, name, mode, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return utimensat(at, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int make_node(struct export *x, const struct ek_found *f, const struct ek_stat *st)
{
	const char *name;
	int at, rc;

	if ((x->opt.flags & EK_EXPORT_NODES) == 0) {
		export_issue(x, EK_ISSUE_SKIPPED, 0, f->path, "a device node, pipe or socket");
		return 0;
	}
	at = export_parent(x, f->path, &name);
	if (at < 0)
		return at;
	rc = mknodat(at, name, st->mode & (S_IFMT | 0600), makedev(st->dev_major, st->dev_minor));
	rc = rc < 0 ? -errno : finish_node(x, st, at, name);
	x->rep->nodes += rc == 0 ? 1 : 0;
	return rc;
}

static int make(struct export *x, const struct ek_found *f, const struct ek_stat *st)
{
	switch (st->mode & S_IFMT) {
	case S_IFDIR:
		return make_folder(x, f);
	case S_IFREG:
		return make_file(x, f, st);
	case S_IFLNK:
		return export_remember(&x->links, f->ino, f->path);
	default:
		return make_node(x, f, st);
	}
}

static bool ends_all(const struct export *x, int rc)
{
	return rc == -ENOMEM || rc == -ENOSPC || rc == -EDQUOT || rc == -ECANCELED ||
	       (rc == -EFBIG && x->img->session->ctx->diag.code == -EFBIG);
}

static int export_one(struct export *x, struct ek_walk *w, const struct ek_found *f)
{
	struct ek_progress step = {.stage = "read files", .unit = "files", .done = x->entries};
	struct ek_stat st = {.size = sizeof(st)};
	int rc = f->error;

	if (++x->entries > x->opt.max_entries)
		return stop(x, -EFBIG, "entries", x->opt.max_entries);
	if (rc == 0)
		rc = ctx_progress(x->img->session->ctx, &step);
	if (rc == 0)
		rc = ek_inode_stat(f->inode, &st);
	if (rc == 0)
		rc = make(x, f, &st);
	if (rc == 0 || ends_all(x, rc))
		return rc;
	ek_walk_prune(w);
	export_failed(x, rc, f->path);
	return 0;
}

static int pass_files(struct export *x, struct ek_inode *inode)
{
	struct ek_walk *w;
	struct ek_found f;
	int rc = ek_walk_open(inode, 0, &w);

	if (rc < 0)
		return rc;
	while ((rc = ek_walk_next(w, &f)) == 1) {
		rc = export_one(x, w, &f);
		if (rc < 0)
			break;
	}
	ek_walk_close(w);
	return rc;
}

/* ---- the whole ---- */

static int check_empty(int root)
{
	int fd = dup(root);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	int rc = 0;

	if (dir == NULL) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == 0 && (e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = -EEXIST;
	closedir(dir);
	return rc;
}

static int open_root(struct export *x, const char *dest)
{
	struct diag *d = &x->img->session->ctx->diag;
	int rc = mkdir(dest, 0700) < 0 && errno != EEXIST ? -errno : 0;

	if (rc == 0) {
		x->root = open(dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = x->root < 0 ? -errno : 0;
	}
	if (rc == 0 && (x->opt.flags & EK_EXPORT_INTO) == 0)
		rc = check_empty(x->root);
	if (rc == -EEXIST)
		return diag_errno(d, rc, "cannot export into %s, which is not empty", dest);
	return rc < 0 ? diag_errno(d, rc, "cannot export into %s", dest) : 0;
}

static void release(struct export *x)
{
	struct hash_node *n;
	size_t at = 0;

	for (size_t i = 0; i < x->links.n; i++)
		free(x->links.v[i].path);
	for (size_t i = 0; i < x->folders.n; i++)
		free(x->folders.v[i].path);
	while ((n = hash_pop(&x->names, &at)) != NULL)
		free(hash_entry(n, struct first_name, node));
	hash_free(&x->names);
	free(x->links.v);
	free(x->folders.v);
	free(x->piece);
	export_leave_parent(x);
	if (x->root >= 0)
		close(x->root);
}

static void take_options(struct export *x, const struct ek_export_options *opt)
{
	x->opt.size = sizeof(x->opt);
	if (opt != NULL)
		session_hand_out(&x->opt, opt->size, opt, sizeof(x->opt));
	if (x->opt.max_entries == 0)
		x->opt.max_entries = ENTRIES_MAX;
	if (x->opt.max_bytes == 0)
		x->opt.max_bytes = BYTES_MAX;
}

int ek_export(struct ek_inode *inode, const char *dest, const struct ek_export_options *opt,
	      struct ek_export_report **ret)
{
	struct export x = {.img = inode->img, .root = -1, .parent = -1};
	struct diag *d = &inode->img->session->ctx->diag;
	int rc;

	diag_clear(d);
	if (!inode_is_dir(inode))
		return diag_set(d, -ENOTDIR, "cannot export: inode %u is no folder", inode->ino.v);
	take_options(&x, opt);
	x.rep = mem_zero(sizeof(*x.rep));
	x.piece = malloc(EXPORT_PIECE);
	rc = x.rep == NULL || x.piece == NULL ? diag_set(d, -ENOMEM, "out of memory to export")
					      : open_root(&x, dest);
	if (rc == 0)
		rc = pass_files(&x, inode);
	if (rc == 0) {
		export_links(&x);
		export_folders(&x);
	}
	release(&x);
	if (rc < 0) {
		ek_export_report_free(x.rep);
		return diag_errno(d, rc, "cannot export into %s", dest);
	}
	*ret = x.rep;
	return 0;
}
