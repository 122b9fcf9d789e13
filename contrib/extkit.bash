# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Helpers for shell scripts and bats tests that work on ext2, ext3 and ext4 images, without root.
#
#	source /usr/share/extkit/extkit.bash        # or, in bats: load /usr/share/extkit/extkit.bash
#
#	image_from_tree rootfs root.img             # makes root.img with what is in rootfs
#	assert_image_clean root.img
#	assert_in_image root.img /etc/passwd
#	assert_in_image root.img /etc/passwd 'root:x:0:0:*'
#	assert_mode root.img /usr/bin/sudo 4755
#	assert_same_tree rootfs root.img
#
# An assertion that does not hold says why on standard error and returns 1; in bats, and in scripts
# under "set -e", that ends the test.  $EXTKIT is the program, "extkit" when it is not set.  What
# needs another program says so and returns 1 when it is missing.

extkit_run() {
	"${EXTKIT:-extkit}" "$@"
}

extkit_fail() {
	printf '%s\n' "$*" >&2
	return 1
}

# image_from_tree SOURCE IMG [option...]: makes IMG, as small as fits and a tenth more, with what is
# in SOURCE: a folder, an archive, a manifest or another image.  Options are those of extkit create.
image_from_tree() {
	local source=$1 image=$2
	shift 2
	extkit_run create --quiet --force --size auto "$@" --from "$source" "$image"
}

# image_read IMG PATH: the contents of a file.
image_read() {
	extkit_run cat "$1:$2"
}

# image_has IMG PATH: whether something of that name is there; says nothing.
image_has() {
	extkit_run stat "$1:$2" >/dev/null 2>&1
}

# assert_image_clean IMG: e2fsck finds nothing to complain about.  The image is not changed; one with
# a journal that was not replayed is judged after a replay, in a copy.
assert_image_clean() {
	local said copy
	command -v e2fsck >/dev/null || {
		extkit_fail "assert_image_clean: e2fsck is not installed"
		return 1
	}
	said=$(e2fsck -fn "$1" 2>&1) && return 0
	case $said in
	*"skipping journal recovery"*)
		copy=$(mktemp) && cp --sparse=always "$1" "$copy" || return 1
		e2fsck -fy -E journal_only "$copy" >/dev/null 2>&1
		said=$(e2fsck -fn "$copy" 2>&1) && rm -f "$copy" && return 0
		rm -f "$copy"
		;;
	esac
	extkit_fail "$1 is not clean:
$said"
}

# assert_in_image IMG PATH [PATTERN]: PATH is there and, with a pattern as in [[ ]], what it holds
# matches.
assert_in_image() {
	local held
	image_has "$1" "$2" || {
		extkit_fail "$1 has no $2"
		return 1
	}
	[ $# -lt 3 ] && return 0
	held=$(image_read "$1" "$2") || return 1
	# shellcheck disable=SC2053 # the right side is a pattern
	[[ $held == $3 ]] && return 0
	extkit_fail "$1:$2 does not match '$3', it is:
$held"
}

# assert_not_in_image IMG PATH
assert_not_in_image() {
	image_has "$1" "$2" || return 0
	extkit_fail "$1 has $2"
}

# extkit_permissions OCTAL: 4755 as rwsr-xr-x.
extkit_permissions() {
	local mode=$((8#$1)) text='' who shift
	local -a special=(s s t)
	for who in 0 1 2; do
		shift=$((6 - 3 * who))
		[ $((mode >> shift & 4)) -ne 0 ] && text+=r || text+=-
		[ $((mode >> shift & 2)) -ne 0 ] && text+=w || text+=-
		case $((mode >> (11 - who) & 1))$((mode >> shift & 1)) in
		11) text+=${special[who]} ;;
		10) text+=${special[who]^} ;;
		01) text+=x ;;
		*) text+=- ;;
		esac
	done
	printf '%s' "$text"
}

# assert_mode IMG PATH OCTAL: permissions with setuid, setgid and sticky bits, as in 4755.
assert_mode() {
	local got
	got=$(extkit_run stat "$1:$2" | sed -n 's/^Mode: *.//p') || return 1
	[ "$got" = "$(extkit_permissions "$3")" ] && return 0
	extkit_fail "$1:$2 has the mode $got, not $3"
}

# assert_same_tree TREE TREE [option...]: extkit diff finds nothing; options are its own.
assert_same_tree() {
	local a=$1 b=$2 said
	shift 2
	said=$(extkit_run diff "$@" "$a" "$b" 2>&1) && return 0
	extkit_fail "$a and $b differ:
$said"
}
