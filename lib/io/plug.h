/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Linux's plug makes of bios, in numbers only: how many requests a disk statistic would show.
 * Our own requests are larger, because nothing here has to fit into a list on a stack.
 */
#ifndef IO_PLUG_H
#define IO_PLUG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct counters;

struct plug {
	uint64_t start, end; /* bytes of the request added last; equal when there is none */
	unsigned segments;   /* of that request */
	unsigned requests;   /* that wait in the plug */
	uint64_t made;       /* requests so far */
};

/* A bio of n pieces at off, one piece per folio; plugged when the submitter holds a plug. */
void plug_bio(struct plug *p, struct counters *c, uint64_t off, const struct iovec *iov, unsigned n,
	      bool plugged);

/* The plug is pulled: what waited has left. */
void plug_pull(struct plug *p);

#endif
