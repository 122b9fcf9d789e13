/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images in containers: files that hold a disk in another form than byte by byte.
 *
 * What a file is, is told by its first bytes, never by its name, and only of regular files: what a
 * guest wrote to a block device does not change how the host reads it.  A file whose second
 * kilobyte is an ext superblock is that filesystem, whatever stands before it.
 *
 *	qcow qcow2 VHD VHDX VMDK   read and written, by a private qemu-nbd (io/qemu.h)
 *	zstd with a seek table     read at random
 *	Android sparse             read at random
 *	zstd gzip xz bzip2         decompressed into memory once, up to a limit
 *
 * The last three cannot be written: -EROFS with a line that tells how to get on.
 */
#ifndef IO_CONTAINER_H
#define IO_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev;
struct diag;

enum container {
	CONTAINER_RAW = 0, /* none */
	CONTAINER_QCOW,
	CONTAINER_QCOW2,
	CONTAINER_VHD,
	CONTAINER_VHDX,
	CONTAINER_VMDK,
	CONTAINER_VMDK_TEXT, /* a description that names other files: refused */
	CONTAINER_SPARSE,
	CONTAINER_ZSTD,
	CONTAINER_GZIP,
	CONTAINER_XZ,
	CONTAINER_BZIP2
};

#define CONTAINER_HEAD 2048u /* bytes that tell */

/* What the first len bytes of a file are. */
enum container container_find(const uint8_t *head, size_t len);

/* "qcow2", for messages; "raw" when it is none. */
const char *container_name(enum container kind);

/* Whether one writes through the container to what it holds. */
bool container_is_writable(enum container kind);

/* Whether path names a regular file that is a container of that kind: a new filesystem goes into it
 * rather than in its place. */
bool container_at(const char *path);

/* Whether path names a regular file that is an image: an ext superblock in it, a disk of a virtual
 * machine, an Android sparse image, or one of these compressed.  Of a compressed file no more than
 * the beginning is looked at. */
bool container_has_image(const char *path);

/* file was opened by path with flags (enum dev_flag).  Holds it a container, then *ret becomes a
 * device of its contents, which owns file; else *ret is file.  On failure file is closed. */
int container_open(struct dev *file, unsigned flags, struct dev **ret);

#endif
