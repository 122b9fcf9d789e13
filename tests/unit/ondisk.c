/* SPDX-License-Identifier: BSD-2-Clause */
/* Superblocks, geometry, descriptors, inodes and extent nodes as literals: what is refused, and
 * with which words. */
#include "fs_image.h"

#include "ondisk/extent.h"
#include "ondisk/field.h"
#include "ondisk/group.h"
#include "ondisk/inode.h"
#include "ondisk/super.h"

static struct super_raw sb;
static struct geom g;
static struct diag d;

static void make_super(void)
{
	static const struct shape s = {.size = 24 << 20, .block_size = 1024};
	struct dev *dev;

	fs_make(&s, &dev);
	CHECK_INT(dev_read(dev, SUPER_OFFSET, &sb, sizeof(sb)), 0);
	dev_close(dev);
	diag_clear(&d);
	CHECK_INT(super_verify(&sb, 24 << 20, "superblock", &d), 0);
	geom_from_super(&sb, &g);
}

/* ---- the superblock ---- */

struct refusal {
	const char *field;
	uint64_t value;
	int error;
	const char *says; /* part of the message */
};

static void refuse(const struct refusal *r)
{
	struct super_raw bad = sb;
	const struct field *f = field_named(&field_super, r->field);
	int rc;

	CHECK(f != NULL);
	field_set(&field_super, f, &bad, r->value);
	if (strcmp(r->field, "s_checksum") != 0)
		super_seal(&bad);
	diag_clear(&d);
	rc = super_verify(&bad, 24 << 20, "superblock", &d);
	if (rc != r->error || strstr(d.text, r->says) == NULL)
		TAP_FAIL("%s = %llu: %d \"%s\"", r->field, (unsigned long long)r->value, rc,
			 d.text);
}

TEST(superblocks_that_broke_others_are_refused_by_field_and_value)
{
	static const struct refusal rows[] = {
	    {"s_magic", 0, -EINVAL, "no ext filesystem"},
	    {"s_log_block_size", 7, -EUCLEAN, "s_log_block_size 7"},
	    {"s_log_block_size", 54, -EUCLEAN, "s_log_block_size 54"},
	    {"s_log_block_size", UINT32_MAX, -EUCLEAN, "s_log_block_size 4294967295"},
	    {"s_blocks_per_group", 0, -EUCLEAN, "s_blocks_per_group 0"},
	    {"s_blocks_per_group", 8193, -EUCLEAN, "s_blocks_per_group 8193"},
	    {"s_inodes_per_group", 0, -EUCLEAN, "s_inodes_per_group 0"},
	    {"s_inodes_per_group", 8193, -EUCLEAN, "s_inodes_per_group 8193"},
	    {"s_inodes_count", 0, -EUCLEAN, "s_inodes_count 0"},
	    {"s_inodes_count", UINT32_MAX, -EUCLEAN, "s_inodes_count 4294967295"},
	    {"s_blocks_count_lo", UINT32_MAX, -EUCLEAN, "s_blocks_count 4294967295"},
	    {"s_blocks_count_hi", 1u << 31, -EUCLEAN, "s_blocks_count"},
	    {"s_blocks_count_lo", 0, -EUCLEAN, "s_blocks_count 0"},
	    {"s_first_data_block", 99999999, -EUCLEAN, "s_first_data_block 99999999"},
	    {"s_first_data_block", 0, -EUCLEAN, "s_first_data_block 0"},
	    {"s_inode_size", 0, -EUCLEAN, "s_inode_size 0"},
	    {"s_inode_size", 129, -EUCLEAN, "s_inode_size 129"},
	    {"s_inode_size", 2048, -EUCLEAN, "s_inode_size 2048"},
	    {"s_desc_size", 0, -EUCLEAN, "s_desc_size 0"},
	    {"s_desc_size", 65535, -EUCLEAN, "s_desc_size 65535"},
	    {"s_desc_size", 32, -EUCLEAN, "s_desc_size 32"},
	    {"s_reserved_gdt_blocks", 60000, -EUCLEAN, "s_reserved_gdt_blocks 60000"},
	    {"s_rev_level", 99, -EOPNOTSUPP, "revision 99"},
	    {"s_feature_incompat", 0x80000000, -EOPNOTSUPP, "FEATURE_I31"},
	    {"s_checksum", 0, -EBADMSG, "bad checksum"},
	    {"s_checksum_type", 7, -EUCLEAN, "s_checksum_type 7"},
	};

	make_super();
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		refuse(&rows[i]);
}

