/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows opens, closes and renames through a trace. */
#include "trace/handles.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "trace/words.h"

#define ONCE (OPF_CREAT | OPF_EXCL | OPF_TRUNC | OPF_NEW | OPF_MODE)

int handles_init(struct handles *hs)
{
	memset(hs, 0, sizeof(*hs));
	return names_init(&hs->names);
}

static void drop(struct handles *hs, struct open_handle *h)
{
	name_put(&hs->names, h->name);
	name_put(&hs->names, h->dir);
	free(h);
}

void handles_free(struct handles *hs)
{
	size_t at = 0;
	struct hash_node *n;

	while ((n = hash_pop(&hs->open, &at)))
		drop(hs, hash_entry(n, struct open_handle, node));
	hash_free(&hs->open);
	at = 0;
	while ((n = hash_pop(&hs->windows, &at)))
		free(hash_entry(n, struct open_window, node));
	hash_free(&hs->windows);
	if (hs->names.root)
		names_free(&hs->names);
}

struct open_handle *handles_find(const struct handles *hs, uint32_t handle)
{
	struct hash_node *n = hash_find(&hs->open, handle);

	return n ? hash_entry(n, struct open_handle, node) : NULL;
}

/* A name by its path; a reference, or NULL. */
static struct name *name_of(struct handles *hs, struct op_str path, unsigned walk)
{
	return names_walk(&hs->names, hs->names.root, path.p, path.n, walk);
}

static void close_handle(struct handles *hs, struct open_handle *h)
{
	hash_remove(&hs->open, &h->node);
	drop(hs, h);
}

static int open_handle(struct handles *hs, const struct op *o)
{
	struct open_handle *h = handles_find(hs, o->handle);

	if (h)
		close_handle(hs, h);
	h = mem_zero(sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->handle = o->handle;
	h->flags = o->flags & ~(uint32_t)ONCE;
	h->mode = o->mode;
	h->thread = o->thread;
	if (o->flags & OPF_TMPFILE)
		h->dir = name_of(hs, o->path, 0);
	else
		h->name = name_of(hs, o->path, 0);
	hash_insert(&hs->open, &h->node, o->handle);
	hs->opened++;
	return h->name || h->dir ? 0 : -ENOMEM;
}

static int map_window(struct handles *hs, const struct op *o)
{
	struct hash_node *n = hash_find(&hs->windows, o->window);
	struct open_window *w = n ? hash_entry(n, struct open_window, node) : mem_zero(sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->window = o->window;
	w->handle = o->handle;
	w->flags = o->flags;
	w->thread = o->thread;
	w->off = o->off;
	w->len = o->len;
	if (!n)
		hash_insert(&hs->windows, &w->node, o->window);
	return 0;
}

static void unmap_window(struct handles *hs, uint32_t window)
{
	struct hash_node *n = hash_find(&hs->windows, window);

	if (!n)
		return;
	hash_remove(&hs->windows, n);
	free(hash_entry(n, struct open_window, node));
}

static void unlink_name(struct handles *hs, struct op_str path)
{
	struct name *n = name_of(hs, path, WALK_EXISTING);

	if (!n)
		return;
	name_unlink(&hs->names, n);
	name_put(&hs->names, n);
}

static int rename_name(struct handles *hs, const struct op *o)
{
	struct name *from = name_of(hs, o->path, WALK_EXISTING), *to;
	int err = 0;

	if (!from) { /* nothing below or at it is open; what it replaces may be */
		if (!(o->flags & OPF_EXCHANGE))
			unlink_name(hs, o->path2);
		return 0;
	}
	to = name_of(hs, o->path2, 0);
	if (!to) {
		err = -ENOMEM;
	} else if (o->flags & OPF_EXCHANGE) {
		err = name_exchange(&hs->names, from, to);
	} else if (from != to) {
		err = name_move(&hs->names, from, to);
	}
	name_put(&hs->names, from);
	name_put(&hs->names, to);
	return err == -ENOMEM ? err : 0;
}

static void count_unknown(struct handles *hs, const struct op *o)
{
	const char *form = op_forms[o->code].args;

	if (o->handle && form && (form[0] == 'h' || form[1] == 'h') && !handles_find(hs, o->handle))
		hs->unknown++;
}

int handles_follow(struct handles *hs, const struct op *o)
{
	struct open_handle *h;

	switch (o->code) {
	case OP_OPEN:
		return open_handle(hs, o);
	case OP_CLOSE:
		h = handles_find(hs, o->handle);
		if (h)
			close_handle(hs, h);
		hs->unknown += !h;
		hs->closed++;
		return 0;
	case OP_MMAP:
		return map_window(hs, o);
	case OP_MUNMAP:
		unmap_window(hs, o->window);
		return 0;
	case OP_UNLINK:
	case OP_RMDIR:
		unlink_name(hs, o->path);
		return 0;
	case OP_RENAME:
		return rename_name(hs, o);
	default:
		count_unknown(hs, o);
		return 0;
	}
}
