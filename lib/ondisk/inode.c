/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inodes: one decoder and one encoder.  Times are 34-bit seconds and 30-bit nanoseconds when the
 * extra field is inside i_extra_isize, else 32-bit signed seconds.
 */
#include "ondisk/inode.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"

#define FIXED 128u /* bytes that every inode has */

/* True when the extra field ends inside the inode's extra area. */
#define FITS(extra, field)  \
	(FIXED + (extra) >= \
	 offsetof(struct inode_raw, field) + sizeof(((struct inode_raw *)0)->field))

uint32_t inode_csum_seed(const struct geom *g, ek_inum ino, uint32_t generation)
{
	le32 both[2] = {le32_make(ino.v), le32_make(generation)};

	return crc32c(g->csum_seed, both, sizeof(both));
}

/* The usual size in one piece, from a copy without the checksum. */
static uint32_t inode_csum_256(uint32_t seed, const void *raw, uint16_t extra)
{
	uint8_t copy[256];
	struct inode_raw *r = (struct inode_raw *)(void *)copy;

	memcpy(copy, raw, sizeof(copy));
	r->i_checksum_lo = le16_make(0);
	if (FITS(extra, i_checksum_hi))
		r->i_checksum_hi = le16_make(0);
	return crc32c(seed, copy, sizeof(copy));
}

static uint32_t inode_csum(const struct geom *g, ek_inum ino, const void *raw, uint16_t extra)
{
	static const uint8_t zero[2];
	const struct inode_raw *r = raw;
	const uint8_t *p = raw;
	const size_t lo = offsetof(struct inode_raw, i_checksum_lo);
	const size_t hi = offsetof(struct inode_raw, i_checksum_hi);
	uint32_t c = inode_csum_seed(g, ino, le32_get(r->i_generation));

	if (g->inode_size == 256)
		return inode_csum_256(c, raw, extra);
	c = crc32c(c, p, lo);
	c = crc32c(c, zero, 2);
	c = crc32c(c, p + lo + 2, FIXED - lo - 2);
	if (g->inode_size <= FIXED)
		return c;
	c = crc32c(c, p + FIXED, hi - FIXED);
	if (FITS(extra, i_checksum_hi))
		c = crc32c(c, zero, 2);
	else
		c = crc32c(c, p + hi, 2);
	return crc32c(c, p + hi + 2, g->inode_size - hi - 2);
}

bool inode_is_blank(const struct geom *g, const void *raw)
{
	return mem_is_zero(raw, g->inode_size);
}

static int verify_csum(const struct geom *g, ek_inum ino, const void *raw, uint16_t extra,
		       struct diag *d)
{
	const struct inode_raw *r = raw;
	bool has_hi = g->inode_size > FIXED && FITS(extra, i_checksum_hi);
	uint32_t want, got;

	if (!geom_csum(g) || inode_is_blank(g, raw))
		return 0;
	want = inode_csum(g, ino, raw, extra);
	got = le16_get(r->i_checksum_lo);
	if (has_hi)
		got |= (uint32_t)le16_get(r->i_checksum_hi) << 16;
	else
		want &= 0xffff;
	if (got != want)
		return diag_set(d, -EBADMSG,
				"bad checksum: inode %u: stored 0x%08x, computed 0x%08x", ino.v,
				got, want);
	return 0;
}

static struct ek_time time_decode(le32 base, le32 extra, bool has_extra)
{
	struct ek_time t = {(int32_t)le32_get(base), 0};

	if (has_extra) {
		t.sec += (int64_t)(le32_get(extra) & 3) << 32;
		t.nsec = le32_get(extra) >> 2;
		if (t.nsec > 999999999)
			t.nsec = 999999999;
	}
	return t;
}

/* Seconds that do not fit are clamped to the nearest the field can hold. */
static void time_encode(struct ek_time t, bool has_extra, le32 *base, le32 *extra)
{
	int64_t max = has_extra ? (int64_t)0x37fffffff : INT32_MAX;
	int64_t sec = MIN(MAX(t.sec, (int64_t)INT32_MIN), max);

	*base = le32_make((uint32_t)sec);
	if (has_extra)
		*extra =
		    le32_make((uint32_t)(((sec - (int32_t)(uint32_t)sec) >> 32) & 3) | t.nsec << 2);
}

