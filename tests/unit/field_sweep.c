/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every field of every structure of an image, set to each of eight values with its checksum right
 * again: whatever the bytes say, reading and changing the image must end, and end well.
 */
#include "fs_hostile.h"
#include "fs_scenario.h"

#include "base/crc.h"
#include "fs/dir_block.h"
#include "fs/extent.h"
#include "fs/orphan_file.h"
#include "fs/xattr_format.h"
#include "ondisk/field.h"
#include "ondisk/super.h"

#define TARGETS_MAX 600u

/* One structure on the device, and what must be sealed after a change. */
struct target {
	const struct field_table *table;
	uint64_t at; /* of the structure, bytes */
	enum { SEAL_NONE, SEAL_SUPER, SEAL_GROUP, SEAL_INODE, SEAL_BLOCK, SEAL_LOG } seal;
	uint64_t unit; /* of what is sealed, bytes */
	const struct verifier *ver;
	struct buf_owner owner;
	uint32_t number; /* of the group or inode */
};

static struct target targets[TARGETS_MAX];
static unsigned target_count;
static struct geom geom;

static void add(const struct target *t, const struct field_table *table, uint64_t at)
{
	CHECK(target_count < TARGETS_MAX);
	targets[target_count] = *t;
	targets[target_count].table = table;
	targets[target_count].at = at;
	target_count++;
}

/* ---- finding structures ---- */

static void add_node(const struct target *t, const struct extent_node *n, uint64_t at)
{
	const struct field_table *entry =
	    extent_depth(n) == 0 ? &field_extent_leaf : &field_extent_index;
	unsigned count = extent_entries(n);

	add(t, &field_extent_header, at);
	for (unsigned i = 0; i < count && i < 3; i++)
		add(t, entry, at + 12 + 12u * (i < 2 ? i : count - 1));
}

/* A pointer in an inode or in a block of pointers. */
static const struct field pointer_rows[] = {{"block", 0, 4, FIELD_BLOCK, "", ""}};
static const struct field_table field_pointer = {"pointer", 4, false, pointer_rows, 1};

static void add_pointers(const struct target *inode, struct ek_inode *f)
{
	const le32 *p = (const le32 *)(const void *)f->rec.block;
	struct target t = {.seal = SEAL_NONE};

	if (f->rec.blocks == 0 || inode_is_fast_symlink(f) || inode_is_inline(f))
		return;
	add(inode, &field_pointer, inode->at + 40);
	add(inode, &field_pointer, inode->at + 40 + 4 * 12);
	if (le32_get(p[12]) == 0)
		return;
	t.unit = (uint64_t)le32_get(p[12]) << geom.block_bits;
	add(&t, &field_pointer, t.unit);
	add(&t, &field_pointer, t.unit + 4);
}

static void add_extents(struct ek_image *img, const struct target *inode, struct ek_inode *f)
{
	const struct extent_node *root = (const struct extent_node *)(const void *)f->rec.block;
	struct target t = {
	    .seal = SEAL_BLOCK, .ver = &verify_extent_block, .owner = inode_owner(f)};
	static uint8_t block[4096];

	if (!inode_has_extents(f)) {
		add_pointers(inode, f);
		return;
	}
	add_node(inode, root, inode->at + 40);
	if (extent_depth(root) == 0)
		return;
	t.unit = extent_child(&root->e.index[0]) << geom.block_bits;
	CHECK_INT(dev_read(img->dev, t.unit, block, geom.block_size), 0);
	add_node(&t, (const struct extent_node *)(const void *)block, t.unit);
}

static void add_index(const struct target *t, const uint8_t *block)
{
	bool root = dir_rec_len(&geom, (const struct dirent_raw *)(const void *)block) == 12;

	add(t, root ? &field_dx_root : &field_dx_node, t->unit);
	add(t, &field_dx_entry, t->unit + (root ? 40 : 16));
}

