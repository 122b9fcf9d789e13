#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit chmod, chown, touch, truncate and fallocate: what inodes have.

load ../lib/common

one_file() {
	make_image a.img 32M "$@"
	head -c 10000 /dev/urandom >file
	x 0 mkdir -p a.img:/d/sub
	x 0 put -m 644 file a.img:/d/file
	x 0 ln -s file a.img:/d/link
}

# mode_after MODE FROM: what chmod MODE makes of FROM, in octal.
mode_after() {
	x 0 chmod "$2" a.img:/d/file
	x 0 chmod --json -- "$1" a.img:/d/file
	printf '%o\n' "$(json 'd["changed"][0]["mode"]')"
}

@test "chmod understands what chmod of the system understands" {
	one_file
	need_json
	local row mode from
	for row in 755:0 u+x:644 a+rwx:0 go-rwx:777 u=rw,g=r,o=:7777 +X:644 +X:744 u+s,g+s:755 +t:755 o=u:750 g=o:604 u-s:4755 a=rX:644 a=:7777 ug+x-w:666 u=g:640 g+u,o-w:642 =r:755 a-st:7777 u+rw-x+s:100 4755:0 0:777; do
		mode=${row%:*} from=${row#*:}
		: >host
		(umask 0 && chmod "$from" host && chmod -- "$mode" host)
		equal "$mode of $from: $(mode_after "$mode" "$from")" "$mode of $from: $(stat -c %a host)"
	done
	clean a.img
}

@test "chmod refuses what is no mode and changes nothing" {
	one_file
	cp a.img before.img
	local mode
	for mode in 888 77777 '' u u+q '+rw,,' x+r 7a ' 7' 'u+,'; do
		x 2 chmod -- "$mode" a.img:/d/file
	done
	cmp a.img before.img
	x 5 chmod 644 a.img:/nothing
	x 2 chmod 644
}

@test "chmod -R and chown -R stay inside the tree and do not follow links" {
	one_file
	x 0 put file a.img:/outside
	x 0 ln -s /outside a.img:/d/out
	x 0 chmod -R u=rwX,go= a.img:/d
	x 0 chown -R 100000:70000 a.img:/d
	clean a.img
	mount_image a.img mnt ro
	equal "$(cd mnt && stat -c '%a %u %g' d d/sub d/file outside d/link | tr '\n' ' ')" \
		"700 100000 70000 700 100000 70000 600 100000 70000 644 0 0 777 100000 70000 "
}

@test "a link at the end is followed, unless it is meant itself" {
	one_file
	x 0 chown 5 a.img:/d/link
	x 0 chown -n :6 a.img:/d/link
	x 0 chmod 600 a.img:/d/link
	mount_image a.img mnt ro
	equal "$(stat -c '%a %u %g' mnt/d/file)" "600 5 0"
	equal "$(stat -c '%a %u %g' mnt/d/link)" "777 0 6"
}

@test "chown takes numbers only" {
	one_file
	local bad
	for bad in root 1:2:3 : '' 4294967295 -1 99999999999999999999; do
		x 2 chown -- "$bad" a.img:/d/file
	done
	x 0 chown 4294967294:4294967294 a.img:/d/file
	clean a.img
	mount_image a.img mnt ro
	equal "$(stat -c '%u %g' mnt/d/file)" "4294967294 4294967294"
}

@test "times are set to the nanosecond, before 1970 and after 2038" {
	one_file
	x 0 touch -m -d '2001-02-03 04:05:06.123456789' a.img:/d/file
	x 0 touch -a -d '@-1.5' a.img:/d/file
	x 0 touch -d '2446-05-10T22:38:55Z' a.img:/d/sub
	clean a.img
	x 2 touch -d '2446-05-10T22:38:56Z' a.img:/d/sub
	has "$err" "it can hold"
	x 0 touch -d '1901-12-13 20:45:52' a.img:/d
	x 2 touch -d '1901-12-13 20:45:51' a.img:/d
	mount_image a.img mnt ro
	equal "$(stat -c '%x %y' mnt/d/file)" "1969-12-31 23:59:58.500000000 +0000 2001-02-03 04:05:06.123456789 +0000"
	equal "$(stat -c %Y mnt/d/sub)" 15032385535
	equal "$(stat -c %Y mnt/d)" -2147483648
}

@test "small inodes refuse times that they have no room for" {
	one_file -I 128 -O ^metadata_csum,^extra_isize
	x 2 touch -d '2040-01-01' a.img:/d/file
	x 0 touch -d '2038-01-19 03:14:07' a.img:/d/file
	clean a.img
}

@test "touch refuses what is no time" {
	one_file
	local bad
	for bad in yesterday 2001-13-01 2001-02-29 2001-02-03T25:00 '2001-02-03 04' @ @1. 2001-02-03x 0-1-1 '@1 2'; do
		x 2 touch -d "$bad" a.img:/d/file
	done
	x 0 touch -d 2000-02-29 a.img:/d/file
	x 0 touch -d '2000-02-29 23:59:59.999999999 UTC' a.img:/d/file
}

@test "touch makes empty files, or not" {
	one_file
	x 0 touch -c a.img:/new
	x 5 stat a.img:/new
	SOURCE_DATE_EPOCH=1700000000 x 0 touch a.img:/new
	x 0 stat a.img:/new
	has "$out" "2023-11-14 22:13:20"
	x 5 touch a.img:/nothing/new
	clean a.img
}

@test "truncate cuts, grows and empties, and the rest of a block reads as zeros" {
	one_file -b 4K
	x 0 truncate -s 5000 a.img:/d/file
	x 0 truncate -s 9000 a.img:/d/file
	head -c 5000 file >want
	truncate -s 9000 want
	"$EXTKIT" cat a.img:/d/file | cmp - want
	x 0 truncate -s +1G a.img:/d/file
	x 0 truncate -s -1G a.img:/d/file
	"$EXTKIT" cat a.img:/d/file | cmp - want
	x 0 truncate -s -1T a.img:/d/file
	x 0 truncate -s 3M a.img:/made
	x 0 truncate -c -s 3M a.img:/not-made
	clean a.img
	mount_image a.img mnt ro
	equal "$(stat -c '%s %b' mnt/d/file mnt/made | tr '\n' ' ')" "0 0 3145728 0 "
	[ ! -e mnt/not-made ]
}

@test "truncate refuses folders, sizes past the limit and no size" {
	one_file
	x 5 truncate -s 0 a.img:/d
	x 4 truncate -s 1P a.img:/d/file
	x 2 truncate -s 1Q a.img:/d/file
	x 2 truncate a.img:/d/file
	clean a.img
}

@test "a large file is cut on images without a journal and with pointers too" {
	local opts
	for opts in "-b 1K -O ^has_journal" "-b 1K -O ^extents" "-b 4K"; do
		rm -f a.img
		# shellcheck disable=SC2086 # words
		make_image a.img 64M $opts
		head -c 30000000 /dev/urandom >big
		x 0 put big a.img:/big
		x 0 truncate -s 1234567 a.img:/big
		head -c 1234567 big | cmp - <("$EXTKIT" cat a.img:/big)
		clean a.img
		x 0 rm a.img:/big
		clean a.img
	done
}

@test "fallocate does to a range what it does on a mounted image" {
	one_file -b 4K
	head -c 200000 /dev/urandom >f
	local how
	for how in keep-size allocate punch zero collapse insert; do x 0 put f "a.img:/$how"; done
	cp a.img b.img
	x 0 fallocate --mode keep-size -o 190000 -l 100000 a.img:/keep-size
	x 0 fallocate -o 190000 -l 100000 a.img:/allocate
	x 0 fallocate --mode punch -o 5000 -l 50000 a.img:/punch
	x 0 fallocate --mode zero -o 5000 -l 300000 a.img:/zero
	x 0 fallocate --mode collapse -o 8192 -l 40960 a.img:/collapse
	x 0 fallocate --mode insert -o 8192 -l 40960 a.img:/insert
	clean a.img
	need fallocate
	mount_image b.img two
	fallocate -n -o 190000 -l 100000 two/keep-size
	fallocate -o 190000 -l 100000 two/allocate
	fallocate -p -o 5000 -l 50000 two/punch
	fallocate -z -o 5000 -l 300000 two/zero
	fallocate -c -o 8192 -l 40960 two/collapse
	fallocate -i -o 8192 -l 40960 two/insert
	sync -f two
	mount_image a.img one ro
	for how in keep-size allocate punch zero collapse insert; do
		cmp "one/$how" "two/$how"
		equal "$how $(stat -c '%s %b' "one/$how")" "$how $(stat -c '%s %b' "two/$how")"
	done
}

@test "fallocate refuses half blocks, folders and ranges past the end" {
	one_file -b 4K
	x 2 fallocate --mode collapse -o 1 -l 4096 a.img:/d/file
	x 2 fallocate --mode insert -o 1M -l 4096 a.img:/d/file
	x 2 fallocate -l 0 a.img:/d/file
	x 2 fallocate a.img:/d/file
	x 2 fallocate --mode shrink -l 1 a.img:/d/file
	x 5 fallocate -l 1 a.img:/d
	x 5 fallocate --mode punch -l 1 a.img:/nothing
	clean a.img
}

@test "a range that there is no room for leaves the file as it was, and says how much is missing" {
	one_file -b 4K
	head -c 100000 /dev/zero >f
	x 0 put f a.img:/f
	local before how
	before=$("$EXTKIT" stat --json a.img:/f)
	for how in allocate keep-size zero; do
		x 4 fallocate --mode $how -o 50000 -l 1G a.img:/f
		[[ $err =~ "no space: 26213"[0-9]" more blocks wanted" ]]
		equal "$("$EXTKIT" stat --json a.img:/f)" "$before"
	done
	x 4 fallocate -l 1G a.img:/d/file
	x 0 fallocate -l 100K a.img:/f
	clean a.img
}

@test "--json tells what became of each" {
	one_file
	need_json
	x 0 chown --json 1:2 a.img:/d/file a.img:/d/sub
	equal "$(json '[(r["path"], r["uid"], r["gid"]) for r in d["changed"]]')" "[('/d/file', 1, 2), ('/d/sub', 1, 2)]"
	x 0 truncate --json -s 7 a.img:/d/file
	equal "$(json 'd["changed"][0]["size"]')" 7
	x 5 touch --json -c -d @5 a.img:/d/file a.img:/d/file/x
	equal "$(json 'd["error"]["exit"]')" 5
}