static int decode_extra_size(const struct geom *g, ek_inum ino, const struct inode_raw *r,
			     struct diag *d, uint16_t *ret)
{
	uint16_t extra;

	*ret = 0;
	if (g->inode_size <= FIXED)
		return 0;
	extra = le16_get(r->i_extra_isize);
	if (extra > g->inode_size - FIXED || (extra & 3) != 0)
		return diag_set(
		    d, -EUCLEAN,
		    "corrupt inode: inode %u: i_extra_isize %u: want a multiple of 4 up to %u",
		    ino.v, extra, g->inode_size - FIXED);
	*ret = extra;
	return 0;
}

/* The Hurd keeps a translator where i_version is, and more in the high halves of other fields: they
 * are left as they are. */
static void decode_fixed(const struct geom *g, const struct inode_raw *r, struct inode_rec *x)
{
	x->mode = le16_get(r->i_mode);
	x->links = le16_get(r->i_links_count);
	x->uid = le16_get(r->i_uid) | (uint32_t)le16_get(r->i_uid_high) << 16;
	x->gid = le16_get(r->i_gid) | (uint32_t)le16_get(r->i_gid_high) << 16;
	x->flags = le32_get(r->i_flags);
	x->generation = le32_get(r->i_generation);
	x->size = le32_get(r->i_size_lo) | (uint64_t)le32_get(r->i_size_high) << 32;
	x->file_acl = le32_get(r->i_file_acl_lo);
	if (!g->hurd) {
		x->file_acl |= (uint64_t)le16_get(r->i_file_acl_high) << 32;
		x->version = le32_get(r->i_version);
	}
	x->dtime = le32_get(r->i_dtime);
	memcpy(x->block, r->i_block, sizeof(x->block));
}

static void decode_extra(const struct inode_raw *r, uint16_t e, struct inode_rec *x)
{
	const le32 none = {{0}};

	x->extra_isize = e;
	x->atime = time_decode(r->i_atime, r->i_atime_extra, FITS(e, i_atime_extra));
	x->ctime = time_decode(r->i_ctime, r->i_ctime_extra, FITS(e, i_ctime_extra));
	x->mtime = time_decode(r->i_mtime, r->i_mtime_extra, FITS(e, i_mtime_extra));
	x->crtime = time_decode(FITS(e, i_crtime) ? r->i_crtime : none, r->i_crtime_extra,
				FITS(e, i_crtime_extra));
	if (FITS(e, i_version_hi))
		x->version |= (uint64_t)le32_get(r->i_version_hi) << 32;
	if (FITS(e, i_projid))
		x->projid = le32_get(r->i_projid);
}

int inode_decode(const struct geom *g, ek_inum ino, const void *raw, struct diag *d,
		 struct inode_rec *ret)
{
	const struct inode_raw *r = raw;
	struct inode_raw padded;
	uint16_t e;
	int rc;

	if (g->inode_size < sizeof(padded)) {
		memset(&padded, 0, sizeof(padded));
		memcpy(&padded, raw, g->inode_size);
		r = &padded;
	}
	rc = decode_extra_size(g, ino, r, d, &e);
	if (rc == 0)
		rc = verify_csum(g, ino, raw, e, d);
	if (rc < 0)
		return rc;
	memset(ret, 0, sizeof(*ret));
	decode_fixed(g, r, ret);
	ret->blocks = le32_get(r->i_blocks_lo);
	if (geom_ro_compat(g, RO_COMPAT_HUGE_FILE))
		ret->blocks |= (uint64_t)le16_get(r->i_blocks_high) << 32;
	decode_extra(r, e, ret);
	return 0;
}

