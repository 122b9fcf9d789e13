/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a table of files line by line and joins the extents by path. */
#include "trace/manifest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/mem.h"
#include "trace/interner.h"
#include "trace/stream.h"
#include "trace/wtr.h"
#include "trace/wtr_line.h"

#define COLUMNS 11

/* One extent of the second table, chained to the one before of the same path. */
struct row {
	struct op_extent e;
	uint32_t prev;
};

struct manifest {
	struct op_source base;
	struct lines lines;
	char *root;
	size_t root_n;
	struct interner *paths; /* of the second table */
	uint32_t *last;         /* per path, its last row + 1 */
	size_t last_cap;
	struct row *rows;
	size_t rows_cap, nrows;
	struct op op;
	struct op_node node;
	struct op_extent *extents;
	size_t extents_cap;
	int err;
};

static unsigned split(char *line, size_t n, char **col, unsigned max)
{
	char *end = line + n;
	unsigned k = 0;

	for (;;) {
		char *tab = memchr(line, '\t', (size_t)(end - line));

		col[k++] = line;
		if (!tab || k == max)
			return k;
		*tab = 0;
		line = tab + 1;
	}
}

static int complain(struct manifest *m, const char *why)
{
	m->err = diag_set(m->base.d, -EINVAL, "%s:%llu:1: %s", instream_name(m->lines.in),
			  (unsigned long long)m->lines.number, why);
	return m->err;
}

static bool number(const char *p, int base, uint64_t max, uint64_t *ret)
{
	return parse_number(p, strlen(p), base, ret) && *ret <= max;
}

/* The part of a path below the root, or NULL when it is outside or climbs. */
static const char *below(const struct manifest *m, const char *path)
{
	const char *p = path + m->root_n;

	if (strncmp(path, m->root, m->root_n) != 0 || (*p != '/' && *p != 0))
		return NULL;
	if (strstr(p, "/../") || (strlen(p) >= 3 && strcmp(p + strlen(p) - 3, "/..") == 0))
		return NULL;
	return *p ? p : "/";
}

static int extent_row(struct manifest *m, char **col)
{
	uint64_t lblk, len, pblk;
	void *last = m->last, *rows = m->rows;
	uint32_t id;
	bool fresh;

	if (!number(col[1], 10, UINT32_MAX, &lblk) || !number(col[2], 10, UINT32_MAX, &len) ||
	    !number(col[3], 10, UINT64_MAX, &pblk))
		return -EINVAL;
	if (m->nrows >= UINT32_MAX / 2 || interner_reserve(m->paths, 1, strlen(col[0])) < 0 ||
	    mem_grow(&rows, &m->rows_cap, m->nrows + 1, sizeof(*m->rows)) < 0)
		return -ENOMEM;
	m->rows = rows;
	id = intern(m->paths, col[0], (uint32_t)strlen(col[0]), &fresh);
	if (mem_grow(&last, &m->last_cap, (size_t)id + 1, sizeof(*m->last)) < 0)
		return -ENOMEM;
	m->last = last;
	m->rows[m->nrows] =
	    (struct row){{(uint32_t)lblk, (uint32_t)len, pblk}, fresh ? 0 : m->last[id]};
	m->last[id] = (uint32_t)++m->nrows;
	return 0;
}

static int read_extents(struct manifest *m, const char *path)
{
	struct instream *in;
	char *line, *col[5];
	size_t n;
	int err = instream_open(path, 0, m->base.d, &in);

	if (err < 0)
		return err;
	m->paths = interner_new();
	if (!m->paths || lines_init(&m->lines, in, WTR_LINE_MAX) < 0) {
		instream_close(in);
		return diag_set(m->base.d, -ENOMEM, "import: no memory for extents");
	}
	while ((err = lines_next(&m->lines, &line, &n)) > 0) {
		if (m->lines.number == 1 && strncmp(line, "path\t", 5) == 0)
			continue;
		err = split(line, n, col, 5) >= 4 ? extent_row(m, col) : -EINVAL;
		if (err == -EINVAL)
			err = complain(m, "expected path, logical block, length, physical block");
		if (err < 0)
			break;
	}
	lines_free(&m->lines);
	return err < 0 ? diag_set(m->base.d, err, "import: cannot read extents: %s", path) : 0;
}

/* The extents of a path, in order of their rows. */
static int find_extents(struct manifest *m, const char *path)
{
	bool fresh = false;
	uint32_t n = 0, id, at;
	void *p = m->extents;

	if (!m->paths || interner_reserve(m->paths, 1, strlen(path)) < 0)
		return 0;
	id = intern(m->paths, path, (uint32_t)strlen(path), &fresh);
	if (fresh || id >= m->last_cap)
		return 0;
	for (at = m->last[id]; at; at = m->rows[at - 1].prev)
		n++;
	if (mem_grow(&p, &m->extents_cap, n, sizeof(*m->extents)) < 0)
		return -ENOMEM;
	m->extents = p;
	m->node.extents = m->extents;
	m->node.nextents = n;
	for (at = m->last[id]; at; at = m->rows[at - 1].prev)
		m->extents[--n] = m->rows[at - 1].e;
	return 0;
}

