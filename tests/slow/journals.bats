#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Crash images, made here: Linux works on a loop mount, and its backing file is copied while it does.  One copy is
# recovered by Linux, one by us; the two agree byte by byte but for what tests/tools/compare-recovered
# names, and e2fsck finds ours clean.

load ../lib/common

# The mount options keep Linux from initialising inode tables, which is not recovery.
quietly=noatime,noinit_itable

sync_files() { # PATH...
	python3 -c 'import os, sys
for p in sys.argv[1:]:
    f = os.open(p, os.O_RDONLY); os.fsync(f); os.close(f)' "$@"
}

work_before() {
	mkdir d d/e
	for i in 1 2 3 4 5; do seq $((i * 700)) >d/f$i; done
	seq 20000 >big
	sync
}

# Names, sizes and data, each synced by itself: with fast_commit this stays in fast commits.
work_names() {
	for i in 1 2 3 4 5 6; do seq $((i * 900)) >d/n$i && sync_files d/n$i; done
	echo x >>d/f1 && sync_files d/f1
	truncate -s 100 d/f5 && sync_files d/f5
	mv d/f2 d/r2 && sync_files d/r2
	ln d/f3 d/l3 && sync_files d/l3
	rm d/f4 && sync_files d/n1
}

work_ranges() {
	fallocate -l 400K d/room && sync_files d/room
	dd if=big of=d/room bs=4k count=20 seek=30 conv=notrunc status=none && sync_files d/room
	fallocate -p -o 40960 -l 40960 d/room && sync_files d/room
	for i in $(seq 0 2 40); do dd if=big of=d/frag bs=4k count=1 seek="$i" conv=notrunc status=none; done
	sync_files d/frag
	truncate -s 30000 d/frag && sync_files d/frag
	truncate -s 0 d/f1 && sync_files d/f1
}

work_whole() { # transactions only
	rm -r d/e d/f1
	mkdir d/g && ln -s target d/g/link && mv d/f2 d/g
	sync
	rm d/f3 && seq 5000 >d/f3
	sync
}

crash() { # "MKE2FS-OPTION..." MOUNT-OPTIONS WORK
	need_root mount
	need mke2fs e2fsck python3 debugfs findmnt
	truncate -s 24M live.img
	# shellcheck disable=SC2086
	mke2fs -q -F -t ext4 $1 live.img 2>/dev/null
	mount_image live.img m "$quietly${2:+,$2}"
	(cd m && work_before && "$3")
	cp --sparse=always live.img ours.img
	cp ours.img theirs.img
	dumpe2fs -h ours.img 2>/dev/null | grep -q needs_recovery
	if [[ $1 == *fast_commit* ]]; then # what Linux says that it wrote
		local device
		device=$(findmnt -n -o SOURCE m)
		grep -q '^[1-9][0-9]* commits' "/proc/fs/ext4/${device##*/}/fc_info"
	fi
	umount m
	MOUNTS=()
}

agrees() {
	EXTKIT_RECOVER=ours.img "$RECOVER"
	mount_image theirs.img m "$quietly"
	umount m
	MOUNTS=()
	python3 "$SRC/tests/tools/compare-recovered" ours.img theirs.img
	clean ours.img
	rm -f live.img ours.img theirs.img
}

