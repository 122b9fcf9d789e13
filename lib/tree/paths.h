/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths of a walk, kept for later: a name and a number for each, however deep it lies.
 *
 *	struct paths p = {0};
 *	paths_add(&p, &found, &at);	for what ek_walk_next gave, every folder included
 *	paths_end(&p);			then there are no more
 *	paths_text(&p, at);
 */
#ifndef TREE_PATHS_H
#define TREE_PATHS_H

#include <stddef.h>

struct ek_found;

struct paths_folder {
	size_t at, len; /* len: of its path */
};

struct paths {
	char *names; /* one behind the other: where the folder's is, then the name with its zero */
	size_t len, cap;
	struct paths_folder *above; /* by depth: what was found there last */
	size_t above_cap;
	size_t longest; /* bytes of a path, its zero included */
	char *text;     /* as long as the longest, from paths_end on */
};

/* *ret is never 0.  -ENOMEM leaves what was there. */
int paths_add(struct paths *p, const struct ek_found *f, size_t *ret);

/* -ENOMEM, or 0 and paths have texts. */
int paths_end(struct paths *p);

/* From below the start on, "." for the start and "" for 0; valid until the next call. */
const char *paths_text(struct paths *p, size_t at);

void paths_free(struct paths *p);

#endif
