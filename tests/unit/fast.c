/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast commits on whole images: what comes back, that a power cut while they are applied costs
 * nothing, and that no log does harm however it was garbled.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/crc.h"
#include "fs/image.h"
#include "fs_walk.h"
#include "io/fault.h"
#include "journal_image.h"
#include "ondisk/jbd2.h"

static const struct image_opts reader;
static struct image_opts writer = {.flags = IMAGE_WRITE, .now = {1800000000, 0}};

static struct diag diag;

/* ---- power cuts ---- */

/* The filesystem's bytes without the log and the superblock, which count mounts and commits. */
static uint32_t sum_of(struct dev *dev)
{
	uint8_t *block = malloc(im.geom.block_size);
	uint32_t crc = ~0u;

	CHECK(block != NULL);
	for (uint64_t b = 0; b < im.geom.blocks; b++) {
		bool log = b == SUPER_OFFSET / im.geom.block_size;

		for (unsigned i = 0; i < im.cfg.run_count && !log; i++)
			log = b >= im.runs[i].pblk && b - im.runs[i].pblk < im.runs[i].len;
		if (log)
			continue;
		CHECK_INT(dev_read(dev, b << im.geom.block_bits, block, im.geom.block_size), 0);
		crc = crc32c(crc, block, im.geom.block_size);
	}
	free(block);
	return crc;
}

static int recover(struct dev *dev)
{
	struct ek_image *img;
	int rc;

	diag_clear(&diag);
	rc = image_open(dev, &writer, &diag, &img);
	return rc < 0 ? rc : image_close(img);
}

/* The nth write and all that follow it are lost: false when there were fewer. */
static bool cut_at(struct dev *under, unsigned n)
{
	struct fault plan = {.calls = FAULT_WRITE, .nth = n, .for_good = true, .error = EIO};
	struct dev *faulty;
	bool fired;

	CHECK_INT(fault_open(under, &faulty), 0);
	fault_arm(faulty, &plan);
	recover(faulty);
	fired = fault_fired(faulty) != 0;
	dev_close(faulty);
	return fired;
}

static void survives_cuts(const char *name)
{
	struct dev *whole;
	uint32_t want;
	unsigned n = 1;

	load(name);
	CHECK_INT(dev_open_overlay(im.dev, &whole), 0);
	CHECK_INT(recover(whole), 0);
	want = sum_of(whole);
	dev_close(whole);
	for (bool cut = true; cut; n++) {
		struct dev *over;

		CHECK_INT(dev_open_overlay(im.dev, &over), 0);
		cut = cut_at(over, n);
		CHECK_INT(recover(over), 0);
		CHECK_INT(sum_of(over), want);
		dev_close(over);
	}
	printf("# %s: %u places\n", name, n);
	CHECK(n > 20);
	unload();
}

TEST(a_power_cut_while_fast_commits_are_applied_costs_nothing)
{
	survives_cuts("images/kernel-fc-open");
	survives_cuts("images/b5-ext4fc");
	survives_cuts("images/kernel-fc-clusters");
	survives_cuts("images/kernel-fc-pointers");
}

/* Names, sizes, contents and blocks of files, and what is free; the versions of folders may differ.
 */
static uint64_t tree_of(struct dev *dev, unsigned step)
{
	const struct image_opts opts = {.fast_step = step};
	struct ek_image *img;
	struct walk w = {0};
	uint64_t digest;

	CHECK_INT(image_open(dev, &opts, &diag, &img), 0);
	walk_tree(img, &w);
	CHECK_INT(w.errors, 0);
	digest = mix_number(mix_number(w.digest, w.sectors), img->groups.space.free);
	CHECK_INT(image_close(img), 0);
	return digest;
}

/* meanwhile, if any, changes what the cut has left. */
static void survives_cuts_between_steps(const char *name, unsigned step,
					void (*meanwhile)(struct dev *over))
{
	struct dev *whole;
	uint64_t want;
	unsigned n = 1;

	load(name);
	CHECK_INT(dev_open_overlay(im.dev, &whole), 0);
	CHECK_INT(recover(whole), 0);
	want = tree_of(whole, 0);
	dev_close(whole);
	CHECK(tree_of(im.dev, step) == want); /* a reader, in memory */
	writer.fast_step = step;
	for (bool cut = true; cut; n++) {
		struct dev *over;

		CHECK_INT(dev_open_overlay(im.dev, &over), 0);
		cut = cut_at(over, n);
		if (meanwhile != NULL && cut)
			meanwhile(over);
		CHECK_INT(recover(over), 0);
		CHECK(tree_of(over, 0) == want);
		if (have_e2fsck() && n % 16 == 0)
			CHECK_INT(fs_e2fsck(over), 0);
		dev_close(over);
	}
	writer.fast_step = 0;
	printf("# %s, steps of %u: %u places\n", name, step, n);
	CHECK(n > 50);
	unload();
}

/* After a cut the next opening applies in steps again, over what the one before has brought home:
 * with steps of one block that is after every record. */
