/* SPDX-License-Identifier: BSD-2-Clause */
/* One name that both trees have: what differs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "ondisk/inode.h"
#include "tree/diff_impl.h"

#define WORDS 96

/* Attributes lie in xattrs when the entry's own are those of the first name. */
static const struct tree_entry *inode_of(const struct diff_node *n)
{
	return &n->inode->e;
}

static const char *type_word(uint32_t mode)
{
	static const struct {
		uint32_t type;
		const char *word;
	} words[] = {{S_IFREG, "file"},   {S_IFDIR, "folder"}, {S_IFLNK, "link"},
		     {S_IFCHR, "char"},   {S_IFBLK, "block"},  {S_IFIFO, "pipe"},
		     {S_IFSOCK, "socket"}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if ((mode & S_IFMT) == words[i].type)
			return words[i].word;
	}
	return "unknown";
}

static int differ_in(struct diff *d, const char *path, const char *what, const char *form,
		     uint64_t a, uint64_t b)
{
	char x[WORDS], y[WORDS];

	if (a == b)
		return 0;
	snprintf(x, sizeof(x), strcmp(form, "o") == 0 ? "%04" PRIo64 : "%" PRIu64, a);
	snprintf(y, sizeof(y), strcmp(form, "o") == 0 ? "%04" PRIo64 : "%" PRIu64, b);
	return diff_tell(d, path, what, x, y);
}

static int differ_in_pairs(struct diff *d, const char *path, const char *what, const uint32_t a[2],
			   const uint32_t b[2])
{
	char x[WORDS], y[WORDS];

	if (a[0] == b[0] && a[1] == b[1])
		return 0;
	snprintf(x, sizeof(x), "%" PRIu32 ":%" PRIu32, a[0], a[1]);
	snprintf(y, sizeof(y), "%" PRIu32 ":%" PRIu32, b[0], b[1]);
	return diff_tell(d, path, what, x, y);
}

static int compare_times(struct diff *d, const struct tree_entry *a, const struct tree_entry *b)
{
	char x[WORDS], y[WORDS];

	if ((d->flags & EK_DIFF_NO_TIMES) != 0 || a->no_mtime || b->no_mtime ||
	    (a->mtime.sec == b->mtime.sec && a->mtime.nsec == b->mtime.nsec))
		return 0;
	snprintf(x, sizeof(x), "%" PRId64 ".%09" PRIu32, a->mtime.sec, a->mtime.nsec);
	snprintf(y, sizeof(y), "%" PRId64 ".%09" PRIu32, b->mtime.sec, b->mtime.nsec);
	return diff_tell(d, b->path, "time", x, y);
}

/* ---- attributes ---- */

static const struct ek_xattr *xattr_of(const struct tree_entry *e, const char *name)
{
	for (size_t i = 0; i < e->nxattrs; i++) {
		if (strcmp(e->xattrs[i].name, name) == 0)
			return &e->xattrs[i];
	}
	return NULL;
}

/* The first attribute of `of` that `in` has not, or with another value. */
static const char *xattr_missing(const struct tree_entry *of, const struct tree_entry *in)
{
	for (size_t i = 0; i < of->nxattrs; i++) {
		const struct ek_xattr *x = &of->xattrs[i], *y = xattr_of(in, x->name);

		if (y == NULL || x->len != y->len ||
		    (x->len != 0 && memcmp(x->value, y->value, x->len) != 0))
			return x->name;
	}
	return NULL;
}

static int compare_xattrs(struct diff *d, const struct tree_entry *a, const struct tree_entry *b)
{
	const char *x, *y;

	if ((d->flags & EK_DIFF_NO_XATTRS) != 0)
		return 0;
	x = xattr_missing(a, b);
	y = xattr_missing(b, a);
	if (x == NULL && y == NULL)
		return 0;
	return diff_tell(d, b->path, "attributes", x != NULL ? x : "-", y != NULL ? y : "-");
}

static bool tells_heirs(const struct tree_entry *e)
{
	return e->has_project || (e->flags & INODE_PROJINHERIT) != 0;
}

/* A tree that tells no projects does not tell either which folders hand theirs down. */
static int compare_flags(struct diff *d, const struct tree_entry *a, const struct tree_entry *b)
{
	uint32_t known = TREE_FLAGS;
	int rc;

	if (!tells_heirs(a) || !tells_heirs(b))
		known &= ~INODE_PROJINHERIT;
	rc = differ_in(d, b->path, "flags", "u", a->flags & known, b->flags & known);
	if (rc == 0 && a->has_project && b->has_project)
		rc = differ_in(d, b->path, "project", "u", a->project, b->project);
	return rc;
}

/* ---- contents ---- */

/* A walk along what is data of one side. */
struct side {
	const struct tree_range *r; /* NULL: all of it */
	size_t n;
	bool data;    /* there is data at the offset */
	uint64_t end; /* where that changes */
};

/* Holes shorter than a piece are read as if they were none. */
static void side_move(struct side *s, uint64_t off, uint64_t size)
{
	s->data = true;
	s->end = size;
	if (s->r == NULL)
		return;
	for (; s->n != 0 && s->r->to <= off; s->n--)
		s->r++;
	s->data = s->n != 0 && (s->r->from <= off || s->r->from - off < DIFF_PIECE);
	if (s->n == 0)
		return;
	if (!s->data) {
		s->end = MIN(size, s->r->from);
		return;
	}
	for (; s->n > 1 && s->r[1].from - s->r[0].to < DIFF_PIECE; s->n--)
		s->r++;
	s->end = MIN(size, s->r->to);
}

