# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What command tests share.  A bats file begins with "load ../lib/common"; each test then works in an
# empty folder of its own, and $EXTKIT is the program under test.

bats_require_minimum_version 1.5.0

setup() {
	: "${EXTKIT:?run through make check, or set EXTKIT to the program}"
	SRC=${SRC:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
	export LC_ALL=C.UTF-8 LANGUAGE='' TZ=UTC
	cd "$BATS_TEST_TMPDIR" || return 1
	MOUNTS=() LOOPS=()
}

teardown() {
	local m
	for m in ${MOUNTS[@]+"${MOUNTS[@]}"}; do umount "$m"; done
	for m in ${LOOPS[@]+"${LOOPS[@]}"}; do losetup -d "$m"; done
}

# x CODE ARG...: runs extkit, wants this exit code; afterwards $out and $err hold what it said.
x() {
	local want=$1 got=0
	shift
	"$EXTKIT" "$@" >"$BATS_TEST_TMPDIR/.out" 2>"$BATS_TEST_TMPDIR/.err" </dev/null || got=$?
	out=$(tr -d '\0' <"$BATS_TEST_TMPDIR/.out")
	err=$(tr -d '\0' <"$BATS_TEST_TMPDIR/.err")
	[ "$got" -eq "$want" ] && return
	printf 'extkit %s\nexit %s, wanted %s\n%s\n%s\n' "$*" "$got" "$want" "$out" "$err"
	return 1
}

# equal GOT WANT
equal() {
	[ "$1" = "$2" ] && return
	printf 'got:\n%s\nwanted:\n%s\n' "$1" "$2"
	return 1
}

# has TEXT PART: PART occurs in TEXT.
has() {
	[[ $1 == *"$2"* ]] && return
	printf 'no "%s" in:\n%s\n' "$2" "$1"
	return 1
}

# one_error_line VERB: stderr is exactly one line in the form every verb keeps.
one_error_line() {
	[ "$(wc -l <"$BATS_TEST_TMPDIR/.err")" -eq 1 ] && has "$err" "extkit $1: "
}

# json EXPRESSION: evaluates Python over the parsed output, which is called d, and prints the result.
json() {
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
		"$BATS_TEST_TMPDIR/.out" "$1"
}

# need PROGRAM...: skips the test, visibly, where one is missing.
need() {
	local p
	for p; do command -v "$p" >/dev/null || skip "$p is not installed"; done
}

# need_json: before json is used; a skip inside $(json ...) would not reach the test.
need_json() {
	python3 -c 'import json' 2>/dev/null || skip "python3 with its json module is not installed"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip "only root can $1"
}

# make_image FILE SIZE ARG...: an image by extkit that the reference calls clean.
make_image() {
	local file=$1 size=$2
	shift 2
	x 0 create --size "$size" "$@" "$file" && clean "$file"
}

# clean FILE: e2fsck -fn finds nothing.  Without e2fsck the test is skipped.
clean() {
	local code=0
	need e2fsck
	e2fsck -fn "$1" >"$BATS_TEST_TMPDIR/.fsck" 2>&1 || code=$?
	[ "$code" -eq 0 ] && return
	cat "$BATS_TEST_TMPDIR/.fsck"
	return 1
}

# mount_image FILE DIR [OPTIONS]: mounts an image that we made ourselves; never a damaged one.
mount_image() {
	need_root mount
	[ -e /dev/loop-control ] || skip "there are no loop devices"
	mkdir -p "$2"
	mount -o "loop${3:+,$3}" "$1" "$2" 2>"$BATS_TEST_TMPDIR/.mount" || {
		grep -q -i -e 'loop' -e 'permi' "$BATS_TEST_TMPDIR/.mount" && skip "loop mounts are not allowed here"
		cat "$BATS_TEST_TMPDIR/.mount"
		return 1
	}
	MOUNTS+=("$2")
}

# loop_device FILE: sets $loop to a loop device on FILE; it goes away with the test.
loop_device() {
	need_root "set up a loop device"
	[ -e /dev/loop-control ] || skip "there are no loop devices"
	loop=$(losetup -f --show "$1") || skip "loop devices are not allowed here"
	LOOPS+=("$loop")
}
