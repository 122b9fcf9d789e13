/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC tables written by the preprocessor.
 *
 * A CRC table is linear: the entry of a ^ b is the entry of a ^ the entry of b.  So the eight
 * entries of single bits (1, 2, 4 ... 128) make all 256, and a table costs one readable line
 * instead of 32.
 */
#ifndef BASE_CRC_TABLE_H
#define BASE_CRC_TABLE_H

#define CRC_T1(x, a)                (x), (x) ^ (a)
#define CRC_T2(x, a, b)             CRC_T1(x, a), CRC_T1((x) ^ (b), a)
#define CRC_T3(x, a, b, c)          CRC_T2(x, a, b), CRC_T2((x) ^ (c), a, b)
#define CRC_T4(x, a, b, c, d)       CRC_T3(x, a, b, c), CRC_T3((x) ^ (d), a, b, c)
#define CRC_T5(x, a, b, c, d, e)    CRC_T4(x, a, b, c, d), CRC_T4((x) ^ (e), a, b, c, d)
#define CRC_T6(x, a, b, c, d, e, f) CRC_T5(x, a, b, c, d, e), CRC_T5((x) ^ (f), a, b, c, d, e)
#define CRC_T7(x, a, b, c, d, e, f, g) \
	CRC_T6(x, a, b, c, d, e, f), CRC_T6((x) ^ (g), a, b, c, d, e, f)
#define CRC_TABLE(a, b, c, d, e, f, g, h)                                        \
	{                                                                        \
		CRC_T7(0, a, b, c, d, e, f, g), CRC_T7((h), a, b, c, d, e, f, g) \
	}

#endif
