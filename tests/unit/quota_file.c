/* SPDX-License-Identifier: BSD-2-Clause */
/* Quota files: what a reader that walks the four levels finds of each owner. */
#include "tap.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "fs/quota_file.h"

#define ROWS      14u /* of a unit */
#define HEAD      16u /* bytes before them */
#define ROW_BYTES 72u

static uint8_t *file;
static uint64_t units;

static uint32_t word(uint64_t unit, uint32_t at)
{
	le32 w;

	memcpy(&w, file + unit * QUOTA_UNIT + at, sizeof(w));
	return le32_get(w);
}

static void make(struct quota_use *rows, size_t n)
{
	struct quota_list list = {rows, n};

	free(file);
	units = quota_file_units(&list);
	file = calloc(units, QUOTA_UNIT);
	CHECK(file != NULL);
	quota_file_fill(QUOTA_USER, &list, file);
}

/* The place of the owner's row, or 0. */
static uint64_t find(uint32_t id)
{
	uint32_t unit = 1;

	for (unsigned level = 4; level-- != 0;) {
		unit = word(unit, (id >> 8 * level & 0xff) * 4);
		if (unit == 0 || unit >= units)
			return 0;
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		if (i < (word(unit, 8) & 0xffff) && word(unit, HEAD + i * ROW_BYTES) == id)
			return (uint64_t)unit * QUOTA_UNIT + HEAD + (uint64_t)i * ROW_BYTES;
	}
	return 0;
}

static uint64_t number_at(uint64_t at)
{
	le64 n;

	memcpy(&n, file + at, sizeof(n));
	return le64_get(n);
}

TEST(one_owner_takes_six_units)
{
	struct quota_use rows[] = {{0, 2, 20480}};

	make(rows, 1);
	CHECK_INT(units, 6);
	CHECK_INT(word(0, 0), 0xd9c01f11);
	CHECK_INT(word(0, 20), 6); /* units */
	CHECK_INT(word(0, 28), 5); /* the unit with room for more owners */
	CHECK_INT(find(0), 5 * QUOTA_UNIT + HEAD);
	CHECK_INT(number_at(find(0) + 24), 2);
	CHECK_INT(number_at(find(0) + 48), 20480);
	CHECK_INT(find(1), 0);
}

TEST(owners_share_tables_as_far_as_their_numbers_agree)
{
	struct quota_use rows[] = {
	    {1, 1, 1}, {2, 1, 1}, {258, 1, 1}, {70000, 1, 1}, {1u << 31, 1, 1}};

	make(rows, 5);
	/* head, first table, 3 ways down, then 1 more, 2 more, 3 more, and rows */
	CHECK_INT(units, 2 + 3 + 0 + 1 + 2 + 3 + 1);
	CHECK_INT(word(0, 20), units);
	for (size_t i = 0; i < 5; i++)
		CHECK(find(rows[i].id) != 0);
}

TEST(rows_that_are_full_have_no_room_for_more_owners)
{
	struct quota_use rows[3 * ROWS];

	for (uint32_t i = 0; i < 3 * ROWS; i++)
		rows[i] = (struct quota_use){i * 3, i + 1, (uint64_t)i << 33};
	make(rows, 2 * ROWS);
	CHECK_INT(units, 2 + 3 + 2);
	CHECK_INT(word(0, 28), 0);
	make(rows, 2 * ROWS + 1);
	CHECK_INT(units, 2 + 3 + 3);
	CHECK_INT(word(0, 28), units - 1);
	make(rows, 3 * ROWS);
	for (uint32_t i = 0; i < 3 * ROWS; i++) {
		CHECK(find(rows[i].id) != 0);
		CHECK_INT(number_at(find(rows[i].id) + 24), i + 1);
		CHECK_INT(number_at(find(rows[i].id) + 48), (uint64_t)i << 33);
	}
}

TEST(nobody_at_all_is_a_head_and_an_empty_table)
{
	make(NULL, 0);
	CHECK_INT(units, 2);
	CHECK_INT(word(0, 28), 0);
}

int main(void)
{
	int rc = tap_main();

	free(file);
	return rc;
}
