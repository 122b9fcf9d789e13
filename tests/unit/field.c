/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of fields: ordered, inside their structures, and where the C structs have them. */
#include "tap.h"

#include "base/check.h"
#include "fs/dir_block.h"
#include "fs/htree.h"
#include "fs/xattr_format.h"
#include "ondisk/field.h"
#include "ondisk/jbd2.h"
#include "ondisk/super.h"

TEST(rows_are_in_order_and_inside_their_structure)
{
	for (unsigned i = 0; field_tables[i] != NULL; i++) {
		const struct field_table *t = field_tables[i];
		unsigned end = 0;

		for (unsigned k = 0; k < t->count; k++) {
			const struct field *f = &t->fields[k];

			if (f->offset < end || f->size == 0 || f->offset + f->size > t->size)
				TAP_FAIL("%s.%s: %u+%u after %u of %u", t->name, f->name, f->offset,
					 f->size, end, t->size);
			end = f->offset + f->size;
			CHECK(f->help[0] != '\0');
			CHECK(field_named(t, f->name) == f);
		}
		CHECK(field_table_named(t->name) == t);
	}
	CHECK(field_table_named("nothing") == NULL);
	CHECK(field_named(&field_super, "nothing") == NULL);
}

TEST(rows_of_whole_structures_leave_no_byte_out)
{
	static const struct field_table *const whole[] = {
	    &field_super,        &field_group,       &field_inode,       &field_extent_header,
	    &field_extent_index, &field_extent_leaf, &field_dirent,      &field_dir_tail,
	    &field_dx_entry,     &field_xattr_block, &field_xattr_entry, &field_orphan_tail};

	for (unsigned i = 0; i < ARRAY_SIZE(whole); i++) {
		unsigned sum = 0;

		for (unsigned k = 0; k < whole[i]->count; k++)
			sum += whole[i]->fields[k].size;
		CHECK_INT(sum, whole[i]->size);
	}
}

#define SAME(table, row, type, member)                                       \
	do {                                                                 \
		const struct field *same_f = field_named(&(table), row);     \
		CHECK(same_f != NULL);                                       \
		CHECK_INT(same_f->offset, offsetof(struct type, member));    \
		CHECK_INT(same_f->size, sizeof(((struct type *)0)->member)); \
	} while (0)

TEST(offsets_are_those_of_the_structs_that_the_code_reads)
{
	SAME(field_dirent, "rec_len", dirent_raw, rec_len);
	SAME(field_dirent, "name_len", dirent_raw, name_len);
	SAME(field_dirent, "file_type", dirent_raw, file_type);
	SAME(field_dir_tail, "det_checksum", dir_tail, checksum);
	SAME(field_dx_entry, "hash", htree_entry, u.hash);
	SAME(field_dx_entry, "block", htree_entry, block);
	SAME(field_xattr_block, "h_refcount", xattr_head, h_refcount);
	SAME(field_xattr_block, "h_checksum", xattr_head, h_checksum);
	SAME(field_xattr_entry, "e_value_offs", xattr_entry, e_value_offs);
	SAME(field_xattr_entry, "e_value_size", xattr_entry, e_value_size);
	SAME(field_xattr_entry, "e_hash", xattr_entry, e_hash);
	SAME(field_log_super, "s_start", jbd2_super, s_start);
	SAME(field_log_super, "s_uuid", jbd2_super, s_uuid);
	SAME(field_log_super, "s_checksum_type", jbd2_super, s_checksum_type);
	SAME(field_log_super, "s_num_fc_blks", jbd2_super, s_num_fc_blks);
	SAME(field_log_super, "s_checksum", jbd2_super, s_checksum);
	SAME(field_log_super, "s_users", jbd2_super, s_users);
}

TEST(numbers_are_read_and_stored_in_the_byte_order_of_their_table)
{
	uint8_t raw[1024] = {0};
	const struct field *magic = field_named(&field_super, "s_magic");
	const struct field *first = field_named(&field_log_super, "s_first");

	field_set(&field_super, magic, raw, 0x12345EF53ull);
	CHECK_INT(raw[magic->offset], 0x53);
	CHECK_INT(raw[magic->offset + 1], 0xEF);
	CHECK_INT(raw[magic->offset + 2], 0);
	CHECK_INT(field_get(&field_super, magic, raw), 0xEF53);
	field_set(&field_log_super, first, raw, 0x01020304);
	CHECK_INT(raw[first->offset], 1);
	CHECK_INT(raw[first->offset + 3], 4);
	CHECK_INT(field_get(&field_log_super, first, raw), 0x01020304);
}

int main(void)
{
	return tap_main();
}
