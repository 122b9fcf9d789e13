/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks that are dealt out to files of a new image. */
#include <errno.h>

#include "base/diag.h"
#include "fs/build_impl.h"
#include "ondisk/features.h"
#include "tap.h"

static int take_at(uint64_t cursor, uint64_t want, uint32_t incompat, struct diag *d)
{
	struct build b = {.z.bpg = 32768, .o.incompat = incompat, .diag = d};
	struct block_run r = {0};
	int rc;

	b.space.cursor = cursor;
	rc = build_take(&b, want, 1, &r);
	if (rc == 0) {
		CHECK_INT(r.start, cursor);
		CHECK_INT(r.len, want);
	}
	build_space_free(&b.space);
	return rc;
}

TEST(pointers_lead_to_blocks_of_32_bits_and_extents_to_all)
{
	struct diag d = {0};

	CHECK_INT(take_at((1ull << 32) - 8, 8, 0, &d), 0);
	CHECK_INT(take_at((1ull << 32) - 8, 9, INCOMPAT_EXTENTS, &d), 0);
	CHECK_INT(take_at((1ull << 32) - 8, 9, 0, &d), -EFBIG);
	CHECK_STR(d.text,
		  "no extents: a file would get block 4294967296, pointers end at 4294967295");
}

int main(void)
{
	return tap_main();
}
