/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device that can be taken back: before a part of the device under it changes for the first time,
 * what is there is kept.
 *
 * It begins in memory: an end of the process then loses what was kept, which is right as long as
 * what was written does not count yet (before the first commit of a journal).  Armed, it keeps a
 * file: what will be overwritten is in the file, and the file on its disk, before it is
 * overwritten.  A file that is left after a crash gives the device back with undo_replay.
 *
 * The file: a head of 4096 bytes (magic "extkitU1", the size of the device, what the caller calls
 * itself, a checksum), then records, each 32 bytes (magic, kind, offset, length, checksums of
 * itself and of what follows) and, unless it stands for zeros, its bytes.  Numbers are
 * little-endian.  The head is written when the first records are safe; a file without one says
 * nothing.  A record that is torn ends the file: nothing was overwritten for it.
 */
#ifndef IO_UNDO_H
#define IO_UNDO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev;
struct diag;

#define UNDO_ID 40u

/* What tells one user of a device from another: bytes that mean something to the caller alone. */
struct undo_id {
	uint8_t bytes[UNDO_ID];
};

/* A device over under, which stays open and belongs to the caller.  path names the file for
 * undo_arm; it is copied, and NULL when there can be none. */
int dev_open_undo(struct dev *under, const char *path, const struct undo_id *id, struct dev **ret);

/* From now on with a file.  A failure is final: every later write fails with it.  -EEXIST when
 * there is a file already. */
int undo_arm(struct dev *dev);

/* The device as it was: written back, flushed, the file removed.  The device stays usable. */
int undo_take_back(struct dev *dev);

/* What was written stays: it is flushed, then the file goes. */
int undo_keep(struct dev *dev);

/* A file that is not needed any more goes, and does not come back with a power cut. */
int undo_remove(const char *path, struct diag *d);

struct undo_done {
	uint64_t records, bytes;
};

/* Writes a left-over file back onto to and flushes it; the file stays.  match (may be NULL) is
 * asked first whether id is what to has; a negative result ends it.  May be repeated. */
int undo_replay(const char *path, struct dev *to, int (*match)(void *ctx, const struct undo_id *id),
		void *ctx, struct undo_done *ret);

#endif
