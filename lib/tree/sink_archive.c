/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries become members of an archive.  tar is written in the pax form, which keeps all but
 * sockets and project numbers; cpio keeps those but neither attributes nor parts of seconds, holes
 * nor files of 4 GiB.
 */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"
#include "tree/sink.h"

#ifdef HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>

#include "tree/acl.h"

#define PIECE ((size_t)1 << 20)

struct writer {
	struct tree_sink k;
	struct archive *a;
	struct archive_entry *entry;
	bool is_cpio;
	uint32_t next;
	uint8_t *piece;
	locale_t utf8; /* names are written as they are while this is the thread's */
};

static struct writer *of(struct tree_sink *k)
{
	return container_of(k, struct writer, k);
}

static int bad(struct writer *w, const char *path)
{
	const char *why = archive_error_string(w->a);
	int err = archive_errno(w->a);
	char shown[160];

	escape_to(shown, sizeof(shown), path, strlen(path));
	return diag_errno(w->k.diag, err > 0 ? -err : -EIO, "cannot write archive: '%s': %s", shown,
			  why != NULL ? why : "the archive ended");
}

static int lost(struct writer *w, const struct tree_entry *e, const char *what)
{
	const char *path = *e->path != '\0' ? e->path : ".";
	char shown[160];

	return diag_set(w->k.diag, -EOPNOTSUPP, "cannot keep in this archive: '%s': %s",
			escape_to(shown, sizeof(shown), path, strlen(path)), what);
}

static int check(struct writer *w, const struct tree_entry *e)
{
	if (e->project != 0)
		return lost(w, e, "its project number");
	for (size_t i = 0; i < e->nxattrs; i++) {
		if (strchr(e->xattrs[i].name, '=') != NULL) /* pax ends a name there */
			return lost(w, e, "an attribute with = in its name");
	}
	if (!w->is_cpio)
		return S_ISSOCK(e->mode) ? lost(w, e, "a socket (cpio and manifests have them)")
					 : 0;
	if (e->nxattrs != 0)
		return lost(w, e, "its attributes");
	if (e->flags != 0)
		return lost(w, e, "its flags");
	if (e->mtime.nsec != 0)
		return lost(w, e, "parts of a second of its time");
	if (e->mtime.sec < 0 || e->mtime.sec > UINT32_MAX)
		return lost(w, e, "its time, which is out of range");
	if (e->size > UINT32_MAX)
		return lost(w, e, "more than 4 GiB");
	return 0;
}

static int take_xattrs(struct writer *w, const struct tree_entry *e)
{
	for (size_t i = 0; i < e->nxattrs; i++) {
		const struct ek_xattr *x = &e->xattrs[i];
		int rc = 0;

		if (strcmp(x->name, "system.posix_acl_access") == 0)
			rc = acl_to_archive(w->entry, x, ARCHIVE_ENTRY_ACL_TYPE_ACCESS);
		else if (strcmp(x->name, "system.posix_acl_default") == 0)
			rc = acl_to_archive(w->entry, x, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT);
		else
			archive_entry_xattr_add_entry(w->entry, x->name, x->value, x->len);
		if (rc < 0)
			return lost(w, e, "its access list, which is damaged");
	}
	return 0;
}

static void take_times(struct writer *w, const struct tree_entry *e)
{
	archive_entry_set_mtime(w->entry, e->mtime.sec, (long)e->mtime.nsec);
	if (w->is_cpio)
		return;
	if (e->has_atime)
		archive_entry_set_atime(w->entry, e->atime.sec, (long)e->atime.nsec);
	if (e->has_ctime)
		archive_entry_set_ctime(w->entry, e->ctime.sec, (long)e->ctime.nsec);
	if (e->has_crtime)
		archive_entry_set_birthtime(w->entry, e->crtime.sec, (long)e->crtime.nsec);
}

static void take_holes(struct writer *w, const struct tree_entry *e)
{
	if (e->data == NULL || w->is_cpio ||
	    (e->ndata == 1 && e->data[0].from == 0 && e->data[0].to == e->size))
		return;
	if (e->ndata == 0)
		archive_entry_sparse_add_entry(w->entry, 0, 0);
	for (size_t i = 0; i < e->ndata; i++)
		archive_entry_sparse_add_entry(w->entry, (la_int64_t)e->data[i].from,
					       (la_int64_t)(e->data[i].to - e->data[i].from));
}

/* "./" and the path: no name of a tree then looks like an option to whoever unpacks it. */
static int set_path(const char *path, struct archive_entry *entry,
		    void (*set)(struct archive_entry *, const char *))
{
	size_t n = strlen(path);
	char *text = malloc(n + 3);

	if (text == NULL)
		return -ENOMEM;
	memcpy(text, "./", 2);
	memcpy(text + 2, path, n + 1);
	set(entry, n == 0 ? "." : text);
	free(text);
	return 0;
}

