#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Logs that Linux left behind at a power cut, and that are more than transactions in a hidden file.

load ../lib/common

data=${SRC:-$BATS_TEST_DIRNAME/../..}/tests/data/images

unpack() { # NAME...
	need zstd
	for name in "$@"; do zstd -qd --sparse "$data/$name.img.zst" -o "$name.img"; done
}

has_lines() { # IMG:/PATH N: the file is what `seq N` prints
	"$EXTKIT" cat ${journal:+--journal "$journal"} "$1" | cmp - <(seq "$2")
}

external=kernel-fc-external.img
journal_of_external=kernel-fc-external-journal.img

@test "an external journal is asked for by its UUID" {
	unpack kernel-fc-external
	x 6 ls $external
	has "$err" "the journal is external, on the device with UUID"
}

@test "the journal of another filesystem is refused" {
	unpack kernel-fc-external mke2fs1470-journal-dev kernel-dirty-ordered
	x 3 ls --journal mke2fs1470-journal-dev.img $external
	has "$err" "wrong journal device"
	x 3 ls --journal kernel-dirty-ordered.img $external
	has "$err" "no superblock with journal_dev"
}

@test "readers see what an external journal holds, fast commits included, and change neither" {
	unpack kernel-fc-external kernel-fc-external-journal
	sha256sum ./*.img >before
	journal=$journal_of_external
	x 0 ls --journal $journal $external:/d
	equal "$(tr "\n" " " <<<"$out")" "f2 f4 f5 f6 f7 f8 f9 hard renamed "
	has_lines $external:/d/f6 1800
	has_lines $external:/d/f9 3600
	has_lines $external:/d/renamed 300
	has_lines $external:/d/hard 600
	[ "$("$EXTKIT" cat --journal $journal $external:/d/f4 | wc -c)" = 77 ]
	[ "$("$EXTKIT" cat --journal $journal $external:/d/f5 | tail -n 1)" = more ]
	sha256sum -c --quiet before
}

@test "writers put the external journal's contents home and their own changes into it" {
	unpack kernel-fc-external kernel-fc-external-journal
	journal=$journal_of_external
	seq 50 >file
	x 0 put --journal $journal file $external:/new
	has_lines $external:/new 50
	has_lines $external:/d/f9 3600
	run -0 dumpe2fs -h $journal
	[[ $output =~ "Journal start: "*" 0" ]]
}

@test "nothing is written past the journal" {
	unpack kernel-fc-open
	sha256sum ./*.img >before
	x 2 mkdir --no-replay kernel-fc-open.img:/new
	has "$err" "--no-replay is for reading"
	x 0 find --no-replay kernel-fc-open.img:/d
	has "$out" f2
	[[ $out != */last* ]]
	sha256sum -c --quiet before
}

@test "a dry run leaves an external journal alone" {
	unpack kernel-fc-external kernel-fc-external-journal
	sha256sum ./*.img >before
	echo x >file
	x 0 put --dry-run --journal $journal_of_external file $external:/new
	sha256sum -c --quiet before
}

# Linux 6.18 refuses this one: a file was unlinked while it was open and synced.
@test "fast commits of an unlinked open file lose nothing" {
	unpack kernel-fc-open
	x 0 find kernel-fc-open.img:/d
	has "$out" /d/last
	has "$out" /d/new/s/b
	[[ $out != */open* ]]
	[[ $out != */gone* ]]
	[[ $out != */f2* ]]
	has_lines kernel-fc-open.img:/d/last 5
	x 0 mkdir kernel-fc-open.img:/d/more
	clean kernel-fc-open.img
	x 0 find kernel-fc-open.img:/d
	has "$out" /d/last
}

@test "an image with fast commits is sound after they were replayed" {
	for name in kernel-dirty-fastcommit b5-ext4fc kernel-fc-clusters kernel-fc-pointers; do
		unpack "$name"
		x 0 mkdir "$name.img:/more"
		clean "$name.img"
	done
}