TEST(a_power_cut_between_steps_of_fast_commits_costs_nothing)
{
	survives_cuts_between_steps("images/kernel-fc-open", 1, NULL);
	survives_cuts_between_steps("images/kernel-fc-open", 7, NULL);
	survives_cuts_between_steps("images/b5-ext4fc", 1, NULL);
	survives_cuts_between_steps("images/b5-ext4fc", 5, NULL);
	survives_cuts_between_steps("images/kernel-fc-clusters", 3, NULL);
	survives_cuts_between_steps("images/kernel-fc-pointers", 3, NULL);
}

/* ---- garbled logs ---- */

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * n >> 32);
}

static uint64_t place_of(uint32_t lblk)
{
	for (unsigned i = 0; i < im.cfg.run_count; i++) {
		const struct jnl_run *r = &im.runs[i];

		if (lblk >= r->lblk && lblk - r->lblk < r->len)
			return (r->pblk + lblk - r->lblk) << im.geom.block_bits;
	}
	CHECK(false); /* no block of the log */
	return 0;
}

static struct area {
	uint32_t first, blocks; /* of the log, the unused first one left out */
	uint8_t bytes[1 << 20];
} area;

static void load_area(void)
{
	struct jbd2_super sb;

	CHECK_INT(dev_read(im.dev, place_of(0), &sb, sizeof(sb)), 0);
	area.blocks = be32_get(sb.s_num_fc_blks) - 1;
	area.first = be32_get(sb.s_maxlen) - area.blocks;
	CHECK(area.blocks * im.geom.block_size <= sizeof(area.bytes));
	for (uint32_t i = 0; i < area.blocks; i++)
		CHECK_INT(dev_read(im.dev, place_of(area.first + i),
				   area.bytes + (size_t)i * im.geom.block_size, im.geom.block_size),
			  0);
}

/* Calls fn for each record up to the first that is none; pos is that of its header. */
typedef void record_fn(uint8_t *at, uint32_t tag, uint32_t len, void *ctx);

static void each_record(record_fn *fn, void *ctx)
{
	for (uint32_t i = 0; i < area.blocks; i++) {
		uint8_t *block = area.bytes + (size_t)i * im.geom.block_size;

		for (uint32_t at = 0; at + 4 <= im.geom.block_size;) {
			uint32_t tag = get32(block + at) & 0xffff;
			uint32_t len = get32(block + at) >> 16;

			if (tag < 1 || tag > 9 || len > im.geom.block_size - at - 4)
				return;
			fn(block + at, tag, len, ctx);
			at += 4 + len;
		}
	}
}

static void reseal(uint8_t *at, uint32_t tag, uint32_t len, void *ctx)
{
	uint32_t *crc = ctx;
	le32 sum;

	if (tag != JBD2_FC_TAIL || len < 8) {
		*crc = crc32c(*crc, at, 4 + len);
		return;
	}
	sum = le32_make(crc32c(*crc, at, 8));
	memcpy(at + 8, &sum, sizeof(sum));
	*crc = 0;
}

struct victim {
	uint32_t left;
	bool lengths; /* lengths too */
};

/* Changes a few bytes of every left-th record, mostly among the first. */
static void garble(uint8_t *at, uint32_t tag, uint32_t len, void *ctx)
{
	struct victim *v = ctx;
	uint32_t n = 1 + random_below(3);

	if (random_below(v->left) != 0)
		return;
	if (tag == JBD2_FC_HEAD || tag == JBD2_FC_TAIL || len == 0)
		return;
	while (n-- > 0) {
		uint32_t where =
		    random_below(2) ? random_below(len < 24 ? len : 24) : random_below(len);

		if (random_below(3) != 0)
			at[4 + where] = (uint8_t)random_below(256);
		else
			at[4 + where] ^= (uint8_t)(1u << random_below(8));
	}
	if (v->lengths && random_below(4) == 0)
		at[random_below(4)] = (uint8_t)random_below(16);
}

static void write_area(struct dev *dev)
{
	uint32_t crc = 0;

	each_record(reseal, &crc);
	for (uint32_t i = 0; i < area.blocks; i++)
		CHECK_INT(dev_write(dev, place_of(area.first + i),
				    area.bytes + (size_t)i * im.geom.block_size,
				    im.geom.block_size),
			  0);
}

static void spoil(struct dev *dev)
{
	struct victim v = {.left = 1 + random_below(12), .lengths = random_below(3) == 0};

	load_area();
	each_record(garble, &v);
	write_area(dev);
}

