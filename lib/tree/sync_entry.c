/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One entry of a source against what the image has under its name: left as it is, set, replaced,
 * made, or linked.  An inode of the image serves the first inode of the source that keeps it; other
 * names of it become names of what the source says, or get an inode of their own.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/diag.h"
#include "base/escape.h"
#include "extkit/edit.h"
#include "fs/image.h"
#include "tree/spool.h"
#include "tree/sync_impl.h"

enum word {
	WORD_MODE = 1 << 0,
	WORD_OWNER = 1 << 1,
	WORD_TIME = SYNC_TIME,
	WORD_XATTRS = 1 << 3,
	WORD_FLAGS = 1 << 4,
	WORD_PROJECT = 1 << 5,
	WORD_WHOLE = 1 << 6 /* another inode is wanted */
};

int sync_collect(void *arg, const struct ek_difference *d)
{
	static const struct {
		const char *what;
		unsigned word;
	} known[] = {{"mode", WORD_MODE},         {"owner", WORD_OWNER}, {"time", WORD_TIME},
		     {"attributes", WORD_XATTRS}, {"flags", WORD_FLAGS}, {"project", WORD_PROJECT}};
	struct sync *y = arg;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(d->what, known[i].what) == 0) {
			y->words |= known[i].word;
			return 0;
		}
	}
	y->words |= WORD_WHOLE;
	return 0;
}

/* ---- attributes ---- */

static struct ek_attr attr_of_words(const struct sync *y, const struct tree_entry *e,
				    unsigned words)
{
	static const struct {
		unsigned word, mask;
	} masks[] = {
	    {WORD_MODE, EK_ATTR_MODE},       {WORD_OWNER, EK_ATTR_MODE | EK_ATTR_UID | EK_ATTR_GID},
	    {WORD_TIME, EK_ATTR_MTIME},      {WORD_FLAGS, EK_ATTR_FLAGS},
	    {WORD_PROJECT, EK_ATTR_PROJECT},
	};
	struct ek_attr a = put_attr(&y->put, e);
	unsigned mask = 0;

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++)
		mask |= (words & masks[i].word) != 0 ? masks[i].mask : 0;
	a.mask &= mask;
	if ((words & WORD_XATTRS) == 0)
		a.nxattrs = 0;
	return a;
}

static bool has_xattr(const struct tree_entry *e, const char *name)
{
	for (size_t i = 0; i < e->nxattrs; i++) {
		if (strcmp(e->xattrs[i].name, name) == 0)
			return true;
	}
	return false;
}

static int drop_xattrs(struct ek_inode *inode, const struct tree_entry *e)
{
	struct ek_xattrs *all;
	const struct ek_xattr *x;
	int rc = ek_inode_xattrs(inode, &all);

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && (x = ek_xattrs_get(all, i)) != NULL; i++) {
		if (!has_xattr(e, x->name))
			rc = ek_inode_remove_xattr(inode, x->name);
	}
	ek_xattrs_free(all);
	return rc;
}

/* What goes makes room for what comes. */
static int set_words(struct sync *y, const struct tree_entry *e, unsigned words)
{
	struct ek_attr a = attr_of_words(y, e, words);
	struct ek_inode *inode;
	int rc = sync_tell(y, e->path, "set");

	if (rc == 0)
		rc = put_inode(&y->put, e->path, &inode);
	if (rc < 0)
		return rc;
	if ((words & WORD_XATTRS) != 0)
		rc = drop_xattrs(inode, e);
	put_fit(inode, e, &a);
	if (rc == 0)
		rc = ek_inode_set(inode, &a);
	ek_inode_close(inode);
	return rc;
}

/* ---- comparison ---- */

/* Contents of a stream that wait on the host, so that they can be compared and put as well. */
struct waiting {
	struct tree_source s;
	int fd;
};

static int waiting_read(struct tree_source *s, uint64_t token, uint64_t off, void *buf, size_t len)
{
	const struct waiting *w = container_of(s, struct waiting, s);

	(void)token;
	return spool_read(w->fd, off, buf, len, s->diag);
}

/* Whether contents will be compared and can be read only once. */
static bool must_wait(const struct sync_place *at, const struct tree_source *s,
		      const struct tree_entry *e)
{
	return !s->later && e->has_contents && S_ISREG(e->mode) && S_ISREG(at->type) &&
	       at->was->inode->e.size == e->size;
}

/* Inodes of 128 bytes keep whole seconds: they are as equal as they can be. */
static bool is_same_second(const struct sync *y, const struct sync_place *at,
			   const struct tree_entry *e)
{
	return y->put.img->geom.inode_size == 128 && at->was->inode->e.mtime.sec == e->mtime.sec;
}

/* What the entry's contents are read from: where they wait, if they do. */
static struct tree_source *readable(struct waiting *w, struct tree_source *s)
{
	static const struct tree_source_ops ops = {.read = waiting_read};

	w->s = (struct tree_source){.ops = &ops, .diag = s->diag};
	return w->fd >= 0 ? &w->s : s;
}

/* y->words; w->fd is open when the contents wait there. */
static int compare(struct sync *y, struct sync_place *at, struct tree_source *s,
		   const struct tree_entry *e, struct waiting *w)
{
	int rc;

	y->words = 0;
	if (must_wait(at, s, e)) {
		w->fd = put_spool(&y->put, s, e);
		if (w->fd < 0)
			return w->fd;
	}
	y->diff.b = readable(w, s);
	rc = diff_entry(&y->diff, at->was, e);
	y->diff.b = NULL;
	if ((y->words & WORD_TIME) != 0 && is_same_second(y, at, e))
		y->words &= ~(unsigned)WORD_TIME;
	return rc;
}

