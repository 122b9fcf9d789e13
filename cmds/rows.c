/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring of batches of rows, filled by one thread and shown by another: see rows.h. */
#include "rows.h"

static void show(struct rows *r, struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		r->show(r->ctx, &b->row[i], b->text.text);
	b->n = 0;
	b->text.len = 0;
}

static struct batch *filling(struct rows *r)
{
	return &r->batch[r->filled % BATCHES];
}

/* Both sides wake each other at half of the ring, so that two threads which share a processor
 * change places seldom. */
static bool is_half(const struct rows *r)
{
	return r->filled - r->shown >= BATCHES / 2;
}

/* Shows what is filled, until it is over. */
static void *serve(void *arg)
{
	struct rows *r = arg;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		if (r->shown == r->filled)
			while (!is_half(r) && !r->over)
				pthread_cond_wait(&r->changed, &r->lock);
		if (r->shown == r->filled)
			break;
		pthread_mutex_unlock(&r->lock);
		show(r, &r->batch[r->shown % BATCHES]);
		pthread_mutex_lock(&r->lock);
		r->shown++;
		if (!is_half(r))
			pthread_cond_signal(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static void start(struct rows *r)
{
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->over = false;
	r->threaded = pthread_create(&r->thread, NULL, serve, r) == 0;
	r->alone = !r->threaded;
}

/* The batch is full: the next one is filled as soon as it is shown. */
static void hand_over(struct rows *r)
{
	if (!r->threaded && !r->alone)
		start(r);
	if (!r->threaded) {
		show(r, filling(r));
		return;
	}
	pthread_mutex_lock(&r->lock);
	r->filled++;
	if (is_half(r))
		pthread_cond_signal(&r->changed);
	if (r->filled - r->shown == BATCHES)
		while (is_half(r))
			pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

struct row *rows_next(struct rows *r, struct buffer **text)
{
	struct batch *b = filling(r);

	*text = &b->text;
	return &b->row[b->n];
}

void rows_add(struct rows *r)
{
	struct batch *b = filling(r);

	b->n++;
	if (b->n == ROWS_MAX || b->text.len >= ROWS_BYTES)
		hand_over(r);
}

void rows_flush(struct rows *r)
{
	if (r->threaded) {
		pthread_mutex_lock(&r->lock);
		r->over = true;
		pthread_cond_signal(&r->changed);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->thread, NULL);
		pthread_cond_destroy(&r->changed);
		pthread_mutex_destroy(&r->lock);
		r->threaded = false;
	}
	show(r, filling(r));
}

void rows_end(struct rows *r)
{
	rows_flush(r);
	for (unsigned i = 0; i < BATCHES; i++)
		buffer_free(&r->batch[i].text);
}
