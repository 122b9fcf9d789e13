/* SPDX-License-Identifier: BSD-2-Clause */
/* How rows of field tables are written. */
#ifndef ONDISK_FIELD_IMPL_H
#define ONDISK_FIELD_IMPL_H

#include "base/check.h"
#include "ondisk/field.h"

/* A member of a C struct. */
#define FIELD(type, member, kind, since, help)                                      \
	{                                                                           \
#member, (uint16_t)offsetof(struct type, member),                   \
		    (uint16_t)sizeof(((struct type *)0)->member), kind, since, help \
	}

#define FIELD_TABLE(name, size, big, rows)              \
	{                                               \
		name, size, big, rows, ARRAY_SIZE(rows) \
	}

#endif
