#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Large things: right, and in time that grows with the work.

load ../lib/common

# trace NAME: a trace of the operations on standard input, one a microsecond.
trace() {
	{
		printf '#wtrace 1\n#unit ns\n#source own\n#clock realtime start=1796030665.0\n%%ops\n'
		awk '{ print NR * 1000, 1, $0 }'
	} >"$1"
}

# seconds COMMAND...: runs it and sets $took, in hundredths of processor time: what else the disk has
# to do is not its work.
seconds() {
	local TIMEFORMAT='%U %S'
	{ time "$@" >&5 2>&6; } 5>&1 6>&2 2>.took
	took=$(awk '{ printf("%d", ($1 + $2) * 100 + 1) }' .took)
}

# names N: as many names of a few inodes in one folder.
names() {
	echo "mkdir /d 0755"
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++)
			if (i % 60000 == 0) printf("mknod /d/name-%07d 0100644 0:0\n", first = i)
			else printf("link /d/name-%07d /d/name-%07d\n", first, i)
	}'
}

@test "a million names in one folder are all found, with two and with three levels of index" {
	local shape small
	names 100000 | trace small.wtr
	names 1000000 | trace large.wtr
	for shape in "-b 4K" "-b 1K -O large_dir"; do
		# shellcheck disable=SC2086 # a shape is several words
		make_image a.img 1G $shape --force
		cp a.img b.img
		seconds x 0 replay -q small.wtr b.img
		small=$took
		seconds x 0 replay -q large.wtr a.img
		echo "$shape: 100,000 names in $small, 1,000,000 in $took hundredths of a second"
		[ "$took" -lt $((small * 60)) ]
		clean a.img
		x 0 stat a.img:/d/name-0999999
		[ "$("$EXTKIT" ls a.img:/d | wc -l)" -eq 1000000 ]
		mount_image a.img mnt ro
		[ "$(find mnt/d -mindepth 1 | wc -l)" -eq 1000000 ]
		[ -e mnt/d/name-0999999 ]
		umount mnt && MOUNTS=()
	done
}

@test "an inode has 65,000 names and not one more" {
	make_image a.img 256M
	{
		echo "mknod /one 0100644 0:0"
		awk 'BEGIN { for (i = 2; i <= 65000; i++) printf("link /one /name-%05d\n", i) }'
	} | trace links.wtr
	x 0 replay -q links.wtr a.img
	clean a.img
	mount_image a.img mnt ro
	equal "$(stat -c %h mnt/one)" 65000
	umount mnt && MOUNTS=()
	echo "link /one /name-65001" | trace more.wtr
	x 0 replay more.wtr a.img
	has "$(tr -s ' ' <<<"$out")" "link: Too many links"
	clean a.img
}

# pieces N: a file of N blocks, each behind a hole of one.
pieces() {
	echo "open h1 /file w flags=creat mode=0644"
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf("write h1 %.0f 4096\n", i * 8192) }'
	echo "fsync h1"
	echo "close h1"
}

@test "files of 3,000 and 400,000 extents are read, cut and removed" {
	local n blocks
	for n in 3000 400000; do
		pieces "$n" | trace pieces.wtr
		make_image a.img 4G -b 4K --force
		blocks=$("$EXTKIT" info --json a.img | python3 -c 'import json, sys; print(json.load(sys.stdin)["free_blocks"])')
		seconds x 0 replay -q pieces.wtr a.img
		echo "$n pieces in $took hundredths of a second"
		clean a.img
		[ "$("$EXTKIT" map a.img:/file | tail -n +2 | wc -l)" -eq "$n" ]
		mount_image a.img mnt ro
		equal "$(stat -c %s mnt/file)" $(((n - 1) * 8192 + 4096))
		umount mnt && MOUNTS=()
		{
			echo "truncate /file 4100"
			echo "sync"
			echo "unlink /file"
		} | trace gone.wtr
		seconds x 0 replay -q gone.wtr a.img
		echo "$n pieces removed in $took hundredths of a second"
		clean a.img
		equal "$("$EXTKIT" info --json a.img | python3 -c 'import json, sys; print(json.load(sys.stdin)["free_blocks"])')" "$blocks"
	done
}

@test "a sparse file of 16 TiB has its few blocks where they belong" {
	make_image a.img 64M -b 4K
	{
		echo "open h1 /file rw flags=creat mode=0644"
		echo "write h1 0 4096"
		echo "write h1 8796093022208 4096"
		echo "write h1 17592186036224 4095"
		echo "fsync h1"
		echo "close h1"
	} | trace sparse.wtr
	x 0 replay -q sparse.wtr a.img
	clean a.img
	mount_image a.img mnt ro
	equal "$(stat -c %s mnt/file)" 17592186040319
	[ "$(stat -c %b mnt/file)" -le 32 ]
	umount mnt && MOUNTS=()
	x 0 map a.img:/file
	[ "$(wc -l <<<"$out")" -eq 4 ]
}
