#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit diff

load ../lib/common

# tree: a folder t with a file of each kind, as a.img and a.tar too.
tree() {
	mkdir -p t/d
	echo one >t/a
	ln t/a t/l
	ln -s a t/s
	mkfifo t/p
	yes text | head -c 700000 >t/d/big
	x 0 create --size auto --free 4M --from t a.img
	x 0 export -o a.tar a.img
}

# rows: what differs, as WHAT:PATH in the order of the output.
rows() {
	awk 'NR > 1 {print $1 ":" $NF}' <<<"$out"
}

@test "an image equals the folder it was made from, and its archive" {
	tree
	x 0 diff t a.img
	equal "$out" ""
	x 0 diff a.img t
	x 0 diff a.tar a.img
	x 0 diff a.img a.tar
	cp a.tar b.tar
	x 0 diff a.tar b.tar
	x 0 spec -o a.spec a.img
	x 0 diff a.spec a.img
}

@test "a manifest's file that is all hole is compared as zeros" {
	mkdir t
	truncate -s 700000 t/f
	x 0 create --size auto --from t a.img
	x 0 spec -o a.spec a.img
	x 0 diff a.spec a.img
	printf '#spec 1\n. type=dir\nf size=700000\n' >m.spec
	x 0 diff --no-times --no-owners m.spec a.img
	printf X | dd of=t/f bs=1 seek=600000 conv=notrunc status=none
	x 1 diff --no-times t m.spec
	has "$out" "byte 600000"
	x 1 diff --no-times a.spec t
	has "$out" "byte 600000"
	x 0 sync t a.img
	x 0 sync m.spec a.img
	x 0 diff --no-times m.spec a.img
}

@test "what is a hole on both sides is not read" {
	mkdir t
	truncate -s 15T t/f 2>err || skip "the host has no files of 15 TiB"
	printf A | dd of=t/f bs=1 seek=14T conv=notrunc status=none
	x 0 create --size auto --free 4M --from t a.img
	x 0 spec a.img
	echo "$out" >a.spec
	cp a.img b.img
	for from in t a.spec b.img; do
		timeout 20 "$EXTKIT" diff --no-times "$from" a.img
	done
	printf B | dd of=t/f bs=1 seek=9000000000001 conv=notrunc status=none
	timeout 20 "$EXTKIT" diff --no-times t a.img >out && false
	has "$(cat out)" "byte 9000000000001"
	timeout 20 "$EXTKIT" diff --no-times a.img t >out && false
	has "$(cat out)" "byte 9000000000001"
	timeout 20 "$EXTKIT" sync t a.img
	timeout 20 "$EXTKIT" diff t a.img
}

@test "holes of an archive take neither time nor room beside another archive" {
	mkdir t
	truncate -s 1T t/f 2>err || skip "the host has no files of 1 TiB"
	printf A | dd of=t/f bs=1 seek=1000 conv=notrunc status=none
	printf B | dd of=t/f bs=1 seek=751619376000 conv=notrunc status=none
	truncate -s 700G t/e
	echo one >t/g
	x 0 create --size auto --free 4M --from t a.img
	x 0 export -o a.tar a.img
	cp a.tar b.tar
	(ulimit -f 65536 && timeout 20 "$EXTKIT" diff a.tar b.tar)
	printf C | dd of=t/f bs=1 seek=751619376001 conv=notrunc status=none
	x 0 sync t a.img
	x 0 export -f -o b.tar a.img
	(ulimit -f 65536 && timeout 20 "$EXTKIT" diff --no-times a.tar b.tar >out) && false
	has "$(cat out)" "byte 751619376001"
	equal "$(wc -l <out)" 2
}

@test "contents that wait take no more memory than they may where no folder takes a file" {
	[ -d /proc/self ] && ! touch /proc/x 2>err || skip "there is no folder that takes no files"
	mkdir t
	head -c 60M /dev/zero | tr '\0' x >t/f
	x 0 create --size auto --from t a.img
	x 0 export -o a.tar a.img
	TMPDIR=/proc x 0 diff a.tar a.tar
	for no in /proc "$PWD/nowhere" a.img; do
		head -c 70M /dev/zero | tr '\0' x >t/f
		x 0 create -f --size auto --from t a.img
		x 0 export -f -o a.tar a.img
		TMPDIR=$no x 7 diff a.tar a.tar
		has "$err" "more than 64 MiB would wait in memory, $no takes no file"
		x 0 diff a.tar a.tar
	done
}

