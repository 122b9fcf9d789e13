/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_contexts: a regular expression of whole paths, perhaps a type (--, -d, -l, -c, -b, -p, -s),
 * and a label or <<none>>; the last row that matches counts.  getfattr --dump: "# file: PATH",
 * then NAME="text", 0xHEX or 0sBASE64.  fs_config: PATH UID GID MODE [capabilities=MASK].
 */
#include "tree/filter_files.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "tree/spec.h"

struct label {
	regex_t re;
	uint32_t type; /* 0: any */
	char *text;    /* NULL: none */
};

/* What a side file says of one path. */
struct row {
	struct hash_node node;
	struct xattr_list xattrs;
	uint32_t uid, gid, mode;
	bool has_owner;
	char path[];
};

struct side_files {
	struct label *labels;
	size_t nlabels, labels_cap;
	struct hash rows;
	uint64_t secret; /* of their keys */
	struct str path; /* scratch */
	struct diag *diag;
	const char *file; /* the one that is read */
	uint64_t line;
};

static int bad(struct side_files *s, const char *why, const char *value)
{
	char shown[120];

	return diag_set(s->diag, -EINVAL, "%s: line %" PRIu64 ": %s: '%s'", s->file, s->line, why,
			escape_to(shown, sizeof(shown), value, strlen(value)));
}

static int no_memory(struct side_files *s)
{
	return diag_set(s->diag, -ENOMEM, "out of memory for %s", s->file);
}

/* ---- rows by path ---- */

static uint64_t key_of(const struct side_files *s, const char *path)
{
	return hash_seeded(s->secret, path, strlen(path));
}

static struct row *find_row(struct side_files *s, const char *path)
{
	uint64_t key = key_of(s, path);

	for (struct hash_node *n = hash_find(&s->rows, key); n != NULL; n = n->next) {
		struct row *r = hash_entry(n, struct row, node);

		if (n->key == key && strcmp(r->path, path) == 0)
			return r;
	}
	return NULL;
}

static int need_row(struct side_files *s, const char *raw, struct row **ret)
{
	size_t len = strlen(raw);
	struct row *r;

	while (*raw == '/')
		raw++;
	r = mem_zero(sizeof(*r) + len + 1);
	if (r == NULL)
		return no_memory(s);
	if (tree_clean_path(s->file, raw, r->path, s->diag) < 0) {
		free(r);
		return -EINVAL;
	}
	*ret = find_row(s, r->path);
	if (*ret != NULL) {
		free(r);
		return 0;
	}
	hash_insert(&s->rows, &r->node, key_of(s, r->path));
	*ret = r;
	return 0;
}

/* ---- lines ---- */

typedef int line_fn(struct side_files *s, char *line, void *ctx);

static int read_lines(struct side_files *s, const char *name, line_fn *fn, void *ctx)
{
	FILE *f = fopen(name, "re");
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int rc = 0;

	if (f == NULL)
		return diag_errno(s->diag, -errno, "cannot read %s", name);
	s->file = name;
	s->line = 0;
	while (rc == 0 && (n = getline(&line, &cap, f)) >= 0) {
		s->line++;
		while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			line[--n] = '\0';
		rc = fn(s, line, ctx);
	}
	if (rc == 0 && ferror(f) != 0)
		rc = diag_errno(s->diag, -EIO, "cannot read %s", name);
	free(line);
	(void)fclose(f);
	return rc;
}

static char *next_word(char **at)
{
	char *word;

	*at += strspn(*at, " \t");
	word = *at;
	*at += strcspn(*at, " \t");
	if (**at != '\0')
		*(*at)++ = '\0';
	return word;
}

/* ---- file_contexts ---- */

static int type_of(struct side_files *s, const char *word, uint32_t *ret)
{
	static const char letters[] = "-dlcbps";
	static const uint32_t types[] = {S_IFREG, S_IFDIR, S_IFLNK, S_IFCHR,
					 S_IFBLK, S_IFIFO, S_IFSOCK};
	const char *p = strlen(word) == 2 ? strchr(letters, word[1]) : NULL;

	if (p == NULL)
		return bad(s, "unknown type of file", word);
	*ret = types[p - letters];
	return 0;
}

