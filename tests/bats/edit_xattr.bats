#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit xattr and attr: attributes, ACLs, flags, projects; tree and du.

load ../lib/common

one_file() {
	make_image a.img 32M "$@"
	echo text >file
	x 0 mkdir -p a.img:/d/sub
	x 0 put -m 640 file a.img:/d/file
	x 0 ln -s file a.img:/d/link
}

# kernel_xattr NAME PATH: the value as the kernel has it, in hexadecimal.
kernel_xattr() {
	python3 -c 'import os, sys; print(os.getxattr(sys.argv[2], sys.argv[1], follow_symlinks=False).hex())' "$1" "$2"
}

@test "values are text, hexadecimal or a file's, and the kernel reads them" {
	local opts
	need python3
	for opts in "-b 1K" "-b 4K -O ea_inode" "-b 1K -I 128 -O ^metadata_csum,^extra_isize" "-b 4K -O inline_data"; do
		rm -f a.img
		# shellcheck disable=SC2086 # words
		one_file $opts
		head -c 900 /dev/urandom >blob
		x 0 xattr set user.text=hello a.img:/d/file a.img:/d/sub
		x 0 xattr set user.hex=0x00fF10 a.img:/d/file
		x 0 xattr set user.blob=@blob a.img:/d/sub
		x 0 xattr set -t user.raw=0x00 a.img:/d/file
		x 0 xattr set user.empty= a.img:/d/file
		x 0 xattr set -n security.selinux=label a.img:/d/link
		clean a.img
		x 0 xattr get user.hex a.img:/d/file
		equal "$out" 0x00ff10
		x 0 xattr get user.raw a.img:/d/file
		equal "$out" 0x30783030
		"$EXTKIT" xattr get -r user.blob a.img:/d/sub | cmp - blob
		mount_image a.img mnt ro
		equal "$(kernel_xattr user.text mnt/d/file)" "$(printf hello | od -An -tx1 | tr -d ' ')"
		equal "$(kernel_xattr user.hex mnt/d/file)" 00ff10
		equal "$(kernel_xattr user.raw mnt/d/file)" 30783030
		equal "$(kernel_xattr user.empty mnt/d/file)" ""
		equal "$(kernel_xattr user.blob mnt/d/sub)" "$(od -An -v -tx1 blob | tr -d ' \n')"
		equal "$(kernel_xattr security.selinux mnt/d/link)" 6c6162656c
		umount mnt
		MOUNTS=()
		x 0 xattr rm user.text a.img:/d/file
		x 5 xattr rm user.text a.img:/d/file
		x 1 xattr get user.text a.img:/d/file
		x 0 xattr rm -R user.blob a.img:/
		clean a.img
	done
}

@test "what is listed can be set again" {
	one_file
	need_json
	x 0 xattr set user.a=b a.img:/d/file
	x 0 xattr set user.c=0x0001 a.img:/d/file
	x 0 xattr set -t user.d=@x a.img:/d/file
	x 0 xattr set system.posix_acl_access=u::rw,g::r,u:1000:rw,o:: a.img:/d/file
	x 0 xattr ls --json a.img:/d/file
	equal "$(json 'sorted((a["name"], a["value"]) for a in d["xattrs"])')" \
		"[('system.posix_acl_access', 'u::rw-,u:1000:rw-,g::r--,m::rw-,o::---'), ('user.a', 'b'), ('user.c', '0x0001'), ('user.d', '0x4078')]"
}

@test "--create and --replace, and attributes without room" {
	one_file -b 1K
	x 5 xattr set --replace user.a=b a.img:/d/file
	x 0 xattr set --create user.a=b a.img:/d/file
	x 5 xattr set --create user.a=c a.img:/d/file
	x 0 xattr set --replace user.a=c a.img:/d/file
	x 0 xattr get user.a a.img:/d/file
	equal "$out" c
	x 4 xattr set "user.long=$(head -c 3000 /dev/zero | tr '\0' v)" a.img:/d/file
	one_error_line "xattr set"
	clean a.img
}

