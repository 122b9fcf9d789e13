#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Raw images of other projects: what we read from them is what the kernel reads.  They are not part of the
# tree; EXTKIT_CORPUS names the folder that holds them.

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
