/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data on its way out: bios of one writeback step, and what must happen when they are done -
 * unwritten extents become written, under the handle that was reserved before the I/O began.
 */
#ifndef PAGECACHE_IOEND_H
#define PAGECACHE_IOEND_H

#include <sys/uio.h>

#include "pagecache/pagecache.h"

#define BIO_SEGMENTS 256u

struct byte_run {
	uint32_t lblk, len; /* blocks */
};

/* One per mapped extent that needs conversion. */
struct ioend {
	struct ek_inode *inode;
	struct handle *reserved; /* NULL: converts under an ordinary handle */
	struct byte_run *runs;
	size_t count, cap;
};

/* The open bio of a writeback call. */
struct data_bio {
	struct pagecache *pc;
	unsigned flags;
	uint64_t off, len; /* bytes */
	struct iovec iov[BIO_SEGMENTS];
	struct folio *folio[BIO_SEGMENTS];
	unsigned count;
	int error; /* of what could not be sent; nothing is after that */
};

/* Adds blocks [from, from + n) of the folio, which lie at pblk. */
int data_bio_add(struct data_bio *b, struct folio *f, uint32_t from, uint32_t n, ek_pblk pblk);
/* Sends what is open: 0 when that and all before it is on its way. */
int data_bio_submit(struct data_bio *b);

int ioend_add(struct ioend *e, uint32_t lblk, uint32_t len);
/* All of it is on its way: converts and frees what the ioend holds. */
int ioend_finish(struct task *t, struct ioend *e);
void ioend_cancel(struct ioend *e);
/* Under a handle: a run becomes written, in as many steps as the tree has extents there. */
int ioend_convert(struct task *t, struct ek_inode *inode, const struct byte_run *r);

#endif
