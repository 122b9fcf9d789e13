/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes in and out of a trace file, and the lines of one.
 *
 * Input is a file, standard input or memory, and is decompressed on the way when it starts like a
 * zstd file.  Output is a file, standard output or memory, compressed when asked to be.
 * Memory use is a few buffers, whatever the size of the file.
 */
#ifndef TRACE_STREAM_H
#define TRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct instream;
struct outstream;

enum instream_flag {
	INSTREAM_RAW = 1, /* hand out the bytes as they are, compressed or not */
};

/* Opens a file; "-" is standard input. */
int instream_open(const char *path, unsigned flags, struct diag *d, struct instream **ret);

/* Reads memory that stays the caller's; name is for messages. */
int instream_memory(const void *p, size_t n, const char *name, unsigned flags, struct diag *d,
		    struct instream **ret);

/* Up to n bytes, fewer only at the end; 0 at the end, negative errno on failure.  A compressed
 * file that stops in the middle of a frame ends there, and instream_torn() says so. */
long instream_read(struct instream *in, void *buf, size_t n);
bool instream_torn(const struct instream *in);

/* The next bytes, n up to INSTREAM_PEEK, which stay to be read; fewer only at the end. */
#define INSTREAM_PEEK ((size_t)64 << 10)
long instream_peek(struct instream *in, void *buf, size_t n);
const char *instream_name(const struct instream *in);

/* True when the bytes can be had a second time by opening again (not a pipe). */
bool instream_again(const struct instream *in);
void instream_close(struct instream *in);

/* Creates or empties a file; "-" is standard output.  level is zstd's, 0 writes without. */
int outstream_open(const char *path, int level, struct diag *d, struct outstream **ret);

/* Collects in memory; outstream_bytes() shows what was flushed so far. */
int outstream_memory(struct diag *d, struct outstream **ret);
const void *outstream_bytes(const struct outstream *out, size_t *ret_len);

/* Room for n more bytes (n at most OUTSTREAM_ROOM), or NULL after an error that outstream_flush()
 * will return.  outstream_put() says how many were used. */
#define OUTSTREAM_ROOM ((size_t)256 << 10)
char *outstream_room(struct outstream *out, size_t n);
void outstream_put(struct outstream *out, size_t n);
void outstream_write(struct outstream *out, const void *p, size_t n);

/* CRC-32C (the usual one, inverted at both ends) and number of all bytes written so far. */
uint32_t outstream_crc(struct outstream *out);
uint64_t outstream_count(const struct outstream *out);

/* Pushes everything to the file; 0 or the first error of this stream. */
int outstream_flush(struct outstream *out);

/* Ends a compressed stream, flushes and closes; out is gone afterwards even on failure. */
int outstream_close(struct outstream *out);

/* Lines of an instream. */
struct lines {
	struct instream *in;
	char *buf;
	size_t cap, start, end;
	size_t max;      /* longest line to hand out */
	uint64_t number; /* of the line last returned, from 1 */
	uint64_t bytes;  /* consumed so far */
	bool eof;
	bool too_long; /* the last line was longer than max; what was returned is its beginning */
	bool torn;     /* the last line had no LF */
};

/* in becomes the lines' own. */
int lines_init(struct lines *l, struct instream *in, size_t max);
void lines_free(struct lines *l);

/* 1 with a line of *n bytes that ends with 0 instead of LF and may be written to until the next
 * call, 0 at the end, negative errno. */
int lines_next(struct lines *l, char **line, size_t *n);

#endif
