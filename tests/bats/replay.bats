#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit replay

load ../lib/common

demo=contrib/demo/sqlite.wtb

@test "the demo trace is replayed, counted, and leaves a clean image with its database" {
	make_image a.img 64M
	x 0 replay "$SRC/$demo" a.img
	[[ $out =~ ops\ +2013 ]]
	has "$out" "event.ext4_mark_inode_dirty"
	clean a.img
	x 0 ls a.img
	has "$out" db.sqlite
	"$EXTKIT" cat a.img:/db.sqlite | head -c 15 >magic
	equal "$(cat magic)" "SQLite format 3"
}

@test "two replays give the same bytes" {
	export SOURCE_DATE_EPOCH=1700000000
	x 0 create -s 64M --seed x a.img
	cp a.img b.img
	x 0 replay "$SRC/$demo" a.img
	x 0 replay "$SRC/$demo" b.img
	cmp a.img b.img
}

@test "counters of a recording stand beside ours with the difference" {
	make_image a.img 64M
	need_json
	printf 'counter\tvalue\nevent.ext4_unlink_enter\t70\nevent.unknown\t5\n' >counters.tsv
	x 0 replay --json --compare counters.tsv "$SRC/$demo" a.img
	equal "$(json '[(r["counter"], r["recorded"], r["ours"], r["difference"]) for r in d["compare"]]')" \
		"[('event.ext4_unlink_enter', 70, 78, 8), ('event.unknown', 5, None, None)]"
	printf 'no tab here\n' >bad.tsv
	x 2 replay --compare bad.tsv "$SRC/$demo" a.img
	has "$err" "bad.tsv:1"
}

@test "a replay ends where it is told to" {
	make_image a.img 64M
	x 0 replay --stop-after 100 "$SRC/$demo" a.img
	[[ $out =~ ops\ +100 ]]
	clean a.img
}

@test "what leaves a stage is shown, and the image stays as it was" {
	make_image a.img 64M
	cp a.img before.img
	for stage in op folio delayed writeback allocation bio completion; do
		x 0 replay --stop-after $stage "$SRC/$demo" a.img
		[ "$(wc -l <<<"$out")" -gt 10 ]
	done
	cmp a.img before.img
	need_json
	x 0 replay --json --stop-after allocation "$SRC/$demo" a.img
	equal "$(json 'sum(i["len"] for i in d["items"] if i["inode"] != 0) > 0')" True
	x 2 replay --stop-after nowhere "$SRC/$demo" a.img
	has "$err" "'nowhere'"
	mkdir folder
	x 2 replay --stop-after bio "$SRC/$demo" "dir:$PWD/folder"
}

@test "after a crash the journal brings the image to a sound state" {
	make_image a.img 64M
	x 0 replay --crash --stop-after 900 "$SRC/$demo" a.img
	x 0 ls a.img
	x 0 mkdir a.img:/after
	clean a.img
}

@test "a bad trace is exit 2 with file, line and column" {
	make_image a.img 64M
	"$EXTKIT" trace export "$SRC/$demo" -o good.wtr
	sed 's/ fdatasync / frobnicate /' good.wtr >bad.wtr
	x 2 replay bad.wtr a.img
	one_error_line replay
	[[ $err =~ bad\.wtr:[0-9]+:[0-9]+: ]]
	clean a.img
}

# hostile LINES: a trace of these lines in h.wtr
hostile() {
	printf '#wtrace 1\n%%ops\n%s\n' "$1" >h.wtr
}

