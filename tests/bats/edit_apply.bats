#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit apply, undo and shell: scripts of edits, all of them or none.

load ../lib/common

kinds=("-b 1K" "-b 4K" "-b 1K -O ^has_journal")

# base_image OPTS: a.img with /etc/motd and /etc/issue, and what it holds as before.img.
base_image() {
	rm -f a.img
	# shellcheck disable=SC2086 # words
	make_image a.img 32M $1
	echo old >old
	echo new >new
	x 0 mkdir a.img:/etc
	x 0 put old a.img:/etc/motd
	x 0 put old a.img:/etc/issue
	cp a.img before.img
}

# apply CODE SCRIPT: runs the text as a script on a.img.
apply() {
	printf '%s\n' "$2" >script
	x "$1" apply a.img script
}

@test "a script does what its lines say" {
	local kind
	for kind in "${kinds[@]}"; do
		base_image "$kind"
		apply 0 "# a remark, then an empty line

		put new /etc/motd
		rm /etc/issue   # and another
		mkdir -p '/a b/c'
		ln -s \"x \\\"y\\\"\" '/a b/c/l'
		mknod -m 600 /a\\ b/null c 1 3
		chmod 4755 /etc/motd
		cp -r '/a b' /copy
		xattr set user.x=1 /etc/motd
		truncate -s 1M /hole"
		clean a.img
		[ ! -e a.img.undo ]
		x 0 cat a.img:/etc/motd
		equal "$out" new
		x 0 find a.img
		equal "$(tr '\n' ' ' <<<"$out")" "/ /a b /a b/c /a b/c/l /a b/null /copy /copy/c /copy/c/l /copy/null /etc /etc/motd /hole /lost+found "
		x 0 stat --json "a.img:/copy/c/l"
		has "$out" 'x \"y\"'
	done
}

@test "a script that fails leaves every byte as it was" {
	local kind
	for kind in "${kinds[@]}"; do
		base_image "$kind"
		head -c 3000000 /dev/urandom >big
		apply 5 "put big /big
		rm -r /etc
		mkdir /etc
		rm /nothing
		mkdir /never"
		has "$err" "extkit rm: script:4: cannot remove: /nothing"
		has "$out" "nothing was changed"
		cmp a.img before.img
		[ ! -e a.img.undo ]
	done
}

@test "a script too long for one transaction is taken back by its undo file" {
	base_image "-b 1K -J 1M"
	local n
	{
		for n in $(seq 1 300); do
			echo "mkdir -p /tree/$n/a/b"
			echo "put old /tree/$n/a/b/file"
		done
		echo "rm -r /etc"
		echo "rm /nothing"
	} >script
	x 5 apply a.img script
	cmp a.img before.img
	[ ! -e a.img.undo ]
	sed -i '$d' script
	x 0 apply a.img script
	clean a.img
	x 0 find -n file a.img
	equal "$(wc -l <<<"$out")" 300
}

@test "a script that runs out of space is taken back and exit 4" {
	base_image "-b 1K"
	head -c 20000000 /dev/urandom >big
	apply 4 "rm /etc/motd
	put big /one
	put big /two"
	cmp a.img before.img
}

@test "a script may use the room that it has freed" {
	local kind
	for kind in "${kinds[@]}"; do
		# shellcheck disable=SC2086 # words
		make_image a.img 16M $kind
		head -c 10M /dev/urandom >big
		x 0 put big a.img:/one
		cp a.img before.img
		apply 0 "rm /one
		put big /two"
		clean a.img
		[ ! -e a.img.undo ]
		x 0 get a.img:/two two
		cmp big two
		cp before.img a.img
		apply 5 "rm /one
		put /dev/null /none
		put big /two
		rm /missing"
		cmp a.img before.img
		[ ! -e a.img.undo ]
		rm -f a.img two
	done
}

@test "a dry run of a script changes nothing and tells what would fail" {
	base_image "-b 1K"
	printf 'rm -r /etc\nmkdir /etc\n' >script
	x 0 apply --dry-run a.img script
	cmp a.img before.img
	printf 'rm -r /etc\nrm /etc\n' >script
	x 5 apply --dry-run a.img script
	cmp a.img before.img
}

@test "mistakes in a script are found before anything is done" {
	base_image "-b 1K"
	local line
	for line in "rm '/etc" 'rm "/etc' "rm /etc\\" "remove /etc/motd" "create -s 1M b.img" "apply x" "shell"; do
		apply 2 "rm /etc/motd
$line"
		has "$err" "script:2: "
		cmp a.img before.img
	done
	apply 2 "rm --nonsense /etc/motd"
	cmp a.img before.img
	apply 2 "rm --dry-run /etc/motd"
	cmp a.img before.img
	printf 'rm /etc\0/motd\n' >script
	x 2 apply a.img script
	x 7 apply a.img nowhere
	x 2 apply a.img:/etc script
	cmp a.img before.img
}