static int make_node(struct manifest *m, char **col, const char *path)
{
	struct op_node *n = &m->node;
	uint64_t mode, uid, gid, size, ino;

	if (!col[1][0] || col[1][1] || !strchr("fdlcbps", col[1][0]) ||
	    !number(col[2], 8, 07777, &mode) || !number(col[3], 10, UINT32_MAX, &uid) ||
	    !number(col[4], 10, UINT32_MAX, &gid) || !number(col[6], 10, INT64_MAX, &size) ||
	    !number(col[8], 10, UINT64_MAX, &ino))
		return complain(m, "a type, mode, owner, size or inode number makes no sense");
	*n = (struct op_node){.type = col[1][0],
			      .mode = (uint32_t)mode,
			      .uid = (uint32_t)uid,
			      .gid = (uint32_t)gid,
			      .ino = ino};
	n->atime.nsec = n->mtime.nsec = OP_TIME_UNKNOWN;
	n->size = n->type == 'f' ? size : 0;
	n->path = (struct op_str){path, (uint32_t)strlen(path)};
	n->target = n->sha256 = n->extra = (struct op_str){"", 0};
	if (n->type == 'l')
		n->target = (struct op_str){col[9], (uint32_t)strlen(col[9])};
	else if (strlen(col[9]) == 64)
		n->sha256 = (struct op_str){col[9], 64};
	if (find_extents(m, col[0]) < 0)
		return diag_set(m->base.d, -ENOMEM, "import: no memory for extents");
	op_clear(&m->op);
	m->op.code = OP_NODE;
	m->op.plain = 0;
	m->op.node = n;
	return 1;
}

static int manifest_next(struct op_source *base, const struct op **ret)
{
	struct manifest *m = (struct manifest *)base;
	char *line, *col[COLUMNS];
	const char *path;
	size_t n;
	int err = m->err;

	*ret = &m->op;
	while (err == 0 && (err = lines_next(&m->lines, &line, &n)) > 0) {
		if (m->lines.number == 1 && strncmp(line, "path\t", 5) == 0) {
			err = 0;
			continue;
		}
		if (memchr(line, 0, n) || split(line, n, col, COLUMNS) < 10)
			return complain(m, "expected at least 10 columns");
		path = below(m, col[0]);
		if (path)
			return make_node(m, col, path);
		err = 0;
	}
	return err;
}

static bool manifest_whole(const struct op_source *base)
{
	(void)base;
	return true;
}

static void manifest_close(struct op_source *base)
{
	struct manifest *m = (struct manifest *)base;

	if (m->lines.in)
		lines_free(&m->lines);
	interner_free(m->paths);
	free(m->last);
	free(m->rows);
	free(m->extents);
	free(m->root);
	free(m);
}

static const struct op_source_ops manifest_ops = {
    .next = manifest_next,
    .whole = manifest_whole,
    .close = manifest_close,
};

/* The root without a slash at its end, so that "/" is empty. */
static char *clean_root(const char *root)
{
	size_t n = root ? strlen(root) : 0;

	while (n && root[n - 1] == '/')
		n--;
	return root ? strndup(root, n) : strdup("");
}

static int open_table(struct instream *in, const char *extents, const char *root, struct diag *d,
		      struct op_source **ret)
{
	struct manifest *m = mem_zero(sizeof(*m));
	int err = 0;

	if (!m || !(m->root = clean_root(root))) {
		free(m);
		instream_close(in);
		return diag_set(d, -ENOMEM, "import: no memory");
	}
	m->base.ops = &manifest_ops;
	m->base.d = d;
	m->root_n = strlen(m->root);
	if (extents)
		err = read_extents(m, extents);
	if (err == 0 && lines_init(&m->lines, in, WTR_LINE_MAX) < 0)
		err = diag_set(d, -ENOMEM, "import: no memory");
	if (err < 0) {
		instream_close(in);
		memset(&m->lines, 0, sizeof(m->lines));
		manifest_close(&m->base);
		return err;
	}
	*ret = &m->base;
	return 0;
}

int manifest_open(const char *path, const char *extents, const char *root, struct diag *d,
		  struct op_source **ret)
{
	struct instream *in;
	char first[8] = "";
	long got;
	int err = instream_open(path, 0, d, &in);

	if (err < 0)
		return err;
	got = instream_read(in, first, 7);
	instream_close(in);
	if (got < 0)
		return (int)got;
	err = instream_open(path, 0, d, &in);
	if (err < 0)
		return err;
	if (memcmp(first, "#wtrace", 7) == 0)
		return wtr_read(in, 0, d, ret);
	return open_table(in, extents, root, d, ret);
}
