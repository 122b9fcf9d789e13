/* SPDX-License-Identifier: BSD-2-Clause */
/* A look into the pieces that a memory device or an overlay holds. */
#ifndef IO_MEMORY_H
#define IO_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct dev;

/* One piece after another, in no useful order: *pos starts as NULL.  Returns its bytes (*ret_len of
 * them, standing for the device's bytes from *ret_off on; the last piece of a device may reach past
 * its end) or NULL at the end.  The device must not be written meanwhile. */
const void *memory_next(struct dev *dev, const void **pos, uint64_t *ret_off, size_t *ret_len);

#endif
