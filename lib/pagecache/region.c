/* SPDX-License-Identifier: BSD-2-Clause */
/* A region from open to close, and its files: one struct for each name, however many handles. */
#include "pagecache/region_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "io/nbd.h"

#define SLOW_TRIP  500000u /* ns: beyond it stores are larger */
#define FILES_KEPT 512u    /* names known at once, beside those that are open */

int region_enter(struct ek_region *r, unsigned writer)
{
	diag_clear(r->d);
	return writer < EK_REGION_WRITERS
		   ? 0
		   : diag_set(r->d, -EINVAL, "writer %u: there are %d", writer, EK_REGION_WRITERS);
}

int region_check_end(struct ek_region *r, uint64_t off, uint64_t len)
{
	uint64_t most = r->store->room != 0 ? r->store->room : REGION_MAX;

	if (off <= most && len <= most - off)
		return 0;
	if (r->store->room == 0)
		return -EFBIG;
	return diag_set(r->d, -ENOSPC, "no space: each file gets %llu bytes of the store",
			(unsigned long long)most);
}

/* ---- open and close ---- */

/* What the knobs leave to the store. */
static void settle_knobs(struct ek_region *r)
{
	struct rknobs *k = &r->k;
	const struct region_store *s = r->store;

	if (k->max_store == 0)
		k->max_store = s->trip_ns > SLOW_TRIP ? (uint64_t)4 << 20 : (uint64_t)1 << 20;
	k->max_store = MIN(k->max_store, MAX(s->max, (uint64_t)PAGE_BYTES));
	if (k->align == 0)
		k->align = s->preferred;
	if (!k->bridge_given)
		k->bridge = r->walk->bridge;
	if (k->nr_to_write == 0)
		k->nr_to_write = UINT64_MAX;
}

static int set_up(struct ek_region *r)
{
	r->walk = &region_walks[r->k.walk];
	r->track = region_tracks[r->k.track];
	r->stable = &region_stables[r->k.stable];
	settle_knobs(r);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	if (flight_open(r) < 0)
		return diag_set(r->d, -ENOMEM, "out of memory for stores");
	/* twice: what is on its way may be kept while folios get new memory */
	return fpool_open((size_t)r->k.memory * 2, r->d, &r->pool);
}

static int read_options(struct ek_ctx *ctx, const struct ek_region_options *opt,
			struct ek_region_options *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (opt == NULL)
		return 0;
	if (opt->size < sizeof(opt->size) || opt->size > 4096)
		return diag_set(&ctx->diag, -EINVAL, "region options of %zu bytes", opt->size);
	memcpy(ret, opt, MIN(opt->size, sizeof(*ret)));
	return 0;
}

int region_open_on(struct ek_ctx *ctx, struct region_store *s, const struct ek_region_options *opt,
		   struct ek_region **ret)
{
	struct ek_region *r = mem_zero(sizeof(*r));
	struct ek_region_options o;
	int rc = read_options(ctx, opt, &o);

	if (r == NULL)
		rc = diag_set(&ctx->diag, -ENOMEM, "out of memory for a region");
	if (rc == 0)
		rc = region_knobs(o.knobs, &ctx->diag, &r->k);
	if (rc < 0) {
		free(r);
		return rc;
	}
	r->d = &ctx->diag;
	r->store = s;
	r->threads = (o.flags & EK_REGION_THREADS) != 0;
	rc = set_up(r);
	if (rc == 0) {
		*ret = r;
		return 0;
	}
	r->store = NULL;
	ek_region_close(r);
	return rc;
}

int ek_region_open(struct ek_ctx *ctx, const char *store, const struct ek_region_options *opt,
		   struct ek_region **ret)
{
	struct ek_region_options o;
	struct region_store *s;
	struct rknobs k;
	int rc;

	diag_clear(&ctx->diag);
	rc = read_options(ctx, opt, &o);
	if (rc == 0)
		rc = region_knobs(o.knobs, &ctx->diag, &k);
	if (rc == 0)
		rc = nbd_is_uri(store) ? region_store_nbd(store, &k, &ctx->diag, &s)
				       : region_store_folder(store, &ctx->diag, &s);
	if (rc < 0)
		return rc;
	rc = region_open_on(ctx, s, opt, ret);
	if (rc < 0)
		s->ops->close(s);
	return rc;
}

static void free_file(struct rfile *file)
{
	struct ek_region *r = file->r;
	struct rfile **at = &r->files;

	while (*at != file)
		at = &(*at)->next;
	*at = file->next;
	rfile_free_index(file);
	r->store->ops->release(file->data, file->size);
	pthread_rwlock_destroy(&file->turn);
	free(file->name);
	free(file);
}

