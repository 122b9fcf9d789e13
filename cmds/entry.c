/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of columns, each of which knows how to fill its cell.  Rows are read here and shown by
 * cmds/rows.c's thread, so that inodes are read while rows are made. */
#include "entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "rows.h"
#include "show.h"

#define LINK_MAX    ((size_t)65536)
#define CONTEXT_MAX ((size_t)256)

/* A row as the columns see it. */
struct entry {
	const struct ek_stat *st;
	bool known;
	ek_inum ino;
	const char *path, *shown, *target, *context;
	size_t path_len, shown_len, target_len, context_len;
};

struct column {
	struct out_col col;
	unsigned when; /* any of these flags; 0: JSON only */
	void (*fill)(struct run *run, const struct entry *e);
};

const char *entry_type(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return N_("file");
	case S_IFDIR:
		return N_("folder");
	case S_IFLNK:
		return N_("link");
	case S_IFCHR:
		return N_("character device");
	case S_IFBLK:
		return N_("block device");
	case S_IFIFO:
		return N_("pipe");
	case S_IFSOCK:
		return N_("socket");
	default:
		return N_("unknown");
	}
}

static bool is_device(const struct entry *e)
{
	return S_ISCHR(e->st->mode) || S_ISBLK(e->st->mode);
}

static void unknown(struct run *run)
{
	if (run->json)
		out_none(run->out, NULL, NULL);
	else
		out_str(run->out, NULL, NULL, "?");
}

static void number(struct run *run, const struct entry *e, uint64_t v)
{
	if (e->known)
		out_u64(run->out, NULL, NULL, v);
	else
		unknown(run);
}

static void fill_path(struct run *run, const struct entry *e)
{
	out_bytes(run->out, NULL, NULL, e->path, e->path_len);
}

static void fill_ino(struct run *run, const struct entry *e)
{
	out_u64(run->out, NULL, NULL, e->ino.v);
}

static void fill_type(struct run *run, const struct entry *e)
{
	if (e->known)
		out_str(run->out, NULL, NULL, entry_type(e->st->mode));
	else
		unknown(run);
}

static void fill_mode(struct run *run, const struct entry *e)
{
	char text[SHOW_MAX];

	if (e->known)
		out_u64_as(run->out, NULL, NULL, e->st->mode, show_mode(text, e->st->mode));
	else
		unknown(run);
}

static void fill_links(struct run *run, const struct entry *e)
{
	number(run, e, e->st->links);
}

static void fill_uid(struct run *run, const struct entry *e)
{
	number(run, e, e->st->uid);
}

static void fill_gid(struct run *run, const struct entry *e)
{
	number(run, e, e->st->gid);
}

static void fill_size(struct run *run, const struct entry *e)
{
	char text[SHOW_MAX];

	if (e->known && !run->json && is_device(e)) {
		snprintf(text, sizeof(text), "%" PRIu32 ", %" PRIu32, e->st->dev_major,
			 e->st->dev_minor);
		out_str(run->out, NULL, NULL, text);
		return;
	}
	number(run, e, e->st->bytes);
}

static void fill_sectors(struct run *run, const struct entry *e)
{
	number(run, e, e->st->sectors);
}