/* Groups of clusters are longer than a bitmap has bits for blocks. */
TEST(revision_0_has_no_clusters_whatever_its_feature_words_hold)
{
	struct super_raw bad;

	make_super();
	bad = sb;
	bad.s_feature_ro_compat = le32_make(le32_get(bad.s_feature_ro_compat) | RO_COMPAT_BIGALLOC);
	bad.s_log_cluster_size = le32_make(le32_get(bad.s_log_block_size) + 2);
	bad.s_blocks_per_group = le32_make(4 * le32_get(bad.s_blocks_per_group));
	bad.s_rev_level = le32_make(0);
	CHECK_INT(super_verify_torn(&bad, 24 << 20, "superblock", &d), -EUCLEAN);
	CHECK(strstr(d.text, "s_blocks_per_group") != NULL);
}

TEST(a_huge_first_meta_group_is_refused)
{
	struct super_raw bad;

	make_super();
	bad = sb;
	bad.s_feature_incompat = le32_make(le32_get(bad.s_feature_incompat) | INCOMPAT_META_BG);
	bad.s_first_meta_bg = le32_make(0x7fffffff);
	super_seal(&bad);
	CHECK_INT(super_verify(&bad, 24 << 20, "superblock", &d), -EUCLEAN);
	CHECK(strstr(d.text, "s_first_meta_bg 2147483647") != NULL);
}

TEST(numbers_that_only_hint_are_made_harmless)
{
	struct super_raw odd;

	make_super();
	odd = sb;
	odd.s_log_groups_per_flex = 40;
	odd.s_first_ino = le32_make(0);
	odd.s_errors = le16_make(3);
	odd.s_def_hash_version = 99;
	super_seal(&odd);
	CHECK_INT(super_verify(&odd, 24 << 20, "superblock", &d), 0);
	geom_from_super(&odd, &g);
	CHECK_INT(g.log_flex, 0);
	CHECK_INT(g.first_ino, 11);
}

TEST(a_tear_of_the_recover_bit_is_mended_and_other_tears_are_not)
{
	struct super_raw on, torn;

	make_super();
	on = sb;
	on.s_feature_incompat = le32_make(le32_get(on.s_feature_incompat) | INCOMPAT_RECOVER);
	super_seal(&on);
	torn = sb;
	memcpy(&torn, &on, 512);
	CHECK_INT(super_verify(&torn, 24 << 20, "superblock", &d), -EBADMSG);
	CHECK(super_mend(&torn));
	CHECK(memcmp(&torn, &on, sizeof(on)) == 0);
	torn = on;
	memcpy(&torn, &sb, 512);
	CHECK(super_mend(&torn));
	CHECK(memcmp(&torn, &on, sizeof(on)) == 0);
	torn = on;
	torn.s_mtime = le32_make(5);
	CHECK(!super_mend(&torn));
}

/* ---- geometry ---- */

TEST(geometry_is_that_of_the_superblock)
{
	make_super();
	CHECK_INT(g.blocks, 24576);
	CHECK_INT(g.groups, 3);
	CHECK_INT(g.block_bits, 10);
	CHECK_INT(geom_group_start(&g, 2).v, 1 + 2 * 8192);
	CHECK_INT(geom_group_blocks(&g, 2), 24576 - 1 - 2 * 8192);
	CHECK_INT(geom_group_of(&g, (ek_pblk){8193}), 1);
	CHECK_INT(geom_offset_in_group(&g, (ek_pblk){8193}), 0);
	CHECK(geom_has_super(&g, 0) && geom_has_super(&g, 1) && !geom_has_super(&g, 2));
	CHECK(geom_has_super(&g, 3) && geom_has_super(&g, 49) && !geom_has_super(&g, 15));
}

