/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Disks of virtual machines, through a qemu-nbd of our own.
 *
 * The program is found in PATH and gets the open file, the format and a socket that nobody else can
 * reach; it never guesses a format and never opens another file.  An image that needs one (a
 * backing file, an external data file, a parent, extents) is refused before the program is started.
 * It ends when the device is closed, or when our process ends.
 *
 * Callers that wait for any child (wait, waitpid(-1)) may see this one end.
 */
#ifndef IO_QEMU_H
#define IO_QEMU_H

#include "io/container.h"

struct dev;

#define QEMU_WAIT_MS 30000u /* for the program to begin, to answer and to end */

/* A device of what file, a regular file of that kind, holds.  file is closed in any case: its lock
 * goes over to the program.  flags: DEV_WRITE.
 *
 * -EOPNOTSUPP: qemu-nbd or libnbd is not installed, or the image needs other files or a password;
 * -EUCLEAN: the program finds the image damaged; -EBUSY: another program uses it. */
int qemu_open(struct dev *file, enum container kind, unsigned flags, struct dev **ret);

#endif
