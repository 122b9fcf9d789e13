#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit size, and the sizes that create makes

load ../lib/common

# numbers N: a folder t of N small files.
numbers() {
	mkdir -p t
	(cd t && seq 1 "$1" | split -l 1 -a 4 - f)
}

@test "the smallest image has less than 16 blocks free, a free size is free, and both are clean" {
	numbers 500
	need dumpe2fs
	free_blocks() { dumpe2fs -h "$1" 2>/dev/null | sed -n 's/^Free blocks: *//p'; }
	local shape n=0
	for shape in "" "--no-journal" "-O ^resize_inode" "-O ^extent,^64bit" "-t ext2" "-t ext3" "-b 1K" "-b 2K -I 512" "-I 128 -O ^extra_isize" \
		"-O orphan_file,metadata_csum_seed" "-O mmp" "-O sparse_super2,^resize_inode" "-O meta_bg,^resize_inode" "-b 64K" "-O ^dir_index"; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # a shape is several words
		x 0 create --size min $shape --from t $n.img
		clean $n.img
		[ "$(free_blocks $n.img)" -lt 16 ] || { echo "$shape: $(free_blocks $n.img) blocks free"; return 1; }
	done
	x 0 create --size min --free 10M --from t free.img
	clean free.img
	equal "$(free_blocks free.img)" 2560
}

@test "trees go into clusters: sizes are exact, clean, and the kernel reads what is there" {
	numbers 300
	mkdir -p t/a/b
	printf hello >t/a/f
	ln t/a/f t/a/b/g
	ln -s "$(printf '%0200d' 1)" t/long
	head -c 3000000 /dev/urandom >t/big
	truncate -s 3M t/sparse
	printf x | dd of=t/sparse bs=1 seek=5000 conv=notrunc status=none
	printf x | dd of=t/sparse bs=1 seek=60000 conv=notrunc status=none
	need dumpe2fs python3
	export SOURCE_DATE_EPOCH=1700000000
	need_json
	local shape how n=0 bytes free
	for shape in "" "-b 1K -g 4096" "-C 256K --no-journal" "-C 8K -O ^flex_bg" "-C 32K -O orphan_file,mmp,sparse_super2" \
		"-C 16K -O meta_bg,^resize_inode"; do
		for how in min auto 120M "min --free 10M"; do
			# shellcheck disable=SC2086 # a shape is several words, and so may be a size
			x 0 size --json -O bigalloc $shape --size $how t
			bytes=$(json 'd["bytes"]') free=$(json 'd["free"]')
			# shellcheck disable=SC2086
			x 0 create -f -O bigalloc $shape --size $how --from t a.img
			clean a.img
			equal "$(stat -c %s a.img)" "$bytes"
			equal "$(dumpe2fs -h a.img 2>/dev/null | sed -n 's/^Free blocks: *//p')" "$free"
		done
		n=$((n + 1))
		mv a.img $n.img
		x 0 get -R $n.img out
		rmdir out/lost+found
		diff -r --no-dereference t out
		rm -r out
	done
	for n in $(seq $n); do
		mount_image "$n.img" "mnt$n" ro
		diff -r --no-dereference -x lost+found t "mnt$n"
	done
}

@test "files in many pieces, and streams of them, have whole clusters and maps" {
	need tar python3
	mkdir t
	python3 -c '
with open("t/pieces", "wb") as f:
    for i in range(2000):
        f.seek(i * 131072 + i % 16 * 4096)
        f.write(b"%d" % i)
    f.truncate(2000 * 131072)
'
	tar --sparse --format=posix -C t -cf t.tar .
	local from
	for from in t t.tar; do
		x 0 create -f -O bigalloc --size min --from $from a.img
		clean a.img
		x 0 create -f -O bigalloc -b 1K -g 4096 --size min --from $from b.img
		clean b.img
		x 0 create -f -b 64K --no-journal --size min --from $from c.img
		clean c.img
		for img in a b c; do
			x 0 get $img.img:/pieces out
			cmp out t/pieces
			rm out
		done
	done
}

