/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees into an image that is there: each entry by the call that an editor would use, so that each
 * happens or does not.  Contents of a stream wait in a file without a name until all of them are
 * there.  Folders get their times when everything is in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "base/str.h"
#include "extkit/edit.h"
#include "extkit/tree.h"
#include "fs/session.h"
#include "tree/feed.h"
#include "tree/report.h"
#include "tree/source.h"

#define PIECE     ((size_t)1 << 20)
#define IN_MEMORY ((uint64_t)16 << 20) /* larger files wait on disk */

/* A folder whose time is set last. */
struct folder {
	char *path;
	struct ek_time mtime;
};

struct importing {
	struct ek_image *img;
	struct ek_ctx *ctx;
	struct tree_feed feed;
	const char *to;
	struct tree_report *rep;
	struct str path, first; /* inside the image */
	struct folder *folders;
	size_t nfolders, folders_cap;
	uint64_t bytes;
	uint8_t *piece;
};

static const char *inside(const struct importing *m, struct str *s, const char *path)
{
	str_cut(s, 0);
	str_adds(s, m->to);
	while (s->len != 0 && s->p[s->len - 1] == '/')
		str_cut(s, s->len - 1);
	if (*path != '\0' || s->len == 0)
		str_addc(s, '/');
	str_adds(s, path);
	return str_text(s);
}

static struct ek_attr attr_of(const struct tree_entry *e)
{
	struct ek_attr a = {.size = sizeof(a),
			    .mask = EK_ATTR_MODE | EK_ATTR_UID | EK_ATTR_GID,
			    .mode = e->mode & 07777,
			    .uid = e->uid,
			    .gid = e->gid,
			    .mtime = e->mtime,
			    .atime = e->has_atime ? e->atime : e->mtime,
			    .xattrs = e->xattrs,
			    .nxattrs = e->nxattrs,
			    .flags = e->flags,
			    .project = e->project};

	if (!e->no_mtime)
		a.mask |= EK_ATTR_ATIME | EK_ATTR_MTIME;
	if (e->flags != 0)
		a.mask |= EK_ATTR_FLAGS;
	if (e->project != 0)
		a.mask |= EK_ATTR_PROJECT;
	return a;
}

/* ---- files ---- */