@test "what a trace cannot mean is told by its place, and passed over when asked to" {
	make_image a.img 64M
	local made=$'1 1 open h1 /a rw flags=creat\n'
	while IFS='|' read -r line where; do
		hostile "$made$line"
		x 2 replay h.wtr a.img
		one_error_line replay
		has "$err" "h.wtr:4:$where"
		clean a.img
		x 0 replay --lenient h.wtr a.img
		has "$out" "h.wtr:4:$where"
		clean a.img
	done <<-'END'
		2 1 write h1 0|15: an argument is missing
		2 1 write h1 -5 1|14: not a number
		2 1 write h1 9223372036854775808 1|14: number too large
		2 1 frobnicate h1|5: unknown op
		2 1 write h99 0 1|5: write: handle h99 is not open
		2 1 open h1 /b rw flags=creat|5: open: handle h1 is opened twice
		2 1 open h2 /../b rw flags=creat|13: a path must not climb with ..
		2 1 falloc h1 collapse 1 4096|5: falloc: Invalid argument
		2 1 rename / /x|5: rename: Invalid argument
		garbled|1: expected a time
	END
}

@test "a read behind the end of every file reads nothing, whatever a trace is replayed on" {
	make_image a.img 16M
	mkdir folder store
	hostile $'1 1 open h1 /a rw flags=creat\n2 1 read h1 9223372036854775800 100
3 1 read h1 9223372036854775807 9223372036854775807'
	for onto in a.img dir:folder region:store; do
		x 0 replay h.wtr "$onto"
		[[ $out != *failed* ]]
	done
}

@test "what fails in a replay only is counted and listed" {
	make_image a.img 64M
	hostile $'1 1 mkdir /d 0755\n2 1 mkdir /d 0755\n3 1 unlink /gone'
	x 0 replay h.wtr a.img
	has "$out" "h.wtr:4:5: mkdir: File exists"
	has "$out" "h.wtr:5:5: unlink: No such file or directory"
	clean a.img
}

