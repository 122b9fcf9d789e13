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
#include "tree/source.h"
#include "tree/spec.h"
#include "tree/xattrs.h"

#define BUF ((size_t)1 << 16)
#define WORD_MAX                                                                         \
	((size_t)1 << 19) /* the longest value of an attribute, every byte of it escaped \
			   */

/* Where contents are: in the manifest itself, or in a file beside it. */
enum place_kind { PLACE_NONE, PLACE_BASE64, PLACE_TEXT, PLACE_FILE };

struct place {
	enum place_kind kind;
	uint64_t at, len;        /* characters of the manifest */
	char *text;              /* the bytes, or the name of the file */
	struct tree_range *data; /* what the bytes in the manifest are of the file; NULL: all */
	size_t ndata;
};

struct defaults {
	uint32_t mode, uid, gid, type;
	bool has_mode;
};

struct reader {
	struct tree_source s;
	int fd, folder; /* folder: the one that the manifest lies in */
	uint8_t *buf;
	size_t len, at;
	uint64_t off; /* of buf's end in the file */
	uint64_t line;
	struct str path, link, target, file, word;
	struct xattr_list xattrs;
	struct tree_range *ranges;
	size_t nranges, ranges_cap;
	struct place *places;
	size_t nplaces, places_cap;
	struct defaults set;
	int open_fd;
	uint64_t open_token;
	bool has_size, has_data, has_type, has_map;
	struct place here; /* of the line's contents */
};

static struct reader *of(struct tree_source *s)
{
	return container_of(s, struct reader, s);
}

static int bad(struct reader *r, const char *why, const char *value)
{
	char shown[120];

	return diag_set(r->s.diag, -EINVAL, "manifest %s: line %" PRIu64 ": %s%s%s%s", r->s.name,
			r->line, why, value != NULL ? ": '" : "",
			value != NULL ? escape_to(shown, sizeof(shown), value, strlen(value)) : "",
			value != NULL ? "'" : "");
}

/* ---- characters ---- */

/* The next character, or -1 at the end; *rc gets an error. */
static int peek(struct reader *r, int *rc)
{
	if (r->at == r->len) {
		ssize_t n = pread(r->fd, r->buf, BUF, (off_t)r->off);

		if (n < 0)
			*rc = diag_errno(r->s.diag, -errno, "cannot read %s", r->s.name);
		if (n <= 0)
			return -1;
		r->len = (size_t)n;
		r->at = 0;
		r->off += (uint64_t)n;
	}
	return r->buf[r->at];
}

static uint64_t position(const struct reader *r)
{
	return r->off - (r->len - r->at);
}

static bool ends_word(int c)
{
	return c < 0 || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int skip_blanks(struct reader *r)
{
	int rc = 0, c = peek(r, &rc);

	while (c == ' ' || c == '\t' || c == '\r') {
		r->at++;
		c = peek(r, &rc);
	}
	return rc;
}

static int skip_line(struct reader *r)
{
	int rc = 0, c;

	while ((c = peek(r, &rc)) >= 0 && c != '\n')
		r->at++;
	return rc;
}

/* Characters up to the end of the word, or up to and without stop. */
static int read_word(struct reader *r, int stop, struct str *to)
{
	int rc = 0, c;

	str_cut(to, 0);
	while (!ends_word(c = peek(r, &rc)) && c != stop) {
		if (c == 0)
			return bad(r, "a zero byte", NULL);
		if (to->len >= WORD_MAX)
			return bad(r, "a word is too long", NULL);
		str_addc(to, (char)c);
		r->at++;
	}
	str_add(to, "", 0);
	return rc < 0 ? rc : to->err;
}

/* Passes over the word; how many characters it had. */
static int pass_word(struct reader *r, uint64_t *len)
{
	int rc = 0;

	*len = 0;
	while (!ends_word(peek(r, &rc))) {
		r->at++;
		(*len)++;
	}
	return rc;
}

/* ---- values ---- */

static int number(struct reader *r, const char *text, int base, uint64_t most, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, base);
	if (errno != 0 || end == text || *end != '\0' || *text == '-' || *text == '+' ||
	    *ret > most)
		return bad(r, "no number, or too large", text);
	return 0;
}

