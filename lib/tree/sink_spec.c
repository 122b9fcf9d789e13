/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries as lines of a manifest, contents included; doc/SPEC.md has the words. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"
#include "tree/sink.h"
#include "tree/spec.h"

#define PIECE ((size_t)3 << 18) /* of contents; a multiple of three, as base64 wants */

struct writer {
	struct tree_sink k;
	int fd;
	struct str out;
	uint8_t *piece;
};

static struct writer *of(struct tree_sink *k)
{
	return container_of(k, struct writer, k);
}

static int flush(struct writer *w)
{
	const char *p = str_text(&w->out);
	size_t left = w->out.len;

	if (w->out.err != 0)
		return diag_set(w->k.diag, w->out.err, "out of memory for the manifest");
	while (left > 0) {
		ssize_t n = write(w->fd, p, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return diag_errno(w->k.diag, n < 0 ? -errno : -EIO,
					  "cannot write manifest");
		p += n;
		left -= (size_t)n;
	}
	str_cut(&w->out, 0);
	return 0;
}

static const char *type_word(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "dir";
	case S_IFLNK:
		return "link";
	case S_IFCHR:
		return "char";
	case S_IFBLK:
		return "block";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "file";
	}
}

static void put_time(struct str *s, const char *word, struct ek_time t)
{
	str_addf(s, " %s=%" PRId64 ".%09u", word, t.sec, t.nsec);
}

static void put_path(struct str *s, const char *path)
{
	str_adds(s, *path != '\0' ? "./" : ".");
	spec_text(s, path, strlen(path));
}

static void put_words(struct str *s, const struct tree_entry *e)
{
	str_addf(s, " type=%s mode=0%o uid=%u gid=%u", type_word(e->mode), e->mode & 07777, e->uid,
		 e->gid);
	put_time(s, "time", e->mtime);
	if (e->has_atime)
		put_time(s, "atime", e->atime);
	if (e->has_ctime)
		put_time(s, "ctime", e->ctime);
	if (e->has_crtime)
		put_time(s, "crtime", e->crtime);
	if (e->flags != 0)
		str_addf(s, " flags=0x%x", e->flags);
	if (e->project != 0)
		str_addf(s, " project=%u", e->project);
	if (S_ISCHR(e->mode) || S_ISBLK(e->mode))
		str_addf(s, " device=%u,%u", e->dev_major, e->dev_minor);
	if (S_ISLNK(e->mode)) {
		str_adds(s, " link=");
		spec_text(s, e->target, strlen(e->target));
	}
	for (size_t i = 0; i < e->nxattrs; i++) {
		str_adds(s, " xattr.");
		for (const char *p = e->xattrs[i].name; *p != '\0'; p++) {
			if (*p == '=')
				str_adds(s, "\\075");
			else
				spec_text(s, p, 1);
		}
		str_addc(s, '=');
		spec_bytes(s, e->xattrs[i].value, e->xattrs[i].len);
	}
}

static void put_map(struct str *s, const struct tree_entry *e)
{
	if (e->data == NULL || (e->ndata == 1 && e->data[0].from == 0 && e->data[0].to == e->size))
		return;
	str_adds(s, " map=");
	for (size_t i = 0; i < e->ndata; i++)
		str_addf(s, "%s%" PRIu64 "+%" PRIu64, i != 0 ? "," : "", e->data[i].from,
			 e->data[i].to - e->data[i].from);
}

/* Base64 of all ranges in a row; what is left of three bytes waits for the next range. */
static int put_contents(struct writer *w, struct tree_source *s, const struct tree_entry *e)
{
	const struct tree_range whole = {0, e->size}, *r = e->data != NULL ? e->data : &whole;
	size_t n = e->data != NULL ? e->ndata : 1, have = 0;
	int rc = 0;

	str_adds(&w->out, n != 0 ? " data=0s" : " data=");
	for (size_t i = 0; i < n && rc == 0; i++) {
		uint64_t at = r[i].from;

		while (at < r[i].to && rc == 0) {
			size_t len = (size_t)MIN(r[i].to - at, (uint64_t)(PIECE - have));

			rc = s->ops->read(s, e->token, at, w->piece + have, len);
			at += len;
			have += len;
			if (rc == 0 && have == PIECE) {
				spec_base64(&w->out, w->piece, PIECE);
				have = 0;
				rc = flush(w);
			}
		}
	}
	if (rc == 0)
		spec_base64(&w->out, w->piece, have);
	return rc;
}

static int spec_put(struct tree_sink *k, struct tree_source *s, const struct tree_entry *e)
{
	struct writer *w = of(k);
	int rc = 0;

	put_path(&w->out, e->path);
	if (e->link != NULL) {
		str_adds(&w->out, " hard=");
		put_path(&w->out, e->link);
	} else {
		put_words(&w->out, e);
	}
	if (e->link == NULL && S_ISREG(e->mode) && e->size != 0) {
		str_addf(&w->out, " size=%" PRIu64, e->size);
		put_map(&w->out, e);
		rc = put_contents(w, s, e);
	}
	str_addc(&w->out, '\n');
	if (rc == 0 && w->out.len >= PIECE)
		rc = flush(w);
	return rc;
}

static int spec_finish(struct tree_sink *k)
{
	return flush(of(k));
}

static void spec_close(struct tree_sink *k)
{
	struct writer *w = of(k);

	str_free(&w->out);
	free(w->piece);
	free(w);
}

static const struct tree_sink_ops spec_ops = {spec_put, spec_finish, spec_close};

int tree_sink_spec(int fd, struct diag *d, struct tree_sink **ret)
{
	struct writer *w = mem_zero(sizeof(*w));

	if (w != NULL)
		w->piece = malloc(PIECE);
	if (w == NULL || w->piece == NULL) {
		free(w);
		return diag_set(d, -ENOMEM, "out of memory for the manifest");
	}
	w->k = (struct tree_sink){&spec_ops, d};
	w->fd = fd;
	str_adds(&w->out, "#spec 1\n");
	*ret = &w->k;
	return 0;
}
