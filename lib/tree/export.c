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
#include "extkit/export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/mem.h"
#include "extkit/inode.h"
#include "fs/inode.h"
#include "fs/session.h"
#include "tree/host.h"

#define PIECE       ((size_t)1 << 20)
#define ISSUES_MAX  1000u
#define ENTRIES_MAX 1000000u
#define BYTES_MAX   ((uint64_t)16 << 30)
#define TARGET_MAX  ((size_t)65537)

struct later {
	ek_inum ino;
	char *path;
};

struct list_of_later {
	struct later *v;
	size_t n, cap;
};

/* The first name of a file that has several. */
struct first_name {
	struct hash_node node;
	char path[];
};

struct export
{
	struct ek_image *img;
	struct ek_export_options opt;
	struct ek_export_report *rep;
	struct ek_export_issue *issues;
	size_t issues_cap;
	int root;
	uint64_t entries;
	struct list_of_later links, folders;
	struct hash names;
	uint8_t *piece; /* PIECE bytes */
};

/* ---- issues ---- */

static void issue(struct export *x, unsigned kind, int error, const char *path, const char *why)
{
	struct ek_export_issue *i;
	char *p, *w;

	if (kind == EK_ISSUE_SKIPPED)
		x->rep->skipped++;
	else
		x->rep->failed++;
	if (x->rep->nissues >= ISSUES_MAX ||
	    mem_grow((void **)&x->issues, &x->issues_cap, x->rep->nissues + 1, sizeof(*i)) < 0)
		return;
	p = strdup(path);
	w = strdup(why);
	if (p == NULL || w == NULL) {
		free(p);
		free(w);
		return;
	}
	x->rep->issues = x->issues;
	x->issues[x->rep->nissues++] = (struct ek_export_issue){kind, error, p, w};
}

/* A failure of the image has its story on the context, one of the host only its number. */
static void failed(struct export *x, int error, const char *path)
{
	const struct diag *d = &x->img->session->ctx->diag;
	char why[128];

	issue(x, EK_ISSUE_FAILED, error, path,
	      d->code == error ? d->text : strerror_r(-error, why, sizeof(why)));
	diag_clear(&x->img->session->ctx->diag);
}

static int stop(struct export *x, int rc, const char *what, uint64_t limit)
{
	return diag_set(&x->img->session->ctx->diag, rc, "export: %s: more than %llu", what,
			(unsigned long long)limit);
}

static int remember(struct list_of_later *l, ek_inum ino, const char *path)
{
	char *copy = strdup(path);
	int rc =
	    copy == NULL ? -ENOMEM : mem_grow((void **)&l->v, &l->cap, l->n + 1, sizeof(*l->v));

	if (rc < 0) {
		free(copy);
		return rc;
	}
	l->v[l->n++] = (struct later){ino, copy};
	return 0;
}

/* ---- pass 1 ---- */

static int make_folder(struct export *x, const struct ek_found *f)
{
	const char *name;
	int at, rc;

	if (f->path_len == 0)
		return remember(&x->folders, f->ino, "");
	at = host_parent(x->root, f->path, &name);
	if (at < 0)
		return at;
	rc = mkdirat(at, name, 0700) < 0 ? -errno : 0;
	close(at);
	if (rc == 0)
		rc = remember(&x->folders, f->ino, f->path);
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
	rc = host_copy(f->inode, st->bytes, fd, x->piece, PIECE);
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
	at = host_parent(x->root, f->path, &name);
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
	close(at);
	return rc;
}

static int make_node(struct export *x, const struct ek_found *f, const struct ek_stat *st)
{
	const char *name;
	int at, rc;

	if ((x->opt.flags & EK_EXPORT_NODES) == 0) {
		issue(x, EK_ISSUE_SKIPPED, 0, f->path, "a device node, pipe or socket");
		return 0;
	}
	at = host_parent(x->root, f->path, &name);
	if (at < 0)
		return at;
	rc = mknodat(at, name, st->mode & (S_IFMT | 0777), makedev(st->dev_major, st->dev_minor));
	rc = rc < 0 ? -errno : 0;
	if (rc == 0 && (x->opt.flags & EK_EXPORT_OWNER) != 0 &&
	    fchownat(at, name, st->uid, st->gid, AT_SYMLINK_NOFOLLOW) < 0)
		rc = -errno;
	close(at);
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
		return remember(&x->links, f->ino, f->path);
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
	failed(x, rc, f->path);
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

/* ---- pass 2 ---- */

/* A relative target that climbs no higher than the tree, from the folder of path. */
static bool stays_inside(const char *path, const char *target)
{
	int depth = 0;

	if (target[0] == '/')
		return false;
	for (const char *p = path; (p = strchr(p, '/')) != NULL; p++)
		depth++;
	for (const char *p = target; *p != '\0';) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			depth--;
		else if (n != 0 && !(n == 1 && p[0] == '.'))
			depth++;
		if (depth < 0)
			return false;
		p += n;
		p += strspn(p, "/");
	}
	return true;
}

