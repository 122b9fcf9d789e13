#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit create

load ../lib/common

@test "an image of 64M is clean for e2fsck and has the size asked for" {
	make_image a.img 64M
	equal "$(stat -c %s a.img)" 67108864
	equal "$out$err" ""
}

@test "images of many shapes are clean" {
	local shape n=0
	for shape in "1M -O ^has_journal" "8M -b 1K" "40M -b 2K" "300M -b 4K -I 512" "64M -b 4K -i 16K" \
		"64M -b 4K -N 5000 -m 0" "128M -O orphan_file,metadata_csum_seed" "64M -O ^metadata_csum,uninit_bg" \
		"600M" "64M --no-journal" "96M -J 8M -G 4" "64M --no-lost-found" "64M -O ^resize_inode,^64bit"; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # a shape is several words
		make_image "$n.img" $shape
	done
}

@test "images with old and rare features are clean, and the kernel mounts them" {
	local shape n=0
	for shape in "64M -O ^extent,^64bit" "300M -O ^extent,^64bit,^flex_bg,^metadata_csum" \
		"40M -b 4K -O ^extent,orphan_file" "96M -b 1K -J 80M -O ^extent" "300M -O meta_bg,^resize_inode" \
		"700M -b 2K -O meta_bg,^resize_inode,^flex_bg" "100M -O sparse_super2" "300M -O bigalloc" \
		"300M -b 1K -O bigalloc" "1G -b 4K -O bigalloc" "64M -O fast_commit" "64M -O mmp" \
		"64M -O ^sparse_super,^resize_inode" "64M -O ea_inode,verity,stable_inodes" \
		"64M -I 128" "64M -I 128 -O ^filetype,^dir_index"; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # a shape is several words
		make_image "$n.img" $shape
		[ "$shape" = "64M -O mmp" ] || mount_image "$n.img" "mnt$n" # a guarded one mounts after 10 s
	done
}

@test "ext2, ext3 and revision 0 have the features of their time" {
	make_image a.img 64M -t ext2
	x 0 info --json a.img
	need_json
	equal "$(json 'd["features"]')" "ext_attr resize_inode dir_index filetype sparse_super large_file"
	make_image b.img 64M -t ext3
	has "$(dumpe2fs -h b.img 2>/dev/null)" "has_journal ext_attr resize_inode dir_index filetype sparse_super large_file"
	make_image c.img 64M --revision-0
	has "$(dumpe2fs -h c.img 2>/dev/null)" "0 (original)"
	mount_image c.img mnt
}

@test "a profile leaves out what its reader does not know, and refuses it when it is asked for" {
	make_image a.img 64M --compat linux-4.9
	make_image b.img 64M --compat linux-2.6.20
	run ! grep -q extent <<<"$("$EXTKIT" info b.img)"
	make_image c.img 64M --compat grub-2.12 -O metadata_csum_seed
	x 2 create -s 64M --compat grub-2.06 -O metadata_csum_seed d.img
	has "$err" "profile grub-2.06 does not know: metadata_csum_seed"
	x 2 create -s 64M --compat windows-95 d.img
	has "$err" "profile 'windows-95'"
	[ ! -e d.img ]
}

@test "options in words reach the superblock" {
	local h
	make_image a.img 64M --hash tea -e panic --root-owner 5:7 --mount-options discard,nodelalloc \
		--stride 16 --stripe-width 64 --grow-to 1G
	h=$(dumpe2fs -h a.img 2>/dev/null | tr -s ' ')
	has "$h" "Mount options: discard,nodelalloc"
	has "$h" "Errors behavior: Panic"
	has "$h" "RAID stride: 16"
	has "$h" "RAID stripe width: 64"
	has "$h" "Default directory hash: tea"
	has "$h" "Reserved GDT blocks: 7" # 128 groups have 8 blocks of descriptors, 8 groups have one
	need_json
	x 0 stat --json a.img:/
	equal "$(json '(d["uid"], d["gid"])')" "(5, 7)"
	x 2 create -s 64M --root-owner root:root b.img
	has "$err" "--root-owner: 'root:root' is not UID:GID"
	make_image c.img 100M -O sparse_super2 --backups 1
	has "$(dumpe2fs -h c.img 2>/dev/null | tr -s ' ')" "Backup block groups: 1"
	x 2 create -s 64M -O sparse_super2 --backups 3 b.img
}

