/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model of a trace: one item at a time, the same whether it came from text, from the binary
 * form or from an importer.  No strings are parsed after this point.
 *
 * A source hands out items in this order: initial files (OP_NODE), timed items (everything else),
 * expectations (OP_EXPECT).  It owns the struct and all that its views point to; both are valid
 * until the next call.  The struct is reused, so a consumer copies what it wants to keep.
 *
 * Which members mean something depends on the code:
 *
 *	code                      members (besides time, thread, dur, flags, data, extra)
 *	OPEN                      handle path flags mode
 *	CLOSE FSYNC FDATASYNC     handle
 *	WRITE                     handle off len want segs data; flags APPEND DIRECT SYNC DSYNC ...
 *	READ                      handle off len; flags DIRECT
 *	MMAP                      window handle off len; flags READ WRITE SHARED
 *	MUNMAP                    window
 *	MWRITE                    handle off len sub (enum op_via)
 *	MSYNC                     handle off len; flag ASYNC
 *	COPY CLONE DEDUPE         handle off (source), handle2 off2 (target), len
 *	TRUNCATE / FTRUNCATE      path / handle, len is the new size
 *	FALLOC                    handle sub (enum op_falloc) off len
 *	SYNCRANGE                 handle off len; flags WAIT_BEFORE START WAIT_AFTER
 *	SYNCFS                    handle, or 0 for the traced file system
 *	MKDIR RMDIR UNLINK        path, MKDIR mode
 *	RENAME LINK               path path2; RENAME flags NOREPLACE EXCHANGE WHITEOUT
 *	SYMLINK                   path is the target text, path2 the new name
 *	MKNOD                     path mode dev
 *	CHMOD CHOWN UTIMENS       path or (path.n == 0) handle; mode / uid gid / atime mtime;
 *NOFOLLOW SETXATTR REMOVEXATTR      path or handle; name, len bytes, data SETFLAGS SETPROJECT
 *handle; name like "+ea-j" / arg ADVISE                    handle off len sub (enum op_advice)
 *	DROPCACHES FREEZE THAW REMOUNT   name holds the values as written
 *	FORK EXIT                 arg is the other thread
 *	MARK                      name
 *	GAP                       arg events were lost here
 *	NODE                      node
 *	OBSERVED                  name is the kernel event, extra its fields
 *	EXPECT                    extra is the text after "= "
 *	COMMENT                   extra is the text after "#", found after the header
 *	UNKNOWN                   name is the unknown word, extra the rest (lenient readers only)
 *
 * Numbers that are not given hold OP_NONE64 (dur, want) or OP_NO_THREAD.  Handles count from 1.
 */
#ifndef TRACE_OP_H
#define TRACE_OP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct diag;
struct notes;

enum op_code {
	OP_NONE,
	OP_OPEN,
	OP_CLOSE,
	OP_WRITE,
	OP_READ,
	OP_MMAP,
	OP_MUNMAP,
	OP_MWRITE,
	OP_MSYNC,
	OP_COPY,
	OP_CLONE,
	OP_DEDUPE,
	OP_TRUNCATE,
	OP_FTRUNCATE,
	OP_FALLOC,
	OP_FSYNC,
	OP_FDATASYNC,
	OP_SYNCRANGE,
	OP_SYNCFS,
	OP_SYNC,
	OP_MKDIR,
	OP_RMDIR,
	OP_UNLINK,
	OP_RENAME,
	OP_LINK,
	OP_SYMLINK,
	OP_MKNOD,
	OP_CHMOD,
	OP_CHOWN,
	OP_UTIMENS,
	OP_SETXATTR,
	OP_REMOVEXATTR,
	OP_SETFLAGS,
	OP_SETPROJECT,
	OP_ADVISE,
	OP_DROPCACHES,
	OP_REMOUNT,
	OP_FREEZE,
	OP_THAW,
	OP_FORK,
	OP_EXIT,
	OP_MARK,
	OP_GAP,
	OP_OBSERVED,
	OP_UNKNOWN,
	OP_COMMENT,
	OP_NODE,
	OP_EXPECT,
	OP_STAT, /* numbers are those of binary traces: what is new comes last */
	OP_COUNT
};

