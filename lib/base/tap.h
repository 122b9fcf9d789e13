/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What leaves one stage of the write path, item by item, for whoever wants to look at it there.
 * Stages in the order in which data passes them; the units of an item follow from its stage:
 *
 *	stage       ino  at, len                     place
 *	OP          -    bytes                       handle
 *	FOLIO       yes  bytes written into it       first page of the folio
 *	DELAYED     yes  logical blocks reserved     -
 *	WRITEBACK   yes  logical blocks asked for    -
 *	ALLOCATION  yes  logical blocks              first physical block
 *	BIO         -    bytes of the device         -
 *	COMPLETION  yes  logical blocks converted    -
 */
#ifndef BASE_TAP_H
#define BASE_TAP_H

#include <stdbool.h>
#include <stdint.h>

enum stage {
	STAGE_NONE,
	STAGE_OP,
	STAGE_FOLIO,
	STAGE_DELAYED,
	STAGE_WRITEBACK,
	STAGE_ALLOCATION,
	STAGE_BIO,
	STAGE_COMPLETION,
	STAGE_COUNT
};

struct tap_item {
	const char *what; /* the op's word, the bio's letters, or "" */
	uint32_t ino;
	uint64_t at, len, place;
};

struct tap {
	enum stage stage;
	void (*fn)(void *ctx, const struct tap_item *item);
	void *ctx;
};

static inline void tap_send(const struct tap *t, enum stage s, const char *what, uint32_t ino,
			    uint64_t at, uint64_t len, uint64_t place)
{
	/* Built only when wanted: copying members that were just stored waits for those stores. */
	if (__builtin_expect(t->stage == s, 0))
		t->fn(t->ctx, &(struct tap_item){what, ino, at, len, place});
}

#endif
