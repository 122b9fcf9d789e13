/* SPDX-License-Identifier: BSD-2-Clause */
/* One line of the initial manifest: "TYPE MODE UID:GID [SIZE or DEV] PATH keys". */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "trace/wtr_line.h"

static int node_owner(struct op_node *n, struct cursor *c)
{
	struct op_str s;
	const char *colon;
	uint64_t uid, gid;
	int err = cur_token(c, &s);

	if (err < 0)
		return err;
	colon = memchr(s.p, ':', s.n);
	if (!colon || !parse_number(s.p, (size_t)(colon - s.p), 10, &uid) ||
	    !parse_number(colon + 1, s.n - (size_t)(colon + 1 - s.p), 10, &gid) ||
	    uid > UINT32_MAX || gid > UINT32_MAX)
		return cur_fail(c, "not an owner (UID:GID)");
	n->uid = (uint32_t)uid;
	n->gid = (uint32_t)gid;
	return 0;
}

static int node_dev(struct op_node *n, struct cursor *c)
{
	struct op_str s;
	const char *colon;
	uint64_t major, minor;
	int err = cur_token(c, &s);

	if (err < 0)
		return err;
	colon = memchr(s.p, ':', s.n);
	if (!colon || !parse_number(s.p, (size_t)(colon - s.p), 10, &major) ||
	    !parse_number(colon + 1, s.n - (size_t)(colon + 1 - s.p), 10, &minor) ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return cur_fail(c, "not a device number (MAJOR:MINOR)");
	n->dev = major << 32 | minor;
	return 0;
}

/* One LBLK:PBLK:LEN. */
static bool one_extent(const char *p, size_t n, struct op_extent *ret)
{
	const char *a = memchr(p, ':', n);
	const char *b = a ? memchr(a + 1, ':', n - (size_t)(a + 1 - p)) : NULL;
	uint64_t lblk, len;

	if (!b || !parse_number(p, (size_t)(a - p), 10, &lblk) ||
	    !parse_number(a + 1, (size_t)(b - a - 1), 10, &ret->pblk) ||
	    !parse_number(b + 1, n - (size_t)(b + 1 - p), 10, &len) || lblk > UINT32_MAX ||
	    len > UINT32_MAX)
		return false;
	ret->lblk = (uint32_t)lblk;
	ret->len = (uint32_t)len;
	return true;
}

/* LBLK:PBLK:LEN,...  The line limit bounds their number. */
static int node_extents(struct line_parser *lp, struct op_str v)
{
	const char *p = v.p, *end = v.p + v.n;
	uint32_t n = 0;

	for (;;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		void *grown = lp->extents;

		if (mem_grow(&grown, &lp->extents_cap, n + 1, sizeof(*lp->extents)) < 0)
			return -ENOMEM;
		lp->extents = grown;
		if (!one_extent(p, (size_t)((comma ? comma : end) - p), &lp->extents[n]))
			return -EINVAL;
		n++;
		if (!comma)
			break;
		p = comma + 1;
	}
	lp->node.extents = lp->extents;
	lp->node.nextents = n;
	return 0;
}

static bool starts(struct op_str *s, const char *key)
{
	size_t n = strlen(key);

	if (s->n < n || memcmp(s->p, key, n) != 0)
		return false;
	s->p += n;
	s->n -= (uint32_t)n;
	return true;
}

static void keep(struct line_parser *lp, struct op_str s)
{
	struct op_str *x = &lp->node.extra;

	if (x->n)
		lp->extra[x->n++] = ' ';
	memcpy(lp->extra + x->n, s.p, s.n);
	x->n += s.n;
	lp->extra[x->n] = 0;
	x->p = lp->extra;
}

static int node_key(struct line_parser *lp, struct cursor *c)
{
	struct op_node *n = &lp->node;
	struct op_str s;
	char *at = c->p;
	int err = cur_token(c, &s);

	if (err < 0)
		return err;
	if (starts(&s, "target=")) {
		c->p = (char *)s.p;
		return cur_unescape(c, &n->target);
	}
	if (starts(&s, "sha256=")) {
		n->sha256 = s;
		return 0;
	}
	if (starts(&s, "ino=")) {
		err = parse_number(s.p, s.n, 10, &n->ino) ? 0 : -EINVAL;
	} else if (starts(&s, "atime=")) {
		err = cur_time(s, &n->atime);
	} else if (starts(&s, "mtime=")) {
		err = cur_time(s, &n->mtime);
	} else if (starts(&s, "extents=") && s.n) {
		err = node_extents(lp, s);
	} else {
		keep(lp, (struct op_str){at, (uint32_t)(c->p - at)});
	}
	if (err < 0) {
		c->p = at;
		return cur_fail(c, "not a value for this key");
	}
	return 0;
}

static int node_head(struct op_node *n, struct cursor *c)
{
	struct op_str s;
	uint64_t mode;
	int err;

	if (!strchr("fdlcbps", *c->p) || c->p[1] != ' ')
		return cur_fail(c, "expected a file type (one of f d l c b p s)");
	n->type = *c->p++;
	if ((err = cur_space(c)) < 0 || (err = cur_token(c, &s)) < 0)
		return err;
	if (!parse_number(s.p, s.n, 8, &mode) || mode > 07777)
		return cur_fail(c, "not an octal mode");
	n->mode = (uint32_t)mode;
	if ((err = cur_space(c)) < 0 || (err = node_owner(n, c)) < 0 || (err = cur_space(c)) < 0)
		return err;
	if (n->type == 'f')
		err = cur_u64(c, &n->size);
	else if (n->type == 'c' || n->type == 'b')
		err = node_dev(n, c);
	else
		return cur_path(c, &n->path);
	return err < 0 || (err = cur_space(c)) < 0 ? err : cur_path(c, &n->path);
}

int parse_node(struct line_parser *lp, struct cursor *c)
{
	struct op_node *n = &lp->node;
	struct op_str *names[] = {&n->path, &n->target, &n->sha256};
	int err;

	memset(n, 0, sizeof(*n));
	n->atime.nsec = n->mtime.nsec = OP_TIME_UNKNOWN;
	err = node_head(n, c);
	while (err == 0 && c->p != c->end) {
		err = cur_space(c);
		if (err == 0)
			err = node_key(lp, c);
	}
	if (err < 0)
		return err;
	for (unsigned i = 0; i < 3; i++)
		if (names[i]->n)
			((char *)names[i]->p)[names[i]->n] = 0;
	lp->op.code = OP_NODE;
	lp->op.plain = 0;
	lp->op.node = n;
	return 0;
}
