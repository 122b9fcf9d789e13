#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit create --from

load ../lib/common

# plain_tree DIR: what an ordinary user can make.
plain_tree() {
	mkdir -p "$1/a/b" "$1/many"
	printf hello >"$1/a/f"
	ln "$1/a/f" "$1/a/b/g"
	ln -s ../a/f "$1/many/link"
	(cd "$1/many" && seq -f 'a-rather-long-name-for-file-%05.0f' 1200 | xargs touch)
	head -c 3000000 /dev/urandom >"$1/big"
	: >"$1/empty"
	truncate -s 30M "$1/sparse"
	printf end | dd of="$1/sparse" bs=1 seek=20000000 conv=notrunc status=none
	touch -d '1960-06-01 12:00:00.123456789' "$1/empty"
}

@test "a folder becomes an image that is clean and has every byte" {
	plain_tree t
	x 0 create --size auto --from t a.img
	clean a.img
	x 0 get -R a.img out
	rmdir out/lost+found
	diff -r t out
	equal "$(stat -c %y out/empty)" "1960-06-01 12:00:00.123456789 +0000"
	equal "$(stat -c %i out/a/f)" "$(stat -c %i out/a/b/g)"
	[ "$(du -k out/sparse | cut -f1)" -lt 100 ]
}

@test "size tells to the byte what create makes" {
	plain_tree t
	need_json
	local how
	for how in auto min; do
		x 0 size --json --size $how t
		local bytes
		bytes=$(json 'd["bytes"]')
		x 0 create --size $how --from t $how.img
		equal "$(stat -c %s $how.img)" "$bytes"
		clean $how.img
	done
}

@test "a size that is too small is refused with what is missing, and what was there stays" {
	plain_tree t
	echo old >a.img
	x 4 create --size 1M --from t a.img
	one_error_line create
	has "$err" "blocks of 4096 bytes"
	equal "$(cat a.img)" old
	equal "$(ls)" "a.img
t"
}

@test "the same tree gives the same bytes whatever the order and umask" {
	plain_tree t
	cp -a t u
	mv u/a u/z && mv u/z u/a
	touch -r t u && touch -r t/a u/a
	export SOURCE_DATE_EPOCH=1700000000
	x 0 create --seed v1 --size auto --from t a.img
	umask 077
	TZ=Asia/Tokyo x 0 create --seed v1 --size auto --from u b.img
	cmp a.img b.img
}

@test "an archive on standard input is streamed into the image" {
	plain_tree t
	need tar zstd
	tar --sort=name --format=posix -C t -c . | zstd -q >t.tar.zst
	"$EXTKIT" create --size auto --from - a.img <t.tar.zst
	clean a.img
	x 0 get -R a.img out
	rmdir out/lost+found
	diff -r t out
}

@test "a stream arrives as it was, whether some or all of it waits for a place" {
	need tar
	mkdir t
	local i
	for i in 1 2 3; do head -c 20000001 /dev/urandom >t/$i; done
	tar --sort=name -C t -c . >t.tar
	for i in flex_bg ^flex_bg,^resize_inode; do
		"$EXTKIT" create -f --size auto -O $i --from - a.img < <(cat t.tar)
		clean a.img
		x 0 get -R a.img out
		rmdir out/lost+found
		diff -r t out
		rm -r out
	done
}

@test "an image of a tree that is not there yet gets the size that the tree needs" {
	mkdir t && head -c 3000000 /dev/urandom >t/a
	export SOURCE_DATE_EPOCH=1700000000
	x 0 create --seed 1 --from t a.img
	x 0 create --seed 1 --size auto --from t b.img
	cmp a.img b.img
	truncate -s 20M c.img
	x 0 create --seed 1 --from t c.img
	equal "$(stat -c %s c.img)" 20971520
	x 2 create --from t d.img@@1M
	has "$err" "how large?"
}

@test "every kind of file arrives in the kernel as it was" {
	need_root "make device nodes"
	need python3
	python3 "$SRC/tests/tools/full-tree" make full
	x 0 create --size auto --from full a.img
	clean a.img
	mount_image a.img mnt ro
	python3 "$SRC/tests/tools/full-tree" compare full mnt
}

