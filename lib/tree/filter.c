/* SPDX-License-Identifier: BSD-2-Clause */
/* Owners, times, exclusions and attributes of entries, in the order in which options are told:
 * maps, then --owner and --group, then --all-root; side files come before that. */
#include "tree/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/mem.h"
#include "tree/filter_files.h"
#include "tree/xattrs.h"

struct tree_filter {
	const struct ek_tree_options *opt;
	struct ek_time now;
	struct diag *diag;
	struct side_files *side; /* NULL without any */
	struct xattr_list xattrs;
};

int filter_open(const struct ek_tree_options *opt, struct ek_time now, struct diag *d,
		struct tree_filter **ret)
{
	struct tree_filter *f = mem_zero(sizeof(*f));

	if (f == NULL)
		return diag_set(d, -ENOMEM, "out of memory for options");
	f->opt = opt;
	f->now = now;
	f->diag = d;
	if (opt->file_contexts != NULL || opt->xattr_file != NULL || opt->fs_config != NULL) {
		int rc =
		    side_open(opt->file_contexts, opt->xattr_file, opt->fs_config, d, &f->side);

		if (rc < 0) {
			filter_close(f);
			return rc;
		}
	}
	*ret = f;
	return 0;
}

void filter_close(struct tree_filter *f)
{
	if (f == NULL)
		return;
	side_close(f->side);
	xattr_list_free(&f->xattrs);
	free(f);
}

/* A pattern with a slash is of the path, with or without one at its beginning; else of any of its
 * names. */
static bool matches(const char *pattern, const char *path)
{
	const char *name = strrchr(path, '/');

	if (strchr(pattern, '/') != NULL)
		return fnmatch(*pattern == '/' ? pattern + 1 : pattern, path, FNM_PATHNAME) == 0;
	return fnmatch(pattern, name != NULL ? name + 1 : path, 0) == 0;
}

static bool is_excluded(const struct tree_filter *f, const char *path)
{
	char head[4096];

	if (f->opt->nexcludes == 0 || strlen(path) >= sizeof(head))
		return false;
	memcpy(head, path, strlen(path) + 1);
	for (size_t i = 0; i < f->opt->nexcludes; i++) {
		if (*path != '\0' && matches(f->opt->excludes[i], path))
			return true;
	}
	/* an archive goes on with what is below an excluded folder */
	for (char *slash; (slash = strrchr(head, '/')) != NULL;) {
		*slash = '\0';
		for (size_t i = 0; i < f->opt->nexcludes; i++) {
			if (matches(f->opt->excludes[i], head))
				return true;
		}
	}
	return false;
}

static uint32_t map_id(const struct ek_id_map *map, size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++) {
		if (id - map[i].from < map[i].count)
			return map[i].to + (id - map[i].from);
	}
	return id;
}

static void clamp(const struct tree_filter *f, struct ek_time *t)
{
	if (t->sec > f->now.sec || (t->sec == f->now.sec && t->nsec > f->now.nsec))
		*t = f->now;
}

int filter_apply(struct tree_filter *f, struct tree_entry *e)
{
	const struct ek_tree_options *o = f->opt;

	if (is_excluded(f, e->path))
		return 0;
	if ((o->flags & EK_TREE_NO_XATTRS) != 0)
		e->nxattrs = 0;
	if (f->side != NULL && e->link == NULL) {
		int rc = side_apply(f->side, e, &f->xattrs);

		if (rc < 0)
			return rc;
	}
	e->uid = map_id(o->users, o->nusers, e->uid);
	e->gid = map_id(o->groups, o->ngroups, e->gid);
	if ((o->flags & EK_TREE_UID) != 0)
		e->uid = o->uid;
	if ((o->flags & EK_TREE_GID) != 0)
		e->gid = o->gid;
	if ((o->flags & EK_TREE_ALL_ROOT) != 0)
		e->uid = e->gid = 0;
	if ((o->flags & EK_TREE_CLAMP) != 0) {
		clamp(f, &e->mtime);
		clamp(f, &e->atime);
		clamp(f, &e->ctime);
		clamp(f, &e->crtime);
	}
	return 1;
}
