#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit spec, and manifests as sources

load ../lib/common

@test "every kind of file goes through a manifest, by an ordinary user, to the same bytes" {
	need_root "make device nodes"
	need python3 setpriv
	export SOURCE_DATE_EPOCH=1700000000
	python3 "$SRC/tests/tools/full-tree" make full
	x 0 create --seed v1 --size auto --from full a.img
	x 0 spec a.img -o a.spec
	open=$(mktemp -d) && chmod 777 "$open"
	cp a.spec "$open" && chmod 644 "$open/a.spec"
	# shellcheck disable=SC2016 # expanded by the inner shell
	setpriv --reuid 65534 --regid 65534 --clear-groups sh -c \
		'cd "$2" && "$1" create --seed v1 --size auto --from a.spec b.img' sh "$EXTKIT" "$open"
	mv "$open/b.img" b.img && rm -r "$open"
	cmp a.img b.img
	mount_image b.img mnt ro
	python3 "$SRC/tests/tools/full-tree" compare full mnt
}

@test "the example of SPEC.md is what it says" {
	mkdir build
	printf binary >build/ping
	# shellcheck disable=SC2016 # backquotes of Markdown
	sed -n '/^```$/,/^```$/p' "$SRC/doc/SPEC.md" | sed '1d;$d' >a.spec
	x 0 create --size auto --from a.spec a.img
	clean a.img
	x 0 cat a.img:/etc/motd
	equal "$out" hello
	x 0 cat a.img:/bin/ping6
	equal "$out" binary
	x 0 ls -l a.img:/dev/null
	has "$out" "1, 3"
	"$EXTKIT" cat a.img:/var/disk >disk
	equal "$(stat -c %s disk)" 1073741824
	equal "$(dd if=disk bs=1 skip=4096 count=5 status=none)" hello
	equal "$(dd if=disk bs=1 skip=1048576 count=3 status=none)" wor
	x 0 spec a.img
	has "$out" "./etc type=dir mode=0755 uid=0 gid=0 time=1700000000.000000000 "
	has "$out" "./etc/mtab type=link"
	has "$out" "link=../proc/self/mounts"
	has "$out" "./bin type=dir mode=0755 uid=0 gid=0 "
	x 0 xattr get security.capability a.img:/bin/ping
	equal "$out" 0x0100000200200000000000000000000000000000
}

@test "a manifest that makes no sense is refused with its line" {
	local line n=0
	for line in './a mode=8' './a mode=17777' './a color=red' './a uid=-1' './a uid=4294967296' './a data=\9' \
		'./a type=dir size=5' './a size=5 data=abc' './a map=5+1,3+1 size=9 data=ab' './a map=0+9 size=5' '../a' '/a' \
		'./a/../b' './a hard=./nothing' './a link=' './a type=link' './a contents=../../etc/passwd' './a data=0sQ' \
		'./a time=x' './a xattr.user.x=0xabc' './a xattr.nothing=1' './a flags=0x80000' './a device=1' 'a b'; do
		printf '#spec 1\n%s\n' "$line" >a.spec
		run ! "$EXTKIT" create --size auto --from a.spec a.img
		equal "${#lines[@]}" 1
		[ ! -e a.img ]
	done
	for line in './b hard=./a mode=0600' './b uid=7 hard=./a' './b hard=./a data=x' '/set time=5' '/set flags=0x10' \
		'/set xattr.user.a=b' '/set device=1,3' '/set mode=0600 project=5' '/unknown'; do
		printf '#spec 1\n./a\n%s\n' "$line" >a.spec
		x 2 create --size auto --from a.spec a.img
		has "$err" "line 3: "
		[ ! -e a.img ]
	done
	printf '#spec 1\n./a\n./a\n' >a.spec
	x 5 create --size auto --from a.spec a.img
	has "$err" "there already"
}

@test "a map may have more rows than a word has room for" {
	need python3
	python3 -c 'n = 40000; print("#spec 1\n./a map=%s data=%s" % (",".join("%d+1" % (1000000000 + i * 2048) for i in range(n)), "x" * n))' >a.spec
	[ "$(wc -c <a.spec)" -gt 524288 ]
	x 0 create --size auto -b 1024 --from a.spec a.img
	x 0 get a.img:/a out
	python3 -c 'd = open("out", "rb"); d.seek(1000000000); b = d.read(); assert b[::2048] == b"x" * 40000 and b.count(b"x") == 40000'
}

@test "attributes that are the filesystem's own, and access lists that Linux would not use, are refused" {
	printf '#spec 1\n./a type=file data=%0100d xattr.system.data=zz\n' 7 >a.spec
	x 6 create --size auto --from a.spec a.img
	has "$err" "system.data"
	x 0 create --size 8M -O inline_data b.img
	x 6 import a.spec b.img
	has "$err" "system.data"
	# a row for a named user wants a mask
	printf '#spec 1\n./a type=file xattr.system.posix_acl_access=0x%s\n' \
		0200000001000700ffffffff02000600e803000004000500ffffffff20000000ffffffff >a.spec
	x 2 create --size auto --from a.spec a.img
	has "$err" "access list: a: system.posix_acl_access is damaged"
	x 2 import a.spec b.img
	clean b.img
}
