/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device that can be taken back.  What is kept is known by a bit for each 4 KiB, in pieces of 4
 * MiB that a table finds; what changes for the first time is read from below in the largest runs,
 * up to the end of a window of 256 KiB,
 * and becomes records, zeros without their bytes.  What comes from memory is limited: past that the
 * file is made.
 */
#include "io/undo.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/mem.h"
#include "io/dev_impl.h"
#include "io/temp.h"
#include "io/undo_log.h"

#define UNIT         4096u
#define CHUNK_UNITS  1024u
#define WINDOW       64u /* units that are kept at once: neighbours change soon, a sync costs more */
#define MEMORY_LIMIT ((size_t)32 << 20)

struct chunk {
	struct hash_node node; /* key: its number */
	uint64_t kept[CHUNK_UNITS / 64];
};

struct undo {
	struct dev dev;
	struct dev *under;
	char *path;
	struct undo_id id;
	struct undo_log log;
	struct hash chunks;
	uint8_t *piece;
	int error; /* of arming or keeping: nothing may be overwritten any more */
	pthread_mutex_t lock;
};

/* ---- what is kept ---- */

static struct chunk *chunk_of(struct undo *u, uint64_t unit)
{
	struct hash_node *n = hash_find(&u->chunks, unit / CHUNK_UNITS);
	struct chunk *c;

	if (n != NULL)
		return hash_entry(n, struct chunk, node);
	c = mem_zero(sizeof(*c));
	if (c != NULL)
		hash_insert(&u->chunks, &c->node, unit / CHUNK_UNITS);
	return c;
}

static bool is_kept(const struct chunk *c, uint64_t unit)
{
	unsigned at = (unsigned)(unit % CHUNK_UNITS);

	return (c->kept[at / 64] >> (at % 64) & 1) != 0;
}

static int arm(struct undo *u)
{
	if (u->log.fd >= 0)
		return 0;
	if (u->path == NULL)
		return diag_set(u->dev.diag, -EFBIG,
				"too much to take back in memory: %s has no place for an undo file",
				u->dev.name);
	return undo_log_arm(&u->log, u->path, u->dev.size, &u->id);
}

/* Bytes [off, off + len) become records. */
static int keep_run(struct undo *u, uint64_t off, uint64_t len)
{
	int rc = 0;

	while (rc == 0 && len > 0) {
		size_t n = (size_t)MIN(len, (uint64_t)UNDO_PIECE);
		bool zero;

		rc = dev_read(u->under, off, u->piece, n);
		zero = rc == 0 && mem_is_zero(u->piece, n);
		if (rc == 0 && !zero && u->log.bytes.len + n > MEMORY_LIMIT)
			rc = arm(u);
		if (rc == 0)
			rc = undo_log_add(&u->log, off, zero ? NULL : u->piece, n);
		off += n;
		len -= n;
	}
	return rc;
}

/* The units from first on that are not kept yet and lie in one chunk; they count as kept. */
static uint64_t take_run(struct chunk *c, uint64_t first, uint64_t end)
{
	uint64_t at = first;

	do {
		c->kept[at % CHUNK_UNITS / 64] |= (uint64_t)1 << (at % 64);
		at++;
	} while (at < end && at % CHUNK_UNITS != 0 && !is_kept(c, at));
	return at - first;
}

static int keep(struct undo *u, uint64_t off, uint64_t len)
{
	uint64_t unit = off / UNIT, end = DIV_UP(off + len, (uint64_t)UNIT);
	uint64_t units = DIV_UP(u->dev.size, (uint64_t)UNIT);
	int rc = u->error;

	while (rc == 0 && unit < end) {
		struct chunk *c = chunk_of(u, unit);
		uint64_t n = 1, from = unit * UNIT;

		if (c == NULL)
			return -ENOMEM;
		if (!is_kept(c, unit)) {
			n = take_run(c, unit, MIN(ROUND_UP(end, (uint64_t)WINDOW), units));
			rc = keep_run(u, from, MIN(n * UNIT, u->dev.size - from));
		}
		unit += n;
	}
	return rc;
}

/* Before bytes [off, off + len) change. */
static int before(struct undo *u, uint64_t off, uint64_t len)
{
	int rc;

	pthread_mutex_lock(&u->lock);
	rc = keep(u, off, len);
	if (rc == 0)
		rc = undo_log_sync(&u->log);
	u->error = rc;
	pthread_mutex_unlock(&u->lock);
	return rc;
}

/* ---- the device ---- */

static int undo_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	return dev_read(((struct undo *)dev)->under, off, buf, len);
}

static int undo_readv(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n)
{
	return dev_readv(((struct undo *)dev)->under, off, iov, n);
}

static int undo_write(struct dev *dev, uint64_t off, const void *buf, size_t len)
{
	struct undo *u = (struct undo *)dev;
	int rc = before(u, off, len);

	return rc < 0 ? rc : dev_write(u->under, off, buf, len);
}

static int undo_writev(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n)
{
	struct undo *u = (struct undo *)dev;
	uint64_t len = 0;
	int rc;

	for (unsigned i = 0; i < n; i++)
		len += iov[i].iov_len;
	rc = before(u, off, len);
	return rc < 0 ? rc : dev_writev(u->under, off, iov, n);
}

static int undo_flush(struct dev *dev)
{
	return dev_flush(((struct undo *)dev)->under);
}

static int undo_discard(struct dev *dev, uint64_t off, uint64_t len)
{
	struct undo *u = (struct undo *)dev;
	int rc = before(u, off, len);

	return rc < 0 ? rc : dev_discard(u->under, off, len);
}

static int undo_zero(struct dev *dev, uint64_t off, uint64_t len)
{
	struct undo *u = (struct undo *)dev;
	int rc = before(u, off, len);

	return rc < 0 ? rc : dev_zero(u->under, off, len);
}

