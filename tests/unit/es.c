/* SPDX-License-Identifier: BSD-2-Clause */
/* Extent status: merging, cutting, reservations; a model of one cell per block is the oracle. */
#include "tap.h"

#include <stdlib.h>

#include "fs/es.h"

#define CELLS 512

static struct counters zero;

static struct es_extent ext(uint32_t lblk, uint32_t len, uint64_t pblk, enum es_type type)
{
	return (struct es_extent){{lblk}, len, {pblk}, type};
}

TEST(neighbours_merge_when_type_and_place_agree)
{
	struct es_tree t;
	struct es_extent e, got;

	es_init(&t, &zero);
	e = ext(0, 4, 100, ES_WRITTEN);
	CHECK_INT(es_insert(&t, &e, NULL), 0);
	e = ext(8, 4, 108, ES_WRITTEN);
	CHECK_INT(es_insert(&t, &e, NULL), 0);
	CHECK_INT(t.count, 2);
	e = ext(4, 4, 104, ES_WRITTEN);
	CHECK_INT(es_insert(&t, &e, NULL), 0);
	CHECK_INT(t.count, 1);
	CHECK(es_lookup(&t, (ek_lblk){11}, &got));
	CHECK_INT(got.len, 12);
	CHECK_INT(got.pblk.v, 100);
	e = ext(12, 4, 300, ES_WRITTEN);
	CHECK_INT(es_insert(&t, &e, NULL), 0);
	CHECK_INT(t.count, 2);
	es_free(&t);
}

TEST(a_written_extent_consumes_the_reservation_below_it)
{
	struct es_tree t;
	struct es_extent e;
	uint64_t n = 0;

	es_init(&t, &zero);
	CHECK_INT(es_insert_delayed(&t, (ek_lblk){10}, 10), 0);
	CHECK_INT(t.delayed, 10);
	e = ext(5, 10, 1000, ES_UNWRITTEN);
	CHECK_INT(es_insert(&t, &e, &n), 0);
	CHECK_INT(n, 5);
	CHECK_INT(t.delayed, 5);
	CHECK_INT(es_remove(&t, (ek_lblk){16}, 2, &n), 0);
	CHECK_INT(n, 2);
	CHECK_INT(t.delayed, 3);
	es_free(&t);
}

static uint64_t cell(const struct es_extent *e, uint32_t at)
{
	uint64_t p = e->type <= ES_UNWRITTEN ? e->pblk.v + (at - e->lblk.v) : 0;

	return (uint64_t)e->type + 1 + (p << 3);
}

TEST(random_operations_agree_with_a_cell_per_block)
{
	static uint64_t model[CELLS];
	struct es_tree t;
	uint64_t delayed, n;

	srand(7);
	es_init(&t, &zero);
	memset(model, 0, sizeof(model));
	for (int i = 0; i < 20000; i++) {
		uint32_t at = (uint32_t)(rand() % CELLS);
		uint32_t len = 1 + (uint32_t)rand() % (CELLS - at);
		struct es_extent e = ext(at, len, 1000 + at + (uint64_t)(rand() % 2) * 5000,
					 (enum es_type)(rand() % 4));
		uint64_t want = 0;

		len = len > 40 ? 1 + len % 40 : len;
		e.len = len;
		for (uint32_t k = at; k < at + len; k++)
			want += (model[k] & 7) == ES_DELAYED + 1;
		if (rand() % 4 == 0) {
			CHECK_INT(es_remove(&t, e.lblk, len, &n), 0);
			for (uint32_t k = at; k < at + len; k++)
				model[k] = 0;
		} else {
			CHECK_INT(es_insert(&t, &e, &n), 0);
			for (uint32_t k = at; k < at + len; k++)
				model[k] = cell(&e, k);
		}
		CHECK_INT(n, want);
		if (i % 50 != 0)
			continue;
		delayed = 0;
		for (uint32_t k = 0; k < CELLS; k++) {
			struct es_extent got;
			uint64_t have = es_lookup(&t, (ek_lblk){k}, &got) ? cell(&got, k) : 0;

			CHECK_INT(have, model[k]);
			delayed += (model[k] & 7) == ES_DELAYED + 1;
		}
		CHECK_INT(t.delayed, delayed);
	}
	es_free(&t);
}

int main(void)
{
	return tap_main();
}
