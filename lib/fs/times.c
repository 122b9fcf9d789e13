/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timestamps as Linux makes them: coarse, in steps of the timer's tick, so that a busy file is
 * marked once a tick; exact where stat(2) looked since the last change, so that who looks twice
 * sees that something changed in between.
 */
#include "base/check.h"
#include "fs/blocks.h"
#include "fs/data.h"
#include "fs/image.h"
#include "fs/indirect.h"
#include "fs/inode.h"

#define SECOND 1000000000u
#define DAY    (24 * 60 * 60)

/* Nanoseconds since the last step of what timestamps show. */
static uint32_t since_tick(const struct ek_image *img, struct ek_time now)
{
	/* no room for parts of a second, or nobody who knows them */
	if (img->geom.inode_size <= 128 || ind_by_ext3(img))
		return now.nsec;
	if (img->tick_ns == 0)
		return 0;
	return (now.nsec + img->tick_ns - img->tick_phase) % img->tick_ns;
}

static struct ek_time back(struct ek_time t, uint32_t ns)
{
	if (ns > t.nsec) {
		t.sec--;
		t.nsec += SECOND;
	}
	t.nsec -= ns;
	return t;
}

static struct ek_time not_before(struct ek_time floor, struct ek_time t)
{
	return time_before(t, floor) ? floor : t;
}

struct ek_time image_coarse(const struct ek_image *img, struct ek_time now)
{
	return not_before(img->floor, back(now, since_tick(img, now)));
}

/* Steps begin anew with each second; between two of them every moment shows the same. */
void image_find_tick(struct ek_image *img)
{
	struct ek_time now = img->now;
	uint32_t since = since_tick(img, now), left = img->tick_ns - since;

	img->tick.sec = now.sec;
	img->tick.from = now.nsec - MIN(since, now.nsec);
	img->tick.to = img->tick_ns > since ? MIN(now.nsec + left, SECOND) : now.nsec + 1;
	img->tick.shown = not_before(img->floor, back(now, since));
}

/* True when a change now would show the time that was shown already. */
static bool would_hide(const struct ek_inode *inode, struct ek_time now)
{
	return inode->times_shown && !time_before(inode->rec.ctime, now);
}

struct ek_time inode_change_now(struct ek_inode *inode)
{
	struct ek_image *img = inode->img;
	struct ek_time now = image_now(img);

	if (would_hide(inode, now)) {
		if (time_before(now, img->now))
			now = img->now;
		img->floor = now;
		img->tick.to = img->tick.from; /* it shows another now */
	}
	inode->times_shown = false;
	return now;
}

static int mark(struct task *t, struct ek_inode *inode)
{
	struct handle *h;
	int rc = task_start_inode(t, inode, HANDLE_INODE, 2, 0, &h);

	if (rc < 0)
		return rc;
	data_dirtied(inode);
	count(&inode->img->counters, COUNTER_TS_UPDATES, 1);
	rc = inode_mark_dirty(t, inode, MARK_TIMESTAMP);
	return handle_end(h, rc);
}

bool inode_shows_time(const struct ek_inode *inode, struct ek_time now)
{
	return !inode->times_shown && !time_before(inode->rec.mtime, now) &&
	       !time_before(inode->rec.ctime, now);
}

int inode_touch_modify(struct task *t, struct ek_inode *inode)
{
	struct ek_time now;

	if (inode_is_touched(inode))
		return 0;
	now = inode_change_now(inode);
	if (time_same(inode->rec.mtime, now) && time_same(inode->rec.ctime, now))
		return 0;
	inode->rec.mtime = now;
	inode->rec.ctime = now;
	inode->rec.version++;
	return mark(t, inode);
}

/* relatime: only when older than a change, or than a day */
static bool keeps_atime(const struct ek_inode *inode, struct ek_time now)
{
	struct ek_time atime = inode->rec.atime;

	return (inode->rec.flags & INODE_NOATIME) != 0 || !inode->img->writable ||
	       (time_before(inode->rec.mtime, atime) && time_before(inode->rec.ctime, atime) &&
		now.sec - atime.sec < DAY);
}

bool inode_shows_access(const struct ek_inode *inode, struct ek_time now)
{
	return keeps_atime(inode, now) ||
	       (!would_hide(inode, now) && time_same(inode->rec.atime, now));
}

int inode_touch_access(struct task *t, struct ek_inode *inode)
{
	struct ek_time now = image_now(inode->img);

	if (keeps_atime(inode, now))
		return 0;
	if (would_hide(inode, now))
		now = inode->img->now;
	if (time_same(inode->rec.atime, now))
		return 0;
	inode->rec.atime = now;
	return mark(t, inode);
}
