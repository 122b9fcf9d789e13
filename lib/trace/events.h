/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The importer of kernel events, private to its parts: events (lines, devices, order), events_line
 * (spellings), events_work (ops), events_observe (observed lines).
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include "trace/events_line.h"
#include "trace/import.h"
#include "trace/stream.h"

struct inode {
	struct hash_node node; /* by number */
	uint32_t handle;       /* 0: not open */
	uint64_t size;         /* as far as writes tell */
	bool folder;
	bool unlinked; /* its name is gone; it goes when the kernel lets go of it */
	bool gone;     /* the kernel did: what still comes is its deletion */
};

/* What a thread is doing. */
struct thread {
	struct hash_node node; /* by pid */
	uint32_t pid;
	bool writing; /* gathering a write: */
	uint64_t ino;
	uint64_t start, end; /* where the call begins and would end */
	uint64_t copied;     /* so far */
	uint64_t began;      /* ns */
	bool last_wrote;     /* its last event was part of a write to last_ino */
	uint64_t last_ino;
	uint64_t zeroed; /* page + 1 whose end a write behind the end of file zeroes, or 0 */
	bool inside;     /* a call that zeroes parts of pages */
};

struct events {
	struct importer im;
	struct lines lines;
	struct hash threads, inodes;
	size_t writing; /* threads that gather a write */
	bool have_dev;
	uint32_t major, minor;
	uint32_t creating; /* mode of the inode being made, 0 none */
	bool saw_end;      /* the log has end events, so lengths come from them */
	bool ended;
	char extra[1024]; /* fields of an observed line */
};

struct thread *events_thread(struct events *e, uint32_t pid);

/* Makes ops of an event; false when it is none that does. */
bool events_work(struct events *e, struct thread *t, const struct event_line *l);

struct inode *events_inode(struct events *e, uint64_t ino); /* or NULL */
uint32_t events_handle(struct events *e, uint64_t ino);     /* opened on first use */

/* The inode of an event; false for block devices. */
bool events_ino(const struct event_line *l, uint64_t *ret);

void events_write_begin(struct events *e, struct thread *t, const struct event_line *l);
void events_write_end(struct events *e, struct thread *t, const struct event_line *l);
void events_dirty(struct events *e, struct thread *t, const struct event_line *l);

/* Emits the write that a thread has gathered, if any. */
void events_flush(struct events *e, struct thread *t);

/* Makes an observed line of an event; false when it is none of those kept. */
bool events_observe(struct events *e, const struct event_line *l);

#endif
