/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the allocator: what mballoc.c (requests), goal.c, search.c, prealloc.c,
 * window.c and mbfree.c (frees)
 * share.
 */
#ifndef ALLOC_MB_H
#define ALLOC_MB_H

#include "alloc/buddy.h"
#include "alloc/mballoc.h"
#include "base/list.h"
#include "base/rb.h"

#define LG_LISTS 10u /* by floor(log2(free)) */
#define LG_MAX   8u  /* preallocations on one list before some are given back */
#define LG_KEEP  5u

/* A place: cluster in a group, and how many. */
struct place {
	uint32_t group;
	int64_t start; /* -1: anywhere in the group */
	uint32_t len;
	uint32_t logical; /* file block that the first cluster is for */
};

/* A preallocation: clusters that belong to an inode or to a locality group; marked used in the
 * buddy of their group, free on disk where nobody took them yet. */
struct prealloc {
	struct rb_node node;    /* inode: in mb_inode.pas by lstart */
	struct list lg;         /* group: on a list of its locality group */
	struct list all;        /* in mb.all */
	struct mb_inode *inode; /* NULL for a group preallocation */
	ek_pblk pstart;
	uint32_t lstart, len, free;
	unsigned cpu;
};

struct locality {
	struct list lists[LG_LISTS];
};

/* Runs freed by one transaction: not to be taken again before it has committed. */
struct pending {
	struct jnl_callback cb;
	struct mb *mb;
	struct list link;
	uint32_t tid;
	struct pending_run {
		ek_pblk pblk;
		uint32_t len; /* clusters */
	} * runs;
	size_t count, cap;
};

struct mb {
	struct groups *gs;
	struct jnl *jnl;
	struct geom *geom;
	struct diag *diag;
	struct counters *counters;
	struct mb_config cfg;
	struct buddy *buddies; /* one a group */
	uint8_t *asked;        /* bit a group: its bitmap was read ahead */
	uint32_t *last_group;  /* stream goals */
	unsigned goals;
	struct locality *local;
	struct list all;        /* every preallocation */
	struct rb_root windows; /* struct mb_window */
	struct list pending;    /* freed, not committed */
	uint64_t prealloc_free;
};

enum scan_status { SCAN_GO, SCAN_FOUND, SCAN_BREAK };

enum criteria { CR_POWER2, CR_GOAL_FAST, CR_BEST_AVAIL, CR_GOAL_SLOW, CR_ANY, CR_COUNT };

/* One allocation in progress. */
struct search {
	struct mb *mb;
	const struct mb_request *req;
	struct place orig, goal, best;
	uint32_t orig_goal_len; /* goal length before it was shrunk to what is available */
	unsigned flags, order;  /* order: of a power-of-two goal, 0 for others */
	enum criteria cr;
	enum scan_status status;
	unsigned found;
	struct prealloc *pa; /* the group preallocation that served the request */
	bool from_pa;
};

static inline ek_pblk mb_block(const struct mb *mb, uint32_t group, uint32_t start)
{
	return (ek_pblk){geom_group_start(mb->geom, group).v +
			 ((uint64_t)start << mb->geom->cluster_bits)};
}

static inline uint64_t mb_blocks(const struct mb *mb, uint64_t clusters)
{
	return clusters << mb->geom->cluster_bits;
}

/* The file block behind the place. */
static inline uint64_t mb_end(const struct mb *mb, const struct place *p)
{
	return p->logical + mb_blocks(mb, p->len);
}

/* The buddy of a group, loaded; damaged groups fail. */
int mb_load(struct mb *mb, uint32_t group, struct buddy **ret);

/* Free clusters of a place, which are marked used in the buddy, become used on disk. */
int mb_commit_place(struct mb *mb, struct handle *h, const struct place *p);
/* Room by the counters for *clusters, or for a half, a quarter ... of them; -ENOSPC. */
int mb_check_space(struct mb *mb, const struct mb_request *req, uint32_t *clusters);
int mb_out_of_space(struct mb *mb, uint32_t clusters);

/* Finds a place for the goal: status tells whether, best where.  Errors are those of bitmaps. */
int mb_search(struct search *s);

/* The window is given up. */
void mb_window_drop(struct mb *mb, struct mb_window *w);

/* Group or inode preallocation, or none: sets flags (delalloc-facts 7.2). */
void mb_choose_kind(struct search *s);
/* The inode's preallocation that begins at lblk or last before it, and the next one; NULL for
 * none. */
struct prealloc *mb_pa_before(const struct mb_inode *mi, uint32_t lblk, struct prealloc **right);
/* Serves the request from a preallocation: true when it could. */
bool mb_use_prealloc(struct search *s);
/* Widens the goal (7.3). */
void mb_normalize(struct search *s);

/* best is larger than what was asked: the rest becomes a preallocation. */
int mb_new_prealloc(struct search *s);
/* A group preallocation was used: moves it to the list of its new size, or drops it. */
void mb_settle_prealloc(struct search *s);
/* Frees everything preallocated; true when there was something. */
bool mb_discard_some(struct mb *mb);

#endif
