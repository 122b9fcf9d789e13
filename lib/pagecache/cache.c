/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cache itself: its folios and mappings, and who is dirty.  Clean folios wait in the order in
 * which they became clean; backing.c takes memory from them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/bio.h"
#include "pagecache/generation.h"
#include "pagecache/hooks.h"
#include "pagecache/pagecache.h"

#define RA_PAGES       640u
#define RA_REQUEST     320u
#define MAX_ORDER      9u
#define DEFAULT_MEMORY ((size_t)1 << 30)

static void configure(struct pagecache *pc, const struct pc_config *cfg)
{
	unsigned bits = pc->img->geom.block_bits;
	size_t memory = cfg->memory != 0 ? cfg->memory : DEFAULT_MEMORY;
	uint64_t pages = ROUND_UP(MAX(memory, CHUNK_BYTES), CHUNK_BYTES) / PAGE_BYTES;

	pc->limit = pages;
	/* Writers alone keep about this much in use: what is dirty and what is on its way out. */
	pc->backed_goal = cfg->backed != 0 ? cfg->backed / PAGE_BYTES : pages / 8;
	pc->background_pages = cfg->background_pages != 0 ? cfg->background_pages : pages / 10;
	pc->dirty_pages = cfg->dirty_pages != 0 ? cfg->dirty_pages : pages / 5;
	pc->periodic_ns = (cfg->periodic_ms != 0 ? cfg->periodic_ms : 5000u) * 1000000ull;
	pc->expire_ns = (cfg->expire_ms != 0 ? cfg->expire_ms : 30000u) * 1000000ull;
	pc->page_blocks_bits = bits < PAGE_BITS ? PAGE_BITS - bits : 0;
	pc->min_order = bits > PAGE_BITS ? bits - PAGE_BITS : 0;
	/* A folio holds at most 2,048 blocks. */
	pc->max_order = pc->policy->folio == FOLIO_S0 ? 0 : MIN(MAX_ORDER, 11 + bits - PAGE_BITS);
	pc->max_order = MAX(pc->max_order, pc->min_order);
	/* A window is a small part of the cache, or it would push itself out. */
	pc->ra_pages = (uint32_t)MIN(cfg->ra_pages != 0 ? cfg->ra_pages : RA_PAGES, pc->limit / 8);
	pc->ra_pages = MAX(pc->ra_pages, 1u << pc->min_order);
	pc->ra_request = cfg->ra_request != 0 ? cfg->ra_request : RA_REQUEST;
}

/* What the host charges for the first use of memory is paid here. */
static int populate(struct pagecache *pc, struct diag *d)
{
	pc->backed_goal = pc->limit;
	while (fpool_pages(pc->pool) < pc->limit) {
		if (fpool_grow(pc->pool) < 0)
			return diag_set(d, -ENOMEM, "page cache: no memory for %llu pages",
					(unsigned long long)pc->limit);
	}
	return 0;
}

int pc_open(struct ek_image *img, struct task *task, const struct pc_config *cfg, struct diag *d,
	    struct pagecache **ret)
{
	struct pagecache *pc = mem_zero(sizeof(*pc));
	int rc;

	if (pc == NULL)
		return diag_set(d, -ENOMEM, "out of memory for the page cache");
	pc->img = img;
	pc->task = task;
	pc->policy = img->opts.policy;
	pc->faults = cfg->faults;
	pc->pace = cfg->pace;
	pc->paced = cfg->pace.extent_ns != 0 || cfg->pace.page_ns != 0;
	pc->generation = generation_of(pc->policy->write);
	pc->overwrites = pc->generation->begin == NULL && policy_delays(pc->policy) &&
			 pc->policy->folio != FOLIO_S2;
	pc->counters = &img->counters;
	pc->records.size = sizeof(struct mapping);
	list_init(&pc->mappings);
	list_init(&pc->dirty);
	list_init(&pc->clean);
	list_init(&pc->backed);
	configure(pc, cfg);
	rc = flusher_open(pc, d);
	if (rc == 0)
		rc = fpool_open(pc->limit * PAGE_BYTES, d, &pc->pool);
	if (rc == 0 && cfg->populate)
		rc = populate(pc, d);
	if (rc < 0) {
		fpool_close(pc->pool);
		free(pc->run);
		free(pc);
		return rc;
	}
	hooks_install(pc);
	*ret = pc;
	return 0;
}

static void mapping_free(struct mapping *m)
{
	struct folio *f;

	flusher_forget(m);
	while ((f = mapping_next(m, TAG_HEAD, 0, UINT32_MAX)) != NULL)
		folio_drop(f);
	list_remove(&m->wb);
	list_remove(&m->all);
	mapping_free_table(m);
	m->inode->mapping = NULL;
	pthread_mutex_destroy(&m->lock);
	pool_give(&m->pc->records, m);
}

