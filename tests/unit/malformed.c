/* SPDX-License-Identifier: BSD-2-Clause */
/* Every damaged image of tests/data/malformed: read whole, changed, and none crashes or hangs. */
#include "fs_hostile.h"

#include <glob.h>
#include <zstd.h>

static void load(const char *path, struct dev **ret)
{
	static uint8_t packed[1 << 20], bytes[64 << 20];
	FILE *f = fopen(path, "rb");
	size_t n, size;

	CHECK(f != NULL);
	n = fread(packed, 1, sizeof(packed), f);
	fclose(f);
	size = ZSTD_decompress(bytes, sizeof(bytes), packed, n);
	CHECK(!ZSTD_isError(size));
	CHECK_INT(dev_open_memory(size, NULL, ret), 0);
	if (size != 0)
		CHECK_INT(dev_write(*ret, 0, bytes, size), 0);
}

TEST(no_damaged_image_crashes_hangs_or_is_written_by_a_reader)
{
	const char *src = getenv("SRC"), *where = getenv("EXTKIT_MALFORMED"),
		   *only = getenv("ONLY");
	char pattern[500];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/tests/data/malformed", src != NULL ? src : ".");
	if (where != NULL)
		snprintf(pattern, sizeof(pattern), "%s", where);
	strcat(pattern, "/*.img.zst");
	if (glob(pattern, 0, NULL, &found) != 0)
		SKIP("tests/data is not here: set SRC");
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct dev *dev;

		if (only != NULL && strstr(found.gl_pathv[i], only) == NULL)
			continue;
		if (getenv("VERBOSE") != NULL)
			printf("# %s\n", found.gl_pathv[i]);
		load(found.gl_pathv[i], &dev);
		hostile_all(dev, found.gl_pathv[i]);
		dev_close(dev);
	}
	printf("# %u images: %u read, %u changed\n", hostile_count.images, hostile_count.read,
	       hostile_count.written);
	globfree(&found);
}

int main(void)
{
	return tap_main();
}