/* One flag space for all codes, so that a flag means the same wherever it stands. */
enum op_flag {
	OPF_READ = 1u << 0,
	OPF_WRITE = 1u << 1,
	OPF_PATH = 1u << 2,
	OPF_CREAT = 1u << 3,
	OPF_EXCL = 1u << 4,
	OPF_TRUNC = 1u << 5,
	OPF_APPEND = 1u << 6,
	OPF_SYNC = 1u << 7,
	OPF_DSYNC = 1u << 8,
	OPF_DIRECT = 1u << 9,
	OPF_TMPFILE = 1u << 10,
	OPF_NOFOLLOW = 1u << 11,
	OPF_DIRECTORY = 1u << 12,
	OPF_NOATIME = 1u << 13,
	OPF_NEW = 1u << 14, /* the open made the file */
	OPF_DONTCACHE = 1u << 15,
	OPF_ATOMIC = 1u << 16,
	OPF_SHARED = 1u << 17,
	OPF_ASYNC = 1u << 18,
	OPF_NOREPLACE = 1u << 19,
	OPF_EXCHANGE = 1u << 20,
	OPF_WHITEOUT = 1u << 21,
	OPF_WAIT_BEFORE = 1u << 22,
	OPF_START = 1u << 23,
	OPF_WAIT_AFTER = 1u << 24,
	OPF_MODE = 1u << 25, /* mode was given (open only) */
};

enum op_falloc {
	FALLOC_ALLOC,
	FALLOC_KEEP,
	FALLOC_PUNCH,
	FALLOC_ZERO,
	FALLOC_ZEROKEEP,
	FALLOC_COLLAPSE,
	FALLOC_INSERT,
	FALLOC_UNSHARE,
	FALLOC_COUNT
};

enum op_via { VIA_NONE, VIA_FAULT, VIA_DIFF, VIA_GUESS, VIA_COUNT };

enum op_advice { ADVICE_WILLNEED, ADVICE_DONTNEED, ADVICE_RANDOM, ADVICE_SEQUENTIAL, ADVICE_COUNT };

/* Bytes that belong to the source; p[n] is 0, and there is no other 0 in a path or name. */
struct op_str {
	const char *p;
	uint32_t n;
};

enum op_data_kind {
	DATA_NONE,    /* the replay chooses */
	DATA_ZERO,    /* z */
	DATA_CRC,     /* c:CRC32C, bytes not kept */
	DATA_BLOB,    /* b:SHA-256; bytes are there unless the trace was cut in front */
	DATA_PATTERN, /* p:SEED, by file offset */
	DATA_MIXED,   /* r:PERCENT:SEED, compressible to about PERCENT */
	DATA_INLINE,  /* x:HEX, up to 32 bytes */
	DATA_KINDS
};

#define OP_INLINE_MAX 32

struct op_data {
	uint8_t kind;         /* enum op_data_kind */
	uint8_t percent;      /* DATA_MIXED */
	uint8_t hashed;       /* hash is filled in; a source may leave that to the writer */
	uint32_t crc;         /* DATA_CRC */
	uint64_t seed;        /* DATA_PATTERN, DATA_MIXED */
	const uint8_t *bytes; /* DATA_BLOB, DATA_INLINE: n bytes, or NULL */
	uint32_t n;
	uint8_t hash[32]; /* DATA_BLOB */
};

/* Seconds and nanoseconds, or one of the words below in nsec, as utimensat(2) has them. */
struct op_time {
	int64_t sec;
	uint32_t nsec;
};
#define OP_TIME_NOW     0x3fffffffu
#define OP_TIME_OMIT    0x3ffffffeu
#define OP_TIME_UNKNOWN 0x3ffffffdu

struct op_extent {
	uint32_t lblk;
	uint32_t len;
	uint64_t pblk;
};

/* A file that was there before the first op. */
struct op_node {
	char type;     /* f d l c b p s */
	uint32_t mode; /* permission bits */
	uint32_t uid, gid;
	uint64_t size; /* f only */
	uint64_t dev;  /* c and b: major << 32 | minor */
	uint64_t ino;  /* 0 unknown; two nodes with one number are hard links */
	struct op_str path, target, sha256; /* sha256 as 64 hex digits, or empty */
	struct op_time atime, mtime;        /* OP_TIME_UNKNOWN when not given */
	const struct op_extent *extents;
	uint32_t nextents;
	struct op_str extra;
};

#define OP_NONE64    UINT64_MAX
#define OP_NO_THREAD UINT32_MAX

