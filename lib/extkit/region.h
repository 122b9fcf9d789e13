/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Region writeback: files whose dirty byte ranges go to a store that takes bytes at any offset, a
 * folder of files or a network block device.  How dirty data are found (the walk), what is known to
 * be dirty (the tracking) and what keeps data still while they are stored (stable) are chosen
 * separately, so that study 5's systems can be run against each other and counted.
 *
 *	struct ek_region_options opt = {.size = sizeof(opt), .knobs = "walk=region,track=range"};
 *	struct ek_region_file *f;
 *	struct ek_region *r;
 *
 *	if (ek_region_open(ctx, "/srv/store", &opt, &r) == 0) {
 *		if (ek_region_file_open(r, "data", EK_REGION_CREATE, &f) == 0) {
 *			ek_region_write(f, 0, 0, "hello", 5);
 *			ek_region_fsync(f, 0);
 *			ek_region_file_close(f);
 *		}
 *		ek_region_close(r);
 *	}
 *
 * A store is "DIR", "nbd://HOST/EXPORT" or "nbd+unix:///EXPORT?socket=FILE".  In a folder a file is
 * a file; a slash in its name is kept as %2F.  Of an export each file that is opened gets the next
 * aligned range ("slot="); which range it was is forgotten when the store is closed.
 *
 * Writers have numbers, 0 to 63.  Without EK_REGION_THREADS all calls come from one thread: then
 * stores count as done at the same points of every run, whatever the store's speed, and the
 * counters of two runs are equal.  With it each writer may be a thread of its own.
 */
#ifndef EXTKIT_REGION_H
#define EXTKIT_REGION_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;
struct ek_region;
struct ek_region_file;
struct ek_region_report;

#define EK_REGION_WRITERS 64

enum ek_region_flag {
	EK_REGION_THREADS = 1 << 0 /* calls may come from several threads */
};

struct ek_region_options {
	size_t size; /* sizeof(struct ek_region_options) */
	unsigned flags;
	/* KEY=VALUE, separated by commas; NULL: all as usual.
	 *
	 * walk      region, batch, generic, inline, iter, bitmap (usual)
	 * track     none, range, block, bytes (usual)
	 * stable    wait, copy (usual), cow
	 * folio     bytes of a folio, a power of two of 4K to 2M (4K), or auto: as long as the
	 *           write that makes it
	 * block     bytes of a block of the trackings block and bytes, 512 to 4K (4K)
	 * batch     folios of one lookup, 1 to 31 (15)
	 * skips     afs or cifs: what counts against the limit of folios passed over
	 * skip_limit  that limit (5)
	 * stores    async, or sync: the next waits for the one before (async)
	 * zeros     write, or zero: what is all zeros is no store but the store's own way of
	 *           zeroing, where it has one (write)
	 * max_store   bytes of a store at most; auto: by the measured round trip, 1M or 4M
	 * align     stores that are cut end at multiples of it; auto: of the store's
	 *           preferred block
	 * bridge    clean bytes that a store may include to save another one (0; bitmap and iter:
	 *           4K)
	 * inflight  stores on their way at most, to 64 (64)
	 * segs      pieces of memory of a store at most (1024)
	 * nr_to_write  pages that a flush without waiting may take, or all of them (all)
	 * dirty     bytes that may be dirty before a writer flushes (64M)
	 * memory    bytes of cache (1G)
	 * slot      bytes of an export that a file gets; auto: 64M, or all when that is less
	 *
	 * Sizes may end in K, M or G. */
	const char *knobs;
};

/* Opens the store and makes an empty cache in front of it.  -EINVAL for a knob. */
EK_EXPORT EK_MUST int ek_region_open(struct ek_ctx *ctx, const char *store,
				     const struct ek_region_options *opt, struct ek_region **ret);

/* Every file must be closed.  Nothing is written here.  Accepts NULL. */
EK_EXPORT void ek_region_close(struct ek_region *r);

enum ek_region_file_flag {
	EK_REGION_CREATE = 1 << 0,   /* make it when it is absent */
	EK_REGION_TRUNCATE = 1 << 1, /* start empty */
	EK_REGION_EXCLUSIVE = 1 << 2 /* -EEXIST when it is there */
};

/* A handle of the file of that name; several may be open. */
EK_EXPORT EK_MUST int ek_region_file_open(struct ek_region *r, const char *name, unsigned flags,
					  struct ek_region_file **ret);