static int narrow(struct reader *r, const char *text, int base, uint64_t most, uint32_t *ret)
{
	uint64_t v;
	int rc = number(r, text, base, most, &v);

	if (rc == 0)
		*ret = (uint32_t)v;
	return rc;
}

/* Seconds, and up to nine digits of parts of one, which count forward from them. */
static int time_value(struct reader *r, const char *text, struct ek_time *ret)
{
	uint32_t nsec = 0, unit = 100000000;
	char *end;
	long long sec;

	errno = 0;
	sec = strtoll(text, &end, 10);
	if (errno != 0 || end == text)
		return bad(r, "no time", text);
	if (*end == '.') {
		for (end++; *end >= '0' && *end <= '9' && unit != 0; end++, unit /= 10)
			nsec += (uint32_t)(*end - '0') * unit;
	}
	if (*end != '\0')
		return bad(r, "no time", text);
	*ret = (struct ek_time){sec, nsec};
	return 0;
}

static int type_value(struct reader *r, const char *text, uint32_t *ret)
{
	static const struct {
		const char *word;
		uint32_t type;
	} types[] = {{"file", S_IFREG},  {"dir", S_IFDIR},  {"link", S_IFLNK},   {"char", S_IFCHR},
		     {"block", S_IFBLK}, {"fifo", S_IFIFO}, {"socket", S_IFSOCK}};

	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		if (strcmp(types[i].word, text) == 0) {
			*ret = types[i].type;
			return 0;
		}
	}
	return bad(r, "unknown type", text);
}

static int device_value(struct reader *r, char *text, struct tree_entry *e)
{
	char *comma = strchr(text, ',');
	int rc;

	if (comma == NULL)
		return bad(r, "no device", text);
	*comma = '\0';
	rc = narrow(r, text, 0, 0xfff, &e->dev_major);
	return rc < 0 ? rc : narrow(r, comma + 1, 0, 0xfffff, &e->dev_minor);
}

static int text_value(struct reader *r, struct str *s)
{
	size_t len = s->len;

	if (s->p == NULL)
		return bad(r, "an empty value", NULL);
	if (spec_untext(s->p, &len) < 0 || memchr(s->p, 0, len) != NULL)
		return bad(r, "a \\ wants three octal digits, and no zero byte", NULL);
	str_cut(s, len);
	return 0;
}

static int path_value(struct reader *r, struct str *s)
{
	int rc = text_value(r, s);

	if (rc == 0)
		rc = tree_clean_path(r->s.name, s->p, s->p, r->s.diag);
	if (rc == 0)
		str_cut(s, strlen(s->p));
	return rc;
}

