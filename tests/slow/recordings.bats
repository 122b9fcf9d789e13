#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The recordings by the commands that a user types, onto a file and onto a block device: clean, and the
# tree that the kernel's replay of the same recording left.

load ../lib/common

data=${SRC:-$BATS_TEST_DIRNAME/../..}/tests/data/traces

# same_tree NAME: ours.tsv is kreplay-tree.tsv, as far as the recording tells.
same_tree() {
	python3 - "$SRC/tests/accuracy" "$1" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		sys.dont_write_bytecode = True
		import compare
		name = sys.argv[2]
		initial = compare.by_path("initial.tsv")
		old = {(r["size"], r["sha256_or_target"]) for r in initial.values() if r["type"] == "f"}
		bad, unknown = compare.differences(compare.by_path("kreplay-tree.tsv"), compare.by_path("ours.tsv"),
		                                   lambda w, o: compare.content_ok(name, w, o, initial, old))
		print("\n".join(bad))
		sys.exit(bool(bad))
	END
}

recording() { # NAME
	need zstd mke2fs python3
	local size f
	size=$(awk -F'\t' -v n="$1" '$1 == n { print $2 }' "$data/images.tsv")
	for f in initial kreplay-tree; do zstd -qdc "$data/$1/$f.tsv.zst" >$f.tsv; done
	zstd -qdc "$data/$1/strace.txt.zst" >strace.txt
	x 0 trace import --root /t --initial initial.tsv strace.txt -o t.wtb
	[[ $out != *"cut lines"* ]]
	export SOURCE_DATE_EPOCH=1796030000
	x 0 create -s "$size" -b 4K --seed 1 a.img
	cp a.img b.img
	x 0 replay --initial initial.tsv --root /t --no-stores t.wtb a.img
	[[ $out != *skipped* ]]
	clean a.img
	loop_device b.img
	x 0 replay --initial initial.tsv --root /t --no-stores t.wtb "$loop"
	clean "$loop"
	cmp a.img "$loop"
	mount_image a.img mnt ro
	python3 "$SRC/tests/tools/tree.py" mnt ours.tsv extents.tsv
	same_tree "$1"
}

@test "dd-8k is replayed onto a file and a loop device" { recording dd-8k; }
@test "sqlite-insert is replayed onto a file and a loop device" { recording sqlite-insert; }
@test "git-clone-commit is replayed onto a file and a loop device" { recording git-clone-commit; }
@test "tar-x-src is replayed onto a file and a loop device" { recording tar-x-src; }
@test "make-c is replayed onto a file and a loop device" { recording make-c; }
@test "fio-mix is replayed onto a file and a loop device" { recording fio-mix; }
@test "fstime-copy is replayed onto a file and a loop device" { recording fstime-copy; }
@test "kmio16 is replayed onto a file and a loop device" { recording kmio16; }
@test "pgbench-small is replayed onto a file and a loop device" { recording pgbench-small; }
