/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A manifest as a source: one line for each name; doc/SPEC.md has the words.  The file is read once
 * from its beginning to its end, word by word.  Contents in a line are not kept: where they lie is
 * noted, and they are read again when they are asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/str.h"
#include "extkit/inode.h"
#include "tree/manifest_impl.h"
#include "tree/spec.h"

static struct reader *of(struct tree_source *s)
{
	return container_of(s, struct reader, s);
}

/* ---- words ---- */

static int take_number_word(struct reader *r, const char *key, struct tree_entry *e)
{
	const char *v = str_text(&r->word);

	if (strcmp(key, "mode") == 0)
		return manifest_narrow(r, v, 8, 07777, &r->set.mode);
	if (strcmp(key, "uid") == 0)
		return manifest_narrow(r, v, 10, UINT32_MAX, &e->uid);
	if (strcmp(key, "gid") == 0)
		return manifest_narrow(r, v, 10, UINT32_MAX, &e->gid);
	if (strcmp(key, "project") == 0)
		return manifest_narrow(r, v, 10, UINT32_MAX, &e->project);
	if (strcmp(key, "flags") == 0)
		return manifest_narrow(r, v, 0, UINT32_MAX, &e->flags);
	if (strcmp(key, "size") == 0) {
		r->has_size = true;
		return manifest_number(r, v, 10, INT64_MAX, &e->size);
	}
	return 1;
}

static int take_time_word(struct reader *r, const char *key, struct tree_entry *e)
{
	const char *v = str_text(&r->word);

	if (strcmp(key, "time") == 0) {
		e->no_mtime = false;
		return manifest_time_value(r, v, &e->mtime);
	}
	if (strcmp(key, "atime") == 0) {
		e->has_atime = true;
		return manifest_time_value(r, v, &e->atime);
	}
	if (strcmp(key, "ctime") == 0) {
		e->has_ctime = true;
		return manifest_time_value(r, v, &e->ctime);
	}
	if (strcmp(key, "crtime") == 0) {
		e->has_crtime = true;
		return manifest_time_value(r, v, &e->crtime);
	}
	return 1;
}

static void swap(struct str *a, struct str *b)
{
	struct str t = *a;

	*a = *b;
	*b = t;
}

static int take_text_word(struct reader *r, const char *key, struct tree_entry *e)
{
	if (strcmp(key, "link") == 0) {
		swap(&r->word, &r->target);
		e->target = "";
		return manifest_text_value(r, &r->target);
	}
	if (strcmp(key, "hard") == 0) {
		swap(&r->word, &r->link);
		e->link = "";
		return manifest_path_value(r, &r->link);
	}
	if (strcmp(key, "contents") == 0) {
		swap(&r->word, &r->file);
		r->has_data = true;
		r->here = (struct place){.kind = PLACE_FILE};
		return manifest_path_value(r, &r->file);
	}
	if (strcmp(key, "device") == 0)
		return manifest_device_value(r, r->word.len != 0 ? r->word.p : (char[]){""}, e);
	return 1;
}

static int take_word(struct reader *r, const char *key, struct tree_entry *e)
{
	int rc;

	if (strcmp(key, "data") == 0)
		return manifest_data_value(r);
	if (strcmp(key, "map") == 0)
		return manifest_map_value(r);
	rc = manifest_read_word(r, -2, &r->word);
	if (rc < 0)
		return rc;
	if (strncmp(key, "xattr.", 6) == 0)
		return manifest_xattr_value(r, key + 6);
	r->lasting += strcmp(key, "type") == 0 || strcmp(key, "mode") == 0 ||
		      strcmp(key, "uid") == 0 || strcmp(key, "gid") == 0;
	if (strcmp(key, "type") == 0) {
		r->has_type = true;
		return manifest_type_value(r, str_text(&r->word), &r->set.type);
	}
	r->set.has_mode |= strcmp(key, "mode") == 0;
	rc = take_number_word(r, key, e);
	if (rc == 1)
		rc = take_time_word(r, key, e);
	if (rc == 1)
		rc = take_text_word(r, key, e);
	return rc == 1 ? manifest_bad(r, "unknown word", key) : rc;
}

/* Words up to the end of the line. */
static int take_words(struct reader *r, struct tree_entry *e)
{
	struct str key = {0};
	int rc = manifest_skip_blanks(r);

	while (rc == 0) {
		int c = manifest_peek(r, &rc);

		if (c < 0 || c == '\n')
			break;
		rc = manifest_read_word(r, '=', &key);
		if (rc == 0 && manifest_peek(r, &rc) != '=')
			rc = manifest_bad(r, "a word without =", str_text(&key));
		if (rc == 0) {
			r->at++;
			r->words++;
			rc = take_word(r, str_text(&key), e);
		}
		if (rc == 0)
			rc = manifest_skip_blanks(r);
	}
	str_free(&key);
	return rc;
}

/* ---- lines ---- */

