/* SPDX-License-Identifier: BSD-2-Clause */
/* The checksum of a log's superblock, for whoever writes one. */
#include "ondisk/jbd2.h"

#include "base/crc.h"

uint32_t jbd2_super_csum(const struct jbd2_super *sb)
{
	struct jbd2_super copy = *sb;

	copy.s_checksum = be32_make(0);
	return crc32c(~0u, &copy, sizeof(copy));
}

bool jbd2_super_has_csum(const struct jbd2_super *sb)
{
	return (be32_get(sb->s_feature_incompat) &
		(JBD2_INCOMPAT_CSUM_V2 | JBD2_INCOMPAT_CSUM_V3)) != 0;
}

void jbd2_super_seal(struct jbd2_super *sb)
{
	if (jbd2_super_has_csum(sb))
		sb->s_checksum = be32_make(jbd2_super_csum(sb));
}
