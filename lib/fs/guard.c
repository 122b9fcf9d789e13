/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guard says that a tool is at work while an image is open for writing: a kernel does not
 * mount it then, and need not be told the time again and again.  What the block held before comes
 * back at the end, so that the same edits leave the same bytes.
 */
#include "fs/guard.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/escape.h"
#include "io/dev.h"
#include "ondisk/mmp.h"
#include "ondisk/super.h"

#define TOOL         "extkit"
#define INTERVAL_MIN 5u
#define INTERVAL_MAX 300u

static uint64_t guard_at(const struct ek_image *img)
{
	return img->geom.guard_block << img->geom.block_bits;
}

static int read_guard(struct ek_image *img, struct mmp_raw *ret)
{
	int rc = dev_read(img->dev, guard_at(img), ret, sizeof(*ret));

	return rc < 0 ? rc : mmp_verify(&img->geom, ret, &img->diag);
}

static int write_guard(struct ek_image *img, struct mmp_raw *mmp)
{
	int rc;

	mmp_seal(&img->geom, mmp);
	rc = dev_write(img->dev, guard_at(img), mmp, sizeof(*mmp));
	return rc < 0 ? rc : dev_flush(img->dev);
}

static void this_host(char *name, size_t size)
{
	memset(name, 0, size);
	if (gethostname(name, size - 1) < 0)
		name[0] = '\0';
}

/* Left by one of us on this host that was killed: the lock on the file says that it is gone. */
static bool is_our_own(const struct mmp_raw *mmp)
{
	char host[sizeof(mmp->mmp_nodename)];

	this_host(host, sizeof(host));
	return le32_get(mmp->mmp_seq) == MMP_SEQ_FSCK &&
	       strncmp(mmp->mmp_bdevname, TOOL, sizeof(mmp->mmp_bdevname)) == 0 &&
	       strncmp(mmp->mmp_nodename, host, sizeof(host)) == 0;
}

static int in_use(struct ek_image *img, const struct mmp_raw *mmp)
{
	char host[80], device[48];

	escape_to(host, sizeof(host), mmp->mmp_nodename,
		  strnlen(mmp->mmp_nodename, sizeof(mmp->mmp_nodename)));
	escape_to(device, sizeof(device), mmp->mmp_bdevname,
		  strnlen(mmp->mmp_bdevname, sizeof(mmp->mmp_bdevname)));
	return diag_set(&img->diag, -EBUSY,
			"in use: %s: its mount guard says that host '%s' writes it as '%s'",
			img->dev->name, host, device);
}

static void wait_for(uint32_t seconds)
{
	struct timespec left = {.tv_sec = (time_t)seconds};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		continue;
}

/* Does another writer still count? */
static int watch(struct ek_image *img, const struct mmp_raw *first)
{
	uint32_t interval = MAX((uint32_t)le16_get(first->mmp_check_interval), INTERVAL_MIN);
	struct mmp_raw again;
	int rc;

	if (le32_get(first->mmp_seq) == MMP_SEQ_FSCK)
		return in_use(img, first); /* tools do not count */
	wait_for(2 * MIN(interval, INTERVAL_MAX) + 1);
	rc = read_guard(img, &again);
	if (rc == 0 && le32_get(again.mmp_seq) != le32_get(first->mmp_seq))
		rc = in_use(img, &again);
	return rc;
}

int guard_take(struct ek_image *img)
{
	struct mmp_raw mmp;
	int rc;

	if (!img->writable || !geom_incompat(&img->geom, INCOMPAT_MMP))
		return 0;
	if (img->geom.guard_block == 0)
		return diag_set(&img->diag, -EUCLEAN,
				"corrupt superblock: s_mmp_block is 0, want the mount guard");
	rc = read_guard(img, &mmp);
	if (rc == 0 && le32_get(mmp.mmp_seq) != MMP_SEQ_CLEAN && !is_our_own(&mmp)) {
		rc = watch(img, &mmp);
		mmp.mmp_seq = le32_make(MMP_SEQ_CLEAN);
	}
	if (rc < 0)
		return rc;
	img->guard = mmp;
	img->guard.mmp_seq = le32_make(MMP_SEQ_CLEAN);
	mmp.mmp_seq = le32_make(MMP_SEQ_FSCK);
	mmp.mmp_time = le64_make((uint64_t)time(NULL));
	this_host(mmp.mmp_nodename, sizeof(mmp.mmp_nodename));
	memset(mmp.mmp_bdevname, 0, sizeof(mmp.mmp_bdevname));
	memcpy(mmp.mmp_bdevname, TOOL, sizeof(TOOL));
	rc = write_guard(img, &mmp);
	img->guarded = rc == 0;
	return rc;
}

int guard_release(struct ek_image *img)
{
	if (!img->guarded)
		return 0;
	img->guarded = false;
	return write_guard(img, &img->guard);
}
