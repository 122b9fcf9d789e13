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
	uint32_t len = (uint32_t)strlen(name), from = 0, at;
	int rc = dir_block_gap(&geom, block, len, &from, &at);

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
	uint32_t from = 0, at;

	dir_block_init(&geom, block);
	CHECK_INT(add(block, "first", 1), 0);
	CHECK_INT(add(block, "second-name", 2), 0);
	CHECK_INT(add(block, "third", 3), 0);
	take_out(block, "second-name");
	take_out(block, "first");
	CHECK_INT(find(block, "first"), 0);
	CHECK_INT(find(block, "second-name"), 0);
	CHECK_INT(dir_block_gap(&geom, block, 5, &from, &at), 0);
	CHECK_INT(at, 0);
	CHECK_INT(add(block, "first", 4), 0);
	CHECK_INT(find(block, "first"), 4);
	CHECK_INT(find(block, "third"), 3);
	free(block);
}

TEST(a_search_goes_on_where_room_for_any_name_begins)
{
	uint8_t *block = malloc(1024);
	uint32_t from = 0, at;

	dir_block_init(&geom, block);
	CHECK_INT(add(block, "0123456789abcdef", 1), 0); /* 24 bytes from 0 */
	CHECK_INT(add(block, "two", 2), 0);              /* 12 bytes from 24 */
	CHECK_INT(add(block, "0123456789abcdee", 3), 0); /* 24 bytes from 36 */
	CHECK_INT(add(block, "four", 4), 0);             /* the rest from 60 */
	take_out(block, "two");                          /* its 12 bytes are the first entry's */
	CHECK_INT(dir_block_gap(&geom, block, 10, &from, &at), 0);
	CHECK_INT(at, 60);
	CHECK_INT(from, 0);
	CHECK_INT(add(block, "2", 5), 0);
	CHECK_INT(dir_block_gap(&geom, block, 10, &from, &at), 0);
	CHECK_INT(at, 60);
	CHECK_INT(from, 60);
	free(block);
}

TEST(a_full_block_has_no_gap_but_knows_its_names)
{
	uint8_t *block = malloc(1024);
	char name[32];
	uint32_t n = 0, from = 0, at;

	dir_block_init(&geom, block);
	do
		snprintf(name, sizeof(name), "%07u", n++);
	while (add(block, name, n) == 0);
	CHECK_INT(n - 1, 1024 / 16);
	CHECK_INT(find(block, "0000001"), 2);
	CHECK_INT(dir_block_gap(&geom, block, 1, &from, &at), -ENOSPC);
	CHECK_INT(from, 0);
	free(block);
}

int main(void)
{
	return tap_main();
}
