#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# import and sync, killed at one write or flush after another: kill -9 as strace injects it.

load ../lib/common

# The search for leaks at the end of an instrumented build cannot run under strace.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# trees: a folder t, before.img of it, and the same folder later as u.
trees() {
	need strace
	strace -o none -e inject=close:signal=KILL:when=1 true 2>/dev/null && skip "strace cannot inject signals here"
	mkdir t
	local i
	for i in 1 2 3 4 5 6; do head -c 60000 /dev/urandom >t/f$i; done
	x 0 create -f --size 24M "$@" --from t before.img
	cp -a t u
	mkdir u/d
	mv u/f1 u/d/moved
	head -c 40000 /dev/urandom >u/f3
	rm u/f5
	echo new >u/n
}

# killed_at N ARG...: runs extkit up to its Nth write or flush; 1 when it came to its end.
killed_at() {
	local n=$1 code=0
	shift
	{ strace -f -o log -e trace=pwrite64,pwritev,pwritev2,fsync,fdatasync,io_uring_enter \
		-e inject=pwrite64,pwritev,pwritev2,fsync,fdatasync,io_uring_enter:signal=KILL:when="$n" \
		"$EXTKIT" "$@" >/dev/null 2>err; } 2>/dev/null || code=$?
	[ $code -ne 0 ] || return 1
	[ $code -eq 137 ] || { cat err; echo "exit $code"; exit 1; }
}

# whole IMG: each file is as before or as after, and the one that moves is somewhere.
whole() {
	local f found=no
	for f in f2 f3 f4 f6 n d/moved f1; do
		"$EXTKIT" cat "$1:/$f" >got 2>/dev/null || continue
		cmp -s got "u/$f" || cmp -s got "t/$f" || { echo "$f is neither"; return 1; }
		case $f in d/moved | f1) found=yes ;; esac
	done
	[ $found = yes ]
}

# sound_with_journal ARG...: killed anywhere, the log makes a.img sound, and a second run ends what was begun.
sound_with_journal() {
	local n
	for ((n = 1; n < 400; n += 3)); do
		cp before.img a.img
		killed_at $n "$@" || break
		x 0 chmod 755 a.img:/ # opens it for writing: the log is replayed
		clean a.img
		whole a.img
		x 0 "$@"
		clean a.img
	done
	echo "$n points"
	[ "$n" -gt 10 ] && [ "$n" -lt 400 ]
}

# back_without_journal ARG...: killed anywhere, undo brings every byte back.
back_without_journal() {
	local n
	for ((n = 1; n < 400; n += 3)); do
		cp before.img a.img
		rm -f a.img.undo
		killed_at $n "$@" || break
		if [ -e a.img.undo ]; then
			x 0 undo a.img
		fi
		cmp before.img a.img
	done
	echo "$n points"
	[ "$n" -gt 10 ] && [ "$n" -lt 400 ]
	clean a.img
}

@test "sync killed anywhere leaves an image whose log makes it sound, each file before or after" {
	trees -J 4M
	sound_with_journal sync u a.img
	x 0 diff u a.img
}

@test "import killed anywhere leaves an image whose log makes it sound, each file before or after" {
	trees -J 4M
	sound_with_journal import u a.img
	x 0 cat a.img:/n
}

@test "without a journal the undo file of a sync that was killed brings every byte back" {
	trees --no-journal
	back_without_journal sync u a.img
}

@test "without a journal the undo file of an import that was killed brings every byte back" {
	trees --no-journal
	back_without_journal import u a.img
}

@test "a second writer is refused while an import goes on" {
	need tar
	trees
	cp before.img a.img
	tar -C u -cf u.tar .
	mkfifo slow
	"$EXTKIT" import - a.img <slow &
	exec 9>slow
	head -c 30000 u.tar >&9
	local n code=0
	# a writer that comes before the import has the image would be the first
	for n in {1..100}; do
		find "/proc/$!/fd" -lname '*/a.img' | grep -q . && break
		sleep 0.05
	done
	sleep 0.3
	"$EXTKIT" sync u a.img 2>err >/dev/null || code=$?
	equal "$code" 9
	x 9 import u a.img
	tail -c +30001 u.tar >&9
	exec 9>&-
	wait
	clean a.img
}
