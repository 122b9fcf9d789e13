#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What every verb shares: help, options, exit codes, JSON, languages.

load ../lib/common

@test "no verb shows the list and exits 2" {
	x 2
	has "$err" "Usage: extkit VERB"
	equal "$out" ""
}

@test "--help shows the list and exits 0" {
	x 0 --help
	has "$out" "Verbs:"
	equal "$err" ""
}

@test "--version names the release" {
	x 0 --version
	has "$out" "extkit $(sed -n 's/.*EK_VERSION "\(.*\)"/\1/p' "$SRC/lib/extkit/version.h")"
}

@test "an unknown verb gets a suggestion" {
	x 2 hepl
	has "$err" "did you mean 'help'?"
}

@test "an unknown option exits 2 and points at the help" {
	x 2 help --nonsense
	has "$err" "extkit help: unknown option --nonsense"
	has "$err" "Try 'extkit help --help'."
}

@test "a choice lists its values when the value is wrong" {
	x 2 help --progress=loud
	has "$err" "'loud' is not auto|none|json"
}

@test "an option without its value says so" {
	x 2 help --progress
	has "$err" "--progress needs a value"
}

@test "one operand too many is named" {
	x 2 help a b c
	has "$err" "one argument too many: 'c'"
}

@test "global options may stand before and after the verb" {
	x 0 --quiet help
	x 0 help --quiet
}

@test "every verb has help, an example and a manual page" {
	local v
	for v in $("$EXTKIT" help --verbs); do
		x 0 "$v" --help
		has "$out" "Usage: extkit $v"
		x 0 help --man "$v"
		has "$out" ".TH EXTKIT-"
	done
	need_json
	x 0 --introspect
	equal "$(json '[v["name"] for v in d["verbs"] if not v["group"] and not v["examples"]]')" "[]"
}

@test "help written to a full disk is an error" {
	[ -e /dev/full ] || skip "there is no /dev/full"
	local code=0
	"$EXTKIT" --help >/dev/full 2>.err || code=$?
	equal "$code" 7
}

@test "an answer that cannot be written is an error, also when it is no" {
	[ -e /dev/full ] || skip "there is no /dev/full"
	make_image a.img 16M
	make_image b.img 16M
	echo 1 >f
	x 0 put f b.img:/f
	local verb code
	for verb in "diff a.img b.img" "inspect b.img super" "ls -l b.img" "find b.img"; do
		code=0
		# shellcheck disable=SC2086 # the words of a command
		"$EXTKIT" $verb >/dev/full 2>.err || code=$?
		equal "$verb $code" "$verb 7"
		has "$(cat .err)" "No space left on device"
	done
}

@test "a standard descriptor that is closed is never an image" {
	x 0 create -q --size 8M a.img
	yes ls | head -3000 >script
	cp a.img b.img
	for run in 'apply a.img script' 'shell a.img' 'ls a.img' 'rm a.img:/nothing' 'put nothing a.img:/' 'stat --json a.img:/no'; do
		for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
			eval "\"\$EXTKIT\" $run <script >out 2>err $closed" || :
			cmp -n 1024 a.img b.img
			x 0 ls a.img
			equal "$out" "lost+found"
		done
	done
	code=0
	"$EXTKIT" apply a.img script >&- 2>err || code=$?
	equal "$code" 7
	has "$(cat err)" "cannot write the output: Bad file descriptor"
	code=0
	"$EXTKIT" ls --help >/dev/full 2>err || code=$?
	equal "$(cat err)" "extkit: cannot write the output: No space left on device"
}

@test "German is spoken when it is asked for" {
	need msgfmt
	LANGUAGE=de x 0 --help
	has "$out" "Aufruf: extkit"
}

@test "verbs are listed by name" {
	x 0 help --verbs
	printf '%s\n' "$out" | LC_ALL=C sort -c
}

@test "help for a program is one JSON object" {
	need_json
	x 0 help --json
	json 'd' >all
	x 0 --introspect
	equal "$(json 'd')" "$(cat all)"
	x 0 help --json trace import
	has "$(json 'd')" "trace import"
	x 0 ls --help --json
	json 'd'
	x 2 help --json bogus
}

@test "a failure is one line, whatever is in the names" {
	make_image a.img 16M
	local bad=$'no\nfile\e[2J'
	for run in info ls "get a.img:/lost+found" "put" "create --from" "import" "diff a.img" "apply a.img" "trace info" replay; do
		code=0
		# shellcheck disable=SC2086 # the words of a command
		"$EXTKIT" $run "$bad" a.img >.out 2>.err </dev/null || code=$?
		grep -v '^Try ' .err >lines || :
		equal "$run $(wc -l <lines)" "$run 1"
		[ "$code" -ne 0 ]
		LC_ALL=C grep -q $'\e' .err && false
	done
	x 5 cat "a.img:/$bad"
	has "$err" '/no\x0afile\x1b[2J'
}

@test "usage errors are a JSON object too when that is asked for" {
	need_json
	for run in ls "ls --nonsense a.img" "ls --nonsense --json a.img" "trace" "trace nonsense" "info a b" "truncate --size x a.img:/"; do
		# shellcheck disable=SC2086 # the words of a command
		x 2 --json $run
		equal "$(json 'd["error"]["exit"]')" 2
		has "$err" "$(json 'd["error"]["message"]')"
	done
	x 2 ls --nonsense --json a.img
	equal "$(json 'd["verb"]')" ls
}

@test "what is no file or no folder is told by its name" {
	make_image a.img 16M
	echo x >f
	x 0 mkdir a.img:/d
	x 0 put f a.img:/f
	x 5 cat a.img:/f a.img:/d
	has "$err" "/d is a folder"
	x 5 get a.img:/d out
	has "$err" "/d is a folder; wanted: --recursive"
	mkdir host
	x 7 put host a.img:/
	has "$err" "host is a folder"
	x 3 convert host b.img
	x 3 info host
	for verb in info ls "mkdir -p" "create --size 8M" "df"; do
		# shellcheck disable=SC2086 # the words of a command
		x 2 $verb ''
		has "$err" "'' names no image"
	done
	x 2 cat :/f
	x 2 ln -s '' a.img:/l
	has "$err" "TARGET is ''"
	x 2 ln f a.img:/l
	has "$err" "'f' is no IMG:/FILE"
	x 2 fallocate --length 0 a.img:/f
	has "$err" "--length"
	clean a.img
}

@test "no JSON is mixed with an archive or a manifest" {
	need_json
	make_image a.img 16M
	for verb in export spec; do
		x 2 $verb --json a.img
		equal "$(json 'd["error"]["exit"]')" 2
		x 0 $verb --json -o $verb.out a.img
		equal "$(json 'd["verb"]')" $verb
	done
}

@test "a file that is no filesystem has exit code 3 whoever reads it" {
	: >zero
	head -c 100000 /dev/zero >zeros
	mkdir dir
	for img in zero zeros dir; do
		for verb in info ls inspect "diff --blocks $img" "mkdir -p"; do
			# shellcheck disable=SC2086 # the words of a command
			x 3 $verb $img
			one_error_line "${verb%% *}"
		done
	done
}
