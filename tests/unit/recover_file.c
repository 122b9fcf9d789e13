/* SPDX-License-Identifier: BSD-2-Clause */
/* Recovers an image file and closes it, and does nothing else: for tests/slow/journals.bats. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "fs/image.h"
#include "io/dev.h"

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

TEST(the_image_named_in_the_environment_recovers)
{
	const struct image_opts opts = {
	    .flags = IMAGE_WRITE, .now = {1800000000, 0}, .find_journal = find_journal};
	const char *path = getenv("EXTKIT_RECOVER");
	struct ek_image *img;
	struct dev *dev;
	int rc;

	if (path == NULL)
		SKIP("EXTKIT_RECOVER names no image");
	CHECK_INT(dev_open(path, DEV_WRITE, &diag, &dev), 0);
	rc = image_open(dev, &opts, &diag, &img);
	if (rc == 0)
		rc = image_close(img);
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
