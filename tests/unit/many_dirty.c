/* SPDX-License-Identifier: BSD-2-Clause */
/* More files with dirty data than the cache of inodes keeps when nobody holds them. */
#include "fs_image.h"

#include "fs/file.h"
#include "fs/namei.h"
#include "pagecache/pagecache.h"

#define FILES 9000u
#define BYTES 600u

static struct diag diag;
static struct task task;
static uint8_t bytes[BYTES];

#define OK(call)                                                                        \
	do {                                                                            \
		int64_t ok_rc = (call);                                                 \
		if (ok_rc < 0)                                                          \
			TAP_FAIL("%s: %d: %s", #call, (int)ok_rc, task.img->diag.text); \
	} while (0)

static void name_of(unsigned i, char name[16])
{
	snprintf(name, 16, "f%u", i);
	memset(bytes, (int)(i % 251 + 1), sizeof(bytes));
}

static void write_file(struct ek_inode *root, unsigned i)
{
	struct pc_source src = {bytes, 0};
	struct ek_inode *f;
	char name[16];

	name_of(i, name);
	OK(fs_create(&task, root, name, (uint32_t)strlen(name), 0644, &f));
	OK(pc_opened(&task, f, true));
	CHECK_INT(pc_write(&task, f, 0, BYTES, &src, 0), BYTES);
	OK(pc_closed(&task, f, true));
	inode_put(&task, f);
}

static void check_file(unsigned i)
{
	uint8_t got[BYTES];
	struct ek_inode *f;
	char path[17] = "/";
	size_t n = 0;

	name_of(i, path + 1);
	OK(path_walk(&task, path, 0, &f));
	CHECK_INT(f->size, BYTES);
	OK(file_read(&task, f, 0, got, BYTES, &n));
	CHECK(n == BYTES && memcmp(got, bytes, BYTES) == 0);
	inode_put(&task, f);
}

static void open_image(struct dev *dev, struct ek_image **img)
{
	OK(fs_open(dev, IMAGE_WRITE, &diag, img));
	task_init(&task, *img);
}

TEST(files_that_nobody_holds_keep_their_dirty_data)
{
	static const struct shape s = {.size = 200u << 20, .block_size = 1024};
	struct pc_config cfg = {.memory = 512u << 20};
	struct pagecache *pc;
	struct ek_inode *root;
	struct ek_image *img;
	struct dev *dev;

	fs_make(&s, &dev);
	open_image(dev, &img);
	OK(pc_open(img, &task, &cfg, &diag, &pc));
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
	for (unsigned i = 0; i < FILES; i++)
		write_file(root, i);
	inode_put(&task, root);
	OK(pc_sync(&task));
	pc_close(pc);
	OK(image_close(img));
	open_image(dev, &img);
	for (unsigned i = 0; i < FILES; i++)
		check_file(i);
	OK(image_close(img));
	dev_close(dev);
}

int main(void)
{
	return tap_main();
}
