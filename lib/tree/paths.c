/* SPDX-License-Identifier: BSD-2-Clause */
/* A path is its last name and the place of the folder's, which ends at the start with place 0. */
#include "tree/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "extkit/inode.h"

#define FIRST sizeof(size_t) /* so that no name has place 0 */

static size_t folder_of(const struct paths *p, size_t at)
{
	size_t up;

	memcpy(&up, p->names + at, sizeof(up));
	return up;
}

static int keep_name(struct paths *p, size_t up, const char *name, size_t *ret)
{
	size_t at = MAX(p->len, FIRST), n = strlen(name) + 1;

	if (mem_grow((void **)&p->names, &p->cap, at + sizeof(up) + n, 1) < 0)
		return -ENOMEM;
	memcpy(p->names + at, &up, sizeof(up));
	memcpy(p->names + at + sizeof(up), name, n);
	p->len = at + sizeof(up) + n;
	*ret = at;
	return 0;
}

int paths_add(struct paths *p, const struct ek_found *f, size_t *ret)
{
	const char *name = f->depth != 0 ? f->name : ".";
	struct paths_folder in = {0}, is = {.len = strlen(name)};

	if (mem_grow((void **)&p->above, &p->above_cap, f->depth + 1, sizeof(in)) < 0)
		return -ENOMEM;
	if (f->depth > 1)
		in = p->above[f->depth - 1];
	if (keep_name(p, in.at, name, &is.at) < 0)
		return -ENOMEM;
	is.len += in.at != 0 ? in.len + 1 : 0;
	p->above[f->depth] = is;
	p->longest = MAX(p->longest, is.len + 1);
	*ret = is.at;
	return 0;
}

int paths_end(struct paths *p)
{
	p->longest = MAX(p->longest, sizeof("."));
	p->text = mem_zero(p->longest);
	return p->text != NULL ? 0 : -ENOMEM;
}

const char *paths_text(struct paths *p, size_t at)
{
	char *to = p->text + p->longest - 1;

	for (; at != 0; at = folder_of(p, at)) {
		const char *name = p->names + at + sizeof(at);
		size_t n = strlen(name);

		if (*to != '\0')
			*--to = '/';
		to -= n;
		memcpy(to, name, n);
	}
	return to;
}

void paths_free(struct paths *p)
{
	free(p->names);
	free(p->above);
	free(p->text);
}
