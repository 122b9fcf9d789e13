/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Integers as they lie on a disk: structs of bytes with one getter and one setter each, so that an
 * on-disk number can neither be used without decoding nor be misaligned.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdint.h>
#include <string.h>

typedef struct le16 {
	uint8_t b[2];
} le16;
typedef struct le32 {
	uint8_t b[4];
} le32;
typedef struct le64 {
	uint8_t b[8];
} le64;
typedef struct be16 {
	uint8_t b[2];
} be16;
typedef struct be32 {
	uint8_t b[4];
} be32;
typedef struct be64 {
	uint8_t b[8];
} be64;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTES_LE(bits, x) (x)
#define BYTES_BE(bits, x) __builtin_bswap##bits(x)
#else
#define BYTES_LE(bits, x) __builtin_bswap##bits(x)
#define BYTES_BE(bits, x) (x)
#endif

#define BYTES_DEFINE(kind, KIND, bits)                               \
	static inline uint##bits##_t kind##bits##_get(kind##bits v)  \
	{                                                            \
		uint##bits##_t x;                                    \
		memcpy(&x, v.b, sizeof(x));                          \
		return BYTES_##KIND(bits, x);                        \
	}                                                            \
	static inline kind##bits kind##bits##_make(uint##bits##_t x) \
	{                                                            \
		kind##bits v;                                        \
		x = BYTES_##KIND(bits, x);                           \
		memcpy(v.b, &x, sizeof(x));                          \
		return v;                                            \
	}

BYTES_DEFINE(le, LE, 16)
BYTES_DEFINE(le, LE, 32)
BYTES_DEFINE(le, LE, 64)
BYTES_DEFINE(be, BE, 16)
BYTES_DEFINE(be, BE, 32)
BYTES_DEFINE(be, BE, 64)

#endif
