#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Images that Linux and mke2fs wrote: what we read from them is what the kernel reads.

load ../lib/common

data=${SRC:-$BATS_TEST_DIRNAME/../..}/tests/data/images

unpack() { # NAME
	need zstd
	zstd -qd --sparse "$data/$1.img.zst" -o a.img
}

reads_like_the_kernel() { # NAME
	unpack "$1"
	need_json
	zstd -qd "$data/expected/$1.jsonl.zst" -o want.jsonl
	sha256sum a.img >before
	python3 "$SRC/tests/tools/compare-tree" "$EXTKIT" a.img want.jsonl out
	sha256sum -c --quiet before
}

@test "an ext4 of 4 KiB blocks by the kernel" { reads_like_the_kernel kernel-ext4-default-4k; }
@test "hashed folders in blocks of 1 KiB" { reads_like_the_kernel kernel-ext4-1k-htree; }
@test "a folder of 20,000 names" { reads_like_the_kernel kernel-ext4-dir20k-1k; }
@test "clusters" { reads_like_the_kernel kernel-ext4-bigalloc; }
@test "meta_bg, checksum seed and blocks of 2 KiB" { reads_like_the_kernel kernel-ext4-metabg-csumseed-2k; }
@test "an image after deletions" { reads_like_the_kernel kernel-ext4-deleted; }
@test "a log that was not replayed" { reads_like_the_kernel kernel-dirty-ordered; }
@test "a log with file data that was not replayed" { reads_like_the_kernel kernel-dirty-datajournal; }
@test "fast commits that were not replayed" { reads_like_the_kernel kernel-dirty-fastcommit; }
@test "what is in place when logs are not replayed" {
	need_json
	printf '#!/bin/sh\nexec "%s" "$@" --no-replay\n' "$EXTKIT" >look
	chmod +x look
	for name in kernel-dirty-ordered kernel-dirty-datajournal kernel-dirty-fastcommit; do
		unpack $name
		zstd -qdf "$data/expected/$name.noreplay.jsonl.zst" -o want.jsonl
		python3 "$SRC/tests/tools/compare-tree" ./look a.img want.jsonl $name
		rm a.img
	done
}
@test "a tree by mke2fs" { reads_like_the_kernel mke2fs1470-d-full-4k; }
@test "an image without a journal and with little else" { reads_like_the_kernel mke2fs1470-d-nojournal-minimal; }
@test "two superblock copies" { reads_like_the_kernel mke2fs1470-d-sparse_super2; }
@test "stable inodes" { reads_like_the_kernel mke2fs1470-d-stable-inodes; }
@test "multiple-mount protection and inodes of 128 bytes" { reads_like_the_kernel mke2fs1470-d-mmp-uninitbg-i128; }
@test "revision 0" { reads_like_the_kernel mke2fs1470-d-rev0-none; }
@test "an image for the Hurd" { reads_like_the_kernel mke2fs1470-d-hurd-os; }
@test "inline files and folders" { reads_like_the_kernel kernel-ext4-inline; }
@test "attribute values in inodes of their own" { reads_like_the_kernel kernel-ext4-i512-eainode; }
@test "an ext2 of 1 KiB blocks and inodes of 128 bytes" { reads_like_the_kernel kernel-ext2-1k-i128; }
@test "three levels of block pointers" { reads_like_the_kernel kernel-ext2-triple-indirect; }
@test "ext3 by the driver of ext4" { reads_like_the_kernel kernel-ext4-noextent-ext3; }

@test "blocks of 64 KiB are read, though the kernel here cannot" {
	unpack mke2fs1470-d-64k-block
	x 0 ls -lR a.img
	x 0 get -R a.img out
	[ -n "$(find out -type f -size +0)" ]
}

@test "clusters are written, and given back" {
	local used
	unpack kernel-ext4-bigalloc
	head -c 300000 /dev/urandom >file
	echo x >small
	x 0 put small a.img:/new
	x 0 df --json a.img
	used=$out
	x 0 put file a.img:/new
	x 0 get a.img:/new got
	cmp file got
	clean a.img
	x 0 df --json a.img
	[ "$out" != "$used" ]
	x 0 put small a.img:/new
	clean a.img
	x 0 df --json a.img
	equal "$out" "$used"
}