/* Names that lie in the inode: behind the number of the folder above. */
static void add_inline_folder(const struct target *inode, const struct ek_inode *dir)
{
	uint32_t off = 4;

	for (unsigned n = 0; n < 4 && off + 8 <= INODE_BLOCK_BYTES; n++) {
		const struct dirent_raw *e =
		    (const struct dirent_raw *)(const void *)(dir->rec.block + off);

		add(inode, &field_dirent, inode->at + 40 + off);
		off += MAX(dir_rec_len(&geom, e), 8u);
	}
}

static void add_folder(struct ek_image *img, struct ek_inode *dir)
{
	struct target t = {.seal = SEAL_BLOCK, .ver = &verify_dir_block, .owner = inode_owner(dir)};
	static uint8_t block[4096];
	struct task task;

	task_init(&task, img);
	for (uint32_t i = 0; i < 3 && i < dir->size >> geom.block_bits; i++) {
		struct map m = {.lblk = {i}, .len = 1};
		unsigned n = 0;

		CHECK_INT(map_lookup(&task, dir, &m), 0);
		t.unit = m.pblk.v << geom.block_bits;
		CHECK_INT(dev_read(img->dev, t.unit, block, geom.block_size), 0);
		if (dir_block_is_index(&geom, block)) {
			add_index(&t, block);
			continue;
		}
		for (uint32_t off = 0; off < dir_usable(&geom) && n < 4; n++) {
			add(&t, &field_dirent, t.unit + off);
			off += dir_rec_len(&geom,
					   (const struct dirent_raw *)(const void *)(block + off));
		}
		if (geom_csum(&geom))
			add(&t, &field_dir_tail, t.unit + dir_usable(&geom));
	}
}

static void add_attributes(const struct target *inode, struct ek_inode *f)
{
	struct target t = {.seal = SEAL_BLOCK, .ver = &verify_xattr_block};

	if (geom.inode_size > 128)
		add(inode, &field_xattr_entry, inode->at + 128 + f->rec.extra_isize + 4);
	if (f->rec.file_acl == 0)
		return;
	t.unit = f->rec.file_acl << geom.block_bits;
	add(&t, &field_xattr_block, t.unit);
	add(&t, &field_xattr_entry, t.unit + XATTR_BLOCK_HEAD);
}

static void add_first_block(struct ek_image *img, struct ek_inode *f, struct target *t,
			    const struct field_table *table, uint32_t off)
{
	struct map m = {.lblk = {0}, .len = 1};
	struct task task;

	task_init(&task, img);
	CHECK_INT(map_lookup(&task, f, &m), 0);
	t->unit = m.pblk.v << geom.block_bits;
	add(t, table, t->unit + off);
}

static void add_inode(struct ek_image *img, uint32_t i)
{
	uint32_t index = (i - 1) % geom.inodes_per_group;
	uint64_t table = img->groups.desc[geom_inode_group(&geom, (ek_inum){i})].inode_table.v;
	struct target t = {.seal = SEAL_INODE, .number = i};
	struct target log = {.seal = SEAL_LOG}, orphans = {.seal = SEAL_BLOCK};
	struct ek_inode *f;

	if (inode_get(img, (ek_inum){i}, &f) < 0)
		return;
	t.unit = (table << geom.block_bits) + (uint64_t)index * geom.inode_size;
	t.at = t.unit;
	add(&t, &field_inode, t.unit);
	add_extents(img, &t, f);
	add_attributes(&t, f);
	if (inode_is_dir(f) && inode_is_inline(f))
		add_inline_folder(&t, f);
	else if (inode_is_dir(f))
		add_folder(img, f);
	if (i == INUM_JOURNAL)
		add_first_block(img, f, &log, &field_log_super, 0);
	if (i == geom.orphan_inum) {
		orphans.ver = orphan_block_verifier();
		orphans.owner = inode_owner(f);
		add_first_block(img, f, &orphans, &field_orphan_tail, geom.block_size - 8);
	}
	inode_put(NULL, f);
}

