/* SPDX-License-Identifier: BSD-2-Clause */
/* Where names lie in an indexed folder: the expected leaves are those of Linux 6.18 for the same
 * names in the same order and the same hash seed (debugfs htree_dump). */
#include "fs_image.h"

#include "fs/dir.h"
#include "fs/htree.h"
#include "fs/namei.h"

static struct dev *dev;
static struct ek_image *img;
static struct ek_inode *folder;
static struct task task;
static struct diag diag;

static void start(uint32_t block_size)
{
	struct shape s = {.size = 16 << 20, .block_size = block_size};
	struct ek_inode *root;

	fs_make(&s, &dev);
	CHECK_INT(fs_open(dev, IMAGE_WRITE, &diag, &img), 0);
	task_init(&task, img);
	CHECK_INT(inode_get(img, (ek_inum){INUM_ROOT}, &root), 0);
	CHECK_INT(fs_mkdir(&task, root, "d", 1, 0755, &folder), 0);
	inode_put(&task, root);
}

static void stop(void)
{
	inode_put(&task, folder);
	CHECK_INT(image_close(img), 0);
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	dev_close(dev);
}

/* A digit, a hyphen, and letters up to len bytes. */
static const char *long_name(unsigned digit, char letter, uint32_t len)
{
	static char name[256];

	memset(name, letter, len);
	name[0] = (char)('0' + digit);
	name[1] = '-';
	name[len] = '\0';
	return name;
}

static void add(unsigned digit, char letter, uint32_t len)
{
	CHECK_INT(fs_create(&task, folder, long_name(digit, letter, len), len, 0644, NULL), 0);
}

/* The first bytes of the names in a block, in their order. */
static const char *first_bytes(uint32_t block)
{
	static char text[128];
	uint32_t at = 0, off = 0;
	struct buf *b;

	CHECK_INT(dir_block_get(&task, folder, block, &b), 0);
	while (off < dir_usable(&img->geom) && at + 1 < sizeof(text)) {
		const struct dirent_raw *e = (const struct dirent_raw *)(void *)(b->data + off);

		if (le32_get(e->inode) != 0)
			text[at++] = e->name[0];
		off += dir_rec_len(&img->geom, e);
	}
	text[at] = '\0';
	buf_put(b);
	return text;
}

TEST(free_room_behind_a_name_counts_when_its_leaf_is_divided)
{
	start(1024);
	for (unsigned i = 0; i < 9; i++)
		add(i, 'n', 100);
	CHECK_INT(fs_unlink(&task, folder, long_name(5, 'n', 100), 100), 0);
	CHECK_INT(fs_unlink(&task, folder, long_name(7, 'n', 100), 100), 0);
	CHECK_INT(folder->size, 1024);
	add(9, 'm', 240);
	CHECK_INT(folder->size, 3 * 1024);
	CHECK_STR(first_bytes(1), "01289");
	CHECK_STR(first_bytes(2), "364");
	stop();
}

int main(void)
{
	return tap_main();
}
