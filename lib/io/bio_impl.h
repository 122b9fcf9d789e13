/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of a queue of bios: bio.c takes, sorts and merges, bio_request.c sends and calls back.
 */
#ifndef IO_BIO_IMPL_H
#define IO_BIO_IMPL_H

#include <stdbool.h>

#include "base/counters.h"
#include "base/tap.h"
#include "io/bio.h"
#include "io/dev.h"
#include "io/plug.h"

#define BIO_DEPTH  32u /* requests in flight */
#define BIO_SECTOR 512u

struct bio {
	uint64_t off, len;
	size_t vec; /* index of the first vector */
	unsigned vecs;
	unsigned order; /* of queueing, within the batch */
	bio_done *done;
	void *ctx;
};

struct end {
	bio_done *done;
	void *ctx;
	int result;
};

struct request {
	struct dev_req dev;
	struct bioq *q;
	bool busy;
	struct iovec *iov;
	size_t iov_cap;
	struct end *ends;
	size_t end_count, end_cap;
};

struct bioq {
	struct dev *dev;
	struct counters *counters, own;
	const struct tap *tap; /* or NULL */
	struct diag *diag;
	unsigned plugs;
	uint64_t rounds;  /* times that a first plug was taken */
	struct plug plug; /* counts requests as Linux would make them */
	int error;        /* the first since the last drain */
	struct bio *bios;
	size_t count, cap;
	struct iovec *vecs;
	size_t vec_count, vec_cap;
	uint64_t bytes; /* that wait */
	struct request requests[BIO_DEPTH];
	unsigned busy;                    /* requests, those of the batch included */
	struct dev_req *batch[BIO_DEPTH]; /* not handed to the device yet */
	unsigned batched;
	struct end *ends; /* [end_first, end_count) have happened, callbacks to come */
	size_t end_first, end_count, end_cap;
	size_t expected; /* callbacks not called yet: so many fit into ends */
	bool calling;
};

/* Sends n bios that follow one another as one request of len bytes in vecs pieces. */
void bio_send(struct bioq *q, const struct bio *b, size_t n, uint64_t len, size_t vecs);

/* Hands everything sent to the device. */
void bio_submit(struct bioq *q);

/* Waits for all requests. */
void bio_wait(struct bioq *q);

/* Room for one callback more, before anything can no longer be refused. */
int bio_expect_end(struct bioq *q, bio_done *done);
void bio_note_end(struct bioq *q, bio_done *done, void *ctx, int result);

/* Calls back for what has ended.  Callbacks may queue and drain; what ends meanwhile is left to the
 * outer call, unless nested. */
void bio_call_back(struct bioq *q, bool nested);

#endif
