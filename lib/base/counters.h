/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the engine did, counted where the kernel has a tracepoint, under the tracepoint's name, so
 * that a replay and a kernel run of the same trace are compared row by row.  Rows without a twin in
 * the kernel begin with "ek.".
 *
 * One struct counters per open image; the image owns it and every layer below adds to it.
 */
#ifndef BASE_COUNTERS_H
#define BASE_COUNTERS_H

#include <stdint.h>

#define COUNTER_LIST(X)                                                    \
	X(DA_WRITE_BEGIN, "event.ext4_da_write_begin")                     \
	X(DA_WRITE_END, "event.ext4_da_write_end")                         \
	X(WRITE_BEGIN, "event.ext4_write_begin")                           \
	X(WRITE_END, "event.ext4_write_end")                               \
	X(JOURNALLED_WRITE_END, "event.ext4_journalled_write_end")         \
	X(DA_RESERVE_SPACE, "event.ext4_da_reserve_space")                 \
	X(DA_RELEASE_SPACE, "event.ext4_da_release_space")                 \
	X(DA_UPDATE_RESERVE_SPACE, "event.ext4_da_update_reserve_space")   \
	X(ES_INSERT_DELAYED, "event.ext4_es_insert_delayed_extent")        \
	X(ES_INSERT, "event.ext4_es_insert_extent")                        \
	X(ES_REMOVE, "event.ext4_es_remove_extent")                        \
	X(ES_LOOKUP, "event.ext4_es_lookup_extent_enter")                  \
	X(ES_FIND_RANGE, "event.ext4_es_find_extent_range_enter")          \
	X(WRITEPAGES, "event.ext4_writepages")                             \
	X(WRITEPAGES_RESULT, "event.ext4_writepages_result")               \
	X(DA_WRITE_FOLIOS, "event.ext4_da_write_folios_start")             \
	X(DA_WRITE_PAGES_EXTENT, "event.ext4_da_write_pages_extent")       \
	X(EXT_MAP_BLOCKS, "event.ext4_ext_map_blocks_enter")               \
	X(IND_MAP_BLOCKS, "event.ext4_ind_map_blocks_enter")               \
	X(EXT_HANDLE_UNWRITTEN, "event.ext4_ext_handle_unwritten_extents") \
	X(EXT_CONVERT_INIT, "event.ext4_ext_convert_to_initialized_enter") \
	X(EXT_REMOVE_SPACE, "event.ext4_ext_remove_space")                 \
	X(EXT_RM_LEAF, "event.ext4_ext_rm_leaf")                           \
	X(EXT_RM_IDX, "event.ext4_ext_rm_idx")                             \
	X(REMOVE_BLOCKS, "event.ext4_remove_blocks")                       \
	X(REQUEST_BLOCKS, "event.ext4_request_blocks")                     \
	X(ALLOCATE_BLOCKS, "event.ext4_allocate_blocks")                   \
	X(FREE_BLOCKS, "event.ext4_free_blocks")                           \
	X(MBALLOC_ALLOC, "event.ext4_mballoc_alloc")                       \
	X(MBALLOC_PREALLOC, "event.ext4_mballoc_prealloc")                 \
	X(MB_NEW_INODE_PA, "event.ext4_mb_new_inode_pa")                   \
	X(MB_NEW_GROUP_PA, "event.ext4_mb_new_group_pa")                   \
	X(MB_RELEASE_INODE_PA, "event.ext4_mb_release_inode_pa")           \
	X(MB_RELEASE_GROUP_PA, "event.ext4_mb_release_group_pa")           \
	X(DISCARD_PREALLOCATIONS, "event.ext4_discard_preallocations")     \
	X(MARK_INODE_DIRTY, "event.ext4_mark_inode_dirty")                 \
	X(REQUEST_INODE, "event.ext4_request_inode")                       \
	X(ALLOCATE_INODE, "event.ext4_allocate_inode")                     \
	X(FREE_INODE, "event.ext4_free_inode")                             \
	X(EVICT_INODE, "event.ext4_evict_inode")                           \
	X(DROP_INODE, "event.ext4_drop_inode")                             \
	X(UNLINK, "event.ext4_unlink_enter")                               \
	X(TRUNCATE, "event.ext4_truncate_enter")                           \
	X(BEGIN_ORDERED_TRUNCATE, "event.ext4_begin_ordered_truncate")     \
	X(FALLOCATE, "event.ext4_fallocate_enter")                         \
	X(PUNCH_HOLE, "event.ext4_punch_hole")                             \
	X(ZERO_RANGE, "event.ext4_zero_range")                             \
	X(COLLAPSE_RANGE, "event.ext4_collapse_range")                     \
	X(INSERT_RANGE, "event.ext4_insert_range")                         \
	X(ALLOC_DA_BLOCKS, "event.ext4_alloc_da_blocks")                   \
	X(SYNC_FILE, "event.ext4_sync_file_enter")                         \
	X(SYNC_FS, "event.ext4_sync_fs")                                   \
	X(INVALIDATE_FOLIO, "event.ext4_invalidate_folio")                 \
	X(JOURNAL_START_INODE, "event.ext4_journal_start_inode")           \
	X(JOURNAL_START_SB, "event.ext4_journal_start_sb")                 \
	X(JOURNAL_START_RESERVED, "event.ext4_journal_start_reserved")     \
	X(HANDLE_START, "event.jbd2_handle_start")                         \
	X(HANDLE_EXTEND, "event.jbd2_handle_extend")                       \
	X(HANDLE_RESTART, "event.jbd2_handle_restart")                     \
	X(HANDLE_STATS, "event.jbd2_handle_stats")                         \
	X(RUN_STATS, "event.jbd2_run_stats")                               \
	X(START_COMMIT, "event.jbd2_start_commit")                         \
	X(END_COMMIT, "event.jbd2_end_commit")                             \
	X(SUBMIT_INODE_DATA, "event.jbd2_submit_inode_data")               \
	X(CHECKPOINT_STATS, "event.jbd2_checkpoint_stats")                 \
	X(DROP_TRANSACTION, "event.jbd2_drop_transaction")                 \
	X(UPDATE_LOG_TAIL, "event.jbd2_update_log_tail")                   \
	X(WRITE_SUPERBLOCK, "event.jbd2_write_superblock")                 \
	X(DIRTY_FOLIO, "event.writeback_dirty_folio")                      \
	X(WRITEBACK_SINGLE_INODE, "event.writeback_single_inode")          \
	X(BIO_QUEUE, "event.block_bio_queue")                              \
	X(RQ_ISSUE, "event.block_rq_issue")                                \
	X(ALLOCATED_BLOCKS_DATA, "sum.allocated_blocks_data")              \
	X(WP_EXTENT_BLOCKS, "sum.wp_extent_blocks")                        \
	X(HS_REQUESTED, "sum.jbd2_hs_requested")                           \
	X(HS_DIRTIED, "sum.jbd2_hs_dirtied")                               \
	X(TX_HANDLES, "sum.jbd2_tx_handles")                               \
	X(TX_BLOCKS, "sum.jbd2_tx_blocks")                                 \
	X(TX_BLOCKS_LOGGED, "sum.jbd2_tx_blocks_logged")                   \
	X(BIO_W, "sum.bio_W")                                              \
	X(BIO_W_SECT, "sum.bio_W_sect")                                    \
	X(BIO_WS, "sum.bio_WS")                                            \
	X(BIO_WS_SECT, "sum.bio_WS_sect")                                  \
	X(BIO_WM, "sum.bio_WM")                                            \
	X(BIO_WM_SECT, "sum.bio_WM_sect")                                  \
	X(BIO_WSM, "sum.bio_WSM")                                          \
	X(BIO_WSM_SECT, "sum.bio_WSM_sect")                                \
	X(BIO_FWS, "sum.bio_FWS")                                          \
	X(BIO_FWFSM, "sum.bio_FWFSM")                                      \
	X(BIO_FWFSM_SECT, "sum.bio_FWFSM_sect")                            \
	X(DISK_WR_IOS, "disk.run.wr_ios")                                  \
	X(DISK_WR_MERGES, "disk.run.wr_merges")                            \
	X(DISK_WR_SECT, "disk.run.wr_sect")                                \
	X(DISK_RD_IOS, "disk.run.rd_ios")                                  \
	X(DISK_RD_SECT, "disk.run.rd_sect")                                \
	X(DISK_FLUSH_IOS, "disk.run.flush_ios")                            \
	X(WRITE_CALLS, "ek.write_calls")                                   \
	X(WRITE_BYTES, "ek.write_bytes")                                   \
	X(TS_UPDATES, "ek.timestamp_updates")                              \
	X(JOURNAL_START_REQUESTED, "ek.journal_start_requested")           \
	X(NESTED_JOINS, "ek.nested_joins")                                 \
	X(MARK_REQUESTS, "ek.mark_requests")                               \
	X(INODE_SERIALISE, "ek.inode_serialise")                           \
	X(INODE_CSUM, "ek.inode_csum")                                     \
	X(FIRST_DIRTY_IN_TID, "ek.first_dirty_in_tid")                     \
	X(RESERVE_BLOCKS, "ek.reserved_blocks")                            \
	X(RELEASE_BLOCKS, "ek.released_blocks")                            \
	X(CLAIM_BLOCKS, "ek.claimed_blocks")                               \
	X(FOLIOS_ADDED, "ek.folios_added")                                 \
	X(BUFFERS_WALKED, "ek.buffers_walked")                             \
	X(PAGE_LOCKS, "ek.page_locks")                                     \
	X(READAHEAD_FOLIOS, "ek.readahead_folios")                         \
	X(THROTTLES, "ek.throttles")                                       \
	X(RANGE_MAPS, "ek.range_maps")                                     \
	X(BUDGET_OVERRUNS, "ek.budget_overruns")                           \
	X(BUDGET_OVERRUN_PAGES, "ek.budget_overrun_pages")

