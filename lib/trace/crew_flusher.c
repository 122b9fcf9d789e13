/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flusher and the journal's timer as a thread beside the workers: a step of writeback at a
 * time, so that whoever needs the image gets it in between.
 */
#include <errno.h>
#include <time.h>

#include "io/bio.h"
#include "trace/crew_impl.h"

#define NAP_NS  2000000 /* between two looks at the thresholds */
#define REST_NS 100000  /* until the device has finished something */

/* False when it is to end. */
static bool nap(struct crew *c, long ns)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&c->nap);
	while (!c->stop && pthread_cond_timedwait(&c->wake, &c->nap, &until) != ETIMEDOUT)
		continue;
	stop = c->stop;
	pthread_mutex_unlock(&c->nap);
	return !stop;
}

static void note_error(struct crew *c, int rc)
{
	if (rc >= 0 || c->error != 0)
		return;
	c->error = rc;
	atomic_store(&c->trouble, 1);
}

enum outcome { NOTHING, MORE, LATER };

/* One step of background writeback, if the device can take it: to wait for the device with the
 * image in hand would keep everybody else. */
static enum outcome step(struct crew *c)
{
	bool full;
	int rc = 0;

	crew_enter(c, false);
	full = bioq_is_full(c->image->img->bioq);
	if (!full)
		rc = pc_background_step(&c->image->task);
	note_error(c, rc);
	crew_leave(c, false);
	if (full)
		return LATER;
	return rc == 1 ? MORE : NOTHING;
}

static void tick(struct crew *c)
{
	crew_enter(c, false);
	note_error(c, pc_tick(&c->image->task));
	crew_leave(c, false);
}

static void *flush(void *arg)
{
	struct crew *c = arg;
	enum outcome last;

	while (nap(c, NAP_NS)) {
		tick(c);
		do
			last = step(c);
		while (last == MORE || (last == LATER && nap(c, REST_NS)));
	}
	return NULL;
}

int flusher_start(struct crew *c)
{
	int rc = pthread_create(&c->flusher, NULL, flush, c);

	c->has_flusher = rc == 0;
	return -rc;
}

void flusher_stop(struct crew *c)
{
	if (!c->has_flusher)
		return;
	pthread_mutex_lock(&c->nap);
	c->stop = true;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->nap);
	pthread_join(c->flusher, NULL);
	c->has_flusher = false;
}
