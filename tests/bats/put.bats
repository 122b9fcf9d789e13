#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit put, mkdir, get and cat: bytes into an image and out again.

load ../lib/common

# image_with_file: a.img with /dir/file, which holds what ./file does.
image_with_file() {
	make_image a.img 64M
	head -c 3000001 /dev/urandom >file
	x 0 put -p file a.img:/dir/file
	clean a.img
}

# killed_after SECONDS ARG...: runs extkit, kills it after that time and waits for its end.
killed_after() {
	local pid seconds=$1
	shift
	"$EXTKIT" "$@" &
	pid=$!
	sleep "$seconds"
	kill -9 "$pid" 2>/dev/null || :
	wait "$pid" 2>/dev/null || :
}

@test "a file comes out as it went in" {
	image_with_file
	"$EXTKIT" cat a.img:/dir/file | cmp - file
	x 0 get a.img:/dir/file back
	cmp back file
	equal "$(stat -c '%a %s' back)" "644 3000001"
}

@test "the kernel reads what was put" {
	image_with_file
	mount_image a.img mnt ro
	cmp mnt/dir/file file
}

@test "a file is replaced as a whole, and its blocks come back" {
	image_with_file
	local before
	x 0 df --json a.img
	need_json
	before=$(json 'd["images"][0]["used"]')
	head -c 3000001 /dev/urandom >file
	x 0 put file a.img:/dir/
	"$EXTKIT" cat a.img:/dir/file | cmp - file
	clean a.img
	x 0 df --json a.img
	equal "$(json 'd["images"][0]["used"]')" "$before"
}

@test "--no-replace leaves the old file" {
	image_with_file
	echo other >other
	x 5 put -n other a.img:/dir/file
	"$EXTKIT" cat a.img:/dir/file | cmp - file
	clean a.img
}

@test "a folder is never replaced by a file" {
	image_with_file
	x 0 mkdir a.img:/dir/sub
	x 5 put file a.img:/dir/nope/file
	x 0 put file a.img:/dir/sub
	x 0 ls a.img:/dir/sub
	equal "$out" file
	x 0 mkdir a.img:/dir/sub/file2
	cp file file2
	x 5 put file2 a.img:/dir/sub
	one_error_line put
	clean a.img
}

@test "holes stay holes on the way in and out" {
	make_image a.img 64M -b 4K
	truncate -s 40M sparse
	printf end | dd of=sparse bs=1 seek=20000000 conv=notrunc status=none
	x 0 put sparse a.img:/sparse
	clean a.img
	x 0 map a.img:/sparse
	equal "$(wc -l <<<"$out")" 2
	x 0 get a.img:/sparse back
	cmp sparse back
	[ "$(du -k back | cut -f1)" -lt 1000 ]
}

@test "a stream of unknown length becomes a file" {
	make_image a.img 64M
	head -c 5000000 /dev/urandom >file
	"$EXTKIT" put - a.img:/stream < <(cat file)
	"$EXTKIT" cat a.img:/stream | cmp - file
	clean a.img
}

@test "an empty file and one of a whole block are put" {
	make_image a.img 64M -b 1K
	: >empty
	head -c 1024 /dev/urandom >block
	x 0 put empty block a.img:/
	"$EXTKIT" cat a.img:/block | cmp - block
	"$EXTKIT" cat a.img:/empty | cmp - empty
	clean a.img
}

@test "owner, mode, times and attributes are kept with --archive" {
	make_image a.img 64M
	need_json
	echo x >file
	chmod 4751 file
	touch -d '2001-02-03 04:05:06.123456789 UTC' file
	x 0 put -a -u 70000 -g 100000 -x user.note=hello file a.img:/file
	x 0 stat --json a.img:/file
	equal "$(json '(oct(d["mode"]), d["uid"], d["gid"], d["mtime"], [a["value"] for a in d["xattrs"] if a["name"] == "user.note"])')" \
		"('0o104751', 70000, 100000, '2001-02-03 04:05:06.123456789 UTC', ['hello'])"
	clean a.img
	mount_image a.img mnt ro
	equal "$(stat -c '%a %u %g %y' mnt/file)" "4751 70000 100000 2001-02-03 04:05:06.123456789 +0000"
}

