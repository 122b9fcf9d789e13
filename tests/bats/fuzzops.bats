#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Two thousand random operations leave the tree that the kernel makes of them.

load ../lib/common

fuzz() { # BLOCK SEED [OPTION...]
	[ "$(id -u)" = 0 ] || skip "not root"
	command -v mke2fs >/dev/null || skip "no mke2fs"
	[ -e /dev/loop-control ] || skip "no loop devices"
	"$SRC/tests/fuzzops/run" "${OUT:?}" --seeds="$2" --ops=2000 --blocks="$1" --without=whiteout \
		"${@:3}"
}

@test "random operations on 4 KiB blocks" {
	fuzz 4096 1
}

@test "random operations on 2 KiB blocks" {
	fuzz 2048 1
}

@test "random operations on 1 KiB blocks" {
	fuzz 1024 2
}

@test "random operations on folders whose names are hashed in other ways" {
	local seed
	for seed in 00 03 15; do
		HASH_SEED=01234567-89ab-cdef-0123-4567890000$seed fuzz 1024 2
	done
}

@test "thousands of names make an index of two levels with the kernel's number of blocks" {
	"$SRC/tests/fuzzops/folder.py" 1 20000 >folder.wtr
	fuzz 1024 1 --trace=folder.wtr
}

@test "random operations on files and folders that begin in their inodes" {
	fuzz 4096 3 --mkfs='-O inline_data'
	fuzz 1024 4 --mkfs='-O inline_data -I 512'
}

@test "random operations with attribute values that lie in inodes" {
	fuzz 4096 5 --mkfs='-O ea_inode'
	fuzz 1024 6 --mkfs='-O inline_data,ea_inode'
}

@test "random operations in clusters of 2, 16 and 64 blocks" {
	local size
	for size in 8192 65536 262144; do
		fuzz 4096 5 --mkfs="-O bigalloc -C $size"
	done
	for size in 2048 16384 65536; do
		fuzz 1024 2 --mkfs="-O bigalloc -C $size"
	done
}

# Without attributes, whose blocks Linux shares, what is free is compared as well.
@test "random operations in clusters leave as much free as the kernel's" {
	fuzz 4096 7 --mkfs="-O bigalloc" --without=whiteout,setxattr
	fuzz 1024 8 --mkfs="-O bigalloc -C 4096" --without=whiteout,setxattr
	fuzz 1024 9 --mkfs="-O bigalloc,inline_data,^has_journal" --without=whiteout,setxattr
}

# Without a journal as with one, in small inodes as in large ones.
@test "random operations on ext3 in 1 KiB blocks" {
	fuzz 1024 2 --features="-t ext3"
}

@test "random operations on ext2 in 4 KiB blocks" {
	fuzz 4096 3 --features="-t ext2"
}

@test "random operations on ext2 without what came later" {
	fuzz 1024 4 --features="-t ext2 -I 128 -O ^dir_index,^large_file,^resize_inode,^ext_attr"
}

@test "random operations on ext4 without extents" {
	fuzz 4096 5 --features="-t ext4 -O ^extents,^64bit,^metadata_csum,uninit_bg"
}

@test "random operations without delayed allocation" {
	fuzz 1024 6 --features="-t ext3" --mount=nodelalloc
	fuzz 4096 7 --mount=nodelalloc
}

@test "random operations with data in the journal, and with data that no commit waits for" {
	fuzz 4096 11 --mount=data=journal
	fuzz 1024 12 --mount=data=journal --features="-t ext4 -O inline_data"
	fuzz 1024 13 --mount=data=writeback
}

@test "random operations by policies that the kernel does not have" {
	fuzz 4096 14 --policy=inode=lazy,data=none
	fuzz 1024 15 --policy=allocation=ext3 --features="-t ext3"
	fuzz 1024 16 --policy=allocation=nodelalloc-nomerge
}

@test "writes, holes and cuts at the borders of pointer blocks" {
	local block seed
	for block in 1024 4096; do
		for seed in 1 2 3; do
			"$SRC/tests/fuzzops/levels.py" $seed 400 $block >levels.wtr
			fuzz $block 1 --features="-t ext2" --trace=levels.wtr
		done
	done
}

@test "an index of two levels in a folder that is mapped by pointers" {
	"$SRC/tests/fuzzops/folder.py" 1 20000 >folder.wtr
	fuzz 1024 1 --features="-t ext3" --trace=folder.wtr
}

# A range inside one block splits the large folio around it too: a store beside a hole must not fill the hole.
@test "a hole stays one when a store hits what was one folio with it" {
	local mode
	for mode in punch zero zerokeep; do
		printf '%s\n' '#wtrace 1' '#hz 250' '#clock realtime start=1700000000.0' '%ops' \
			'1000000 1 open h1 /f rw flags=creat,excl mode=0644 new' '2000000 1 write h1 65536 65536' \
			'3000000 1 syncfs' "4000000 1 falloc h1 $mode 100968 61" '5000000 1 falloc h1 punch 122387 4096' \
			'6000000 1 mwrite h1 84583 4229 via=fault' '7000000 1 close h1' >split.wtr
		fuzz 1024 1 --trace=split.wtr
	done
}

@test "a copy ends where its source ends" {
	printf '%s\n' '#wtrace 1' '#hz 250' '#clock realtime start=1700000000.0' '%ops' \
		'1000000 1 open h1 /a rw flags=creat,excl mode=0644 new' '2000000 1 write h1 0 5000' \
		'3000000 1 open h2 /b rw flags=creat,excl mode=0644 new' '4000000 1 copy h1 1000 h2 300 65536' \
		'5000000 1 copy h1 5000 h2 0 1000' '6000000 1 close h2' >short.wtr
	fuzz 4096 1 --trace=short.wtr
}

# Neither here nor there may folios go that are still to be written: a later store shows how large they were.
@test "advice not to need a file keeps what is dirty" {
	printf '%s\n' '#wtrace 1' '#hz 250' '#clock realtime start=1700000000.0' '%ops' \
		'1000000 1 open h1 /f rw flags=creat,excl mode=0644 new' '2000000 1 write h1 0 1024' \
		'3000000 1 write h1 1024 369517' '4000000 1 falloc h1 punch 108002 111616' \
		'5000000 1 advise h1 0 0 dontneed' '6000000 1 write h1 181248 65536' '7000000 1 fsync h1' \
		'8000000 1 mwrite h1 137918 98 via=fault' '9000000 1 close h1' >advice.wtr
	fuzz 1024 1 --trace=advice.wtr
}