static void survives_garbling(const char *name, unsigned rounds)
{
	unsigned refused = 0;

	load(name);
	for (unsigned i = 0; i < rounds; i++) {
		struct dev *spoilt, *over;
		struct ek_image *img;
		int rc, again;

		CHECK_INT(dev_open_overlay(im.dev, &spoilt), 0);
		spoil(spoilt);
		CHECK_INT(dev_open_overlay(spoilt, &over), 0);
		diag_clear(&diag);
		rc = image_open(over, &reader, &diag, &img);
		if (rc == 0)
			CHECK_INT(image_close(img), 0);
		CHECK_INT(over->stats.writes, 0);
		if (rc < 0 && diag.text[0] == '\0')
			printf("# round %u: %d without a story\n", i, rc);
		CHECK(rc == 0 || diag.text[0] != '\0');
		writer.fast_step = i % 4; /* in one piece, or in steps */
		again = recover(over);
		CHECK(rc == 0 || again < 0);
		refused += rc < 0;
		dev_close(over);
		dev_close(spoilt);
	}
	writer.fast_step = 0;
	printf("# %s: %u of %u refused\n", name, refused, rounds);
	CHECK(refused > 0 && refused < rounds);
	unload();
}

TEST(garbled_fast_commits_with_right_checksums_are_refused_or_applied)
{
	survives_garbling("images/kernel-fc-open", 700);
	survives_garbling("images/b5-ext4fc", 500);
	survives_garbling("images/kernel-fc-clusters", 300);
	survives_garbling("images/kernel-fc-pointers", 300);
	survives_garbling("images/kernel-dirty-fastcommit", 80);
}

/* ---- what another time left ---- */

/* Inodes that are made by records: an INODE, ranges, and the CREATE of one number. */
struct births {
	uint32_t last, count, ino[64];
};

static void note_birth(uint8_t *at, uint32_t tag, uint32_t len, void *ctx)
{
	struct births *b = ctx;

	(void)len;
	if (tag == JBD2_FC_INODE)
		b->last = get32(at + 4);
	else if (tag == JBD2_FC_CREATE && get32(at + 8) == b->last && b->count < 64)
		b->ino[b->count++] = b->last;
}

/* The log's inodes get another generation than those that an earlier replay made. */
static void change_generation(uint8_t *at, uint32_t tag, uint32_t len, void *ctx)
{
	const struct births *b = ctx;

	(void)len;
	for (uint32_t i = 0; tag == JBD2_FC_INODE && i < b->count; i++) {
		if (b->ino[i] == get32(at + 4)) {
			at[8 + offsetof(struct inode_raw, i_generation)] ^= 0x55;
			return;
		}
	}
}

static void renew_generations(struct dev *over)
{
	struct births b = {0};

	load_area();
	each_record(note_birth, &b);
	CHECK(b.count != 0);
	each_record(change_generation, &b);
	write_area(over);
}

TEST(an_inode_that_another_life_left_under_the_number_ends_before_the_new_one)
{
	survives_cuts_between_steps("images/b5-ext4fc", 1, renew_generations);
	survives_cuts_between_steps("images/kernel-fc-clusters", 3, renew_generations);
}

static void name_dots(uint8_t *at, uint32_t tag, uint32_t len, void *ctx)
{
	(void)ctx;
	if (tag == JBD2_FC_CREATE && len == 10)
		memcpy(at + 12, "..", 2);
}

TEST(dots_are_no_names_of_fast_commits)
{
	struct dev *over;

	load("images/b5-ext4fc");
	CHECK_INT(dev_open_overlay(im.dev, &over), 0);
	load_area();
	each_record(name_dots, NULL);
	write_area(over);
	CHECK_INT(recover(over), -EUCLEAN);
	dev_close(over);
	unload();
}

/* The inode's slot on disk; false when it is not in use. */
static bool get_links(struct dev *dev, uint32_t ino, uint16_t *ret, uint16_t set)
{
	uint8_t raw[1024];
	struct inode_raw *r = (struct inode_raw *)(void *)raw;
	struct ek_image *img;
	uint64_t at;

	CHECK_INT(image_open(dev, &reader, &diag, &img), 0);
	at = (img->groups.desc[0].inode_table.v << im.geom.block_bits) +
	     (uint64_t)(ino - 1) * im.geom.inode_size;
	CHECK_INT(image_close(img), 0);
	CHECK_INT(dev_read(dev, at, raw, im.geom.inode_size), 0);
	*ret = le16_get(r->i_links_count);
	if (*ret == 0 || set == 0)
		return *ret != 0;
	r->i_links_count = le16_make(set);
	inode_seal(&im.geom, (ek_inum){ino}, raw);
	CHECK_INT(dev_write(dev, at, raw, im.geom.inode_size), 0);
	return true;
}

/* Folder 12 gets another folder in it.  As long as the ordinary log goes over it, what is set here
 * is lost; later the new folder counts already. */
TEST(a_folder_that_cannot_count_its_subfolders_has_one_link)
{
	bool many = false;

	load("images/kernel-fc-pointers");
	writer.fast_step = 1;
	for (unsigned n = 1; n < 60; n++) {
		struct dev *over;
		uint16_t links;

		CHECK_INT(dev_open_overlay(im.dev, &over), 0);
		cut_at(over, n);
		if (get_links(over, 12, &links, 64999)) {
			CHECK_INT(recover(over), 0);
			CHECK(get_links(over, 12, &links, 0));
			CHECK(links < 65000);
			many = many || links == 1;
		}
		dev_close(over);
	}
	writer.fast_step = 0;
	CHECK(many);
	unload();
}

int main(void)
{
	return tap_main();
}