/* Leaves what is dirty in the cache, as close(2) does.  Accepts NULL. */
EK_EXPORT void ek_region_file_close(struct ek_region_file *f);

EK_EXPORT uint64_t ek_region_file_size(const struct ek_region_file *f);

/* Bytes into the cache; the file grows.  -EFBIG behind 1 TiB, -ENOSPC behind an export's slot. */
EK_EXPORT EK_MUST int ek_region_write(struct ek_region_file *f, unsigned writer, uint64_t off,
				      const void *buf, size_t len);

/* Bytes of the file, zeros behind its end. */
EK_EXPORT EK_MUST int ek_region_read(struct ek_region_file *f, unsigned writer, uint64_t off,
				     void *buf, size_t len);

enum ek_region_flush_mode {
	EK_REGION_NOWAIT = 0, /* starts stores, passes over what is busy, keeps to nr_to_write */
	EK_REGION_SYNC        /* everything dirty in the range now is stored when it returns */
};

/* Stores what is dirty in the folios of [off, off + len); len 0: to the end. */
EK_EXPORT EK_MUST int ek_region_flush(struct ek_region_file *f, unsigned writer, uint64_t off,
				      uint64_t len, unsigned mode);

/* Starts stores of the range and drops its clean folios: what POSIX_FADV_DONTNEED asks for. */
EK_EXPORT EK_MUST int ek_region_drop(struct ek_region_file *f, unsigned writer, uint64_t off,
				     uint64_t len);

/* Everything is stored and the store has made it durable.  A store that failed for good is told
 * once to each handle. */
EK_EXPORT EK_MUST int ek_region_fsync(struct ek_region_file *f, unsigned writer);

EK_EXPORT EK_MUST int ek_region_truncate(struct ek_region_file *f, unsigned writer, uint64_t size);

/* The range reads as zeros; the store's own way of zeroing is used for whole folios.  The file
 * grows to its end. */
EK_EXPORT EK_MUST int ek_region_zero(struct ek_region_file *f, unsigned writer, uint64_t off,
				     uint64_t len);

/* Names.  Open handles stay with their file.  A target of a rename is replaced. */
EK_EXPORT EK_MUST int ek_region_unlink(struct ek_region *r, const char *name);
EK_EXPORT EK_MUST int ek_region_rename(struct ek_region *r, const char *from, const char *to);

/* Every file is stored and durable.  What was lost since the last time is told here too, whoever
 * wrote it. */
EK_EXPORT EK_MUST int ek_region_sync(struct ek_region *r, unsigned writer);

/* ---- reports ---- */

/* One fact.  group: "region" (what was counted), "store size" (stores by size, the name is the
 * largest of its class), "writer" (bytes and waits of each), "region time" (nanoseconds, which
 * differ from run to run). */
struct ek_region_row {
	const char *group, *name;
	uint64_t value;
};

EK_EXPORT EK_MUST int ek_region_report(struct ek_region *r, struct ek_region_report **ret);
EK_EXPORT const struct ek_region_row *ek_region_report_row(const struct ek_region_report *report,
							   size_t i);

/* The value of a row of group "region" or "region time", 0 when there is none. */
EK_EXPORT uint64_t ek_region_report_value(const struct ek_region_report *report, const char *name);
EK_EXPORT void ek_region_report_free(struct ek_region_report *report);

/* ---- the study's workload ---- */

enum ek_region_order { EK_REGION_RANDOM = 0, EK_REGION_SEQUENTIAL };

/* Writers overwrite all 4 KiB blocks of one file that is there already, each in an order of its
 * own, pass after pass; at the end of each pass a writer flushes the file without waiting and drops
 * it. */
struct ek_region_bench {
	size_t size;       /* sizeof(struct ek_region_bench) */
	const char *store; /* as for ek_region_open */
	const char *knobs; /* the same */
	unsigned writers;  /* 0: 4 */
	unsigned mib;      /* of the file, 0: 16 */
	unsigned passes;   /* of each writer, 0: 4 */
	unsigned order;    /* enum ek_region_order */
	unsigned flags;    /* EK_REGION_THREADS; without it writers take turns, write by write */
	uint64_t seed;
};

/* Runs it and reports; two rows more, "region time", "elapsed_ns" and "cpu_ns", are the time until
 * the last byte is durable and the processor's time of the whole process in it. */
EK_EXPORT EK_MUST int ek_region_bench(struct ek_ctx *ctx, const struct ek_region_bench *opt,
				      struct ek_region_report **ret);

#ifdef __cplusplus
}
#endif
#endif
