/* SPDX-License-Identifier: BSD-2-Clause */
/* The mount guard's magic and checksum. */
#include "ondisk/mmp.h"

#include <errno.h>

#include "base/crc.h"
#include "base/diag.h"
#include "ondisk/geom.h"

static uint32_t mmp_csum(const struct geom *g, const struct mmp_raw *mmp)
{
	return crc32c(g->csum_seed, mmp, offsetof(struct mmp_raw, mmp_checksum));
}

void mmp_seal(const struct geom *g, struct mmp_raw *mmp)
{
	if (geom_csum(g))
		mmp->mmp_checksum = le32_make(mmp_csum(g, mmp));
}

int mmp_verify(const struct geom *g, const struct mmp_raw *mmp, struct diag *d)
{
	if (le32_get(mmp->mmp_magic) != MMP_MAGIC)
		return diag_set(d, -EUCLEAN, "corrupt mount guard: magic 0x%08x, expected 0x%08x",
				le32_get(mmp->mmp_magic), MMP_MAGIC);
	if (geom_csum(g) && le32_get(mmp->mmp_checksum) != mmp_csum(g, mmp))
		return diag_set(d, -EBADMSG,
				"bad checksum: mount guard: stored 0x%08x, computed 0x%08x",
				le32_get(mmp->mmp_checksum), mmp_csum(g, mmp));
	return 0;
}
