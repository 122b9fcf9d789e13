#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Images that others wrote: what we read from them is what the kernel reads.  The images are not part of
# the tree; EXTKIT_CORPUS names the folder that holds them.

load ../lib/common

corpus=${EXTKIT_CORPUS:-${SRC:-$BATS_TEST_DIRNAME/../..}/../shared/corpus}/images

# reads_like_the_kernel FOLDER/NAME
reads_like_the_kernel() {
	local list=$corpus/expected/${1##*/}.jsonl.zst
	[ -e "$corpus/$1.img.zst" ] || skip "the corpus of images is not here"
	need zstd
	need_json
	zstd -qd --sparse "$corpus/$1.img.zst" -o a.img
	zstd -qd "$list" -o want.jsonl
	sha256sum a.img >before
	python3 "$SRC/tests/tools/compare-tree" "$EXTKIT" a.img want.jsonl out
	sha256sum -c --quiet before
}

# names_what_it_cannot_read FOLDER/NAME WORD
names_what_it_cannot_read() {
	[ -e "$corpus/$1.img.zst" ] || skip "the corpus of images is not here"
	need zstd
	zstd -qd --sparse "$corpus/$1.img.zst" -o a.img
	"$EXTKIT" ls -lR a.img >.out 2>.err && return # a later release reads it
	x 6 ls -lR a.img
	has "$err" "$2"
}

@test "an ext4 of 4 KiB blocks by the kernel" { reads_like_the_kernel kernel/kernel-ext4-default-4k; }
@test "hashed folders in blocks of 1 KiB" { reads_like_the_kernel kernel/kernel-ext4-1k-htree; }
@test "a folder of 20,000 names" { reads_like_the_kernel kernel/kernel-ext4-dir20k-1k; }
@test "clusters" { reads_like_the_kernel kernel/kernel-ext4-bigalloc; }
@test "meta_bg, checksum seed and blocks of 2 KiB" { reads_like_the_kernel kernel/kernel-ext4-metabg-csumseed-2k; }
@test "an image after deletions" { reads_like_the_kernel kernel/kernel-ext4-deleted; }
@test "a log that was not replayed" { reads_like_the_kernel kernel/kernel-dirty-ordered; }
@test "a log with file data that was not replayed" { reads_like_the_kernel kernel/kernel-dirty-datajournal; }
@test "a tree by mke2fs" { reads_like_the_kernel mke2fs/mke2fs1470-d-full-4k; }
@test "an image without a journal and with little else" { reads_like_the_kernel mke2fs/mke2fs1470-d-nojournal-minimal; }
@test "two superblock copies" { reads_like_the_kernel mke2fs/mke2fs1470-d-sparse_super2; }
@test "stable inodes" { reads_like_the_kernel mke2fs/mke2fs1470-d-stable-inodes; }
@test "multiple-mount protection and inodes of 128 bytes" { reads_like_the_kernel mke2fs/mke2fs1470-d-mmp-uninitbg-i128; }

@test "inline data is read or named" { names_what_it_cannot_read kernel/kernel-ext4-inline inline_data; }
@test "indirect blocks are read or named" { names_what_it_cannot_read kernel/kernel-ext2-1k-i128 extents; }
@test "attributes in inodes are read or named" { names_what_it_cannot_read kernel/kernel-ext4-i512-eainode ea_inode; }
@test "fast commits are read or named" { names_what_it_cannot_read kernel/kernel-dirty-fastcommit "fast commit"; }
