#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Images of other projects, raw and in containers: what we read from them is what the kernel reads.  They are
# not part of the tree; EXTKIT_CORPUS names the folder that holds them.

load ../lib/common

corpus=${EXTKIT_CORPUS:-${SRC:-$BATS_TEST_DIRNAME/../..}/../shared/corpus}/images

# Names without the key are made up by the kernel; here they are as stored (doc/LIMITS.md).
encrypted=ext4view-test_disk1

@test "images of other projects read as the kernel reads them" {
	[ -d "$corpus/real" ] || skip "the corpus of images is not here"
	need zstd
	need_json
	for image in "$corpus"/{peers,real,syzkaller}/*.img.zst; do
		name=${image##*/} name=${name%.img.zst}
		[ "$name" = $encrypted ] && continue
		for list in "$corpus/expected/$name".jsonl.zst "$corpus/expected/$name"@*.jsonl.zst; do
			[ -e "$list" ] || continue
			at=${list##*/} at=${at%.jsonl.zst} at=${at#"$name"}
			rm -rf a.img out
			zstd -qd --sparse "$image" -o a.img
			zstd -qdf "$list" -o want.jsonl
			echo "$name$at"
			python3 "$SRC/tests/tools/compare-tree" "$EXTKIT" "a.img${at:+@$at}" want.jsonl out
		done
	done
}

@test "images in containers of other projects hold what they were made of" {
	[ -d "$corpus/container" ] || skip "the corpus of images is not here"
	need zstd qemu-nbd
	need_json
	for image in "$corpus"/container/*.zst; do
		name=${image##*/} name=${name%%.*}
		rm -rf a.bin a.img out
		zstd -qd --sparse "$image" -o a.bin
		zstd -qdf "$corpus/expected/$name.jsonl.zst" -o want.jsonl
		echo "$name"
		x 0 convert a.bin a.img
		equal "$(sha256sum <a.img)" "$(awk -F '\t' -v n="$name" '$1 == n { print $7 }' "$corpus/MANIFEST.tsv")  -"
		python3 "$SRC/tests/tools/compare-tree" "$EXTKIT" a.bin want.jsonl out
	done
}
