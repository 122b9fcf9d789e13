/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Archives as sources, read as a stream by libarchive: tar in all its dialects, cpio and others, in
 * any compression it knows.  Nothing is unpacked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/str.h"
#include "tree/source.h"
#include "tree/xattrs.h"

#ifdef HAVE_LIBARCHIVE

#include <archive.h>
#include <archive_entry.h>

#include "tree/acl.h"

#define BLOCK ((size_t)1 << 16) /* of reads of the host */

/* Numbers of devices that inodes have room for. */
#define MAJOR_MOST 0xfffu
#define MINOR_MOST 0xfffffu

struct reader {
	struct tree_source s;
	struct archive *a;
	struct archive_entry *entry;
	struct str path, link;
	struct xattr_list xattrs;
	struct tree_range *ranges;
	size_t ranges_cap;
	const uint8_t *block; /* the last piece of contents that was handed out */
	size_t block_len;
	uint64_t block_at;
	uint64_t data_end; /* behind which the file is said to be a hole */
	bool at_end;       /* of contents */
};

static struct reader *of(struct tree_source *s)
{
	return container_of(s, struct reader, s);
}

/* Damage of an archive is the source's, not the host's. */
static int bad(struct reader *r, const char *what)
{
	const char *why = archive_error_string(r->a);
	int err = archive_errno(r->a);
	bool host = err == EIO || err == ENOMEM || err == EACCES || err == ENOENT;
	char shown[240];

	if (why == NULL)
		why = "it is damaged";
	escape_to(shown, sizeof(shown), why, strlen(why));
	if (host)
		return diag_errno(r->s.diag, -err, "cannot read archive %s: %s", r->s.name, shown);
	return diag_set(r->s.diag, -EINVAL, "archive %s: %s: %s", r->s.name, what, shown);
}

static struct ek_time time_of(int64_t sec, long nsec)
{
	return (struct ek_time){sec, (uint32_t)nsec};
}

/* libarchive gives names in the archive's own bytes. */
static int clean(struct reader *r, const char *path, struct str *out)
{
	size_t n;

	str_cut(out, 0);
	if (path == NULL)
		return diag_set(r->s.diag, -EINVAL, "archive %s: an entry has no name", r->s.name);
	n = strlen(path);
	if (str_room(out, n + 1) == NULL)
		return -ENOMEM;
	if (tree_clean_path(r->s.name, path, out->p, r->s.diag) < 0)
		return -EINVAL;
	str_cut(out, strlen(out->p));
	return out->err;
}

static int take_xattrs(struct reader *r, struct tree_entry *e)
{
	const char *name;
	const void *value;
	size_t len;
	int rc = 0;

	xattr_list_clear(&r->xattrs);
	if (archive_entry_xattr_reset(r->entry) > 0) {
		while (rc == 0 &&
		       archive_entry_xattr_next(r->entry, &name, &value, &len) == ARCHIVE_OK)
			rc = xattr_list_set(&r->xattrs, name, value, len);
	}
	if (rc == 0)
		rc = acl_from_archive(r->entry, &r->xattrs, &e->mode);
	if (rc < 0)
		return diag_set(r->s.diag, rc, "archive %s: attributes of an entry", r->s.name);
	e->xattrs = r->xattrs.v;
	e->nxattrs = r->xattrs.n;
	return 0;
}

static int take_holes(struct reader *r, struct tree_entry *e)
{
	int64_t off, len;
	uint64_t before = 0;
	int n = archive_entry_sparse_reset(r->entry);

	r->data_end = e->size;
	if (n <= 0)
		return 0;
	r->data_end = 0;
	if (mem_grow((void **)&r->ranges, &r->ranges_cap, (size_t)n, sizeof(*r->ranges)) < 0)
		return -ENOMEM;
	e->data = r->ranges;
	while (archive_entry_sparse_next(r->entry, &off, &len) == ARCHIVE_OK &&
	       e->ndata < (size_t)n) {
		uint64_t end;

		if (len == 0)
			continue;
		if (off < 0 || len < 0 || ck_add((uint64_t)off, (uint64_t)len, &end) ||
		    (uint64_t)off < before || end > e->size)
			return diag_set(
			    r->s.diag, -EINVAL,
			    "archive %s: '%.160s': data at %lld of %lld bytes lie outside of "
			    "the file",
			    r->s.name, e->path, (long long)off, (long long)len);
		before = r->data_end = end;
		r->ranges[e->ndata++] = (struct tree_range){(uint64_t)off, end};
	}
	return 0;
}

