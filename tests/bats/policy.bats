#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit policy, and replays that follow one

load ../lib/common

@test "policies and their switches are listed" {
	x 0 policy list
	has "$out" linux-6.18
	has "$out" native
	x 0 policy show linux-5.14
	has "$out" g0
	x 0 policy show --all
	has "$out" g0
	has "$out" g5
}

@test "a policy that does not exist or cannot be is a usage error that says why" {
	x 2 policy show linux-1.0
	has "$err" "no preset 'linux-1.0', there are: linux-6.18"
	x 2 policy show --set data=journal --set folio=s2
	has "$err" "folio=s2 is impossible with data=journal"
}

# under ARG...: the recording on a fresh image a.img under a policy, which must be clean afterwards.
under() {
	rm -f a.img
	make_image a.img 256M
	x 0 replay "$@" "$trace" a.img
	clean a.img
}

# tree: names, sizes, modes and contents of a.img, without what a policy may change.
tree() {
	rm -rf got
	x 0 get -R a.img:/ got
	(cd got && find . ! -name lost+found -printf '%p %y %m %s %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

@test "under every policy files have the same contents" {
	trace=$SRC/contrib/demo/sqlite.wtb
	under
	local want policy
	want=$(tree)
	for policy in $("$EXTKIT" policy list | awk 'NR > 1 {print $1}'); do
		under --policy "$policy"
		equal "$(tree)" "$want"
	done
	for policy in folio=s0 folio=s2 folio=s3 write=g0 write=g1 write=g3 budget=r0 budget=r1 pass=p0 wrap=w0 completion=written; do
		under --set "$policy"
		equal "$(tree)" "$want"
	done
}

@test "a power cut under any strategy of folios leaves a filesystem that recovers" {
	trace=$SRC/contrib/demo/sqlite.wtb
	local policy at
	for policy in folio=s0 folio=s2 folio=s3 write=g0; do
		for at in 100 700 1400; do
			rm -f a.img
			make_image a.img 64M
			x 0 replay --set $policy --crash --stop-after $at "$trace" a.img
			x 0 rm -f a.img:/no-such-name # replays the journal
			clean a.img
		done
	done
}

# counts POLICY: rows of a replay of the demo trace under a write generation, as python's d.
counts() {
	rm -f a.img
	make_image a.img 64M
	x 0 replay --json --set "write=$1" "$trace" a.img
	printf '%s' "$out" >"$1.json"
}

@test "generations differ in handles and marks by what their writes were" {
	need_json
	local g
	cat >"$BATS_TEST_TMPDIR/judge" <<'END'
import json, sys
def rows(g):
    return {(r["group"], r["name"]): r["value"] for r in json.load(open(g + ".json"))["report"]}
r = {g: rows(g) for g in ("g0", "g1", "g3", "g4", "g5")}
handles = {g: r[g]["counter", "event.jbd2_handle_start"] for g in r}
marks = {g: r[g]["counter", "event.ext4_mark_inode_dirty"] for g in r}
ends = r["g0"]["counter", "event.ext4_da_write_end"]
site = lambda g, s: r[g].get(("mark", s), 0)
# a handle over each copy, against one for each growth, and for those that writeback does not store
assert handles["g0"] - handles["g3"] == ends - site("g3", "generic_end"), handles
assert handles["g0"] - handles["g4"] == ends - site("g4", "write_end"), handles
assert handles["g0"] - handles["g5"] == ends - site("g5", "write_end"), handles
assert handles["g3"] > handles["g4"]
assert handles["g0"] > handles["g3"] or "fstime" not in sys.argv[1]
# what the first patch took away: marks of writes whose last block has its place
assert marks["g0"] - marks["g1"] == site("g0", "write_end"), marks
assert site("g0", "write_end") > 0 or "appends" not in sys.argv[1]
END
	awk 'BEGIN {
		print "#wtrace 1\n#unit ns\n#clock virtual start=0\n%ops\n0 1 open h1 /log rw flags=creat mode=0644"
		for (i = 0; i < 200; i++) {
			printf "%d 1 write h1 %d 100\n", i * 1000 + 1, i * 100
			if (i % 20 == 7) printf "%d 1 fdatasync h1\n", i * 1000 + 2
		}
	}' >appends.wtr
	for trace in appends.wtr "$SRC/contrib/demo/sqlite.wtb" gen:fstime:mode=copy,buffer=300,blocks=50,passes=5; do
		for g in g0 g1 g3 g4 g5; do counts $g; done
		python3 "$BATS_TEST_TMPDIR/judge" "$trace"
	done
}

@test "pages and folios give files the same places when they are written back at the same times" {
	local f
	for f in s0 s1; do
		rm -f $f.img
		make_image $f.img 64M
		x 0 replay --set folio=$f "$SRC/contrib/demo/sqlite.wtb" $f.img
		x 0 map $f.img:/db.sqlite
		printf '%s\n' "$out" >$f.map
	done
	[ "$(wc -l <s0.map)" -gt 1 ]
	cmp s0.map s1.map
}

@test "several threads do what one does" {
	make_image a.img 256M
	x 0 replay --threads 4 gen:appenders:procs=4,size=1M,end=sync a.img
	[[ $out =~ ek.write_bytes\ +4194304 ]]
	clean a.img
	x 0 ls -l a.img
	equal "$(grep -c 1048576 <<<"$out")" 4
	x 2 replay --threads 99 gen:appenders a.img
	has "$err" "threads: 99, at most 32"
	x 2 replay --threads none gen:appenders a.img
	has "$err" "--threads: 'none'"
	x 2 replay --threads 2 --pace 1:1 gen:appenders a.img
	has "$err" "a pace is of the virtual clock"
}

@test "a failure of a thread is told once, with its place" {
	make_image a.img 8M
	x 4 replay --threads 2 gen:dd:bs=64K,count=500,procs=2 a.img
	has "$err" "no space"
	equal "$(grep -o 'gen:dd: op' <<<"$err" | wc -l)" 1
	e2fsck -fn a.img
}

@test "a writer that goes on beside writeback shows which budget is kept" {
	local rule
	make_image a.img 64M
	for rule in r0 r1 r2; do
		x 0 replay --dry-run --all --set budget=$rule --set folio=s0 --dirty-background 2M --dirty 32M \
			--pace 1000000:20000 gen:dd:bs=4K,count=8192,ns=50000,end=sync a.img
		[[ $out =~ ek.budget_overruns\ +([0-9]+) ]]
		[ "${BASH_REMATCH[1]}" -eq "$([ $rule = r0 ] && echo 1 || echo 0)" ]
	done
	x 2 replay --pace 5 gen:dd a.img
	has "$err" "--pace: '5'"
}

# Random writes leave dirty pages before the place where the last call ended.
@test "a cyclic pass without budget wraps under the older rule only" {
	local wrap
	make_image a.img 64M
	for wrap in w0 w1; do
		x 0 replay --dry-run --set budget=r1 --set wrap=$wrap --set folio=s0 --dirty-background 2M \
			--dirty 8M --pace 200000:2000 gen:region:size=16M,procs=2,passes=2,end=sync a.img
		[[ $out =~ sum.wp_extent_blocks\ +([0-9]+) ]]
		local "blocks_$wrap=${BASH_REMATCH[1]}"
		[[ $out =~ event.ext4_writepages\ +([0-9]+) ]]
		local "calls_$wrap=${BASH_REMATCH[1]}"
	done
	# more of them in each call
	[ $((blocks_w0 * calls_w1)) -gt $((blocks_w1 * calls_w0)) ]
}

@test "what only an image has is refused for a folder" {
	mkdir d
	for option in --dry-run "--policy native" "--set folio=s0" "--threads 2" "--pace 1:1" "--stop-after op" \
		--nodelalloc --dioread-lock --crash; do
		# shellcheck disable=SC2086 # an option and its value
		x 2 replay $option gen:dd:count=1 dir:d
		has "$err" "needs an image: dir:d is none"
	done
	equal "$(ls d)" ""
}

@test "a fault shows what generations of inline writes do about it" {
	"$EXTKIT" create -q --size 16M -O inline_data one.img
	printf '#wtrace 1\n#unit ns\n#clock virtual start=0\n%%ops\n' >inline.wtr
	printf '0 1 open h1 /a rw flags=creat mode=0644\n1000 1 write h1 0 40\n2000 1 write h1 0 50\n3000 1 close h1\n' >>inline.wtr
	cp one.img i0.img
	run -0 "$EXTKIT" replay --set inline=i0 --fault locate:1 --json inline.wtr i0.img
	[[ $output == *'"page_locks":2000'* || $output == *'page_locks'*2000* ]]
	cp one.img i3.img
	run -7 "$EXTKIT" replay --set inline=i3 --fault locate:1 inline.wtr i3.img
	[[ $output == *"injected: the block of inode"* ]]
	cp one.img short.img
	run -0 "$EXTKIT" replay --set inline=i3 --fault copy:1 inline.wtr short.img
	[ "$("$EXTKIT" stat short.img:/a | awk '/[Ss]ize/ { print $2; exit }')" = 25 ]
	run -2 "$EXTKIT" replay --fault copy:none inline.wtr one.img
	run -2 "$EXTKIT" replay --fault locate:1 inline.wtr dir:.
	[[ $output == *"a fault needs an image"* ]]
}
