/* SPDX-License-Identifier: BSD-2-Clause */
/* What is at a path now, while a source is followed: places begin as the image was. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ctx.h"
#include "base/diag.h"
#include "base/escape.h"
#include "base/mem.h"
#include "tree/sync_impl.h"

#define NO_MEMORY "out of memory to sync"

struct sync_place *sync_find(const struct sync *y, const char *path, size_t len)
{
	uint64_t key = diff_key(&y->diff, path, len);

	for (struct hash_node *h = hash_find(&y->places, key); h != NULL; h = h->next) {
		struct sync_place *at = hash_entry(h, struct sync_place, node);

		if (h->key == key && strncmp(at->path, path, len) == 0 && at->path[len] == '\0')
			return at;
	}
	return NULL;
}

size_t sync_up(const char *path, size_t len)
{
	const char *slash = len != 0 ? memrchr(path, '/', len) : NULL;

	return slash != NULL ? (size_t)(slash - path) : 0;
}

struct sync_place *sync_above(const struct sync *y, const char *path)
{
	size_t len = strlen(path);

	return len != 0 ? sync_find(y, path, sync_up(path, len)) : NULL;
}

/* What was below something that is there no more is not there either. */
static void begin(struct sync *y, struct sync_place *at)
{
	const struct sync_place *up = sync_above(y, at->path);

	at->was = up == NULL || !up->fresh ? diff_find(&y->diff, at->path) : NULL;
	if (at->was != NULL && at->was->gone)
		at->was = NULL;
	at->fresh = at->was == NULL;
	if (at->fresh)
		return;
	at->was->met = true;
	at->type = at->was->e.mode & S_IFMT;
	at->inode = at->was->e.token;
}

int sync_place(struct sync *y, const char *path, size_t len, struct sync_place **ret)
{
	struct sync_place *at = sync_find(y, path, len);

	if (at == NULL) {
		at = mem_zero(sizeof(*at) + len + 1);
		if (at == NULL)
			return diag_set(&y->ctx->diag, -ENOMEM, NO_MEMORY);
		memcpy(at->path, path, len);
		begin(y, at);
		hash_insert(&y->places, &at->node, diff_key(&y->diff, path, len));
	}
	*ret = at;
	return 0;
}

int sync_touch(struct sync *y, const char *path)
{
	struct sync_place *at = sync_above(y, path);

	if (at == NULL || at->touched)
		return 0;
	if (mem_grow((void **)&y->touched, &y->touched_cap, y->ntouched + 1, sizeof(*y->touched)) <
	    0)
		return diag_set(&y->ctx->diag, -ENOMEM, NO_MEMORY);
	at->touched = true;
	y->touched[y->ntouched++] = at;
	return 0;
}

/* An inode whose name went may still be what another name of the source wants. */
static void give_up(struct sync_place *at)
{
	if (at->was != NULL && at->was->inode->other == at->was)
		at->was->inode->other = NULL;
	at->was = NULL;
}

int sync_made(struct sync *y, struct sync_place *at, uint32_t type, uint64_t inode)
{
	give_up(at);
	at->type = type;
	at->inode = inode != 0 ? inode : ((uint64_t)1 << 32) + y->made++;
	at->fresh = true;
	at->next = NULL;
	return sync_touch(y, at->path);
}

int sync_clear(struct sync *y, struct sync_place *at)
{
	const char *path = put_path(&y->put, at->path);
	int rc = path != NULL ? ek_remove(y->put.img, path, EK_REMOVE_TREE, NULL) : -ENOMEM;

	if (rc < 0)
		return rc;
	give_up(at);
	at->type = 0;
	at->fresh = true;
	return sync_touch(y, at->path);
}

/* ---- folders on the way ---- */

/* One that the source has not handed out, or not yet, has the permissions that import gives it. */
static int need_folder(struct sync *y, struct sync_place *at)
{
	const char *path;
	char shown[160];
	int rc;

	at->entered = true;
	if (S_ISDIR(at->type))
		return 0;
	if (at->told)
		return diag_set(&y->ctx->diag, -ENOTDIR,
				"bad tree: '%s' is no folder in the source",
				escape_to(shown, sizeof(shown), at->path, strlen(at->path)));
	rc = sync_tell(y, at->path, at->type != 0 ? "replace" : "make");
	if (rc == 0 && at->type != 0)
		rc = sync_clear(y, at);
	if (rc < 0)
		return rc;
	path = put_path(&y->put, at->path);
	rc = path != NULL ? ek_mkdir(y->put.img, path, 0, NULL) : -ENOMEM;
	return rc < 0 ? rc : sync_made(y, at, S_IFDIR, 0);
}

int sync_enter(struct sync *y, const char *path)
{
	size_t len = strlen(path), end = sync_up(path, len);
	struct sync_place *at = sync_find(y, path, end);
	int rc = 0;

	if (len == 0)
		return 0;
	if (at != NULL && S_ISDIR(at->type)) {
		at->entered = true;
		return 0;
	}
	for (const char *slash = strchr(path, '/'); slash != NULL && rc == 0;
	     slash = strchr(slash + 1, '/')) {
		rc = sync_place(y, path, (size_t)(slash - path), &at);
		if (rc == 0)
			rc = need_folder(y, at);
	}
	return rc;
}

void sync_forget(struct sync *y)
{
	struct hash_node *h;
	size_t at = 0;

	while ((h = hash_pop(&y->places, &at)) != NULL)
		free(hash_entry(h, struct sync_place, node));
	hash_free(&y->places);
	hash_free(&y->kins);
	free(y->kin);
	free(y->touched);
	y->touched = NULL;
}