static int read_sides(struct diff *d, struct diff_node *n, const struct tree_entry *b,
		      const bool data[2], uint64_t off, size_t len)
{
	uint8_t *x = d->piece, *y = d->piece + DIFF_PIECE;
	int rc = 0;

	if (data[0])
		rc = diff_read(d, n, off, x, len);
	else
		memset(x, 0, len);
	if (rc < 0)
		return rc;
	if (data[1])
		return d->b->ops->read(d->b, b->token, off, y, len);
	memset(y, 0, len);
	return 0;
}

static int compare_piece(struct diff *d, struct diff_node *n, const struct tree_entry *b,
			 const bool data[2], uint64_t off, size_t len)
{
	const uint8_t *x = d->piece, *y = d->piece + DIFF_PIECE;
	int rc = read_sides(d, n, b, data, off, len);
	char at[WORDS];

	if (rc < 0 || memcmp(x, y, len) == 0)
		return rc;
	while (*x == *y) {
		x++;
		y++;
		off++;
	}
	snprintf(at, sizeof(at), "byte %" PRIu64, off);
	rc = diff_tell(d, b->path, "contents", at, at);
	return rc < 0 ? rc : 1;
}

/* A hole is zeros to the other side's data; what is a hole on both sides is passed over. */
static int compare_contents(struct diff *d, struct diff_node *n, const struct tree_entry *b)
{
	struct side x = {.r = n->data, .n = n->ndata}, y = {.r = b->data, .n = b->ndata};
	uint64_t off = 0, end;
	int rc = 0;

	if ((d->flags & EK_DIFF_NO_CONTENTS) != 0 || !b->has_contents)
		return 0;
	for (; off < b->size && rc == 0; off = end) {
		side_move(&x, off, b->size);
		side_move(&y, off, b->size);
		end = MIN(x.end, y.end);
		if (!x.data && !y.data)
			continue;
		end = MIN(end, off + DIFF_PIECE);
		rc = compare_piece(d, n, b, (bool[]){x.data, y.data}, off, (size_t)(end - off));
	}
	return MIN(rc, 0);
}

/* ---- links ---- */

/* Names of one inode here are to be names of one inode there. */
static int compare_links(struct diff *d, struct diff_node *n, const struct tree_entry *b)
{
	struct diff_node *mine = n->inode, *theirs = n;

	if (b->link != NULL) {
		theirs = diff_find(d, b->link);
		if (theirs == NULL) /* told as missing */
			return 0;
		theirs = theirs->inode;
		if (theirs != mine)
			return diff_tell(d, b->path, "links", mine == n ? "-" : mine->e.path,
					 b->link);
		return 0;
	}
	if (mine->other != NULL)
		return diff_tell(d, b->path, "links", mine->e.path, "-");
	mine->other = n;
	return 0;
}

/* ---- entries ---- */

static int compare_kind(struct diff *d, struct diff_node *n, const struct tree_entry *b)
{
	const struct tree_entry *a = inode_of(n);
	int rc = 0;

	if (S_ISREG(b->mode)) {
		if (a->size != b->size)
			return differ_in(d, b->path, "size", "u", a->size, b->size);
		return compare_contents(d, n->inode, b);
	}
	if (S_ISLNK(b->mode) && strcmp(a->target, b->target) != 0)
		return diff_tell(d, b->path, "target", a->target, b->target);
	if (S_ISCHR(b->mode) || S_ISBLK(b->mode))
		rc = differ_in_pairs(d, b->path, "device", (uint32_t[]){a->dev_major, a->dev_minor},
				     (uint32_t[]){b->dev_major, b->dev_minor});
	return rc;
}

int diff_entry(struct diff *d, struct diff_node *n, const struct tree_entry *b)
{
	const struct tree_entry *a = inode_of(n);
	int rc;

	n->met = true;
	/* an archive says no more of a further name than that it is one */
	if (b->link == NULL && (a->mode & S_IFMT) != (b->mode & S_IFMT))
		return diff_tell(d, b->path, "type", type_word(a->mode), type_word(b->mode));
	rc = S_ISDIR(a->mode) ? 0 : compare_links(d, n, b);
	if (rc < 0 || b->link != NULL) /* its inode was compared under the first name */
		return rc;
	if (!S_ISLNK(b->mode))
		rc = differ_in(d, b->path, "mode", "o", a->mode & 07777, b->mode & 07777);
	if (rc == 0 && (d->flags & EK_DIFF_NO_OWNERS) == 0)
		rc = differ_in_pairs(d, b->path, "owner", (uint32_t[]){a->uid, a->gid},
				     (uint32_t[]){b->uid, b->gid});
	if (rc == 0)
		rc = compare_kind(d, n, b);
	if (rc == 0)
		rc = compare_times(d, a, b);
	if (rc == 0)
		rc = compare_xattrs(d, a, b);
	if (rc == 0)
		rc = compare_flags(d, a, b);
	return rc;
}
