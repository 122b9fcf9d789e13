/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partitions of a disk image or device, as libblkid reads GPT, MBR and other tables.
 *
 *	struct ek_partition p = {.size = sizeof(p)};
 *
 *	if (ek_partition_find(ctx, "disk.img", "LABEL=root", &p) == 0)
 *		printf("%u begins at %llu\n", p.number, (unsigned long long)p.offset);
 */
#ifndef EXTKIT_PARTITION_H
#define EXTKIT_PARTITION_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;

/* Names and labels come from the image: escape them before showing.  Each ends with a 0. */
struct ek_partition {
	size_t size;             /* sizeof(struct ek_partition) */
	unsigned number;         /* as the system numbers it: 1, 2 ... */
	uint64_t offset, length; /* bytes */
	char name[128];          /* PARTLABEL: what the table calls it, "" without */
	char label[128];         /* LABEL of the filesystem in it, "" without */
	char type[32];           /* of that: "ext4", "vfat" ... */
};

/* The partition that a selector names: "p2", "LABEL=root", "PARTLABEL=system".  LABEL also finds a
 * filesystem without a table around it (number 0).  -ENOENT when none is it, -ENOTUNIQ when several
 * are, -EINVAL for a selector of another form. */
EK_EXPORT EK_MUST int ek_partition_find(struct ek_ctx *ctx, const char *path, const char *selector,
					struct ek_partition *ret);

#ifdef __cplusplus
}
#endif
#endif