enum counter {
#define X(id, name) COUNTER_##id,
	COUNTER_LIST(X)
#undef X
	    COUNTER_COUNT
};

/* Where an inode was marked dirty; the kernel prints the caller's symbol. */
#define MARK_LIST(X)                          \
	X(WRITE_END, "write_end")             \
	X(TIMESTAMP, "timestamp")             \
	X(QUOTA_CLAIM, "quota_claim")         \
	X(QUOTA_GIVE_BACK, "quota_give_back") \
	X(EXT_INSERT, "ext_insert")           \
	X(IND_SPLICE, "ind_splice")           \
	X(EXT_CONVERT, "ext_convert")         \
	X(CONVERT_END, "convert_end")         \
	X(DISKSIZE, "disksize")               \
	X(DIR, "dir")                         \
	X(NEW_INODE, "new_inode")             \
	X(LINK, "link")                       \
	X(TRUNCATE, "truncate")               \
	X(SETATTR, "setattr")                 \
	X(XATTR, "xattr")                     \
	X(FALLOCATE, "fallocate")             \
	X(EVICT, "evict")                     \
	X(GENERIC_END, "generic_end")

enum mark_site {
#define X(id, name) MARK_##id,
	MARK_LIST(X)
#undef X
	    MARK_COUNT
};

