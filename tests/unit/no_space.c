/* SPDX-License-Identifier: BSD-2-Clause */
/* No room: in the image, where operations are refused and undone; on the host below a sparse image,
 * where the image must survive. */
#include "fs_faults.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "io/fault.h"

static const struct shape extents = {
    .size = 4 << 20, .block_size = 1024, .compat_on = COMPAT_ORPHAN_FILE};
static const struct shape pointers = {.size = 4 << 20,
				      .block_size = 1024,
				      .ro_compat_off = RO_COMPAT_METADATA_CSUM,
				      .incompat_off = INCOMPAT_EXTENTS | INCOMPAT_64BIT |
						      INCOMPAT_FLEX_BG | INCOMPAT_CSUM_SEED};
static const struct shape clusters = {.size = 16 << 20, .block_size = 1024, .cluster = 4};

/* Blocks and inodes that no file of the tree accounts for. */
static void account(struct ek_image *img, uint64_t *blocks, uint64_t *inodes)
{
	const struct geom *g = &img->geom;
	struct walk w;

	walk_tree(img, &w);
	if (w.errors != 0)
		TAP_FAIL("damaged: %s", w.first);
	*blocks = g->blocks - (w.sectors << 9 >> g->block_bits) -
		  (img->groups.space.free << g->cluster_bits);
	*inodes = g->inodes - img->groups.free_inodes - w.inodes;
}

/* A file takes all but about so many clusters. */
static int fill_up(struct scenario *s, struct ek_inode *inode, unsigned room)
{
	const struct space *space = &s->img->groups.space;
	uint64_t bs = s->img->geom.block_size;
	int rc = 0;

	while (rc == 0 && space->free > space->reserved + room) {
		struct map m = {.lblk = {(uint32_t)(inode->size / bs)}};
		struct handle *h;

		m.len = (uint32_t)(space->free - space->reserved - room)
			<< s->img->geom.cluster_bits;
		rc = task_start_inode(&s->t, inode, HANDLE_MAP_BLOCKS, map_credits(inode, 256, 1),
				      0, &h);
		if (rc < 0)
			break;
		rc = map_blocks(&s->t, inode, &m, MAP_CREATE | MAP_NO_NORMALIZE);
		if (rc == 0) {
			inode->size += m.len * bs;
			inode->rec.size = inode->size;
			rc = inode_mark_dirty(&s->t, inode, MARK_SETATTR);
		}
		rc = handle_end(h, rc);
	}
	return rc;
}

/* Leaves free blocks only for the scenario. */
static void work_with_little(unsigned room)
{
	struct diag d = {0};
	struct ek_image *img;
	struct dev *dev;
	uint64_t blocks, inodes, blocks_now, inodes_now;
	struct ek_inode *filler;
	int rc;

	fs_make(shape, &dev);
	CHECK_INT(fs_open(dev, IMAGE_WRITE, &d, &img), 0);
	account(img, &blocks, &inodes);
	memset(&faulty, 0, sizeof(faulty));
	faulty.img = img;
	task_init(&faulty.t, img);
	CHECK_INT(sc_create(&faulty, "/filler"), 0);
	CHECK_INT(sc_open(&faulty, "/filler", &filler), 0);
	rc = fill_up(&faulty, filler, room);
	inode_put(&faulty.t, filler);
	if (rc < 0)
		TAP_FAIL("filler: %d: %s", rc, img->diag.text);
	faulty.go_on = true;
	rc = sc_run(&faulty, img);
	if (rc < 0)
		TAP_FAIL("with %u blocks: %d: %s", room, rc, img->diag.text);
	account(img, &blocks_now, &inodes_now);
	if (blocks != blocks_now || inodes != inodes_now)
		TAP_FAIL("with %u blocks: %llu blocks and %llu inodes are lost", room,
			 (unsigned long long)(blocks_now - blocks),
			 (unsigned long long)(inodes_now - inodes));
	CHECK_INT(image_close(img), 0);
	if (have_e2fsck() && fs_e2fsck(dev) != 0)
		TAP_FAIL("with %u blocks e2fsck is not content", room);
	dev_close(dev);
}