TEST(addresses_outside_and_over_metadata_are_refused)
{
	ek_pblk b = {77};
	ek_inum ino;

	make_super();
	CHECK_INT(geom_run(&g, 0, 1, "test", &d, &b), -EUCLEAN);
	CHECK_INT(geom_run(&g, g.blocks, 1, "test", &d, &b), -EUCLEAN);
	CHECK_INT(geom_run(&g, g.blocks - 1, 2, "test", &d, &b), -EUCLEAN);
	CHECK_INT(geom_run(&g, 5, UINT64_MAX, "test", &d, &b), -EUCLEAN);
	CHECK_INT(b.v, 77);
	CHECK_INT(geom_run(&g, g.blocks - 1, 1, "test", &d, &b), 0);
	CHECK_INT(geom_inum(&g, 0, "test", &d, &ino), -EUCLEAN);
	CHECK_INT(geom_inum(&g, g.inodes + 1, "test", &d, &ino), -EUCLEAN);
	CHECK_INT(geom_inum(&g, g.inodes, "test", &d, &ino), 0);
	CHECK_INT(geom_add_zone(&g, 100, 10, 0, "table", &d), 0);
	CHECK_INT(geom_add_zone(&g, 110, 10, 0, "table", &d), 0);
	CHECK_INT(geom_add_zone(&g, 300, 10, 8, "journal", &d), 0);
	CHECK_INT(geom_add_zone(&g, 50, 10, 0, "table", &d), 0);
	CHECK_INT(geom_add_zone(&g, 119, 5, 0, "table", &d), -EUCLEAN);
	CHECK_INT(geom_add_zone(&g, 40, 100, 0, "table", &d), -EUCLEAN);
	CHECK(geom_data_ok(&g, 60, 40, 0));
	CHECK(!geom_data_ok(&g, 60, 41, 0));
	CHECK(!geom_data_ok(&g, 59, 1, 0));
	CHECK(geom_data_ok(&g, 120, 180, 0));
	CHECK(!geom_data_ok(&g, 305, 1, 12));
	CHECK(geom_data_ok(&g, 305, 1, 8));
	CHECK_INT(geom_data_run(&g, 105, 1, 12, "extent", &d, &b), -EUCLEAN);
	geom_free(&g);
}

/* ---- descriptors ---- */

TEST(descriptors_survive_a_round_trip_and_lies_are_refused)
{
	struct group_desc x = {.block_bitmap = {300},
			       .inode_bitmap = {301},
			       .inode_table = {302},
			       .free_clusters = 5000,
			       .free_inodes = 100,
			       .used_dirs = 3,
			       .itable_unused = 90,
			       .block_bitmap_csum = 0x12345678,
			       .inode_bitmap_csum = 0x9abcdef0,
			       .flags = GROUP_INODE_ZEROED},
			  y;
	uint8_t raw[64] = {0};

	make_super();
	group_encode(&g, 1, &x, raw);
	CHECK_INT(group_decode(&g, 1, raw, &d, &y), 0);
	CHECK_INT(y.inode_table.v, 302);
	CHECK_INT(y.free_clusters, 5000);
	CHECK_INT(y.block_bitmap_csum, 0x12345678);
	CHECK_INT(y.inode_bitmap_csum, 0x9abcdef0);
	CHECK_INT(y.itable_unused, 90);
	CHECK_INT(group_decode(&g, 2, raw, &d, &y), -EBADMSG); /* the number is part of it */
	raw[5] ^= 1;
	CHECK_INT(group_decode(&g, 1, raw, &d, &y), -EBADMSG);
	x.free_clusters = 8193;
	group_encode(&g, 1, &x, raw);
	CHECK_INT(group_decode(&g, 1, raw, &d, &y), -EUCLEAN);
	x.free_clusters = 1;
	x.inode_table.v = g.blocks - 1;
	group_encode(&g, 1, &x, raw);
	CHECK_INT(group_decode(&g, 1, raw, &d, &y), -EUCLEAN);
	x.inode_table.v = 302;
	x.itable_unused = g.inodes_per_group + 1;
	group_encode(&g, 1, &x, raw);
	CHECK_INT(group_decode(&g, 1, raw, &d, &y), -EUCLEAN);
}

/* ---- inodes ---- */

static void round_trip(struct inode_rec *x)
{
	uint8_t raw[256] = {0};
	struct inode_rec y;

	inode_encode(&g, (ek_inum){12}, x, raw);
	CHECK_INT(inode_decode(&g, (ek_inum){12}, raw, &d, &y), 0);
	*x = y;
}

TEST(times_have_34_bits_and_nanoseconds_and_are_clamped)
{
	static const struct {
		int64_t in, out;
	} rows[] = {
	    {0, 0},
	    {-1, -1},
	    {INT32_MIN, INT32_MIN},
	    {INT32_MAX, INT32_MAX},
	    {(int64_t)INT32_MAX + 1, (int64_t)INT32_MAX + 1},
	    {UINT32_MAX, UINT32_MAX},
	    {(int64_t)UINT32_MAX + 1, (int64_t)UINT32_MAX + 1},
	    {0x37fffffff, 0x37fffffff},
	    {0x380000000, 0x37fffffff},
	    {INT64_MAX, 0x37fffffff},
	    {INT64_MIN, INT32_MIN},
	};

	make_super();
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct inode_rec x = {.mode = 0100644, .links = 1, .extra_isize = 32};

		x.mtime = (struct ek_time){rows[i].in, 999999999};
		x.crtime = x.mtime;
		round_trip(&x);
		CHECK_INT(x.mtime.sec, rows[i].out);
		CHECK_INT(x.mtime.nsec, 999999999);
		CHECK_INT(x.crtime.sec, rows[i].out);
	}
}

