#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Contents and attributes that lie where others have block pointers, or in inodes without a name.

load ../lib/common

@test "small files and folders lie in their inodes, and the kernel reads them" {
	head -c 128 /dev/urandom >fits
	head -c 129 /dev/urandom >not
	x 0 create -s 32M -O inline_data a.img
	x 0 put fits a.img:/fits
	x 0 put not a.img:/not
	x 0 mkdir a.img:/dir
	for i in 1 2 3 4 5 6 7 8 9; do
		x 0 put fits a.img:/dir/name$i
	done
	clean a.img
	"$EXTKIT" cat a.img:/fits | cmp - fits
	"$EXTKIT" cat a.img:/not | cmp - not
	need_json
	x 0 stat --json a.img:/fits
	equal "$(json 'd["sectors"]')" 1 # as the kernel says of bytes without blocks
	x 0 stat --json a.img:/not
	[ "$(json 'd["sectors"]')" -gt 1 ]
	mount_image a.img mnt ro
	cmp mnt/fits fits
	cmp mnt/not not
	cmp mnt/dir/name9 fits
}

@test "what comes through a pipe lies in its inode too" {
	head -c 100 /dev/urandom >file
	x 0 create -s 32M -O inline_data -I 512 a.img
	"$EXTKIT" put - a.img:/file <file
	need_json
	x 0 stat --json a.img:/file
	equal "$(json 'd["sectors"]')" 1 # as the kernel says of bytes without blocks
	"$EXTKIT" cat a.img:/file | cmp - file
	clean a.img
}

@test "images that the kernel filled are changed and stay sound" {
	need zstd
	echo x >file
	for image in kernel-ext4-inline kernel-ext4-i512-eainode; do
		rm -f a.img
		zstd -qd --sparse "$SRC/tests/data/images/$image.img.zst" -o a.img
		x 0 put file a.img:/new
		clean a.img
	done
}
