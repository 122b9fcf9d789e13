/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mount guard: one block in which whoever has a filesystem with mmp mounted counts up, so that
 * another host sees that it is in use.
 */
#ifndef ONDISK_MMP_H
#define ONDISK_MMP_H

#include <assert.h>
#include <stddef.h>

#include "base/bytes.h"

struct diag;
struct geom;

#define MMP_MAGIC     0x004D4D50u
#define MMP_SEQ_CLEAN 0xFF4D4D50u /* not mounted */
#define MMP_SEQ_FSCK  0xE24D4D50u /* a tool changes it; nobody may mount */

struct mmp_raw {
	le32 mmp_magic, mmp_seq;
	le64 mmp_time;           /* seconds since 1970 of the last count */
	char mmp_nodename[64];   /* who */
	char mmp_bdevname[32];   /* through which device */
	le16 mmp_check_interval; /* seconds between looks */
	le16 mmp_pad1;
	le32 mmp_pad2[226];
	le32 mmp_checksum;
};

static_assert(sizeof(struct mmp_raw) == 1024, "mount guard");
static_assert(offsetof(struct mmp_raw, mmp_checksum) == 1020, "its checksum is last");

/* Computes the checksum, in filesystems with metadata_csum. */
void mmp_seal(const struct geom *g, struct mmp_raw *mmp);

/* -EUCLEAN for another magic, -EBADMSG for a bad checksum. */
int mmp_verify(const struct geom *g, const struct mmp_raw *mmp, struct diag *d);

#endif
