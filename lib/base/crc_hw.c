/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crc32c on x86-64 (SSE4.2, PCLMULQDQ) and ARMv8 (CRC, PMULL).
 *
 * The instruction takes one cycle to start and three to finish.  One stream therefore uses a third
 * of the machine; three streams over three neighbouring parts of the buffer use it all.  Their sums
 * are joined by moving each over the bytes that follow its part: moving a sum over m zero bits is a
 * multiplication by x^m mod P.  The product of two reflected 32-bit values, read as a 64-bit
 * message, is one power of x too high and summing it adds 32 more, so the factor kept here is x^(m
 * - 33).
 */
#include "base/crc_hw.h"

#include <string.h>

#if defined(__x86_64__)

#include <nmmintrin.h>
#include <wmmintrin.h>

#define HW      __attribute__((target("sse4.2")))
#define HW_FOLD __attribute__((target("sse4.2,pclmul")))

bool crc32c_hw_usable(void)
{
	return __builtin_cpu_supports("sse4.2") != 0;
}

bool crc32c_hw_fold_usable(void)
{
	return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;
}

HW static inline uint64_t sum8(uint64_t crc, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return _mm_crc32_u64(crc, v);
}

HW static inline uint32_t sum1(uint32_t crc, uint8_t b)
{
	return _mm_crc32_u8(crc, b);
}

/* The sum moved over the zeros that factor stands for. */
HW_FOLD static inline uint32_t move(uint64_t crc, uint32_t factor)
{
	__m128i a = _mm_cvtsi64_si128((long long)crc), b = _mm_cvtsi32_si128((int)factor);
	long long product = _mm_cvtsi128_si64(_mm_clmulepi64_si128(a, b, 0));

	return (uint32_t)_mm_crc32_u64(0, (uint64_t)product);
}

#elif defined(__aarch64__) && defined(__linux__)

#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#if defined(__clang__) /* whose arm_acle.h hides the instruction from functions with a target */
#define HW          __attribute__((target("crc")))
#define HW_FOLD     __attribute__((target("crc,aes")))
#define CRC_D(c, v) __builtin_arm_crc32cd((c), (v))
#define CRC_B(c, v) __builtin_arm_crc32cb((c), (v))
#else
#include <arm_acle.h>
#define HW          __attribute__((target("+crc")))
#define HW_FOLD     __attribute__((target("+crc+crypto")))
#define CRC_D(c, v) __crc32cd((c), (v))
#define CRC_B(c, v) __crc32cb((c), (v))
#endif

bool crc32c_hw_usable(void)
{
	return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

bool crc32c_hw_fold_usable(void)
{
	unsigned long caps = getauxval(AT_HWCAP), want = HWCAP_CRC32 | HWCAP_PMULL;

	return (caps & want) == want;
}

HW static inline uint64_t sum8(uint64_t crc, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return CRC_D((uint32_t)crc, v);
}

HW static inline uint32_t sum1(uint32_t crc, uint8_t b)
{
	return CRC_B(crc, b);
}

HW_FOLD static inline uint32_t move(uint64_t crc, uint32_t factor)
{
	poly128_t product = vmull_p64((poly64_t)crc, (poly64_t)factor);

	return CRC_D(0, (uint64_t)product);
}

#else

bool crc32c_hw_usable(void)
{
	return false;
}

bool crc32c_hw_fold_usable(void)
{
	return false;
}

uint32_t crc32c_hw_one(uint32_t seed, const void *p, size_t n)
{
	return seed;
}

uint32_t crc32c_hw_three(uint32_t seed, const void *p, size_t n)
{
	return seed;
}

#endif

#ifdef HW

HW uint32_t crc32c_hw_one(uint32_t seed, const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t crc = seed;

	for (; n >= 8; b += 8, n -= 8)
		crc = sum8(crc, b);
	for (; n != 0; b++, n--)
		crc = sum1((uint32_t)crc, *b);
	return (uint32_t)crc;
}

/* Part lengths, so chosen that three parts and a short rest make 4 KiB, 1 KiB and 256 bytes, with
 * the factors for moving over one part and over two. */
static const struct part {
	size_t len;
	uint32_t over_one, over_two;
} parts[] = {
    {1360, 0x3f70cc6f, 0x5aa1f3cf},
    {336, 0xa60ce07b, 0xcec3662e},
    {80, 0x39d3b296, 0x878a92a7},
};

HW_FOLD static uint64_t three_parts(uint64_t crc, const uint8_t *p, const struct part *part)
{
	const uint8_t *a = p, *b = p + part->len, *c = b + part->len, *end = b;
	uint64_t crc_b = 0, crc_c = 0;

	for (; a != end; a += 8, b += 8, c += 8) {
		crc = sum8(crc, a);
		crc_b = sum8(crc_b, b);
		crc_c = sum8(crc_c, c);
	}
	return move(crc, part->over_two) ^ move(crc_b, part->over_one) ^ crc_c;
}

HW_FOLD uint32_t crc32c_hw_three(uint32_t seed, const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t crc = seed;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t len = 3 * parts[i].len;

		for (; n >= len; b += len, n -= len)
			crc = three_parts(crc, b, &parts[i]);
	}
	return crc32c_hw_one((uint32_t)crc, b, n);
}

#endif
