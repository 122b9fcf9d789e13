/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder: does to the device below what it is told, then notes it if it worked; one call at a
 * time, so that the log has the order in which the device below was changed.
 */
#include "io/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "io/dev_impl.h"
#include "io/record_log.h"

#define COPY_STEP ((size_t)64 << 10)

struct recorder {
	struct dev dev;
	struct dev *base;
	struct dev *origin; /* base as it was at the start, in memory */
	pthread_mutex_t lock;
	struct record *log;
	size_t count, cap;
};

/* Appends a record; data, if any, is copied.  The caller holds the lock. */
static int append(struct recorder *rec, struct record record, const void *data)
{
	void *log = rec->log;
	int r = mem_grow(&log, &rec->cap, rec->count + 1, sizeof(record));

	if (r < 0)
		return r;
	rec->log = log;
	if (data != NULL) {
		record.data = malloc((size_t)record.len);
		if (record.data == NULL)
			return -ENOMEM;
		memcpy(record.data, data, (size_t)record.len);
	}
	record.seq = rec->count;
	rec->log[rec->count++] = record;
	return 0;
}

/* Does below what the record says. */
static int pass_on(struct dev *base, const struct record *r, const void *data)
{
	switch (r->kind) {
	case RECORD_WRITE:
		return data != NULL ? dev_write(base, r->off, data, (size_t)r->len)
				    : dev_zero(base, r->off, r->len);
	case RECORD_FLUSH:
		return dev_flush(base);
	case RECORD_RESIZE:
		return dev_resize(base, r->len);
	default:
		return 0;
	}
}

static int perform(struct dev *dev, struct record record, const void *data)
{
	struct recorder *rec = (struct recorder *)dev;
	int r;

	pthread_mutex_lock(&rec->lock);
	r = pass_on(rec->base, &record, data);
	if (r == 0)
		r = append(rec, record, data);
	pthread_mutex_unlock(&rec->lock);
	return r;
}

static int recorder_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	return dev_read(((struct recorder *)dev)->base, off, buf, len);
}

static int recorder_write(struct dev *dev, uint64_t off, const void *buf, size_t len)
{
	return perform(dev, (struct record){.kind = RECORD_WRITE, .off = off, .len = len}, buf);
}

static int recorder_zero(struct dev *dev, uint64_t off, uint64_t len)
{
	return perform(dev, (struct record){.kind = RECORD_WRITE, .off = off, .len = len}, NULL);
}

static int recorder_flush(struct dev *dev)
{
	return perform(dev, (struct record){.kind = RECORD_FLUSH}, NULL);
}

static int recorder_resize(struct dev *dev, uint64_t size)
{
	return perform(dev, (struct record){.kind = RECORD_RESIZE, .len = size}, NULL);
}

static void recorder_close(struct dev *dev)
{
	struct recorder *rec = (struct recorder *)dev;

	for (size_t i = 0; i < rec->count; i++)
		free(rec->log[i].data);
	free(rec->log);
	dev_close(rec->origin);
	pthread_mutex_destroy(&rec->lock);
}

static const struct dev_ops recorder_ops = {
    .name = "recorder",
    .read = recorder_read,
    .write = recorder_write,
    .flush = recorder_flush,
    .discard = recorder_zero, /* so that its states are the same on every host */
    .zero = recorder_zero,
    .resize = recorder_resize,
    .close = recorder_close,
};

/* A copy of base in memory, holes kept. */
static int copy_base(struct dev *base, struct dev **ret)
{
	uint8_t *buf = malloc(COPY_STEP);
	struct dev *copy = NULL;
	int r = buf != NULL ? dev_open_memory(base->size, base->diag, &copy) : -ENOMEM;

	for (uint64_t off = 0; off < base->size && r == 0; off += COPY_STEP) {
		size_t n = (size_t)MIN(base->size - off, (uint64_t)COPY_STEP);

		r = dev_read(base, off, buf, n);
		if (r == 0 && !mem_is_zero(buf, n))
			r = dev_write(copy, off, buf, n);
	}
	free(buf);
	if (r < 0)
		dev_close(copy);
	else
		*ret = copy;
	return r;
}

int recorder_open(struct dev *base, struct dev **ret)
{
	struct recorder *rec = dev_new(sizeof(*rec), &recorder_ops, base->name, base->diag);
	int r;

	if (rec == NULL)
		return -ENOMEM;
	dev_like(&rec->dev, base);
	rec->base = base;
	r = copy_base(base, &rec->origin);
	if (r < 0) {
		dev_drop(&rec->dev);
		return r;
	}
	pthread_mutex_init(&rec->lock, NULL);
	*ret = &rec->dev;
	return 0;
}

int recorder_mark(struct dev *dev, uint64_t mark)
{
	return perform(dev, (struct record){.kind = RECORD_MARK, .mark = mark}, NULL);
}

const struct record *recorder_log(struct dev *dev, size_t *ret_count)
{
	struct recorder *rec = (struct recorder *)dev;

	*ret_count = rec->count;
	return rec->log;
}

struct dev *recorder_origin(struct dev *dev)
{
	return ((struct recorder *)dev)->origin;
}