struct op {
	/* Always set. */
	uint64_t time; /* ns since the start of the trace */
	uint64_t dur;  /* ns inside the call, OP_NONE64 unknown */
	uint64_t off;
	uint64_t len;
	uint32_t thread;
	uint32_t handle;
	uint32_t flags; /* enum op_flag */
	uint8_t code;   /* enum op_code */
	uint8_t sub;
	uint8_t plain;     /* nothing below this line is set: all of it is zero or not given */
	uint8_t data_kind; /* same as data.kind */

	/* Defaults (zero, OP_NONE64) unless the code names them. */
	uint64_t want; /* length asked for when the call came back short */
	uint64_t off2;
	uint64_t arg;
	uint64_t dev; /* major << 32 | minor */
	uint32_t handle2;
	uint32_t window;
	uint32_t mode;
	uint32_t uid, gid;
	struct op_time atime, mtime;
	struct op_str path, path2, name;
	struct op_str segs;      /* as written: LEN,LEN,... */
	struct op_str id, after; /* labels of explicit order */
	struct op_str extra;     /* keys this version does not know, as written */
	struct op_data data;
	const struct op_node *node;
};

/* Makes *o an op of nothing. */
static inline void op_clear(struct op *o)
{
	memset(o, 0, sizeof(*o));
	o->dur = OP_NONE64;
	o->want = OP_NONE64;
	o->thread = OP_NO_THREAD;
	o->plain = 1;
}

/*
 * The lines in front of the first item, kept as they are.  text holds them joined by LF, each
 * without its leading '#'; it is NUL-terminated.  The numbers are what the known lines said.
 */
struct op_header {
	const char *text;
	size_t len;
	uint32_t version;
	uint32_t block, page, hz; /* 0 unknown */
	uint64_t lost;
	bool plain_crc; /* DATA_CRC is zlib's CRC-32: files with "#time ns", of an early importer */
};

/*
 * Where items come from.  next() returns 1 with *ret set, 0 at the end, or a negative errno with a
 * story in d; after an error or the end it keeps returning the same.  whole() says at the end
 * whether the trace ended where its writer meant it to.
 */
struct op_source {
	const struct op_source_ops *ops;
	struct op_header header;
	struct diag *d;      /* of the caller, may be NULL */
	struct notes *notes; /* of the caller, may be NULL: what is passed over */
};

struct op_source_ops {
	int (*next)(struct op_source *s, const struct op **ret);
	bool (*whole)(const struct op_source *s);
	void (*close)(struct op_source *s);
	/* "FILE:LINE:COLUMN" of the item handed out last; NULL when items have no line. */
	void (*where)(const struct op_source *s, char *text, size_t size);
};

static inline int op_next(struct op_source *s, const struct op **ret)
{
	return s->ops->next(s, ret);
}

static inline bool op_whole(const struct op_source *s)
{
	return s->ops->whole(s);
}

static inline void op_source_close(struct op_source *s)
{
	if (s)
		s->ops->close(s);
}

/*
 * Where items go.  header() comes first and once.  finish() ends the trace (whole: mark it as
 * complete) and flushes; close() only frees, so a sink that was not finished is a cut file.
 */
struct op_sink {
	const struct op_sink_ops *ops;
	struct diag *d;
};

struct op_sink_ops {
	int (*header)(struct op_sink *s, const struct op_header *h);
	int (*write)(struct op_sink *s, const struct op *o);
	int (*flush)(struct op_sink *s);
	int (*finish)(struct op_sink *s, bool whole);
	void (*close)(struct op_sink *s);
};

static inline int op_sink_header(struct op_sink *s, const struct op_header *h)
{
	return s->ops->header(s, h);
}

static inline int op_write(struct op_sink *s, const struct op *o)
{
	return s->ops->write(s, o);
}

static inline int op_flush(struct op_sink *s)
{
	return s->ops->flush(s);
}

static inline int op_finish(struct op_sink *s, bool whole)
{
	return s->ops->finish(s, whole);
}

static inline void op_sink_close(struct op_sink *s)
{
	if (s)
		s->ops->close(s);
}

/* Copies header and items from one to the other and finishes; 0 or a negative errno. */
int op_copy(struct op_source *from, struct op_sink *to);

/* The word of a code in the text form ("write"), and the code of a word (OP_NONE if unknown). */
const char *op_word(enum op_code code);
enum op_code op_find(const char *word, size_t n);

/* True for codes that stand for a call of the workload. */
static inline bool op_is_work(enum op_code code)
{
	return (code > OP_NONE && code < OP_OBSERVED) || code == OP_STAT;
}

#endif
