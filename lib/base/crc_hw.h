/* SPDX-License-Identifier: BSD-2-Clause */
/* crc32c by the processor's own instruction.  Callers ask the usable function first; where there is
 * no such instruction it says no, and the others must not be called. */
#ifndef BASE_CRC_HW_H
#define BASE_CRC_HW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Below this many bytes joining three streams costs more than it saves. */
#define CRC32C_THREE_MIN 240

bool crc32c_hw_usable(void);
uint32_t crc32c_hw_one(uint32_t seed, const void *p, size_t n);

/* Three streams also need a carry-less multiplication to join them. */
bool crc32c_hw_fold_usable(void);
uint32_t crc32c_hw_three(uint32_t seed, const void *p, size_t n);

#endif