compare() { # the same as crash
	RECOVER=${EXTKIT%/*}/tests/unit/recover_file
	[ -x "$RECOVER" ] || skip "tests/unit/recover_file is not built"
	crash "$@"
	agrees
}

@test "logs without checksums, 32 bits" {
	for b in 1024 4096; do compare "-b $b -O ^metadata_csum,^64bit" "" work_whole; done
}

@test "logs without checksums, 64 bits" {
	compare "-b 4096 -O ^metadata_csum,64bit" "" work_whole
}

@test "logs with v1 checksums, 32 and 64 bits" {
	compare "-b 1024 -O ^metadata_csum,^64bit" journal_checksum work_whole
	compare "-b 4096 -O ^metadata_csum,64bit" journal_checksum work_whole
}

@test "logs with v1 checksums and asynchronous commits" {
	compare "-b 4096 -O ^metadata_csum,64bit" journal_async_commit,data=writeback work_whole
}

@test "logs with v3 checksums, 32 and 64 bits" {
	compare "-b 1024 -O metadata_csum,^64bit" "" work_whole
	compare "-b 4096 -O metadata_csum,64bit" "" work_whole
}

@test "logs with file data" {
	compare "-b 4096" data=journal work_whole
}

@test "fast commits of names" {
	compare "-b 1024 -O fast_commit" "" work_names
	compare "-b 4096 -O fast_commit" "" work_names
}

@test "fast commits of ranges" {
	compare "-b 1024 -O fast_commit" "" work_ranges
	compare "-b 4096 -O fast_commit" "" work_ranges
}

@test "fast commits without checksums" {
	compare "-b 2048 -I 128 -O fast_commit,^metadata_csum,^64bit" "" work_names
	compare "-b 4096 -O fast_commit,^metadata_csum,64bit" journal_checksum work_ranges
}

@test "fast commits of ranges in clusters" {
	work_clusters() { work_names && work_ranges; }
	compare "-b 1024 -O fast_commit,bigalloc -C 4096" "" work_names
	compare "-b 4096 -O fast_commit,bigalloc -C 16384" "" work_ranges
	compare "-b 1024 -O fast_commit,bigalloc -C 16384" "" work_clusters
}

# Linux writes ranges of files that are mapped by pointers, and its replay is about extents: it is not asked, as a kernel
# that trips over its own log takes the machine with it.
@test "fast commits of files mapped by pointers are recovered whole" {
	work_pointers() {
		work_names
		for i in $(seq 0 2 40); do dd if=big of=d/frag bs=4k count=1 seek="$i" conv=notrunc status=none; done
		sync_files d/frag
		truncate -s 30000 d/frag && sync_files d/frag
		cp big d/holes && sync_files d/holes
		fallocate -p -o 20480 -l 40960 d/holes && sync_files d/holes
		dd if=big of=d/holes bs=4k count=3 seek=6 conv=notrunc status=none && sync_files d/holes
		truncate -s 0 d/f1 && sync_files d/f1
		sync # Linux commits as a whole what takes pointers away: what is left to find comes here
		for i in $(seq 1 2 40); do dd if=big of=d/frag bs=4k count=1 seek="$i" conv=notrunc status=none; done
		sync_files d/frag
		seq 30000 >>d/holes && sync_files d/holes
		mv d/n4 d/m4 && ln d/n5 d/l5 && sync_files d/l5
		seq 300000 >d/large && sync_files d/large
		seq 90000 >>d/large && sync_files d/large
		sha256sum d/n? d/m4 d/l5 d/f1 d/f5 d/r2 d/f3 d/l3 d/holes d/frag d/large >../sums
	}
	RECOVER=${EXTKIT%/*}/tests/unit/recover_file
	[ -x "$RECOVER" ] || skip "tests/unit/recover_file is not built"
	for kind in "-b 1024 -O fast_commit,^extent,^64bit" "-b 4096 -O fast_commit,^extent,^64bit" "-b 2048 -I 128 -O fast_commit,^extent,^64bit"; do
		crash "$kind" "" work_pointers
		x 5 stat --no-replay ours.img:/d/large
		EXTKIT_RECOVER=ours.img "$RECOVER"
		clean ours.img
		while read -r sum path; do
			equal "$path $("$EXTKIT" cat "ours.img:/$path" | sha256sum)" "$path $sum  -"
		done <sums
		[ "$(wc -l <sums)" -eq 15 ]
		rm -f live.img ours.img theirs.img
	done
}

@test "fast commits behind transactions" {
	work_both() { work_whole && work_names && work_ranges; }
	compare "-b 4096 -O fast_commit" "" work_both
}

# Linux does not recover these: it refuses inodes without links, and does not count folders.
@test "fast commits of orphans and folders are recovered and sound" {
	work_orphans() {
		exec 8<>d/open && seq 900 >&8 && rm d/open && sync
		seq 5000 >&8 && python3 -c 'import os; os.fsync(8)'
		seq 20 >d/c && sync_files d/c
		rm d/f4 && seq 30 >d/n && sync_files d/n
		mkdir d/new && seq 40 >d/new/x && sync_files d/new/x
		exec 8<&-
	}
	RECOVER=${EXTKIT%/*}/tests/unit/recover_file
	[ -x "$RECOVER" ] || skip "tests/unit/recover_file is not built"
	for more in "" ,orphan_file; do
		crash "-b 1024 -O fast_commit$more" "" work_orphans
		EXTKIT_RECOVER=ours.img "$RECOVER"
		clean ours.img
		for n in 20:c 30:n 40:new/x; do "$EXTKIT" cat "ours.img:/d/${n#*:}" | cmp - <(seq "${n%:*}"); done
		x 5 stat ours.img:/d/open
		rm -f live.img ours.img theirs.img
	done
}

random_crash() { # SEED [dirs]: makes ours.img and ours.img.synced, of any kind or of KIND
	local kinds=("-b 1024" "-b 4096 -O ^metadata_csum" "-b 2048 -O orphan_file" "-b 1024 -O ^64bit" "-b 4096")
	need_root mount
	need mke2fs e2fsck python3 debugfs findmnt fallocate
	RECOVER=${EXTKIT%/*}/tests/unit/recover_file
	[ -x "$RECOVER" ] || skip "tests/unit/recover_file is not built"
	truncate -s 24M live.img
	# shellcheck disable=SC2086
	mke2fs -q -F -t ext4 -O fast_commit ${KIND:-${kinds[$1 % 5]}} live.img
	mount_image live.img m "$quietly"
	python3 "$SRC/tests/tools/random-crash" "$1" m ours.img ${2:+"$2"}
	cp ours.img theirs.img
	umount m
	MOUNTS=()
	EXTKIT_RECOVER=ours.img "$RECOVER"
	clean ours.img
	while read -r path sum; do
		equal "$("$EXTKIT" cat "ours.img:$path" | sha256sum)" "$sum  -"
	done <ours.img.synced
}

@test "random work with fast commits is recovered as Linux recovers it, and no synced file is lost" {
	local same=0
	for seed in {1..12}; do
		random_crash "$seed"
		if mount -o "loop,$quietly" theirs.img m; then # Linux refuses some of its own
			umount m
			python3 "$SRC/tests/tools/compare-recovered" ours.img theirs.img
			same=$((same + 1))
		fi
	done
	[ "$same" -gt 6 ]
}

# Linux counts no folders that it makes in its replay: there is nothing to compare with.
@test "random work with folders and fast commits leaves a sound image, and no synced file is lost" {
	for seed in {101..108}; do random_crash "$seed" dirs; done
}

@test "random work in clusters and with pointers leaves a sound image, and no synced file is lost" {
	for seed in {201..204}; do
		KIND="-b 1024 -O bigalloc -C 8192" random_crash "$seed"
		KIND="-b 4096 -O bigalloc -C 65536" random_crash "$seed" dirs
		KIND="-b 1024 -O ^extent,^64bit" random_crash "$seed" dirs 2>/dev/null
	done
}

# The power goes in the middle of a recovery in steps, at every seventh write.
@test "fast commits that are applied in steps are recovered after any power cut" {
	local n out kinds=("-b 1024" "-b 4096" "-b 1024 -O bigalloc -C 4096" "-b 1024 -O ^extent,^64bit")
	for seed in {301..308}; do
		KIND=${kinds[seed % 4]} random_crash "$seed" dirs 2>/dev/null
		for ((n = 1 + seed % 7; ; n += 7)); do
			cp --sparse=always theirs.img ours.img
			out=$(EXTKIT_RECOVER=ours.img EXTKIT_RECOVER_STEP=$((1 + seed % 3)) EXTKIT_RECOVER_CUT=$n "$RECOVER")
			[[ $out == *whole* ]] && break
			EXTKIT_RECOVER=ours.img EXTKIT_RECOVER_STEP=$((seed % 2)) "$RECOVER" >/dev/null
			clean ours.img
			while read -r path sum; do
				equal "$path $("$EXTKIT" cat "ours.img:$path" | sha256sum)" "$path $sum  -"
			done <ours.img.synced
		done
	done
}

# Linux writes no v2 checksums any more; debugfs does.
@test "logs with v2 checksums, 32 and 64 bits" {
	need_root mount
	RECOVER=${EXTKIT%/*}/tests/unit/recover_file
	[ -x "$RECOVER" ] || skip "tests/unit/recover_file is not built"
	need mke2fs debugfs
	for wide in ^64bit 64bit; do
		crash "-b 1024 -O metadata_csum,$wide" "" true
		e2fsck -fy live.img >/dev/null || true
		seq 300 | head -c 1024 >block
		printf 'jo -c -v 2\njw -b 20000,20001 block\njw -r 20001\njc\n' | debugfs -w -f - live.img
		cp live.img ours.img
		cp live.img theirs.img
		dumpe2fs -h live.img 2>/dev/null | grep -q 'Journal features:.*checksum_v2'
		agrees
	done
}
