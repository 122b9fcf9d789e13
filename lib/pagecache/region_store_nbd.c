/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network block device as a store: each file has a slot of the export, all slots are equally
 * long, and a slot is zeroed when it is given out, so that what was not written reads as zeros.
 * Names live as long as the store is open.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/nbd.h"
#include "io/probe.h"
#include "pagecache/region.h"

#define SLOT_USUAL ((uint64_t)64 << 20)
#define TRIPS      5u
#define SLOTS_MAX  ((size_t)1 << 20)

struct nbd_data {
	struct rdata data;
	char *name; /* NULL: unlinked */
	uint64_t base, size;
	bool used, open;
};

struct nbd_store {
	struct region_store store;
	struct dev *dev;
	struct diag *d;
	uint64_t slot;
	struct nbd_data *slots;
	size_t count;
};

static struct nbd_store *of(const struct rdata *data)
{
	return (struct nbd_store *)data->store;
}

static struct nbd_data *slot_of(const struct rdata *data)
{
	return (struct nbd_data *)(uintptr_t)data;
}

static struct nbd_data *find(struct nbd_store *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++) {
		struct nbd_data *f = &s->slots[i];

		if (f->used && f->name != NULL && strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

static void give_back(struct nbd_data *f)
{
	if (f->open || f->name != NULL)
		return;
	f->used = false;
	f->size = 0;
}

static int make(struct nbd_store *s, const char *name, struct nbd_data **ret)
{
	size_t i = 0;
	int rc;

	while (i < s->count && s->slots[i].used)
		i++;
	if (i == s->count)
		return diag_set(s->d, -ENOSPC,
				"no space: %s has room for %zu files of %llu bytes: a smaller slot "
				"gives more",
				s->dev->name, s->count, (unsigned long long)s->slot);
	rc = dev_zero(s->dev, s->slots[i].base, s->slot);
	if (rc < 0)
		return rc;
	s->slots[i].name = strdup(name);
	if (s->slots[i].name == NULL)
		return -ENOMEM;
	s->slots[i].used = true;
	*ret = &s->slots[i];
	return 0;
}

static int nbd_open_data(struct region_store *store, const char *name, unsigned flags,
			 struct rdata **ret, uint64_t *size)
{
	struct nbd_store *s = (struct nbd_store *)store;
	struct nbd_data *f = find(s, name);
	int rc = 0;

	if (f != NULL && (flags & EK_REGION_EXCLUSIVE) != 0)
		return -EEXIST;
	if (f == NULL && (flags & EK_REGION_CREATE) == 0)
		return -ENOENT;
	if (f == NULL)
		rc = make(s, name, &f);
	if (rc < 0)
		return rc;
	f->open = true;
	*size = f->size;
	*ret = &f->data;
	return 0;
}

static void nbd_release(struct rdata *data, uint64_t size)
{
	slot_of(data)->size = size;
	slot_of(data)->open = false;
	give_back(slot_of(data));
}

static int nbd_unlink(struct region_store *store, const char *name)
{
	struct nbd_data *f = find((struct nbd_store *)store, name);

	if (f == NULL)
		return -ENOENT;
	free(f->name);
	f->name = NULL;
	give_back(f);
	return 0;
}

static int nbd_rename(struct region_store *store, const char *from, const char *to)
{
	struct nbd_data *f = find((struct nbd_store *)store, from);
	char *name = strdup(to);

	if (f == NULL || name == NULL) {
		free(name);
		return f == NULL ? -ENOENT : -ENOMEM;
	}
	if (find((struct nbd_store *)store, to) != NULL)
		nbd_unlink(store, to);
	free(f->name);
	f->name = name;
	return 0;
}

static void sent(struct dev_req *req)
{
	op_done(req->ctx, req->result);
}

static void nbd_submit(struct rop *op)
{
	struct nbd_data *f = slot_of(op->data);
	struct nbd_store *s = of(op->data);
	struct dev_req *req = &op->req;
	int rc;

	if (op->off > s->slot || op->len > s->slot - op->off) {
		op_done(op, -EFBIG);
		return;
	}
	*req = (struct dev_req){.off = f->base + op->off,
				.iov = op->iov,
				.iovcnt = op->iovcnt,
				.write = true,
				.done = sent,
				.ctx = op};
	rc = dev_submit(s->dev, &req, 1);
	if (rc < 0)
		op_done(op, rc);
}

static void nbd_reap_store(struct region_store *store, unsigned min)
{
	dev_reap(((struct nbd_store *)store)->dev, min);
}

static int nbd_read(struct rdata *data, uint64_t off, void *buf, size_t len)
{
	struct nbd_store *s = of(data);
	size_t n = off < s->slot ? (size_t)MIN((uint64_t)len, s->slot - off) : 0;

	memset((uint8_t *)buf + n, 0, len - n);
	return dev_read(s->dev, slot_of(data)->base + off, buf, n);
}

static int nbd_flush(struct rdata *data)
{
	return dev_flush(of(data)->dev);
}

static int nbd_flush_all(struct region_store *store)
{
	return dev_flush(((struct nbd_store *)store)->dev);
}

static int nbd_zero(struct rdata *data, uint64_t off, uint64_t len)
{
	struct nbd_store *s = of(data);

	if (off >= s->slot)
		return 0;
	return dev_zero(s->dev, slot_of(data)->base + off, MIN(len, s->slot - off));
}

/* The device keeps its size: what is cut off becomes zeros. */
static int nbd_resize(struct rdata *data, uint64_t size, uint64_t stored)
{
	struct nbd_store *s = of(data);
	struct nbd_data *f = slot_of(data);

	if (size > s->slot)
		return -EFBIG;
	f->size = size;
	return size < stored ? nbd_zero(data, size, stored - size) : 0;
}

static void nbd_close(struct region_store *store)
{
	struct nbd_store *s = (struct nbd_store *)store;

	for (size_t i = 0; i < s->count; i++)
		free(s->slots[i].name);
	free(s->slots);
	dev_close(s->dev);
	free(s);
}

static const struct region_store_ops nbd_store_ops = {
    .open = nbd_open_data,
    .release = nbd_release,
    .unlink = nbd_unlink,
    .rename = nbd_rename,
    .submit = nbd_submit,
    .reap = nbd_reap_store,
    .read = nbd_read,
    .flush = nbd_flush,
    .flush_all = nbd_flush_all,
    .resize = nbd_resize,
    .zero = nbd_zero,
    .close = nbd_close,
};

static int measure_trip(struct nbd_store *s)
{
	uint8_t buf[512];
	uint64_t best = UINT64_MAX;
	int rc = 0;

	for (unsigned i = 0; i < TRIPS && rc == 0; i++) {
		uint64_t began = host_ns(CLOCK_MONOTONIC), took;

		rc = dev_read(s->dev, 0, buf, (size_t)MIN(s->dev->size, sizeof(buf)));
		took = host_ns(CLOCK_MONOTONIC) - began;
		best = MIN(best, took);
	}
	s->store.trip_ns = best;
	return rc;
}

static int cut_slots(struct nbd_store *s, const struct rknobs *k)
{
	uint64_t unit = s->store.preferred, n;

	s->slot = k->slot != 0 ? ROUND_UP(k->slot, unit) : MIN(SLOT_USUAL, s->dev->size);
	s->slot = ROUND_DOWN(s->slot, unit);
	n = s->slot != 0 ? s->dev->size / s->slot : 0;
	if (n == 0)
		return diag_set(s->d, -ENOSPC, "no space: %s has %llu bytes, a file gets %llu",
				s->dev->name, (unsigned long long)s->dev->size,
				(unsigned long long)s->slot);
	s->slots = mem_array((size_t)MIN(n, (uint64_t)SLOTS_MAX), sizeof(*s->slots), MEM_CAP, s->d);
	if (s->slots == NULL)
		return -ENOMEM;
	s->count = (size_t)MIN(n, (uint64_t)SLOTS_MAX);
	s->store.room = s->slot;
	for (size_t i = 0; i < s->count; i++) {
		s->slots[i].data.store = &s->store;
		s->slots[i].base = i * s->slot;
	}
	return 0;
}

int region_store_nbd(const char *uri, const struct rknobs *k, struct diag *d,
		     struct region_store **ret)
{
	struct nbd_store *s = mem_zero(sizeof(*s));
	struct nbd_limits limits;
	int rc;

	if (s == NULL)
		return diag_set(d, -ENOMEM, "out of memory for a store");
	s->store.ops = &nbd_store_ops;
	s->d = d;
	rc = nbd_open_uri(uri, DEV_WRITE, 0, d, &s->dev);
	if (rc == 0)
		rc = probe_refuse(s->dev, "files of a region would overwrite it", d);
	if (rc == 0 && nbd_limits(s->dev, &limits)) {
		s->store.preferred = limits.preferred;
		s->store.max = limits.max;
		rc = cut_slots(s, k);
	}
	if (rc == 0)
		rc = measure_trip(s);
	if (rc < 0) {
		nbd_close(&s->store);
		return rc;
	}
	s->dev->diag = NULL; /* writers may be threads; they tell what they were about */
	*ret = &s->store;
	return 0;
}