@test "contents wait in a named file where the file system knows no others" {
	need strace
	mkdir t tmp
	head -c 70M /dev/zero | tr '\0' x >t/f
	x 0 create --size auto --from t a.img
	x 0 export -o a.tar a.img
	strace -o log true || skip "nothing can be traced here"
	export ASAN_OPTIONS=detect_leaks=0 # which cannot be done under strace
	TMPDIR=$PWD/tmp strace -o log -P "$PWD/tmp" -e inject=openat:error=EOPNOTSUPP "$EXTKIT" diff a.tar a.tar
	grep -q EOPNOTSUPP log
	equal "$(ls tmp)" ""
	code=0
	TMPDIR=$PWD/tmp strace -o log -P "$PWD/tmp" -e inject=openat:error=ENOSPC "$EXTKIT" diff a.tar a.tar 2>said || code=$?
	equal "$code" 7
	has "$(cat said)" "cannot spool: No space left"
}

@test "each kind of difference is told with both values, and the exit code is 1" {
	tree
	cp a.img b.img
	x 0 chmod 600 b.img:/a
	x 0 chown 5:7 b.img:/d
	x 0 rm b.img:/s
	echo new >n
	x 0 put n b.img:/n
	printf X >one.byte
	cp t/d/big big
	dd if=one.byte of=big bs=1 seek=400000 conv=notrunc status=none
	x 0 put big b.img:/d/big
	x 1 diff --no-times a.img b.img
	equal "$(rows | sort)" "$(printf '%s\n' contents:d/big missing:n missing:s mode:a owner:d)"
	[[ $out =~ mode\ +0644\ +0600 ]]
	[[ $out =~ owner\ +0:0\ +5:7 ]]
	has "$out" "byte 400000"
	x 1 diff --no-times --no-owners --no-contents a.img b.img
	equal "$(rows | sort)" "$(printf '%s\n' missing:n missing:s mode:a)"
	x 1 diff a.img b.img
	has "$(rows)" time:d/big
	x 1 diff --no-times a.tar b.img
	equal "$(rows | sort)" "$(printf '%s\n' contents:d/big missing:n missing:s mode:a owner:d)"
	x 1 diff -b a.img b.img
	equal "$out" ""
}

@test "folders inside images are compared, and attributes, targets, devices and links" {
	tree
	cp a.img b.img
	x 0 diff a.img:/d b.img:/d
	x 0 xattr set user.k=v b.img:/d/big
	x 1 diff --no-times a.img:/d b.img:/d
	equal "$(rows)" "attributes:big"
	x 0 ln -sf other b.img:/s
	x 0 rm b.img:/l
	echo one >l
	x 0 put l b.img:/l
	x 0 rm b.img:/p
	x 0 mknod b.img:/p c 1 3
	x 1 diff --no-times a.img b.img
	equal "$(rows | sort)" "$(printf '%s\n' attributes:d/big links:l target:s type:p)"
	x 5 diff a.img:/none b.img:/d
	x 7 diff none.img a.img
}

@test "differences are rows for a program" {
	tree
	cp a.img b.img
	x 0 chmod 600 b.img:/a
	need_json
	x 1 diff --json a.img b.img
	equal "$(json '[(r["what"], r["a"], r["b"], r["path"]) for r in d["differences"]]')" "[('mode', '0644', '0600', 'a')]"
}

# runs: what differs with --blocks, as A|B a line without the block numbers.
runs() {
	awk 'NR > 1' <<<"$out" | sed -E 's/^ *[0-9]+ +[0-9]+  //; s/  +/|/; s/ +$//'
}

@test "blocks that differ are told as runs with what lies there on both sides" {
	mkdir -p t/d
	head -c 3M /dev/urandom >t/d/big
	for i in 1 2 3; do echo $i >t/f$i; done
	x 0 create --size auto --free 20M --no-journal --from t a.img
	cp a.img b.img
	x 0 diff --blocks a.img b.img
	equal "$out" ""
	x 0 map b.img:/d/big
	local first
	first=$(awk 'NR == 2 {print $2}' <<<"$out")
	printf X >byte
	dd if=byte of=b.img bs=1 seek=$(((first + 5) * 4096 + 7)) conv=notrunc status=none
	dd if=byte of=b.img bs=1 seek=$(((first + 6) * 4096)) conv=notrunc status=none
	x 1 diff --blocks a.img b.img
	equal "$(runs)" "file 16 +20480 d/big|file 16 +20480 d/big"
	equal "$(awk 'NR == 2 {print $1, $2}' <<<"$out")" "$((first + 5)) 2"
	x 1 diff --blocks -b a.img b.img
	equal "$out" ""
	cp a.img b.img
	x 0 rm b.img:/d/big
	x 0 put byte b.img:/new
	x 1 diff --blocks a.img b.img
	has "$(runs)" "superblock|superblock"
	has "$(runs)" "block bitmap|block bitmap"
	has "$(runs)" "inode table 1-16|inode table 1-16"
	has "$(runs)" "folder 2 +0 .|folder 2 +0 ."
	has "$(runs)" "new"
	need_json
	x 1 diff --blocks --json a.img b.img
	equal "$(json '[r["b_path"] for r in d["differences"] if r["b_path"] == "new"]')" "['new']"
}