static int fill(struct writer *w, const struct tree_entry *e)
{
	archive_entry_clear(w->entry);
	if (set_path(e->path, w->entry, archive_entry_set_pathname) < 0 ||
	    (e->link != NULL && set_path(e->link, w->entry, archive_entry_set_hardlink) < 0))
		return diag_set(w->k.diag, -ENOMEM, "out of memory for the archive");
	archive_entry_set_mode(w->entry, (mode_t)e->mode);
	archive_entry_set_uid(w->entry, e->uid);
	archive_entry_set_gid(w->entry, e->gid);
	archive_entry_set_size(w->entry, e->link == NULL ? (la_int64_t)e->size : 0);
	archive_entry_set_ino(w->entry, e->token != 0 ? (la_int64_t)e->token : ++w->next);
	archive_entry_set_nlink(w->entry, e->nlink != 0 ? e->nlink : 1);
	if (S_ISCHR(e->mode) || S_ISBLK(e->mode)) {
		archive_entry_set_rdevmajor(w->entry, e->dev_major);
		archive_entry_set_rdevminor(w->entry, e->dev_minor);
	}
	take_times(w, e);
	if (e->link != NULL)
		return 0;
	if (S_ISLNK(e->mode))
		archive_entry_set_symlink(w->entry, e->target);
	take_holes(w, e);
	if (e->flags != 0)
		archive_entry_set_fflags(w->entry, e->flags, 0);
	/* An access list changes the group's bits of the mode from the mask to its own, which is
	 * what the list is written with; whoever sets the list gets the mask again. */
	return take_xattrs(w, e);
}

/* Everything from 0 to size: the writer leaves holes out itself. */
static int put_contents(struct writer *w, struct tree_source *s, const struct tree_entry *e)
{
	uint64_t at = 0;
	size_t i = 0;
	int rc = 0;

	while (at < e->size && rc == 0) {
		uint64_t end = e->size;
		bool hole = false;
		size_t n;

		while (e->data != NULL && i < e->ndata && e->data[i].to <= at)
			i++;
		if (e->data != NULL) {
			hole = i == e->ndata || e->data[i].from > at;
			end = i == e->ndata ? e->size : hole ? e->data[i].from : e->data[i].to;
		}
		n = (size_t)MIN(end - at, (uint64_t)PIECE);
		if (hole)
			memset(w->piece, 0, n);
		else
			rc = s->ops->read(s, e->token, at, w->piece, n);
		if (rc == 0 && archive_write_data(w->a, w->piece, n) != (la_ssize_t)n)
			rc = bad(w, e->path);
		at += n;
	}
	return rc;
}

static int archive_put(struct tree_sink *k, struct tree_source *s, const struct tree_entry *e)
{
	struct writer *w = of(k);
	locale_t before = (locale_t)0;
	int rc = e->link == NULL ? check(w, e) : 0;

	if (rc == 0)
		rc = fill(w, e);
	if (rc < 0)
		return rc;
	if (w->utf8 != (locale_t)0)
		before = uselocale(w->utf8);
	rc = archive_write_header(w->a, w->entry);
	if (w->utf8 != (locale_t)0)
		uselocale(before);
	if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
		return bad(w, e->path);
	if (e->link != NULL || !S_ISREG(e->mode))
		return 0;
	return put_contents(w, s, e);
}

static int archive_finish(struct tree_sink *k)
{
	struct writer *w = of(k);

	return archive_write_close(w->a) == ARCHIVE_OK ? 0 : bad(w, ".");
}

static void archive_close_sink(struct tree_sink *k)
{
	struct writer *w = of(k);

	archive_entry_free(w->entry);
	archive_write_free(w->a);
	if (w->utf8 != (locale_t)0)
		freelocale(w->utf8);
	free(w->piece);
	free(w);
}

static const struct tree_sink_ops archive_ops = {archive_put, archive_finish, archive_close_sink};

static int start(struct writer *w, int fd, const char *filter)
{
	int rc = w->is_cpio ? archive_write_set_format_cpio_newc(w->a)
			    : archive_write_set_format_pax(w->a);

	if (rc == ARCHIVE_OK && !w->is_cpio)
		rc = archive_write_set_format_option(w->a, "pax", "xattrheader", "SCHILY");
	if (rc == ARCHIVE_OK && !w->is_cpio && w->utf8 == (locale_t)0)
		rc = archive_write_set_format_option(w->a, "pax", "hdrcharset", "BINARY");
	if (rc == ARCHIVE_OK && filter != NULL)
		rc = archive_write_add_filter_by_name(w->a, filter);
	if (rc == ARCHIVE_OK || rc == ARCHIVE_WARN)
		rc = archive_write_set_bytes_in_last_block(w->a, 1);
	if (rc == ARCHIVE_OK)
		rc = archive_write_open_fd(w->a, fd);
	if (rc == ARCHIVE_OK)
		return 0;
	return diag_set(w->k.diag, -EINVAL, "cannot write archive: %s",
			archive_error_string(w->a) != NULL ? archive_error_string(w->a)
							   : "unknown format");
}

int tree_sink_archive(int fd, const char *format, const char *filter, struct diag *d,
		      struct tree_sink **ret)
{
	struct writer *w = mem_zero(sizeof(*w));
	int rc = -ENOMEM;

	if (w == NULL)
		return diag_set(d, rc, "out of memory for the archive");
	w->k = (struct tree_sink){&archive_ops, d};
	w->is_cpio = strcmp(format, "cpio") == 0;
	w->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	w->a = archive_write_new();
	w->entry = archive_entry_new();
	w->piece = malloc(PIECE);
	if (w->a != NULL && w->entry != NULL && w->piece != NULL)
		rc = start(w, fd, filter);
	if (rc < 0) {
		archive_close_sink(&w->k);
		return diag_set(d, rc, "out of memory for the archive");
	}
	*ret = &w->k;
	return 0;
}

#else

int tree_sink_archive(int fd, const char *format, const char *filter, struct diag *d,
		      struct tree_sink **ret)
{
	return diag_set(d, -ENOSYS, "cannot write %s: extkit was built without libarchive", format);
}

#endif
