#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit bench, on loads so small that only what is counted means something.

load ../lib/common

small=(--scale 1 --runs 1)

@test "without a number the studies are listed" {
	x 0 bench
	[ "$(wc -l <<<"$out")" -ge 5 ]
	x 2 bench 9
	has "$err" "'9'"
}

@test "every study runs, and a system without its path has a row with the reason" {
	need_json
	for study in 1 2 4 5; do
		x 0 bench "${small[@]}" --json "$study"
		equal "$(json 'all(r["value"] is not None or "not available" in r["why"] for r in d["rows"])')" True
		equal "$(json 'any(r["value"] is not None for r in d["rows"])')" True
	done
	x 0 bench "${small[@]}" --json --only "write cache" 3
	equal "$(json 'sorted({r["cell"] for r in d["rows"]})[0]')" "write cache N N N 1M"
}

@test "scratch images are gone afterwards, and when the run fails" {
	mkdir scratch
	TMPDIR=$PWD/scratch x 0 bench "${small[@]}" --only "write 256" 1
	equal "$(ls scratch)" ""
	mkdir folder
	: >folder/fstime-f0
	TMPDIR=$PWD/scratch x 7 bench "${small[@]}" --only "write 256" --kernel "dir:$PWD/folder" 1
	equal "$(ls scratch)" ""
}

@test "a load on an image leaves its files as they were, and clean" {
	make_image a.img 64M
	"$EXTKIT" mkdir a.img:/keep
	x 0 bench "${small[@]}" --only "write 256" --on a.img 1
	x 0 ls a.img
	equal "$(sort <<<"$out" | tr '\n' ' ')" "keep lost+found "
	clean a.img
}

@test "a file in the way ends the run and is not written to" {
	make_image a.img 64M
	echo mine >mine
	"$EXTKIT" put mine a.img:/fstime-f0
	x 5 bench "${small[@]}" --only "write 256" --on a.img 1
	has "$err" "fstime-f0"
	equal "$("$EXTKIT" cat a.img:/fstime-f0)" mine
	clean a.img
}

@test "the same calls run on a folder, and its files go again" {
	need_json
	mkdir folder
	x 0 bench "${small[@]}" --json --only "copy 256" --kernel "dir:$PWD/folder" 1
	equal "$(json '[r["value"] > 0 for r in d["rows"] if r["system"] == "kernel"]')" "[True]"
	equal "$(ls folder)" ""
	x 0 bench "${small[@]}" --json --only "copy 256" --on "dir:$PWD/folder" 1
	equal "$(json '[r["system"] for r in d["rows"]]')" "['kernel']"
}

@test "the result can be a table for a document or for a program" {
	x 0 bench "${small[@]}" --only "write 256" --form markdown 1
	has "$out" "| load, unit | before |"
	has "$out" "Medians of 1 runs at 1 %"
	x 0 bench "${small[@]}" --only "write 256" --form csv 1
	equal "$(head -1 <<<"$out" | cut -d, -f1-4)" "cell,system,unit,value"
}

@test "options that make no sense are refused" {
	x 2 bench --runs 1000 1
	x 2 bench --scale 5000 1
	x 2 bench --only nothing 1
	has "$err" "'nothing'"
	x 2 bench --kernel /tmp 1
	has "$err" "dir:"
}
