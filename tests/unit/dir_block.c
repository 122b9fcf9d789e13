/* SPDX-License-Identifier: BSD-2-Clause */
/* Names in one folder block. */
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/dir_block.h"
#include "ondisk/super.h"

static const struct geom geom = {.block_size = 1024, .incompat = INCOMPAT_FILETYPE};

static int add(uint8_t *block, const char *name, uint32_t ino)
{
	uint32_t len = (uint32_t)strlen(name), at;
	int rc = dir_block_gap(&geom, block, name, len, &at);

	if (rc == 0)
		dir_block_fill(&geom, block, at, name, len, ino, DIRENT_FILE);
	return rc;
}

/* The inode that name leads to; 0 when there is none. */
static uint32_t find(uint8_t *block, const char *name)
{
	struct dirent_raw *e = dir_block_find(&geom, block, name, (uint32_t)strlen(name), NULL);

	return e != NULL ? le32_get(e->inode) : 0;
}

static void take_out(uint8_t *block, const char *name)
{
	struct dirent_raw *prev = NULL;
	struct dirent_raw *e = dir_block_find(&geom, block, name, (uint32_t)strlen(name), &prev);

	CHECK(e != NULL);
	if (e != NULL)
		dir_block_remove(&geom, e, prev);
}

TEST(names_that_differ_in_one_place_are_told_apart)
{
	for (size_t len = 1; len <= 40; len++) {
		uint8_t *block = malloc(1024);
		char name[64] = {0};
		uint32_t ino = 1;

		dir_block_init(&geom, block);
		memset(name, 'x', len);
		CHECK_INT(add(block, name, 100), 0);
		for (size_t at = 0; at < len && at < 20; at++, ino++) {
			name[at] = 'y';
			CHECK_INT(find(block, name), 0);
			CHECK_INT(add(block, name, ino), 0);
			CHECK_INT(find(block, name), ino);
			CHECK_INT(add(block, name, ino), -EEXIST);
			name[at] = 'x';
		}
		CHECK_INT(find(block, name), 100);
		name[len] = 'x';
		CHECK_INT(find(block, name), 0);
		free(block);
	}
}

TEST(a_removed_name_is_not_found_and_leaves_the_first_gap)
{
	uint8_t *block = malloc(1024);
	uint32_t at;

	dir_block_init(&geom, block);
	CHECK_INT(add(block, "first", 1), 0);
	CHECK_INT(add(block, "second-name", 2), 0);
	CHECK_INT(add(block, "third", 3), 0);
	take_out(block, "second-name");
	take_out(block, "first");
	CHECK_INT(find(block, "first"), 0);
	CHECK_INT(find(block, "second-name"), 0);
	CHECK_INT(dir_block_gap(&geom, block, "first", 5, &at), 0);
	CHECK_INT(at, 0);
	CHECK_INT(add(block, "first", 4), 0);
	CHECK_INT(find(block, "first"), 4);
	CHECK_INT(find(block, "third"), 3);
	free(block);
}

TEST(a_full_block_has_no_gap_but_knows_its_names)
{
	uint8_t *block = malloc(1024);
	char name[32];
	uint32_t n = 0, at;

	dir_block_init(&geom, block);
	do
		snprintf(name, sizeof(name), "%07u", n++);
	while (add(block, name, n) == 0);
	CHECK_INT(n - 1, 1024 / 16);
	CHECK_INT(dir_block_gap(&geom, block, "0000001", 7, &at), -EEXIST);
	CHECK_INT(dir_block_gap(&geom, block, "1", 1, &at), -ENOSPC);
	free(block);
}

int main(void)
{
	return tap_main();
}