@test "the smallest image with a hole more than one group wide is clean too" {
	mkdir t
	truncate -s 140M t/a
	dd if=/dev/urandom of=t/a bs=1M count=140 conv=notrunc status=none
	printf x >t/b
	local shape
	for shape in "-b 1K" "" "-t ext2 -b 1K" "--no-journal"; do
		# shellcheck disable=SC2086 # a shape is several words
		x 0 create -f --size min $shape --from t a.img
		clean a.img
		x 0 get a.img:/a out
		cmp out t/a
		rm out
	done
}

@test "a stream larger than what is held makes the same as a folder" {
	need tar
	mkdir t
	local i
	for i in 1 2 3 4 5; do head -c 9000000 /dev/urandom >t/$i; done
	tar --sort=name -C t -cf t.tar .
	x 0 create --size min --from t.tar a.img
	clean a.img
	x 0 get -R a.img out
	rmdir out/lost+found
	diff -r t out
	x 0 create -f -t ext3 --size min --from t.tar a.img
	clean a.img
}

@test "missing inodes and blocks are named, and that many more are enough" {
	numbers 300
	need_json
	x 4 create --json --no-journal --size 256K --from t a.img
	local more
	more=$(json 'd["error"]["need_blocks"]')
	x 0 create --no-journal --size $((256 * 1024 + more * 4096)) --from t a.img
	clean a.img
}

@test "sources lie over one another, and filters change what arrives" {
	mkdir -p t/a u/a
	printf 1 >t/a/f
	printf 2 >u/a/f
	printf 3 >t/a/only
	printf 4 >t/a/x.o
	x 0 create --size auto --all-root --exclude '*.o' --from t --from u a.img
	clean a.img
	x 0 cat a.img:/a/f
	equal "$out" 2
	x 0 cat a.img:/a/only
	equal "$out" 3
	x 5 cat a.img:/a/x.o
	x 0 create -f --size auto --map-users "$(id -u):70000:1" --from t a.img
	need_json
	x 0 stat --json a.img:/a/f
	has "$out" 70000
}

@test "labels, attributes and owners come from side files" {
	mkdir -p t/bin
	printf 1 >t/bin/ping
	cat >contexts <<-'END'
		# a comment
		/.*             u:object_r:other:s0
		/bin(/.*)?      u:object_r:bin:s0
		/bin/ping  --   u:object_r:ping:s0
	END
	printf '# file: bin/ping\nuser.a="b"\nuser.hex=0x4142\n\n' >attrs
	printf 'bin/ping 0 2000 0755 capabilities=0x2000\n' >config
	x 0 create --size auto --file-contexts contexts --xattr-file attrs --fs-config config --from t a.img
	clean a.img
	x 0 spec a.img
	has "$out" "xattr.security.selinux=u:object_r:ping:s0\\000"
	has "$out" "xattr.security.selinux=u:object_r:bin:s0\\000"
	has "$out" "xattr.user.a=b"
	has "$out" "xattr.user.hex=AB"
	has "$out" "mode=0755 uid=0 gid=2000"
	has "$out" "xattr.security.capability="
}

@test "the rows of the bill are all blocks, maps of the log included" {
	numbers 300
	head -c 5000000 /dev/urandom >t/big
	need_json
	local shape how
	for shape in "" "-t ext2" "-t ext3 -J 64M" "-O orphan_file,quota,project,mmp" "-O bigalloc" "-O ^flex_bg" "-O bigalloc,^flex_bg" "-b 1K"; do
		for how in min auto 400M; do
			# shellcheck disable=SC2086 # a shape is several words
			x 0 size --json --size $how $shape t
			equal "$(json 'sum(d[k] for k in "data folders links xattrs maps tables supers journal other free".split()) - d["blocks"]')" 0
		done
	done
}

@test "a last group that has no room beside its bitmaps and tables gets some" {
	numbers 300
	local k
	for k in 192 200 208 216 224 232; do
		head -c $(((2 * 8192 - 800 + k) * 1024)) /dev/zero | tr '\0' x >t/big
		x 0 create -f -t ext2 -b 1K --size min --from t a.img
		clean a.img
	done
}

@test "capabilities that no inode can hold are refused with their line" {
	mkdir t
	for mask in -1 0x10000000000000000 99999999999999999999 2x ''; do
		printf 'a 0 0 0755\nb 0 0 0755 capabilities=%s\n' "$mask" >config
		x 2 create --size auto --from t --fs-config config a.img
		has "$err" "config: line 2: capabilities: '$mask'"
	done
}