/* FROM+LEN,FROM+LEN... in ascending order. */
static int map_value(struct reader *r, const char *text)
{
	uint64_t before = 0;

	r->nranges = 0;
	while (*text != '\0') {
		uint64_t from, len, to;
		char *end;

		errno = 0;
		from = strtoull(text, &end, 10);
		if (errno != 0 || end == text || *end != '+')
			return bad(r, "no map", text);
		text = end + 1;
		len = strtoull(text, &end, 10);
		if (errno != 0 || end == text || (*end != ',' && *end != '\0') ||
		    ck_add(from, len, &to) || len == 0 || from < before)
			return bad(r, "no map, or not in order", text);
		if (mem_grow((void **)&r->ranges, &r->ranges_cap, r->nranges + 1,
			     sizeof(*r->ranges)) < 0)
			return -ENOMEM;
		r->ranges[r->nranges++] = (struct tree_range){from, to};
		before = to;
		text = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static int xattr_value(struct reader *r, const char *name)
{
	char *plain = strdup(name);
	size_t len = strlen(name), value_len;
	int rc;

	if (plain == NULL)
		return -ENOMEM;
	rc = spec_untext(plain, &len) < 0 || len == 0 ? bad(r, "attribute name", name) : 0;
	value_len = r->word.len;
	if (rc == 0 && value_len != 0 && spec_unbytes(r->word.p, &value_len) < 0)
		rc = bad(r, "attribute value", NULL);
	if (rc == 0 && value_len > 65536)
		rc = bad(r, "an attribute of more than 65536 bytes", NULL);
	if (rc == 0)
		rc = xattr_list_set(&r->xattrs, plain, value_len != 0 ? r->word.p : "", value_len);
	free(plain);
	return rc;
}

/* Contents in the line: base64 behind "0s", or text, which is short and copied. */
static int data_value(struct reader *r)
{
	int rc = 0;

	r->has_data = true;
	r->here = (struct place){.kind = PLACE_TEXT, .at = position(r)};
	if (peek(r, &rc) == '0') {
		r->at++;
		if (peek(r, &rc) == 's') {
			r->at++;
			r->here.kind = PLACE_BASE64;
			r->here.at = position(r);
			rc = rc < 0 ? rc : pass_word(r, &r->here.len);
			if (rc == 0 && r->here.len % 4 != 0)
				rc = bad(r, "base64 that is cut off", NULL);
			return rc;
		}
	}
	if (rc == 0) {
		uint64_t begun = position(r) - r->here.at;

		rc = pass_word(r, &r->here.len);
		r->here.len += begun;
	}
	return rc;
}

/* ---- words ---- */

static int take_number_word(struct reader *r, const char *key, struct tree_entry *e)
{
	const char *v = str_text(&r->word);

	if (strcmp(key, "mode") == 0)
		return narrow(r, v, 8, 07777, &r->set.mode);
	if (strcmp(key, "uid") == 0)
		return narrow(r, v, 10, UINT32_MAX, &e->uid);
	if (strcmp(key, "gid") == 0)
		return narrow(r, v, 10, UINT32_MAX, &e->gid);
	if (strcmp(key, "project") == 0)
		return narrow(r, v, 10, UINT32_MAX, &e->project);
	if (strcmp(key, "flags") == 0)
		return narrow(r, v, 0, UINT32_MAX, &e->flags);
	if (strcmp(key, "size") == 0) {
		r->has_size = true;
		return number(r, v, 10, INT64_MAX, &e->size);
	}
	return 1;
}

static int take_time_word(struct reader *r, const char *key, struct tree_entry *e)
{
	const char *v = str_text(&r->word);

	if (strcmp(key, "time") == 0) {
		e->no_mtime = false;
		return time_value(r, v, &e->mtime);
	}
	if (strcmp(key, "atime") == 0) {
		e->has_atime = true;
		return time_value(r, v, &e->atime);
	}
	if (strcmp(key, "ctime") == 0) {
		e->has_ctime = true;
		return time_value(r, v, &e->ctime);
	}
	if (strcmp(key, "crtime") == 0) {
		e->has_crtime = true;
		return time_value(r, v, &e->crtime);
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
		return text_value(r, &r->target);
	}
	if (strcmp(key, "hard") == 0) {
		swap(&r->word, &r->link);
		e->link = "";
		return path_value(r, &r->link);
	}
	if (strcmp(key, "contents") == 0) {
		swap(&r->word, &r->file);
		r->has_data = true;
		r->here = (struct place){.kind = PLACE_FILE};
		return path_value(r, &r->file);
	}
	if (strcmp(key, "device") == 0)
		return device_value(r, r->word.len != 0 ? r->word.p : (char[]){""}, e);
	if (strcmp(key, "map") == 0) {
		r->has_map = true;
		return map_value(r, str_text(&r->word));
	}
	return 1;
}

static int take_word(struct reader *r, const char *key, struct tree_entry *e)
{
	int rc;

	if (strcmp(key, "data") == 0)
		return data_value(r);
	rc = read_word(r, -2, &r->word);
	if (rc < 0)
		return rc;
	if (strncmp(key, "xattr.", 6) == 0)
		return xattr_value(r, key + 6);
	if (strcmp(key, "type") == 0) {
		r->has_type = true;
		return type_value(r, str_text(&r->word), &r->set.type);
	}
	r->set.has_mode |= strcmp(key, "mode") == 0;
	rc = take_number_word(r, key, e);
	if (rc == 1)
		rc = take_time_word(r, key, e);
	if (rc == 1)
		rc = take_text_word(r, key, e);
	return rc == 1 ? bad(r, "unknown word", key) : rc;
}

/* Words up to the end of the line. */
static int take_words(struct reader *r, struct tree_entry *e)
{
	struct str key = {0};
	int rc = skip_blanks(r);

	while (rc == 0) {
		int c = peek(r, &rc);

		if (c < 0 || c == '\n')
			break;
		rc = read_word(r, '=', &key);
		if (rc == 0 && peek(r, &rc) != '=')
			rc = bad(r, "a word without =", str_text(&key));
		if (rc == 0) {
			r->at++;
			rc = take_word(r, str_text(&key), e);
		}
		if (rc == 0)
			rc = skip_blanks(r);
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

	if (r->here.len > WORD_MAX)
		return bad(r, "contents as text are too long: base64 behind 0s may be longer",
			   NULL);
	text = malloc(len + 1);
	if (text == NULL)
		return -ENOMEM;
	if (pread(r->fd, text, len, (off_t)r->here.at) != (ssize_t)len ||
	    spec_unbytes(text, &len) < 0) {
		free(text);
		return bad(r, "contents", NULL);
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
		return bad(r, "contents are no regular file", str_text(&r->file));
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
	if (r->nranges != 0) {
		p.data = malloc(r->nranges * sizeof(*p.data));
		if (p.data == NULL) {
			free(p.text);
			return -ENOMEM;
		}
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
		return bad(r, "size, map and contents do not agree", str_text(&r->path));
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
		return 0;
	}
	if (!r->has_type && e->target != NULL)
		r->set.type = S_IFLNK;
	e->mode = r->set.type | (r->set.has_mode        ? r->set.mode
				 : S_ISDIR(r->set.type) ? 0755u
				 : S_ISLNK(r->set.type) ? 0777u
							: 0644u);
	if (S_ISLNK(e->mode) != (e->target != NULL))
		return bad(r, "a link wants link=, and nothing else does", e->path);
	if (e->target != NULL)
		e->target = str_text(&r->target);
	if (!S_ISREG(e->mode) && (r->has_data || r->has_size))
		return bad(r, "only a file has contents", e->path);
	if ((e->flags & ~(uint32_t)TREE_FLAGS) != 0)
		return bad(r, "flags that cannot be set", e->path);
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
		return bad(r, "unknown directive", str_text(&r->path));
	if (!is_set) {
		*keep = (struct defaults){.type = S_IFREG};
		return skip_line(r);
	}
	r->set = *keep;
	rc = take_words(r, &e);
	if (rc == 0 && (r->has_data || r->has_size || e.link != NULL || e.target != NULL))
		rc = bad(r, "/set takes type, mode, uid and gid", NULL);
	keep->type = r->set.type;
	keep->mode = r->set.mode;
	keep->has_mode = r->set.has_mode;
	keep->uid = e.uid;
	keep->gid = e.gid;
	return rc;
}

static void begin_line(struct reader *r, const struct defaults *keep, struct tree_entry *e)
{
	*e = (struct tree_entry){.uid = keep->uid, .gid = keep->gid, .no_mtime = true};
	r->set = *keep;
	r->nranges = 0;
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
		rc = skip_blanks(r);
		c = peek(r, &rc);
		if (rc < 0 || c < 0)
			return rc;
		begin_line(r, keep, e);
		if (c == '#') {
			rc = skip_line(r);
		} else if (c != '\n') {
			rc = read_word(r, -2, &r->path);
			if (rc == 0 && r->path.p[0] != '/') {
				rc = path_value(r, &r->path);
				if (rc == 0)
					rc = take_words(r, e);
				return rc < 0 ? rc : 1;
			}
			if (rc == 0)
				rc = directive(r, keep);
		}
		if (rc < 0)
			return rc;
		if (peek(r, &rc) == '\n')
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
	if (rc == 0 && peek(r, &ignore) == '\n')
		r->at++;
	return rc < 0 ? rc : 1;
}

/* ---- contents ---- */

/* Bytes [off, off + len) of what base64 stands for. */
static int read_base64(struct reader *r, const struct place *p, uint64_t off, uint8_t *to,
		       size_t len)
{
	char text[4096];
	uint8_t bytes[3072];

	while (len > 0) {
		uint64_t at = off / 3 * 4;
		size_t want = (size_t)MIN((uint64_t)sizeof(text), p->len - at),
		       skip = (size_t)(off % 3);
		size_t have, n;

		if (at >= p->len || pread(r->fd, text, want, (off_t)(p->at + at)) != (ssize_t)want)
			return diag_errno(r->s.diag, -EIO, "cannot read %s", r->s.name);
		if (spec_unbase64(text, want, bytes, &have) < 0 || have <= skip)
			return diag_set(r->s.diag, -EINVAL,
					"manifest %s: contents at byte %" PRIu64 " are no base64",
					r->s.name, p->at + at);
		n = MIN(len, have - skip);
		memcpy(to, bytes + skip, n);
		to += n;
		off += n;
		len -= n;
	}
	return 0;
}

static int read_file(struct reader *r, const struct place *p, uint64_t token, uint64_t off,
		     uint8_t *to, size_t len)
{
	if (r->open_fd < 0 || r->open_token != token) {
		if (r->open_fd >= 0)
			close(r->open_fd);
		r->open_token = token;
		r->open_fd = openat(r->folder, p->text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (r->open_fd < 0)
			return diag_errno(r->s.diag, -errno, "cannot read %s", p->text);
	}
	while (len > 0) {
		ssize_t n = pread(r->open_fd, to, len, (off_t)off);

		if (n <= 0)
			return n < 0 ? diag_errno(r->s.diag, -errno, "cannot read %s", p->text)
				     : diag_set(r->s.diag, -ESTALE, "changed while it was read: %s",
						p->text);
		to += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Bytes of one range, or of the whole. */
static int read_packed(struct reader *r, const struct place *p, uint64_t off, uint8_t *to,
		       size_t len)
{
	if (p->kind == PLACE_BASE64)
		return read_base64(r, p, off, to, len);
	memcpy(to, p->text + off, len);
	return 0;
}

static int spec_read(struct tree_source *s, uint64_t token, uint64_t off, void *buf, size_t len)
{
	struct reader *r = of(s);
	const struct place *p = &r->places[token];
	uint64_t packed = 0, end = off + len;
	uint8_t *to = buf;
	int rc = 0;

	if (p->kind == PLACE_FILE)
		return read_file(r, p, token, off, to, len);
	if (p->data == NULL)
		return read_packed(r, p, off, to, len);
	memset(to, 0, len);
	for (size_t i = 0; i < p->ndata && rc == 0; i++) {
		uint64_t from = MAX(p->data[i].from, off), till = MIN(p->data[i].to, end);

		if (from < till)
			rc = read_packed(r, p, packed + from - p->data[i].from, to + (from - off),
					 (size_t)(till - from));
		packed += p->data[i].to - p->data[i].from;
	}
	return rc;
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

static const struct tree_source_ops spec_ops = {spec_next, NULL, spec_read, spec_close, NULL};

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
	r->buf = malloc(BUF);
	rc = r->buf != NULL ? open_both(r) : diag_set(d, -ENOMEM, "out of memory for %s", name);
	if (rc < 0) {
		spec_close(&r->s);
		return rc;
	}
	*ret = &r->s;
	return 0;
}
