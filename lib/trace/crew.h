/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A replay by several threads.
 *
 * The crew stands between the replay and an image: it is a target that hands operations on the
 * contents of files to workers, each file to one of them at a time, and does the others itself.
 * What order files and names impose is kept: the operations of a file run in the order of the
 * trace, and one that names files, or works on two, waits for all before it.
 *
 * Locks, outermost first:
 *
 *	turn     the next one to have the image, held while waiting for it only
 *	image    everything but the bytes of folios that are dirty already
 *	gates    one for each worker, held while it overwrites such bytes.  Who changes what
 *	         overwrites look at (tables of folios, sizes, times) holds the image and all gates;
 *	         writeback and commits hold the image only
 *	mapping  of one file: an overwrite, or a writeback that takes dirty bytes away
 *	queue    of one worker
 */
#ifndef TRACE_CREW_H
#define TRACE_CREW_H

#include "trace/target.h"

struct image_target;

/* An operation that failed after it was handed over; negative ends the run. */
typedef int crew_failed_fn(void *ctx, const struct op *o, int rc);

#define CREW_MAX       32u
#define CREW_BY_THREAD UINT32_MAX /* a worker for each thread of the trace, CREW_MAX at most */

/* Takes image over, which is closed with the crew.  prompt: operations begin when they are handed
 * over, not when there are many.  -EINVAL for more workers than CREW_MAX. */
int crew_open(struct target *image, uint32_t workers, bool prompt, crew_failed_fn *failed,
	      void *ctx, struct diag *d, struct target **ret);

#endif
