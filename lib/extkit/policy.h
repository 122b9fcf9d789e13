/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Policies: the write paths that a replay can follow, as switches and presets.
 *
 *	const struct ek_policy_switch *s;
 *
 *	for (size_t i = 0; (s = ek_policy_switch(i)) != NULL; i++)
 *		printf("%s: %s\n", s->name, s->about);
 *
 * A replay takes the name of a preset and settings like "write=g0" (extkit/replay.h).  All texts
 * are constants in English.
 */
#ifndef EXTKIT_POLICY_H
#define EXTKIT_POLICY_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;

struct ek_policy_value {
	const char *word, *about;
};

struct ek_policy_switch {
	const char *name, *about;
	const struct ek_policy_value *values; /* ends with word == NULL */
};

/* Switch number i, NULL past the last.  Their number may grow. */
EK_EXPORT const struct ek_policy_switch *ek_policy_switch(size_t i);

/* Preset number i as a word and what it is, NULL past the last.  The first is what a replay does
 * when nothing is said. */
EK_EXPORT const struct ek_policy_value *ek_policy_preset(size_t i);

/* The value of every switch under a preset (NULL: the first) changed by nset settings
 * "switch=value": ret[i] is the index into the values of switch number i, for the first n switches.
 * -EINVAL for unknown words and for a combination that cannot be, with the reason. */
EK_EXPORT EK_MUST int ek_policy_resolve(struct ek_ctx *ctx, const char *preset,
					const char *const *set, size_t nset, unsigned *ret,
					size_t n);

#ifdef __cplusplus
}
#endif
#endif
