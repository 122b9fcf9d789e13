/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of pieces: one is filled, those before it are written by a thread.  The thread has a story
 * of its own for what goes wrong, which moves to the target's when somebody asks.
 */
#include "tree/pieces.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/copy.h"
#include "base/mem.h"
#include "io/dev.h"
#include "tree/target.h"

#define PIECES 3u

struct piece {
	uint8_t *bytes;
	size_t len;
	uint64_t at;
	bool past_cache;
};

struct tree_pieces {
	struct tree_target *target;
	struct piece piece[PIECES];
	unsigned filled;  /* pieces that were handed over; the next one is being filled */
	unsigned written; /* of them */
	uint64_t out;
	bool past_cache;
	pthread_t thread;
	bool threaded, over;
	int error; /* the first */
	struct diag diag;
	pthread_mutex_t
	    lock; /* of written, filled, over, error and diag, where there is a thread */
	pthread_cond_t changed;
};

static struct piece *filling(struct tree_pieces *p)
{
	return &p->piece[p->filled % PIECES];
}

/* The thread's story must not be told where others tell theirs meanwhile. */
static int write_apart(struct tree_pieces *p, const struct piece *x)
{
	struct dev *dev = p->target->dev;
	struct diag *theirs = dev->diag;
	int rc;

	dev->diag = &p->diag;
	dev->past_cache = x->past_cache;
	rc = tree_target_write(p->target, x->at, x->bytes, x->len);
	dev->past_cache = false;
	dev->diag = theirs;
	return rc;
}

static void *serve(void *arg)
{
	struct tree_pieces *p = arg;
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->written == p->filled && !p->over)
			pthread_cond_wait(&p->changed, &p->lock);
		if (p->written == p->filled)
			break;
		pthread_mutex_unlock(&p->lock);
		if (rc == 0)
			rc = write_apart(p, &p->piece[p->written % PIECES]);
		pthread_mutex_lock(&p->lock);
		p->error = rc;
		p->written++;
		pthread_cond_signal(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* A story that others told meanwhile stays: the first one wins. */
static int failed(struct tree_pieces *p)
{
	struct diag *d = p->target->diag;

	if (p->diag.code != 0 && d->code == 0)
		*d = p->diag;
	return p->error;
}

/* Waits until no more than most pieces are left to write. */
static int wait_for(struct tree_pieces *p, unsigned most)
{
	while (p->filled - p->written > most)
		pthread_cond_wait(&p->changed, &p->lock);
	return failed(p);
}

/* What is filled goes out; there is another to fill when this returns. */
static int hand_over(struct tree_pieces *p)
{
	struct piece *x = filling(p);
	int rc;

	p->out += x->len;
	x->past_cache = p->past_cache;
	if (!p->threaded) {
		if (p->error == 0)
			p->error = tree_target_write(p->target, x->at, x->bytes, x->len);
		x->len = 0;
		return p->error;
	}
	copy_settle();
	pthread_mutex_lock(&p->lock);
	p->filled++;
	pthread_cond_signal(&p->changed);
	rc = wait_for(p, PIECES - 1);
	filling(p)->len = 0;
	pthread_mutex_unlock(&p->lock);
	return rc;
}

int tree_pieces_room(struct tree_pieces *p, uint64_t off, size_t *len, uint8_t **ret)
{
	struct piece *x = filling(p);
	size_t left = TREE_PIECE - x->len;

	if (x->len != 0 &&
	    (x->at + x->len != off || left == 0 || (*len > left && *len <= TREE_PIECE / 2))) {
		int rc = hand_over(p);

		if (rc < 0)
			return rc;
		x = filling(p);
	}
	if (x->len == 0)
		x->at = off;
	*len = MIN(*len, TREE_PIECE - x->len);
	*ret = x->bytes + x->len;
	return 0;
}

void tree_pieces_add(struct tree_pieces *p, size_t len)
{
	filling(p)->len += len;
}

uint64_t tree_pieces_out(const struct tree_pieces *p)
{
	return p->out;
}

void tree_pieces_past_cache(struct tree_pieces *p)
{
	p->past_cache = true;
}

int tree_pieces_settle(struct tree_pieces *p)
{
	int rc = filling(p)->len != 0 ? hand_over(p) : 0;

	if (rc < 0 || !p->threaded)
		return rc < 0 ? rc : p->error;
	pthread_mutex_lock(&p->lock);
	rc = wait_for(p, 0);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* Devices, and parts of files, are written by whoever fills: several layers of them may have a
 * story to tell. */
static void start(struct tree_pieces *p)
{
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->threaded = p->target->temp != NULL && pthread_create(&p->thread, NULL, serve, p) == 0;
}

int tree_pieces_open(struct tree_target *t, struct tree_pieces **ret)
{
	struct tree_pieces *p = mem_zero(sizeof(*p));
	uint8_t *bytes = mem_aligned(4096, PIECES * TREE_PIECE);

	if (p == NULL || bytes == NULL) {
		free(p);
		free(bytes);
		return diag_set(t->diag, -ENOMEM, "out of memory for contents");
	}
	p->target = t;
	for (unsigned i = 0; i < PIECES; i++)
		p->piece[i].bytes = bytes + i * TREE_PIECE;
	start(p);
	*ret = p;
	return 0;
}

void tree_pieces_close(struct tree_pieces *p)
{
	if (p == NULL)
		return;
	if (p->threaded) {
		pthread_mutex_lock(&p->lock);
		p->over = true;
		pthread_cond_signal(&p->changed);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p->piece[0].bytes);
	free(p);
}
