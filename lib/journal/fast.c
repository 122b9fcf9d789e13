/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast-commit area, read in two passes.
 *
 * Records fill block after block.  They count up to a tail record whose checksum covers everything
 * since the tail before; what follows the last sound tail was being written when the power went.
 * The head names the transaction that the records would have become part of: another one is left
 * from earlier use.  So the first pass only finds where the last sound tail ends.  The second takes
 * the records before it apart, and there every fault is damage, since the checksum was right.
 */
#include "journal/fast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/mem.h"
#include "base/name.h"
#include "journal/replay.h"

#define HEADER    ((uint32_t)sizeof(struct jbd2_fc_tl))
#define INODE_MIN 128u

struct scan {
	uint32_t tid; /* the transaction that the records must belong to */
	uint32_t crc;
	bool begun; /* a head was seen */
	size_t records, sound_records;
	uint32_t sound_blocks, sound_at; /* up to here, in whole blocks and bytes of the last one */
	uint32_t features;               /* of the first head that asks for something unknown; 0 */
};

static uint32_t word(const uint8_t *p)
{
	le32 w;

	memcpy(&w, p, sizeof(w));
	return le32_get(w);
}

static void get_header(const uint8_t *at, uint32_t *tag, uint32_t *len)
{
	struct jbd2_fc_tl tl;

	memcpy(&tl, at, sizeof(tl));
	*tag = le16_get(tl.tag);
	*len = le16_get(tl.len);
}

/* ---- pass 1: how far the log goes ---- */

static bool take_tail(struct scan *s, const uint8_t *at, uint32_t len)
{
	const uint8_t *value = at + HEADER;
	bool sound = false;

	if (len >= 8 && word(value) == s->tid) {
		s->crc = crc32c(s->crc, at, HEADER + 4);
		sound = s->crc == word(value + 4);
	}
	s->crc = 0;
	return sound;
}

/* One record of len bytes behind its header; false when the log ends before it. */
static bool scan_record(struct scan *s, uint32_t tag, const uint8_t *at, uint32_t len)
{
	if (tag == JBD2_FC_HEAD) {
		if (len < 8 || word(at + HEADER + 4) != s->tid)
			return false;
		if (s->features == 0)
			s->features = word(at + HEADER);
		s->begun = true;
	}
	if (!s->begun || tag < JBD2_FC_ADD_RANGE || tag > JBD2_FC_HEAD)
		return false;
	s->records++;
	if (tag == JBD2_FC_TAIL)
		return take_tail(s, at, len);
	s->crc = crc32c(s->crc, at, HEADER + len);
	return true;
}

static bool scan_block(struct scan *s, uint32_t n, const uint8_t *block, uint32_t size)
{
	for (uint32_t at = 0; at + HEADER <= size;) {
		uint32_t tag, len;

		get_header(block + at, &tag, &len);
		if (len > size - at - HEADER || !scan_record(s, tag, block + at, len))
			return false;
		at += HEADER + len;
		if (tag == JBD2_FC_TAIL) {
			s->sound_records = s->records;
			s->sound_blocks = n;
			s->sound_at = at;
		}
	}
	return true;
}

/* The kernel leaves the first block of the area alone. */
static int scan_area(struct replay *r, struct scan *s)
{
	struct jnl *j = r->jnl;

	for (uint32_t i = 1; i < j->fc_blocks; i++) {
		const uint8_t *block;
		int rc = replay_log_block(r, j->last + i, &block);

		if (rc < 0)
			return rc;
		if (!scan_block(s, i, block, j->block_size))
			break;
	}
	if (s->sound_records != 0 && s->features != 0)
		return diag_set(j->cfg.diag, -EOPNOTSUPP,
				"unsupported fast commits: transaction %u: fc_features has unknown "
				"bits 0x%x",
				s->tid, s->features);
	return 0;
}

/* ---- pass 2: the records ---- */

struct parse {
	struct jnl *jnl;
	struct fast_log *log;
	uint32_t lblk, at; /* of the record, for messages */
};

static int bad(const struct parse *p, uint32_t tag, uint32_t len, const char *why)
{
	return diag_set(p->jnl->cfg.diag, -EUCLEAN,
			"corrupt fast commit: log block %u offset %u: record %u of %u bytes: %s",
			p->lblk, p->at, tag, len, why);
}

static int parse_ino(const struct parse *p, uint32_t raw, bool is_parent, uint32_t *ret)
{
	const struct geom *g = buf_cache_geom(p->jnl->cfg.cache);
	ek_inum ino;
	int rc = geom_inum(g, raw, "inode of a fast commit", p->jnl->cfg.diag, &ino);

	if (rc == 0 && raw < g->first_ino && !(is_parent && raw == INUM_ROOT))
		rc = diag_set(p->jnl->cfg.diag, -EUCLEAN,
			      "corrupt fast commit: log block %u offset %u: inode %u is reserved",
			      p->lblk, p->at, raw);
	if (rc == 0)
		*ret = raw;
	return rc;
}