/* Text in the line becomes bytes in memory, kept until the end. */
static int take_text(struct reader *r, uint64_t *size)
{
	size_t len = (size_t)r->here.len;
	char *text;

	if (r->here.len > MANIFEST_WORD)
		return manifest_bad(
		    r, "contents as text are too long: base64 behind 0s may be longer", NULL);
	text = malloc(len + 1);
	if (text == NULL)
		return -ENOMEM;
	if (pread(r->fd, text, len, (off_t)r->here.at) != (ssize_t)len ||
	    spec_unbytes(text, &len) < 0) {
		free(text);
		return manifest_bad(r, "contents", NULL);
	}
	r->here.text = text;
	*size = len;
	return 0;
}

static int contents_size(struct reader *r, uint64_t *ret)
{
	struct stat st;
	int fd;

	if (r->here.kind == PLACE_BASE64) {
		uint8_t tail[4];

		*ret = r->here.len / 4 * 3;
		if (r->here.len == 0)
			return 0;
		if (pread(r->fd, tail, 4, (off_t)(r->here.at + r->here.len - 4)) != 4)
			return diag_errno(r->s.diag, -EIO, "cannot read %s", r->s.name);
		*ret -= (tail[3] == '=' ? 1u : 0u) + (tail[2] == '=' ? 1u : 0u);
		return 0;
	}
	if (r->here.kind == PLACE_TEXT)
		return take_text(r, ret);
	fd = openat(r->folder, str_text(&r->file), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return diag_errno(r->s.diag, -errno, "cannot read %s", str_text(&r->file));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return manifest_bad(r, "contents are no regular file", str_text(&r->file));
	}
	close(fd);
	*ret = (uint64_t)st.st_size;
	return 0;
}

static int note_place(struct reader *r, struct tree_entry *e)
{
	struct place p = r->here;

	if (mem_grow((void **)&r->places, &r->places_cap, r->nplaces + 1, sizeof(p)) < 0)
		return -ENOMEM;
	if (p.kind == PLACE_FILE) {
		p.text = strdup(str_text(&r->file));
		if (p.text == NULL)
			return -ENOMEM;
	}
	if (r->has_map) { /* of nothing, when all is hole */
		p.data = malloc((r->nranges + 1) * sizeof(*p.data));
		if (p.data == NULL) {
			free(p.text);
			return -ENOMEM;
		}
		if (r->nranges != 0)
			memcpy(p.data, r->ranges, r->nranges * sizeof(*p.data));
		p.ndata = r->nranges;
	}
	e->token = r->nplaces;
	r->places[r->nplaces++] = p;
	return 0;
}

/* What is said of contents must agree: their length, the map and the size. */
static int take_contents(struct reader *r, struct tree_entry *e)
{
	uint64_t size = 0, mapped = 0, end = r->nranges != 0 ? r->ranges[r->nranges - 1].to : 0;
	int rc = r->has_data ? contents_size(r, &size) : 0;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < r->nranges; i++)
		mapped += r->ranges[i].to - r->ranges[i].from;
	if (!r->has_data && e->size != 0)
		r->has_map = true; /* all hole */
	if (!r->has_size)
		e->size = r->has_map && end > size ? end : size;
	if (r->here.kind == PLACE_FILE)
		mapped = size = e->size == size ? size : UINT64_MAX; /* it is as large as it is */
	if (end > e->size || (r->has_map ? mapped != size : e->size != size)) {
		free(r->here.text);
		return manifest_bad(r, "size, map and contents do not agree", str_text(&r->path));
	}
	e->has_contents = e->size != 0;
	if (r->has_map) {
		rc = mem_grow((void **)&r->ranges, &r->ranges_cap, 1, sizeof(*r->ranges));
		e->data = r->ranges;
		e->ndata = r->nranges;
	}
	if (rc == 0)
		rc = note_place(r, e);
	return rc < 0 ? diag_set(r->s.diag, rc, "out of memory for %s", r->s.name) : 0;
}

static int finish_entry(struct reader *r, struct tree_entry *e)
{
	e->path = str_text(&r->path);
	if (e->link != NULL) {
		e->link = str_text(&r->link);
		if (r->words > 1)
			return manifest_bad(r, "a further name has hard= alone", e->path);
		return 0;
	}
	if (!r->has_type && e->target != NULL)
		r->set.type = S_IFLNK;
	e->mode = r->set.type | (r->set.has_mode        ? r->set.mode
				 : S_ISDIR(r->set.type) ? 0755u
				 : S_ISLNK(r->set.type) ? 0777u
							: 0644u);
	if (S_ISLNK(e->mode) != (e->target != NULL))
		return manifest_bad(r, "a link wants link=, and nothing else does", e->path);
	if (e->target != NULL)
		e->target = str_text(&r->target);
	if (!S_ISREG(e->mode) && (r->has_data || r->has_size))
		return manifest_bad(r, "only a file has contents", e->path);
	if ((e->flags & ~(uint32_t)TREE_FLAGS) != 0)
		return manifest_bad(r, "flags that cannot be set", e->path);
	e->xattrs = r->xattrs.v;
	e->nxattrs = r->xattrs.n;
	return S_ISREG(e->mode) ? take_contents(r, e) : 0;
}

