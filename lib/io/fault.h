/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device that fails on command: for tests that ask what happens when the n-th call fails.
 *
 *	for (n = 1;; n++) {
 *		fault_open(base, &dev);
 *		fault_arm(dev, &(struct fault){.calls = FAULT_WRITE, .nth = n, .error = EIO});
 *		... the operation under test on dev ...
 *		fired = fault_fired(dev);
 *		dev_close(dev);
 *		if (fired == 0)
 *			break;
 *	}
 *
 * A failing call does nothing to the device below, unless torn says otherwise.
 */
#ifndef IO_FAULT_H
#define IO_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev;

enum fault_call {
	FAULT_READ = 1 << 0,
	FAULT_WRITE = 1 << 1, /* zeroing and discarding count as writes */
	FAULT_FLUSH = 1 << 2,
	FAULT_ALL = FAULT_READ | FAULT_WRITE | FAULT_FLUSH
};

struct fault {
	unsigned calls;   /* which calls are counted and may fail */
	uint64_t nth;     /* fail the n-th of them from now on, 1 being the next; 0: none */
	bool for_good;    /* and all that follow, as when the device is gone */
	int error;        /* a positive errno: EIO, ENOSPC, ENXIO */
	size_t torn;      /* a failing write still puts this many of its first bytes */
	uint64_t bad_off; /* besides: each counted call that touches */
	uint64_t bad_len; /* [bad_off, bad_off + bad_len) fails, always; 0: no bad part */
};

/* A device over base, which stays open and belongs to the caller.  Nothing fails until armed. */
int fault_open(struct dev *base, struct dev **ret);

/* Sets the plan, and the counts of calls and failures to 0. */
void fault_arm(struct dev *dev, const struct fault *plan);

/* Calls of the kinds in mask since the last fault_arm, failed ones included. */
uint64_t fault_calls(struct dev *dev, unsigned mask);

/* How many calls failed by plan since then. */
uint64_t fault_fired(struct dev *dev);

#endif
