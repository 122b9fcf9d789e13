/* SPDX-License-Identifier: BSD-2-Clause */
/* Which release these headers and the loaded library belong to. */
#ifndef EXTKIT_VERSION_H
#define EXTKIT_VERSION_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The release of the headers a program was compiled with. */
#define EK_VERSION "0.1.0"

/* The release of the library that is loaded, in the same form; constant, never freed. */
EK_EXPORT const char *ek_version(void);

/* Space-separated names of the optional parts this library was built with ("uring"), empty
 * when it has none; constant, never freed. */
EK_EXPORT const char *ek_parts(void);

#ifdef __cplusplus
}
#endif
#endif
