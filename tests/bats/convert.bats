#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Images from one form into another and back.

load ../lib/common

images=${SRC:-$BATS_TEST_DIRNAME/../..}/tests/data/images

unpack() {
	need zstd
	zstd -qdf --sparse "$images/$1.img.zst" -o "$2"
}

# able_qemu: qemu-nbd and libnbd are there.
able_qemu() {
	command -v qemu-nbd >/dev/null && command -v qemu-img >/dev/null || return 1
	qemu-img create -q -f qcow2 able.qcow2 1M
	"$EXTKIT" ls able.qcow2 2>&1 | grep -q "nbd: not available" && return 1
	return 0
}

# one_line CODES ARG...: ends with one of the codes, in one line unless it is 0.
one_line() {
	local codes=$1 got=0
	shift
	timeout 60 "$EXTKIT" "$@" >"$BATS_TEST_TMPDIR/.out" 2>"$BATS_TEST_TMPDIR/.err" </dev/null || got=$?
	err=$(<"$BATS_TEST_TMPDIR/.err")
	case " $codes " in *" $got "*) ;; *) echo "extkit $*: $got, not $codes: $err" && return 1 ;; esac
	[ "$got" -eq 0 ] || one_error_line "$1"
}

@test "images of every block size come back from zstd and Android sparse byte for byte" {
	for name in kernel-ext2-1k-i128 kernel-ext4-default-4k mke2fs1470-d-full-4k mke2fs1470-d-64k-block; do
		unpack $name a.img
		for form in img zst simg; do
			x 0 convert -f a.img b.$form
			equal "$out" ""
			x 0 convert -f b.$form c.img
			cmp a.img c.img
		done
		x 0 spec a.img
		cp "$BATS_TEST_TMPDIR/.out" want
		for form in zst simg; do
			x 0 spec b.$form
			cmp "$BATS_TEST_TMPDIR/.out" want
		done
		zstd -qdc b.zst | cmp - a.img
	done
}

@test "qcow2 comes back byte for byte, and qemu-img calls it sound" {
	able_qemu || skip "qemu-nbd, qemu-img or libnbd is not installed"
	for name in kernel-ext2-1k-i128 kernel-ext4-default-4k; do
		unpack $name a.img
		x 0 convert -f a.img b.qcow2
		qemu-img check -q b.qcow2
		qemu-img compare -q -f qcow2 -F raw b.qcow2 a.img
		x 0 convert -f b.qcow2 c.img
		cmp a.img c.img
	done
	echo hello >f
	x 0 put f b.qcow2:/written
	qemu-img check -q b.qcow2
	x 0 convert -f b.qcow2 c.img
	clean c.img
	x 0 cat c.img:/written
	equal "$out" hello
}

@test "qcow2 has the last bytes of an image that sectors do not divide" {
	need qemu-img
	head -c 100100 /dev/urandom >odd.img
	x 0 convert odd.img disk.qcow2
	qemu-img convert -O raw disk.qcow2 back.img
	equal "$(stat -c %s back.img)" 100352
	cmp -n 100100 odd.img back.img
	tail -c 252 back.img | cmp - <(head -c 252 /dev/zero)
	x 0 convert odd.img disk.zst
	x 0 convert disk.zst disk2.qcow2
	cmp disk.qcow2 disk2.qcow2
}

@test "a qcow2 image of more than one table of level 2, with data at both ends" {
	command -v qemu-img >/dev/null || skip "qemu-img is not installed"
	truncate -s 3G a.img
	printf first | dd of=a.img bs=1 conv=notrunc status=none
	printf middle | dd of=a.img bs=1 seek=$((1536 << 20)) conv=notrunc status=none
	printf last | dd of=a.img bs=1 seek=$(((3 << 30) - 4)) conv=notrunc status=none
	x 0 convert a.img b.qcow2
	qemu-img check -q b.qcow2
	qemu-img compare -q -f qcow2 -F raw b.qcow2 a.img
	[ "$(stat -c %s b.qcow2)" -lt 2000000 ]
}

@test "forms of virtual machines become raw" {
	able_qemu || skip "qemu-nbd, qemu-img or libnbd is not installed"
	unpack kernel-ext2-1k-i128 a.img
	for format in qcow2 qcow vpc vhdx vmdk; do
		qemu-img convert -f raw -O $format a.img b.bin
		x 0 convert -f b.bin c.img
		cmp -n "$(stat -c %s a.img)" a.img c.img
	done
	for how in gzip xz bzip2; do
		command -v $how >/dev/null || continue
		$how -qc <a.img >b.bin
		x 0 convert -f b.bin c.img
		cmp a.img c.img
	done
}

@test "the same image gives the same bytes" {
	unpack kernel-ext4-default-4k a.img
	for form in zst simg qcow2; do
		x 0 convert a.img one.$form
		x 0 convert a.img two.$form
		cmp one.$form two.$form
	done
	x 0 convert --level 19 a.img three.zst
	zstd -qdc three.zst | cmp - a.img
	[ "$(stat -c %s three.zst)" -lt "$(stat -c %s one.zst)" ]
}

