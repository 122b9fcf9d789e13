/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRCs by table, and the choice of the fastest crc32c.
 *
 * Reflected 32-bit sums go eight bytes at a time through eight tables: table k holds the sum of a
 * byte followed by k zero bytes, so the eight look-ups are independent of one another.  Which
 * crc32c runs is asked on every call: the answer is a load and a test of what the C runtime found
 * out at start-up, so there is no state of ours to initialise, to race on or to get wrong in a
 * static link.
 */
#include "base/crc.h"

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc_hw.h"
#include "base/crc_table.h"

static const uint32_t castagnoli[8][256] = {
    CRC_TABLE(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc,
	      0x82f63b78),
    CRC_TABLE(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604,
	      0xfbc3faf9),
    CRC_TABLE(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9,
	      0x8b277743),
    CRC_TABLE(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7,
	      0x52a0c93f),
    CRC_TABLE(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae,
	      0x6ea2d55c),
    CRC_TABLE(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb,
	      0x1c08b7d6),
    CRC_TABLE(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a,
	      0xf56e0ef4),
    CRC_TABLE(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32,
	      0x34019664),
};

static const uint32_t ieee[8][256] = {
    CRC_TABLE(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190,
	      0xedb88320),
    CRC_TABLE(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05,
	      0x3b83984b),
    CRC_TABLE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0,
	      0xe1351b80),
    CRC_TABLE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d,
	      0xed59b63b),
    CRC_TABLE(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849,
	      0xb1e6b092),
    CRC_TABLE(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c,
	      0x1eb014d8),
    CRC_TABLE(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579,
	      0x8816eaf2),
    CRC_TABLE(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed,
	      0x533b85da),
};

static const uint32_t ieee_be[256] = CRC_TABLE(0x04c11db7, 0x09823b6e, 0x130476dc, 0x2608edb8,
					       0x4c11db70, 0x9823b6e0, 0x34867077, 0x690ce0ee);

static const uint16_t ansi[256] =
    CRC_TABLE(0xc0c1, 0xc181, 0xc301, 0xc601, 0xcc01, 0xd801, 0xf001, 0xa001);

static uint32_t bytewise(const uint32_t table[256], uint32_t crc, const uint8_t *p, size_t n)
{
	while (n-- != 0)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

static uint32_t by_eight(const uint32_t table[8][256], uint32_t crc, const uint8_t *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8) {
		le64 w;
		uint64_t v;

		memcpy(&w, p, sizeof(w));
		v = le64_get(w) ^ crc;
		crc = table[7][v & 0xff] ^ table[6][v >> 8 & 0xff] ^ table[5][v >> 16 & 0xff] ^
		      table[4][v >> 24 & 0xff] ^ table[3][v >> 32 & 0xff] ^
		      table[2][v >> 40 & 0xff] ^ table[1][v >> 48 & 0xff] ^ table[0][v >> 56];
	}
	return bytewise(table[0], crc, p, n);
}

static uint32_t crc32c_table(uint32_t seed, const void *p, size_t n)
{
	return bytewise(castagnoli[0], seed, p, n);
}

static uint32_t crc32c_eight(uint32_t seed, const void *p, size_t n)
{
	return by_eight(castagnoli, seed, p, n);
}

uint32_t crc32(uint32_t seed, const void *p, size_t n)
{
	return by_eight(ieee, seed, p, n);
}

uint32_t crc32_be(uint32_t seed, const void *p, size_t n)
{
	const uint8_t *b = p;

	while (n-- != 0)
		seed = seed << 8 ^ ieee_be[seed >> 24 ^ *b++];
	return seed;
}

uint16_t crc16(uint16_t seed, const void *p, size_t n)
{
	const uint8_t *b = p;

	while (n-- != 0)
		seed = (uint16_t)(seed >> 8 ^ ansi[(seed ^ *b++) & 0xff]);
	return seed;
}

static bool always(void)
{
	return true;
}

const struct crc32c_way crc32c_ways[] = {
    {"table", always, crc32c_table},
    {"slicing by 8", always, crc32c_eight},
    {"hardware, one stream", crc32c_hw_usable, crc32c_hw_one},
    {"hardware, three streams", crc32c_hw_fold_usable, crc32c_hw_three},
};
const size_t crc32c_way_count = ARRAY_SIZE(crc32c_ways);

uint32_t crc32c(uint32_t seed, const void *p, size_t n)
{
	if (n >= CRC32C_THREE_MIN && crc32c_hw_fold_usable())
		return crc32c_hw_three(seed, p, n);
	if (crc32c_hw_usable())
		return crc32c_hw_one(seed, p, n);
	return crc32c_eight(seed, p, n);
}