@test "what cannot be kept ends the command, or is listed while the rest goes on" {
	need_root "become somebody else"
	need setpriv
	local open
	open=$(mktemp -d) && chmod 777 "$open"
	mkdir -p "$open/t/shut" && printf a >"$open/t/a" && printf b >"$open/t/b"
	chmod 0 "$open/t/a" "$open/t/shut"
	nobody() { (cd "$open" && setpriv --reuid 65534 --regid 65534 --clear-groups "$EXTKIT" "$@"); }
	run -7 nobody create --size auto --from t a.img
	has "$output" "cannot read: t/a: Permission denied"
	[ ! -e "$open/a.img" ]
	run -8 nobody create --size auto --keep-going --from t a.img
	mv "$open/a.img" . && rm -r "$open"
	clean a.img
	x 0 cat a.img:/b
	equal "$out" b
	x 5 stat a.img:/a
	printf '#spec 1\n./a time=99999999999 data=a\n./b xattr.user.x=0s%s data=b\n' "$(head -c 6000 /dev/zero | base64 -w0)" >a.spec
	x 2 create --size auto --from a.spec b.img
	has "$err" "time out of range: 'a'"
	x 8 create --size auto --keep-going --from a.spec b.img
	has "$out" "time out of range"
	has "$out" "attribute too large"
	clean b.img
	x 0 stat b.img:/a
	has "$out" 2446
}

# zips: a.zip of files a, b and c; told.zip, where a's checksum is another's; late.zip, written to a pipe, where sizes
# stand behind contents.
zips() {
	python3 - <<-'EOF'
		import io, struct, zipfile
		class Pipe(io.RawIOBase):
		    def __init__(self): self.bytes = bytearray()
		    def writable(self): return True
		    def write(self, data): self.bytes += data; return len(data)
		def fill(to, how):
		    with zipfile.ZipFile(to, "w", how) as z:
		        for name in "abc":
		            z.writestr(name, name * 100000)
		for name, how in ("a.zip", zipfile.ZIP_DEFLATED), ("stored.zip", zipfile.ZIP_STORED):
		    fill(name, how)
		    data = bytearray(open(name, "rb").read())
		    at = data.index(b"PK\1\2")
		    for place in 14, at + 16:
		        struct.pack_into("<I", data, place, 0x12345678)
		    open("bad-" + name, "wb").write(data)
		pipe = Pipe()
		fill(pipe, zipfile.ZIP_DEFLATED)
		open("late.zip", "wb").write(pipe.bytes)
	EOF
}

@test "files of a zip archive have the sizes that its directory tells, or are refused" {
	need_json
	zips
	local from
	for from in a.zip stored.zip late.zip; do
		x 0 create -f --size auto --from $from a.img
		x 0 cat a.img:/b
		equal "$(printf %s "$out" | tr -d b | wc -c) ${#out}" "0 100000"
	done
	run -2 --separate-stderr "$EXTKIT" create -f --size auto --from - b.img < <(cat late.zip)
	has "$stderr" "'a': its size is told only behind its contents"
	[ ! -e b.img ]
}

@test "contents whose checksum is wrong are refused, or left out while the rest goes on" {
	need_json
	zips
	local from
	for from in bad-a.zip bad-stored.zip; do
		x 2 create --size auto --from $from a.img
		has "$err" "bad CRC"
		[ ! -e a.img ]
		x 8 create --size auto --keep-going --from $from a.img
		has "$out" "bad CRC"
		clean a.img
		x 0 ls a.img
		equal "$(tr '\n' ' ' <<<"$out")" "b c lost+found "
		x 0 cat a.img:/b
		equal "$(printf %s "$out" | tr -d b | wc -c) ${#out}" "0 100000"
		rm a.img
	done
}

@test "devices of an archive whose numbers no inode holds are refused" {
	need_json
	local numbers
	for numbers in 4096,1 5000,1 8,1048576; do
		python3 - "$numbers" <<-'EOF'
			import sys, tarfile
			with tarfile.open("a.tar", "w") as archive:
			    info = tarfile.TarInfo("d")
			    info.type = tarfile.CHRTYPE
			    info.devmajor, info.devminor = map(int, sys.argv[1].split(","))
			    archive.addfile(info)
		EOF
		x 2 create --size auto --from a.tar a.img
		has "$err" "'d': device $numbers: at most 4095,1048575 can be kept"
	done
}

