#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Long runs of random operations against the kernel: FUZZOPS_SEEDS=A-B, FUZZOPS_SECONDS for each.

load ../lib/common

fuzz() { # BLOCK MKFS-OPTIONS
	[ "$(id -u)" = 0 ] || skip "not root"
	command -v mke2fs >/dev/null || skip "no mke2fs"
	[ -e /dev/loop-control ] || skip "no loop devices"
	"$SRC/tests/fuzzops/run" "$OUT" --seeds="${FUZZOPS_SEEDS:-100-199}" --ops=2000 --without=whiteout --blocks="$1" \
		--mkfs="${2:-}" --seconds="${FUZZOPS_SECONDS:-60}" --minimize
}

@test "random operations on 4 KiB blocks leave the kernel's tree" {
	fuzz 4096
}

@test "random operations on 2 KiB blocks leave the kernel's tree" {
	fuzz 2048
}

@test "random operations on 1 KiB blocks leave the kernel's tree" {
	fuzz 1024
}

@test "random operations without a journal leave the kernel's tree" {
	fuzz 4096 "-O ^has_journal"
}

@test "random operations with small inodes and plain folders leave the kernel's tree" {
	fuzz 4096 "-I 128 -O ^dir_index,^metadata_csum"
}

@test "random operations over shapes that cover every pair of features" {
	[ "$(id -u)" = 0 ] || skip "not root"
	[ -e /dev/loop-control ] || skip "no loop devices"
	"$SRC/tests/fuzzops/matrix" "${OUT:?}" --seconds="${FUZZOPS_SECONDS:-300}"
}
