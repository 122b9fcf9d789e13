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

# facts STUDY CELL NAME ARG...: that fact of each system that ran, in the order of the systems.
facts() {
	x 0 bench --runs 1 --scale 1 --json "${@:4}" --only "$2" "$1"
	json "[(r['system'], r['$3']) for r in d['rows'] if r['$3'] is not None and r['cell'] == '$2']"
}

@test "study 1: a write has a handle before the patches, and none after" {
	need_json
	facts 1 "write 256/500" handles/call >list
	python3 - <<-'END'
		seen = dict(eval(open("list").read()))
		assert seen["before"] == seen["patch 1"] == 1, seen
		assert seen["patches 1-4"] < 0.25 and seen["linux-6.18"] < 0.01, seen
	END
	facts 1 "inline appends" marks/call >list
	python3 - <<-'END'
		seen = dict(eval(open("list").read()))
		assert [round(seen[s]) for s in ("before", "patch 1", "patches 1-3")] == [3, 2, 1], seen
	END
}

@test "study 2: only 3.11's rule overruns its budget, and its extents are small" {
	need_json
	facts 2 "5 pages a unit" overruns >list
	facts 2 "5 pages a unit" blocks/extent >lengths
	python3 - <<-'END'
		overruns = dict(eval(open("list").read()))
		assert overruns.pop("3.11 rule") >= 1 and not any(overruns.values()), overruns
		lengths = dict(eval(open("lengths").read()))
		assert lengths["3.11 rule"] < 100 < 500 < lengths["3.13 rule"], lengths
	END
}

@test "study 3: larger folios are fewer, and ranges are reserved at once" {
	need_json
	facts 3 "write cache N N N 1M" folios >list
	facts 3 "write cache N N N 1M" reserves/call >reserves
	python3 - <<-'END'
		folios = dict(eval(open("list").read()))
		assert folios["base"] == 256 * folios["base + large folio"], folios
		reserves = dict(eval(open("reserves").read()))
		assert reserves["base"] == reserves["base + large folio"] == 256, reserves
		assert reserves.get("iomap + large folio", 1) == 1, reserves
	END
}

@test "study 4: marks fall by the patches, and lazy copies are inodes times commits" {
	need_json
	facts 4 "16 streams" marks/page >list
	facts 4 "16 streams, slow" "inode copies" --scale 15 --system "default, lazy" >copies
	facts 4 "16 streams, slow" commits --scale 15 --system "default, lazy" >numbers
	python3 - <<-'END'
		marks = dict(eval(open("list").read()))
		assert [round(marks[s]) for s in ("ext3", "ext3 patch 1", "ext3 patched")] == [4, 3, 2], marks
		assert marks["ext4 no delalloc"] > marks["ext4 default"] > marks["linux-6.18"], marks
		copies, commits = (dict(eval(open(f).read())) for f in ("copies", "numbers"))
		lazy, n = copies["ext4 default, lazy"], commits["ext4 default, lazy"]
		assert n > 1 and 16 * n <= lazy <= 18 * n and copies["ext3"] > 1000 * lazy, (copies, commits)
	END
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
	x 0 bench "${small[@]}" --only "write 256" --csv 1
	equal "$(cut -d, -f1-3 <<<"$out" | sed -n 2p)" '"write 256/500","before",KB/s'
	x 2 bench --csv --json 1
	x 2 bench --csv --form markdown 1
}

@test "options that make no sense are refused" {
	x 2 bench --runs 1000 1
	x 2 bench --scale 5000 1
	x 2 bench --only nothing 1
	has "$err" "'nothing'"
	x 2 bench --system nobody 1
	has "$err" "no system's name holds 'nobody'"
	x 2 bench --kernel /tmp 1
	has "$err" "dir:"
}