static void take_times(struct reader *r, struct tree_entry *e)
{
	struct archive_entry *a = r->entry;

	e->mtime = time_of(archive_entry_mtime(a), archive_entry_mtime_nsec(a));
	e->has_atime = archive_entry_atime_is_set(a) != 0;
	e->has_ctime = archive_entry_ctime_is_set(a) != 0;
	e->has_crtime = archive_entry_birthtime_is_set(a) != 0;
	if (e->has_atime)
		e->atime = time_of(archive_entry_atime(a), archive_entry_atime_nsec(a));
	if (e->has_ctime)
		e->ctime = time_of(archive_entry_ctime(a), archive_entry_ctime_nsec(a));
	if (e->has_crtime)
		e->crtime = time_of(archive_entry_birthtime(a), archive_entry_birthtime_nsec(a));
}

static int take_device(struct reader *r, struct tree_entry *e)
{
	uint64_t major = archive_entry_rdevmajor(r->entry),
		 minor = archive_entry_rdevminor(r->entry);

	if (major > MAJOR_MOST || minor > MINOR_MOST)
		return diag_set(r->s.diag, -EINVAL,
				"archive %s: '%.160s': device %llu,%llu: at most %u,%u can be kept",
				r->s.name, e->path, (unsigned long long)major,
				(unsigned long long)minor, MAJOR_MOST, MINOR_MOST);
	e->dev_major = (uint32_t)major;
	e->dev_minor = (uint32_t)minor;
	return 0;
}

static int take_numbers(struct reader *r, struct tree_entry *e)
{
	struct archive_entry *a = r->entry;
	int64_t uid = archive_entry_uid(a), gid = archive_entry_gid(a),
		size = archive_entry_size(a);

	if (uid < 0 || gid < 0 || uid > UINT32_MAX || gid > UINT32_MAX || size < 0)
		return diag_set(r->s.diag, -EINVAL,
				"archive %s: '%.160s': owner %lld:%lld or size %lld out of range",
				r->s.name, e->path, (long long)uid, (long long)gid,
				(long long)size);
	e->mode = archive_entry_mode(a);
	e->uid = (uint32_t)uid;
	e->gid = (uint32_t)gid;
	if (S_ISREG(e->mode) && !archive_entry_size_is_set(a))
		return diag_set(r->s.diag, -EINVAL,
				"archive %s: '%.160s': its size is told only behind its contents, "
				"and what comes through a pipe is read once",
				r->s.name, e->path);
	if (S_ISREG(e->mode)) {
		e->size = (uint64_t)size;
		e->has_contents = e->size != 0;
	}
	return S_ISCHR(e->mode) || S_ISBLK(e->mode) ? take_device(r, e) : 0;
}

static int take_flags(struct reader *r, struct tree_entry *e)
{
	unsigned long set = 0, clear = 0;

	/* on Linux these are the bits of FS_IOC_SETFLAGS; those of compression mean nothing here */
	archive_entry_fflags(r->entry, &set, &clear);
	e->flags = (uint32_t)set & TREE_FLAGS;
	return 0;
}

static int check_type(struct reader *r, const struct tree_entry *e)
{
	switch (e->mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFLNK:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		return 0;
	default:
		return diag_set(r->s.diag, -EINVAL, "archive %s: '%.160s': type 0%o is unknown",
				r->s.name, e->path, e->mode & S_IFMT);
	}
}

static int take(struct reader *r, struct tree_entry *e)
{
	const char *link = archive_entry_hardlink(r->entry);
	int rc;

	*e = (struct tree_entry){0};
	rc = clean(r, archive_entry_pathname(r->entry), &r->path);
	if (rc < 0)
		return rc;
	e->path = str_text(&r->path);
	if (link != NULL) {
		rc = clean(r, link, &r->link);
		e->link = str_text(&r->link);
		if (rc == 0 && archive_entry_size(r->entry) > 0) {
			e->mode = S_IFREG;
			e->size = (uint64_t)archive_entry_size(r->entry);
			e->has_contents = true;
			r->data_end = e->size;
		}
		return rc;
	}
	rc = take_numbers(r, e);
	if (rc == 0)
		rc = check_type(r, e);
	if (rc == 0 && S_ISLNK(e->mode)) {
		e->target = archive_entry_symlink(r->entry);
		if (e->target == NULL)
			rc = diag_set(r->s.diag, -EINVAL,
				      "archive %s: '%.160s': a link without a target", r->s.name,
				      e->path);
	}
	take_times(r, e);
	if (rc == 0)
		rc = take_holes(r, e);
	if (rc == 0)
		rc = take_flags(r, e);
	return rc < 0 ? rc : take_xattrs(r, e);
}

