#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Images in containers: disks of virtual machines, compressed files, Android sparse images.

load ../lib/common

images=${SRC:-$BATS_TEST_DIRNAME/../..}/tests/data/images

teardown() {
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || :
}

need_qemu() {
	need qemu-nbd qemu-img
	qemu-img create -q -f qcow2 able.qcow2 1M
	"$EXTKIT" ls able.qcow2 2>&1 | grep -q "nbd: not available" && skip "libnbd is not installed"
	return 0
}

plain() {
	need zstd
	zstd -qdf --sparse "$images/kernel-ext2-1k-i128.img.zst" -o plain.img
}

# same_tree A B: both hold the same.
same_tree() {
	x 0 spec "$1"
	cp "$BATS_TEST_TMPDIR/.out" want.spec
	x 0 spec "$2"
	cmp "$BATS_TEST_TMPDIR/.out" want.spec
}

# one_line CODE ARG...: fails like this with one line, or reads: what a flip hits need not matter.
one_line() {
	local codes=$1 got=0
	shift
	timeout 60 "$EXTKIT" "$@" >"$BATS_TEST_TMPDIR/.out" 2>"$BATS_TEST_TMPDIR/.err" </dev/null || got=$?
	err=$(<"$BATS_TEST_TMPDIR/.err")
	case " $codes " in *" $got "*) ;; *) echo "extkit $*: $got, not $codes: $err" && return 1 ;; esac
	[ "$got" -eq 0 ] || one_error_line "$1"
}

@test "disks of every kind hold a filesystem that is made, written and read through them" {
	need_qemu
	echo hello >f
	for format in qcow2 qcow vpc vhdx vmdk; do
		qemu-img create -q -f $format disk.bin 48M
		x 0 create disk.bin
		x 0 put f disk.bin:/f
		x 0 mkdir disk.bin:/d
		x 0 cat disk.bin:/f
		equal "$out" hello
		x 3 create disk.bin
		has "$err" "holds ext4; force would overwrite it"
		x 0 ls disk.bin
		equal "$out" $'d\nf\nlost+found'
		qemu-img convert -f $format -O raw disk.bin disk.img
		clean disk.img
		rm disk.bin
	done
}

@test "what a disk holds reads like the plain image" {
	plain
	need_qemu
	for format in qcow2 qcow vpc vhdx vmdk; do
		qemu-img convert -f raw -O $format plain.img disk.bin
		same_tree plain.img disk.bin
	done
	qemu-img convert -c -f raw -O qcow2 plain.img disk.bin
	same_tree plain.img disk.bin
	qemu-img convert -f raw -O vmdk -o subformat=streamOptimized plain.img disk.bin
	same_tree plain.img disk.bin
	qemu-img convert -f raw -O vpc -o subformat=fixed,force_size plain.img disk.bin
	same_tree plain.img disk.bin
}

@test "a tree goes into a disk rather than in its place" {
	need_qemu
	mkdir tree
	echo one >tree/one
	qemu-img create -q -f qcow2 disk.qcow2 32M
	x 0 create --from tree disk.qcow2
	x 0 cat disk.qcow2:/one
	equal "$out" one
	qemu-img check -q disk.qcow2
}

@test "no server and no folder are left" {
	need_qemu
	qemu-img create -q -f qcow2 disk.qcow2 32M
	mkdir tmp
	TMPDIR=$PWD/tmp x 0 create disk.qcow2
	TMPDIR=$PWD/tmp x 5 cat disk.qcow2:/none
	head -c 100000 disk.qcow2 >cut.qcow2
	TMPDIR=$PWD/tmp one_line "0 3 7" ls cut.qcow2
	equal "$(ls tmp)" ""
	x 0 ls disk.qcow2
}