static int place_link(struct export *x, struct ek_inode *inode, const char *path,
		      const char *target)
{
	struct ek_stat st = {.size = sizeof(st)};
	struct timespec times[2];
	const char *name;
	int at = host_parent(x->root, path, &name), rc;

	if (at < 0)
		return at;
	rc = symlinkat(target, at, name) < 0 ? -errno : ek_inode_stat(inode, &st);
	if (rc == 0) {
		times[0] = (struct timespec){st.atime.sec, (long)st.atime.nsec};
		times[1] = (struct timespec){st.mtime.sec, (long)st.mtime.nsec};
		utimensat(at, name, times, AT_SYMLINK_NOFOLLOW);
	}
	if (rc == 0 && (x->opt.flags & EK_EXPORT_OWNER) != 0 &&
	    fchownat(at, name, st.uid, st.gid, AT_SYMLINK_NOFOLLOW) < 0)
		rc = -errno;
	close(at);
	x->rep->links += rc == 0 ? 1 : 0;
	return rc;
}

static int make_link(struct export *x, const struct later *l, char *target)
{
	struct ek_inode *inode;
	int rc;

	if (x->opt.links == EK_LINKS_SKIP) {
		issue(x, EK_ISSUE_SKIPPED, 0, l->path, "a link");
		return 0;
	}
	rc = ek_inode_open_number(x->img, l->ino, &inode);
	if (rc < 0)
		return rc;
	rc = ek_inode_readlink(inode, target, TARGET_MAX);
	if (rc == 0 && x->opt.links == EK_LINKS_INSIDE && !stays_inside(l->path, target))
		issue(x, EK_ISSUE_SKIPPED, 0, l->path, "a link that leads out of the tree");
	else if (rc == 0)
		rc = place_link(x, inode, l->path, target);
	ek_inode_close(inode);
	return rc;
}

static void pass_links(struct export *x)
{
	for (size_t i = 0; i < x->links.n; i++) {
		int rc = make_link(x, &x->links.v[i], (char *)x->piece);

		if (rc < 0)
			failed(x, rc, x->links.v[i].path);
	}
}

/* ---- pass 3 ---- */

static int finish_folder(struct export *x, const struct later *l)
{
	struct ek_stat st = {.size = sizeof(st)};
	struct ek_inode *inode;
	const char *name;
	int at, fd, rc = ek_inode_open_number(x->img, l->ino, &inode);

	if (rc < 0)
		return rc;
	rc = ek_inode_stat(inode, &st);
	at = *l->path != '\0' ? host_parent(x->root, l->path, &name) : dup(x->root);
	fd = at;
	if (at >= 0 && *l->path != '\0') {
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
		close(at);
	}
	rc = rc < 0 ? rc : MIN(fd, 0);
	if (rc == 0)
		rc = host_finish(inode, &st, fd, x->opt.flags);
	if (fd >= 0)
		close(fd);
	ek_inode_close(inode);
	return rc;
}

static void pass_folders(struct export *x)
{
	for (size_t i = x->folders.n; i-- > 0;) {
		int rc = finish_folder(x, &x->folders.v[i]);

		if (rc < 0)
			failed(x, rc, x->folders.v[i].path);
	}
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
	struct export x = {.img = inode->img, .root = -1};
	struct diag *d = &inode->img->session->ctx->diag;
	int rc;

	diag_clear(d);
	if (!inode_is_dir(inode))
		return diag_set(d, -ENOTDIR, "cannot export: inode %u is no folder", inode->ino.v);
	take_options(&x, opt);
	x.rep = mem_zero(sizeof(*x.rep));
	x.piece = malloc(PIECE);
	rc = x.rep == NULL || x.piece == NULL ? diag_set(d, -ENOMEM, "out of memory to export")
					      : open_root(&x, dest);
	if (rc == 0)
		rc = pass_files(&x, inode);
	if (rc == 0) {
		pass_links(&x);
		pass_folders(&x);
	}
	release(&x);
	if (rc < 0) {
		ek_export_report_free(x.rep);
		return diag_errno(d, rc, "cannot export into %s", dest);
	}
	*ret = x.rep;
	return 0;
}

void ek_export_report_free(struct ek_export_report *report)
{
	if (report == NULL)
		return;
	for (size_t i = 0; i < report->nissues; i++) {
		free((void *)(uintptr_t)report->issues[i].path);
		free((void *)(uintptr_t)report->issues[i].why);
	}
	free((void *)(uintptr_t)report->issues);
	free(report);
}
