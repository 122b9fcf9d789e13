/* SPDX-License-Identifier: BSD-2-Clause */
/* Characters, words and values of a manifest. */
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
#include "tree/manifest_impl.h"
#include "tree/spec.h"

int manifest_bad(struct reader *r, const char *why, const char *value)
{
	char shown[120];

	return diag_set(r->s.diag, -EINVAL, "manifest %s: line %" PRIu64 ": %s%s%s%s", r->s.name,
			r->line, why, value != NULL ? ": '" : "",
			value != NULL ? escape_to(shown, sizeof(shown), value, strlen(value)) : "",
			value != NULL ? "'" : "");
}

/* ---- characters ---- */

/* The next character, or -1 at the end; *rc gets an error. */
int manifest_peek(struct reader *r, int *rc)
{
	if (r->at == r->len) {
		ssize_t n = pread(r->fd, r->buf, MANIFEST_BUF, (off_t)r->off);

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

int manifest_skip_blanks(struct reader *r)
{
	int rc = 0, c = manifest_peek(r, &rc);

	while (c == ' ' || c == '\t' || c == '\r') {
		r->at++;
		c = manifest_peek(r, &rc);
	}
	return rc;
}

int manifest_skip_line(struct reader *r)
{
	int rc = 0, c;

	while ((c = manifest_peek(r, &rc)) >= 0 && c != '\n')
		r->at++;
	return rc;
}

/* Characters up to the end of the word, or up to and without stop. */
int manifest_read_word(struct reader *r, int stop, struct str *to)
{
	int rc = 0, c;

	str_cut(to, 0);
	while (!ends_word(c = manifest_peek(r, &rc)) && c != stop) {
		if (c == 0)
			return manifest_bad(r, "a zero byte", NULL);
		if (to->len >= MANIFEST_WORD)
			return manifest_bad(r, "a word is too long", NULL);
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
	while (!ends_word(manifest_peek(r, &rc))) {
		r->at++;
		(*len)++;
	}
	return rc;
}

/* ---- values ---- */

int manifest_number(struct reader *r, const char *text, int base, uint64_t most, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, base);
	if (errno != 0 || end == text || *end != '\0' || *text == '-' || *text == '+' ||
	    *ret > most)
		return manifest_bad(r, "no number, or too large", text);
	return 0;
}

int manifest_narrow(struct reader *r, const char *text, int base, uint64_t most, uint32_t *ret)
{
	uint64_t v;
	int rc = manifest_number(r, text, base, most, &v);

	if (rc == 0)
		*ret = (uint32_t)v;
	return rc;
}

/* Seconds, and up to nine digits of parts of one, which count forward from them. */
int manifest_time_value(struct reader *r, const char *text, struct ek_time *ret)
{
	uint32_t nsec = 0, unit = 100000000;
	char *end;
	long long sec;

	errno = 0;
	sec = strtoll(text, &end, 10);
	if (errno != 0 || end == text)
		return manifest_bad(r, "no time", text);
	if (*end == '.') {
		for (end++; *end >= '0' && *end <= '9' && unit != 0; end++, unit /= 10)
			nsec += (uint32_t)(*end - '0') * unit;
	}
	if (*end != '\0')
		return manifest_bad(r, "no time", text);
	*ret = (struct ek_time){sec, nsec};
	return 0;
}

int manifest_type_value(struct reader *r, const char *text, uint32_t *ret)
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
	return manifest_bad(r, "unknown type", text);
}

int manifest_device_value(struct reader *r, char *text, struct tree_entry *e)
{
	char *comma = strchr(text, ',');
	int rc;

	if (comma == NULL)
		return manifest_bad(r, "no device", text);
	*comma = '\0';
	rc = manifest_narrow(r, text, 0, 0xfff, &e->dev_major);
	return rc < 0 ? rc : manifest_narrow(r, comma + 1, 0, 0xfffff, &e->dev_minor);
}

int manifest_text_value(struct reader *r, struct str *s)
{
	size_t len = s->len;

	if (s->p == NULL)
		return manifest_bad(r, "an empty value", NULL);
	if (spec_untext(s->p, &len) < 0 || memchr(s->p, 0, len) != NULL)
		return manifest_bad(r, "a \\ wants three octal digits, and no zero byte", NULL);
	str_cut(s, len);
	return 0;
}

int manifest_path_value(struct reader *r, struct str *s)
{
	int rc = manifest_text_value(r, s);

	if (rc == 0)
		rc = tree_clean_path(r->s.name, s->p, s->p, r->s.diag);
	if (rc == 0)
		str_cut(s, strlen(s->p));
	return rc;
}

/* "FROM+LEN", behind what ends at before. */
static int range_value(struct reader *r, const char *text, uint64_t before, struct tree_range *ret)
{
	uint64_t from, len, to;
	char *end;

	errno = 0;
	from = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '+')
		return manifest_bad(r, "no map", text);
	text = end + 1;
	len = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || ck_add(from, len, &to) || len == 0 ||
	    from < before)
		return manifest_bad(r, "no map, or not in order", text);
	*ret = (struct tree_range){from, to};
	return 0;
}

/* FROM+LEN,FROM+LEN... in ascending order; a file may have more of them than fit a word. */
int manifest_map_value(struct reader *r)
{
	struct tree_range range = {0, 0};
	int rc = 0;

	r->has_map = true;
	r->nranges = 0;
	while (rc == 0 && !ends_word(manifest_peek(r, &rc))) {
		rc = manifest_read_word(r, ',', &r->word);
		if (rc == 0)
			rc = range_value(r, str_text(&r->word), range.to, &range);
		if (rc == 0 && mem_grow((void **)&r->ranges, &r->ranges_cap, r->nranges + 1,
					sizeof(*r->ranges)) < 0)
			rc = -ENOMEM;
		if (rc < 0)
			return rc;
		r->ranges[r->nranges++] = range;
		if (manifest_peek(r, &rc) == ',')
			r->at++;
	}
	return rc;
}

int manifest_xattr_value(struct reader *r, const char *name)
{
	char *plain = strdup(name);
	size_t len = strlen(name), value_len;
	int rc;

	if (plain == NULL)
		return -ENOMEM;
	rc = spec_untext(plain, &len) < 0 || len == 0 ? manifest_bad(r, "attribute name", name) : 0;
	value_len = r->word.len;
	if (rc == 0 && value_len != 0 && spec_unbytes(r->word.p, &value_len) < 0)
		rc = manifest_bad(r, "attribute value", NULL);
	if (rc == 0 && value_len > 65536)
		rc = manifest_bad(r, "an attribute of more than 65536 bytes", NULL);
	if (rc == 0)
		rc = xattr_list_set(&r->xattrs, plain, value_len != 0 ? r->word.p : "", value_len);
	free(plain);
	return rc;
}

/* Contents in the line: base64 behind "0s", or text, which is short and copied. */
int manifest_data_value(struct reader *r)
{
	int rc = 0;

	r->has_data = true;
	r->here = (struct place){.kind = PLACE_TEXT, .at = position(r)};
	if (manifest_peek(r, &rc) == '0') {
		r->at++;
		if (manifest_peek(r, &rc) == 's') {
			r->at++;
			r->here.kind = PLACE_BASE64;
			r->here.at = position(r);
			rc = rc < 0 ? rc : pass_word(r, &r->here.len);
			if (rc == 0 && r->here.len % 4 != 0)
				rc = manifest_bad(r, "base64 that is cut off", NULL);
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
