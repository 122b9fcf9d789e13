/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A day's work on an image during which something fails: afterwards the image must open and hold
 * the tree of a step no older than the last one that was synced.
 */
#ifndef FS_FAULTS_H
#define FS_FAULTS_H

#include "fs_small_day.h"

struct outcome {
	int error;       /* what the caller was told, 0: nothing */
	unsigned synced; /* last step whose sync returned without error */
	char text[256];  /* the story of the error */
};

static struct scenario plain, faulty;

/* ---- on what, and what is done ---- */

static const struct shape with_extents = {
    .size = 4 << 20, .block_size = 1024, .compat_on = COMPAT_ORPHAN_FILE};
static const struct shape with_pointers = {.size = 6 << 20,
					   .block_size = 1024,
					   .ro_compat_off = RO_COMPAT_METADATA_CSUM,
					   .incompat_off = INCOMPAT_EXTENTS | INCOMPAT_64BIT |
							   INCOMPAT_FLEX_BG | INCOMPAT_CSUM_SEED};
static const struct shape with_clusters = {.size = 12 << 20, .block_size = 1024, .cluster = 4};
static const struct shape with_small = {.size = 4 << 20,
					.block_size = 1024,
					.compat_on = COMPAT_ORPHAN_FILE,
					.incompat_on = INCOMPAT_INLINE_DATA | INCOMPAT_EA_INODE};
static const struct shape *shape = &with_extents;

static inline void begin_small(void)
{
	shape = &with_small;
	plain.script = faulty.script = small_day_apart;
}

static inline void end_small(void)
{
	shape = &with_extents;
	plain.script = faulty.script = NULL;
}

/* ---- a day ---- */

static inline int sync_now_and_then(struct scenario *s, void *ctx)
{
	struct outcome *o = ctx;
	int rc;

	if (s->steps % 4 != 0)
		return 0;
	rc = image_sync(&s->t);
	if (rc == 0)
		o->synced = s->steps;
	return rc;
}

static bool two_days; /* what fails is the day after, on a cold cache */

static inline void one_day(struct dev *dev, bool later)
{
	static struct outcome ignored;
	struct diag d = {0};
	struct ek_image *img;

	plain.after = sync_now_and_then;
	plain.ctx = &ignored;
	plain.later = later;
	CHECK_INT(fs_open(dev, IMAGE_WRITE, &d, &img), 0);
	CHECK_INT(sc_run(&plain, img), 0);
	CHECK_INT(image_close(img), 0);
}

/* The digests that the tree may have, and the device to begin with. */
static inline void learn_model(struct dev **ret)
{
	struct dev *copy;

	fs_make(shape, ret);
	if (two_days)
		one_day(*ret, false);
	fs_copy(*ret, &copy);
	one_day(copy, two_days);
	dev_close(copy);
}

/* Opens, works, closes on dev, whatever fails. */
static inline void work(struct dev *dev, struct outcome *o)
{
	struct diag d = {0};
	struct ek_image *img;
	int rc, end;

	memset(o, 0, sizeof(*o));
	rc = fs_open(dev, IMAGE_WRITE, &d, &img);
	if (rc == 0) {
		faulty.blind = true;
		faulty.later = two_days;
		faulty.after = sync_now_and_then;
		faulty.ctx = o;
		rc = sc_run(&faulty, img);
		snprintf(o->text, sizeof(o->text), "step %u: %.200s", faulty.steps + 1,
			 img->diag.text);
		end = image_close(img);
		rc = rc < 0 ? rc : end;
		if (rc == 0)
			o->synced = plain.steps;
	} else {
		snprintf(o->text, sizeof(o->text), "open: %.200s", d.text);
	}
	o->error = rc;
}

/* What the failure left behind on dev. */
static inline void check_outcome(struct dev *dev, const struct outcome *o, const char *name,
				 unsigned n)
{
	struct diag d = {0};
	struct ek_image *img;
	bool found = false;
	struct walk w;

	if (fs_open(dev, IMAGE_WRITE, &d, &img) < 0)
		TAP_FAIL("%s %u (%s): not opened afterwards: %s", name, n, o->text, d.text);
	walk_tree(img, &w);
	if (w.errors != 0)
		TAP_FAIL("%s %u (%s): damaged: %s", name, n, o->text, w.first);
	for (unsigned k = o->synced; k <= plain.steps && !found; k++)
		found = plain.model[k] == w.digest;
	if (!found)
		TAP_FAIL("%s %u (%s): no tree of any step from %u on", name, n, o->text, o->synced);
	if (image_close(img) < 0)
		TAP_FAIL("%s %u (%s): not closed afterwards", name, n, o->text);
}

#endif