static void find_targets(struct dev *dev)
{
	struct target t = {.seal = SEAL_SUPER, .unit = SUPER_OFFSET};
	struct diag d = {0};
	struct ek_image *img;

	CHECK_INT(fs_open(dev, 0, &d, &img), 0);
	geom = img->geom;
	geom.zones = NULL;
	target_count = 0;
	add(&t, &field_super, SUPER_OFFSET);
	for (uint32_t g = 0; g < geom.groups && g < 2; g++) {
		t = (struct target){.seal = SEAL_GROUP, .number = g};
		t.unit =
		    (geom_gdt_block(&geom, 0).v << geom.block_bits) + (uint64_t)g * geom.desc_size;
		add(&t, &field_group, t.unit);
	}
	for (uint32_t i = 1; i <= geom.inodes && target_count < TARGETS_MAX - 40; i++)
		add_inode(img, i);
	CHECK_INT(image_close(img), 0);
}

/* ---- damage ---- */

static void seal_group(uint32_t number, uint8_t *raw)
{
	le32 group = le32_make(number);
	uint32_t c;

	raw[30] = raw[31] = 0;
	c = crc32c(crc32c(geom.csum_seed, &group, 4), raw, geom.desc_size);
	raw[30] = (uint8_t)c;
	raw[31] = (uint8_t)(c >> 8);
}

static void seal_log(uint8_t *raw)
{
	const struct field *f = field_named(&field_log_super, "s_checksum");

	field_set(&field_log_super, f, raw, 0);
	field_set(&field_log_super, f, raw, crc32c(~0u, raw, 1024));
}

static uint32_t unit_size(const struct target *t)
{
	return t->seal == SEAL_BLOCK || t->seal == SEAL_NONE ? geom.block_size
	       : t->seal == SEAL_INODE                       ? geom.inode_size
	       : t->seal == SEAL_GROUP                       ? geom.desc_size
							     : 1024;
}

/* Seals may look beyond the unit when its own numbers say so: there is room. */
static void seal(const struct target *t, uint8_t *raw)
{
	struct buf b = {.pblk = {t->unit >> geom.block_bits},
			.data = raw,
			.size = geom.block_size,
			.owner = t->owner};

	if (t->seal == SEAL_NONE || (t->seal == SEAL_GROUP && !geom_gdt_csum(&geom)) ||
	    (t->seal == SEAL_LOG && !geom_csum(&geom)))
		return;
	if (t->seal == SEAL_SUPER)
		super_seal((struct super_raw *)(void *)raw);
	else if (t->seal == SEAL_GROUP)
		seal_group(t->number, raw);
	else if (t->seal == SEAL_INODE)
		inode_seal(&geom, (ek_inum){t->number}, raw);
	else if (t->seal == SEAL_LOG)
		seal_log(raw);
	else
		t->ver->seal(&geom, &b);
}

static uint64_t damaged(uint64_t was, unsigned bits, unsigned way, uint64_t random)
{
	switch (way) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return was ^ 1ull << (bits - 1);
	case 3:
		return was ^ 1ull << bits / 2;
	case 4:
		return was ^ 1;
	case 5:
		return was + 1;
	case 6:
		return was - 1;
	default:
		return random;
	}
}

static void set_bytes(uint8_t *p, unsigned n, unsigned way, uint64_t random)
{
	for (unsigned i = 0; i < n; i++) {
		p[i] = (uint8_t)damaged(p[i], 8, way, random >> 8 * (i % 8));
		if (way >= 2 && way < 7)
			return;
	}
}

static void try(struct dev *base, const struct target *t, const struct field *f, unsigned way)
{
	static uint8_t raw[1 << 20];
	static uint64_t random = 88172645463325252ull;
	uint8_t *at = raw + (t->at - t->unit);
	struct dev *dev;
	char name[100];

	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	memset(raw, 0, sizeof(raw));
	CHECK_INT(dev_read(base, t->unit, raw, unit_size(t)), 0);
	if (field_is_number(f))
		field_set(t->table, f, at,
			  damaged(field_get(t->table, f, at), 8u * f->size, way, random));
	else
		set_bytes(at + f->offset, f->size, way, random);
	if (f->kind != FIELD_CSUM)
		seal(t, raw);
	CHECK_INT(dev_open_overlay(base, &dev), 0);
	CHECK_INT(dev_write(dev, t->unit, raw, unit_size(t)), 0);
	snprintf(name, sizeof(name), "%s.%s of %u way %u at %llu", t->table->name, f->name,
		 t->number != 0 ? t->number : t->owner.ino, way, (unsigned long long)t->at);
	if (getenv("VERBOSE") != NULL)
		fprintf(stderr, "%s\n", name);
	hostile_all(dev, name);
	dev_close(dev);
}