TEST(old_inodes_have_32_bit_times_without_nanoseconds)
{
	struct inode_rec x = {.mode = 0100644, .links = 1, .extra_isize = 0};

	make_super();
	x.mtime = (struct ek_time){(int64_t)INT32_MAX + 10, 5};
	x.atime = (struct ek_time){INT64_MIN, 5};
	round_trip(&x);
	CHECK_INT(x.mtime.sec, INT32_MAX);
	CHECK_INT(x.mtime.nsec, 0);
	CHECK_INT(x.atime.sec, INT32_MIN);
	CHECK_INT(x.crtime.sec, 0);
}

TEST(nanoseconds_above_a_second_are_cut)
{
	struct inode_rec x = {.mode = 0100644, .links = 1, .extra_isize = 32};
	uint8_t raw[256] = {0};

	make_super();
	inode_encode(&g, (ek_inum){12}, &x, raw);
	memset(raw + 136, 0xff, 4); /* i_mtime_extra */
	inode_seal(&g, (ek_inum){12}, raw);
	CHECK_INT(inode_decode(&g, (ek_inum){12}, raw, &d, &x), 0);
	CHECK_INT(x.mtime.nsec, 999999999);
	CHECK_INT(x.mtime.sec, (int64_t)3 << 32);
}

TEST(inodes_with_bad_sums_or_extra_sizes_are_refused)
{
	struct inode_rec x = {.mode = 0100644, .links = 1, .extra_isize = 32}, y;
	uint8_t raw[256] = {0};

	make_super();
	inode_encode(&g, (ek_inum){12}, &x, raw);
	CHECK_INT(inode_decode(&g, (ek_inum){13}, raw, &d, &y), -EBADMSG);
	raw[255] ^= 1;
	CHECK_INT(inode_decode(&g, (ek_inum){12}, raw, &d, &y), -EBADMSG);
	raw[255] ^= 1;
	for (unsigned extra = 0; extra < 65536; extra += 127) {
		int want = extra <= 128 && extra % 4 == 0 ? 0 : -EUCLEAN;

		raw[128] = (uint8_t)extra;
		raw[129] = (uint8_t)(extra >> 8);
		if (want == 0)
			inode_seal(&g, (ek_inum){12}, raw);
		CHECK_INT(inode_decode(&g, (ek_inum){12}, raw, &d, &y), want);
	}
	memset(raw, 0, sizeof(raw));
	CHECK(inode_is_blank(&g, raw));
	CHECK_INT(inode_decode(&g, (ek_inum){12}, raw, &d, &y), 0);
}

TEST(large_owners_sizes_and_blocks_keep_their_high_parts)
{
	struct inode_rec x = {.mode = 0100644,
			      .links = 1,
			      .extra_isize = 32,
			      .uid = 0x12345678,
			      .gid = 0x9abcdef0,
			      .projid = 77,
			      .size = 0x123456789abcull,
			      .blocks = 0x123456789abcull,
			      .file_acl = 0x123456789abcull,
			      .version = 0x1122334455667788ull,
			      .generation = 9,
			      .flags = 0x80000};

	make_super();
	round_trip(&x);
	CHECK_INT(x.uid, 0x12345678);
	CHECK_INT(x.gid, 0x9abcdef0);
	CHECK_INT(x.projid, 77);
	CHECK_INT(x.size, 0x123456789abcull);
	CHECK_INT(x.blocks, 0x123456789abcull);
	CHECK_INT(x.file_acl, 0x123456789abcull);
	CHECK_INT(x.version, 0x1122334455667788ull);
}

