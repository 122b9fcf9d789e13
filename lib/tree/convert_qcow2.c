/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A qcow2 image of version 3 with clusters of 64 KiB, written from front to back:
 *
 *	cluster 0    the header, written last
 *	then         clusters of data in the image's order; a table of level 2 behind the last one
 *it names at the end   the table of level 1, the blocks of reference counts, the table of those
 *
 * Every cluster is used once, so each reference count is 1 and each entry has the bit that says so.
 * Clusters of zeros are left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "tree/convert.h"

#define BITS     16u
#define CLUSTER  ((size_t)1 << BITS)
#define L2_COUNT (CLUSTER / 8)                  /* entries of a table of level 2 */
#define L2_BYTES ((uint64_t)CLUSTER * L2_COUNT) /* of the image that one stands for */
#define COUNTS   (CLUSTER / 2)                  /* reference counts in a block */
#define ONCE     ((uint64_t)1 << 63)            /* the reference count is 1 */
#define L1_MAX   ((uint64_t)4 << 20)            /* entries that readers take */
#define SECTOR   ((uint64_t)512)                /* readers pass over a part of one at the end */
#define HEADER   104u

struct header {
	be32 magic, version;
	be64 backing;
	be32 backing_len, cluster_bits;
	be64 size;
	be32 crypt, l1_size;
	be64 l1, refcounts;
	be32 refcount_clusters, snapshots;
	be64 snapshot_table, incompatible, compatible, autoclear;
	be32 refcount_order, length;
};

_Static_assert(sizeof(struct header) == HEADER, "as on disk");

struct qcow2_form {
	struct form_file file;
	be64 *l1, *l2; /* l2: of the table number table */
	uint64_t l1_count, table;
	bool open; /* l2 has entries */
};

static int qcow2_begin(struct form_file *f)
{
	struct qcow2_form *q = (struct qcow2_form *)f;

	q->l1_count = f->size / L2_BYTES + (f->size % L2_BYTES != 0);
	if (q->l1_count > L1_MAX)
		return diag_set(f->diag, -EFBIG, "%s: too large for qcow2: %llu bytes", f->name,
				(unsigned long long)f->size);
	q->l1 = mem_array((size_t)q->l1_count + 1, sizeof(be64), MEM_CAP, f->diag);
	q->l2 = mem_array(L2_COUNT, sizeof(be64), MEM_CAP, f->diag);
	f->at = CLUSTER;
	return q->l1 == NULL || q->l2 == NULL ? -ENOMEM : 0;
}

static int end_table(struct qcow2_form *q)
{
	if (!q->open)
		return 0;
	q->open = false;
	q->l1[q->table] = be64_make(q->file.at | ONCE);
	return form_add(&q->file, q->l2, CLUSTER);
}

static int add_cluster(struct qcow2_form *q, uint64_t number, const uint8_t *p, size_t len)
{
	uint64_t table = number / L2_COUNT;
	int rc = q->open && table != q->table ? end_table(q) : 0;

	if (rc < 0)
		return rc;
	if (!q->open) {
		memset(q->l2, 0, CLUSTER);
		q->open = true;
		q->table = table;
	}
	q->l2[number % L2_COUNT] = be64_make(q->file.at | ONCE);
	rc = form_add(&q->file, p, len);
	q->file.at = ROUND_UP(q->file.at, (uint64_t)CLUSTER);
	return rc;
}

static int qcow2_data(struct form_file *f, uint64_t off, const uint8_t *buf, size_t len)
{
	int rc = 0;

	for (size_t at = 0; at < len && rc == 0; at += CLUSTER) {
		size_t n = MIN(len - at, CLUSTER);

		if (!mem_is_zero(buf + at, n))
			rc = add_cluster((struct qcow2_form *)f, (off + at) / CLUSTER, buf + at, n);
	}
	return rc;
}

static int qcow2_zeros(struct form_file *f, uint64_t off, uint64_t len, bool unused)
{
	return 0;
}

/* How many blocks of counts, and clusters of their table, count themselves and used others. */
static void size_counts(uint64_t used, uint64_t *ret_blocks, uint64_t *ret_table)
{
	uint64_t blocks = 0, table = 0, all;

	do {
		all = used + blocks + table;
		blocks = DIV_UP(all, COUNTS);
		table = DIV_UP(blocks * 8, CLUSTER);
	} while (all != used + blocks + table);
	*ret_blocks = blocks;
	*ret_table = table;
}

/* Blocks of counts, then the table that names them. */
static int add_counts(struct qcow2_form *q, uint64_t blocks, uint64_t table, uint64_t all)
{
	uint64_t start = q->file.at;
	be16 *counts = malloc(CLUSTER);
	be64 *names =
	    mem_array((size_t)(table * CLUSTER / 8), sizeof(*names), MEM_CAP, q->file.diag);
	int rc = counts != NULL && names != NULL ? 0 : -ENOMEM;

	for (uint64_t b = 0; b < blocks && rc == 0; b++) {
		for (uint64_t i = 0; i < COUNTS; i++)
			counts[i] = be16_make(b * COUNTS + i < all);
		names[b] = be64_make(start + b * CLUSTER);
		rc = form_add(&q->file, counts, CLUSTER);
	}
	if (rc == 0)
		rc = form_add(&q->file, names, (size_t)(table * CLUSTER));
	free(counts);
	free(names);
	return rc;
}

static int add_header(struct qcow2_form *q, uint64_t l1, uint64_t table, uint64_t clusters)
{
	struct header h = {
	    .magic = be32_make(0x514649fb),
	    .version = be32_make(3),
	    .cluster_bits = be32_make(BITS),
	    .size = be64_make(ROUND_UP(q->file.size, SECTOR)),
	    .l1_size = be32_make((uint32_t)q->l1_count),
	    .l1 = be64_make(l1),
	    .refcounts = be64_make(table),
	    .refcount_clusters = be32_make((uint32_t)clusters),
	    .refcount_order = be32_make(4),
	    .length = be32_make(HEADER),
	};

	return form_put(&q->file, 0, &h, sizeof(h));
}

static int qcow2_finish(struct form_file *f)
{
	struct qcow2_form *q = (struct qcow2_form *)f;
	uint64_t l1, start, blocks, table;
	int rc = end_table(q);

	l1 = f->at;
	if (rc == 0)
		rc = form_add(f, q->l1, (size_t)q->l1_count * 8);
	f->at = ROUND_UP(f->at, (uint64_t)CLUSTER);
	start = f->at;
	size_counts(start / CLUSTER, &blocks, &table);
	if (rc == 0)
		rc = add_counts(q, blocks, table, start / CLUSTER + blocks + table);
	return rc < 0 ? rc : add_header(q, l1, start + blocks * CLUSTER, table);
}

static void qcow2_free(struct form_file *f)
{
	struct qcow2_form *q = (struct qcow2_form *)f;

	free(q->l1);
	free(q->l2);
}

const struct form_ops form_qcow2 = {
    .bytes = sizeof(struct qcow2_form),
    .begin = qcow2_begin,
    .data = qcow2_data,
    .zeros = qcow2_zeros,
    .finish = qcow2_finish,
    .free = qcow2_free,
};
