#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit trace generate, and gen: wherever a trace is read.

load ../lib/common

@test "without a name the generators are listed with their keys" {
	x 0 trace generate
	for name in appenders dd folio fstime region; do has "$out" "$name"; done
	has "$out" "write|read|copy"
	need_json
	x 0 trace generate --json
	equal "$(json '[r["usual"] for r in d["generators"] if r["generator"] == "dd" and r["key"] == "bs"]')" "['8K']"
}

@test "every generator has an example in --help" {
	x 0 trace generate
	names=$(awk 'NR > 1 { print $1 }' <<<"$out" | sort -u)
	x 0 trace generate --help
	for name in $names; do [[ $out =~ (generate\ |gen:)$name ]]; done
}

@test "the same words give the same trace, as text and in binary" {
	x 0 trace generate region passes=1 size=1M -o a.wtr
	x 0 trace generate region passes=1 size=1M -o b.wtr
	cmp a.wtr b.wtr
	x 0 trace generate region passes=1 size=1M -o a.wtb
	x 0 trace export a.wtb -o c.wtr
	cmp a.wtr c.wtr
	x 0 trace generate region passes=1 size=1M seed=2 -o d.wtr
	run ! cmp -s a.wtr d.wtr
}

@test "a generator can be counted without a file" {
	need_json
	x 0 trace stat --json gen:fstime:mode=write,buffer=256,blocks=500
	equal "$(json '[(r["count"], r["bytes"]) for r in d["report"] if r["group"] == "op" and r["name"] == "write"]')" "[(40000, 10240000)]"
}

@test "a generator and its trace leave the same image" {
	export SOURCE_DATE_EPOCH=1700000000
	x 0 create -s 64M --seed x a.img
	cp a.img b.img
	x 0 replay gen:dd:count=256,end=sync a.img
	x 0 trace generate dd count=256 end=sync -o dd.wtb
	x 0 replay dd.wtb b.img
	cmp a.img b.img
	clean a.img
	need_json
	x 0 ls --json a.img:/dd0
	has "$out" 2097152
}

@test "all generators replay onto an image and leave it clean" {
	make_image a.img 64M
	x 0 replay gen:fstime:mode=copy,passes=2,procs=2,end=sync a.img
	x 0 replay gen:folio:mode=read,from=disk,size=4M,bs=64K a.img
	x 0 replay gen:folio:mode=read,from=hole,size=4M,bs=64K a.img
	x 0 replay gen:folio:overwrite=yes,sync=yes,size=256K a.img
	x 0 replay gen:appenders:procs=4,size=1M,end=close a.img
	x 0 replay gen:region:procs=2,size=1M,passes=2,end=sync a.img
	clean a.img
}

@test "a wrong name, key or value is one line that says which" {
	x 2 trace generate nothing
	has "$err" "'nothing'"
	x 2 trace generate dd speed=3
	one_error_line "trace generate"
	has "$err" "'speed'"
	x 2 trace generate dd bs=0 -o x.wtr
	has "$err" "bs=0"
	[ ! -e x.wtr ]
	make_image x.img 16M
	x 2 replay gen:fstime:mode=move x.img
	has "$err" "mode=move"
	x 2 trace generate --json dd
	has "$err" "use --to=FILE"
}