@test "an image that is no image is exit 3, a missing one 7, a full one 4" {
	head -c 100000 /dev/zero >zeros
	x 3 replay "$SRC/$demo" zeros
	x 7 replay "$SRC/$demo" missing.img
	make_image small.img 1M --no-journal -b 1K
	cat >big.log <<-'END'
		100 1796031590.000000 openat(AT_FDCWD, "/t/a", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3 <0.000010>
		100 1796031590.001000 fallocate(3, 0, 0, 4194304) = 0 <0.000010>
		100 1796031590.030000 close(3) = 0 <0.000010>
		100 1796031590.031000 +++ exited with 0 +++
	END
	x 0 trace import --root /t big.log -o big.wtr
	x 4 replay big.wtr small.img
	one_error_line replay
	clean small.img
}

@test "what can be no image is refused by its name" {
	local target verb
	head -c 100000 /dev/zero >zeros
	: >empty
	mkdir folder
	for target in zeros empty folder /dev/null "$SRC/$demo"; do
		x 3 replay "$SRC/$demo" "$target"
		one_error_line replay
		has "$err" "$target"
		for verb in ls info df find; do
			x 3 $verb "$target"
			one_error_line $verb
			has "$err" "$target"
		done
	done
	x 2 create --force -s 16M folder
	x 2 create --force -s 16M /dev/null
	x 7 replay "$SRC/$demo" dir:
	has "$err" "cannot open folder ''"
	x 7 replay "$SRC/$demo" dir:zeros
}

@test "a block device that cannot be written is refused when it is opened" {
	make_image a.img 64M
	need_root "set up a loop device"
	loop=$(losetup -r -f --show a.img) || skip "loop devices are not allowed here"
	LOOPS+=("$loop")
	x 7 replay "$SRC/$demo" "$loop"
	one_error_line replay
	has "$err" "cannot open $loop for writing: Read-only file system"
	x 7 create --force "$loop"
	has "$err" "cannot open $loop for writing"
	x 0 ls "$loop"
}

@test "an interrupt ends a replay soon and leaves a clean image" {
	env --default-signal=INT true 2>/dev/null || skip "env cannot set signals"
	make_image a.img 64M
	hostile $'1 1 mkdir /a 0755\n600000000000 1 mkdir /b 0755'
	SECONDS=0
	run -130 --separate-stderr env --default-signal=INT timeout --foreground --preserve-status -s INT 0.5 \
		"$EXTKIT" replay --clock real h.wtr a.img
	[ "$SECONDS" -lt 10 ]
	equal "$stderr" "extkit replay: replay: stopped on request"
	clean a.img
}

@test "a dry run counts like another and changes nothing" {
	make_image a.img 64M
	cp a.img before
	x 0 replay --dry-run "$SRC/$demo" a.img
	grep -v wall_ns "$BATS_TEST_TMPDIR/.out" >dry
	cmp a.img before
	x 0 replay "$SRC/$demo" a.img
	grep -v wall_ns "$BATS_TEST_TMPDIR/.out" >wet
	diff dry wet
	x 2 replay --dry-run "$SRC/$demo" dir:.
}

@test "an image with a feature that is not there yet is told by it" {
	need mke2fs
	truncate -s 16M a.img
	mke2fs -q -t ext4 -O quota -b 1024 a.img
	cp a.img before
	x 6 replay "$SRC/$demo" a.img
	one_error_line replay
	has "$err" "quota"
	cmp a.img before
}

@test "what the files before the trace lack is told too" {
	need_json
	hostile '1 1 sync'
	printf 'path\ttype\tmode\tuid\tgid\tnlink\tsize\tblocks512\tino\tsha256_or_target\textents\n' >head.tsv
	{ cat head.tsv && printf '/t/big\tf\t0644\t0\t0\t1\t8388608\t16384\t12\t-\t0\n'; } >big.tsv
	{ cat head.tsv && for n in $(seq 13 99); do printf '/t/%s\tf\t0644\t0\t0\t1\t0\t0\t%s\t-\t0\n' "$n" "$n"; done; } >many.tsv
	make_image a.img 4M --no-journal -b 1K -N 64
	x 4 replay --json --root /t --initial big.tsv h.wtr a.img
	[ "$(json 'd["error"]["need_blocks"]')" -gt 4000 ]
	has "$(json 'd["error"]["message"]')" "initial file /big: no space"
	clean a.img
	x 4 replay --json --root /t --initial many.tsv h.wtr a.img
	equal "$(json 'd["error"]["need_inodes"]')" 1
	clean a.img
	x 2 replay --root /t h.wtr a.img
	x 2 replay --extents big.tsv h.wtr a.img
}

@test "a mounted image is refused" {
	make_image a.img 64M
	mount_image a.img mnt
	x 9 replay "$SRC/$demo" a.img
}

@test "initial files of one inode number are links of one file" {
	make_image a.img 16M
	need_json
	cat >t.wtr <<-'END'
		#wtrace 1
		%init manifest
		d 0755 0:0 /d ino=40
		f 0604 0:0 9000 /d/a ino=41 mtime=3.5
		f 0604 0:0 9000 /b ino=41 mtime=3.5
		l 0777 0:0 /s target=b ino=42
		l 0777 0:0 /d/s target=b ino=42
		f 0600 0:0 10 /c ino=43
		f 0600 0:0 10 /e
		f 0600 0:0 10 /f
		%ops
		1 1 rename /e /i
		2 1 link /b /g
	END
	x 0 replay t.wtr a.img
	clean a.img
	for name in /b /d/a /g; do
		x 0 stat --json a.img:$name
		equal "$(json 'd["inode"], d["links"], d["size"]')" "(41, 3, 9000)"
	done
	for name in /s /d/s; do
		x 0 stat --json a.img:$name
		equal "$(json 'd["inode"], d["links"]')" "(42, 2)"
	done
	for name in /c /f; do
		x 0 stat --json a.img:$name
		equal "$(json 'd["links"], d["size"]')" "(1, 10)"
	done
}

@test "device nodes, pipes and sockets are made but not opened" {
	make_image a.img 16M
	mkdir folder
	cat >t.wtr <<-'END'
		#wtrace 1
		%ops
		1 1 mknod /null 20666 1:3
		2 1 mknod /pipe 10666 0:0
		3 1 mknod /sock 140666 0:0
		4 1 symlink pipe /link
		5 1 open h1 /null rw flags=trunc
		6 1 open h2 /pipe w
		7 1 open h3 /sock r
		8 1 open h4 /link w
		9 1 open h5 /link r flags=nofollow
		10 1 open h6 /pipe r flags=creat,excl
	END
	x 0 replay t.wtr a.img
	[[ $out =~ failed.*open\ +6 ]]
	clean a.img
	cp t.wtr wrong.wtr
	printf '11 1 write h1 0 4\n' >>wrong.wtr
	make_image b.img 16M
	x 2 replay wrong.wtr b.img
	has "$err" "h1 could not be opened: No such device or address"
	make_image c.img 16M
	x 0 replay --lenient wrong.wtr c.img
	[[ $out =~ "ops on unknown handles"\ +1 ]]
	clean c.img
	need_root "make device nodes"
	x 0 replay t.wtr "dir:$PWD/folder"
	[[ $out =~ failed.*open\ +6 ]]
}

@test "a file opened to be made through links that lead to none is made where they lead" {
	make_image a.img 16M
	mkdir folder
	cat >t.wtr <<-'END'
		#wtrace 1
		%ops
		1 1 mkdir /d 755
		2 1 symlink d/far /first
		3 1 symlink ../there /d/far
		4 1 open h1 /first w flags=creat
		5 1 write h1 0 10
		6 1 close h1
		7 1 symlink none /one
		8 1 open h2 /one w flags=creat,excl
		9 1 open h3 /one w flags=creat,nofollow
		10 1 symlink gone/x /two
		11 1 open h4 /two w flags=creat
		12 1 symlink self /self
		13 1 open h5 /self w flags=creat
	END
	x 0 replay t.wtr a.img
	[[ $out =~ failed.*open\ +4 ]]
	clean a.img
	x 0 replay t.wtr dir:folder
	[[ $out =~ failed.*open\ +4 ]]
	x 0 get -R a.img:/ ours
	rm -rf ours/lost+found
	diff -r --no-dereference folder ours
	equal "$(stat -c %s ours/there)" 10
	[ ! -e ours/none ]
}

@test "what is deleted when nobody knows the time has a time of deletion" {
	cat >t.wtr <<-'END'
		#wtrace 1
		%ops
		1 1 open h1 /a w flags=creat
		2 1 open h2 /b w flags=creat
		3 1 write h1 0 9000
		4 1 close h1
		5 1 close h2
		6 1 unlink /a
		7000000000 1 unlink /b
	END
	for made in 1700000000 0 5; do
		export SOURCE_DATE_EPOCH=$made
		make_image $made.img 16M
		unset SOURCE_DATE_EPOCH
		x 0 replay t.wtr $made.img
		clean $made.img
	done
}

@test "a trace comes from a pipe, in either form and compressed" {
	make_image a.img 64M
	for form in wtb wtr wtr.zst; do
		x 0 trace export "$SRC/$demo" -o t.$form
		cp a.img b.img
		cat t.$form | "$EXTKIT" replay - b.img >piped
		has "$(tr -s ' ' <piped)" "ops 2013"
		clean b.img
		cp a.img b.img
		"$EXTKIT" replay <(cat t.$form) b.img >piped
		has "$(tr -s ' ' <piped)" "ops 2013"
	done
	printf 'no trace\n' | {
		code=0
		"$EXTKIT" replay - a.img 2>err || code=$?
		equal "$code" 2
		has "$(cat err)" "-: neither a trace nor a log that is known"
	}
	: | {
		code=0
		"$EXTKIT" replay - a.img 2>err || code=$?
		equal "$code" 2
	}
	clean a.img
}

@test "timestamps advance at the tick of the traced machine" {
	need_json
	printf '%s\n' '#wtrace 1' '#hz 250' '#clock realtime start=1700000000.001' '%ops' \
		'0 1 mkdir /early 0755' '3000000 1 mkdir /late 0755' >t.wtr
	for phase in 0 3500000; do
		make_image $phase.img 64M
		x 0 replay --tick-phase $phase t.wtr $phase.img
		for name in early late; do
			x 0 stat --json "$phase.img:/$name"
			json 'd["mtime"][17:29]' >>shown
		done
	done
	equal "$(paste -sd' ' shown)" "20.000000000 20.004000000 19.999500000 20.003500000"
}