static int open_spool(struct importing *m, uint64_t size)
{
	const char *tmp = getenv("TMPDIR");
	int fd = -1;

	if (size > IN_MEMORY)
		fd = open(tmp != NULL ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = memfd_create("extkit", MFD_CLOEXEC);
	return fd < 0 ? diag_errno(&m->ctx->diag, -errno, "cannot spool") : fd;
}

static int spool_range(struct importing *m, struct tree_source *s, const struct tree_entry *e,
		       struct tree_range r, int fd)
{
	int rc = 0;

	while (r.from < r.to && rc == 0) {
		size_t n = (size_t)MIN(r.to - r.from, (uint64_t)PIECE);

		rc = s->ops->read(s, e->token, r.from, m->piece, n);
		if (rc == 0 && pwrite(fd, m->piece, n, (off_t)r.from) != (ssize_t)n)
			rc = diag_errno(&m->ctx->diag, -EIO, "cannot spool");
		r.from += n;
	}
	return rc;
}

static int put_file(struct importing *m, struct tree_source *s, const struct tree_entry *e,
		    const char *path)
{
	const struct tree_range whole = {0, e->size}, *r = e->data != NULL ? e->data : &whole;
	size_t n = e->data != NULL ? e->ndata : 1;
	struct ek_attr a = attr_of(e);
	int fd = open_spool(m, e->size), rc = fd < 0 ? fd : 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		m->bytes += r[i].to - r[i].from;
		rc = feed_check_bytes(&m->feed, m->bytes);
		if (rc == 0)
			rc = spool_range(m, s, e, r[i], fd);
	}
	if (rc == 0 && ftruncate(fd, (off_t)e->size) < 0)
		rc = diag_errno(&m->ctx->diag, -errno, "cannot spool");
	if (rc == 0)
		rc = ek_put_fd(m->img, path, fd, EK_PUT_REPLACE | EK_PUT_PARENTS, &a, NULL);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- the others ---- */

static int set_folder(struct importing *m, const char *path, const struct ek_attr *a)
{
	struct ek_inode *inode;
	int rc = ek_inode_open(m->img, path, EK_NOFOLLOW, &inode);

	if (rc < 0)
		return rc;
	rc = ek_inode_set(inode, a);
	ek_inode_close(inode);
	return rc;
}

static int put_folder(struct importing *m, const struct tree_entry *e, const char *path)
{
	struct ek_attr a = attr_of(e);
	struct folder f = {NULL, e->mtime};
	int rc = 0;

	if (strcmp(path, "/") != 0)
		rc = ek_mkdir(m->img, path, EK_PUT_PARENTS, &a);
	if (rc == 0)
		rc = set_folder(m, path, &a);
	if (rc < 0 || e->no_mtime)
		return rc;
	f.path = strdup(path);
	if (f.path == NULL ||
	    mem_grow((void **)&m->folders, &m->folders_cap, m->nfolders + 1, sizeof(f)) < 0) {
		free(f.path);
		return diag_set(&m->ctx->diag, -ENOMEM, "out of memory to import");
	}
	m->folders[m->nfolders++] = f;
	return 0;
}

static int put_entry(void *arg, struct tree_source *s, struct tree_entry *e)
{
	struct importing *m = arg;
	const unsigned flags = EK_PUT_REPLACE | EK_PUT_PARENTS;
	const char *path = inside(m, &m->path, e->path);
	struct ek_attr a = attr_of(e);

	if (m->path.err != 0)
		return m->path.err;
	if (e->link != NULL)
		return ek_link(m->img, inside(m, &m->first, e->link), path, flags);
	switch (e->mode & S_IFMT) {
	case S_IFDIR:
		return put_folder(m, e, path);
	case S_IFREG:
		return put_file(m, s, e, path);
	case S_IFLNK:
		return ek_symlink(m->img, e->target, path, flags, &a);
	default:
		return ek_mknod(m->img, path, e->mode & S_IFMT, e->dev_major, e->dev_minor, flags,
				&a);
	}
}

/* ---- sources ---- */

static int take_sources(struct importing *m)
{
	int rc = 0;

	for (size_t i = 0; i < m->feed.tree.nsources && rc == 0; i++) {
		struct tree_source *s;

		rc = tree_open(m->ctx, m->feed.tree.sources[i], &s);
		if (rc < 0)
			break;
		rc = feed_source(&m->feed, s);
		s->ops->close(s);
	}
	return rc;
}

/* The last first: a folder's time does not change by those of what is in it, but by its names. */
static int set_times(struct importing *m)
{
	int rc = 0;

	for (size_t i = m->nfolders; i-- > 0 && rc == 0;) {
		struct ek_attr a = {
		    .size = sizeof(a), .mask = EK_ATTR_MTIME, .mtime = m->folders[i].mtime};

		rc = set_folder(m, m->folders[i].path, &a);
	}
	return rc;
}

static void release(struct importing *m)
{
	for (size_t i = 0; i < m->nfolders; i++)
		free(m->folders[i].path);
	free(m->folders);
	feed_close(&m->feed);
	str_free(&m->path);
	str_free(&m->first);
	free(m->piece);
}

int ek_import_tree(struct ek_image *img, const char *path, const struct ek_tree_options *tree,
		   struct ek_tree_report **ret)
{
	struct importing m = {.img = img, .ctx = img->session->ctx, .to = path};
	struct diag *d = &m.ctx->diag;
	int rc;

	diag_clear(d);
	m.piece = malloc(PIECE);
	m.rep = mem_zero(sizeof(*m.rep));
	m.feed = (struct tree_feed){
	    .ctx = m.ctx, .rep = m.rep, .stage = "write files", .take = put_entry, .arg = &m};
	feed_options(&m.feed, tree);
	rc = m.piece == NULL || m.rep == NULL ? diag_set(d, -ENOMEM, "out of memory to import")
					      : feed_open(&m.feed, img->now);
	if (rc == 0)
		rc = take_sources(&m);
	if (rc == 0)
		rc = set_times(&m);
	release(&m);
	if (rc < 0) {
		if (m.rep != NULL)
			ek_tree_report_free(&m.rep->r);
		return diag_errno(d, rc, "cannot import");
	}
	*ret = &m.rep->r;
	return 0;
}