void pc_close(struct pagecache *pc)
{
	if (pc == NULL)
		return;
	reads_close(pc);
	bioq_drain(pc->img->bioq);
	while (!list_empty(&pc->mappings))
		mapping_free(list_first(&pc->mappings, struct mapping, all));
	hooks_remove(pc);
	while (pc->free_folios != NULL) {
		struct folio *f = pc->free_folios;

		pc->free_folios = (struct folio *)(void *)f->map;
		free(f);
	}
	pool_end(&pc->records);
	fpool_close(pc->pool);
	free(pc->run);
	free(pc);
}

struct pagecache *pc_of(const struct ek_inode *inode)
{
	return inode->img->data.ctx;
}

struct mapping *mapping_of(struct ek_inode *inode)
{
	struct pagecache *pc = pc_of(inode);
	struct mapping *m = inode->mapping;
	pthread_mutexattr_t again; /* a commit inside a writeback of the file comes back to it */

	if (m != NULL)
		return m;
	m = pool_take(&pc->records);
	if (m == NULL) {
		diag_set(&inode->img->diag, -ENOMEM, "out of memory for a mapping");
		return NULL;
	}
	m->pc = pc;
	m->inode = inode;
	pthread_mutexattr_init(&again);
	pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&m->lock, &again);
	pthread_mutexattr_destroy(&again);
	list_init(&m->wb);
	list_append(&pc->mappings, &m->all);
	inode->mapping = m;
	return m;
}

void mapping_evict(struct ek_inode *inode)
{
	if (inode->mapping != NULL)
		mapping_free(inode->mapping);
}

/* ---- dirty inodes ---- */

void mapping_note_dirty(struct mapping *m, unsigned why)
{
	const struct ek_image *img = m->pc->img;

	m->wb_state |= why;
	if (!list_empty(&m->wb))
		return;
	m->dirtied_when = (uint64_t)img->now.sec * 1000000000u + img->now.nsec;
	list_append(&m->pc->dirty, &m->wb);
}

/* ---- folios ---- */

static struct folio *record_take(struct pagecache *pc)
{
	struct folio *f = pc->free_folios;

	if (f == NULL)
		return malloc(sizeof(*f));
	pc->free_folios = (struct folio *)(void *)f->map;
	return f;
}

static void record_give(struct pagecache *pc, struct folio *f)
{
	f->map = (struct mapping *)(void *)pc->free_folios;
	pc->free_folios = f;
}

static int state_init(struct folio *f)
{
	size_t words = (f->blocks + 63u) / 64;

	memset(&f->state, 0, sizeof(f->state));
	if (words <= 1)
		return 0;
	f->state.words = calloc(BLOCK_STATES * words, sizeof(uint64_t));
	if (f->state.words == NULL)
		return -ENOMEM;
	f->flags |= FOLIO_HUGE_STATE;
	return 0;
}

struct folio *folio_make(struct mapping *m, uint32_t page, unsigned order, int *rc)
{
	struct pagecache *pc = m->pc;
	struct folio *f = record_take(pc);
	uint8_t *data = f != NULL ? backing_take(pc, order) : NULL;

	/* Free memory may be in pieces. */
	while (f != NULL && data == NULL && order > pc->min_order)
		data = backing_take(pc, --order);
	if (f != NULL && data == NULL) {
		record_give(pc, f);
		f = NULL;
	}
	if (f == NULL) {
		*rc = diag_set(&pc->img->diag, -ENOMEM,
			       "page cache is full: %llu pages, all dirty or in use",
			       (unsigned long long)pc->resident);
		return NULL;
	}
	*f = (struct folio){.map = m, .data = data, .index = page, .order = (uint8_t)order};
	f->blocks = (uint16_t)(folio_bytes(f) >> pc_block_bits(pc));
	list_init(&f->lru);
	list_init(&f->backed);
	if (state_init(f) < 0 || mapping_insert(m, f) < 0) {
		if ((f->flags & FOLIO_HUGE_STATE) != 0)
			free(f->state.words);
		fpool_give(pc->pool, data, order);
		record_give(pc, f);
		*rc = diag_set(&pc->img->diag, -ENOMEM, "out of memory for a folio");
		return NULL;
	}
	pc->resident += folio_pages(f);
	list_append(&pc->clean, &f->lru);
	list_append(&pc->backed, &f->backed);
	count(pc->counters, COUNTER_FOLIOS_ADDED, 1);
	pc->counters->folio_orders[order]++;
	return f;
}

