/* SPDX-License-Identifier: BSD-2-Clause */
/* A tree of names in one hash table keyed by parent and text. */
#include "trace/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LINKS_MAX 40

static uint64_t key_of(const struct name *parent, const char *text, size_t n)
{
	uint64_t h = hash_mix((uint64_t)(uintptr_t)parent), v;

	for (; n >= 8; text += 8, n -= 8) {
		memcpy(&v, text, 8);
		h = hash_mix(h ^ v);
	}
	v = n;
	if (n)
		memcpy(&v, text, n);
	return hash_mix(h ^ v ^ (uint64_t)n << 56);
}

struct file *file_new(char type)
{
	struct file *f = mem_zero(sizeof(*f));

	if (f) {
		f->refs = 1;
		f->type = type;
	}
	return f;
}

struct file *file_get(struct file *f)
{
	if (f)
		f->refs++;
	return f;
}

void file_put(struct file *f)
{
	if (!f || --f->refs)
		return;
	free(f->target);
	free(f);
}

static struct name *new_name(struct names *ns, struct name *parent, const char *text, size_t n)
{
	struct name *made = mem_zero(sizeof(*made));

	if (made)
		made->text = strndup(text, n);
	if (!made || !made->text) {
		free(made);
		return NULL;
	}
	made->len = (uint32_t)n;
	made->refs = 1; /* the link in the tree */
	made->linked = true;
	made->parent = name_get(parent);
	if (parent)
		hash_insert(&ns->table, &made->node, key_of(parent, text, n));
	return made;
}

int names_init(struct names *ns)
{
	memset(ns, 0, sizeof(*ns));
	ns->root = new_name(ns, NULL, "", 0);
	return ns->root ? 0 : -ENOMEM;
}

void names_free(struct names *ns)
{
	size_t at = 0;
	struct hash_node *h;

	while ((h = hash_pop(&ns->table, &at))) {
		struct name *n = hash_entry(h, struct name, node);

		n->linked = false;
		name_put(ns, n);
	}
	hash_free(&ns->table);
	name_put(ns, ns->root);
}

struct name *name_get(struct name *n)
{
	if (n)
		n->refs++;
	return n;
}

static void drop_link(struct names *ns, struct name *n)
{
	hash_remove(&ns->table, &n->node);
	n->linked = false;
	n->refs--;
}

void name_put(struct names *ns, struct name *n)
{
	while (n) {
		struct name *parent = n->parent;

		if (--n->refs == 1 && n->linked && !n->file && parent)
			drop_link(ns, n);
		if (n->refs)
			return;
		file_put(n->file);
		free(n->text);
		free(n);
		n = parent;
	}
}

static struct name *child(const struct names *ns, const struct name *parent, const char *text,
			  size_t n)
{
	uint64_t key = key_of(parent, text, n);
	struct hash_node *h = hash_find(&ns->table, key);

	for (; h; h = h->next) {
		struct name *c = hash_entry(h, struct name, node);

		if (h->key == key && c->parent == parent && c->len == n &&
		    memcmp(c->text, text, n) == 0)
			return c;
	}
	return NULL;
}

/* One step down or up from *at, which is replaced with its reference. */
static int step(struct names *ns, struct name **at, const char *text, size_t n, unsigned flags)
{
	struct name *next;

	if (n == 0 || (n == 1 && text[0] == '.'))
		return 0;
	if (n == 2 && text[0] == '.' && text[1] == '.') {
		next = name_get((*at)->parent ? (*at)->parent : *at);
	} else {
		next = name_get(child(ns, *at, text, n));
		if (!next && !(flags & WALK_EXISTING))
			next = name_get(new_name(ns, *at, text, n));
	}
	if (!next)
		return -1;
	name_put(ns, *at);
	*at = next;
	return 0;
}

static int walk(struct names *ns, struct name **at, const char *p, size_t n, unsigned flags,
		unsigned *links);