@test "a disk that lies over another file is refused by name" {
	need_qemu
	qemu-img create -q -f raw secret 1M
	for format in qcow2 qcow; do
		qemu-img create -q -f $format -b "$PWD/secret" -F raw disk.bin
		x 6 ls disk.bin
		one_error_line ls
		has "$err" "lies over another file, '$PWD/secret', which is not followed"
	done
	qemu-img create -q -f vmdk base.vmdk 1M
	qemu-img create -q -f vmdk -b base.vmdk -F vmdk disk.bin
	x 6 ls disk.bin
	has "$err" "lies over another file"
	qemu-img create -q -f vmdk -o subformat=monolithicFlat disk.bin 1M
	x 6 ls disk.bin
	has "$err" "names other files"
	qemu-img create -q -f qcow2 -o data_file=data.raw disk.bin 1M
	x 6 ls disk.bin
	has "$err" "keeps its data in another file"
}

@test "a disk that another program has open is left alone" {
	need_qemu
	qemu-img create -q -f qcow2 disk.qcow2 32M
	dir=$(mktemp -d /tmp/nbd.XXXXXX)
	qemu-nbd -t -f qcow2 -k "$dir/s" disk.qcow2 3>&- 4>&- &
	SERVER=$!
	for ((i = 0; i < 100; i++)); do
		[ -S "$dir/s" ] && break
		sleep 0.05
	done
	x 9 create disk.qcow2
	one_error_line create
	x 9 ls disk.qcow2
	one_error_line ls
	rm -r "$dir"
}