@test "with --trim nothing of unused blocks is left and the tree is the same" {
	make_image a.img 64M
	head -c 9M /dev/urandom >f
	x 0 put f a.img:/gone
	x 0 put f a.img:/kept
	x 0 rm a.img:/gone
	clean a.img
	x 0 convert a.img all.zst
	x 0 convert --trim a.img used.zst
	[ "$(stat -c %s used.zst)" -lt $((12 << 20)) ]
	[ "$(stat -c %s all.zst)" -gt $((18 << 20)) ]
	x 0 convert --trim a.img used.img
	clean used.img
	x 0 cat used.img:/kept
	cmp "$BATS_TEST_TMPDIR/.out" f
	x 0 convert --trim a.img used.simg
	x 0 convert used.simg back.img
	cmp back.img used.img
}

@test "with --trim an image whose journal is not replayed is refused" {
	unpack kernel-dirty-ordered a.img
	x 3 convert --trim a.img b.img
	one_error_line convert
	has "$err" "journal has to be replayed"
	[ ! -e b.img ]
	x 0 convert a.img b.img
	cmp a.img b.img
}

@test "a filesystem behind an offset is taken alone" {
	truncate -s 40M disk.img
	x 0 create -s 16M disk.img@@1M
	echo x >f
	x 0 put f disk.img@@1M:/f
	x 0 convert disk.img@@1M part.img
	equal "$(stat -c %s part.img)" $((16 << 20))
	clean part.img
	x 0 cat part.img:/f
	equal "$out" x
}

@test "partitions of a disk are found in every form of it" {
	command -v python3 >/dev/null || skip "python3 is not installed"
	make_image 1.img 8M -L boot
	make_image 2.img 16M -L root
	echo x >f
	x 0 put f 2.img:/f
	python3 "$SRC/tests/tools/disk.py" gpt disk.img boot=1.img root=2.img
	for form in zst simg qcow2; do
		[ $form = qcow2 ] && ! able_qemu && continue
		x 0 convert disk.img disk.$form
		x 0 cat disk.$form@LABEL=root:/f
		equal "$out" x
		x 0 convert -f disk.$form@p2 part.img
		cmp part.img 2.img
	done
	[ -e disk.qcow2 ] || return 0
	x 0 mkdir disk.qcow2@p1:/new
	x 0 ls disk.qcow2@p1
	equal "$out" $'lost+found\nnew'
}

@test "what is there is not replaced, and nothing half done is left" {
	unpack kernel-ext2-1k-i128 a.img
	echo precious >b.img
	x 7 convert a.img b.img
	one_error_line convert
	equal "$(<b.img)" precious
	x 2 convert a.img b.gz
	x 2 convert --level 23 a.img b.zst
	x 2 convert a.img:/x b.img
	mkdir dir
	x 2 convert -f a.img dir
	x 7 convert none c.img
	x 7 convert a.img no/such/folder.img
	head -c 5000000 a.img | zstd -q >cut.zst
	truncate -s 3000 cut.zst
	x 3 convert cut.zst c.img
	one_error_line convert
	equal "$(ls)" $'a.img\nb.img\ncut.zst\ndir'
	x 0 convert -f a.img b.img
	cmp a.img b.img
	chmod 600 b.img
	x 0 convert -f a.img b.img
	equal "$(stat -c %a b.img)" 600
}

@test "holes stay holes" {
	truncate -s 1G a.img
	printf x | dd of=a.img bs=1 seek=$((700 << 20)) conv=notrunc status=none
	for form in zst simg img; do
		x 0 convert a.img b.$form
		[ "$(stat -c %b b.$form)" -lt 1500 ]
	done
	x 0 convert -f b.zst c.img
	cmp a.img c.img
	[ "$(stat -c %b c.img)" -lt 100 ]
	rm c.img
	x 0 convert b.simg c.img
	[ "$(stat -c %b c.img)" -lt 100 ]
}

@test "how far it is, and what came of it, are told as JSON" {
	need_json
	unpack kernel-ext2-1k-i128 a.img
	x 0 convert --json a.img b.zst
	equal "$(json 'd["bytes"]')" "$(stat -c %s a.img)"
	equal "$(json 'd["written"]')" "$(stat -c %s b.zst)"
}

@test "damaged and cut files of each form give one line" {
	unpack kernel-ext2-1k-i128 a.img
	for form in zst simg; do
		x 0 convert -f a.img b.$form
		size=$(stat -c %s b.$form)
		for at in 0 1 4 5 6 8 9 10 11 12 13 15 16 20 23 24 28 29 32 36 40 100 1000 $((size - 1)) \
			$((size - 4)) $((size - 5)) $((size - 6)) $((size - 9)) $((size - 12)) $((size - 17)); do
			cp b.$form bad
			printf '\377' | dd of=bad bs=1 seek=$at conv=notrunc status=none
			one_line "0 3 5 6" ls bad
			rm -f c.img
			one_line "0 3 4 6" convert bad c.img
		done
		for cut in 1 5 10 28 30 40 100 1000 $((size / 2)) $((size - 1)); do
			head -c "$cut" b.$form >bad
			one_line "0 3 5 6" ls bad
			rm -f c.img
			one_line "0 3 4 6" convert bad c.img
		done
	done
}
