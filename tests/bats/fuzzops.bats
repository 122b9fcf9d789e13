#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Two thousand random operations leave the tree that the kernel makes of them.

load ../lib/common

fuzz() { # BLOCK SEED
	[ "$(id -u)" = 0 ] || skip "not root"
	command -v mke2fs >/dev/null || skip "no mke2fs"
	[ -e /dev/loop-control ] || skip "no loop devices"
	"$SRC/tests/fuzzops/run" "${OUT:?}" --seeds="$2" --ops=2000 --blocks="$1" --without=whiteout
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
