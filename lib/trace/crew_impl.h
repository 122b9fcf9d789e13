/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the crew share. */
#ifndef TRACE_CREW_IMPL_H
#define TRACE_CREW_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/counters.h"
#include "base/diag.h"
#include "base/hash.h"
#include "trace/crew.h"
#include "trace/target_image.h"

#define BATCH_OPS   1024u      /* handed over at once: waking somebody is dear */
#define BATCH_BYTES (1u << 20) /* of recorded contents with them */
#define BATCHES     16u        /* that may wait for one worker */
#define AHEAD       8u         /* operations done while a line comes from another processor */

/* An operation on its way: what image_op needs of it.  Members that lie side by side in struct op
 * do not here: copied by one wide load, right after somebody set them one by one, they would wait
 * until all stores before are done. */
struct queued {
	uint64_t off, time;
	struct open_file *file;
	uint64_t len;
	const uint8_t *bytes; /* in the batch, or NULL */
	uint32_t flags, nbytes, handle;
	uint8_t sub, data_kind, code;
};

struct batch {
	struct queued op[BATCH_OPS];
	uint32_t n, nbytes;
	uint8_t *bytes;
};

struct worker {
	struct crew *crew;
	uint32_t of; /* thread of the trace, or number, that it was made for */
	pthread_t thread;
	pthread_mutex_t gate;
	struct counters counters; /* of its overwrites */
	struct ek_inode *over;    /* the file they are of, while it is held */
	unsigned overwrites;      /* since it was taken */
	/* A ring of batches, under queue: [done, pushed) wait or run, the one after them is being
	 * filled. */
	pthread_mutex_t queue;
	pthread_cond_t more, less;
	uint64_t pushed, done;
	uint64_t awaited; /* done that somebody waits for, or UINT64_MAX */
	struct batch *batch[BATCHES];
	bool started, stop; /* stop: under queue, when nothing is left to do */
};

/* The operations of one file; fixed to its worker while some of them wait. */
struct lane {
	struct hash_node node; /* by inode number */
	struct worker *worker;
	uint64_t last; /* number of the batch that holds its last operation, in the worker's ring */
};

/* A file that was worked on, to be known again by its handle. */
struct known {
	struct open_file *file; /* NULL: none */
	struct lane *lane;
	uint32_t handle;
};

#define KNOWN 16u

struct failure {
	struct op op;
	int rc;
	struct diag diag;
};

struct crew {
	struct target target;
	struct target *inner;
	struct image_target *image;
	struct diag diag; /* of the image while there are workers, under lock */
	crew_failed_fn *failed;
	void *failed_ctx;
	pthread_mutex_t turn; /* the next one who gets the image */
	pthread_mutex_t lock; /* of the image */
	atomic_int wanted;    /* somebody waits for the gates */
	struct worker *worker;
	uint32_t nworkers, most, next; /* workers begin when there is work; nworkers: under lock */
	bool by_thread, prompt, running;
	struct hash lanes;
	struct known known[KNOWN]; /* by handle; forgotten with the next close or open */
	pthread_t flusher;
	bool has_flusher;
	struct counters sum; /* the last answer */
	uint64_t now; /* ns: the replay's clock, set for each operation: in no line of the cache
		       * with what workers look at */
	pthread_mutex_t nap;
	pthread_cond_t wake;
	bool stop; /* under nap */
	/* Under lock: what went wrong in workers, until the replay hears of it. */
	struct failure *failures;
	size_t nfailures, cap;
	atomic_int trouble; /* there are some */
	atomic_int error;   /* that ends the run: nothing more is done */
};

/* Alone: nobody overwrites anything either.  Not alone: only bytes of dirty folios change
 * meanwhile, of files whose mapping is not locked. */
void crew_enter(struct crew *c, bool alone);
void crew_leave(struct crew *c, bool alone);

int worker_start(struct crew *c, struct worker *w);
void worker_stop(struct worker *w);
void worker_free(struct worker *w);
/* Room for one more operation with so many bytes: the batch it goes to. */
struct batch *worker_room(struct worker *w, uint32_t nbytes);
/* What was collected may begin. */
void worker_push(struct worker *w);
/* Waits until batch number `until` of the ring, and all before it, are done. */
void worker_wait(struct worker *w, uint64_t until);

int flusher_start(struct crew *c);
void flusher_stop(struct crew *c);

#endif