static void make_base(const struct shape *shape, struct dev **ret)
{
	static struct scenario sc;
	struct diag d = {0};
	struct ek_image *img;

	fs_make(shape, ret);
	CHECK_INT(fs_open(*ret, IMAGE_WRITE, &d, &img), 0);
	sc.after = NULL;
	CHECK_INT(sc_run(&sc, img), 0);
	task_init(&sc.t, img);
	CHECK_INT(sc_create(&sc, "/tree"), 0);
	for (uint32_t i = 0; i < 12; i++)
		CHECK_INT(sc_write(&sc, "/tree", i * 3, 1, 't'), 0);
	CHECK_INT(sc_setxattr(&sc, "/tree", "user.in-the-block", 300), 0);
	CHECK_INT(sc_symlink(&sc, "/slow",
			     "a/target/of/more/than/sixty/bytes/that/does/not/fit/the/inode"),
		  0);
	CHECK_INT(image_close(img), 0);
}

/* In "make check" each field of each structure gets one of the ways, in "make check-slow" all. */
static void sweep(const struct shape *shape)
{
	bool slow = getenv("EXTKIT_SLOW") != NULL;
	const char *only = getenv("ONLY");
	unsigned cases = 0, turn = 0;
	struct dev *dev;

	tap_one_thread();
	memset(&hostile_count, 0, sizeof(hostile_count));
	make_base(shape, &dev);
	find_targets(dev);
	for (unsigned i = 0; i < target_count; i++) {
		const struct field_table *t = targets[i].table;

		if (only != NULL && strcmp(only, t->name) != 0)
			continue;
		for (unsigned k = 0; k < t->count; k++) {
			for (unsigned way = turn++ % 8; way < 8; way += slow ? 1 : 8) {
				try(dev, &targets[i], &t->fields[k], way);
				cases++;
			}
			if (slow)
				turn = 0;
		}
	}
	printf("# %u structures, %u cases: %u read, %u changed\n", target_count, cases,
	       hostile_count.read, hostile_count.written);
	/* most damage lies where only those who come by meet it */
	CHECK(only != NULL ||
	      (cases > 500 && hostile_count.read > cases / 2 && hostile_count.written > cases / 2));
	dev_close(dev);
}

TEST(no_value_of_any_field_crashes_or_hangs)
{
	static const struct shape s = {
	    .size = 3 << 20, .block_size = 1024, .compat_on = COMPAT_ORPHAN_FILE};

	sweep(&s);
}

TEST(no_value_of_any_field_of_inline_data_crashes_or_hangs)
{
	static const struct shape s = {.size = 3 << 20,
				       .block_size = 1024,
				       .inode_size = 512,
				       .incompat_on = INCOMPAT_INLINE_DATA | INCOMPAT_EA_INODE};

	sweep(&s);
}

TEST(no_value_of_any_field_of_clusters_crashes_or_hangs)
{
	static const struct shape s = {.size = 8 << 20, .block_size = 1024, .cluster = 4};

	sweep(&s);
}

TEST(no_value_of_any_field_without_extents_crashes_or_hangs)
{
	static const struct shape s = {
	    .size = 3 << 20,
	    .block_size = 1024,
	    .inode_size = 128,
	    .incompat_off = INCOMPAT_EXTENTS | INCOMPAT_64BIT | INCOMPAT_FLEX_BG,
	    .ro_compat_off = RO_COMPAT_METADATA_CSUM | RO_COMPAT_EXTRA_ISIZE | RO_COMPAT_HUGE_FILE};

	sweep(&s);
}

