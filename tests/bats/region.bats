#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit replay onto a region: files of a trace as byte ranges of a store

load ../lib/common

SERVER='' DIR=''

teardown() {
	[ -z "$SERVER" ] || kill "$SERVER" 2>/dev/null || :
	[ -z "$DIR" ] || rm -rf "$DIR"
}

# rows GROUP: "name value" of the report, in order.
rows() {
	json '"\n".join(r["name"] + " " + str(r["value"]) for r in d["report"] if r["group"] == "'"$1"'")'
}

@test "a trace leaves in a region's folder what system calls leave in a folder" {
	mkdir calls
	x 0 replay "$SRC/contrib/demo/sqlite.wtb" dir:calls
	x 0 replay "$SRC/contrib/demo/sqlite.wtb" region:store
	cmp calls/db.sqlite store/db.sqlite
	for walk in region batch generic inline iter bitmap; do
		rm -r store
		x 0 replay --set walk=$walk --set track=block --set stable=cow --region folio=16K,block=1K \
			"$SRC/contrib/demo/sqlite.wtb" region:store
		cmp calls/db.sqlite store/db.sqlite
	done
}

@test "each system of study 5 is one command line that counts the same twice" {
	local a1=walk=batch,track=range,stable=wait,stores=sync,skips=afs
	need_json
	for knobs in $a1 ${a1/batch/region} ${a1/batch/generic} ${a1/range/none} \
		walk=generic,track=none,stable=wait,stores=sync walk=inline,track=none,stable=wait,stores=sync \
		walk=batch,track=none,stable=wait,skips=cifs walk=region,track=none,stable=wait,skips=cifs \
		walk=generic,track=none,stable=wait walk=inline,track=none,stable=wait; do
		x 0 replay --json --region "$knobs" gen:region:size=1M,passes=2 region:store
		rows region >first
		x 0 replay --json --region "$knobs" gen:region:size=1M,passes=2 region:store
		rows region >second
		cmp first second
		grep -qx "bytes_written 8388608" first
	done
}

@test "the batch walk visits again what the region walk does not" {
	need_json
	x 0 replay --json --region walk=batch,track=none gen:region:size=1M,procs=1,passes=1 region:store
	equal "$(json '[r["value"] for r in d["report"] if r["name"] == "duplicate_visits"][0] > 0')" True
	x 0 replay --json --region walk=region,track=none gen:region:size=1M,procs=1,passes=1 region:store
	equal "$(json '[r["value"] for r in d["report"] if r["name"] == "duplicate_visits"]')" "[0]"
}

@test "a region may be an export" {
	need nbdkit
	DIR=$(mktemp -d /tmp/region.XXXXXX)
	truncate -s 32M disk
	nbdkit -f -U "$DIR/s" file "$BATS_TEST_TMPDIR/disk" 3>&- 4>&- &
	SERVER=$!
	for ((i = 0; i < 100; i++)); do [ -S "$DIR/s" ] || sleep 0.05; done
	"$EXTKIT" info "nbd+unix:///?socket=$DIR/s" 2>&1 | grep -q "not available" && skip "libnbd is not installed"
	x 0 replay --region slot=16M gen:region:size=2M,procs=2 region:"nbd+unix:///?socket=$DIR/s"
	has "$out" bytes_stored
	x 0 replay gen:region:size=2M,procs=2 region:store
	cmp -n $((2 << 20)) disk store/region0
	x 4 replay --region slot=1M gen:region:size=2M region:"nbd+unix:///?socket=$DIR/s"
	has "$err" "no space: each file gets 1048576 bytes"
}

@test "what is not there to be read is passed over, what cannot be opened is not" {
	{
		printf '%s\n' '#wtrace 1' '#unit ns' '%ops'
		printf '%s\n' '0 1 open h1 /absent r' '1 1 close h1' '2 1 open h1 /x r' '3 1 close h1'
	} >t.wtr
	x 0 replay t.wtr region:store
	ln -s "$PWD/t.wtr" store/x
	x 2 replay t.wtr region:store
	has "$err" "h1 could not be opened"
}

@test "of a write that no file can hold nothing is stored" {
	local huge
	huge=$(((1 << 62) + 1))
	printf '#wtrace 1\n%%ops\n1 1 open h1 /f rw flags=creat\n2 1 write h1 0 %s\n' $huge >write.wtr
	printf '#wtrace 1\n%%init manifest\nf 0644 0:0 %s /f\n%%ops\n' $huge >node.wtr
	printf '#wtrace 1\n%%ops\n1 1 open h1 /f rw flags=creat\n2 1 copy h0 0 h1 0 %s\n' $huge >copy.wtr
	for t in write node copy; do
		# what would be stored all the same ends here
		(trap '' XFSZ && ulimit -f 2048 && timeout 60 "$EXTKIT" replay $t.wtr region:$t >/dev/null 2>&1) || :
		[ -f $t/f ]
		[ ! -s $t/f ]
	done
}

@test "knobs and targets that do not go together are refused" {
	make_image a.img 16M
	x 2 replay --region walk=bitmap gen:region:size=1M a.img
	x 2 replay --region walk=zigzag gen:region:size=1M region:store
	has "$err" "only region batch generic inline iter bitmap"
	x 2 replay --set stable=cow gen:region:size=1M a.img
	has "$err" "stable says nothing about an image"
	x 2 replay --set folio=s0 gen:region:size=1M region:store
	has "$err" "folio says nothing about a region"
	x 2 replay --nodelalloc gen:region:size=1M region:store
	has "$err" "needs an image"
	x 2 replay --policy native gen:region:size=1M region:store
	has "$err" "a policy needs an image"
	x 2 replay --dry-run gen:region:size=1M region:store
	x 2 replay --stop-after bio gen:region:size=1M region:store
}
