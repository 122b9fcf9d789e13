#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit trace: import, export, stat, cut, normalize, repair.

load ../lib/common

# A log in which one process makes a file, writes 13 bytes and touches a file outside of the root.
make_log() {
	cat >log <<-'END'
		100 1796031590.000000 openat(AT_FDCWD, "/t/a", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3 <0.000010>
		100 1796031590.001000 write(3, "hello, world\n", 13) = 13 <0.000010>
		100 1796031590.002000 fdatasync(3) = 0 <0.009000>
		100 1796031590.020000 openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 4 <0.000010>
		100 1796031590.021000 close(4) = 0 <0.000010>
		100 1796031590.030000 close(3) = 0 <0.000010>
		100 1796031590.031000 +++ exited with 0 +++
	END
}

make_trace() {
	make_log
	x 0 trace import --root /t log -o app.wtr
}

@test "a log of strace becomes a trace" {
	make_trace
	has "$out" "import"
	grep -q ' open h[0-9]* /a ' app.wtr
	grep -q ' write h[0-9]* 0 13' app.wtr
	run ! grep -q passwd app.wtr
}

@test "without --to the trace is the output and the report is not in it" {
	make_log
	x 0 trace import --root /t log
	has "$out" "#wtrace 1"
	has "$err" "import"
	equal "$(head -c 9 <<<"$out")" "#wtrace 1"
}

@test "--json needs the output for itself" {
	make_log
	x 2 trace import --json --root /t log
	has "$err" "use --to=FILE"
}

@test "--json gives the report as rows" {
	need_json
	make_log
	x 0 trace import --json --root /t log -o app.wtr
	equal "$(json 'sorted(d["report"][0])')" "['bytes', 'count', 'group', 'name', 'ns']"
}

@test "--scrub keeps no written byte" {
	make_log
	x 0 trace import --scrub --root /t log -o app.wtr
	run ! grep -q -e 68656c6c6f -e 'data=' app.wtr
}

@test "text and binary say the same" {
	make_trace
	x 0 trace export app.wtr -o app.wtb
	x 0 trace export app.wtb -o again.wtr
	cmp app.wtr again.wtr
}

@test "stat counts operations and bytes" {
	make_trace
	x 0 trace stat app.wtr
	has "$out" "write"
	need_json
	x 0 trace stat --json app.wtr
	equal "$(json '[(r["count"], r["bytes"]) for r in d["report"] if r["group"] == "op" and r["name"] == "write"]')" "[(1, 13)]"
}

@test "cut opens what was open before" {
	make_trace
	x 0 trace cut --from 1ms app.wtr -o part.wtr
	grep -q ' open h[0-9]* /a ' part.wtr
	grep -q ' fdatasync ' part.wtr
}

@test "normalize without times makes two recordings the same" {
	make_trace
	sed 's/17960315[0-9]*/1796039999/' log >log2
	x 0 trace import --root /t log2 -o app2.wtr
	x 0 trace normalize --no-times app.wtr -o a
	x 0 trace normalize --no-times app2.wtr -o b
	cmp <(grep -v '^[#%]' a) <(grep -v '^[#%]' b)
}

@test "a torn binary trace is refused, and repaired" {
	make_trace
	x 0 trace export app.wtr -o app.wtb
	head -c "$(($(stat -c %s app.wtb) - 20))" app.wtb >torn.wtb
	x 0 trace repair torn.wtb -o whole.wtb
	x 0 trace stat whole.wtb
}

@test "an unknown operation is named with its line, and passes with --lenient" {
	make_trace
	sed 's/ fdatasync / frobnicate /; /^%end/d' app.wtr >odd.wtr
	x 2 trace stat odd.wtr
	one_error_line "trace stat"
	has "$err" "odd.wtr:"
	x 0 trace stat --lenient odd.wtr
	has "$out" "unknown op frobnicate"
	sed '/^%end/d; s/^[0-9]* [0-9]* fdatasync /x&/' app.wtr >odd.wtr
	x 2 trace stat odd.wtr
	x 0 trace stat --lenient odd.wtr
	has "$out" "expected a time"
	x 0 trace export --lenient odd.wtr -o mended.wtr
	grep -q ' gap lost=1$' mended.wtr
	x 0 trace stat mended.wtr
}

@test "lines of a log that make no sense are counted and listed" {
	printf 'fio version 3 iolog\n1 /t/a open\n2 /t/a write -5 1\n3 /t/a write 0\n' >a.log
	x 0 trace import --root /t a.log -o a.wtr
	has "$out" "a.log:3: cut or garbled"
	has "$out" "a.log:4: cut or garbled"
	printf '1 1.0 openat(AT_FDCWD, "/t/a", O_RDWR|O_CREAT, 0644) = 3\n1 1.1 write(3, "ab\n' >a.log
	x 0 trace import --root /t a.log -o a.wtr
	has "$out" "a.log:2: cut or garbled"
}

@test "a missing log is an error of the host" {
	x 7 trace import nowhere -o app.wtr
	one_error_line "trace import"
	has "$err" "nowhere"
	[ ! -e app.wtr ]
}

@test "a level that zstd has not is refused" {
	make_log
	x 2 trace import --level 99 log
}

@test "the group lists its verbs" {
	x 0 trace --help
	has "$out" "trace import"
	x 2 trace
	x 2 trace imprt
	has "$err" "there is no verb 'trace imprt'"
}

@test "the trace of the demo is whole and holds what its description says" {
	x 0 trace stat "$SRC/contrib/demo/sqlite.wtb"
	[[ $out =~ ops\ +2013 ]]
	[[ $out =~ whole\ +1 ]]
}

@test "kernel events in three spellings become traces that can be replayed" {
	local log dir=$SRC/tests/data/traces/samples
	for log in ftrace-ext4-trace-file trace-cmd-report perf-script; do
		x 0 trace import "$dir/$log.txt" -o a.wtr
		make_image a.img 64M --force
		x 0 replay a.wtr a.img
		[[ $out != *skipped* ]]
		clean a.img
	done
}

@test "a log that comes through a pipe is read from its first line on" {
	make_log
	x 0 trace import --root /t log -o file.wtr
	for n in $(seq 3000); do cat log; done >long.log # more than anyone looks at
	x 0 trace import --root /t long.log -o file.wtr
	"$EXTKIT" trace import --root /t <(cat long.log) -o fifo.wtr
	cmp file.wtr fifo.wtr
	"$EXTKIT" trace import --root /t - -o pipe.wtr < <(cat long.log)
	cmp file.wtr pipe.wtr
}

@test "a device without an end is no trace" {
	[ -e /dev/zero ] || skip "there is no /dev/zero"
	x 2 trace stat /dev/zero
	has "$err" "neither a trace nor a log"
	x 2 trace stat --input=wtr /dev/zero
	has "$err" "/dev/zero:1:"
}

@test "a file that is no log is refused, whatever it is said to be" {
	local n
	for n in $(seq 500); do echo "line $n (of prose): it holds nothing = $n"; done >noise
	for form in wtr wtb fio strace events; do
		x 2 trace import --input=$form noise -o a.wtr
		one_error_line "trace import"
		has "$err" noise
		[ ! -e a.wtr ]
	done
	x 2 trace import noise -o a.wtr
}

@test "a disk that is full is an error of the host, and no half of a trace is left" {
	need_root mount
	mkdir small
	mount -t tmpfs -o size=64K none small 2>/dev/null || skip "tmpfs cannot be mounted here"
	MOUNTS+=("$PWD/small")
	x 7 trace export "$SRC/contrib/demo/sqlite.wtb" -o small/a.wtr
	one_error_line "trace export"
	has "$err" "small/a.wtr"
	equal "$(ls -A small)" ""
	[ -e /dev/full ] || return 0
	# shellcheck disable=SC2016
	run -7 --separate-stderr sh -c '"$1" trace export "$2" >/dev/full' sh "$EXTKIT" "$SRC/contrib/demo/sqlite.wtb"
}

@test "names that no path can have do not end an import" {
	local long
	long=$(printf '%070000d' 1)
	printf '1 1.0 %s = 0\n' "symlink(\"$long\", \"/t/a\")" "setxattr(\"/t\", \"user.$long\", \"\", 0, 0)" \
		'mkdir("/t/b", 0777)' >long.log
	x 0 trace import --root /t long.log -o a.wtr
	has "$(tr -s ' ' <<<"$out")" "calls no op can express 2"
	grep -q 'mkdir /b 0777' a.wtr
}