@test "names and values that cannot be are refused" {
	one_file
	x 6 xattr set nothing.a=b a.img:/d/file
	x 6 xattr set system.data=b a.img:/d/file
	x 2 xattr set user.a a.img:/d/file
	x 2 xattr set user.a=0x1 a.img:/d/file
	x 2 xattr set user.a=0xzz a.img:/d/file
	x 7 xattr set user.a=@nowhere a.img:/d/file
	head -c 65537 /dev/zero >long
	x 2 xattr set user.a=@long a.img:/d/file
	x 5 xattr set user.a=b a.img:/nothing
	x 2 xattr nonsense
	local acl
	for acl in u::rwx u::rwx,g::rx u::rwx,g::rx,o::q u::rwx,g::rx,o::,u::r w::rwx u:x:rwx,g::,o::,u:: m:5:rwx,u::,g::,o:: u:1:r,u:1:r,u::,g::,o::; do
		x 2 xattr set "system.posix_acl_access=$acl" a.img:/d/file
	done
	x 2 xattr set system.posix_acl_access=0x02000000 a.img:/d/file
	x 5 xattr set system.posix_acl_default=u::rwx,g::rx,o:: a.img:/d/file
	x 6 xattr set -n system.posix_acl_access=u::rwx,g::rx,o:: a.img:/d/link
	clean a.img
	x 0 xattr ls -R a.img:/
	equal "$out" ""
}

@test "the kernel enforces an ACL that was set, and the mode follows it" {
	one_file
	need python3
	x 0 xattr set system.posix_acl_access=u::rw,u:1000:r,g::rwx,o:: a.img:/d/file
	x 0 xattr set system.posix_acl_default=u::rwx,g::rx,g:7:rwx,o::x a.img:/d/sub
	clean a.img
	x 0 stat a.img:/d/file
	has "$out" "-rw-rwx---"
	mount_image a.img mnt
	need setpriv
	chmod 755 mnt mnt/d
	equal "$(setpriv --reuid 1000 --regid 1000 --clear-groups cat mnt/d/file)" text
	run ! setpriv --reuid 1001 --regid 1001 --clear-groups cat mnt/d/file
	touch mnt/d/sub/new
	equal "$(kernel_xattr system.posix_acl_access mnt/d/sub/new | head -c 8)" 02000000
}

@test "flags are words and letters, set and taken away" {
	one_file
	x 0 attr +immutable,nodump a.img:/d/file
	x 0 attr a.img:/d/file
	has "$out" "immutable nodump"
	x 0 attr -i a.img:/d/file
	x 0 attr +aA a.img:/d/file
	x 0 attr a.img:/d/file
	has "$out" "append nodump noatime"
	x 0 attr =S a.img:/d/file
	x 0 attr a.img:/d/file
	equal "$(tr -s ' ' <<<"$out")" "/d/file 0 sync extents"
	x 0 attr = a.img:/d/file
	x 0 attr -R +d a.img:/d
	x 0 attr -R a.img:/d
	equal "$(grep -c nodump <<<"$out")" 4
	x 2 attr +e a.img:/d/file
	x 2 attr +nonsense a.img:/d/file
	x 2 attr +dirsync a.img:/d/file
	x 2 attr +i
	x 5 attr +i a.img:/nothing
	x 6 attr -p 5 a.img:/d/file
	clean a.img
	need lsattr
	x 0 attr +i a.img:/d/file
	mount_image a.img mnt
	has "$(lsattr mnt/d/file | cut -d' ' -f1)" "i"
	run ! rm mnt/d/file
}

@test "tree draws what is there" {
	one_file
	x 0 tree a.img:/
	equal "$out" "/
├── d
│   ├── file
│   ├── link -> file
│   └── sub
└── lost+found"
	x 0 tree -d -L 1 a.img
	equal "$out" "/
├── d
└── lost+found"
	x 0 mkdir "a.img:/d/sub/"$'new\nline'
	x 0 tree a.img:/d/sub
	equal "$(wc -l <<<"$out")" 2
	need_json
	x 0 tree --json a.img
	equal "$(json '[(e["path"], e["depth"]) for e in d["entries"]][:3]')" "[('', 0), ('d', 1), ('d/file', 2)]"
	x 5 tree a.img:/nothing
}

@test "du adds up what the kernel's du adds up" {
	one_file -b 4K
	head -c 300000 /dev/urandom >big
	x 0 put big a.img:/d/sub/big
	x 0 ln a.img:/d/sub/big a.img:/d/sub/again
	x 0 truncate -s 100M a.img:/d/hole
	need_json
	x 0 du --json a.img:/
	json '"\n".join("%d /%s" % (e["bytes"], e["path"].strip("/")) for e in d["entries"])' | LC_ALL=C sort >ours
	mount_image a.img mnt ro
	(cd mnt && du -B1 . | sed 's|\t\./|\t/|; s|\t\.$|\t/|' | tr '\t' ' ') | LC_ALL=C sort | diff ours -
	x 0 du -s -b a.img:/d/hole
	has "$out" "100 MiB"
}