/* Types of journal handles, numbered as jbd2 prints them. */
enum handle_type {
	HANDLE_MISC,
	HANDLE_INODE,
	HANDLE_WRITE_PAGE,
	HANDLE_MAP_BLOCKS,
	HANDLE_DIR,
	HANDLE_TRUNCATE,
	HANDLE_QUOTA,
	HANDLE_RESIZE,
	HANDLE_MIGRATE,
	HANDLE_MOVE_EXTENTS,
	HANDLE_XATTR,
	HANDLE_EXT_CONVERT,
	HANDLE_TYPES
};

struct counters {
	uint64_t v[COUNTER_COUNT];
	uint64_t marks[MARK_COUNT];     /* by site; their sum is event.ext4_mark_inode_dirty */
	uint64_t handles[HANDLE_TYPES]; /* started, by type; their sum is event.jbd2_handle_start */
	uint64_t folio_orders[10];      /* folios added, by order */
	uint64_t extent_lengths[16];    /* extents mapped at writeback, by floor(log2(blocks)) */
};

static inline void count(struct counters *c, enum counter which, uint64_t n)
{
	c->v[which] += n;
}

/* What another thread counted for itself is added. */
void counters_add(struct counters *c, const struct counters *more);

extern const char *const counter_names[COUNTER_COUNT];
extern const char *const mark_names[MARK_COUNT];
extern const char *const handle_names[HANDLE_TYPES];

#endif