/* *at is a symbolic link: goes where it leads. */
static int follow(struct names *ns, struct name **at, unsigned flags, unsigned *links)
{
	char *target = (*at)->file->target;
	struct name *from = name_get((*at)->parent ? (*at)->parent : *at);
	int err = -1;

	if (++*links <= LINKS_MAX) {
		char *copy = strdup(target); /* the walk may free the name and its file */

		if (copy)
			err = walk(ns, &from, copy, strlen(copy), flags | WALK_FOLLOW, links);
		free(copy);
	}
	name_put(ns, *at);
	*at = from;
	return err;
}

static int walk(struct names *ns, struct name **at, const char *p, size_t n, unsigned flags,
		unsigned *links)
{
	const char *end = p + n;

	if (n && *p == '/') {
		name_put(ns, *at);
		*at = name_get(ns->root);
	}
	while (p < end) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		bool last = !slash;
		size_t len = (size_t)((slash ? slash : end) - p);
		const struct file *f;

		if (step(ns, at, p, len, flags) < 0)
			return -1;
		p = slash ? slash + 1 : end;
		f = (*at)->file;
		if (len && f && f->type == 'l' && f->target && (!last || (flags & WALK_FOLLOW)) &&
		    follow(ns, at, flags, links) < 0)
			return -1;
	}
	return 0;
}

struct name *names_walk(struct names *ns, struct name *base, const char *path, size_t n,
			unsigned flags)
{
	struct name *at = name_get(base);
	unsigned links = 0;

	if (walk(ns, &at, path, n, flags, &links) == 0)
		return at;
	name_put(ns, at);
	return NULL;
}

void name_set_file(struct name *n, struct file *f)
{
	struct file *old = n->file;

	n->file = f;
	file_put(old);
}

struct file *name_file(struct name *n)
{
	if (!n->file)
		n->file = file_new(0);
	return n->file;
}

void name_unlink(struct names *ns, struct name *n)
{
	if (!n->linked || !n->parent)
		return;
	name_get(n);
	drop_link(ns, n);
	name_set_file(n, NULL);
	name_put(ns, n);
}

bool name_is_below(const struct name *n, const struct name *top)
{
	for (; n; n = n->parent)
		if (n == top)
			return true;
	return false;
}

/* Gives a linked name another place, where nothing may be linked. */
static void relink(struct names *ns, struct name *n, struct name *parent, char *text, uint32_t len)
{
	hash_remove(&ns->table, &n->node);
	n->parent = parent;
	n->text = text;
	n->len = len;
	hash_insert(&ns->table, &n->node, key_of(parent, text, len));
}

int name_move(struct names *ns, struct name *n, struct name *to)
{
	struct name *old_parent = n->parent, *parent = to->parent;
	char *old_text = n->text, *text;

	if (n == to)
		return 0;
	if (!n->linked || !old_parent || !parent || name_is_below(to, n))
		return -EINVAL;
	text = strdup(to->text);
	if (!text)
		return -ENOMEM;
	name_get(parent);
	name_unlink(ns, to);
	relink(ns, n, parent, text, (uint32_t)strlen(text));
	free(old_text);
	name_put(ns, old_parent);
	return 0;
}

int name_exchange(struct names *ns, struct name *a, struct name *b)
{
	struct name *pa = a->parent, *pb = b->parent;
	char *ta = a->text, *tb = b->text;
	uint32_t na = a->len, nb = b->len;

	if (a == b)
		return 0;
	if (!a->linked || !b->linked || !pa || !pb || name_is_below(a, b) || name_is_below(b, a))
		return -EINVAL;
	/* Each parent keeps as many children, so the references to parents balance. */
	relink(ns, a, pb, tb, nb);
	relink(ns, b, pa, ta, na);
	return 0;
}

size_t name_path(const struct name *n, const struct name *top, char *buf, size_t cap)
{
	size_t need = 0, at;

	for (const struct name *c = n; c != top; c = c->parent) {
		if (!c)
			return 0;
		need += (size_t)c->len + 1;
	}
	if (need == 0)
		need = 1;
	if (need + 1 > cap)
		return 0;
	buf[0] = '/';
	buf[need] = 0;
	at = need;
	for (const struct name *c = n; c != top; c = c->parent) {
		at -= c->len;
		memcpy(buf + at, c->text, c->len);
		buf[--at] = '/';
	}
	return need;
}
