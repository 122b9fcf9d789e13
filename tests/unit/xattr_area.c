/* SPDX-License-Identifier: BSD-2-Clause */
/* Areas of attributes that somebody else has written: what may be changed has been proved. */
#include "tap.h"

#include <errno.h>

#include "base/diag.h"
#include "fs/xattr_format.h"

#define AREA 64u /* two entries of 20 bytes, their end, and 20 bytes of values */

static uint8_t bytes[AREA];
static struct xattr_area area = {bytes, 0, AREA};
static struct diag diag;

static void put(uint32_t at, char name, uint32_t value, uint32_t size)
{
	struct xattr_entry *e = (struct xattr_entry *)(void *)(bytes + at);

	e->e_name_len = 1;
	e->e_name_index = 1;
	e->e_name[0] = name;
	e->e_value_offs = le16_make((uint16_t)value);
	e->e_value_size = le32_make(size);
}

/* What the proof says of values at these places. */
static int prove(uint32_t value1, uint32_t size1, uint32_t value2, uint32_t size2)
{
	memset(bytes, 0, sizeof(bytes));
	put(0, 'a', value1, size1);
	put(20, 'b', value2, size2);
	diag_clear(&diag);
	return xattr_area_verify(&area, "test", 0, &diag);
}

TEST(values_lie_side_by_side_behind_the_entries)
{
	CHECK_INT(prove(60, 4, 56, 4), 0);
	CHECK_INT(prove(60, 1, 56, 3), 0);
	CHECK_INT(prove(44, 10, 56, 8), 0);
	CHECK_INT(prove(40, 4, 56, 8), -EUCLEAN);
	CHECK_INT(prove(60, 5, 56, 4), -EUCLEAN);
}

/* Removal clears whole words. */
TEST(the_last_word_of_a_value_lies_in_the_area_too)
{
	CHECK_INT(prove(63, 1, 56, 4), -EUCLEAN);
	CHECK_INT(prove(58, 5, 48, 4), -EUCLEAN);
}

/* Removal of one would move a part of the other, or give back room that is in use. */
TEST(no_two_values_share_bytes)
{
	CHECK_INT(prove(48, 8, 48, 8), -EUCLEAN);
	CHECK_INT(prove(48, 8, 52, 8), -EUCLEAN);
	CHECK_INT(prove(56, 8, 48, 12), -EUCLEAN);
	CHECK_INT(prove(48, 5, 54, 4), -EUCLEAN);
	CHECK_INT(prove(48, 16, 52, 0), 0);
}

int main(void)
{
	return tap_main();
}
