/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What differs between the write paths that can be compared: one value per switch, chosen when a
 * page cache is opened.  The loops read their switch once, before they begin.
 */
#ifndef PAGECACHE_POLICY_H
#define PAGECACHE_POLICY_H

#include <stdint.h>

/* Where a buffered write opens handles and marks the inode (delalloc-facts 2.5). */
enum write_generation { WRITE_G5 = 5 };

/* How big folios are and what their blocks cost (5.3). */
enum folio_strategy { FOLIO_S1 = 1 };

/* When writeback stops (4.9). */
enum budget_rule { BUDGET_R2 = 2 };
enum wrap_rule { WRAP_W1 = 1 };

struct policy {
	const char *name;
	enum write_generation write;
	enum folio_strategy folio;
	enum budget_rule budget;
	enum wrap_rule wrap;
	uint8_t max_order; /* of folios; capped by 2,048 blocks */
};

extern const struct policy policy_linux_6_18;

#endif