/* ---- kinds ---- */

int sync_make_room(struct sync *y, struct sync_place *at)
{
	char shown[160];

	if (!S_ISDIR(at->type))
		return 0;
	if (at->told || at->entered)
		return diag_set(&y->ctx->diag, -EISDIR, "bad tree: '%s' is a folder in the source",
				escape_to(shown, sizeof(shown), at->path, strlen(at->path)));
	return sync_clear(y, at);
}

static int make_folder(struct sync *y, struct sync_place *at, const struct tree_entry *e)
{
	struct ek_attr a = put_attr(&y->put, e), flags = attr_of_words(y, e, WORD_FLAGS);
	bool inherits = put_inherits(&y->put, e);
	const char *path;
	int rc = sync_tell(y, e->path, at->type != 0 ? "replace" : "make");

	if (rc == 0 && at->type != 0)
		rc = sync_clear(y, at);
	if (rc < 0)
		return rc;
	if (inherits)
		a.mask &= ~(unsigned)EK_ATTR_FLAGS;
	path = put_path(&y->put, e->path);
	rc = path != NULL ? ek_mkdir(y->put.img, path, 0, &a) : -ENOMEM;
	if (rc == 0 && inherits)
		rc = put_set(&y->put, e, &flags);
	return rc < 0 ? rc : sync_made(y, at, S_IFDIR, 0);
}

static int take_folder(struct sync *y, struct sync_place *at, struct tree_source *s,
		       const struct tree_entry *e)
{
	struct waiting w = {.fd = -1};
	int rc;

	at->mtime = e->mtime;
	at->has_mtime = !e->no_mtime;
	if (!S_ISDIR(at->type))
		return make_folder(y, at, e);
	if (at->fresh || at->told)
		return set_words(y, e, ~0u);
	rc = compare(y, at, s, e, &w);
	return rc < 0 || y->words == 0 ? rc : set_words(y, e, y->words);
}

static int put_whole(struct sync *y, struct sync_place *at, struct tree_source *s,
		     const struct tree_entry *e, int fd)
{
	struct ek_attr a = put_attr(&y->put, e);
	int rc = sync_tell(y, e->path, at->type != 0 ? "replace" : "make");

	if (rc == 0)
		rc = sync_make_room(y, at);
	if (rc == 0)
		rc =
		    fd >= 0 ? put_contents(&y->put, fd, e->path, &a) : put_entry(&y->put, s, e, &a);
	return rc < 0 ? rc : sync_made(y, at, e->mode & S_IFMT, 0);
}

/* A name that is free: perhaps the image has the file already. */
static int take_new(struct sync *y, struct sync_place *at, struct tree_source *s,
		    const struct tree_entry *e)
{
	struct waiting w = {.fd = -1};
	struct diff_node *kin = NULL;
	int rc = 0;

	if (sync_has_kin(y, e)) {
		if (!s->later && e->has_contents) {
			w.fd = put_spool(&y->put, s, e);
			rc = MIN(w.fd, 0);
		}
		if (rc == 0)
			rc = sync_find_kin(y, readable(&w, s), e, &kin);
	}
	if (rc >= 0)
		rc = kin != NULL ? sync_join(y, at, kin) : put_whole(y, at, s, e, w.fd);
	if (w.fd >= 0)
		close(w.fd);
	return rc;
}

static int take_other(struct sync *y, struct sync_place *at, struct tree_source *s,
		      const struct tree_entry *e)
{
	struct waiting w = {.fd = -1};
	int rc = 0;

	if (at->type == 0)
		return take_new(y, at, s, e);
	if (at->fresh || at->told)
		return put_whole(y, at, s, e, -1);
	rc = compare(y, at, s, e, &w);
	at->same = rc == 0 && y->words == 0;
	if (rc == 0 && (y->words & WORD_WHOLE) != 0)
		rc = put_whole(y, at, s, e, w.fd);
	else if (rc == 0 && y->words != 0)
		rc = set_words(y, e, y->words);
	if (w.fd >= 0)
		close(w.fd);
	return rc;
}

/* ---- entries ---- */

static bool is_spared(const struct sync *y, const char *path)
{
	return y->spare && strncmp(path, "lost+found", 10) == 0 &&
	       (path[10] == '\0' || path[10] == '/');
}

static int take(struct sync *y, struct tree_source *s, const struct tree_entry *e)
{
	struct sync_place *at;
	int rc = sync_enter(y, e->path);

	if (rc == 0)
		rc = sync_place(y, e->path, strlen(e->path), &at);
	if (rc < 0)
		return rc;
	if (e->link != NULL)
		rc = sync_link(y, at, e);
	else if (S_ISDIR(e->mode))
		rc = take_folder(y, at, s, e);
	else
		rc = take_other(y, at, s, e);
	if (rc == 0)
		at->told = true;
	return rc;
}

int sync_entry(void *arg, struct tree_source *s, struct tree_entry *e)
{
	struct sync *y = arg;

	if (*e->path == '\0' && (e->link != NULL || !S_ISDIR(e->mode)))
		return diag_set(&y->ctx->diag, -ENOTDIR,
				"bad tree: the start of the tree is no folder");
	if (!is_spared(y, e->path))
		return take(y, s, e);
	if (s->ops->prune != NULL)
		s->ops->prune(s);
	return 0;
}
