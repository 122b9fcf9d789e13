/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Workloads that are made rather than recorded.
 *
 * Wherever a trace is read, "gen:NAME" or "gen:NAME:KEY=VALUE,..." stands for the ops of a
 * generator; they are made while they are used and need no room:
 *
 *	ek_replay(ctx, "gen:dd:bs=8K,count=8192", "disk.img", &opt, &report);
 *	ek_trace_convert(ctx, "gen:fstime:mode=copy", "copy.wtb", NULL, NULL);
 *
 * The same text gives the same ops.  This header lists what there is.
 */
#ifndef EXTKIT_GENERATE_H
#define EXTKIT_GENERATE_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One parameter.  Texts are constant and English. */
struct ek_generator_key {
	const char *name;
	const char *values; /* "one|two", or "NUMBER" or "SIZE" */
	const char *usual;  /* what it is when not given */
	const char *says;
};

/* Generator number i in alphabetical order, and its parameters from 0; NULL past the last. */
EK_EXPORT const char *ek_generator_name(size_t i);
EK_EXPORT const char *ek_generator_says(size_t i);

/* Fills *ret and returns 1, or 0 past the last key or generator.  buf holds usual for as long as
 * it is wanted. */
EK_EXPORT int ek_generator_key(size_t i, size_t key, char buf[24], struct ek_generator_key *ret);

#ifdef __cplusplus
}
#endif
#endif
