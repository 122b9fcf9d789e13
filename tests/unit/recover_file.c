/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovers an image file and closes it, and does nothing else: for tests/slow/journals.bats.
 *
 * EXTKIT_RECOVER_STEP: blocks after which fast commits that were applied so far are committed.
 * EXTKIT_RECOVER_CUT: the write that is lost, with all that follow it; then nothing is wanted of
 * the recovery, and "# whole" is printed when there were fewer writes.
 */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "fs/image.h"
#include "io/dev.h"
#include "io/fault.h"

static struct diag diag;
static struct dev *journal;

static int find_journal(void *ctx, const uint8_t uuid[16], struct dev **ret)
{
	const char *path = getenv("EXTKIT_RECOVER_JOURNAL");
	int rc = path != NULL ? dev_open(path, DEV_WRITE, &diag, &journal) : -ENOENT;

	if (rc == 0)
		*ret = journal;
	return rc;
}

static unsigned number_in(const char *name)
{
	const char *text = getenv(name);

	return text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static int recover(struct dev *dev)
{
	const struct image_opts opts = {.flags = IMAGE_WRITE,
					.now = {1800000000, 0},
					.find_journal = find_journal,
					.fast_step = number_in("EXTKIT_RECOVER_STEP")};
	struct ek_image *img;
	int rc = image_open(dev, &opts, &diag, &img);

	return rc < 0 ? rc : image_close(img);
}

static void recover_until(struct dev *under, unsigned n)
{
	struct fault plan = {.calls = FAULT_WRITE, .nth = n, .for_good = true, .error = EIO};
	struct dev *faulty;

	CHECK_INT(fault_open(under, &faulty), 0);
	fault_arm(faulty, &plan);
	recover(faulty);
	if (fault_fired(faulty) == 0)
		printf("# whole\n");
	dev_close(faulty);
}

TEST(the_image_named_in_the_environment_recovers)
{
	const char *path = getenv("EXTKIT_RECOVER");
	unsigned cut = number_in("EXTKIT_RECOVER_CUT");
	struct dev *dev;
	int rc = 0;

	if (path == NULL)
		SKIP("EXTKIT_RECOVER names no image");
	CHECK_INT(dev_open(path, DEV_WRITE, &diag, &dev), 0);
	if (cut != 0)
		recover_until(dev, cut);
	else
		rc = recover(dev);
	if (rc < 0)
		printf("# %s: %s\n", path, diag.text);
	CHECK_INT(rc, 0);
	dev_close(dev);
	dev_close(journal);
}

int main(void)
{
	return tap_main();
}