@test "a long attribute goes into a block of its own" {
	make_image a.img 64M -b 4K
	echo x >file
	x 0 put -x "user.long=$(head -c 2000 /dev/zero | tr '\0' v)" file a.img:/file
	clean a.img
	x 0 stat a.img:/file
	has "$out" "vvvvvvvv"
}

@test "an attribute that has no room leaves no file behind" {
	make_image a.img 64M -b 1K
	echo x >file
	x 4 put -x "user.long=$(head -c 3000 /dev/zero | tr '\0' v)" file a.img:/file
	clean a.img
	x 5 stat a.img:/file
}

@test "an image that is too small is told by the blocks missing, and stays as it was" {
	make_image a.img 8M -b 1K
	head -c 20000000 /dev/zero | tr '\0' x >file
	x 4 put file a.img:/file
	one_error_line put
	clean a.img
	x 0 ls a.img
	equal "$out" "lost+found"
}

@test "thousands of files fill a folder" {
	make_image a.img 64M -b 1K -N 4000
	local n
	mkdir many
	for ((n = 0; n < 1500; n++)); do echo "$n" >"many/a file with a name of some length $n"; done
	"$EXTKIT" put many/* a.img:/
	clean a.img
	x 0 ls a.img
	equal "$(wc -l <<<"$out")" 1501
	x 0 cat "a.img:/a file with a name of some length 777"
	equal "$out" 777
}

@test "killed in the middle, the image has the old file or the new one" {
	make_image a.img 64M -b 1K
	head -c 8000000 /dev/urandom >old
	head -c 8000000 /dev/urandom >new
	x 0 put old a.img:/file
	local n
	for n in 1 2 3 4 5 6 7 8; do
		killed_after "0.00$n" put new a.img:/file
		need e2fsck
		e2fsck -fp a.img >.fsck 2>&1 || [ $? -eq 1 ] || { cat .fsck; return 1; }
		clean a.img
		"$EXTKIT" cat a.img:/file >got
		cmp -s got old || cmp got new
		x 0 put old a.img:/file
	done
}

@test "an interrupted put is finished by the next command without e2fsck" {
	make_image a.img 64M -b 1K
	head -c 16000000 /dev/urandom >new
	killed_after 0.006 put new a.img:/file
	x 0 mkdir a.img:/after
	clean a.img
	x 0 ls a.img
	has "$out" after
}

@test "folders are made with what lies above them" {
	make_image a.img 16M
	x 5 mkdir a.img:/a/b/c
	x 0 mkdir -p -m 1777 -u 5 a.img:/a/b/c
	x 0 mkdir -p a.img:/a/b/c
	x 5 mkdir a.img:/a
	clean a.img
	x 0 stat a.img:/a/b/c
	has "$out" "drwxrwxrwt"
	has "$out" "Owner: 5"
}

@test "a tree comes out whole, without rights it should not have" {
	make_image a.img 64M
	echo one >one
	x 0 mkdir -p a.img:/t/empty
	x 0 put -p -m 4755 -u 1 one a.img:/t/sub/setuid
	x 0 put -m 600 one a.img:/t/secret
	x 0 get -R a.img:/t out
	equal "$(cd out && find . | LC_ALL=C sort | tr '\n' ' ')" ". ./empty ./secret ./sub ./sub/setuid "
	equal "$(stat -c %a out/sub/setuid)" 755
	equal "$(stat -c %a out/secret)" 600
	x 7 get -R a.img:/t out
	has "$err" "not empty"
	x 0 get -R --setid a.img:/t out2
	equal "$(stat -c %a out2/sub/setuid)" 4755
}

@test "links and devices made by the kernel are exported by the rules" {
	make_image a.img 16M
	mount_image a.img mnt
	mkdir mnt/t
	echo data >mnt/t/file
	ln mnt/t/file mnt/t/twin
	ln -s file mnt/t/near
	ln -s ../../etc/passwd mnt/t/far
	ln -s /etc mnt/t/folder
	mknod mnt/t/null c 1 3
	umount mnt
	MOUNTS=()
	x 0 get -R a.img:/t out
	equal "$(readlink out/far) $(readlink out/folder) $(readlink out/near)" "../../etc/passwd /etc file"
	[ ! -e out/null ]
	has "$out" "null"
	equal "$(stat -c %h out/file)" 2
	x 0 get -R --links=inside a.img:/t out2
	equal "$(cd out2 && find . -type l)" "./near"
}

@test "a mapping that goes round does not fill the host's disk" {
	need zstd
	zstd -qd "$SRC/tests/data/malformed/ind-self-cycle.img.zst" -o a.img
	x 3 get a.img:/sparse.bin out
	has "$err" "more bytes than the 262144 of the image"
	[ ! -e out ]
	x 8 get -R a.img all
	has "$out" "more bytes than"
	[ "$(du -sk all | cut -f1)" -lt 1000 ]
}

@test "a limit on the export ends it" {
	image_with_file
	x 4 get -R --max-bytes 1M a.img out
	one_error_line get
	x 4 get -R --max-entries 1 a.img out2
}

@test "an existing file of the host is not replaced unasked" {
	image_with_file
	echo mine >mine
	x 7 get a.img:/dir/file mine
	equal "$(cat mine)" mine
	x 0 get -f a.img:/dir/file mine
	cmp mine file
}

@test "an image that another program writes is refused" {
	image_with_file
	need flock
	exec 9<>a.img
	mkfifo hold
	"$EXTKIT" put - a.img:/slow <hold &
	exec 8>hold
	local n
	for n in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.1
		"$EXTKIT" put file a.img:/quick 2>.err && continue
		break
	done
	exec 8>&-
	wait
	has "$(cat .err)" "cannot write"
	clean a.img
}

@test "cat needs a path and gives no JSON" {
	image_with_file
	x 2 cat a.img
	x 2 cat --json a.img:/dir/file
	x 5 cat a.img:/dir
	x 5 cat a.img:/nowhere
	x 7 cat nowhere.img:/file
}

@test "a dry run tells what would go wrong and changes nothing" {
	image_with_file
	cp a.img before.img
	x 0 put --dry-run file a.img:/new
	x 0 mkdir --dry-run a.img:/folder
	x 5 put --dry-run file a.img:/nowhere/new
	head -c 80000000 /dev/zero | tr '\0' x >large
	x 4 put --dry-run large a.img:/large
	cmp a.img before.img
}

@test "a folder that outgrows its first block has an index and two leaves, as in Linux" {
	local long i
	long=$(printf 'm%.0s' {1..230})
	x 0 create -s 16M -b 1024 a.img
	x 0 mkdir a.img:/d
	for i in 11 13 16; do
		x 0 mkdir "a.img:/d/$i-$long"
	done
	x 0 mkdir a.img:/d/4 a.img:/d/12
	x 0 stat --json a.img:/d
	equal "$(json 'd["size"]')" 1024
	x 0 mkdir "a.img:/d/53-$long"
	x 0 stat --json a.img:/d
	equal "$(json 'd["size"]')" 3072
	clean a.img
}

# set_guard SEQ NODE: what the mount guard of a.img says, as another host would have written it.
set_guard() {
	need python3
	python3 - "$1" "$2" <<-'EOF'
		import struct, sys
		f = open("a.img", "r+b")
		head = f.read(4096)[1024:]
		block = struct.unpack_from("<Q", head, 0x168)[0] * (1024 << struct.unpack_from("<I", head, 24)[0])
		f.seek(block + 4)
		f.write(struct.pack("<I", int(sys.argv[1], 16)))
		f.seek(block + 16)
		f.write(sys.argv[2].encode().ljust(64, b"\0") + b"sdb1".ljust(32, b"\0"))
	EOF
}

@test "a mount guard keeps writers out while another host writes, and is as before afterwards" {
	make_image a.img 16M -O mmp,^metadata_csum
	echo text >file
	x 0 put file a.img:/one
	clean a.img
	has "$(debugfs -R dump_mmp a.img 2>/dev/null | tr -s ' ')" "sequence: ff4d4d50"
	set_guard E24D4D50 faraway
	cp a.img before.img
	x 9 put file a.img:/two
	one_error_line put
	has "$err" "host 'faraway' writes it as 'sdb1'"
	cmp a.img before.img
	x 0 ls a.img:/
}

@test "a mount guard that stands still is taken over after a while" {
	make_image a.img 16M -O mmp,^metadata_csum
	echo text >file
	set_guard 12345 gone
	x 0 put file a.img:/one
	clean a.img
	has "$(debugfs -R dump_mmp a.img 2>/dev/null | tr -s ' ')" "sequence: ff4d4d50"
}