@test "a line with a dash may fail" {
	base_image "-b 1K"
	apply 0 "-rm /nothing
	rm /etc/motd"
	x 0 ls a.img:/etc
	equal "$out" issue
}

@test "a script comes from standard input, which verbs then cannot read" {
	base_image "-b 1K"
	printf 'rm /etc/motd\nput - /etc/empty\n' | "$EXTKIT" apply a.img
	x 0 find -l a.img:/etc/empty
	has "$out" " 0  20"
	printf 'rm /etc/issue' | "$EXTKIT" apply a.img -
	x 0 ls a.img:/etc
	equal "$out" empty
	clean a.img
}

@test "a script reads the image that it changes, and others" {
	base_image "-b 1K"
	cp a.img b.img
	x 0 put new b.img:/other
	apply 0 "put new /etc/motd
	cp a.img:/etc/motd /same
	cp b.img:/other /other
	cat /etc/motd"
	equal "$out" new
	x 0 cat a.img:/same
	equal "$out" new
	x 0 cat a.img:/other
	clean a.img
}

@test "--json has a row for each line, and the error" {
	base_image "-b 1K"
	need_json
	printf 'mkdir /x\nls /\nrm /nothing\n' >script
	x 5 apply --json a.img script
	equal "$(json '[(l["line"], l["verb"], l["exit"]) for l in d["lines"]]')" "[(1, 'mkdir', 0), (2, 'ls', 0), (3, 'rm', 5)]"
	equal "$(json '"lost+found" in d["lines"][1]["output"]')" True
	equal "$(json 'd["error"]["exit"]')" 5
	has "$(json 'd["error"]["message"]')" "script:3: cannot remove"
	cmp a.img before.img
}

# now: milliseconds.
now() {
	echo $((${EPOCHREALTIME/./} / 1000))
}

# takes ARG...: sets $whole to the milliseconds that the command takes, on an image that is put back.
takes() {
	local begun
	begun=$(now)
	x 0 "$@"
	whole=$(($(now) - begun))
	cp before.img a.img
}

# killed PERCENT ARG...: starts the command and kills it after so much of the time that it takes.
killed() {
	local pid ms=$((whole * $1 / 100))
	shift
	"$EXTKIT" "$@" 2>/dev/null &
	pid=$!
	sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
	kill -9 "$pid" 2>/dev/null || :
	wait "$pid" 2>/dev/null || :
}

@test "killed at any moment, the image is as before or after, once the undo file was used" {
	local kind n done_=0 undone=0 code
	need e2fsck
	for kind in "-b 1K -J 1M" "-b 1K -O ^has_journal"; do
		base_image "$kind"
		head -c 6000000 /dev/urandom >big
		{
			for n in $(seq 1 150); do echo "mkdir -p /t/$n/a/b"; done
			echo "put big /big"
			echo "rm -r /etc"
		} >script
		takes apply a.img script
		for n in 10 20 30 40 50 60 70 80 90 400; do
			cp before.img a.img
			killed $n apply a.img script
			if [ -e a.img.undo ]; then
				x 3 mkdir a.img:/refused
				has "$err" "extkit undo a.img"
				x 0 undo a.img
				undone=$((undone + 1))
				# a file that was not whole yet says nothing: no commit came before it
				[[ $out == *" 0 B" ]] || { cmp a.img before.img && continue; }
			fi
			code=0
			e2fsck -fp a.img >.fsck 2>&1 || code=$?
			[ "$code" -le 1 ] || { cat .fsck; return 1; }
			clean a.img
			x 0 find a.img:/
			if grep -q /etc/motd <<<"$out"; then
				equal "$(wc -l <<<"$out")" 5
			else
				equal "$(wc -l <<<"$out")" 454
				done_=$((done_ + 1))
			fi
		done
	done
	echo "# $done_ whole, $undone taken back by a file" >&3
	[ "$done_" -gt 0 ] && [ "$undone" -gt 0 ]
}

@test "single edits of an image without a journal are taken back after a kill" {
	need e2fsck
	base_image "-b 1K -O ^has_journal"
	head -c 6000000 /dev/urandom >big
	local n round undone=0
	for round in 1 2 3 4 5; do # the machine may be faster now than when it was asked
		[ "$undone" -eq 0 ] || break
		takes put big a.img:/etc/motd
		for n in 15 30 40 50 60 70 80 90; do
			cp before.img a.img
			killed $n put big a.img:/etc/motd
			if [ -e a.img.undo ]; then
				x 3 rm a.img:/etc/issue
				x 0 cat a.img:/etc/issue
				x 0 undo a.img
				cmp a.img before.img
				undone=$((undone + 1))
			fi
			clean a.img
		done
	done
	echo "# $undone taken back" >&3
	[ "$undone" -gt 0 ]
}