static int archive_next(struct tree_source *s, struct tree_entry *ret)
{
	struct reader *r = of(s);
	int rc = archive_read_next_header(r->a, &r->entry);

	ret->path = NULL;
	r->block_len = 0;
	r->block_at = 0;
	r->at_end = false;
	if (rc == ARCHIVE_EOF)
		return 0;
	if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
		return bad(r, "header");
	rc = take(r, ret);
	return rc < 0 ? rc : 1;
}

/* The next piece of contents. */
static int next_block(struct reader *r)
{
	const void *p;
	la_int64_t off;
	int rc = archive_read_data_block(r->a, &p, &r->block_len, &off);

	if (rc == ARCHIVE_EOF) {
		r->at_end = true;
		r->block_len = 0;
		return 0;
	}
	if (rc != ARCHIVE_OK) /* a warning is one of a wrong checksum */
		return bad(r, "contents");
	r->block = p;
	r->block_at = (uint64_t)off;
	return 0;
}

/* Behind the last byte a checksum may follow. */
static int finish(struct reader *r)
{
	int rc = 0;

	while (!r->at_end && rc == 0) {
		rc = next_block(r);
		if (rc == 0 && r->block_len != 0)
			rc = diag_set(r->s.diag, -EINVAL,
				      "archive %s: '%.160s' goes on behind the size its header "
				      "tells",
				      r->s.name, str_text(&r->path));
	}
	return rc;
}

static int archive_read(struct tree_source *s, uint64_t token, uint64_t off, void *buf, size_t len)
{
	struct reader *r = of(s);
	uint8_t *to = buf;

	while (len > 0) {
		uint64_t end = r->block_at + r->block_len;
		size_t n;

		if (r->block_len != 0 && off >= r->block_at && off < end) {
			n = (size_t)MIN((uint64_t)len, end - off);
			memcpy(to, r->block + (off - r->block_at), n);
		} else if (off >= end && !r->at_end) {
			int rc = next_block(r);

			if (rc < 0)
				return rc;
			continue;
		} else if (r->at_end && off >= MAX(end, r->data_end)) {
			memset(to, 0, len);
			return 0;
		} else if (r->at_end && off >= end) {
			return diag_set(
			    s->diag, -EINVAL,
			    "archive %s: '%.160s' ends before the size its header tells", s->name,
			    str_text(&r->path));
		} else { /* a hole before the piece */
			n = (size_t)MIN((uint64_t)len, r->block_at - off);
			memset(to, 0, n);
		}
		to += n;
		off += n;
		len -= n;
	}
	return off >= r->data_end && off == r->block_at + r->block_len ? finish(r) : 0;
}

static void archive_close_source(struct tree_source *s)
{
	struct reader *r = of(s);

	archive_read_free(r->a);
	xattr_list_free(&r->xattrs);
	str_free(&r->path);
	str_free(&r->link);
	free(r->ranges);
	free(r);
}

static const struct tree_source_ops archive_ops = {archive_next, NULL, archive_read,
						   archive_close_source, NULL};

/* Not "all": for lzop, lrzip and grzip libarchive would start programs of these names, with what
 * a stranger wrote as their input. */
static void support(struct archive *a)
{
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_lzma(a);
	archive_read_support_filter_lzip(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_filter_lz4(a);
	archive_read_support_filter_compress(a);
	archive_read_support_filter_rpm(a);
	archive_read_support_format_tar(a);
	archive_read_support_format_gnutar(a);
	archive_read_support_format_cpio(a);
	archive_read_support_format_zip(a);
	archive_read_support_format_7zip(a);
	archive_read_support_format_xar(a);
	archive_read_support_format_iso9660(a);
}

int tree_open_archive(const char *name, struct diag *d, struct tree_source **ret)
{
	struct reader *r = mem_zero(sizeof(*r));
	bool is_stdin = strcmp(name, "-") == 0;
	int rc;

	if (r == NULL)
		return diag_set(d, -ENOMEM, "out of memory for %s", name);
	r->s = (struct tree_source){
	    .ops = &archive_ops, .diag = d, .name = is_stdin ? "standard input" : name};
	r->a = archive_read_new();
	if (r->a == NULL) {
		free(r);
		return diag_set(d, -ENOMEM, "out of memory for %s", name);
	}
	support(r->a);
	archive_read_set_options(r->a, "hdrcharset=BINARY");
	rc = is_stdin ? archive_read_open_fd(r->a, 0, BLOCK)
		      : archive_read_open_filename(r->a, name, BLOCK);
	if (rc != ARCHIVE_OK) {
		rc = bad(r, "cannot be read");
		archive_close_source(&r->s);
		return rc;
	}
	*ret = &r->s;
	return 0;
}

#else

int tree_open_archive(const char *name, struct diag *d, struct tree_source **ret)
{
	return diag_set(d, -ENOSYS, "cannot read %s: extkit was built without libarchive", name);
}

#endif
