#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Replays of the recordings against the kernel's: levels A and B of doc/ACCURACY.md.

load ../lib/common

@test "replays of all recordings end like the kernel's" {
	[ "$(id -u)" = 0 ] || skip "not root"
	command -v mke2fs >/dev/null || skip "no mke2fs"
	[ -e /dev/loop-control ] || skip "no loop devices"
	"$SRC/tests/accuracy/run" "$OUT"
}

@test "policies change counters in the direction in which they change the kernel's" {
	[ "$(id -u)" = 0 ] || skip "not root"
	command -v mke2fs >/dev/null || skip "no mke2fs"
	"$SRC/tests/accuracy/policies.py" "$OUT"
}