@test "undo without a file, with a foreign one and with a torn one" {
	base_image "-b 1K -O ^has_journal"
	x 1 undo a.img
	x 7 undo nowhere.img
	echo nonsense >a.img.undo
	x 3 rm a.img:/etc/motd
	one_error_line rm
	: >a.img.undo
	x 0 undo a.img
	[ ! -e a.img.undo ]
	head -c 5000 /dev/urandom >a.img.undo
	x 2 undo a.img
	[ -e a.img.undo ]
	cmp a.img before.img
	x 0 undo --forget a.img
	[ ! -e a.img.undo ]
	x 0 rm a.img:/etc/motd
	mkfifo a.img.undo
	x 2 undo a.img
	rm a.img.undo
	ln -s before.img a.img.undo
	x 7 undo a.img
}

@test "an undo file of another image is not used" {
	need e2fsck
	base_image "-b 1K -O ^has_journal"
	head -c 20000000 /dev/urandom >big
	local n pid
	mkfifo slow
	"$EXTKIT" put - a.img:/etc/motd <slow 2>/dev/null &
	pid=$!
	exec 9>slow
	cat big >&9
	for n in {1..50}; do
		[ "$(stat -c %s a.img.undo)" -gt 8192 ] && break
		sleep 0.05
	done
	kill -9 "$pid"
	exec 9>&-
	wait "$pid" 2>/dev/null || :
	make_image b.img 32M -b 1K -O ^has_journal
	cp b.img b.before
	x 2 undo --undo-file a.img.undo b.img
	has "$err" "another filesystem"
	cmp b.img b.before
	x 2 undo --undo-file a.img.undo old
	x 0 undo a.img
	cmp a.img before.img
}

@test "a shell takes lines, keeps a folder, and stops where it fails when nobody watches" {
	base_image "-b 1K"
	printf 'cd etc\npwd\nls\nrm motd\ncd ..\nls etc\nexit\nrm -r /etc\n' | "$EXTKIT" shell a.img >got
	equal "$(tr '\n' ' ' <got)" "/etc issue motd issue "
	equal "$(printf 'pwd\nls\n' | "$EXTKIT" shell a.img:/etc | tr '\n' ' ')" "/etc issue "
	x 5 shell a.img:/etc/issue
	printf 'mkdir /one\nrm /nothing\nmkdir /two\n' >lines
	local code=0
	"$EXTKIT" shell a.img <lines 2>err || code=$?
	equal "$code" 5
	x 0 ls a.img
	equal "$(tr '\n' ' ' <<<"$out")" "etc lost+found one "
	code=0
	echo 'cd /etc/issue' | "$EXTKIT" shell a.img 2>err || code=$?
	equal "$code" 5
	code=0
	echo "rm 'x" | "$EXTKIT" shell a.img 2>err || code=$?
	equal "$code" 2
	x 7 shell nowhere.img
	clean a.img
}

@test "a shell at a terminal completes verbs and paths" {
	base_image "-b 1K"
	need script
	"$EXTKIT" --introspect >/dev/null
	ldd "$EXTKIT" | grep -q libedit || skip "built without libedit"
	printf 'mkd\t /made\ncat /et\tiss\t\nrm /nothing\nexit\n' >keys
	script -qec "'$EXTKIT' shell a.img" /dev/null <keys >got 2>&1 || :
	has "$(cat got)" old
	has "$(cat got)" "cannot remove"
	x 0 ls a.img
	has "$out" made
}

@test "a second writer is refused while an edit goes on" {
	base_image "-b 1K"
	local n code=0
	mkfifo slow
	"$EXTKIT" put - a.img:/slow <slow &
	exec 9>slow
	for n in {1..40}; do
		sleep 0.05
		code=0
		"$EXTKIT" rm a.img:/etc/motd 2>err || code=$?
		[ "$code" -ne 0 ] && break
		"$EXTKIT" put old a.img:/etc/motd 2>err || { code=$?; break; }
	done
	equal "$code" 9
	has "$(cat err)" "extkit"
	echo "mkdir /x" >script
	x 9 apply a.img script
	x 9 undo a.img || x 1 undo a.img
	exec 9>&-
	wait
	clean a.img
}

@test "a block device is edited, and a script that needs a file there must name one" {
	base_image "-b 1K -O ^has_journal"
	loop_device a.img
	x 0 rm "$loop:/etc/motd"
	printf 'rm /etc/issue\nrm /nothing\n' >script
	x 5 apply --undo-file here.undo "$loop" script
	[ ! -e here.undo ]
	x 0 ls "$loop:/etc"
	equal "$out" issue
	sed -i '$d' script
	x 0 apply --undo-file here.undo "$loop" script
	[ ! -e here.undo ]
	x 3 apply "$loop" script
	has "$err" "no undo file was named"
	losetup -d "$loop"
	LOOPS=()
	clean a.img
	x 0 ls a.img:/etc
	equal "$out" ""
}
