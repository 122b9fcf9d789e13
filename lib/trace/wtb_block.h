/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of ".wtb", private to its reader and writer.
 *
 * Decompressed, a file is a row of blocks, so that its length does not depend on how it was
 * compressed:
 *
 *	le32 magic, le32 length of the whole block, body, le32 CRC-32C of all before
 *
 * The body of a block of ops: le32 number of items, le32 number of columns, le64 time of the first
 * item, le32 length per column, the columns.  Numbers in columns are LEB128 varints; differences
 * are folded (0 -1 1 -2 ...).
 *
 *	strings   per string: length, bytes, a 0; the first one is number 1, 0 is "none"
 *	threads   the thread numbers of this block; referred to by place, from 1
 *	handles   the handles of this block; likewise
 *	codes     one byte per item: code, 0x40 flags are in args, 0x80 more is in args
 *	thread, time, dur, handle, off, len
 *	args      flags, the rest of the arguments by op_forms, a mask of keys and their values
 *	data      kind and value of data references
 *
 * Off is the difference from the end of the last range of the same handle in this block; len is 0
 * for the same length as there, else length + 1; dur is 0 for none, else ns + 1.
 *
 * The body of a block of blobs: per blob 32 bytes SHA-256, le32 length, bytes.  The body of the end
 * mark: le64 number of timed items, le32 1 when the trace is whole.
 */
#ifndef TRACE_WTB_BLOCK_H
#define TRACE_WTB_BLOCK_H

#include "trace/words.h"

#define WTB_OPS   0x64425457u /* "WTBd" */
#define WTB_BLOBS 0x62425457u /* "WTBb" */
#define WTB_END   0x65425457u /* "WTBe" */

#define WTB_OPS_MAX   ((size_t)1 << 20)
#define WTB_BLOCK_MAX ((size_t)6 << 20) /* a block of blobs may hold one of 4 MiB */

#define WTB_SKIP_HEADER 0x184D2A50u
#define WTB_SKIP_INDEX  0x184D2A51u
#define WTB_SKIP_SEEK   0x184D2A5Eu
#define WTB_SEEK_MAGIC  0x8F92EAB1u
#define WTB_VERSION     1

enum wtb_column {
	COL_STRINGS,
	COL_THREADS,
	COL_HANDLES,
	COL_CODE,
	COL_THREAD,
	COL_TIME,
	COL_DUR,
	COL_HANDLE,
	COL_OFF,
	COL_LEN,
	COL_ARGS,
	COL_DATA,
	COL_COUNT
};

#define WTB_BODY ((size_t)8 + 16 + 4 * COL_COUNT) /* where the columns begin */

#define WTB_CODE_MASK  0x3fu
#define WTB_CODE_FLAGS 0x40u
#define WTB_CODE_COLD  0x80u

/* Which columns an op has, from its form. */
enum wtb_shape { SHAPE_HANDLE = 1, SHAPE_OFF = 2, SHAPE_LEN = 4, SHAPE_TIME = 8 };

unsigned wtb_shape(enum op_code code);

enum wtb_key {
	KEY_SEGS = 1,
	KEY_WANT = 2,
	KEY_SUB = 4,
	KEY_ARG = 8,
	KEY_DATA = 16,
	KEY_ID = 32,
	KEY_AFTER = 64,
	KEY_EXTRA = 128,
	KEY_MODE = 256,
	KEY_NAME = 512,
};

static inline uint64_t fold(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t unfold(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

#endif
