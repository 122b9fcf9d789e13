#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Features that seldom occur: what is read, what is written, what is refused and by which words.

load ../lib/common

# set_flags PATH FLAGS: inode flags, past every program that would know better.
set_flags() {
	need debugfs
	debugfs -w -R "set_inode_field $1 flags $2" a.img >/dev/null 2>&1
}

@test "a folder that folds case is read name by name, and not written" {
	need debugfs
	echo text >file
	make_image a.img 16M -O casefold
	has "$(dumpe2fs -h a.img 2>/dev/null | tr -s ' ')" "Character encoding: utf8-12.1"
	debugfs -w -f - a.img >/dev/null 2>&1 <<-'EOF'
		mkdir /d
		write file /d/Hello
		set_inode_field /d flags 0x40080000
	EOF
	x 0 ls a.img:/d
	equal "$out" Hello
	x 0 cat a.img:/d/Hello
	equal "$out" text
	x 5 cat a.img:/d/hello
	cp a.img before.img
	x 6 put file a.img:/new
	has "$err" "casefold"
	cmp a.img before.img
}

@test "beside encrypted folders is written, in them nothing is added, from them nothing is extracted" {
	make_image a.img 16M -O encrypt
	echo text >file
	x 0 mkdir a.img:/sealed
	x 0 put file a.img:/sealed/inside
	set_flags /sealed 0x80800
	set_flags /sealed/inside 0x80800
	x 0 put file a.img:/beside
	x 6 put file a.img:/sealed/new
	has "$err" "names in folder"
	x 6 cat a.img:/sealed/inside
	has "$err" "encrypted"
	x 0 ls a.img:/sealed
	equal "$out" inside
	x 0 stat a.img:/sealed/inside
	has "$out" encrypt
}

@test "what verity seals is read, and keeps its flag" {
	make_image a.img 16M -O verity
	echo text >file
	x 0 put file a.img:/sealed
	set_flags /sealed 0x180000
	x 0 cat a.img:/sealed
	equal "$out" text
	printf '#wtrace 1\n%%ops\n1 1 open h1 /sealed w\n2 1 write h1 0 4\n3 1 close h1\n' >t.wtr
	x 0 replay t.wtr a.img
	has "$out" "sealed by verity"
	x 0 cat a.img:/sealed
	equal "$out" text
}

@test "a folder hands its project down, and takes no other" {
	make_image a.img 16M -O project
	echo text >file
	x 0 mkdir a.img:/p
	debugfs -w -R "set_inode_field /p projid 42" a.img >/dev/null 2>&1
	set_flags /p 0x20080000
	x 0 put file a.img:/p/inside
	x 0 put file a.img:/outside
	x 0 stat --json a.img:/p/inside
	need_json
	equal "$(json 'd["project"]')" 42
	printf '#wtrace 1\n%%ops\n1 1 link /outside /p/new\n2 1 rename /outside /p/new\n' >t.wtr
	x 0 replay t.wtr a.img
	has "$(tr -s ' ' <<<"$out")" "link: Invalid cross-device link"
	has "$(tr -s ' ' <<<"$out")" "rename: Invalid cross-device link"
	clean a.img
}

@test "features that nobody knows are refused by their number" {
	local word
	make_image a.img 16M
	word() { "$EXTKIT" inspect a.img | awk -v f="$1" '$3 == f { print $5 }'; }
	word=$(word s_feature_ro_compat)
	x 0 inspect --set s_feature_ro_compat=$((word | 1 << 20)) a.img
	x 0 ls a.img
	x 6 mkdir a.img:/d
	has "$err" FEATURE_R20
	word=$(word s_feature_incompat)
	x 0 inspect --set s_feature_incompat=$((word | 1 << 18)) a.img
	x 6 ls a.img
	has "$err" FEATURE_I18
}

@test "an image with quotas is made with what root and lost+found take, read, and not written" {
	local shape
	for shape in "64M -O quota" "300M -b 4K -O quota,project" "300M -O quota,project,orphan_file,bigalloc" \
		"64M -O quota,project,^extent" "64M -O quota,project --no-lost-found" "64M -b 16K -O quota"; do
		# shellcheck disable=SC2086 # a shape is several words
		make_image a.img $shape --force
	done
	make_image a.img 64M -b 4K -O quota,project --force
	need debugfs
	for type in user group project; do
		equal "$(debugfs -R "list_quota $type" a.img 2>/dev/null | awk '$1 == 0 { print $2, $5 }')" "20480 2"
	done
	make_image b.img 64M -O quota,project --root-owner 70000:7
	equal "$(debugfs -R "list_quota user" b.img 2>/dev/null | awk '$1 == 70000 { print $5 }')" 1
	echo text >file
	x 0 ls a.img
	cp a.img before.img
	x 6 put file a.img:/new
	has "$err" "quota"
	cmp a.img before.img
}

@test "an image of revision 0 and one of the Hurd are read and written" {
	need mke2fs
	echo text >file
	truncate -s 16M a.img
	mke2fs -q -r 0 -b 1024 a.img
	x 0 put file a.img:/new
	clean a.img
	truncate -s 16M b.img
	mke2fs -q -o hurd -b 4096 b.img
	x 0 put file b.img:/new
	clean b.img
	x 0 cat b.img:/new
	equal "$out" text
}

@test "blocks that the kernel here cannot mount are written too: e2fsck is content and we read them back" {
	local bs
	seq 1 200000 >numbers
	for bs in 8K 16K 32K 64K; do
		make_image a.img 300M -b $bs --force
		x 0 mkdir a.img:/d
		x 0 put numbers a.img:/d/numbers
		printf '%s\n' '#wtrace 1' '%ops' >t.wtr
		awk 'BEGIN { for (i = 0; i < 3000; i++) printf("%d 1 mknod /d/a-name-of-some-length-%05d 0100644 0:0\n", i + 1, i) }' >>t.wtr
		x 0 replay -q t.wtr a.img
		clean a.img
		"$EXTKIT" cat a.img:/d/numbers | cmp - numbers
		[ "$("$EXTKIT" ls a.img:/d | wc -l)" -eq 3001 ]
	done
}
