/* SPDX-License-Identifier: BSD-2-Clause */
/* The fault injector: counts each call, asks the plan, fails or passes on. */
#include "io/fault.h"

#include <errno.h>
#include <pthread.h>

#include "base/check.h"
#include "io/dev_impl.h"

enum { READS, WRITES, FLUSHES, KINDS };

struct faulty {
	struct dev dev;
	struct dev *base;
	pthread_mutex_t lock;
	struct fault plan;
	uint64_t calls[KINDS];
	uint64_t counted; /* calls that the plan counts */
	uint64_t fired;
};

/* Counts a call; returns the error it must fail with, or 0. */
static int ask(struct faulty *f, int kind, uint64_t off, uint64_t len)
{
	const struct fault *plan = &f->plan;
	bool fails = false;
	int r = 0;

	pthread_mutex_lock(&f->lock);
	f->calls[kind]++;
	if (plan->calls & (1u << kind)) {
		f->counted++;
		fails = plan->nth != 0 &&
			(plan->for_good ? f->counted >= plan->nth : f->counted == plan->nth);
		if (off < plan->bad_off)
			fails |= plan->bad_len != 0 && plan->bad_off - off < len;
		else
			fails |= off - plan->bad_off < plan->bad_len && len != 0;
	}
	if (fails) {
		f->fired++;
		r = -plan->error;
	}
	pthread_mutex_unlock(&f->lock);
	return r;
}

static int fault_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	struct faulty *f = (struct faulty *)dev;
	int r = ask(f, READS, off, len);

	return r < 0 ? r : dev_read(f->base, off, buf, len);
}

static int fault_write(struct dev *dev, uint64_t off, const void *buf, size_t len)
{
	struct faulty *f = (struct faulty *)dev;
	int r = ask(f, WRITES, off, len), torn;

	if (r == 0)
		return dev_write(f->base, off, buf, len);
	torn = dev_write(f->base, off, buf, MIN(f->plan.torn, len));
	return torn < 0 ? torn : r;
}

static int fault_flush(struct dev *dev)
{
	struct faulty *f = (struct faulty *)dev;
	int r = ask(f, FLUSHES, 0, 0);

	return r < 0 ? r : dev_flush(f->base);
}

static int fault_discard(struct dev *dev, uint64_t off, uint64_t len)
{
	struct faulty *f = (struct faulty *)dev;
	int r = ask(f, WRITES, off, len);

	return r < 0 ? r : dev_discard(f->base, off, len);
}

static int fault_zero(struct dev *dev, uint64_t off, uint64_t len)
{
	struct faulty *f = (struct faulty *)dev;
	int r = ask(f, WRITES, off, len);

	return r < 0 ? r : dev_zero(f->base, off, len);
}

static int fault_resize(struct dev *dev, uint64_t size)
{
	return dev_resize(((struct faulty *)dev)->base, size);
}

static void fault_close(struct dev *dev)
{
	pthread_mutex_destroy(&((struct faulty *)dev)->lock);
}

static const struct dev_ops fault_ops = {
    .name = "fault",
    .read = fault_read,
    .write = fault_write,
    .flush = fault_flush,
    .discard = fault_discard,
    .zero = fault_zero,
    .resize = fault_resize,
    .close = fault_close,
};

int fault_open(struct dev *base, struct dev **ret)
{
	struct faulty *f = dev_new(sizeof(*f), &fault_ops, base->name, base->diag);

	if (f == NULL)
		return -ENOMEM;
	dev_like(&f->dev, base);
	f->base = base;
	pthread_mutex_init(&f->lock, NULL);
	*ret = &f->dev;
	return 0;
}

void fault_arm(struct dev *dev, const struct fault *plan)
{
	struct faulty *f = (struct faulty *)dev;

	pthread_mutex_lock(&f->lock);
	f->plan = *plan;
	f->counted = f->fired = 0;
	for (int i = 0; i < KINDS; i++)
		f->calls[i] = 0;
	pthread_mutex_unlock(&f->lock);
}

uint64_t fault_calls(struct dev *dev, unsigned mask)
{
	struct faulty *f = (struct faulty *)dev;
	uint64_t n = 0;

	pthread_mutex_lock(&f->lock);
	for (int i = 0; i < KINDS; i++) {
		if (mask & (1u << i))
			n += f->calls[i];
	}
	pthread_mutex_unlock(&f->lock);
	return n;
}

uint64_t fault_fired(struct dev *dev)
{
	struct faulty *f = (struct faulty *)dev;
	uint64_t n;

	pthread_mutex_lock(&f->lock);
	n = f->fired;
	pthread_mutex_unlock(&f->lock);
	return n;
}