# gone PID: it ends within five seconds.
gone() {
	local i
	for ((i = 0; i < 100; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.05
	done
	return 1
}

# children PID: the servers that it started.
children() {
	pgrep -P "$1" qemu-nbd
}

@test "a server ends with the program that started it, however that ends" {
	need pgrep
	need_qemu
	qemu-img create -q -f qcow2 disk.qcow2 32M
	x 0 create disk.qcow2
	head -c 1M /dev/urandom >big
	x 0 put big disk.qcow2:/big
	mkfifo pipe
	"$EXTKIT" cat disk.qcow2:/big >pipe 3>&- 4>&- & # waits for a reader of more than a pipe holds
	SERVER=$!
	exec 5<pipe
	for ((i = 0; i < 100; i++)); do
		server=$(children "$SERVER") && break
		sleep 0.05
	done
	kill -0 "$server"
	kill -9 "$SERVER"
	exec 5<&-
	gone "$server"
	SERVER=
	x 0 ls disk.qcow2
}

@test "an edit of a disk without a journal is taken back after a kill" {
	local whole n undone=0 begun
	need_qemu
	qemu-img create -q -f qcow2 disk.qcow2 64M
	x 0 create -O ^has_journal disk.qcow2
	head -c 8M /dev/urandom >big
	{
		for n in $(seq 1 150); do echo "mkdir -p /t/$n/a/b"; done
		echo "put big /big"
	} >script
	qemu-img convert disk.qcow2 before.img
	cp disk.qcow2 before.qcow2
	begun=$(date +%s%3N)
	x 0 apply disk.qcow2 script
	whole=$(($(date +%s%3N) - begun))
	[ ! -e disk.qcow2.undo ]
	for n in 40 50 60 70 80 90; do
		cp before.qcow2 disk.qcow2
		"$EXTKIT" apply disk.qcow2 script 2>/dev/null 3>&- 4>&- &
		SERVER=$!
		sleep "$((whole * n / 100000)).$(printf %03d $((whole * n / 100 % 1000)))"
		kill -9 "$SERVER" 2>/dev/null || :
		wait "$SERVER" 2>/dev/null || :
		SERVER=
		[ -e disk.qcow2.undo ] || continue
		for ((i = 0; i < 100; i++)); do # its server may have a last write to do
			qemu-img info disk.qcow2 >/dev/null 2>&1 && break
			sleep 0.05
		done
		x 3 mkdir disk.qcow2:/refused
		has "$err" "extkit undo disk.qcow2"
		x 0 undo disk.qcow2
		qemu-img convert disk.qcow2 after.img
		cmp before.img after.img
		undone=$((undone + 1))
	done
	echo "# $undone taken back" >&3
}

@test "without qemu-nbd there is one line that tells what is missing" {
	printf 'QFI\xfb\0\0\0\2' >disk.qcow2
	truncate -s 1M disk.qcow2
	got=0
	err=$(PATH=/none "$EXTKIT" ls disk.qcow2 2>&1) || got=$?
	equal "$got" 6
	equal "$(wc -l <<<"$err")" 1
	has "$err" "qemu-nbd is not installed"
	has "$err" "qemu-utils"
}

# server TEXT: a qemu-nbd that runs these lines of shell.
server() {
	mkdir -p bin
	printf '#!/bin/sh\n%s\n' "$1" >bin/qemu-nbd
	chmod +x bin/qemu-nbd
}

@test "a server that has agreed on nothing yet ends with the program, too" {
	need_qemu
	printf 'QFI\xfb\0\0\0\2' >disk.qcow2
	truncate -s 1M disk.qcow2
	# One that is starting may overlook that it is asked to.
	server 'trap "" TERM; echo $$ >pid.new; mv pid.new pid; exec sleep 600'
	PATH=$PWD/bin:$PATH "$EXTKIT" ls disk.qcow2 3>&- 4>&- &
	SERVER=$!
	for ((i = 0; i < 100; i++)); do
		[ ! -e pid ] || break
		sleep 0.05
	done
	server=$(cat pid)
	kill -0 "$server"
	kill -9 "$SERVER"
	SERVER=$server
	gone "$server"
	SERVER=
}

@test "a server that ends, complains or serves nothing costs one line" {
	need_qemu
	printf 'QFI\xfb\0\0\0\2' >disk.qcow2
	truncate -s 1M disk.qcow2
	server 'exit 1'
	PATH=$PWD/bin:$PATH one_line "7" ls disk.qcow2
	server "echo 'qemu-nbd: no such luck' >&2; exit 1"
	PATH=$PWD/bin:$PATH one_line "3" ls disk.qcow2
	has "$err" "cannot use disk.qcow2 as qcow2: no such luck"
	server "trap '' TERM; echo 'qemu-nbd: hangs' >&2; exec 3<&- sleep 600"
	SECONDS=0
	PATH=$PWD/bin:$PATH one_line "3" ls disk.qcow2
	[ $SECONDS -lt 20 ]
}

@test "compressed images are read and not written" {
	plain
	for how in gzip xz bzip2 zstd; do
		need $how
		$how -qc <plain.img >packed
		same_tree plain.img packed
		x 3 rm packed:/lost+found
		one_error_line rm
		has "$err" "can be read only"
		head -c 1000 packed >short
		x 3 ls short
		one_error_line ls
		has "$err" "corrupt"
	done
}

@test "an image is a source of a tree in every form" {
	mkdir tree
	echo one >tree/one
	x 0 create --from tree -s 4M -O ^has_journal plain.img
	x 0 create --from tree -s 4M -O ^has_journal other.img
	x 0 convert plain.img disk.zst
	x 0 convert plain.img disk.simg
	if command -v qemu-nbd >disk.log && "$EXTKIT" convert plain.img disk.qcow2 && "$EXTKIT" ls disk.qcow2 >disk.log; then
		forms=disk.qcow2
	fi
	for how in gzip xz bzip2 zstd; do
		command -v $how >disk.log || continue
		$how -qc <plain.img >disk.$how
		forms="$forms disk.$how"
	done
	for form in disk.zst disk.simg $forms; do
		x 0 diff "$form" plain.img
		cp other.img to.img
		x 0 sync "$form" to.img
		x 0 cat to.img:/one
		equal "$out" one
		x 0 create -f --size auto --from "$form" new.img
		x 0 cat new.img:/one
	done
	tar -czf tree.tar.gz tree
	x 0 sync --dry-run tree.tar.gz plain.img
	has "$out" tree/one
}

@test "damaged and cut disks give one line" {
	plain
	need_qemu
	for format in qcow2 qcow vpc vhdx vmdk; do
		qemu-img convert -f raw -O $format plain.img disk.bin
		for at in 4 7 11 15 19 20 23 27 31 35 36 43 51 60 63 72 100; do
			cp disk.bin bad.bin
			printf '\377' | dd of=bad.bin bs=1 seek=$at conv=notrunc status=none
			one_line "0 3 5 6 7" ls bad.bin
		done
		for size in 8 100 600 5000 70000; do
			head -c $size disk.bin >bad.bin
			one_line "0 3 5 6 7" ls bad.bin
		done
	done
}