void ek_region_close(struct ek_region *r)
{
	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	flight_drain(r, NULL);
	while (r->files != NULL)
		free_file(r->files);
	pthread_mutex_unlock(&r->lock);
	flight_close(r);
	for (unsigned i = 0; i < POOL_ORDERS; i++) {
		while (r->free_folios[i] != NULL) {
			struct rfolio *o = r->free_folios[i];

			r->free_folios[i] = o->next;
			free(o);
		}
	}
	while (r->free_bufs != NULL) {
		struct rbuf *b = r->free_bufs;

		r->free_bufs = b->next;
		free(b);
	}
	fpool_close(r->pool);
	if (r->store != NULL)
		r->store->ops->close(r->store);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* ---- files ---- */

/* Its last handle is kept until nothing of the file is on its way: calls on all files come by while
 * this one waits, and must not be the ones who free it. */
static void release(struct rfile *file)
{
	if (file->handles == 1 && file->name == NULL)
		flight_drain(file->r, file);
	if (--file->handles == 0 && file->name == NULL)
		free_file(file);
}

struct rfile *rfile_next(struct ek_region *r, struct rfile *file)
{
	struct rfile *next = file != NULL ? file->next : r->files;

	if (next != NULL)
		next->handles++;
	if (file != NULL)
		release(file);
	return next;
}

static struct rfile *find_file(struct ek_region *r, const char *name)
{
	struct rfile *file = r->files;

	while (file != NULL && (file->name == NULL || strcmp(file->name, name) != 0))
		file = file->next;
	return file;
}

static int new_file(struct ek_region *r, const char *name, unsigned flags, struct rfile **ret)
{
	struct rfile *file = mem_zero(sizeof(*file));
	int rc = file == NULL ? -ENOMEM : 0;

	if (rc == 0 && (file->name = strdup(name)) == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = r->store->ops->open(r->store, name, flags, &file->data, &file->size);
	if (rc == 0 && file->size > REGION_MAX) {
		r->store->ops->release(file->data, file->size);
		rc = -EFBIG;
	}
	if (rc < 0) {
		free(file != NULL ? file->name : NULL);
		free(file);
		return rc;
	}
	file->r = r;
	file->stored = file->size;
	pthread_rwlock_init(&file->turn, NULL);
	file->next = r->files;
	r->files = file;
	*ret = file;
	return 0;
}

/* Nothing of it is dirty or on its way. */
static bool is_stored(const struct rfile *file)
{
	return rmark_next(file, MARK_DIRTY, 0, UINT64_MAX) == UINT64_MAX &&
	       !flight_has(file->r, file);
}

/* Too many names are known: one that nobody has open is stored and forgotten.  While it is stored
 * somebody may open it, and have closed it again. */
static void forget_idle(struct ek_region *r)
{
	struct rfile *idle = NULL;
	unsigned n = 0;
	int rc;

	for (struct rfile *file = r->files; file != NULL; file = file->next, n++)
		idle = file->handles == 0 ? file : idle;
	if (n < FILES_KEPT || idle == NULL)
		return;
	idle->handles++;
	rc = region_pass(idle, 0, UINT64_MAX, true);
	if (rc < 0 || idle->handles != 1 || idle->name == NULL || !is_stored(idle)) {
		release(idle);
		return;
	}
	r->forgot = true;
	free_file(idle);
}

/* The lock is held. */
static int open_file(struct ek_region *r, const char *name, unsigned flags, struct rfile **ret)
{
	if (find_file(r, name) == NULL)
		forget_idle(r);
	*ret = find_file(r, name);
	if (*ret == NULL)
		return new_file(r, name, flags, ret);
	return (flags & EK_REGION_EXCLUSIVE) != 0 ? -EEXIST : 0;
}

int ek_region_file_open(struct ek_region *r, const char *name, unsigned flags,
			struct ek_region_file **ret)
{
	struct ek_region_file *f = mem_zero(sizeof(*f));
	int rc = f == NULL ? -ENOMEM : 0;
	struct rfile *file;

	pthread_mutex_lock(&r->lock);
	diag_clear(r->d);
	if (rc == 0)
		rc = open_file(r, name, flags, &file);
	if (rc == 0) {
		file->handles++;
		*f = (struct ek_region_file){file, file->hard_failures};
	} else {
		diag_errno(r->d, rc, "cannot open %s", name);
	}
	pthread_mutex_unlock(&r->lock);
	if (rc < 0) {
		free(f);
		return rc;
	}
	if ((flags & EK_REGION_TRUNCATE) != 0)
		rc = ek_region_truncate(f, 0, 0);
	if (rc < 0)
		ek_region_file_close(f);
	else
		*ret = f;
	return rc;
}

void ek_region_file_close(struct ek_region_file *f)
{
	struct ek_region *r;

	if (f == NULL)
		return;
	r = f->file->r;
	pthread_mutex_lock(&r->lock);
	release(f->file);
	pthread_mutex_unlock(&r->lock);
	free(f);
}

uint64_t ek_region_file_size(const struct ek_region_file *f)
{
	struct ek_region *r = f->file->r;
	uint64_t size;

	pthread_mutex_lock(&r->lock);
	size = f->file->size;
	pthread_mutex_unlock(&r->lock);
	return size;
}

/* ---- names ---- */

/* The file loses its name; without handles it goes, with what is dirty. */
static void forget(struct ek_region *r, const char *name)
{
	struct rfile *file = find_file(r, name);

	if (file == NULL)
		return;
	free(file->name);
	file->name = NULL;
	file->handles++;
	release(file);
}

int ek_region_unlink(struct ek_region *r, const char *name)
{
	int rc;

	pthread_mutex_lock(&r->lock);
	diag_clear(r->d);
	rc = r->store->ops->unlink(r->store, name);
	if (rc == 0)
		forget(r, name);
	else
		diag_errno(r->d, rc, "cannot remove %s", name);
	pthread_mutex_unlock(&r->lock);
	return rc;
}

int ek_region_rename(struct ek_region *r, const char *from, const char *to)
{
	char *name = strdup(to);
	struct rfile *file;
	int rc = name == NULL ? -ENOMEM : 0;

	pthread_mutex_lock(&r->lock);
	diag_clear(r->d);
	if (rc == 0 && strcmp(from, to) != 0)
		rc = r->store->ops->rename(r->store, from, to);
	if (rc == 0 && strcmp(from, to) != 0) {
		forget(r, to);
		file = find_file(r, from);
		if (file != NULL) {
			free(file->name);
			file->name = name;
			name = NULL;
		}
	}
	if (rc < 0)
		diag_errno(r->d, rc, "cannot rename %s to %s", from, to);
	pthread_mutex_unlock(&r->lock);
	free(name);
	return rc;
}
