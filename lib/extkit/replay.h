/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay: a recorded trace of file operations runs through extkit's own page cache, delayed
 * allocation, allocator and journal onto an image file or block device, or as system calls onto a
 * mounted folder.
 *
 *	struct ek_replay_options opt = {.size = sizeof(opt)};
 *	struct ek_replay_report *rep;
 *	const struct ek_replay_row *row;
 *
 *	if (ek_replay(ctx, "app.wtr", "disk.img", &opt, &rep) == 0) {
 *		for (size_t i = 0; (row = ek_replay_report_row(rep, i)) != NULL; i++)
 *			printf("%s %s %llu", row->group, row->name, (unsigned long long)row->value);
 *		ek_replay_report_free(rep);
 *	}
 */
#ifndef EXTKIT_REPLAY_H
#define EXTKIT_REPLAY_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;

enum ek_replay_clock {
	EK_CLOCK_VIRTUAL = 0, /* the trace's times, without waiting: reproducible */
	EK_CLOCK_REAL,        /* at the recorded pace */
	EK_CLOCK_ASAP         /* no time passes but what the run itself takes */
};

enum ek_replay_flag {
	EK_REPLAY_NO_STORES = 1 << 0,  /* leave stores through mappings out */
	EK_REPLAY_LENIENT = 1 << 1,    /* what cannot be read or done is counted, not fatal */
	EK_REPLAY_NO_INITIAL = 1 << 2, /* do not make the files that were there before */
	EK_REPLAY_CRASH = 1 << 3,      /* stop as a power cut would: nothing pending is written */
	EK_REPLAY_NODELALLOC = 1 << 4,
	EK_REPLAY_DIOREAD_LOCK = 1 << 5,
	EK_REPLAY_DRY_RUN = 1 << 6, /* what would be written to an image stays in memory */
	EK_REPLAY_POPULATE = 1 << 7 /* take the page cache's memory from the host before the first
				     * op, so that no op waits for it: for measurements */
};

/* Where data can be looked at on their way, in the order in which they pass. */
enum ek_replay_stage {
	EK_STAGE_NONE = 0,
	EK_STAGE_OP,         /* calls */
	EK_STAGE_FOLIO,      /* bytes that came into a folio of the cache */
	EK_STAGE_DELAYED,    /* runs of blocks that were reserved */
	EK_STAGE_WRITEBACK,  /* runs that writeback asks a place for */
	EK_STAGE_ALLOCATION, /* runs that got one */
	EK_STAGE_BIO,        /* what the block layer is given */
	EK_STAGE_COMPLETION  /* runs whose blocks became written */
};

/* One thing that leaves a stage.  at and len are bytes of the file for ops and folios, bytes of the
 * device for bios, logical blocks otherwise.  place is the handle of an op, the first page of a
 * folio, the first physical block of an allocation, 0 otherwise. */
struct ek_replay_item {
	uint64_t ns;      /* the trace's clock */
	const char *what; /* the op's word, the bio's letters, "" otherwise */
	uint32_t inode;   /* 0 for ops and bios */
	uint64_t at, len, place;
};

/* Negative ends the replay with that code. */
typedef int ek_replay_item_fn(void *data, const struct ek_replay_item *item);

#define EK_THREADS_TRACE UINT32_MAX

struct ek_replay_options {
	size_t size;         /* sizeof(struct ek_replay_options) */
	unsigned flags;      /* enum ek_replay_flag */
	unsigned clock;      /* enum ek_replay_clock */
	const char *initial; /* table of files before the trace, or NULL: the trace's own %init */
	const char *extents; /* their extents, or NULL */
	const char *root;    /* taken off the paths of that table, NULL: "/" */
	uint64_t memory;     /* bytes of page cache, 0: 1 GiB */
	uint64_t background_bytes, dirty_bytes; /* thresholds, 0: 10 % and 20 % of memory */
	uint64_t offset;                        /* of the filesystem in the target */
	uint32_t hz;         /* timestamp ticks per second, 0: the trace's, else 250 */
	uint32_t umask;      /* of the replayed program; 0 means 022, ~0 none */
	struct ek_time now;  /* wall clock at the trace's start, when the trace does not say */
	uint64_t stop_after; /* ops, 0: all */
	/* With a stage, item is called for all that leaves it, and the target is not changed: what
	 * would be written to it stays in memory. */
	unsigned stage; /* enum ek_replay_stage */
	ek_replay_item_fn *item;
	void *item_data;
	/* ns after a whole step of the wall clock at which the traced machine's timestamps
	 * advanced: any of them, modulo 1 s / hz.  Less than that. */
	uint32_t tick_phase;
	/* The write path: a preset, NULL for the first of them, and settings "switch=value"
	 * (extkit/policy.h). */
	const char *policy;
	const char *const *set;
	size_t nset;
	/* Time that background writeback takes for an extent and for each of its pages, on the
	 * virtual clock, while writers go on; both 0: none.  What happens when a flusher and a
	 * writer run after each other can be seen with it only. */
	uint64_t pace_extent_ns, pace_page_ns;
	/* Knobs of a region (extkit/region.h), for a target that is one; they go before the
	 * policy's switches walk, track and stable.  NULL: none. */
	const char *region;
	/* Workers, each of which gets files of its own; 0 and 1: everything in turn, which alone
	 * gives the same bytes every time.  EK_THREADS_TRACE: one for each thread of the trace.
	 * What names files, or works on several, waits for all before it. */
	uint32_t threads;
	/* What goes wrong at every so manieth write to an inline file, 0: never.  locate: the block
	 * of the inode cannot be had when the write ends; copy: the program's memory ends in the
	 * middle of what is copied.  To see what the generations of the switch inline do about it.
	 */
	uint32_t fault_locate_every, fault_copy_every;
};

/* One fact.  group: "op", "counter", "mark", "handle", "folio", "extent", "time", "failed",
 * "missed", "skipped": the first things that were passed over, FILE:LINE:COLUMN and why. */
struct ek_replay_row {
	const char *group, *name;
	uint64_t value;
};

struct ek_replay_report;

EK_EXPORT const struct ek_replay_row *ek_replay_report_row(const struct ek_replay_report *report,
							   size_t i);
EK_EXPORT void ek_replay_report_free(struct ek_replay_report *report);

/* Replays trace onto target: a path, "dir:" and a mounted folder, or "region:" and a store of
 * extkit/region.h, whose rows the report then has.  The trace "-" is standard
 * input.  *ret is set on success only.  -EINVAL for a bad trace, -EUCLEAN for a damaged image,
 * -ENOSPC when the image is too small (it is clean then), -EBUSY for one that is in use. */
EK_EXPORT EK_MUST int ek_replay(struct ek_ctx *ctx, const char *trace, const char *target,
				const struct ek_replay_options *opt, struct ek_replay_report **ret);

#ifdef __cplusplus
}
#endif
#endif
