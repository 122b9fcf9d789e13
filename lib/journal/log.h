/* SPDX-License-Identifier: BSD-2-Clause */
/* The log as bytes: its superblock, its ring of blocks, the checksums and tags in it. */
#ifndef JOURNAL_LOG_H
#define JOURNAL_LOG_H

#include "journal/jnl.h"

/* ---- super.c ---- */

/* Fills the numbers of j from j->super. */
void log_take_super(struct jnl *j);

/* Reads and proves the log's superblock and the runs. */
int log_open(struct jnl *j);

/* Turns on the features that the kernel would turn on; the log must be empty. */
void log_set_features(struct jnl *j);

/* Makes an empty log as jnl_format says. */
int log_format(struct jnl *j, uint32_t incompat, const uint8_t uuid[16], uint32_t fc_blocks);

/* Makes j->super say where the log begins (0: it is empty) and with which transaction; writes
 * nothing.  An empty log has no fast commits, and says so: older kernels can use it then. */
void log_set_place(struct jnl *j, uint32_t start, uint32_t sequence);

/* Writes j->super with this start (0: the log is empty) and sequence; flags as of a bio. */
int log_write_super(struct jnl *j, uint32_t start, uint32_t sequence, unsigned flags);

/* ---- ring.c ---- */

/* Byte of the device where log block lblk lies; *ret_run, if given, becomes the blocks from there
 * on that follow one another. */
uint64_t log_place(const struct jnl *j, uint32_t lblk, uint32_t *ret_run);

static inline uint32_t log_next(const struct jnl *j, uint32_t lblk)
{
	return lblk + 1 == j->last ? j->first : lblk + 1;
}

/* The runs cover [0, blocks) and lie inside the filesystem. */
int log_check_runs(const struct jnl *j);

/* ---- format.c ---- */

struct log_tag {
	uint64_t block;
	uint32_t flags, csum;
};

/* Bytes of one tag. */
unsigned log_tag_size(const struct jnl *j);
/* Bytes that checksums take at the end of descriptor and revoke blocks. */
unsigned log_tail_size(const struct jnl *j);

void log_put_tag(const struct jnl *j, uint8_t *at, const struct log_tag *tag);
void log_get_tag(const struct jnl *j, const uint8_t *at, struct log_tag *ret);

void log_put_header(uint8_t *block, enum jbd2_type type, uint32_t seq);

/* Checksum of a data block as its tag holds it: all 32 bits with v3, the low 16 with v2. */
uint32_t log_data_csum(const struct jnl *j, uint32_t seq, const uint8_t *data);

/* The checksum at the end of a descriptor or revoke block. */
void log_seal_tail(const struct jnl *j, uint8_t *block);
bool log_tail_ok(const struct jnl *j, const uint8_t *block);

/* The checksum of a commit block under v2 and v3. */
uint32_t log_commit_csum(const struct jnl *j, const uint8_t *block);

#endif