static int parse_range(const struct parse *p, struct fast_record *r, const uint8_t *value,
		       uint32_t len)
{
	struct extent_leaf raw;
	ek_pblk pblk;
	int rc = parse_ino(p, word(value), false, &r->ino);

	if (rc < 0)
		return rc;
	if (r->tag == JBD2_FC_DEL_RANGE) {
		if (len != 12)
			return bad(p, r->tag, len, "expected 12");
		r->range.lblk.v = word(value + 4);
		r->range_len = word(value + 8);
		if (r->range_len > UINT32_MAX - r->range.lblk.v)
			return bad(p, r->tag, len, "ends past the last block of a file");
		return 0;
	}
	if (len != 16)
		return bad(p, r->tag, len, "expected 16");
	memcpy(&raw, value + 4, sizeof(raw));
	r->range = extent_decode(&raw);
	if (r->range.len == 0 || r->range.len > UINT32_MAX - r->range.lblk.v)
		return bad(p, r->tag, len, "no range of blocks");
	return geom_run(buf_cache_geom(p->jnl->cfg.cache), r->range.pblk.v, r->range.len,
			"range of a fast commit", p->jnl->cfg.diag, &pblk);
}

static int parse_name(const struct parse *p, struct fast_record *r, const uint8_t *value,
		      uint32_t len)
{
	int rc;

	if (len <= 8 || len - 8 > 255)
		return bad(p, r->tag, len, "expected 9 to 263");
	rc = parse_ino(p, word(value), true, &r->parent);
	if (rc == 0)
		rc = parse_ino(p, word(value + 4), false, &r->ino);
	if (rc < 0)
		return rc;
	r->name = (const char *)value + 8;
	r->name_len = len - 8;
	if (!name_is_sound(r->name, r->name_len))
		return bad(p, r->tag, len, "the name has a slash or a zero byte");
	if (name_is_dots(r->name, r->name_len))
		return bad(p, r->tag, len, "the name is none that comes or goes");
	return 0;
}

static int parse_inode(const struct parse *p, struct fast_record *r, const uint8_t *value,
		       uint32_t len)
{
	const struct geom *g = buf_cache_geom(p->jnl->cfg.cache);

	if (len < 4 + INODE_MIN || len - 4 > g->inode_size)
		return bad(p, r->tag, len, "not the size of an inode");
	r->raw = value + 4;
	r->raw_len = len - 4;
	return parse_ino(p, word(value), false, &r->ino);
}

static int parse_record(const struct parse *p, uint32_t tag, const uint8_t *value, uint32_t len)
{
	struct fast_record *r = &p->log->records[p->log->count];

	*r = (struct fast_record){.tag = (enum jbd2_fc_tag)tag};
	switch (tag) {
	case JBD2_FC_ADD_RANGE:
	case JBD2_FC_DEL_RANGE:
		if (len < 4)
			return bad(p, tag, len, "no inode number");
		p->log->count++;
		return parse_range(p, r, value, len);
	case JBD2_FC_CREATE:
	case JBD2_FC_LINK:
	case JBD2_FC_UNLINK:
		p->log->count++;
		return parse_name(p, r, value, len);
	case JBD2_FC_INODE:
		p->log->count++;
		return parse_inode(p, r, value, len);
	default: /* heads, tails, padding: pass 1 knew them all */
		return 0;
	}
}

/* Copies a block of the log behind the others and takes apart its bytes up to end. */
static int parse_block(struct replay *r, struct parse *p, uint32_t n, uint32_t end)
{
	uint32_t size = r->jnl->block_size;
	uint8_t *copy = p->log->bytes + (size_t)(n - 1) * size;
	const uint8_t *block;
	int rc = replay_log_block(r, r->jnl->last + n, &block);

	if (rc < 0)
		return rc;
	memcpy(copy, block, size);
	p->lblk = r->jnl->last + n;
	for (p->at = 0; p->at + HEADER <= end && rc == 0;) {
		uint32_t tag, len;

		get_header(copy + p->at, &tag, &len);
		rc = parse_record(p, tag, copy + p->at + HEADER, len);
		p->at += HEADER + len;
	}
	return rc;
}

static struct fast_log *make_log(struct jnl *j, const struct scan *s)
{
	struct fast_log *log = mem_zero(sizeof(*log));

	if (log == NULL) {
		diag_set(j->cfg.diag, -ENOMEM, "out of memory for fast commits");
		return NULL;
	}
	log->tid = s->tid;
	log->bytes = mem_array(s->sound_blocks, j->block_size, MEM_CAP, j->cfg.diag);
	log->records = mem_array(s->sound_records, sizeof(*log->records), MEM_CAP, j->cfg.diag);
	if (log->bytes != NULL && log->records != NULL)
		return log;
	fast_free(log);
	return NULL;
}

int replay_read_fast(struct replay *r, struct fast_log **ret)
{
	struct scan s = {.tid = r->seq};
	struct parse p = {.jnl = r->jnl};
	int rc = scan_area(r, &s);

	if (rc < 0 || s.sound_records == 0)
		return rc;
	p.log = make_log(r->jnl, &s);
	if (p.log == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i <= s.sound_blocks && rc == 0; i++)
		rc = parse_block(r, &p, i, i < s.sound_blocks ? r->jnl->block_size : s.sound_at);
	if (rc < 0) {
		fast_free(p.log);
		return rc;
	}
	*ret = p.log;
	return 0;
}

void fast_free(struct fast_log *log)
{
	if (log == NULL)
		return;
	free(log->records);
	free(log->bytes);
	free(log);
}

const struct fast_log *jnl_fast(const struct jnl *j)
{
	return j->fast;
}
