/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network block devices: a server's export as a device, over TCP or a Unix socket.
 *
 * libnbd speaks the protocol and is loaded when the first such device is opened; it is needed
 * neither to build nor to run anything else.  One device is one connection with up to NBD_DEPTH
 * commands in flight.  Nothing else on the way to the server is trusted to be quick: a server that
 * completes nothing for the length of the timeout is given up, and then every command fails, with
 * -ETIMEDOUT, as it does with -ENOTCONN after the server closed the connection.
 *
 * Who writes a URI may choose the server and the export.  It cannot run a program and cannot name
 * files that hold keys.
 */
#ifndef IO_NBD_H
#define IO_NBD_H

#include <stdbool.h>
#include <stdint.h>

struct dev;
struct diag;

#define NBD_DEPTH      64u
#define NBD_TIMEOUT_MS 30000u

/* Whether path begins with nbd://, nbds://, nbd+unix:// or nbds+unix://.  Such a path is never the
 * name of a file. */
bool nbd_is_uri(const char *path);

/* What dev_open does with a URI.  flags: DEV_WRITE; others mean nothing here.  timeout_ms of 0:
 * NBD_TIMEOUT_MS.
 *
 * -EOPNOTSUPP without libnbd; -EROFS when the server offers reading only; errors of the connection
 * are the host's. */
int nbd_open_uri(const char *uri, unsigned flags, unsigned timeout_ms, struct diag *d,
		 struct dev **ret);

/* The default export of the server that listens on the Unix socket at path; name is the device's in
 * messages. */
int nbd_open_socket(const char *path, const char *name, unsigned flags, unsigned timeout_ms,
		    struct diag *d, struct dev **ret);

/* Bytes; what the server did not say holds what the protocol lets clients assume. */
struct nbd_limits {
	uint32_t min;       /* of offsets and lengths; others cost reading around them */
	uint32_t preferred; /* whole ones cost the server no reading */
	uint32_t max;       /* of one command; longer transfers are cut */
};

/* False, and *ret untouched, when dev is no network block device. */
bool nbd_limits(const struct dev *dev, struct nbd_limits *ret);

#endif