/* "/set key=value..." holds for the lines behind it, "/unset" ends it. */
static int directive(struct reader *r, struct defaults *keep)
{
	struct tree_entry e = {.uid = keep->uid, .gid = keep->gid};
	bool is_set = strcmp(str_text(&r->path), "/set") == 0;
	int rc;

	if (!is_set && strcmp(str_text(&r->path), "/unset") != 0)
		return manifest_bad(r, "unknown directive", str_text(&r->path));
	if (!is_set) {
		*keep = (struct defaults){.type = S_IFREG};
		return manifest_skip_line(r);
	}
	r->set = *keep;
	rc = take_words(r, &e);
	if (rc == 0 && r->words != r->lasting)
		rc = manifest_bad(r, "/set takes type, mode, uid and gid", NULL);
	keep->type = r->set.type;
	keep->mode = r->set.mode;
	keep->has_mode = r->set.has_mode;
	keep->uid = e.uid;
	keep->gid = e.gid;
	return rc;
}

static void begin_line(struct reader *r, const struct defaults *keep, struct tree_entry *e)
{
	*e = (struct tree_entry){
	    .uid = keep->uid, .gid = keep->gid, .no_mtime = true, .has_project = true};
	r->set = *keep;
	r->nranges = 0;
	r->words = r->lasting = 0;
	r->has_size = r->has_data = r->has_type = r->has_map = false;
	r->here = (struct place){0};
	xattr_list_clear(&r->xattrs);
}

/* 1: a line with an entry, 0: the end. */
static int next_line(struct reader *r, struct defaults *keep, struct tree_entry *e)
{
	int rc = 0, c;

	for (;;) {
		r->line++;
		rc = manifest_skip_blanks(r);
		c = manifest_peek(r, &rc);
		if (rc < 0 || c < 0)
			return rc;
		begin_line(r, keep, e);
		if (c == '#') {
			rc = manifest_skip_line(r);
		} else if (c != '\n') {
			rc = manifest_read_word(r, -2, &r->path);
			if (rc == 0 && r->path.p[0] != '/') {
				rc = manifest_path_value(r, &r->path);
				if (rc == 0)
					rc = take_words(r, e);
				return rc < 0 ? rc : 1;
			}
			if (rc == 0)
				rc = directive(r, keep);
		}
		if (rc < 0)
			return rc;
		if (manifest_peek(r, &rc) == '\n')
			r->at++;
	}
}

static int spec_next(struct tree_source *s, struct tree_entry *ret)
{
	struct reader *r = of(s);
	struct defaults keep = r->set;
	int rc = next_line(r, &keep, ret), ignore = 0;

	if (rc == 1)
		rc = finish_entry(r, ret);
	else if (rc == 0)
		return 0;
	r->set = keep;
	if (rc < 0)
		ret->path = NULL; /* what follows would be guesswork */
	if (rc == 0 && manifest_peek(r, &ignore) == '\n')
		r->at++;
	return rc < 0 ? rc : 1;
}

static void spec_close(struct tree_source *s)
{
	struct reader *r = of(s);

	for (size_t i = 0; i < r->nplaces; i++) {
		free(r->places[i].text);
		free(r->places[i].data);
	}
	free(r->places);
	free(r->ranges);
	free(r->buf);
	xattr_list_free(&r->xattrs);
	str_free(&r->path);
	str_free(&r->link);
	str_free(&r->target);
	str_free(&r->file);
	str_free(&r->word);
	if (r->open_fd >= 0)
		close(r->open_fd);
	if (r->folder >= 0)
		close(r->folder);
	if (r->fd >= 0)
		close(r->fd);
	free(r);
}

static const struct tree_source_ops spec_ops = {spec_next, NULL, manifest_read, spec_close, NULL};

static int open_both(struct reader *r)
{
	const char *slash = strrchr(r->s.name, '/');
	char *head =
	    slash != NULL ? strndup(r->s.name, (size_t)(slash - r->s.name) + 1) : strdup(".");

	r->fd = open(r->s.name, O_RDONLY | O_CLOEXEC);
	r->folder = head != NULL ? open(head, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(head);
	if (r->fd < 0 || r->folder < 0)
		return diag_errno(r->s.diag, -errno, "cannot read %s", r->s.name);
	return 0;
}

int tree_open_spec(const char *name, struct diag *d, struct tree_source **ret)
{
	struct reader *r = mem_zero(sizeof(*r));
	int rc;

	if (r == NULL)
		return diag_set(d, -ENOMEM, "out of memory for %s", name);
	r->s = (struct tree_source){
	    .ops = &spec_ops, .diag = d, .name = name, .later = true, .strict = true};
	r->fd = r->folder = r->open_fd = -1;
	r->set.type = S_IFREG;
	r->buf = malloc(MANIFEST_BUF);
	rc = r->buf != NULL ? open_both(r) : diag_set(d, -ENOMEM, "out of memory for %s", name);
	if (rc < 0) {
		spec_close(&r->s);
		return rc;
	}
	*ret = &r->s;
	return 0;
}
