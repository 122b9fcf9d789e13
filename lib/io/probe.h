/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is on a device already, and how the disk under it likes to be used: asked before making a
 * file system, and by whoever shows a device to the user.
 */
#ifndef IO_PROBE_H
#define IO_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev;
struct diag;

/* Names and labels are as libblkid reports them, cut to fit; they come from the medium, so escape
 * them before showing. */
struct probe {
	bool found;     /* any file system, RAID member, swap area or partition table */
	bool ambiguous; /* signatures of several: type names none of them */
	char type[32]; /* "ext4", "xfs", "linux_raid_member", ...; "" when only a table was found */
	char label[256];
	char uuid[64];
	char usage[32]; /* "filesystem", "raid", "crypto", "other" */
	char table[32]; /* partition table: "gpt", "dos", ...; "" for none */
	unsigned parts; /* partitions in it */

	/* Bytes; 0 where the device does not say. */
	uint64_t io_min;   /* smallest transfer without read-modify-write */
	uint64_t io_best;  /* preferred transfer: a RAID stripe */
	uint64_t skew;     /* how far the first io_min boundary lies inside the device */
	uint32_t physical; /* physical sector */
};

/* Fills *ret.  Slices are looked at from their own start.  Of a device without a descriptor of the
 * host (memory, remote ones) a megabyte at either end is read, and its topology is unknown. */
int probe_read(struct dev *dev, struct probe *ret);

/* -EPERM when there is anything on dev; the message says what, then why that matters. */
int probe_refuse(struct dev *dev, const char *why, struct diag *d);

/* A partition of a table. */
struct probe_part {
	unsigned number;
	uint64_t offset, length; /* bytes, on the device */
	char name[128];          /* what a GPT calls it */
};

/* The partitions of dev that lie on it, the first cap of them: how many, 0 without a table. */
int probe_parts(struct dev *dev, struct probe_part *ret, unsigned cap);

/* The path of the block device with a filesystem or journal of this UUID; -ENOENT when libblkid
 * knows none, or its path does not fit. */
int probe_find(const uint8_t uuid[16], char *path, size_t cap);

#endif