@test "a journal on a device of its own is shared by UUID, and the kernel uses it" {
	x 0 create -s 32M -b 1K --journal-device log.img
	x 0 create --json -s 64M -b 1K --journal-on log.img a.img
	has "$(dumpe2fs log.img 2>/dev/null | tr -s ' ')" \
		"Journal users: $(dumpe2fs -h a.img 2>/dev/null | sed -n 's/^Filesystem UUID: *//p')"
	loop_device log.img
	e2fsck -fn -j "$loop" a.img
	mount_image a.img mnt "journal_path=$loop"
	touch mnt/written
	umount mnt && MOUNTS=()
	e2fsck -fn -j "$loop" a.img
	losetup -d "$loop" && LOOPS=()
	# the kernel has given the log a checksum: who takes it over must keep it right
	x 2 create -s 64M -b 1K --journal-on log.img b.img
	has "$err" "another filesystem uses it"
	x 0 create -s 64M -b 1K --force --journal-on log.img b.img
	x 0 mkdir --journal log.img b.img:/d
	loop_device log.img
	e2fsck -fn -j "$loop" b.img
	mount_image b.img mnt "journal_path=$loop"
	[ -d mnt/d ]
}

@test "a journal that is smaller than its device leaves the rest of it alone" {
	head -c 64M /dev/urandom >disk
	cp disk before
	loop_device disk
	x 0 create -s 16M -b 1K --journal-device "$loop"
	losetup -d "$loop" && LOOPS=()
	cmp -i 16M disk before
	run ! cmp -s -n 16M disk before
}

@test "a journal device that will not do leaves the target as it was" {
	x 0 create -s 32M -b 1K --journal-device log.img
	make_image a.img 16M
	cp a.img before.img
	x 2 create -s 64M -b 4K --force --journal-on log.img a.img
	has "$err" "its blocks have another size"
	x 2 create -s 64M -b 1K --force --journal-on before.img a.img
	has "$err" "does not have journal_dev"
	x 2 create -s 64M -b 1K --force --dry-run --journal-on before.img a.img
	cmp a.img before.img
	x 2 create -s 32M --journal-device -O has_journal c.img
	has "$err" "a journal device has none"
	[ ! -e c.img ]
}

@test "each -O adds to the one before it" {
	make_image a.img 64M -O orphan_file -O ^resize_inode,large_dir
	x 0 info a.img
	has "$out" orphan_file
	has "$out" large_dir
	run ! grep -q resize_inode <<<"$out"
}

@test "features that need or exclude each other are refused, with the way out" {
	x 2 create -s 64M -O bigalloc,^extent a.img
	has "$err" "feature bigalloc needs extent: add -O extent"
	x 2 create -s 64M -O meta_bg a.img
	has "$err" "feature meta_bg excludes resize_inode: add -O ^resize_inode"
	[ ! -e a.img ]
}

@test "small inodes go without extra_isize, and refuse it when it is asked for" {
	make_image a.img 64M -I 128
	run ! grep -q extra_isize <<<"$("$EXTKIT" info a.img)"
	x 2 create -s 64M -I 128 -O extra_isize b.img
	has "$err" "inode size 128 has no room for extra_isize"
	[ ! -e b.img ]
}

@test "who asks for journal_dev as a feature hears how a journal device is made" {
	x 2 create -s 64M -O journal_dev a.img
	has "$err" "journal_dev"
	has "$err" "--journal-device"
	[ ! -e a.img ]
}

@test "however few inodes are asked for, the reserved ones have a place" {
	local n
	for n in 1 11 12 16 40 64 88 128; do
		x 0 create --force -s 64M -b 1K -N "$n" a.img
		clean a.img
		x 0 create --force -s 64M -b 4K -I 1K -N "$n" a.img
		clean a.img
	done
}

@test "the kernel mounts a new image" {
	make_image a.img 64M
	mount_image a.img mnt
	[ -d mnt/lost+found ]
}

@test "a very large image takes little time and space" {
	local begun=$SECONDS
	x 0 create -s 4T big.img
	[ $((SECONDS - begun)) -le 10 ]
	[ "$(du -m big.img | cut -f1)" -lt 400 ]
}

@test "label and UUID are what was asked for" {
	need_json
	x 0 create -s 16M -L "home of x" -U 01234567-89ab-cdef-0123-456789abcdef a.img
	x 0 info --json a.img
	equal "$(json 'd["label"] + " " + d["uuid"]')" "home of x 01234567-89ab-cdef-0123-456789abcdef"
	clean a.img
}

@test "a UUID may be random or clear" {
	make_image a.img 64M --seed x -U clear
	has "$(dumpe2fs -h a.img 2>/dev/null)" "Filesystem UUID:          <none>"
	make_image b.img 64M --seed x
	make_image c.img 64M --seed x -U random
	x 0 info --json b.img
	local uuid
	uuid=$(json 'd["uuid"]')
	x 0 info --json c.img
	[ "$(json 'd["uuid"]')" != "$uuid" ]
	x 2 create -s 64M -U sometimes d.img
	has "$err" "uuid 'sometimes'"
}