static void fill_device(struct run *run, const struct entry *e)
{
	char text[SHOW_MAX];

	if (!e->known || !is_device(e)) {
		out_none(run->out, NULL, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%" PRIu32 ":%" PRIu32, e->st->dev_major, e->st->dev_minor);
	out_str(run->out, NULL, NULL, text);
}

/* To the minute, as lists have it; neighbours often share theirs. */
static const char *minute_text(struct ek_time t)
{
	static char text[SHOW_MAX];
	static int64_t shown = INT64_MIN;
	int64_t minute = t.sec / 60 - (t.sec % 60 < 0);

	if (minute != shown) {
		show_time(text, t);
		text[strcspn(text, ".") - 3] = '\0';
		shown = minute;
	}
	return text;
}

static void fill_mtime(struct run *run, const struct entry *e)
{
	char text[SHOW_MAX];

	if (!e->known)
		unknown(run);
	else
		out_str(run->out, NULL, NULL,
			run->json ? show_time(text, e->st->mtime) : minute_text(e->st->mtime));
}

static void fill_context(struct run *run, const struct entry *e)
{
	if (e->context_len != 0)
		out_bytes(run->out, NULL, NULL, e->context, e->context_len);
	else
		out_none(run->out, NULL, NULL);
}

static void fill_target(struct run *run, const struct entry *e)
{
	if (e->known && S_ISLNK(e->st->mode))
		out_bytes(run->out, NULL, NULL, e->target, e->target_len);
	else
		out_none(run->out, NULL, NULL);
}

static void fill_link(struct run *run, const struct entry *e)
{
	char both[256 + 4 + LINK_MAX + 4096];
	size_t n = e->shown_len;

	if (n > sizeof(both) - LINK_MAX - 8) {
		out_bytes(run->out, NULL, NULL, e->shown, n);
		return;
	}
	memcpy(both, e->shown, n);
	memcpy(both + n, " -> ", 4);
	memcpy(both + n + 4, e->target, e->target_len);
	out_bytes(run->out, NULL, NULL, both, n + 4 + e->target_len);
}

static void fill_name(struct run *run, const struct entry *e)
{
	if (e->known && S_ISLNK(e->st->mode) && e->target_len != 0)
		fill_link(run, e);
	else
		out_bytes(run->out, NULL, NULL, e->shown, e->shown_len);
}

static void fill_plain(struct run *run, const struct entry *e)
{
	out_bytes(run->out, NULL, NULL, e->shown, e->shown_len);
}

#define SHORT (1u << 30)

static const struct column columns[] = {
    {{"path", NULL, false}, 0, fill_path},
    {{"inode", NULL, true}, ENTRY_INODE, fill_ino},
    {{"type", NULL, false}, 0, fill_type},
    {{"mode", NULL, false}, ENTRY_LONG, fill_mode},
    {{"links", NULL, true}, ENTRY_LONG, fill_links},
    {{"uid", NULL, true}, ENTRY_LONG, fill_uid},
    {{"gid", NULL, true}, ENTRY_LONG, fill_gid},
    {{"context", NULL, false}, ENTRY_CONTEXT, fill_context},
    {{"size", NULL, true}, ENTRY_LONG, fill_size},
    {{"sectors", NULL, true}, 0, fill_sectors},
    {{"device", NULL, false}, 0, fill_device},
    {{"mtime", NULL, false}, ENTRY_LONG, fill_mtime},
    {{"target", NULL, false}, 0, fill_target},
    {{NULL, NULL, false}, ENTRY_LONG, fill_name},
    {{NULL, NULL, false}, SHORT, fill_plain},
};

#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

static bool is_shown(const struct run *run, unsigned flags, const struct column *c)
{
	if (run->json)
		return c->col.key != NULL;
	if ((flags & ENTRY_LONG) == 0)
		flags |= SHORT;
	return (c->when & flags) != 0;
}

static void show_row(void *ctx, const struct row *r, const char *text)
{
	struct run *run = ctx;
	struct entry e = {.st = &r->st,
			  .known = r->known,
			  .ino = r->ino,
			  .path = text + r->path,
			  .target = text + r->target,
			  .context = text + r->context,
			  .path_len = r->path_len,
			  .target_len = r->target_len,
			  .context_len = r->context_len};
	const char *end = e.path + e.path_len;
	const char *slash = (r->flags & ENTRY_PATH) == 0 ? memrchr(e.path, '/', e.path_len) : NULL;

	e.shown = slash != NULL && slash + 1 < end ? slash + 1 : e.path;
	e.shown_len = (size_t)(end - e.shown);
	for (size_t i = 0; i < NCOLUMNS; i++)
		if (is_shown(run, r->flags, &columns[i]))
			columns[i].fill(run, &e);
}

static struct rows rows; /* too large for the stack, and there is one table at a time */

void entry_table(struct run *run, unsigned flags)
{
	static struct out_col shown[NCOLUMNS]; /* must outlive the table */
	size_t n = 0;

	for (size_t i = 0; i < NCOLUMNS; i++)
		if (is_shown(run, flags, &columns[i]))
			shown[n++] = columns[i].col;
	out_table(run->out, "entries", shown, n);
	rows.show = show_row;
	rows.ctx = run;
}

/* The label without the zero byte that tools store behind it. */
static int read_context(struct ek_inode *inode, struct row *r, struct buffer *text)
{
	struct ek_xattrs *xattrs;
	const struct ek_xattr *x;
	int err = ek_inode_xattrs(inode, &xattrs);

	if (err < 0)
		return err;
	for (size_t i = 0; (x = ek_xattrs_get(xattrs, i)) != NULL; i++) {
		if (strcmp(x->name, "security.selinux") != 0 || x->len > CONTEXT_MAX)
			continue;
		r->context = text->len;
		r->context_len = strnlen(x->value, x->len);
		buffer_add(text, x->value, r->context_len);
	}
	ek_xattrs_free(xattrs);
	return 0;
}

static int read_target(struct ek_inode *inode, struct row *r, struct buffer *text)
{
	static char target[LINK_MAX + 1];
	int err;

	target[0] = '\0';
	err = ek_inode_readlink(inode, target, sizeof(target));
	r->target = text->len;
	r->target_len = strlen(target);
	buffer_add(text, target, r->target_len);
	return err;
}

static int read_row(const struct run *run, struct ek_inode *inode, struct row *r,
		    struct buffer *text)
{
	int err, rc;

	r->st.size = sizeof(r->st);
	err = ek_inode_stat(inode, &r->st);
	r->known = err == 0;
	if (err == 0 && S_ISLNK(r->st.mode) && (run->json || (r->flags & ENTRY_LONG) != 0))
		err = read_target(inode, r, text);
	if (run->json || (r->flags & ENTRY_CONTEXT) != 0) {
		rc = read_context(inode, r, text);
		err = err < 0 ? err : rc;
	}
	return err;
}

int entry_row(unsigned flags, struct ek_inode *inode, ek_inum ino, const struct entry_path *path)
{
	size_t base = strlen(path->base);
	struct buffer *text;
	struct row *r = rows_next(&rows, &text);
	int err = 0;

	r->ino = ino;
	r->flags = flags;
	r->known = false;
	r->target_len = r->context_len = r->target = r->context = 0;
	r->path = text->len;
	buffer_add(text, path->base, base);
	if (path->len != 0 && (base == 0 || path->base[base - 1] != '/'))
		buffer_addc(text, '/');
	buffer_add(text, path->below, path->len);
	r->path_len = text->len - r->path;
	if (inode != NULL)
		err = read_row(rows.ctx, inode, r, text);
	if (text->err != 0)
		return text->err;
	rows_add(&rows);
	return err;
}

void entry_end(void)
{
	rows_end(&rows);
}
