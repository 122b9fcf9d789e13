/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as the log of a filesystem of 1 KiB blocks: opened, recovered, written on. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/diag.h"
#include "io/bio.h"
#include "io/dev.h"
#include "journal/journal.h"
#include "ondisk/features.h"

#define LOG_AT  4096u
#define LOG_LEN 1100u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_on(struct jnl *j, struct buf_cache *cache)
{
	struct jnl_user user = {NULL};
	struct handle *h;
	struct buf *b;

	if (handle_start(j, &user, HANDLE_MISC, 4, 0, 8, &h) < 0)
		return;
	if (buf_new(cache, (ek_pblk){100}, &verify_any, (struct buf_owner){0, 0}, &b) == 0) {
		handle_dirty(h, b);
		buf_put(b);
	}
	handle_forget(h, NULL, (ek_pblk){101});
	handle_stop(h);
}

/* Nothing may be written outside the filesystem's own blocks, and nothing at all on refusal. */
static void check(struct dev *dev, int rc)
{
	if (rc < 0 && dev->stats.writes != 0)
		abort();
}

static void run(struct dev *dev, struct geom *g, struct diag *d)
{
	static const struct jnl_run runs[] = {{0, 40, LOG_AT + 2000}, {40, LOG_LEN - 40, LOG_AT}};
	struct jnl_config cfg = {.diag = d, .runs = runs, .run_count = 2, .blocks = LOG_LEN};
	struct jnl *j;
	uint32_t count;
	int rc;

	if (buf_cache_open(dev, g, 1 << 20, d, &cfg.cache) < 0)
		return;
	if (bioq_open(dev, NULL, d, &cfg.bioq) == 0) {
		dev->stats.writes = 0;
		rc = jnl_open(&cfg, &j);
		check(dev, rc);
		if (rc == 0) {
			rc = jnl_recover(j, &count);
			check(dev, rc);
			write_on(j, cfg.cache);
			jnl_close(j);
		}
		bioq_close(cfg.bioq);
	}
	buf_cache_close(cfg.cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct geom g = {
	    .blocks = 8192, .block_size = 1024, .block_bits = 10, .first_data_block = 1};
	struct diag d = {0};
	struct dev *dev;
	size_t first = 40 * 1024;

	if (size == 0 || dev_open_memory(g.blocks << g.block_bits, &d, &dev) < 0)
		return 0;
	if ((data[0] & 1) != 0)
		g.ro_compat = RO_COMPAT_METADATA_CSUM;
	data++;
	size = size - 1 > LOG_LEN * 1024u ? LOG_LEN * 1024u : size - 1;
	first = size < first ? size : first;
	dev_write(dev, (uint64_t)(LOG_AT + 2000) << 10, data, first);
	dev_write(dev, (uint64_t)LOG_AT << 10, data + first, size - first);
	run(dev, &g, &d);
	dev_close(dev);
	return 0;
}
