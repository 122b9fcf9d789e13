/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of attributes is kept in order by inserting where a name belongs: sets are small. */
#include "tree/xattrs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/mem.h"

#define LIST_MAX 65536u /* what Linux allows for names, and for a value */

void xattr_list_clear(struct xattr_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free((void *)(uintptr_t)l->v[i].name);
	l->n = 0;
}

void xattr_list_free(struct xattr_list *l)
{
	xattr_list_clear(l);
	free(l->v);
	free(l->names);
	*l = (struct xattr_list){0};
}

int xattr_list_set(struct xattr_list *l, const char *name, const void *value, size_t len)
{
	size_t name_len = strlen(name), at = 0;
	char *copy = malloc(name_len + 1 + len + 1);

	if (copy == NULL || mem_grow((void **)&l->v, &l->cap, l->n + 1, sizeof(*l->v)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, name, name_len + 1);
	if (len != 0)
		memcpy(copy + name_len + 1, value, len);
	while (at < l->n && strcmp(l->v[at].name, name) < 0)
		at++;
	if (at < l->n && strcmp(l->v[at].name, name) == 0) {
		free((void *)(uintptr_t)l->v[at].name);
	} else {
		memmove(&l->v[at + 1], &l->v[at], (l->n - at) * sizeof(*l->v));
		l->n++;
	}
	l->v[at] = (struct ek_xattr){copy, copy + name_len + 1, len};
	return 0;
}

static int take_value(struct xattr_list *l, const char *path, const char *name, char *value)
{
	ssize_t n = lgetxattr(path, name, value, LIST_MAX);

	if (n < 0)
		return errno == ENODATA ? 0 : -errno; /* gone meanwhile */
	return xattr_list_set(l, name, value, (size_t)n);
}

int xattr_list_host(struct xattr_list *l, const char *path)
{
	ssize_t n;
	int rc = 0;

	xattr_list_clear(l);
	if (l->names == NULL) {
		l->names = malloc((size_t)2 * LIST_MAX);
		if (l->names == NULL)
			return -ENOMEM;
	}
	n = llistxattr(path, l->names, LIST_MAX);
	if (n < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	for (const char *p = l->names; p < l->names + n && rc == 0; p += strlen(p) + 1)
		rc = take_value(l, path, p, l->names + LIST_MAX);
	return rc;
}