# replaced FILE BYTES: an archive of 4,000 files of up to so many bytes, two thirds of which come again, the last first,
# and are shorter or longer then.
replaced() {
	python3 - "$1" "$2" <<-'EOF'
		import io, sys, tarfile
		archive = tarfile.open(sys.argv[1], "w")
		def add(i, size):
		    info = tarfile.TarInfo("f%d" % i)
		    info.size = size
		    archive.addfile(info, io.BytesIO((b"%d " % (i * size + size)) * (size // 2 + 1)))
		most = int(sys.argv[2])
		for i in range(4000):
		    add(i, i * 7919 % most)
		for i in reversed(range(4000)):
		    if i % 3 != 0:
		        add(i, i * 104729 % most)
		archive.close()
	EOF
}

@test "files of an archive that come again leave their blocks to others" {
	need_json
	local most
	for most in 3000 50000; do
		replaced a.tar $most
		x 0 create -f --size min --from a.tar a.img
		clean a.img
		rm -rf out t
		x 0 get -R a.img out
		rmdir out/lost+found
		mkdir t
		tar -xf a.tar -C t
		diff -r t out
	done
}

@test "no archive makes extkit start a program" {
	local p
	mkdir bin
	for p in lrzip lzop grzip gzip xz; do
		printf '#!/bin/sh\ntouch "%s/started"\nexit 1\n' "$PWD" >"bin/$p"
		chmod +x "bin/$p"
	done
	printf 'LRZI\0\6aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' >a.lrz
	printf '\x89LZO\0\r\n\x1a\n\x10\x30\x20\x80\x09\x40aaaaaaaaaaaaaaaaaaaaaaaaaaaaa' >a.lzo
	printf 'GRZipII\0\2\4:)aaaaaaaaaaaaaaaaaaaa' >a.grz
	for p in a.lrz a.lzo a.grz; do
		PATH=$PWD/bin:$PATH x 2 create -s 16M --from "$p" x.img
		[ ! -e started ]
	done
	mkdir tree
	echo text >tree/file
	tar -C tree -czf a.tgz .
	PATH=$PWD/bin:$PATH x 0 create -s 16M --from a.tgz x.img
	[ ! -e started ]
	clean x.img
}

@test "another name of a file cannot be that of the tree itself" {
	printf '#spec 1\n./a type=file data=a\n. hard=a\n' >a.spec
	x 5 create --size auto --from a.spec a.img
	has "$err" "the start of the tree is no folder"
}

@test "another name of a file may go for the folder that the file was in" {
	printf '#spec 1\n./d type=dir\n./d/a type=file data=hello\n' >a.spec
	printf '#spec 1\n./d hard=d/a\n' >b.spec
	x 0 create --size auto --from a.spec --from b.spec a.img
	clean a.img
	x 0 cat a.img:/d
	equal "$out" hello
}

@test "names are counted once, and a name that is left out is not a file's first" {
	mkdir t u && printf hello >t/a && ln t/a t/b && ln t/a t/c
	x 0 create --size auto --from t --exclude a a.img
	clean a.img
	x 5 stat a.img:/a
	x 0 get -R a.img out
	equal "$(cat out/b)" hello
	equal "$(stat -c '%h %i' out/b)" "2 $(stat -c %i out/c)"
	x 0 create --size auto --from a.img --exclude b b.img
	x 0 cat b.img:/c
	equal "$out" hello
	printf other >u/a
	x 0 create --size auto --free 1M --from u c.img
	x 0 import --exclude a t c.img
	x 0 cat c.img:/c
	equal "$out" hello
	need_json
	printf '#spec 1\n./a time=99999999999 xattr.user.x=0s%s\n' "$(head -c 6000 /dev/zero | base64 -w0)" >a.spec
	x 8 create --json --size auto --keep-going --from a.spec d.img
	equal "$(json 'd["entries"]')" 1
}

@test "a journal has its least size in a filesystem with files too, or is refused" {
	mkdir t
	echo a >t/a
	x 4 create --size 4M --from t a.img
	has "$err" "too small for a journal"
	x 2 create --size 64M -J 512K --from t a.img
	has "$err" "at least 1024 wanted"
	x 2 create --size auto -J 512K --from t a.img
	[ ! -e a.img ]
	x 0 create --size 4M --no-journal --from t a.img
	clean a.img
	x 0 create -f --size 8M --from t a.img
	clean a.img
	x 0 create -f --size auto --from t a.img # without, because it is small
	clean a.img
}

@test "with inline_data small files and folders lie in their inodes, beside attributes" {
	need python3 debugfs
	python3 -c '
import os
for i in range(0, 260):
    os.makedirs("t/d%d" % (i % 13), exist_ok=True)
    open("t/f%03d" % i, "wb").write(os.urandom(i))
for d in range(13):
    for k in range(d):
        open("t/d%d/n%d" % (d, k), "w").write("x")
os.makedirs("t/e")
open("t/e/" + "long" * 13, "w").write("x") # shares the first row with nothing
os.makedirs("t/empty")
os.link("t/f020", "t/d1/hard")
open("t/hole", "wb").truncate(100)
'
	printf '#spec 1\n' >a.spec
	local n v
	for n in 4 24 32 60; do
		v=$(printf "%0${n}d" 1)
		printf './x%s xattr.user.a=%s data=%s\n' "$n" "$v" "$(printf '%0100d' 7)" >>a.spec
	done
	local shape img=0 flags
	flags() { debugfs -R "stat $1" $img.img 2>/dev/null | sed -n 's/.*Flags: *//p' | head -1; }
	for shape in "" "-I 512 -b 1K" "-O bigalloc" "-O ^extent"; do
		img=$((img + 1))
		need_json
		# shellcheck disable=SC2086 # a shape is several words
		x 0 size --json --size min -O inline_data $shape t a.spec
		v=$(json 'd["bytes"]')
		# shellcheck disable=SC2086
		x 0 create --size min -O inline_data $shape --from t --from a.spec $img.img
		equal "$(stat -c %s $img.img)" "$v"
		clean $img.img
		x 0 get -R $img.img out
		rmdir out/lost+found
		diff -r -x 'x*' t out
		equal "$(cat out/x24)" "$(printf '%0100d' 7)"
		equal "$(stat -c %i out/f020)" "$(stat -c %i out/d1/hard)"
		rm -r out
	done
	img=1
	equal "$(flags f128)" 0x10000000
	[ "$(flags f129)" != 0x10000000 ]
	equal "$(flags d3)" 0x10000000
	equal "$(flags empty)" 0x10000000
	equal "$(flags x4)" 0x10000000
	[ "$(flags x60)" != 0x10000000 ]
	tar --sort=name --format=posix -C t -cf t.tar .
	x 0 create --size auto -O inline_data --free 8M --from t.tar rw.img
	clean rw.img
	mount_image rw.img mnt
	diff -r -x lost+found t mnt
	for n in mnt/d* mnt/e mnt/empty; do printf more >"$n/new"; done
	for n in mnt/f*; do printf more >>"$n"; done
	umount mnt
	clean rw.img
}

@test "with ea_inode values that fit nowhere lie in inodes, one for all equal ones" {
	need python3
	python3 -c '
import base64, random
random.seed(1)
def value(n):
    return "0s" + base64.b64encode(random.randbytes(n)).decode()
big, mid, rest = value(20000), value(3000), value(1000)
print("#spec 1\n./d type=dir xattr.user.big=" + big)
for i in range(30):
    own = " xattr.user.own=" + value(5000) if i % 5 == 0 else ""
    print("./d/f%02d uid=%d data=x xattr.user.big=%s%s" % (i, 1000 + i, big, own))
for i in range(1100): # more than share a block
    print("./s%04d data=x xattr.user.a=%s xattr.user.b=%s xattr.user.c=%s" % (i, mid, rest, big))
' >a.spec
	x 2 create --size auto --from a.spec a.img
	has "$err" "attribute too large"
	need_json
	local shape bytes values=7
	for shape in "" "-O bigalloc" "-O ^extent,^metadata_csum" "-b 1K -O inline_data"; do
		[ "$shape" != "-b 1K -O inline_data" ] || values=9 # smaller blocks hold fewer
		# shellcheck disable=SC2086 # a shape is several words
		x 0 size --json --size min -O ea_inode $shape a.spec
		bytes=$(json 'd["bytes"]')
		equal "$(json 'd["inodes_used"]')" $((10 + 1 + 1 + 30 + 1100 + values))
		# shellcheck disable=SC2086
		x 0 create -f --size min -O ea_inode $shape --from a.spec a.img
		equal "$(stat -c %s a.img)" "$bytes"
		clean a.img
		x 0 create -f --size auto -O ea_inode --free 8M --from a.img b.img
		clean b.img
		"$EXTKIT" spec a.img >a.out
		"$EXTKIT" spec b.img | cmp - a.out
	done
	# the kernel and we agree on users: the last one takes the value along
	x 0 xattr rm user.big b.img:/d
	x 0 rm -r b.img:/d
	clean b.img
	mount_image b.img mnt
	rm mnt/s*
	umount mnt
	clean b.img
	x 0 ls b.img:/
	equal "$out" lost+found
}

@test "trees of revision 0, and with a journal on a device of its own, are clean and mount" {
	mkdir -p t/d
	head -c 300000 /dev/urandom >t/d/f
	ln -s d/f t/l
	local n
	for n in $(seq 300); do printf '%s' "$n" >"t/d/$n"; done
	x 0 create -s 8M -b 4K --journal-device log.img
	need_json
	local how bytes
	for how in min auto 20M; do
		x 0 size -f --json --size $how --journal-on log.img t
		bytes=$(json 'd["bytes"]')
		equal "$(json 'd["journal"]')" 0
		x 0 create -f --size $how --journal-on log.img --from t a.img
		equal "$(stat -c %s a.img)" "$bytes"
		e2fsck -fn -j log.img a.img
		x 0 create -f --size $how --revision-0 --from t b.img
		clean b.img
		x 0 get -R b.img out
		rmdir out/lost+found
		diff -r t out
		rm -r out
	done
	cp log.img before.img
	x 2 create --size auto --journal-on log.img --from t c.img # somebody has it
	has "$err" "another filesystem uses it"
	[ ! -e c.img ]
	cmp log.img before.img
	x 0 create -f --dry-run --size auto --journal-on log.img --from t c.img
	cmp log.img before.img
	mount_image b.img mnt ro
	diff -r -x lost+found t mnt
	umount mnt
	loop_device log.img
	x 0 create -f --size auto --free 4M --journal-on "$loop" --from t a.img
	mount_image a.img mnt "journal_path=$loop"
	diff -r -x lost+found t mnt
	printf more >mnt/more
	umount mnt
	e2fsck -fn -j "$loop" a.img
}

@test "an orphan file that a copy of the superblock parts is written around it" {
	local k
	mkdir t
	for k in $(seq 16 24); do
		head -c $(((3 * 8192 + 10 - k) * 1024)) /dev/zero | tr '\0' x >t/f
		x 0 create -f -b 1K -J 1M -N 16 -O orphan_file,^resize_inode --no-lost-found --size 160M --from t a.img
		clean a.img
	done
}

@test "features that a tree needs are turned on, and revision 0 refuses what it cannot have" {
	mkdir t u
	truncate -s 3G t/big
	x 0 create --size auto -t ext2 -O ^large_file,^resize_inode --from t a.img
	clean a.img
	x 0 info a.img
	has "$out" large_file
	x 4 create -f --size auto --revision-0 --no-journal --from t a.img
	has "$err" "revision 0 has none of 2 GiB"
	printf '#spec 1\n./a type=file data=hi xattr.user.x=abc\n' >a.spec
	x 0 create -f --size auto -O ^ext_attr --from a.spec a.img
	clean a.img
	x 0 info a.img
	has "$out" ext_attr
	x 6 create -f --size auto --revision-0 --from a.spec b.img
	has "$err" "revision 0 has none"
	x 8 create -f --size auto --revision-0 --keep-going --from a.spec b.img
	clean b.img
}

@test "quotas know what every owner of a tree has, whatever the filesystem is like" {
	need python3 debugfs
	python3 -c '
import base64, random
random.seed(1)
big = "0s" + base64.b64encode(random.randbytes(9000)).decode()
print("#spec 1\n./d type=dir uid=7 gid=8 project=9")
for i in range(2000): # owners far and near, more than a few blocks of them
    uid = random.choice([0, 1000, i, random.getrandbits(31)])
    print("./d/f%04d uid=%d gid=%d project=%d data=%s" % (i, uid, i % 40, i % 3, "x" * random.choice([0, 50, 9000])))
print("./v uid=4000 gid=4001 xattr.user.a=%s xattr.user.b=%s data=x" % (big, big))
print("./w uid=4000 gid=4001 xattr.user.a=%s data=x" % big)
' >a.spec
	local shape
	need_json
	for shape in "" "-O bigalloc" "-O inline_data,orphan_file" "-O ^extent,^64bit --no-journal" "-b 1K" "-b 64K" "--no-lost-found"; do
		# shellcheck disable=SC2086 # a shape is several words
		x 0 size --json --size min -O quota,project,ea_inode $shape a.spec
		bytes=$(json 'd["bytes"]')
		# shellcheck disable=SC2086
		x 0 create -f --size min -O quota,project,ea_inode $shape --from a.spec a.img
		equal "$(stat -c %s a.img)" "$bytes"
		clean a.img
	done
	x 0 create -f --size 64M -O quota,ea_inode --from a.spec a.img
	clean a.img
	# both are charged with the values that they share: 1 + 3 + 3 blocks and 1 + 3
	equal "$(debugfs -R "list_quota user" a.img 2>/dev/null | awk '$1 == 4000 { print $2, $5 }')" "45056 5"
	cp a.img before.img
	x 6 rm a.img:/w
	has "$err" quota
	cmp a.img before.img
}
