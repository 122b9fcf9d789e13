#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# contrib/extkit.bash: helpers for other people's tests

load ../lib/common

setup_file() {
	export FROM=$BATS_TEST_DIRNAME/../../contrib/extkit.bash
}

# says TEXT COMMAND...: the assertion does not hold, and says so.
says() {
	local want=$1 got=0
	shift
	err=$("$@" 2>&1) || got=$?
	[ "$got" -eq 1 ]
	has "$err" "$want"
}

@test "an image is made from a tree and asserted" {
	need e2fsck
	# shellcheck source=contrib/extkit.bash
	source "$FROM"
	mkdir -p t/etc
	echo 'root:x:0:0::/:/bin/sh' >t/etc/passwd
	touch t/su
	chmod 4755 t/su
	image_from_tree t a.img -L test
	assert_image_clean a.img
	assert_in_image a.img /etc/passwd
	assert_in_image a.img /etc/passwd 'root:x:0:0:*'
	assert_not_in_image a.img /etc/shadow
	assert_mode a.img /su 4755
	assert_same_tree t a.img
	equal "$(image_read a.img /etc/passwd)" "$(cat t/etc/passwd)"
}

@test "an assertion that does not hold says why" {
	need e2fsck
	# shellcheck source=contrib/extkit.bash
	source "$FROM"
	mkdir -p t
	echo one >t/a
	image_from_tree t a.img --free 1M
	says "a.img has no /b" assert_in_image a.img /b
	says "does not match 'two'" assert_in_image a.img /a two
	says "a.img has /a" assert_not_in_image a.img /a
	says "not 600" assert_mode a.img /a 600
	x 0 rm a.img:/a
	says "a.img differ" assert_same_tree t a.img
	dd if=/dev/zero of=a.img bs=1024 seek=1 count=1 conv=notrunc status=none
	says "is not clean" assert_image_clean a.img
}
