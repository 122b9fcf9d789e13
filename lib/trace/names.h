/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names an importer has seen, as a tree from the "/" of the traced machine, so that moving a
 * directory moves all below it.  Names are made when they are first mentioned; what they name (a
 * file) only when something is known about it.
 *
 * Counted references: a name keeps its parent, a link in the tree keeps the name, whoever holds a
 * pointer takes a reference.  An unlinked name lives on, outside the tree, while it is held.  A
 * name that nobody holds and of which nothing is known leaves the tree, so memory follows what is
 * known and open, not what was mentioned.
 */
#ifndef TRACE_NAMES_H
#define TRACE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct file {
	uint32_t refs;
	char type; /* as in the manifest, 0 unknown */
	bool size_known;
	bool complete; /* a directory of which every entry is known */
	uint64_t size;
	char *target; /* of a symbolic link */
};

struct name {
	struct hash_node node; /* in names.table, by parent and text */
	struct name *parent;   /* NULL for the root */
	struct file *file;     /* NULL: nothing is known */
	uint32_t refs;
	uint32_t len;
	bool linked;
	char *text;
};

struct names {
	struct hash table;
	struct name *root; /* "/" */
};

/* All return NULL or -ENOMEM without memory. */
int names_init(struct names *ns);
void names_free(struct names *ns);

struct name *name_get(struct name *n);
void name_put(struct names *ns, struct name *n);
struct file *file_new(char type);
struct file *file_get(struct file *f);
void file_put(struct file *f);

enum names_walk {
	WALK_FOLLOW = 1,   /* follow a symbolic link in the last place too */
	WALK_EXISTING = 2, /* make no names: NULL when one is missing */
};

/* The name that path (n bytes) leads to from base, with a reference for the caller; ".." climbs and
 * known symbolic links are followed, up to 40.  NULL: no memory, a loop, or see WALK_EXISTING. */
struct name *names_walk(struct names *ns, struct name *base, const char *path, size_t n,
			unsigned flags);

/* Replaces what a name stands for; takes over the reference to f (may be NULL). */
void name_set_file(struct name *n, struct file *f);

/* The file of a name, made on demand. */
struct file *name_file(struct name *n);

/* Takes a name out of the tree. */
void name_unlink(struct names *ns, struct name *n);

/* Makes n stand where to stood (to leaves the tree), with all below it; -EINVAL when to lies below
 * n, -ENOMEM. */
int name_move(struct names *ns, struct name *n, struct name *to);

/* Exchanges the places of two names, with all below them; errors as above. */
int name_exchange(struct names *ns, struct name *a, struct name *b);

/* True when n is top or below it. */
bool name_is_below(const struct name *n, const struct name *top);

/* Writes the path of n from top ("/a/b", or "/" for top itself) into buf and ends it with 0; its
 * length, or 0 when n is not below top or the path does not fit. */
size_t name_path(const struct name *n, const struct name *top, char *buf, size_t cap);

#endif
