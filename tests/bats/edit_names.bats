#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit rm, mv, ln, mknod and cp: names and inodes in an image.

load ../lib/common

# small_tree [ARG...]: a.img with /d/file, /d/sub/deep, /d/twin (of file), /d/link and /d/null.
small_tree() {
	make_image a.img 32M "$@"
	head -c 100000 /dev/urandom >file
	x 0 mkdir -p a.img:/d/sub
	x 0 put file a.img:/d/file
	x 0 put file a.img:/d/sub/deep
	x 0 ln a.img:/d/file a.img:/d/twin
	x 0 ln -s ../../../etc/passwd a.img:/d/link
	x 0 mknod -m 666 a.img:/d/null c 1 3
	clean a.img
}

# names: everything in a.img, one line.
names() {
	x 0 find a.img
	tr '\n' ' ' <<<"$out"
}

@test "the kernel sees the nodes, links and names that were made" {
	small_tree
	x 0 mknod -m 600 -u 7 -g 8 a.img:/d/disk b 300 70000
	x 0 mknod a.img:/d/pipe p
	x 0 mknod a.img:/d/sock s
	clean a.img
	mount_image a.img mnt ro
	cmp mnt/d/twin file
	equal "$(stat -c %h mnt/d/file)" 2
	equal "$(readlink mnt/d/link)" ../../../etc/passwd
	equal "$(stat -c '%F %t %T %a' mnt/d/null)" "character special file 1 3 666"
	equal "$(stat -c '%F %t %T %a %u %g' mnt/d/disk)" "block special file 12c 11170 600 7 8"
	equal "$(stat -c %F mnt/d/pipe)" fifo
	equal "$(stat -c %F mnt/d/sock)" socket
}

@test "a file that is removed gives its blocks back, once its last name goes" {
	small_tree
	need_json
	x 0 df --json a.img
	local before
	before=$(json 'd["images"][0]["used"]')
	x 0 rm a.img:/d/file
	x 0 df --json a.img
	equal "$(json 'd["images"][0]["used"]')" "$before"
	"$EXTKIT" cat a.img:/d/twin | cmp - file
	x 0 rm a.img:/d/twin
	x 0 df --json a.img
	[ "$(json 'd["images"][0]["used"]')" -lt $((before - 90000)) ]
	clean a.img
}

@test "a tree goes with everything in it, and nothing that its links lead to" {
	small_tree
	x 0 mkdir a.img:/keep
	x 0 put file a.img:/keep/file
	x 0 ln -s /keep a.img:/d/out
	x 0 rm -r a.img:/d
	clean a.img
	equal "$(names)" "/ /keep /keep/file /lost+found "
}

