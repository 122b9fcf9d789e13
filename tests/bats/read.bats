#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit ls, stat, map, info, df and find.

load ../lib/common

image() {
	make_image a.img 64M -b 4K -L test
	printf hello >hello
	x 0 put -p -m 4711 -u 7 -g 8 hello a.img:/usr/bin/hello
	x 0 put hello a.img:/zz
	x 0 mkdir a.img:/a
}

@test "ls sorts by name and shows one name a line" {
	image
	x 0 ls a.img
	equal "$out" $'a\nlost+found\nusr\nzz'
	x 0 ls a.img:/usr/bin/hello
	equal "$out" "/usr/bin/hello"
}

@test "ls -l shows mode, links, owner, group and size" {
	image
	x 0 ls -l a.img:/usr/bin
	[[ $out =~ ^-rws--x--x\ +1\ +7\ +8\ +5\ .*hello$ ]]
}

@test "ls -R shows paths, a folder before what is in it" {
	image
	x 0 ls -R a.img:/usr
	equal "$out" $'/usr\n/usr/bin\n/usr/bin/hello'
}

@test "ls -d shows the folder itself, and -i its number" {
	image
	x 0 ls -di a.img:/lost+found
	[[ $out =~ 11\ +/lost\+found ]]
}

@test "ls gives JSON with every column" {
	image
	need_json
	x 0 ls --json a.img:/usr/bin
	equal "$(json '[(e["path"], e["type"], oct(e["mode"]), e["uid"], e["size"], e["target"]) for e in d["entries"]]')" \
		"[('/usr/bin/hello', 'file', '0o104711', 7, 5, None)]"
}

@test "lists of many rows are whole and in order, as text and as JSON" {
	local n=7000
	need_json
	make_image big.img 64M -N 8000
	{
		printf '#wtrace 1\n#unit ns\n#source own\n#clock realtime start=1700000000.0\n%%ops\n'
		seq 3 | awk '{ print $1 * 1000, 1, "mkdir", "/d" $1, "0755" }'
		seq "$n" | awk '{ print 4000 + $1, 1, "symlink", "target-" $1, "/d" $1 % 3 + 1 "/" $1 * 7919 % 10007 "-name" }'
	} >big.wtr
	x 0 replay big.wtr big.img
	x 0 ls -lR big.img
	equal "$(wc -l <.out)" $((n + 5)) # the root, lost+found, three folders
	sed 's/.* \(\/[^ ]*\)\( -> .*\)\?$/\1/' .out >paths
	LC_ALL=C sort -c paths
	equal "$(grep -c -- '-name -> target-' .out)" "$n"
	x 0 ls -lR --json big.img
	equal "$(json '"\n".join(e["path"] for e in d["entries"])')" "$(cat paths)"
	x 0 find -n '*-name' big.img
	equal "$out" "$(grep name paths)"
	x 0 ls big.img:/d1 big.img:/d2
	equal "$(wc -l <.out)" "$(grep -c '^/d[12]/' paths)"
}

@test "a path that is not there exits 5, an image that is not there 7, and no image 3" {
	image
	x 5 ls a.img:/nope
	one_error_line ls
	x 5 ls a.img:/zz/below
	x 7 ls nope.img
	head -c 100000 /dev/zero >zeros
	x 3 ls zeros
	one_error_line ls
	: >empty
	x 3 ls empty
	x 2 ls
}

@test "an image whose own name looks like a path inside is found" {
	image
	mkdir x:
	mv a.img x:/a.img
	x 0 ls x:/a.img
	has "$out" usr
	x 0 ls x:/a.img:/usr
	equal "$out" bin
	x 0 ls x:/a.img@@0:/usr
	equal "$out" bin
	x 2 ls x:/a.img@@many:/usr
}

@test "names that could harm a terminal are escaped" {
	image
	mount_image a.img mnt
	touch mnt/$'evil\e[31m'
	umount mnt
	MOUNTS=()
	x 0 ls a.img
	has "$out" 'evil\x1b[31m'
}

@test "stat shows an inode by path and by number" {
	image
	x 0 stat a.img:/usr/bin/hello
	has "$out" "Mode: -rws--x--x"
	has "$out" "Flags: extents"
	x 0 stat -i 2 a.img
	has "$out" "Type: folder"
	x 3 stat -i 99999999 a.img
	x 3 stat -i 0 a.img
	x 5 stat -i 5000 a.img
	has "$err" "not in use"
	x 2 stat -i 2 a.img:/zz
}

@test "stat follows a link only when told to" {
	image
	mount_image a.img mnt
	ln -s zz mnt/link
	umount mnt
	MOUNTS=()
	x 0 stat a.img:/link
	has "$out" "Target: zz"
	x 0 stat -L a.img:/link
	has "$out" "Size: 5"
}

@test "map lists extents" {
	image
	need_json
	x 0 map --json a.img:/zz
	equal "$(json '[(e["lblk"], e["len"], e["state"]) for e in d["extents"]]')" "[(0, 1, 'written')]"
}

@test "info says the same as dumpe2fs" {
	image
	need dumpe2fs
	need_json
	x 0 info --json a.img
	dumpe2fs -h a.img >dump 2>/dev/null
	value() { sed -n "s/^$1: *//p" dump; }
	equal "$(json 'd["uuid"]')" "$(value 'Filesystem UUID')"
	equal "$(json 'd["blocks"]')" "$(value 'Block count')"
	equal "$(json 'd["free_blocks"]')" "$(value 'Free blocks')"
	equal "$(json 'd["free_inodes"]')" "$(value 'Free inodes')"
	equal "$(json 'd["inodes"]')" "$(value 'Inode count')"
	equal "$(json 'd["label"]')" "$(value 'Filesystem volume name')"
	equal "$(json 'd["hash_seed"]')" "$(value 'Directory Hash Seed')"
	equal "$(json 'd["reserved_blocks"]')" "$(value 'Reserved block count')"
	equal "$(json '" ".join(sorted(d["features"].split()))')" \
		"$(value 'Filesystem features' | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/^ *//; s/ $//')"
}

@test "df says the same as the kernel" {
	image
	need_json
	x 0 df --json a.img
	local ours
	ours=$(json '(d["images"][0]["bytes"], d["images"][0]["available"], d["images"][0]["inodes"], d["images"][0]["free_inodes"])')
	mount_image a.img mnt ro
	equal "$ours" "($(stat -f -c '%b %a %c %d %S' mnt | awk '{ printf "%d, %d, %d, %d", $1 * $5, $2 * $5, $3, $4 }'))"
}

@test "find meets all conditions, and exits 1 when nothing does" {
	image
	x 0 find -n 'h*' a.img
	equal "$out" /usr/bin/hello
	x 0 find -t d a.img:/usr
	equal "$out" $'/usr\n/usr/bin'
	x 0 find --setid -u 7 a.img
	equal "$out" /usr/bin/hello
	x 0 find --depth 1 -t f a.img
	equal "$out" /zz
	x 1 find -n nothing a.img
	x 1 find --larger 5 --type f a.img
	x 0 find --smaller 6 --type f a.img
}

@test "reading leaves the image as it was, to the byte" {
	image
	local sum
	sum=$(sha256sum a.img)
	x 0 ls -lR a.img
	x 0 info a.img
	x 0 cat a.img:/zz
	x 0 find a.img
	x 0 get -R a.img out
	equal "$(sha256sum a.img)" "$sum"
}
