/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries into an image that is there, each by the call that an editor would use, so that each
 * happens or does not.  Contents of a stream wait in a file without a name until all of them are
 * there.
 */
#include "tree/put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/diag.h"
#include "fs/inode.h"
#include "fs/session.h"
#include "tree/feed.h"
#include "tree/spool.h"

#define PIECE     ((size_t)1 << 20)
#define PUT_FLAGS ((unsigned)EK_PUT_REPLACE | (unsigned)EK_PUT_PARENTS)

int put_open(struct tree_put *p)
{
	p->piece = malloc(PIECE);
	return p->piece != NULL ? 0 : -ENOMEM;
}

void put_close(struct tree_put *p)
{
	str_free(&p->path);
	str_free(&p->first);
	free(p->piece);
	p->piece = NULL;
}

static const char *inside(const struct tree_put *p, struct str *s, const char *path)
{
	str_cut(s, 0);
	str_adds(s, p->to);
	while (s->len != 0 && s->p[s->len - 1] == '/')
		str_cut(s, s->len - 1);
	if (*path != '\0' || s->len == 0)
		str_addc(s, '/');
	str_adds(s, path);
	return s->err == 0 ? str_text(s) : NULL;
}

const char *put_path(struct tree_put *p, const char *path)
{
	return inside(p, &p->path, path);
}

static bool keeps_projects(const struct tree_put *p)
{
	const struct geom *g = &p->img->geom;

	return geom_ro_compat(g, RO_COMPAT_PROJECT) && g->inode_size > 128;
}

struct ek_attr put_attr(const struct tree_put *p, const struct tree_entry *e)
{
	struct ek_attr a = {.size = sizeof(a),
			    .mask = EK_ATTR_MODE | EK_ATTR_UID | EK_ATTR_GID | EK_ATTR_FLAGS,
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
	if (e->project != 0 || (e->has_project && keeps_projects(p)))
		a.mask |= EK_ATTR_PROJECT;
	return a;
}

bool put_inherits(const struct tree_put *p, const struct tree_entry *e)
{
	return !e->has_project && keeps_projects(p);
}

void put_fit(const struct ek_inode *inode, const struct tree_entry *e, struct ek_attr *a)
{
	uint32_t heirs = inode->rec.flags & INODE_PROJINHERIT;

	if (!e->has_project) {
		a->flags |= heirs;
	} else if (inode_is_dir(inode) && (a->mask & EK_ATTR_FLAGS) == 0 &&
		   heirs != (e->flags & INODE_PROJINHERIT)) {
		a->flags = inode->rec.flags ^ INODE_PROJINHERIT;
		a->mask |= EK_ATTR_FLAGS;
	}
	if (inode->rec.projid == a->project)
		a->mask &= ~(unsigned)EK_ATTR_PROJECT;
}

/* ---- files ---- */

static struct diag *diag_of(const struct tree_put *p)
{
	return &p->img->session->ctx->diag;
}

static int spool_range(struct tree_put *p, struct tree_source *s, const struct tree_entry *e,
		       struct tree_range r, struct spool *to)
{
	int rc = 0;

