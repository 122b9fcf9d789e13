/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a disk behind qemu-nbd: what the image asks for, the program, the device. */
#ifndef IO_QEMU_IMPL_H
#define IO_QEMU_IMPL_H

#include <stdbool.h>
#include <sys/types.h>

#include "io/container.h"

struct dev;
struct diag;

/* -EOPNOTSUPP with a line when the image of that kind leads to other files or is encrypted. */
int qemu_check(struct dev *file, enum container kind);

/* A running qemu-nbd. */
struct qemu_child {
	pid_t pid;
	int said; /* its standard error; at its end the program has ended */
	int life; /* when this is closed, however that happens, the program is sent a signal */
	int sign; /* the end of life that says which; -1 once they have agreed */
	char dir[80], socket[96];
};

/* Starts qemu-nbd on the open file fd, which stays the caller's.  The socket accepts from now on.
 * -EOPNOTSUPP without the program. */
int qemu_start(int fd, enum container kind, bool write, struct diag *d, struct qemu_child *ret);

/* The program has told us what it serves: from now on it is asked to end, not killed. */
void qemu_agreed(struct qemu_child *child);

/* The socket has no name any more. */
void qemu_hide(struct qemu_child *child);

/* What the program said until now, at most cap - 1 bytes, after it ended or QEMU_WAIT_MS. */
void qemu_listen(struct qemu_child *child, char *text, size_t cap);

/* Waits for its end, QEMU_WAIT_MS with patience, else not; helps where it does not come; frees. */
void qemu_end(struct qemu_child *child, bool patience);

#endif
