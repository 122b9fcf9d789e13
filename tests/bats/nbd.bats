#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Images on network block devices: servers on private sockets, which go with the test.

load ../lib/common

SERVERS=() DIRS=()

teardown() {
	local pid
	for pid in ${SERVERS[@]+"${SERVERS[@]}"}; do kill "$pid" 2>/dev/null || :; done
	[ ${#DIRS[@]} -eq 0 ] || rm -rf "${DIRS[@]}"
}

# Sockets have short names: a path in the test's folder may be too long for one.
socket_dir() {
	dir=$(mktemp -d /tmp/nbd.XXXXXX)
	DIRS+=("$dir")
	sock=$dir/s
}

wait_for() {
	local i
	for ((i = 0; i < 100; i++)); do
		[ -S "$1" ] && return
		sleep 0.05
	done
	return 1
}

# memory_server SIZE [OPTION...] [KEY=VALUE...]: $uri is an export of zeros.
memory_server() {
	local a options=() keys=()
	need nbdkit
	for a in "${@:2}"; do
		case $a in -*) options+=("$a") ;; *) keys+=("$a") ;; esac
	done
	socket_dir
	nbdkit -f -U "$sock" ${options[@]+"${options[@]}"} memory "$1" ${keys[@]+"${keys[@]}"} 3>&- 4>&- &
	SERVERS+=($!)
	wait_for "$sock"
	uri="nbd+unix:///?socket=$sock"
	able
}

# qcow2_server FILE: $uri is what a qcow2 file holds.
qcow2_server() {
	need qemu-nbd
	socket_dir
	qemu-nbd -t -f qcow2 -x disk -k "$sock" "$1" 3>&- 4>&- &
	SERVERS+=($!)
	wait_for "$sock"
	uri="nbd+unix:///disk?socket=$sock"
	able
}

able() {
	local said
	said=$("$EXTKIT" info "$uri" 2>&1) || :
	case $said in *"nbd: not available"*) skip "libnbd is not installed" ;; esac
}

@test "an image is made, filled, listed, read and replayed on a server" {
	memory_server 64M
	echo hello >f
	x 0 create "$uri"
	x 0 put f "$uri:/f"
	x 0 mkdir "$uri:/d"
	x 0 ls "$uri:/"
	equal "$out" $'d\nf\nlost+found'
	x 0 cat "$uri:/f"
	equal "$out" hello
	x 0 replay "$SRC/contrib/demo/sqlite.wtb" "$uri"
	x 0 ls "$uri"
	has "$out" db.sqlite
	need qemu-img
	qemu-img convert -f raw "$uri" copy.img
	clean copy.img
}

@test "an export is as large as it is, and what it holds is not overwritten" {
	memory_server 32M
	x 0 create "$uri"
	x 0 info --json "$uri"
	need_json
	equal "$(json 'd["blocks"] * d["block_size"]')" $((32 << 20))
	x 3 create "$uri"
	has "$err" "holds ext4; force would overwrite it"
	x 3 replay gen:region:size=1M,passes=1 "region:$uri"
	has "$err" "holds ext4; files of a region would overwrite it"
	x 3 bench 5 --scale 1 --runs 1 --on "$uri"
	has "$err" "holds ext4;"
	x 0 ls "$uri"
	x 0 create --force "$uri"
	x 4 create --force -s 64M "$uri"
}

@test "operands in one remote image open it once" {
	memory_server 32M
	x 0 create "$uri"
	echo one >a
	x 0 put a "$uri:/a"
	x 0 cp "$uri:/a" "$uri:/b"
	x 0 mv "$uri:/a" "$uri:/c"
	x 0 ls "$uri"
	equal "$out" $'b\nc\nlost+found'
}

@test "a filesystem may begin behind an offset of an export" {
	memory_server 32M
	x 0 create -s 16M "$uri@@1M"
	echo x >f
	x 0 put f "$uri@@1M:/f"
	x 0 cat "$uri@@1M:/f"
	equal "$out" x
	x 3 ls "$uri"
}

@test "a tree goes into a qcow2 file through its server" {
	need qemu-img
	qemu-img create -q -f qcow2 disk.qcow2 64M
	qcow2_server disk.qcow2
	x 0 create --from "$SRC/doc" "$uri"
	x 0 cat "$uri:/DESIGN.md"
	cmp "$BATS_TEST_TMPDIR/.out" "$SRC/doc/DESIGN.md"
	kill "${SERVERS[0]}"
	wait "${SERVERS[0]}" || :
	SERVERS=()
	qemu-img convert disk.qcow2 disk.img
	clean disk.img
}

@test "a server that demands whole blocks gets them" {
	need nbdkit
	nbdkit --dump-plugin --filter=blocksize-policy memory >/dev/null 2>&1 || skip "nbdkit has no blocksize-policy filter"
	memory_server 32M --filter=blocksize-policy blocksize-minimum=4096 blocksize-error-policy=error
	x 0 create -b 1024 "$uri"
	echo x >f
	x 0 put f "$uri:/f"
	x 0 cat "$uri:/f"
	equal "$out" x
}

@test "servers that are not there, exports that are not, and writers where there is only reading" {
	x_any ls "nbd+unix:///?socket=$BATS_TEST_TMPDIR/none"
	memory_server 32M -r
	x 7 create "$uri"
	has "$err" "Read-only"
	x 7 ls "nbd+unix:///?socket=$dir/none"
	has "$err" "cannot connect"
}

# With libnbd or without: one clear line.
x_any() {
	local got=0
	"$EXTKIT" "$@" >"$BATS_TEST_TMPDIR/.out" 2>"$BATS_TEST_TMPDIR/.err" || got=$?
	err=$(<"$BATS_TEST_TMPDIR/.err")
	one_error_line "$1"
	case $got in
	6) has "$err" "nbd: not available: libnbd.so.0" ;;
	7) has "$err" "nbd: cannot connect to" ;;
	*) return 1 ;;
	esac
}

@test "what a server does not take is not passed over in silence" {
	memory_server 16M --filter=error error=EIO error-pwrite-rate=100%
	x 7 replay --region slot=8M gen:region:size=1M,passes=2 "region:$uri"
	has "$err" "cannot store all that was written"
}
