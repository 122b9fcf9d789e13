/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where region writeback puts bytes: something with named rows of bytes, written at any offset.
 *
 * submit begins a write and op_done ends it, inside submit or reap or from another thread; writes
 * may end in any order, and two that are on their way never overlap.  All functions but submit and
 * reap finish what they do.  Nothing is told to a diag: callers say what it was about.
 */
#ifndef PAGECACHE_REGION_STORE_H
#define PAGECACHE_REGION_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;
struct rdata;
struct rknobs;
struct rop;

struct region_store {
	const struct region_store_ops *ops;
	uint64_t preferred; /* bytes; whole ones cost no reading */
	uint64_t max;       /* of one write */
	uint64_t room;      /* bytes that a file can have; 0: as many as a region allows */
	uint64_t trip_ns;   /* of a round trip, measured when it was opened */
};

/* A row of bytes; stores put their own behind it. */
struct rdata {
	struct region_store *store;
};

struct region_store_ops {
	/* flags: enum ek_region_file_flag, without truncation. */
	int (*open)(struct region_store *s, const char *name, unsigned flags, struct rdata **ret,
		    uint64_t *size);
	/* size: of the file, for stores that keep none of their own. */
	void (*release)(struct rdata *data, uint64_t size);
	int (*unlink)(struct region_store *s, const char *name);
	int (*rename)(struct region_store *s, const char *from, const char *to);
	void (*submit)(struct rop *op);
	/* Waits until min more writes have ended, or none is on its way. */
	void (*reap)(struct region_store *s, unsigned min);
	/* Zeros behind the end. */
	int (*read)(struct rdata *data, uint64_t off, void *buf, size_t len);
	int (*flush)(struct rdata *data);
	int (*flush_all)(struct region_store *s); /* released rows too */
	/* From byte stored on all is zero already. */
	int (*resize)(struct rdata *data, uint64_t size, uint64_t stored);
	/* -EOPNOTSUPP: the caller writes zeros. */
	int (*zero)(struct rdata *data, uint64_t off, uint64_t len);
	void (*close)(struct region_store *s);
};

int region_store_folder(const char *path, struct diag *d, struct region_store **ret);
int region_store_nbd(const char *uri, const struct rknobs *k, struct diag *d,
		     struct region_store **ret);

struct ek_ctx;
struct ek_region;
struct ek_region_options;

/* A region over a store that the caller made; closing the region closes it. */
int region_open_on(struct ek_ctx *ctx, struct region_store *s, const struct ek_region_options *opt,
		   struct ek_region **ret);

#endif
