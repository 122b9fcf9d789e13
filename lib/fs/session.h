/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An image as a caller of the public API has it: the context that hears of failures, the device
 * that was opened for it, the lock that callers take turns by.
 *
 * Every public call on an image runs between session_begin and session_end.
 */
#ifndef FS_SESSION_H
#define FS_SESSION_H

#include <pthread.h>

#include "base/ctx.h"
#include "fs/image.h"

struct dev;

struct session {
	struct ek_ctx *ctx;
	struct dev *file;
	struct dev *dry; /* what changes go to instead of file, or NULL */
	struct task task;
	pthread_mutex_t lock;
	const char *journal_path; /* while the image is opened */
	unsigned journal_flags;
	struct dev *journal, *dry_journal; /* the same for an external journal */
	bool was_dirty;                    /* the log was replayed at open */
};

/* Takes the lock and forgets old stories. */
struct task *session_begin(struct ek_image *img);

/* Brings a story of rc to the context, gives the lock back and returns rc.  Where the layers below
 * had nothing to say, it becomes "what: name: strerror". */
int session_end(struct ek_image *img, int rc, const char *what, const char *name);

/* The same, keeping the lock: for calls that go on after a failure. */
void session_tell(struct ek_image *img, int rc, const char *what, const char *name);

/* -EROFS with a story unless the image may be changed. */
int session_check_writable(struct ek_image *img);

/* Copies the first have (the caller's size member) bytes of a filled struct, size excepted. */
void session_hand_out(void *to, size_t have, const void *from, size_t size);

#endif
