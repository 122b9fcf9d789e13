/* SPDX-License-Identifier: BSD-2-Clause */
/* Read-ahead on its way: the device fills folios while the reader goes on. */
#ifndef PAGECACHE_READS_H
#define PAGECACHE_READS_H

#include <stdint.h>
#include <sys/uio.h>

struct folio;
struct mapping;
struct pagecache;
struct read_batch;

#define READ_VECTORS 256u /* of one request */

/* A batch for new folios of so many pages, or NULL: for more than a batch holds, without memory, or
 * when threads look at folios meanwhile.  Waits for the oldest batch when there are as many as
 * there may be. */
struct read_batch *reads_begin(struct pagecache *pc, uint32_t pages);

/* One more request: n vectors (up to READ_VECTORS) from byte at of the device, copied.  -ENOSPC
 * when the batch has no room; what was added stays. */
int reads_add(struct read_batch *b, uint64_t at, const struct iovec *iov, unsigned n);

/* Sends what was added; error is that of what was not, or 0.  The folios of pages [page, page + n)
 * of m that have memory belong to the device from now on (FOLIO_READING); when it is done they are
 * up to date, unless something failed: whoever comes to them then reads again, and hears of it. */
void reads_send(struct read_batch *b, struct mapping *m, uint32_t page, uint32_t n, int error);

/* Waits until the device is done with the folio, or with all.  An error is that of the waiting: the
 * folio is still the device's. */
int reads_wait_for(struct pagecache *pc, const struct folio *f);
void reads_wait(struct pagecache *pc);

/* Waits, and frees the batches. */
void reads_close(struct pagecache *pc);

#endif
