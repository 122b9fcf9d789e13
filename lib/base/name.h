/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of folders' entries, by their bytes and length; not terminated. */
#ifndef BASE_NAME_H
#define BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* "." or "..". */
static inline bool name_is_dots(const char *name, size_t len)
{
	return (len == 1 || (len == 2 && name[1] == '.')) && name[0] == '.';
}

/* It can be part of a path: not empty, without '/' and zero bytes. */
static inline bool name_is_sound(const char *name, size_t len)
{
	return len != 0 && memchr(name, '/', len) == NULL && memchr(name, '\0', len) == NULL;
}

#endif