static int compile(struct side_files *s, const char *pattern, regex_t *re)
{
	char *whole, why[80];
	int rc;

	if (asprintf(&whole, "^(%s)$", pattern) < 0)
		return no_memory(s);
	rc = regcomp(re, whole, REG_EXTENDED | REG_NOSUB);
	free(whole);
	if (rc == 0)
		return 0;
	(void)regerror(rc, re, why, sizeof(why));
	return bad(s, why, pattern);
}

static int context_line(struct side_files *s, char *line, void *ctx)
{
	char *pattern = next_word(&line), *second = next_word(&line), *third = next_word(&line);
	bool labels = strcmp(*third != '\0' ? third : second, "<<none>>") != 0;
	struct label l = {0};
	int rc = 0;

	if (*pattern == '\0' || *pattern == '#')
		return 0;
	if (*third != '\0') {
		rc = type_of(s, second, &l.type);
		second = third;
	}
	if (rc == 0 && *second == '\0')
		rc = bad(s, "a pattern without a label", pattern);
	if (rc == 0)
		rc = compile(s, pattern, &l.re);
	if (rc < 0)
		return rc;
	l.text = labels ? strdup(second) : NULL;
	if ((labels && l.text == NULL) ||
	    mem_grow((void **)&s->labels, &s->labels_cap, s->nlabels + 1, sizeof(l)) < 0) {
		regfree(&l.re);
		free(l.text);
		return no_memory(s);
	}
	s->labels[s->nlabels++] = l;
	return 0;
}

static int label_entry(struct side_files *s, const struct tree_entry *e, struct xattr_list *l)
{
	str_cut(&s->path, 0);
	str_addc(&s->path, '/');
	str_adds(&s->path, e->path);
	if (s->path.err != 0)
		return s->path.err;
	for (size_t i = s->nlabels; i-- > 0;) {
		const struct label *x = &s->labels[i];

		if ((x->type != 0 && x->type != (e->mode & S_IFMT)) ||
		    regexec(&x->re, str_text(&s->path), 0, NULL, 0) != 0)
			continue;
		if (x->text == NULL)
			return 0;
		return xattr_list_set(l, "security.selinux", x->text, strlen(x->text) + 1);
	}
	return 0;
}

/* ---- getfattr --dump ---- */

/* "text" with \ooo, \\ and \" in it. */
static int unquote(char *text, size_t *len)
{
	size_t to = 0, n = strlen(text);

	if (n < 2 || text[n - 1] != '"')
		return -EINVAL;
	text[n - 1] = '\0';
	for (size_t i = 1; i < n - 1; i++) {
		if (text[i] == '\\' && (text[i + 1] == '\\' || text[i + 1] == '"')) {
			text[to++] = text[++i];
		} else if (text[i] == '\\') {
			size_t four = 4;

			if (n - 1 - i < 4 || spec_untext(text + i, &four) < 0)
				return -EINVAL;
			text[to++] = text[i];
			i += 3;
		} else {
			text[to++] = text[i];
		}
	}
	*len = to;
	return 0;
}

static int xattr_line(struct side_files *s, char *line, void *ctx)
{
	struct row **row = ctx;
	char *equals = strchr(line, '=');
	size_t len;
	int rc;

	if (strncmp(line, "# file: ", 8) == 0) {
		len = strlen(line + 8);
		return spec_untext(line + 8, &len) < 0 ? bad(s, "path", line + 8)
						       : need_row(s, line + 8, row);
	}
	if (*line == '\0' || *line == '#')
		return 0;
	if (*row == NULL)
		return bad(s, "an attribute before any '# file: PATH'", line);
	len = equals != NULL ? strlen(equals + 1) : 0;
	if (equals != NULL)
		*equals++ = '\0';
	rc = len == 0 ? 0 : *equals == '"' ? unquote(equals, &len) : spec_unbytes(equals, &len);
	if (rc < 0)
		return bad(s, "value of attribute", line);
	return xattr_list_set(&(*row)->xattrs, line, len != 0 ? equals : "", len);
}

/* ---- fs_config ---- */

