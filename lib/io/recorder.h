/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device that remembers what was done to it, and the states a crash could have left behind.
 *
 *	recorder_open(base, &dev);
 *	... the operation under test on dev; recorder_mark(dev, 7) after its 7th promise ...
 *	states_open(dev, &(struct states_opts){.seed = 1}, &st);
 *	while ((r = states_next(st, &image, &state)) == 1)
 *		... recover a copy or an overlay of image, check it against state.marks ...
 *	states_close(st);
 *
 * The recorder passes everything on to base and keeps a copy of base as it was at the start and of
 * each write in memory.  An epoch is what was written between two completed flushes.
 */
#ifndef IO_RECORDER_H
#define IO_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev;
struct states;

enum record_kind {
	RECORD_WRITE,  /* data holds len bytes, or is NULL for zeros (zeroing and discarding) */
	RECORD_FLUSH,  /* completed without error */
	RECORD_MARK,   /* mark is the caller's number */
	RECORD_RESIZE, /* len is the new size */
};

struct record {
	uint64_t seq; /* 0, 1, 2 ... */
	enum record_kind kind;
	uint64_t off, len;
	uint64_t mark;
	uint8_t *data;
};

/* A recorder over base, which stays open and belongs to the caller. */
int recorder_open(struct dev *base, struct dev **ret);

/* Notes the caller's number at this point of the log: "what I call 7 is durable from here on". */
int recorder_mark(struct dev *dev, uint64_t mark);

/* The log so far; the records belong to dev and move when it grows. */
const struct record *recorder_log(struct dev *dev, size_t *ret_count);

struct states_opts {
	uint64_t seed;
	uint32_t sector; /* the unit that is written whole or not: 512 (0 means that) or 4096 */
	unsigned full;   /* epochs of at most this many writes try all subsets; 0: 10, at most 16 */
	unsigned random; /* random subsets of a longer epoch; 0: 64 */
};

struct state {
	const char *how;    /* "prefix", "torn", "subset", "one dropped", "one alone", "random" */
	uint64_t epoch;     /* 0, 1, 2 ... */
	size_t writes;      /* writes of this epoch that reached the medium, whole or torn */
	size_t marks;       /* noted before the end of this epoch: promises that must hold by now */
	uint64_t last_mark; /* the number of the last of them; 0 when there is none */
};

/* Walks the states of dev's log; dev must not be written until states_close. */
int states_open(struct dev *dev, const struct states_opts *opts, struct states **ret);

/* The next state that differs from all before it in its bytes or in the promises that must hold: 1,
 * 0 at the end, or a negative errno.  *ret is a
 * device in memory, valid until the next call; it may be written.
 *
 * Each epoch gives all prefixes of its writes; each write of several sectors torn after its first
 * sector, before its last, and at a random one; and subsets in the original order: all of them for
 * short epochs, otherwise each write dropped alone, each alone present, and random ones.  Writes
 * before the last completed flush are always there. */
int states_next(struct states *st, struct dev **ret, struct state *ret_state);

void states_close(struct states *st);

#endif
