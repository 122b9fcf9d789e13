/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of an undo file, in memory or in the file. */
#ifndef IO_UNDO_LOG_H
#define IO_UNDO_LOG_H

#include "base/str.h"
#include "io/undo.h"

#define UNDO_HEAD  4096u
#define UNDO_PIECE ((size_t)1 << 20) /* the longest record */

/* Where records go: bytes while fd is -1, afterwards the file. */
struct undo_log {
	struct str bytes;
	int fd;
	uint64_t end; /* of the file */
	bool dirty;   /* something was added since the last sync */
	struct diag *diag;
	const char *name; /* for messages */
};

/* One record.  data NULL: zeros. */
int undo_log_add(struct undo_log *log, uint64_t off, const void *data, size_t len);

/* Makes the file, which must not exist, and moves all records into it; on failure they stay in
 * memory. */
int undo_log_arm(struct undo_log *log, const char *path, uint64_t size, const struct undo_id *id);

/* What was added is on the disk. */
int undo_log_sync(struct undo_log *log);

/* Opens a left-over file; *ret_size is that of the device it is about. */
int undo_log_open(struct undo_log *log, const char *path, uint64_t *ret_size,
		  struct undo_id *ret_id);

/* Writes every whole record to the device. */
int undo_log_play(const struct undo_log *log, struct dev *to, struct undo_done *done);

void undo_log_close(struct undo_log *log);

#endif
