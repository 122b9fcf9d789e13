#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Filesystems in partitions, by number and by label

load ../lib/common

# disk gpt|mbr: disk.img with the filesystems "boot" and "root", also in 1.img and 2.img.
disk() {
	need python3
	x 0 create -f -s 16M -L boot 1.img
	x 0 create -f -s 20M -L root 2.img
	echo kernel >k
	x 0 put k 1.img:/kernel
	python3 "$SRC/tests/tools/disk.py" "$1" disk.img boot=1.img system=2.img
}

@test "a partition is named by its number, the label in it, or its own" {
	local kind name
	for kind in gpt mbr; do
		disk $kind
		for name in p1 LABEL=boot; do
			x 0 cat disk.img@$name:/kernel
			equal "$out" kernel
		done
		x 0 info disk.img@p2
		has "$out" "Label: root"
	done
	disk gpt
	x 0 info disk.img@PARTLABEL=system
	has "$out" "Label: root"
}

@test "a partition is changed, and nothing around it" {
	disk gpt
	cp disk.img before.img
	x 0 put k disk.img@LABEL=root:/k
	x 0 cat disk.img@p2:/k
	equal "$out" kernel
	cmp -n $((17 << 20)) disk.img before.img
	cmp -i $((37 << 20)) disk.img before.img
	dd if=disk.img of=part.img bs=1M skip=17 count=20 status=none
	clean part.img
}

@test "what no partition or several are called is told" {
	disk gpt
	x 1 ls disk.img@p3
	has "$err" "none of 2 is p3"
	x 1 ls disk.img@LABEL=swap
	x 1 ls 1.img@p1
	has "$err" "none of 0"
	python3 "$SRC/tests/tools/disk.py" gpt twice.img a=1.img a=1.img
	x 2 ls twice.img@LABEL=boot
	has "$err" "2 are LABEL=boot"
	x 5 ls disk.img@p1:/nothing
}

@test "a file with a sign in its name is that file, and a filesystem without a table has a label" {
	disk mbr
	cp disk.img "odd@p1"
	x 3 ls "odd@p1"
	x 0 info "odd@p1@p2"
	has "$out" "Label: root"
	x 0 cat 1.img@LABEL=boot:/kernel
	equal "$out" kernel
}

@test "a table whose partitions reach beyond the disk is no way out of it" {
	disk mbr
	truncate -s 18M disk.img
	x 0 ls disk.img@p1
	x 1 ls disk.img@p2
	head -c 1M /dev/urandom >noise
	dd if=noise of=disk.img bs=1 seek=446 count=64 conv=notrunc status=none
	local got=0
	"$EXTKIT" ls disk.img@p1 2>err || got=$?
	[ "$got" -ne 0 ] && [ "$got" -lt 10 ]
	[ "$(wc -l <err)" -eq 1 ]
}
