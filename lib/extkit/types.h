/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers with types, feature words and the return convention of extkit.
 *
 * Functions return int: 0 or more is good, a negative errno is bad.  EUCLEAN means the image is
 * damaged, EBADMSG a checksum does not match, EOPNOTSUPP the image uses an incompatible feature
 * that extkit does not know.  Out-parameters come last, are named ret, and are untouched on
 * failure.
 */
#ifndef EXTKIT_TYPES_H
#define EXTKIT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EK_EXPORT __attribute__((visibility("default")))
#define EK_MUST   __attribute__((warn_unused_result))
#else
#define EK_EXPORT
#define EK_MUST
#endif

/* A block of the filesystem, counted from the start of the image. */
typedef struct ek_pblk {
	uint64_t v;
} ek_pblk;

/* A block of a file, counted from the start of the file. */
typedef struct ek_lblk {
	uint32_t v;
} ek_lblk;

/* An inode number; 0 is no inode. */
typedef struct ek_inum {
	uint32_t v;
} ek_inum;

/* A point in time: seconds since 1970 (may be negative) and nanoseconds 0..999,999,999. */
struct ek_time {
	int64_t sec;
	uint32_t nsec;
};

#ifdef __cplusplus
}
#endif
#endif
