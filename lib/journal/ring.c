/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the blocks of the log lie on the device. */
#include <errno.h>

#include "base/diag.h"
#include "io/dev.h"
#include "journal/log.h"

uint64_t log_place(const struct jnl *j, uint32_t lblk, uint32_t *ret_run)
{
	unsigned low = 0, high = j->cfg.run_count - 1;
	const struct jnl_run *r;

	while (low < high) {
		unsigned mid = low + (high - low + 1) / 2;

		if (j->cfg.runs[mid].lblk <= lblk)
			low = mid;
		else
			high = mid - 1;
	}
	r = &j->cfg.runs[low];
	if (ret_run != NULL)
		*ret_run = r->len - (lblk - r->lblk);
	return (r->pblk + (lblk - r->lblk)) << j->block_bits;
}

/* A run of a device of its own. */
static int check_outside(const struct jnl *j, const struct jnl_run *r)
{
	uint64_t blocks = j->cfg.log_dev->size >> j->block_bits;

	if (r->pblk < blocks && r->len <= blocks - r->pblk)
		return 0;
	return diag_set(
	    j->cfg.diag, -EUCLEAN, "corrupt journal: %u blocks at %llu, and %s has %llu", r->len,
	    (unsigned long long)r->pblk, j->cfg.log_dev->name, (unsigned long long)blocks);
}

int log_check_runs(const struct jnl *j)
{
	const struct geom *g = buf_cache_geom(j->cfg.cache);
	uint32_t at = 0;

	for (unsigned i = 0; i < j->cfg.run_count; i++) {
		const struct jnl_run *r = &j->cfg.runs[i];
		ek_pblk pblk;
		int rc;

		if (r->lblk != at || r->len == 0 || r->len > j->cfg.blocks - at)
			break;
		rc = jnl_external(j)
			 ? check_outside(j, r)
			 : geom_run(g, r->pblk, r->len, "journal run", j->cfg.diag, &pblk);
		if (rc < 0)
			return rc;
		at += r->len;
	}
	if (at == j->cfg.blocks && at != 0)
		return 0;
	return diag_set(j->cfg.diag, -EUCLEAN,
			"corrupt journal: hole at log block %u of %u: every block must be mapped",
			at, j->cfg.blocks);
}