/* The record goes, the memory stays. */
static void folio_unmake(struct pagecache *pc, struct folio *f)
{
	if ((f->flags & FOLIO_HUGE_STATE) != 0)
		free(f->state.words);
	record_give(pc, f);
}

static void folio_free(struct pagecache *pc, struct folio *f)
{
	if (f->data != NULL)
		fpool_give(pc->pool, f->data, f->order);
	pc->resident -= folio_pages(f);
	folio_unmake(pc, f);
}

/* The part of f that begins at page, as a folio of its own: f's memory there, and what is known of
 * the whole. */
static struct folio *piece_of(const struct folio *f, uint32_t page, unsigned order)
{
	struct pagecache *pc = f->map->pc;
	struct folio *part = record_take(pc);

	if (part == NULL)
		return NULL;
	*part = (struct folio){.map = f->map, .index = page, .order = (uint8_t)order};
	part->flags = f->flags & (FOLIO_UPTODATE | FOLIO_ACTIVE);
	part->blocks = (uint16_t)(folio_bytes(part) >> pc_block_bits(pc));
	list_init(&part->lru);
	list_init(&part->backed);
	if (state_init(part) < 0) {
		record_give(pc, part);
		return NULL;
	}
	if ((part->flags & FOLIO_UPTODATE) != 0)
		folio_set(part, BLOCK_UPTODATE, 0, part->blocks);
	if (f->data != NULL)
		part->data = f->data + (size_t)(page - f->index) * PAGE_BYTES;
	return part;
}

static void split_off(struct folio *f, struct folio *part)
{
	struct mapping *m = f->map;

	mapping_insert(m, part); /* the chunk is there */
	list_append(&m->pc->clean, &part->lru);
	if (part->data != NULL)
		list_append(&m->pc->backed, &part->backed);
}

struct folio *folio_split(struct folio *f, uint32_t page)
{
	struct mapping *m = f->map;
	struct folio *part[POOL_ORDERS];
	unsigned order = f->order, n = 0;
	uint32_t at = f->index;

	assert((f->flags & FOLIO_DIRTY) == 0 && f->writes == 0);
	while (order > m->pc->min_order && n < POOL_ORDERS - 1) {
		bool upper = page >= at + (1u << --order);

		part[n] = piece_of(f, upper ? at : at + (1u << order), order);
		at += upper ? 1u << order : 0;
		if (part[n++] == NULL)
			break;
	}
	if (n == 0 || part[n - 1] != NULL)
		part[n++] = piece_of(f, at, order);
	if (part[n - 1] == NULL) {
		while (--n > 0)
			folio_unmake(m->pc, part[n - 1]);
		return NULL;
	}
	list_remove(&f->lru);
	list_remove(&f->backed);
	mapping_remove(m, f);
	for (unsigned i = 0; i < n; i++)
		split_off(f, part[i]);
	folio_unmake(m->pc, f);
	return part[n - 1];
}

void folio_drop(struct folio *f)
{
	struct pagecache *pc = f->map->pc;

	if ((f->flags & FOLIO_DIRTY) != 0)
		folio_clear_dirty(f);
	list_remove(&f->lru);
	list_remove(&f->backed);
	mapping_remove(f->map, f);
	f->flags |= FOLIO_DROPPED;
	if (f->writes == 0)
		folio_free(pc, f);
	else
		f->map = (struct mapping *)(void *)pc; /* only for the completion */
}

void folio_end_write(struct folio *f)
{
	if (--f->writes == 0 && (f->flags & FOLIO_DROPPED) != 0)
		folio_free((struct pagecache *)(void *)f->map, f);
}

void folio_mark_dirty(struct folio *f)
{
	struct mapping *m = f->map;

	if ((f->flags & FOLIO_DIRTY) != 0)
		return;
	f->flags |= FOLIO_DIRTY;
	list_remove(&f->lru);
	list_remove(&f->backed);
	mapping_tag(m, f, TAG_DIRTY);
	m->dirty_pages += folio_pages(f);
	m->pc->dirty_total += folio_pages(f);
	count(m->pc->counters, COUNTER_DIRTY_FOLIO, 1);
	mapping_note_dirty(m, WB_PAGES);
}

void folio_clear_dirty(struct folio *f)
{
	struct mapping *m = f->map;

	f->flags &= (uint8_t)~FOLIO_DIRTY;
	mapping_untag(m, f, TAG_DIRTY);
	m->dirty_pages -= folio_pages(f);
	m->pc->dirty_total -= folio_pages(f);
	list_append(&m->pc->clean, &f->lru);
	list_append(&m->pc->backed, &f->backed);
}

int pc_wait(struct pagecache *pc)
{
	return bioq_drain(pc->img->bioq);
}