TEST(device_numbers_take_the_old_form_when_they_fit)
{
	static const uint32_t rows[][3] = {{0, 0, 1},      {1, 3, 1},   {255, 255, 1},
					   {256, 0, 0},    {0, 256, 0}, {4095, 1048575, 0},
					   {300, 70000, 0}};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct inode_rec x = {.mode = 020600};
		uint32_t major = 9, minor = 9;

		inode_set_rdev(&x, rows[i][0], rows[i][1]);
		CHECK_INT(x.block[4] == 0 && x.block[5] == 0 && x.block[6] == 0, rows[i][2]);
		inode_get_rdev(&x, &major, &minor);
		CHECK_INT(major, rows[i][0]);
		CHECK_INT(minor, rows[i][1]);
	}
}

/* ---- extents ---- */

static union {
	uint8_t bytes[1024];
	struct extent_node n;
} node;

static void put(unsigned i, uint32_t lblk, uint32_t len, uint64_t pblk, bool unwritten)
{
	struct extent e = {{lblk}, len, {pblk}, unwritten};

	extent_encode(&e, &node.n.e.leaf[i]);
	node.n.h.eh_entries = le16_make((uint16_t)(i + 1));
}

static int verify(size_t room)
{
	diag_clear(&d);
	return extent_node_verify(&g, &node.n, room, 12, "extent block", 5000, &d);
}

TEST(extents_that_overlap_wrap_or_leave_the_filesystem_are_refused)
{
	make_super();
	extent_node_init(&node.n, 84, 0);
	CHECK_INT(verify(1024), 0);
	put(0, 10, 5, 1000, false);
	put(1, 15, 5, 2000, true);
	CHECK_INT(verify(1024), 0);
	put(1, 14, 5, 2000, false);
	CHECK_INT(verify(1024), -EUCLEAN);
	CHECK(strstr(d.text, "overlaps") != NULL);
	put(1, 5, 1, 2000, false);
	CHECK_INT(verify(1024), -EUCLEAN);
	put(1, 20, 0, 2000, false);
	CHECK_INT(verify(1024), -EUCLEAN);
	put(1, UINT32_MAX - 3, 5, 2000, false);
	CHECK_INT(verify(1024), -EUCLEAN);
	put(1, UINT32_MAX - 6, 6, 2000, false);
	CHECK_INT(verify(1024), 0);
	put(1, 20, 5, g.blocks - 4, false);
	CHECK_INT(verify(1024), -EUCLEAN);
	put(1, 20, 5, 1ull << 40, false);
	CHECK_INT(verify(1024), -EUCLEAN);
	put(1, 20, 5, 0, false);
	CHECK_INT(verify(1024), -EUCLEAN);
}

TEST(extent_headers_are_measured_by_the_room_there_is)
{
	make_super();
	extent_node_init(&node.n, 84, 0);
	put(0, 10, 5, 1000, false);
	node.n.h.eh_max = le16_make(85);
	CHECK_INT(verify(1024), -EUCLEAN);
	node.n.h.eh_max = le16_make(5);
	CHECK_INT(verify(60), -EUCLEAN);
	node.n.h.eh_max = le16_make(4);
	CHECK_INT(verify(60), 0);
	node.n.h.eh_entries = le16_make(5);
	CHECK_INT(verify(60), -EUCLEAN);
	node.n.h.eh_entries = le16_make(1);
	node.n.h.eh_depth = le16_make(6);
	CHECK_INT(verify(60), -EUCLEAN);
	node.n.h.eh_depth = le16_make(0);
	node.n.h.eh_magic = le16_make(0);
	CHECK_INT(verify(60), -EUCLEAN);
	extent_node_init(&node.n, 4, 1);
	CHECK_INT(verify(60), -EUCLEAN); /* an index without entries */
	extent_set_child(&node.n.e.index[0], 0, (ek_pblk){5000});
	node.n.h.eh_entries = le16_make(1);
	CHECK_INT(verify(60), -EUCLEAN); /* its own child */
	extent_set_child(&node.n.e.index[0], 0, (ek_pblk){6000});
	CHECK_INT(verify(60), 0);
}

TEST(extent_lengths_tell_written_from_unwritten)
{
	struct extent_leaf raw;
	struct extent e = {{7}, 32767, {0x123456789abcull}, true};

	extent_encode(&e, &raw);
	CHECK_INT(le16_get(raw.ee_len), 65535);
	e = extent_decode(&raw);
	CHECK(e.unwritten && e.len == 32767 && e.pblk.v == 0x123456789abcull);
	raw.ee_len = le16_make(32768);
	e = extent_decode(&raw);
	CHECK(!e.unwritten && e.len == 32768);
	raw.ee_len = le16_make(32769);
	e = extent_decode(&raw);
	CHECK(e.unwritten && e.len == 1);
}

int main(void)
{
	return tap_main();
}
