/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hashes of names for indexed folders: the old polynomial, a half MD4 and a TEA, each over signed
 * or unsigned characters.  Versions: 0 legacy, 1 half MD4, 2 TEA, plus 3 for unsigned.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "fs/dir.h"

#define HASH_LEGACY   0u
#define HASH_HALF_MD4 1u
#define HASH_TEA      2u
#define HASH_END      0xfffffffeu /* never a hash: marks the end of a folder */

/* Without a branch: the sign is an offset that moves there and back. */
static uint32_t char_value(const char *name, uint32_t i, bool is_signed)
{
	uint32_t half = is_signed ? 0x80 : 0;

	return ((unsigned char)name[i] ^ half) - half;
}

static uint32_t legacy(const char *name, uint32_t len, bool is_signed)
{
	uint32_t newer = 0x12a3fe2d, older = 0x37abe8f9;

	for (uint32_t i = 0; i < len; i++) {
		uint32_t h = older + (newer ^ char_value(name, i, is_signed) * 7152373u);

		if ((h & 0x80000000u) != 0)
			h -= 0x7fffffff;
		older = newer;
		newer = h;
	}
	return newer << 1;
}

/* Their sum, highest byte first; one below zero takes from the bytes above it. */
static uint32_t four_chars(const char *p, bool is_signed)
{
	be32 raw;
	uint32_t v;

	memcpy(&raw, p, sizeof(raw));
	v = be32_get(raw);
	return is_signed ? v - ((v & 0x00808080u) << 1) : v;
}

/* Packs up to 4 * words characters, highest byte first; what is missing is filled from the length.
 */
static void pack(const char *name, uint32_t len, uint32_t *out, unsigned words, bool is_signed)
{
	uint32_t fill = len | len << 8, v;
	uint32_t at = 0;

	fill |= fill << 16;
	if (len > words * 4)
		len = words * 4;
	for (; len - at >= 4; at += 4)
		*out++ = four_chars(name + at, is_signed);
	v = fill;
	for (unsigned k = at; k < len; k++)
		v = char_value(name, k, is_signed) + (v << 8);
	for (unsigned w = at / 4; w < words; w++, v = fill)
		*out++ = v;
}

static uint32_t rol(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

typedef uint32_t mix_fn(uint32_t x, uint32_t y, uint32_t z);

static uint32_t choose(uint32_t x, uint32_t y, uint32_t z)
{
	return z ^ (x & (y ^ z));
}

static uint32_t most(uint32_t x, uint32_t y, uint32_t z)
{
	return (x & y) + ((x ^ y) & z);
}

static uint32_t parity(uint32_t x, uint32_t y, uint32_t z)
{
	return x ^ y ^ z;
}

struct md4_round {
	mix_fn *mix;
	uint8_t order[8], turn[4];
	uint32_t add;
};

/* Four steps, from word i of the order on: the word that changes goes backwards, a, d, c, b. */
static inline void four_steps(uint32_t v[4], const uint32_t in[8], const struct md4_round *r,
			      unsigned i)
{
	const uint8_t *at = r->order + i;

	v[0] = rol(v[0] + r->mix(v[1], v[2], v[3]) + in[at[0]] + r->add, r->turn[0]);
	v[3] = rol(v[3] + r->mix(v[0], v[1], v[2]) + in[at[1]] + r->add, r->turn[1]);
	v[2] = rol(v[2] + r->mix(v[3], v[0], v[1]) + in[at[2]] + r->add, r->turn[2]);
	v[1] = rol(v[1] + r->mix(v[2], v[3], v[0]) + in[at[3]] + r->add, r->turn[3]);
}

/* Three rounds of eight steps over eight words of input.  The rounds are constants in one function
 * so that a compiler sees each step's own: a folder's split hashes every name of a block. */
static void half_md4(uint32_t state[4], const uint32_t in[8])
{
	static const struct md4_round first = {choose, {0, 1, 2, 3, 4, 5, 6, 7}, {3, 7, 11, 19}, 0};
	static const struct md4_round second = {
	    most, {1, 3, 5, 7, 0, 2, 4, 6}, {3, 5, 9, 13}, 0x5a827999};
	static const struct md4_round third = {
	    parity, {3, 7, 2, 6, 1, 5, 0, 4}, {3, 9, 11, 15}, 0x6ed9eba1};
	uint32_t v[4] = {state[0], state[1], state[2], state[3]};

	four_steps(v, in, &first, 0);
	four_steps(v, in, &first, 4);
	four_steps(v, in, &second, 0);
	four_steps(v, in, &second, 4);
	four_steps(v, in, &third, 0);
	four_steps(v, in, &third, 4);
	for (unsigned i = 0; i < 4; i++)
		state[i] += v[i];
}

static void tea(uint32_t state[4], const uint32_t in[4])
{
	uint32_t x = state[0], y = state[1], sum = 0;

	for (unsigned i = 0; i < 16; i++) {
		sum += 0x9e3779b9;
		x += ((y << 4) + in[0]) ^ (y + sum) ^ ((y >> 5) + in[1]);
		y += ((x << 4) + in[2]) ^ (x + sum) ^ ((x >> 5) + in[3]);
	}
	state[0] += x;
	state[1] += y;
}

static void init_state(const uint32_t seed[4], uint32_t state[4])
{
	static const uint32_t standard[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
	bool given = (seed[0] | seed[1] | seed[2] | seed[3]) != 0;

	for (unsigned i = 0; i < 4; i++)
		state[i] = given ? seed[i] : standard[i];
}

int dir_hash(const uint32_t seed[4], unsigned version, const char *name, uint32_t len,
	     uint32_t *major, uint32_t *minor)
{
	bool is_signed = version < 3;
	unsigned kind = is_signed ? version : version - 3;
	unsigned words = kind == HASH_HALF_MD4 ? 8 : 4;
	uint32_t state[4], in[8], hash, low = 0;

	if (kind > HASH_TEA)
		return -EOPNOTSUPP;
	init_state(seed, state);
	if (kind == HASH_LEGACY) {
		hash = legacy(name, len, is_signed);
	} else {
		for (uint32_t at = 0; at < len; at += words * 4) {
			pack(name + at, len - at, in, words, is_signed);
			if (kind == HASH_HALF_MD4)
				half_md4(state, in);
			else
				tea(state, in);
		}
		hash = kind == HASH_HALF_MD4 ? state[1] : state[0];
		low = kind == HASH_HALF_MD4 ? state[2] : state[1];
	}
	hash &= ~1u;
	*major = hash == HASH_END ? HASH_END - 2 : hash;
	*minor = low;
	return 0;
}