/* One sync of the file for all requests. */
static int undo_submit(struct dev *dev, struct dev_req **reqs, unsigned n)
{
	struct undo *u = (struct undo *)dev;
	int rc = 0;

	pthread_mutex_lock(&u->lock);
	for (unsigned i = 0; i < n && rc == 0; i++)
		if (reqs[i]->write)
			rc = keep(u, reqs[i]->off + reqs[i]->shift, reqs[i]->len);
	if (rc == 0)
		rc = undo_log_sync(&u->log);
	u->error = rc;
	pthread_mutex_unlock(&u->lock);
	if (rc < 0)
		return rc;
	if (u->under->ops->submit != NULL)
		return u->under->ops->submit(u->under, reqs, n);
	for (unsigned i = 0; i < n; i++)
		dev_serve(u->under, reqs[i]);
	return 0;
}

static int undo_reap(struct dev *dev, unsigned min)
{
	return dev_reap(((struct undo *)dev)->under, min);
}

static int undo_host(struct dev *dev, int *fd, uint64_t *off)
{
	return dev_host(((struct undo *)dev)->under, fd, off);
}

static void undo_close(struct dev *dev)
{
	struct undo *u = (struct undo *)dev;
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&u->chunks, &at)) != NULL)
		free(hash_entry(n, struct chunk, node));
	hash_free(&u->chunks);
	undo_log_close(&u->log);
	pthread_mutex_destroy(&u->lock);
	free(u->piece);
	free(u->path);
}

static const struct dev_ops undo_ops = {
    .name = "undo",
    .read = undo_read,
    .write = undo_write,
    .readv = undo_readv,
    .writev = undo_writev,
    .flush = undo_flush,
    .discard = undo_discard,
    .zero = undo_zero,
    .submit = undo_submit,
    .reap = undo_reap,
    .host = undo_host,
    .close = undo_close,
};

int dev_open_undo(struct dev *under, const char *path, const struct undo_id *id, struct dev **ret)
{
	struct undo *u = dev_new(sizeof(*u), &undo_ops, under->name, under->diag);

	if (u == NULL)
		return -ENOMEM;
	dev_like(&u->dev, under);
	u->under = under;
	u->id = *id;
	u->log.fd = -1;
	u->log.diag = under->diag;
	u->log.name = u->dev.name;
	pthread_mutex_init(&u->lock, NULL);
	u->path = path != NULL ? strdup(path) : NULL;
	u->piece = mem_aligned(MAX(4096u, under->align), UNDO_PIECE);
	if (u->piece == NULL || (path != NULL && u->path == NULL)) {
		dev_close(&u->dev);
		return diag_set(under->diag, -ENOMEM, "out of memory for an undo file");
	}
	*ret = &u->dev;
	return 0;
}

/* ---- ends ---- */

int undo_arm(struct dev *dev)
{
	struct undo *u = (struct undo *)dev;
	int rc;

	pthread_mutex_lock(&u->lock);
	if (u->error == 0)
		u->error = arm(u);
	rc = u->error;
	pthread_mutex_unlock(&u->lock);
	return rc;
}

int undo_remove(const char *path, struct diag *d)
{
	int rc = unlink(path) < 0 ? -errno : temp_sync_folder(path);

	return rc < 0 ? diag_errno(d, rc, "cannot remove %s", path) : 0;
}

/* The file goes, and what was kept is forgotten. */
static int forget(struct undo *u)
{
	bool had_file = u->log.fd >= 0;
	struct hash_node *n;
	size_t at = 0;
	int rc = 0;

	undo_log_close(&u->log);
	u->log.end = 0;
	while ((n = hash_pop(&u->chunks, &at)) != NULL)
		free(hash_entry(n, struct chunk, node));
	hash_free(&u->chunks);
	if (had_file)
		rc = undo_remove(u->path, u->dev.diag);
	u->error = 0;
	return rc;
}

int undo_take_back(struct dev *dev)
{
	struct undo *u = (struct undo *)dev;
	struct undo_done done = {0, 0};
	int rc;

	/* with a file this can be interrupted too, without one it is better than nothing */
	if (u->error == 0 && u->path != NULL && u->log.bytes.len != 0)
		(void)arm(u);
	rc = undo_log_play(&u->log, u->under, &done);
	if (rc == 0)
		rc = dev_flush(u->under);
	return rc < 0 ? rc : forget(u);
}

int undo_keep(struct dev *dev)
{
	struct undo *u = (struct undo *)dev;
	int rc = u->log.fd >= 0 ? dev_flush(u->under) : 0;

	return rc < 0 ? rc : forget(u);
}

int undo_replay(const char *path, struct dev *to, int (*match)(void *ctx, const struct undo_id *id),
		void *ctx, struct undo_done *ret)
{
	struct undo_log log = {.fd = -1, .diag = to->diag};
	struct undo_done done = {0, 0};
	struct undo_id id;
	uint64_t size;
	int rc = undo_log_open(&log, path, &size, &id);

	if (rc == -ENODATA) { /* torn while it was made */
		undo_log_close(&log);
		*ret = done;
		return 0;
	}
	if (rc == 0 && size != to->size)
		rc = diag_set(to->diag, -EINVAL,
			      "cannot use %s: it is about %llu bytes, %s has %llu", path,
			      (unsigned long long)size, to->name, (unsigned long long)to->size);
	if (rc == 0 && match != NULL)
		rc = match(ctx, &id);
	if (rc == 0)
		rc = undo_log_play(&log, to, &done);
	if (rc == 0)
		rc = dev_flush(to);
	undo_log_close(&log);
	if (rc == 0)
		*ret = done;
	return rc;
}