@test "the same seed and time give the same bytes, another seed gives others" {
	export SOURCE_DATE_EPOCH=1700000000
	x 0 create -s 32M --seed one a.img
	x 0 create -s 32M --seed one b.img
	x 0 create -s 32M --seed two c.img
	cmp a.img b.img
	run ! cmp -s a.img c.img
}

@test "what is there already is not overwritten without --force" {
	x 0 create -s 16M a.img
	cp a.img before.img
	x 3 create -s 16M a.img
	one_error_line create
	has "$err" "holds ext4"
	cmp a.img before.img
	x 0 create -s 8M --force a.img
	clean a.img
	equal "$(stat -c %s a.img)" 8388608
}

@test "options that make no sense leave nothing behind" {
	x 2 create -s 16M -b 3000 a.img
	has "$err" "block size 3000"
	x 6 create -s 16M -O frobnicate a.img
	has "$err" "frobnicate"
	x 6 create -s 16M -O compression a.img
	has "$err" "compression"
	x 2 create -s 16M -L "seventeen letters!" a.img
	x 2 create -s 16M -U nonsense a.img
	mkdir t
	x 2 create -s 9223372036854775808 a.img
	has "$err" "more than a file can have"
	x 2 create -s 9223372036854775808 --from t a.img
	has "$err" "more than a file can have"
	x 2 create a.img
	x 2 create -s 16M a.img:/path
	x 2 create -s 16M -m 80 a.img
	[ ! -e a.img ]
}

@test "a size that is too small tells what is missing" {
	x 4 create -s 16K a.img
	one_error_line create
	[ ! -e a.img ]
}

@test "a file keeps its size when none is given" {
	truncate -s 20M a.img
	x 0 create a.img
	equal "$(stat -c %s a.img)" 20971520
	clean a.img
}

@test "a filesystem behind an offset leaves what lies before it alone" {
	head -c 1048576 /dev/urandom >a.img
	cp a.img before
	x 0 create -s 16M a.img@@1M
	cmp -n 1048576 a.img before
	x 0 ls a.img@@1M:/
	equal "$out" "lost+found"
	tail -c +1048577 a.img >inner.img
	clean inner.img
}

@test "an image that is mounted is refused" {
	x 0 create -s 16M a.img
	mount_image a.img mnt
	x 9 create --force -s 16M a.img
	one_error_line create
}

@test "the file of a loop device is refused where /sys is missing too" {
	need unshare
	x 0 create -s 16M a.img
	loop_device a.img
	unshare -m sh -c 'mount -t tmpfs none /sys' 2>/dev/null || skip "no mount namespaces here"
	run -9 unshare -m sh -c 'mount -t tmpfs none /sys && exec "$@"' sh "$EXTKIT" create --force -s 16M a.img
	has "$output" "the backing file of $loop"
}

@test "a folder that is not there is an error of the host" {
	x 7 create -s 16M /nonexistent/a.img
	one_error_line create
}

@test "SOURCE_DATE_EPOCH must be a number" {
	SOURCE_DATE_EPOCH=yesterday x 2 create -s 16M a.img
	has "$err" "SOURCE_DATE_EPOCH"
}

@test "a dry run makes no file and tells of refusals" {
	x 0 create --dry-run -s 16M a.img
	[ ! -e a.img ]
	x 2 create --dry-run -s 16M -b 3000 a.img
	x 0 create -s 16M a.img
	x 3 create --dry-run -s 16M a.img
}

@test "the log of a file system of pointers lies where 32 bits reach, however large that is" {
	local img=a.img
	truncate -s 33T $img 2>err || img=/dev/shm/extkit.$$.img
	truncate -s 33T $img 2>err || skip "there is no file of 33 TiB here"
	x 0 create -q -O 64bit,^extent,sparse_super2,^resize_inode -J 4M $img || { rm $img && false; }
	code=0
	"$EXTKIT" put err "$img:/f" || code=$?
	rm $img
	equal "$code" 0
}

@test "descriptors that no group can hold are refused with a way out" {
	truncate -s 1100G a.img 2>err || skip "there is no file of 1100 GiB here"
	x 2 create --dry-run -b 1K a.img
	has "$err" "want meta_bg or larger blocks"
	x 0 create --dry-run -b 1K -O meta_bg,^resize_inode a.img
	x 0 create --dry-run -b 2K a.img
}

@test "a size or number of 0 is none, and what is about sources needs one" {
	local option
	for option in "-b 0" "-I 0" "-N 0" "-i 0" "-J 0" "-g 0" "-G 0"; do
		# shellcheck disable=SC2086 # an option and its value
		x 2 create -s 16M $option a.img
		has "$err" "'0' is not above 0"
	done
	for option in --owner=1 --exclude=x --all-root --max-entries=5; do
		x 2 create -s 16M $option a.img
		has "$err" "needs --from"
	done
	[ ! -e a.img ]
}
