/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of libnbd's interface that we call, looked up by name when it is loaded. */
#ifndef IO_NBD_LIB_H
#define IO_NBD_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;

/* As libnbd lays it out; it is passed by value.  callback runs with libnbd's lock of the handle
 * held; a result of 1 lets libnbd forget the command.  *error is a positive errno, 0 for success.
 */
struct nbd_callback {
	int (*callback)(void *user, int *error);
	void *user;
	void (*free)(void *user);
};

enum { NBD_READ = 1, NBD_WRITE = 2 };                        /* of aio_get_direction */
enum { NBD_SIZE_MIN = 0, NBD_SIZE_PREFERRED, NBD_SIZE_MAX }; /* of get_block_size */
enum { NBD_OVER_TCP = 1, NBD_OVER_UNIX = 2 };                /* of set_uri_allow_transports */

#define NBD_CALLS(X)                                                                            \
	X(void *, create, (void))                                                               \
	X(void, close, (void *h))                                                               \
	X(const char *, get_error, (void))                                                      \
	X(int, get_errno, (void))                                                               \
	X(int, set_uri_allow_transports, (void *h, uint32_t mask))                              \
	X(int, set_uri_allow_local_file, (void *h, bool allow))                                 \
	X(int, aio_connect_uri, (void *h, const char *uri))                                     \
	X(int, aio_connect_unix, (void *h, const char *path))                                   \
	X(int, aio_disconnect, (void *h, uint32_t flags))                                       \
	X(int, aio_is_connecting, (void *h))                                                    \
	X(int, aio_is_ready, (void *h))                                                         \
	X(int, aio_is_dead, (void *h))                                                          \
	X(int, aio_is_closed, (void *h))                                                        \
	X(int, aio_get_fd, (void *h))                                                           \
	X(unsigned, aio_get_direction, (void *h))                                               \
	X(int, aio_notify_read, (void *h))                                                      \
	X(int, aio_notify_write, (void *h))                                                     \
	X(int64_t, get_size, (void *h))                                                         \
	X(int64_t, get_block_size, (void *h, int which))                                        \
	X(int, is_read_only, (void *h))                                                         \
	X(int, can_flush, (void *h))                                                            \
	X(int, can_trim, (void *h))                                                             \
	X(int, can_zero, (void *h))                                                             \
	X(int64_t, aio_pread,                                                                   \
	  (void *h, void *buf, size_t n, uint64_t off, struct nbd_callback cb, uint32_t flags)) \
	X(int64_t, aio_pwrite,                                                                  \
	  (void *h, const void *buf, size_t n, uint64_t off, struct nbd_callback cb,            \
	   uint32_t flags))                                                                     \
	X(int64_t, aio_flush, (void *h, struct nbd_callback cb, uint32_t flags))                \
	X(int64_t, aio_trim,                                                                    \
	  (void *h, uint64_t n, uint64_t off, struct nbd_callback cb, uint32_t flags))          \
	X(int64_t, aio_zero,                                                                    \
	  (void *h, uint64_t n, uint64_t off, struct nbd_callback cb, uint32_t flags))

struct nbd_lib {
	void *image; /* of the loader */
#define X(type, name, args) type(*name) args;
	NBD_CALLS(X)
#undef X
};

/* Fills *ret; -EOPNOTSUPP, told to d, when there is no libnbd.so.0 or it lacks a call. */
int nbd_lib_load(struct diag *d, struct nbd_lib *ret);

void nbd_lib_unload(struct nbd_lib *lib);

#endif
