#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Images of ext2 and ext3, and ext4 without extents, through the commands.

load ../lib/common

# made OPTION...: p.img as mke2fs makes it.
made() {
	need mke2fs
	truncate -s 64M p.img
	mke2fs -q -F "$@" p.img >/dev/null
}

# a file of each level of 1 KiB blocks, folders, a long link, attributes: in and out again.
in_and_out() {
	local target
	target=$(printf 'long/%.0s' {1..30})
	head -c 9000 /dev/urandom >direct
	head -c 200001 /dev/urandom >one
	head -c 9000001 /dev/urandom >two
	x 0 put -p direct p.img:/dir/direct
	x 0 put one two p.img:/dir/
	x 0 mkdir -p p.img:/a/b/c
	for name in direct one two; do
		"$EXTKIT" cat "p.img:/dir/$name" | cmp - $name
	done
	clean p.img
	x 0 put direct p.img:/dir/two
	"$EXTKIT" cat p.img:/dir/two | cmp - direct
	clean p.img
}

@test "files go into ext2 and come out again" {
	made -t ext2 -b 1024
	in_and_out
}

@test "files go into ext2 with small inodes and come out again" {
	made -t ext2 -b 1024 -I 128 -O ^dir_index,^filetype,^sparse_super,^resize_inode,^large_file
	in_and_out
}

@test "files go into ext2 of the first revision and come out again" {
	made -t ext2 -r 0 -b 1024
	in_and_out
}

@test "files go into ext3 and come out again" {
	made -t ext3 -b 2048
	in_and_out
}

@test "files go into ext4 without extents, with 64 bit checksums of groups, and come out again" {
	made -t ext4 -b 4096 -O ^extents,^64bit,uninit_bg,^metadata_csum
	in_and_out
}

@test "the kernel reads what was put into ext2" {
	made -t ext2 -b 1024
	in_and_out
	mount_image p.img mnt ro
	cmp mnt/dir/one one
	cmp mnt/dir/two direct
}

@test "a file of 2 GiB turns its feature on" {
	made -t ext2 -b 4096 -r 0
	truncate -s 3G sparse
	echo end >>sparse
	x 0 put sparse p.img:/sparse
	clean p.img
	has "$(dumpe2fs -h p.img 2>/dev/null)" large_file
}
