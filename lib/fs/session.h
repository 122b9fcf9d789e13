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
struct ek_inode;

struct session {
	struct ek_ctx *ctx;
	struct dev *file;
	struct dev *dry;  /* what changes go to instead of file, or NULL */
	struct dev *undo; /* over file, when what is done can be taken back */
	struct task task;
	pthread_mutex_t lock;
	const char *journal_path; /* while the image is opened */
	unsigned journal_flags;
	struct dev *journal, *dry_journal; /* the same for an external journal */
	bool was_dirty;                    /* the log was replayed at open */
	bool last;                         /* the commit to come ends everything */
};

/* Takes the lock and forgets old stories. */
struct task *session_begin(struct ek_image *img);

/* Brings a story of rc to the context, gives the lock back and returns rc.  Where the layers below
 * had nothing to say, it becomes "what: name: strerror". */
int session_end(struct ek_image *img, int rc, const char *what, const char *name);

/* The same of an inode that the caller has open, whose number is the name. */
int session_end_on(const struct ek_inode *inode, int rc, const char *what);

/* Ends with the inode of a number, which the caller puts. */
int session_end_inode(struct ek_image *img, ek_inum ino, struct ek_inode **ret);

/* As session_end, keeping the lock: for calls that go on after a failure. */
void session_tell(struct ek_image *img, int rc, const char *what, const char *name);

/* The image has gone: closes its devices and frees. */
void session_free(struct session *s);

/* -EROFS with a story unless the image may be changed. */
int session_check_writable(struct ek_image *img);

/* ---- undo (fs/edit_undo.c) ---- */

/* Puts an undo device over s->file when opt and the image ask for one: s->undo.  Before that it
 * refuses an image with an undo file that was left. */
struct ek_image_options;
int session_open_undo(struct session *s, const struct ek_image_options *opt);

/* Ends it: what was done stays, or is taken back.  Nothing without an undo device. */
int session_drop_undo(struct session *s, bool keep);

/* The hook of struct image_opts: a commit makes what is done count, unless it is the last one. */
void session_before_commit(void *session);

/* Copies the first have (the caller's size member) bytes of a filled struct, size excepted. */
void session_hand_out(void *to, size_t have, const void *from, size_t size);

#endif