TEST(no_value_of_any_field_without_a_log_crashes_or_hangs)
{
	static const struct shape s = {.size = 3 << 20,
				       .block_size = 2048,
				       .compat_off = COMPAT_HAS_JOURNAL | COMPAT_RESIZE_INODE,
				       .incompat_on = INCOMPAT_META_BG | INCOMPAT_LARGEDIR};

	sweep(&s);
}

/* ---- one special value ---- */

TEST(an_entry_that_reaches_over_the_checksum_is_refused)
{
	static uint8_t raw[1024];
	static const struct shape s = {.size = 3 << 20, .block_size = 1024};
	struct buf b = {.data = raw, .size = sizeof(raw)};
	struct dirent_raw *e = (struct dirent_raw *)(void *)raw;
	struct dev *dev;
	struct diag d = {0};

	make_base(&s, &dev);
	find_targets(dev);
	dir_block_init(&geom, raw);
	verify_dir_block.seal(&geom, &b);
	CHECK_INT(verify_dir_block.check(&geom, &b, &d), 0);
	dir_set_rec_len(&geom, e, 1024);
	verify_dir_block.seal(&geom, &b);
	CHECK_INT(verify_dir_block.check(&geom, &b, &d), -EUCLEAN);
	CHECK(strstr(d.text, "rec_len 1024 exceeds the room 1012") != NULL);
	dev_close(dev);
}

/* ---- bitmaps ---- */

/* Byte at of group 0's bitmap takes another value; the descriptor's checksums follow. */
static void try_bitmap(struct dev *base, const struct group_desc *x, bool inodes, uint32_t at,
		       uint8_t value)
{
	static uint8_t map[4096], raw[64];
	struct group_desc y = *x;
	uint64_t gdt = geom_gdt_block(&geom, 0).v << geom.block_bits;
	uint64_t where = (inodes ? x->inode_bitmap.v : x->block_bitmap.v) << geom.block_bits;
	struct dev *dev;
	char name[60];

	CHECK_INT(dev_read(base, where, map, geom.block_size), 0);
	map[at] = value;
	if (inodes)
		y.inode_bitmap_csum = group_bitmap_csum(&geom, map, geom.inodes_per_group);
	else
		y.block_bitmap_csum = group_bitmap_csum(&geom, map, geom.clusters_per_group);
	CHECK_INT(dev_read(base, gdt, raw, geom.desc_size), 0);
	group_encode(&geom, 0, &y, raw);
	CHECK_INT(dev_open_overlay(base, &dev), 0);
	CHECK_INT(dev_write(dev, where, map, geom.block_size), 0);
	CHECK_INT(dev_write(dev, gdt, raw, geom.desc_size), 0);
	snprintf(name, sizeof(name), "%s bitmap byte %u = 0x%02x", inodes ? "inode" : "block", at,
		 value);
	if (getenv("VERBOSE") != NULL)
		fprintf(stderr, "%s\n", name);
	hostile_all(dev, name);
	dev_close(dev);
}

TEST(no_lie_of_a_bitmap_crashes_or_hangs)
{
	static const struct shape s = {
	    .size = 3 << 20, .block_size = 1024, .compat_on = COMPAT_ORPHAN_FILE};
	unsigned step = getenv("EXTKIT_SLOW") != NULL ? 1 : 5;
	struct group_desc x;
	struct diag d = {0};
	uint8_t raw[64];
	struct dev *dev;

	tap_one_thread();
	make_base(&s, &dev);
	find_targets(dev);
	CHECK_INT(dev_read(dev, geom_gdt_block(&geom, 0).v << geom.block_bits, raw, geom.desc_size),
		  0);
	CHECK_INT(group_decode(&geom, 0, raw, &d, &x), 0);
	for (uint32_t i = 0; i < geom.blocks / 8; i += step) {
		try_bitmap(dev, &x, false, i, 0);
		try_bitmap(dev, &x, false, i, 0x55);
	}
	for (uint32_t i = 0; i < geom.inodes_per_group / 8; i++) {
		try_bitmap(dev, &x, true, i, 0);
		try_bitmap(dev, &x, true, i, 0xff);
	}
	dev_close(dev);
}

int main(void)
{
	return tap_main();
}