@test "a folder of thousands goes" {
	make_image a.img 64M -b 1K -N 4000
	local n
	mkdir many
	for ((n = 0; n < 1500; n++)); do echo "$n" >"many/a file with a name of some length $n"; done
	x 0 mkdir a.img:/many
	"$EXTKIT" put many/* a.img:/many
	x 0 rm --json -r a.img:/many
	need_json
	equal "$(json 'd["removed"][0]["names"]')" 1501
	clean a.img
	equal "$(names)" "/ /lost+found "
}

@test "rm refuses folders, the root, dots and what is missing, each with one line" {
	small_tree
	cp a.img before.img
	x 5 rm a.img:/d
	one_error_line rm
	x 5 rm -r a.img:/
	one_error_line rm
	x 5 rm -r a.img:/d/.
	x 5 rm -r a.img:/d/sub/..
	x 5 rm a.img:/d/nothing
	x 5 rm a.img:/d/file/x
	x 0 rm -f a.img:/d/nothing
	x 5 rm -d a.img:/d
	x 2 rm a.img
	clean a.img
	"$EXTKIT" cat a.img:/d/sub/deep | cmp - file
	x 0 mkdir a.img:/empty
	x 0 rm -d a.img:/empty
	clean a.img
}

@test "several images take part in one command" {
	small_tree
	cp a.img b.img
	x 0 rm -r a.img:/d/sub b.img:/d/file a.img:/d/file b.img:/d/sub
	clean a.img
	clean b.img
	equal "$(names)" "/ /d /d/link /d/null /d/twin /lost+found "
}

@test "a move replaces a file and an empty folder, and nothing else" {
	small_tree
	echo new >new
	x 0 put new a.img:/new
	x 0 mv a.img:/new a.img:/d/sub/deep
	"$EXTKIT" cat a.img:/d/sub/deep | cmp - new
	x 0 mkdir a.img:/e
	x 0 mkdir -p a.img:/t/e
	x 0 mv a.img:/e a.img:/t
	x 0 mkdir a.img:/e
	x 5 mv a.img:/e a.img:/d/file
	x 0 mkdir -p a.img:/u/e/full
	x 5 mv a.img:/e a.img:/u
	x 5 mv -n a.img:/d/file a.img:/d/twin
	clean a.img
}

@test "a folder does not move or copy into itself" {
	small_tree
	cp a.img before.img
	x 5 mv a.img:/d a.img:/d/sub/inner
	one_error_line mv
	x 5 mv a.img:/d a.img:/d
	x 5 mv a.img:/ a.img:/d/sub
	x 5 cp -r a.img:/d a.img:/d/sub
	x 5 cp -r a.img:/ a.img:/d
	x 5 cp a.img:/d/file a.img:/d/file
	x 5 cp -r a.img:/d a.img:/
	clean a.img
	equal "$(names)" "/ /d /d/file /d/link /d/null /d/sub /d/sub/deep /d/twin /lost+found "
}

@test "moving onto another name of the same file leaves one name" {
	small_tree
	x 0 mv a.img:/d/file a.img:/d/twin
	clean a.img
	x 5 stat a.img:/d/file
	"$EXTKIT" cat a.img:/d/twin | cmp - file
}

@test "two names change places" {
	small_tree
	x 0 mv --swap a.img:/d/sub a.img:/d/null
	clean a.img
	"$EXTKIT" cat a.img:/d/null/deep | cmp - file
	x 5 mv --swap a.img:/d/sub a.img:/d/nothing
}

@test "a folder that moves counts in its new parent" {
	small_tree
	x 0 mkdir a.img:/top
	x 0 mv a.img:/d/sub a.img:/top/
	clean a.img
	mount_image a.img mnt ro
	cmp mnt/top/sub/deep file
	equal "$(stat -c %h mnt/top)" 3
}

@test "links replace only when asked, and never a folder" {
	small_tree
	x 5 ln -s x a.img:/d/file
	x 0 ln -s /d/sub a.img:/way
	x 0 ln -s x a.img:/way
	x 0 stat a.img:/d/sub/x
	x 0 ln -s -f y a.img:/d/file
	x 5 ln a.img:/d a.img:/d2
	x 5 ln a.img:/nothing a.img:/n
	x 5 ln a.img:/d/file a.img:/d/file
	x 5 ln -f a.img:/d/file a.img:/d/file
	clean a.img
	mount_image a.img mnt ro
	equal "$(readlink mnt/d/file)" y
	cmp mnt/d/twin file
}

@test "link targets of every length are kept" {
	make_image a.img 16M -b 1K
	local n text
	for n in 1 59 60 200 1023; do
		text=$(printf 'x%.0s' $(seq "$n"))
		x 0 ln -s "$text" "a.img:/l$n"
	done
	x 5 ln -s "$(printf 'x%.0s' {1..1024})" a.img:/long
	x 2 ln -s '' a.img:/none
	clean a.img
	mount_image a.img mnt ro
	for n in 1 59 60 200 1023; do equal "$(readlink "mnt/l$n" | tr -d '\n' | wc -c)" "$n"; done
}

@test "names that shells and scripts stumble over are names like others" {
	make_image a.img 16M
	echo x >x
	local name
	# shellcheck disable=SC1003 # a name of one backslash
	for name in 'a b' "it's" '"q"' '-r' $'new\nline' $'\x01' '*' '\' 'ü' ':' 'a:b' '..a' "$(printf 'n%.0s' {1..255})"; do
		x 0 put x "a.img:/$name"
		x 0 cp "a.img:/$name" a.img:/copy
		x 0 mv a.img:/copy "a.img:/$name"
		x 0 rm "a.img:/$name"
	done
	x 5 put x "a.img:/$(printf 'n%.0s' {1..256})"
	x 5 mv a.img:/lost+found "a.img:/$(printf 'n%.0s' {1..256})"
	clean a.img
	equal "$(names)" "/ /lost+found "
}

@test "mknod refuses what no node can be" {
	make_image a.img 16M
	x 2 mknod a.img:/n x
	x 2 mknod a.img:/n c 1
	x 2 mknod a.img:/n p 1 2
	x 2 mknod a.img:/n c 4096 0
	x 2 mknod a.img:/n c 0 1048576
	x 5 mknod a.img:/lost+found p
	clean a.img
}

@test "a copy in the image is equal in every detail" {
	small_tree -b 4K
	truncate -s 40M sparse
	printf end | dd of=sparse bs=1 seek=20000000 conv=notrunc status=none
	x 0 put -a -u 70000 -g 100000 -x user.note=hello -x security.capability=x sparse a.img:/d/sub/sparse
	x 0 touch -d '2001-02-03 04:05:06.123456789' a.img:/d/sub/sparse
	x 0 chmod 4711 a.img:/d/sub/sparse
	x 0 touch -d '1999-01-01' a.img:/d/sub
	x 0 cp -r a.img:/d a.img:/copy
	clean a.img
	x 0 map a.img:/copy/sub/sparse
	equal "$(wc -l <<<"$out")" 2
	x 0 stat a.img:/copy/sub/sparse
	has "$out" hello
	has "$out" security.capability
	mount_image a.img mnt ro
	diff <(cd mnt/d && find . ! -name '.' -printf '%p %y %m %U %G %s %n %l %T@\n' | LC_ALL=C sort) \
		<(cd mnt/copy && find . ! -name '.' -printf '%p %y %m %U %G %s %n %l %T@\n' | LC_ALL=C sort)
	diff -r mnt/d/sub mnt/copy/sub
	equal "$(stat -c %i mnt/copy/file)" "$(stat -c %i mnt/copy/twin)"
}

@test "a whole image fills another one" {
	small_tree -b 1K
	make_image b.img 64M -b 4K
	x 0 cp -r a.img:/ b.img:/
	clean b.img
	x 0 find -l a.img
	awk '/^d/ { $5 = "" } { $1 = $1; print }' <<<"$out" >one
	x 0 find -l b.img
	awk '/^d/ { $5 = "" } { $1 = $1; print }' <<<"$out" | diff - one
	x 0 cp -r a.img:/d b.img:/
	clean b.img
	x 5 cp a.img:/d b.img:/new
	x 5 cp a.img:/d/file b.img:/d/sub/deep/x
	x 5 cp -n a.img:/d/file b.img:/d/
	x 5 cp -r a.img:/d b.img:/d/file
	x 0 mv a.img:/d/sub b.img:/moved
	"$EXTKIT" cat b.img:/moved/deep | cmp - file
	x 5 stat a.img:/d/sub
	clean a.img
	clean b.img
}

@test "a copy into an image that is too small leaves it sound and says what is missing" {
	make_image a.img 32M -b 1K
	make_image b.img 8M -b 1K
	head -c 20000000 /dev/urandom >big
	x 0 put big a.img:/big
	x 4 cp a.img:/big b.img:/big
	one_error_line cp
	clean b.img
	x 5 stat b.img:/big
}

@test "the same edits give the same bytes" {
	export SOURCE_DATE_EPOCH=1700000000
	local n
	for n in 1 2; do
		x 0 create -s 16M --seed s "$n.img"
		x 0 mkdir -p "$n.img:/a/b"
		echo text >text
		x 0 put text "$n.img:/a/text"
		x 0 ln -s text "$n.img:/a/link"
		x 0 cp -r "$n.img:/a" "$n.img:/c"
		x 0 mv "$n.img:/c/b" "$n.img:/d"
		x 0 rm -r "$n.img:/a"
		x 0 mknod "$n.img:/null" c 1 3
		sleep 1.1
	done
	cmp 1.img 2.img
}

@test "a dry run changes nothing" {
	small_tree
	cp a.img before.img
	x 0 rm --dry-run -r a.img:/d
	x 0 mv --dry-run a.img:/d/file a.img:/x
	x 0 ln --dry-run -s x a.img:/x
	x 0 cp --dry-run -r a.img:/d a.img:/x
	x 0 mknod --dry-run a.img:/x p
	x 5 rm --dry-run a.img:/d
	cmp a.img before.img
}

@test "what cannot be written is refused by exit code" {
	x 7 rm nothing.img:/x
	head -c 100000 /dev/zero >zero.img
	x 3 rm zero.img:/x
	one_error_line rm
	make_image a.img 16M
	x 2 rm --no-replay a.img:/x
	x 2 mv a.img:/x
	x 2 cp a.img:/x a.img
}

@test "a full folder takes no folder for a file in a swap, and takes one for a folder" {
	need debugfs
	make_image a.img 8M -O ^dir_nlink
	for name in full full/d from from/d; do x 0 mkdir a.img:/$name; done
	echo text >f
	x 0 put f a.img:/full/f
	debugfs -w -R "sif /full links_count 65000" a.img 2>err
	x 5 mv --swap a.img:/from/d a.img:/full/f
	has "$err" "Too many links"
	x 5 mv --swap a.img:/full/f a.img:/from/d
	x 0 mv --swap a.img:/from/d a.img:/full/d
	x 0 mv --swap a.img:/full/f a.img:/full/d
	debugfs -R "stat /full" a.img 2>err | grep -q "Links: 65000"
}
