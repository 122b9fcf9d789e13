/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes, checked arithmetic, diagnostics. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"

TEST(numbers_on_disk_keep_their_byte_order)
{
	CHECK_INT(le32_make(0x01020304).b[0], 4);
	CHECK_INT(be32_make(0x01020304).b[0], 1);
	CHECK_INT(le64_get(le64_make(0x0102030405060708)), 0x0102030405060708);
	CHECK_INT(be16_get(be16_make(0xabcd)), 0xabcd);
}

TEST(checked_shift_tells_when_bits_are_lost)
{
	uint64_t v;

	CHECK(!ck_shl(1, 63, &v));
	CHECK(ck_shl(2, 63, &v));
	CHECK(ck_shl(1, 64, &v));
	CHECK(!ck_shl(0, 3, &v));
}

TEST(the_first_diagnostic_wins)
{
	struct diag d;

	diag_clear(&d);
	CHECK_INT(diag_set(&d, -EUCLEAN, "corrupt %s", "thing"), -EUCLEAN);
	CHECK_INT(diag_set(&d, -EIO, "later"), -EIO);
	CHECK_STR(d.text, "corrupt thing");
	CHECK_INT(d.code, -EUCLEAN);
}

TEST(host_errors_carry_the_reason)
{
	struct diag d;

	diag_clear(&d);
	diag_errno(&d, -ENOENT, "cannot open %s", "x.img");
	CHECK_STR(d.text, "cannot open x.img: No such file or directory");
}

TEST(zeros_are_told_from_what_has_one_other_byte)
{
	uint8_t p[40] = {0};

	CHECK(mem_is_zero(p, sizeof(p)));
	for (size_t i = 0; i < sizeof(p); i++) {
		p[i] = 1;
		CHECK(!mem_is_zero(p, sizeof(p)));
		CHECK(mem_is_zero(p, i));
		p[i] = 0;
	}
}

TEST(capped_arrays_refuse_large_counts)
{
	struct diag d;
	void *p;

	diag_clear(&d);
	CHECK(mem_array(SIZE_MAX, 16, MEM_CAP, &d) == NULL);
	CHECK_INT(d.code, -ENOMEM);
	p = mem_array(4, 4, 16, NULL);
	CHECK(p != NULL);
	free(p);
	CHECK(mem_array(5, 4, 16, NULL) == NULL);
}

int main(void)
{
	return tap_main();
}