	while (r.from < r.to && rc == 0) {
		size_t n = (size_t)MIN(r.to - r.from, (uint64_t)PIECE);

		rc = s->ops->read(s, e->token, r.from, p->piece, n);
		if (rc == 0)
			rc = spool_write(to, r.from, p->piece, n, diag_of(p));
		r.from += n;
	}
	return rc;
}

int put_spool(struct tree_put *p, struct tree_source *s, const struct tree_entry *e)
{
	const struct tree_range whole = {0, e->size}, *r = e->data != NULL ? e->data : &whole;
	size_t n = e->data != NULL ? e->ndata : 1;
	struct spool to = SPOOL_NONE;
	int rc = spool_open(&to, e->size, diag_of(p));

	for (size_t i = 0; i < n && rc == 0; i++) {
		p->bytes += r[i].to - r[i].from;
		rc = feed_check_bytes(p->feed, p->bytes);
		if (rc == 0)
			rc = spool_range(p, s, e, r[i], &to);
	}
	if (rc == 0 && ftruncate(to.fd, (off_t)e->size) < 0)
		rc = diag_errno(diag_of(p), -errno, "cannot spool");
	if (rc == 0)
		return to.fd;
	spool_close(&to);
	return rc;
}

int put_contents(struct tree_put *p, int fd, const char *path, const struct ek_attr *a)
{
	const char *at = put_path(p, path);

	return at != NULL ? ek_put_fd(p->img, at, fd, PUT_FLAGS, a, NULL) : p->path.err;
}

static int put_file(struct tree_put *p, struct tree_source *s, const struct tree_entry *e,
		    const struct ek_attr *a)
{
	int fd = put_spool(p, s, e), rc;

	if (fd < 0)
		return fd;
	rc = put_contents(p, fd, e->path, a);
	close(fd);
	return rc;
}

/* ---- the others ---- */

int put_entry(struct tree_put *p, struct tree_source *s, const struct tree_entry *e,
	      const struct ek_attr *a)
{
	const char *path;

	if (S_ISREG(e->mode))
		return put_file(p, s, e, a);
	path = put_path(p, e->path);
	if (path == NULL)
		return p->path.err;
	if (S_ISLNK(e->mode))
		return ek_symlink(p->img, e->target, path, PUT_FLAGS, a);
	return ek_mknod(p->img, path, e->mode & S_IFMT, e->dev_major, e->dev_minor, PUT_FLAGS, a);
}

/* The project of the folder that path is in. */
static int project_above(struct tree_put *p, const char *path, uint32_t *ret)
{
	const char *slash = strrchr(path, '/');
	struct ek_inode *dir;
	char *up = slash != NULL ? strndup(path, (size_t)(slash - path)) : strdup("");
	int rc = up != NULL ? put_inode(p, up, &dir) : -ENOMEM;

	free(up);
	if (rc < 0)
		return rc;
	*ret = dir->rec.projid;
	ek_inode_close(dir);
	return 0;
}

static int set_project(struct ek_inode *inode, uint32_t project)
{
	struct ek_attr a = {.size = sizeof(a), .mask = EK_ATTR_PROJECT, .project = project};

	return ek_inode_set(inode, &a);
}

static int link_at(struct tree_put *p, const char *first, const char *path)
{
	const char *from = inside(p, &p->first, first), *to = put_path(p, path);

	return from != NULL && to != NULL ? ek_link(p->img, from, to, PUT_FLAGS) : -ENOMEM;
}

/* A folder that hands its project down takes the name while the file is of that one. */
static int link_across(struct tree_put *p, const char *first, const char *path)
{
	struct ek_inode *inode;
	uint32_t theirs, mine;
	int rc = project_above(p, path, &theirs), back;

	if (rc == 0)
		rc = put_inode(p, first, &inode);
	if (rc < 0)
		return rc;
	mine = inode->rec.projid;
	rc = set_project(inode, theirs);
	if (rc == 0) {
		rc = link_at(p, first, path);
		back = set_project(inode, mine);
		rc = rc < 0 ? rc : back;
	}
	ek_inode_close(inode);
	return rc;
}

int put_link(struct tree_put *p, const char *first, const char *path)
{
	int rc = link_at(p, first, path);

	if (rc != -EXDEV)
		return rc;
	diag_clear(diag_of(p));
	return link_across(p, first, path);
}

int put_copy(struct tree_put *p, const char *first, const char *path)
{
	const char *from = inside(p, &p->first, first), *to = put_path(p, path);

	return from != NULL && to != NULL ? ek_copy(p->img, from, p->img, to, 0, NULL) : -ENOMEM;
}

int put_inode(struct tree_put *p, const char *path, struct ek_inode **ret)
{
	const char *at = put_path(p, path);

	if (at == NULL)
		return p->path.err;
	return ek_inode_open(p->img, at, *path != '\0' ? (unsigned)EK_NOFOLLOW : 0, ret);
}

/* e: what is set is the entry's, or NULL. */
static int set_at(struct tree_put *p, const char *path, const struct tree_entry *e,
		  struct ek_attr a)
{
	struct ek_inode *inode;
	int rc = put_inode(p, path, &inode);

	if (rc < 0)
		return rc;
	if (e != NULL)
		put_fit(inode, e, &a);
	rc = ek_inode_set(inode, &a);
	ek_inode_close(inode);
	return rc;
}

int put_set(struct tree_put *p, const struct tree_entry *e, const struct ek_attr *a)
{
	return set_at(p, e->path, e, *a);
}

int put_time(struct tree_put *p, const char *path, struct ek_time mtime)
{
	struct ek_attr a = {.size = sizeof(a), .mask = EK_ATTR_MTIME, .mtime = mtime};

	return set_at(p, path, NULL, a);
}