@test "every block has the owner that the reference finds" {
	need debugfs
	mkdir t
	head -c 700000 /dev/urandom >t/big
	for i in 1 2 3 4 5 6 7 8 9; do head -c 3000 /dev/urandom >t/f$i; done
	local shape n b ino
	for shape in "-b 1K -t ext3 -J 1M" "-b 1K" "-b 1K -O meta_bg,^resize_inode"; do
		# shellcheck disable=SC2086 # a shape is several words
		x 0 create -f --size 12M $shape --from t a.img
		x 0 create -f --size 12M -b 1K --no-journal none.img
		x 1 diff --blocks a.img none.img
		# inodes of blocks of a, by us and by debugfs
		awk '$3 == "file" || $3 == "folder" || $3 == "map" || $3 == "journal" {print $1, $4}' <<<"$out" >ours
		n=0
		while read -r b ino; do
			n=$((n + 1))
			equal "$b $ino" "$b $(debugfs -R "icheck $b" a.img 2>/dev/null | awk 'NR == 2 {print $2}')"
		done <ours
		[ "$n" -gt 5 ]
	done
}

@test "images of other sizes are compared as far as the smaller one goes, and holes are skipped" {
	mkdir t && echo one >t/f
	x 0 create --size 64M -b 4K --from t a.img
	cp a.img b.img
	truncate -s 200G a.img b.img
	x 0 diff --blocks a.img b.img
	x 0 create -f --size 32M -b 4K --from t c.img
	x 1 diff --blocks a.img c.img
	has "$(runs)" "superblock|superblock"
	x 0 create -f --size 32M -b 1K --from t d.img
	x 1 diff --blocks a.img d.img
	x 1 diff --blocks d.img a.img
	# an end inside of what is read at once
	x 0 create -f --size 8356K -b 4K --from t e.img
	cp e.img f.img
	x 0 diff --blocks e.img f.img
	x 1 diff --blocks c.img e.img
	echo no >text
	x 3 diff --blocks a.img text
	x 7 diff --blocks a.img nowhere.img
}

@test "blocks of a map have an inode and no group, and a file of many names is one file" {
	mkdir t
	for i in $(seq 1 2 1200); do
		printf x | dd of=t/holes bs=8192 seek="$i" conv=notrunc status=none
	done
	for i in 1 2 3 4 5 6 7 8 9; do ln t/holes t/l$i; done
	x 0 create --size 8M -b 1K --no-journal --from t a.img
	x 0 create --size 8M -b 1K --no-journal b.img
	need_json
	x 1 diff --blocks --json a.img b.img
	equal "$(json 'sorted(set(r["a_group"] for r in d["differences"] if r["a"] == "map"))')" "[0]"
	equal "$(json 'sorted(set(r["a_path"] for r in d["differences"] if r["a"] in ("file", "map")))')" "['holes']"
}

@test "blocks of a path in an image are not asked for in silence" {
	x 0 create -q --size 8M a.img
	x 2 diff --blocks a.img:/lost+found a.img
	has "$err" "whole images"
}

@test "options that leave out what trees have are none of blocks" {
	x 0 create -q --size 8M a.img
	for o in times owners xattrs contents; do
		x 2 diff --blocks --no-$o a.img a.img
		has "$err" "--no-times"
	done
}

@test "the first difference decides when nothing is to be told" {
	mkdir t && head -c 9M /dev/urandom >t/f
	x 0 create -q --size 16M --from t a.img
	cp a.img b.img
	x 0 diff --blocks --brief a.img b.img
	printf x | dd of=b.img bs=1 seek=512 conv=notrunc status=none
	x 1 diff --blocks --brief a.img b.img
	equal "$out" ""
	need strace
	local brief all
	brief=$(strace -qfe trace=pread64,preadv "$EXTKIT" diff --blocks --brief a.img b.img 2>&1 | grep -c pread)
	all=$(strace -qfe trace=pread64,preadv "$EXTKIT" diff --blocks a.img b.img 2>&1 | grep -c pread)
	[ "$((brief + 10))" -lt "$all" ]
}

@test "many files at the end of a long path take memory for their names only" {
	(ulimit -v 300000 && "$EXTKIT" --version >/dev/null) || skip "needs more memory than that for itself"
	local name deep=
	name=$(printf '%0200d' 0)
	{
		echo '#spec 1'
		for _ in $(seq 200); do
			deep+=/$name
			echo ".$deep type=dir"
		done
		for i in $(seq 5000); do
			echo "./many/$i data=x"
		done
	} >spec
	x 0 create --seed a --size 64M -O ^inline_data --from spec a.img
	x 0 mv a.img:/many "a.img:$deep/many"
	cp a.img b.img
	x 0 put spec "b.img:$deep/many/77"
	(ulimit -v 300000 && "$EXTKIT" diff --blocks a.img b.img >out) && false
	grep -c " ${deep#/}/many/77\$" out
}
