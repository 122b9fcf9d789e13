#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit inspect

load ../lib/common

# field NAME: the values of that field in the table that was shown, one a line.
field() {
	awk -v f="$1" '$3 == f { print $5 }' <<<"$out"
}

setup_file() {
	export SOURCE_DATE_EPOCH=1700000000
}

make_example() {
	make_image a.img 64M -b 1K --seed inspect "$@"
	seq 1 3000 >numbers
	x 0 put numbers a.img:/numbers
}

@test "the superblock is shown with offsets, values and meanings" {
	make_example
	x 0 inspect a.img
	equal "$(field s_magic)" 0xef53
	equal "$(field s_inodes_count)" "$(dumpe2fs -h a.img 2>/dev/null | sed -n 's/^Inode count: *//p')"
	has "$out" "inodes in all groups"
	equal "$(field checksum)" right
	x 0 inspect a.img super:1
	equal "$(field s_block_group_nr)" 1
}

@test "an inode is found by number and by path, and says what the reference says" {
	make_example
	x 0 inspect a.img:/numbers
	equal "$(field i_size_lo)" "$(stat -c %s numbers)"
	equal "$(field i_links_count)" 1
	x 0 inspect a.img inode:12
	equal "$(field i_size_lo)" "$(stat -c %s numbers)"
	x 0 inspect a.img extents:12
	has "$(debugfs -R 'stat <12>' a.img 2>/dev/null)" "$(field ee_start_lo)"
}

@test "every structure that an image has carries the right checksum" {
	local what
	make_example -O orphan_file,mmp
	for what in super super:3 group:0 group:7 inode:2 inode:8 dir:2 dir:11 extents:2 log orphans guard; do
		x 0 inspect a.img "$what"
		run ! grep -E "checksum +0 +wrong" <<<"$out"
		grep -qE "checksum +0 +right" <<<"$out" || [ "$what" = log ]
	done
}

@test "a field that is set is sealed, and the reference reads it" {
	make_example
	x 0 inspect --set s_volume_name=renamed a.img
	equal "$(e2label a.img)" renamed
	x 0 inspect --set i_generation=0x1234 --set i_uid=77 a.img inode:12
	has "$(debugfs -R 'stat <12>' a.img 2>/dev/null | tr -s ' ')" "User: 77"
	clean a.img
	x 0 inspect --set name=letters a.img "dir:2#3"
	x 0 cat a.img:/letters
	x 0 inspect --set s_uuid=01234567-89ab-cdef-0123-456789abcdef a.img super:1
	x 0 inspect a.img super:1
	equal "$(field s_uuid)" 01234567-89ab-cdef-0123-456789abcdef
}

@test "--no-seal makes the damage that a check must find" {
	make_example
	cp a.img b.img
	x 0 inspect --no-seal --set i_uid=77 a.img inode:12
	x 0 inspect a.img inode:12
	equal "$(field checksum)" wrong
	run ! e2fsck -fn a.img
	x 0 inspect --set ee_start_lo=1 b.img "extents:12#1"
	run ! e2fsck -fn b.img
	x 3 cat b.img:/numbers
}

@test "JSON has every field with its place, size and number" {
	need_json
	make_example
	x 0 inspect --json a.img group:0 dir:2
	equal "$(json '[f["size"] for f in d["fields"] if f["field"] == "bg_checksum"][0]')" 2
	equal "$(json '[f["value"] for f in d["fields"] if f["field"] == "name"][2]')" "lost+found"
	equal "$(json '[f["offset"] for f in d["fields"] if f["field"] == "bg_flags"][0]')" 2066
}

@test "what is not there, makes no sense or does not fit is told, and nothing changes" {
	make_example
	cp a.img before.img
	x 2 inspect a.img nonsense
	x 2 inspect a.img inode:0
	x 2 inspect a.img inode:-1
	x 2 inspect a.img group:4000000000000
	x 5 inspect a.img guard
	one_error_line inspect
	x 5 inspect a.img "inode:12#7"
	x 5 inspect a.img xattrs:12
	x 5 inspect a.img:/nowhere
	x 2 inspect a.img:/numbers inode:12
	x 2 inspect --set i_nothing=1 a.img inode:12
	x 2 inspect --set i_uid=65536 a.img inode:12
	x 2 inspect --set i_uid=many a.img inode:12
	x 2 inspect --set i_uid a.img inode:12
	x 2 inspect --set s_uuid=1234 a.img
	x 2 inspect --set i_uid=1 a.img inode:12 inode:13
	cmp a.img before.img
}

@test "damage is shown, not entered" {
	make_example
	x 0 inspect --no-seal --set eh_magic=0 a.img "extents:12#0"
	x 3 inspect a.img extents:12
	has "$err" "corrupt extent node of inode 12"
	x 0 inspect --no-seal --set rec_len=3 a.img "dir:2#2"
	x 0 inspect a.img dir:2
	x 0 inspect --no-seal --set s_checksum=1 a.img
	x 0 inspect a.img
	equal "$(field checksum)" wrong
}