/* The revision 2 form, all of it permitted and effective. */
static int set_capabilities(struct side_files *s, struct row *row, const char *text)
{
	le32 v[5] = {le32_make(0x02000001)};
	unsigned long long mask;
	char *end;

	errno = 0;
	mask = strtoull(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || *text == '-')
		return bad(s, "capabilities", text);
	if (mask == 0)
		return 0;
	v[1] = le32_make((uint32_t)mask);
	v[3] = le32_make((uint32_t)(mask >> 32));
	return xattr_list_set(&row->xattrs, "security.capability", v, sizeof(v));
}

static int config_line(struct side_files *s, char *line, void *ctx)
{
	char *word[4], *rest, *end;
	unsigned long long v[3];
	struct row *row;
	int rc;

	for (unsigned i = 0; i < 4; i++)
		word[i] = next_word(&line);
	if (*word[0] == '\0' || *word[0] == '#')
		return 0;
	for (unsigned i = 0; i < 3; i++) {
		errno = 0;
		v[i] = strtoull(word[i + 1], &end, i == 2 ? 8 : 10);
		if (errno != 0 || end == word[i + 1] || *end != '\0' ||
		    v[i] > (i == 2 ? 07777 : UINT32_MAX))
			return bad(s, "wanted: PATH UID GID MODE", word[i + 1]);
	}
	rc = need_row(s, word[0], &row);
	if (rc < 0)
		return rc;
	row->uid = (uint32_t)v[0];
	row->gid = (uint32_t)v[1];
	row->mode = (uint32_t)v[2];
	row->has_owner = true;
	while (rc == 0 && *(rest = next_word(&line)) != '\0') {
		if (strncmp(rest, "capabilities=", 13) == 0)
			rc = set_capabilities(s, row, rest + 13);
	}
	return rc;
}

/* ---- the whole ---- */

int side_open(const char *contexts, const char *xattrs, const char *config, struct diag *d,
	      struct side_files **ret)
{
	struct side_files *s = mem_zero(sizeof(*s));
	struct row *row = NULL;
	int rc = 0;

	if (s == NULL)
		return diag_set(d, -ENOMEM, "out of memory for options");
	s->diag = d;
	s->secret = hash_seed();
	if (contexts != NULL)
		rc = read_lines(s, contexts, context_line, NULL);
	if (rc == 0 && config != NULL)
		rc = read_lines(s, config, config_line, NULL);
	if (rc == 0 && xattrs != NULL)
		rc = read_lines(s, xattrs, xattr_line, &row);
	if (rc < 0) {
		side_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void side_close(struct side_files *s)
{
	struct hash_node *n;
	size_t at = 0;

	if (s == NULL)
		return;
	for (size_t i = 0; i < s->nlabels; i++) {
		regfree(&s->labels[i].re);
		free(s->labels[i].text);
	}
	free(s->labels);
	while ((n = hash_pop(&s->rows, &at)) != NULL) {
		struct row *r = hash_entry(n, struct row, node);

		xattr_list_free(&r->xattrs);
		free(r);
	}
	hash_free(&s->rows);
	str_free(&s->path);
	free(s);
}

int side_apply(struct side_files *s, struct tree_entry *e, struct xattr_list *l)
{
	struct row *row = find_row(s, e->path);
	int rc = 0;

	xattr_list_clear(l);
	for (size_t i = 0; i < e->nxattrs && rc == 0; i++)
		rc = xattr_list_set(l, e->xattrs[i].name, e->xattrs[i].value, e->xattrs[i].len);
	for (size_t i = 0; row != NULL && i < row->xattrs.n && rc == 0; i++)
		rc = xattr_list_set(l, row->xattrs.v[i].name, row->xattrs.v[i].value,
				    row->xattrs.v[i].len);
	if (rc == 0)
		rc = label_entry(s, e, l);
	if (rc < 0)
		return diag_set(s->diag, rc, "out of memory for attributes");
	e->xattrs = l->v;
	e->nxattrs = l->n;
	if (row != NULL && row->has_owner) {
		e->uid = row->uid;
		e->gid = row->gid;
		e->mode = (e->mode & S_IFMT) | row->mode;
	}
	return 0;
}