TEST(an_image_that_is_nearly_full_refuses_and_loses_nothing)
{
	static const unsigned rooms[] = {0,  1,  2,  3,  4,  5,  6,  8,  10, 12,
					 15, 18, 22, 27, 33, 40, 55, 70, 90, 150};

	for (unsigned i = 0; i < ARRAY_SIZE(rooms); i++) {
		work_with_little(rooms[i]);
		CHECK(faulty.refused != 0 || rooms[i] >= 90);
	}
}

TEST(an_image_of_pointers_that_is_nearly_full_refuses_and_loses_nothing)
{
	shape = &pointers;
	for (unsigned room = 0; room < 90; room += room < 20 ? 1 : 7) {
		work_with_little(room);
		CHECK(faulty.refused != 0);
	}
	shape = &extents;
}

TEST(an_image_of_clusters_that_is_nearly_full_refuses_and_loses_nothing)
{
	shape = &clusters;
	for (unsigned room = 0; room < 60; room += room < 20 ? 1 : 7)
		work_with_little(room);
	shape = &extents;
}

TEST(a_device_without_room_is_told_and_leaves_a_whole_image)
{
	struct dev *base;

	learn_model(&base);
	for (unsigned n = 1;; n += 9) {
		struct dev *copy, *dev;
		struct outcome o;
		uint64_t hits;

		CHECK_INT(dev_open_overlay(base, &copy), 0);
		CHECK_INT(fault_open(copy, &dev), 0);
		fault_arm(dev,
			  &(struct fault){
			      .calls = FAULT_WRITE, .nth = n, .for_good = true, .error = ENOSPC});
		work(dev, &o);
		hits = fault_fired(dev);
		dev_close(dev);
		CHECK(hits == 0 || o.error != 0);
		check_outcome(copy, &o, "no room from", n);
		dev_close(copy);
		if (hits == 0)
			break;
	}
	dev_close(base);
}

static char folder[] = "/tmp/extkit-full-XXXXXX";

static void end_tmpfs(void)
{
	umount(folder);
	rmdir(folder);
}

/* A small tmpfs with the image in a sparse file; room: bytes beyond those that the file has. */
static void on_tmpfs(struct dev *from, unsigned room, char *path, size_t size)
{
	struct diag d = {0};
	struct dev *to;
	struct stat st;
	char options[64];
	static uint8_t chunk[4096];

	if (mkdtemp(folder) == NULL)
		SKIP("no place for a folder");
	if (mount("tmpfs", folder, "tmpfs", 0, "size=8m") < 0) {
		rmdir(folder);
		SKIP("tmpfs cannot be mounted here");
	}
	atexit(end_tmpfs);
	snprintf(path, size, "%s/image", folder);
	CHECK_INT(dev_open(path, DEV_WRITE | DEV_CREATE, &d, &to), 0);
	CHECK_INT(dev_resize(to, from->size), 0);
	for (uint64_t at = 0; at < from->size; at += sizeof(chunk)) {
		CHECK_INT(dev_read(from, at, chunk, sizeof(chunk)), 0);
		if (chunk[0] != 0 || memcmp(chunk, chunk + 1, sizeof(chunk) - 1) != 0)
			CHECK_INT(dev_write(to, at, chunk, sizeof(chunk)), 0);
	}
	dev_close(to);
	CHECK_INT(stat(path, &st), 0);
	snprintf(options, sizeof(options), "size=%llu",
		 (unsigned long long)st.st_blocks * 512 + room);
	CHECK_INT(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, options), 0);
}

TEST(a_sparse_image_on_a_full_host_is_told_of_and_survives)
{
	struct diag d = {0};
	struct dev *base, *dev;
	struct outcome o;
	char path[100];

	learn_model(&base);
	on_tmpfs(base, 200 << 10, path, sizeof(path));
	CHECK_INT(dev_open(path, DEV_WRITE, &d, &dev), 0);
	work(dev, &o);
	dev_close(dev);
	CHECK(o.error == -ENOSPC || o.error == -EROFS); /* the step that failed, or the next one */
	CHECK(strstr(d.text, path) != NULL);
	CHECK_INT(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=8m"), 0);
	CHECK_INT(dev_open(path, DEV_WRITE, &d, &dev), 0);
	check_outcome(dev, &o, "full host", 0);
	dev_close(dev);
	dev_close(base);
	end_tmpfs();
}

int main(void)
{
	shape = &extents;
	return tap_main();
}