static void encode_fixed(const struct geom *g, const struct inode_rec *x, struct inode_raw *r)
{
	r->i_mode = le16_make(x->mode);
	r->i_links_count = le16_make(x->links);
	r->i_uid = le16_make((uint16_t)x->uid);
	r->i_uid_high = le16_make((uint16_t)(x->uid >> 16));
	r->i_gid = le16_make((uint16_t)x->gid);
	r->i_gid_high = le16_make((uint16_t)(x->gid >> 16));
	r->i_flags = le32_make(x->flags);
	r->i_generation = le32_make(x->generation);
	r->i_size_lo = le32_make((uint32_t)x->size);
	r->i_size_high = le32_make((uint32_t)(x->size >> 32));
	r->i_file_acl_lo = le32_make((uint32_t)x->file_acl);
	if (!g->hurd) {
		r->i_file_acl_high = le16_make((uint16_t)(x->file_acl >> 32));
		r->i_version = le32_make((uint32_t)x->version);
		r->i_blocks_high = le16_make((uint16_t)(x->blocks >> 32));
	}
	r->i_dtime = le32_make(x->dtime);
	r->i_blocks_lo = le32_make((uint32_t)x->blocks);
	memcpy(r->i_block, x->block, sizeof(r->i_block));
}

static void encode_extra(const struct inode_rec *x, struct inode_raw *r)
{
	uint16_t e = x->extra_isize;

	r->i_extra_isize = le16_make(e);
	if (FITS(e, i_crtime)) {
		time_encode(x->crtime, FITS(e, i_crtime_extra), &r->i_crtime, &r->i_crtime_extra);
	}
	if (FITS(e, i_version_hi))
		r->i_version_hi = le32_make((uint32_t)(x->version >> 32));
	if (FITS(e, i_projid))
		r->i_projid = le32_make(x->projid);
}

void inode_encode(const struct geom *g, ek_inum ino, const struct inode_rec *x, void *raw)
{
	uint16_t e = g->inode_size > FIXED ? x->extra_isize : 0;
	struct inode_raw *r = raw;

	encode_fixed(g, x, r);
	time_encode(x->atime, FITS(e, i_atime_extra), &r->i_atime, &r->i_atime_extra);
	time_encode(x->ctime, FITS(e, i_ctime_extra), &r->i_ctime, &r->i_ctime_extra);
	time_encode(x->mtime, FITS(e, i_mtime_extra), &r->i_mtime, &r->i_mtime_extra);
	if (g->inode_size > FIXED)
		encode_extra(x, r);
	inode_seal(g, ino, raw);
}

void inode_seal(const struct geom *g, ek_inum ino, void *raw)
{
	struct inode_raw *r = raw;
	uint16_t e = 0;
	bool has_hi;
	uint32_t c;

	if (!geom_csum(g))
		return;
	if (g->inode_size > FIXED)
		e = le16_get(r->i_extra_isize);
	has_hi = g->inode_size > FIXED && FITS(e, i_checksum_hi);
	/* they count as zeros */
	r->i_checksum_lo = le16_make(0);
	if (has_hi)
		r->i_checksum_hi = le16_make(0);
	c = crc32c(inode_csum_seed(g, ino, le32_get(r->i_generation)), raw, g->inode_size);
	r->i_checksum_lo = le16_make((uint16_t)c);
	if (has_hi)
		r->i_checksum_hi = le16_make((uint16_t)(c >> 16));
}

void inode_set_rdev(struct inode_rec *rec, uint32_t major, uint32_t minor)
{
	le32 old = le32_make(0), wide = le32_make(0);

	if (major < 256 && minor < 256)
		old = le32_make(major << 8 | minor);
	else
		wide = le32_make((minor & 0xff) | major << 8 | (minor & ~0xffu) << 12);
	memset(rec->block, 0, sizeof(rec->block));
	memcpy(rec->block, &old, sizeof(old));
	memcpy(rec->block + 4, &wide, sizeof(wide));
}

void inode_get_rdev(const struct inode_rec *rec, uint32_t *major, uint32_t *minor)
{
	le32 old, wide;
	uint32_t v;

	memcpy(&old, rec->block, sizeof(old));
	memcpy(&wide, rec->block + 4, sizeof(wide));
	if (le32_get(old) != 0) {
		*major = le32_get(old) >> 8 & 0xff;
		*minor = le32_get(old) & 0xff;
		return;
	}
	v = le32_get(wide);
	*major = v >> 8 & 0xfff;
	*minor = (v & 0xff) | (v >> 12 & 0xfff00);
}
