/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device is a row of bytes with a handful of functions.  A file, a block device, memory, a slice
 * of another device, a recorder, a fault injector: all are devices, and the last three stack on
 * any other.
 *
 * Offsets and lengths are bytes.  Reads and writes outside [0, size) fail with -EINVAL and write
 * nothing, so no caller can reach past its own slice.  Short transfers, EINTR and EAGAIN are
 * handled below this line; an error is final.  Calls on one device may come from several threads,
 * as long as none of them resizes or closes it.
 *
 * Failures leave one line in diag: the call, the device's name, offset, length and the reason. When
 * devices stack, the line tells of the lowest one, with its own offset.
 */
#ifndef IO_DEV_H
#define IO_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct diag;
struct dev;

enum dev_flag {
	DEV_WRITE = 1 << 0,     /* open for writing: exclusive on block devices, locked on files */
	DEV_CREATE = 1 << 1,    /* make the file when it is absent */
	DEV_DIRECT = 1 << 2,    /* O_DIRECT where the target supports it */
	DEV_TRUNCATE = 1 << 3,  /* start from an empty file */
	DEV_PLAIN = 1 << 5,     /* the bytes of a file as they are, container or not */
	DEV_MOUNTED_OK = 1 << 4 /* skip the mounted and busy checks: never implied by another flag;
				   the lock between writers of one file is still taken */
};

/* One transfer of the asynchronous path. */
struct dev_req {
	uint64_t off;
	struct iovec *iov;
	unsigned iovcnt;
	bool write;
	int result; /* 0 or a negative errno, valid once done was called */
	void (*done)(struct dev_req *req);
	void *ctx; /* the caller's */

	/* The device's while in flight. */
	uint64_t shift; /* added to off by the slices on the way down */
	uint64_t len;   /* sum of the iov lengths */
};

struct dev_ops {
	const char *name;
	int (*read)(struct dev *dev, uint64_t off, void *buf, size_t len);
	int (*write)(struct dev *dev, uint64_t off, const void *buf, size_t len);
	/* Vectors of one contiguous run; NULL means: one read or write per element. */
	int (*readv)(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n);
	int (*writev)(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n);
	/* Everything written before is durable when this returns 0. */
	int (*flush)(struct dev *dev);
	/* Contents become undefined or zero; -EOPNOTSUPP when the target cannot.  Harmless to skip.
	 */
	int (*discard)(struct dev *dev, uint64_t off, uint64_t len);
	/* Contents read back as zeros, without transferring them where the target can.
	 * NULL or -EOPNOTSUPP: dev_zero writes zeros. */
	int (*zero)(struct dev *dev, uint64_t off, uint64_t len);
	/* Grows or shrinks a file or memory; -EOPNOTSUPP on block devices. */
	int (*resize)(struct dev *dev, uint64_t size);
	/* Queues n transfers; done runs inside submit or reap.  NULL: served synchronously. */
	int (*submit)(struct dev *dev, struct dev_req **reqs, unsigned n);
	/* Waits until at least min queued transfers are done (0: whatever is ready), or none is
	 * left; returns how many it completed. */
	int (*reap)(struct dev *dev, unsigned min);
	/* The descriptor of the host behind the device and where the device starts in it; the
	 * descriptor stays the device's.  NULL: there is none. */
	int (*host)(struct dev *dev, int *fd, uint64_t *off);
	/* Frees what the device owns beyond the struct and its name.  May be NULL. */
	void (*close)(struct dev *dev);
};

struct dev {
	const struct dev_ops *ops;
	char *name;      /* for messages */
	uint64_t size;   /* bytes */
	uint32_t sector; /* logical sector size, bytes */
	uint32_t align;  /* of buffers, offsets and lengths, that saves a copy; 1: any */
	bool writable;
	bool past_cache; /* what is moved need not stay in the host's cache; the owner's to set, it
			    ends where the host cannot, and other threads must not transfer */
	bool is_block;   /* a block device, of the host or remote: its size is given */
	int flush_error; /* of the first flush that failed; see dev_flush */
	struct diag *diag; /* where failures are told; may be NULL */
	struct dev_stats {
		uint64_t reads, read_bytes, writes, write_bytes, flushes;
		uint64_t failures; /* of any of them, and of dev_zero and dev_discard */
	} stats;
};

/* Opens a regular file or block device, or, by a URI of io/nbd.h, a remote one.  Size, sector and
 * topology are filled in.  A writer is refused with -EBUSY when the block device is mounted or
 * held, when the file backs a loop device or is mounted, or when another writer has the file open.
 * Nobody tells who else uses a remote device. */
int dev_open(const char *path, unsigned flags, struct diag *d, struct dev **ret);

/* False when DEV_CREATE would make a file there. */
bool dev_exists(const char *path);

/* True when path is the URI of a remote device: nothing lies beside it, and no other call of the
 * host knows it. */
bool dev_is_remote(const char *path);

/* Memory of size zero bytes; grows with dev_resize.  Costs what was written, in pieces of 64 KiB.
 */
int dev_open_memory(uint64_t size, struct diag *d, struct dev **ret);

/* The bytes of under, changed by what is written here: writes stay in memory, in pieces of 4 KiB,
 * and under is only read.  under stays open, unchanged, and belongs to the caller. */
int dev_open_overlay(struct dev *under, struct dev **ret);

/* The bytes [off, off + len) of base; base stays open and belongs to the caller. */
int dev_open_slice(struct dev *base, uint64_t off, uint64_t len, struct dev **ret);

/* Closes without flushing; dev may be NULL.  Nothing may be in flight. */
void dev_close(struct dev *dev);

int dev_read(struct dev *dev, uint64_t off, void *buf, size_t len);
int dev_write(struct dev *dev, uint64_t off, const void *buf, size_t len);
int dev_readv(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n);
int dev_writev(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n);

/* A flush that failed once fails for ever: the host may have dropped what it could not write, so no
 * later success could be believed. */
int dev_flush(struct dev *dev);

int dev_discard(struct dev *dev, uint64_t off, uint64_t len);
int dev_zero(struct dev *dev, uint64_t off, uint64_t len);
int dev_resize(struct dev *dev, uint64_t size);

/* All requests are in range and writable, or none is queued and the return is negative.  After a
 * return of 0 each will get its done, whatever becomes of it; done may submit more. */
int dev_submit(struct dev *dev, struct dev_req **reqs, unsigned n);
int dev_reap(struct dev *dev, unsigned min);

/* The host's descriptor behind dev and the offset of dev's first byte in it; -EOPNOTSUPP for
 * devices that have none (memory, recorders).  For questions to the host only: data goes through
 * dev. */
int dev_host(struct dev *dev, int *ret_fd, uint64_t *ret_off);

#endif
