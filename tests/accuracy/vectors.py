#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Counts that do not depend on time, measured once on Linux 6.18, against a replay.

vectors.py OUT [--kernel]

Each workload is a trace whose clock stands still; a row says what the kernel counted for it, less
what timestamps cost there.  Prints each row and what differs; exit status 1 when something does.
With --kernel the rows are held against this kernel, not against the replay: as root, the trace is
played onto a loop mount and its tracepoints are counted (folios are not).  That wants a quiet
machine: writeback that begins on its own and a change of the processor move some of them.
"""
import os
import re
import subprocess
import sys
import tempfile

import events

HERE = os.path.dirname(os.path.abspath(__file__))
EVENT = {"begin": "event.ext4_da_write_begin", "reserve": "event.ext4_da_reserve_space",
         "extents": "event.ext4_da_write_pages_extent", "writepages": "event.ext4_writepages",
         "handles": "event.jbd2_handle_start", "marks": "event.ext4_mark_inode_dirty",
         "alloc": "event.ext4_mballoc_alloc", "pa": "event.ext4_mballoc_prealloc",
         "lookup": "event.ext4_es_lookup_extent_enter", "commits": "event.jbd2_end_commit",
         "delayed": "event.ext4_es_insert_delayed_extent",
         "claims": "event.ext4_da_update_reserve_space", "frees": "event.ext4_free_blocks",
         "begin now": "event.ext4_write_begin", "pointers": "event.ext4_ind_map_blocks_enter",
         "ordered": "event.jbd2_submit_inode_data", "tx_blocks": "sum.jbd2_tx_blocks",
         "logged": "sum.jbd2_tx_blocks_logged", "sectors": "disk.run.wr_sect"}
MIB = 1 << 20


def new(path="/f"):
    return ["open h1 %s rw flags=creat,excl mode=0644 new" % path]


def writes(size, count, passes=1, start=0):
    return ["write h1 %d %d" % (start + i * size, size) for _ in range(passes)
            for i in range(count)]


def inline_files(count, size):
    ops = []
    for i in range(count):
        ops += ["open h%d /f%d w flags=creat,excl mode=0644 new" % (i + 1, i),
                "write h%d 0 %d" % (i + 1, size), "close h%d" % (i + 1)]
    return ops


def folder(count, name):
    return ["mkdir /d 0755"] + ["mknod /d/%s%d 010644 0:0" % (name, i) for i in range(count)]


def synced_appends():
    ops = new()
    for i in range(200):
        ops += ["write h1 %d 4096" % (i * 4096), "fsync h1"]
    return ops


def synced_pieces(size, count, pieces):
    ops = new()
    for i in range(pieces):
        ops += writes(size, count, start=i * size * count) + ["fsync h1"]
    return ops


def streams(count, pages):
    ops = ["open h%d /f%d rw flags=creat,excl mode=0644 new" % (i + 1, i) for i in range(count)]
    return ops + ["write h%d %d 4096" % (i + 1, page * 4096) for page in range(pages)
                  for i in range(count)]


def sparse(count, step, start=0):
    return ["write h1 %d 4096" % (start + i * step) for i in range(count)]


def files(count, folder="", fsync=False):
    ops = []
    for i in range(count):
        ops += ["open h%d %s/f%d w flags=creat,excl mode=0644 new" % (i + 1, folder, i),
                "write h%d 0 3000" % (i + 1)]
        ops += ["fsync h%d" % (i + 1)] * fsync + ["close h%d" % (i + 1)]
    return ops


SYNC = ["syncfs"]
INLINE = "-b 4096 -O inline_data"
CLUSTERS = "-b 4096 -O bigalloc"  # of 64 KiB
BARE = "-b 4096 -O ^has_journal"
EXT3, PLAIN = ("-t", "ext3"), ("-t", "ext4", "-O", "^extent,^64bit")
NOW, LOGGED = ("nodelalloc",), ("data=journal",)
# Name, block size or options of mke2fs, ops before counting, ops, what the kernel counted; where it
# is not ext4 as usual, what mke2fs makes and the mount's options, by names the replay knows too.
ROWS = [
    ("64 MiB by 8 KiB", 4096, [], new() + writes(8192, 8192) + SYNC,
     {"begin": 8192, "reserve": 16384, "order 1": 8192, "writepages": 1, "extents": 8,
      "handles": 18, "marks": 44, "alloc": 8}),
    ("64 MiB by 4 KiB", 4096, [], new() + writes(4096, 16384) + SYNC,
     {"begin": 16384, "reserve": 16384, "order 0": 16384, "extents": 8, "handles": 18,
      "marks": 44, "delayed": 16384}),
    ("64 MiB by 4 KiB, before writeback", 4096, [], new() + writes(4096, 16384),
     {"lookup": 32770, "handles": 2, "marks": 4}),
    ("fstime 256 x 2000 x 20", 4096, [], new() + writes(256, 2000, 20) + SYNC,
     {"begin": 40000, "order 0": 125, "reserve": 125, "extents": 1, "handles": 4, "marks": 9}),
    ("fstime 1024 x 2000 x 20", 4096, [], new() + writes(1024, 2000, 20) + SYNC,
     {"begin": 40000, "order 0": 500, "reserve": 500, "extents": 1}),
    ("fstime 4096 x 2000 x 20", 4096, [], new() + writes(4096, 2000, 20) + SYNC,
     {"begin": 40000, "order 0": 2000, "reserve": 2000, "extents": 2}),
    ("fstime 256 again, mapped", 4096, new() + writes(256, 2000) + SYNC,
     writes(256, 2000, 20) + SYNC, {"begin": 40000, "reserve": 0, "extents": 0, "handles": 0}),
    ("append 1 KiB x 20000", 4096, [], new() + writes(1024, 20000) + SYNC,
     {"begin": 20000, "order 0": 5000, "extents": 3, "handles": 8, "marks": 19}),
    ("rewrite 32 MB", 4096, new() + writes(4096, 8000) + SYNC, writes(4096, 8000) + SYNC,
     {"begin": 8000, "writepages": 1, "extents": 0, "handles": 0, "lookup": 0}),
    ("fsync after each of 200 appends", 4096, [], synced_appends(),
     {"begin": 200, "writepages": 200, "commits": 200, "marks": 1004, "alloc": 5, "pa": 195}),
    # syncfs begins to write home what earlier commits left before its own commit, and what its own
    # leaves behind it.
    ("20 files with fsync, then syncfs", 4096, [], files(20, fsync=True) + SYNC,
     {"requests": 26, "sectors": 1472}),
    ("20 files with fsync, 20 without, then syncfs", 4096, [],
     ["mkdir /d 0755"] + files(20, fsync=True) + files(20, "/d") + SYNC, {"requests": 32}),
    ("fallocate 16 MiB, then write it", 4096, new() + ["falloc h1 alloc 0 %d" % (16 * MIB)],
     writes(4096, 4096) + SYNC, {"begin": 4096, "reserve": 0, "extents": 2, "handles": 4,
                                 "marks": 8}),
    ("1000 files of 3000 bytes", 4096, [], files(1000) + SYNC,
     {"writepages": 1000, "handles": 3001, "marks": 9012, "commits": 1, "tx_blocks": 74}),
    ("64 MiB by 64 KiB", 4096, [], new() + writes(65536, 1024),
     {"begin": 1024, "order 4": 1024, "reserve": 16384, "lookup": 32770}),
    ("64 MiB by 1 MiB", 4096, [], new() + writes(MIB, 64), {"begin": 64, "order 8": 64,
                                                            "reserve": 16384}),
    ("64 MiB by 4 MiB", 4096, [], new() + writes(4 * MIB, 16), {"begin": 32, "order 9": 32}),
    ("64 times 1,000,000 bytes", 4096, [], new() + writes(1000000, 64),
     {"begin": 628, "order 0": 127, "order 7": 59}),
    # How many marks there are follows from when the completions come, 110 to 159 in Linux: each
    # extent that is not merged yet may be the one that needs a leaf.  So once without a count of
    # them, and once with completions that come before the next extent.
    ("1 KiB blocks, 64 MiB by 4 KiB", 1024, [], new() + writes(4096, 16384) + SYNC,
     {"begin": 16384, "reserve": 65536, "extents": 32, "handles": 66}),
    ("1 KiB blocks, fsync after each 2 MiB", 1024, [], synced_pieces(4096, 512, 32),
     {"begin": 16384, "reserve": 65536, "extents": 32, "marks": 170, "alloc": 39}),
    ("inline, 500 files of 100 bytes", INLINE, [], inline_files(500, 100) + SYNC,
     {"begin": 500, "reserve": 0, "writepages": 500, "extents": 0, "handles": 1001, "marks": 2506}),
    ("inline, 1000 rewrites of a byte", INLINE, new() + writes(100, 1) + SYNC,
     writes(1, 1, 1000) + SYNC, {"begin": 1000, "reserve": 0, "handles": 1000, "marks": 1000}),
    ("inline, 12 appends of 10 bytes", INLINE, [], new() + writes(10, 12) + SYNC,
     {"begin": 12, "reserve": 0, "handles": 14, "marks": 16}),
    ("inline, 30 appends of 10 bytes", INLINE, [], new() + writes(10, 30),
     {"begin": 30, "reserve": 1, "handles": 15, "marks": 16}),
    ("inline, 30 appends of 10 bytes, then syncfs", INLINE, [], new() + writes(10, 30) + SYNC,
     {"begin": 30, "reserve": 1, "writepages": 1, "extents": 1, "handles": 18, "marks": 22}),
    ("inline, first write of 8 KiB", INLINE, [], new() + writes(8192, 1) + SYNC,
     {"begin": 2, "reserve": 2, "extents": 1, "handles": 5, "marks": 9}),
    ("inline, 8 KiB over 100 bytes", INLINE, new() + writes(100, 1) + SYNC,
     writes(8192, 1) + SYNC, {"begin": 2, "reserve": 2, "handles": 4, "marks": 6}),
    ("inline, fallocate over 100 bytes", INLINE, new() + writes(100, 1) + SYNC,
     ["falloc h1 alloc 0 8192"] + SYNC, {"extents": 0, "alloc": 1, "pa": 1, "handles": 3,
                                         "marks": 7}),
    ("inline, truncation to 70 and 10 bytes", INLINE, new() + writes(100, 1) + SYNC,
     ["ftruncate h1 70", "ftruncate h1 10"] + SYNC, {"handles": 6, "marks": 6}),
    ("inline, truncation to 8 KiB", INLINE, new() + writes(100, 1) + SYNC,
     ["ftruncate h1 8192"] + SYNC, {"handles": 3, "marks": 5}),
    ("inline, a folder of 4 names", INLINE, [], folder(4, "n") + SYNC, {"handles": 5, "marks": 17}),
    ("inline, a folder that gets a block", INLINE, [], folder(12, "n") + SYNC,
     {"handles": 13, "marks": 46}),
    ("inline, a name less", INLINE, folder(4, "n") + SYNC, ["unlink /d/n2"] + SYNC,
     {"handles": 2, "marks": 5}),
    ("inline, a folder moves", INLINE, folder(2, "n") + ["mkdir /e 0755"] + SYNC,
     ["rename /d /e/d"] + SYNC, {"handles": 1, "marks": 5}),
    # Where the inode has no room for the entry Linux makes the value's inode twice.
    ("apart, 4 values of 10000 bytes", "-b 4096 -O ea_inode", new() + SYNC,
     ["setxattr h1 user.v%d %d" % (i, 10000 + i) for i in range(4)] + SYNC,
     {"handles": 4, "marks": 24}),
    ("apart, 20 equal values of 10000 bytes", "-b 4096 -O ea_inode", new() + SYNC,
     ["setxattr h1 user.v%d 10000" % i for i in range(20)] + SYNC, {"handles": 20, "marks": 7}),
    ("clusters, 64 MiB by 4 KiB", CLUSTERS, [], new() + writes(4096, 16384) + SYNC,
     {"begin": 16384, "delayed": 16384, "reserve": 1024, "extents": 8, "handles": 18, "marks": 44,
      "alloc": 8, "claims": 8}),
    ("clusters, fsync after each of 200 appends", CLUSTERS, [], synced_appends(),
     {"delayed": 200, "reserve": 13, "extents": 200, "marks": 817, "alloc": 5, "pa": 8,
      "claims": 13}),
    ("clusters, the next block of 100", CLUSTERS, new() + sparse(100, 65536) + SYNC,
     sparse(100, 65536, 4096) + SYNC,
     {"delayed": 100, "reserve": 0, "extents": 100, "handles": 200, "marks": 101, "alloc": 0,
      "pa": 0, "claims": 0}),
    ("clusters, 64 blocks allocated one by one", CLUSTERS, [],
     new() + ["falloc h1 alloc %d 4096" % (i * 8192) for i in range(64)] + SYNC,
     {"handles": 66, "marks": 82, "alloc": 9, "tx_blocks": 7}),
    ("clusters, allocated beside delayed blocks", CLUSTERS, [],
     new() + sparse(20, 65536) + ["falloc h1 keep %d 4096" % (i * 65536 + 8192) for i in range(20)] +
     SYNC, {"reserve": 20, "claims": 20, "extents": 20, "handles": 81, "marks": 110, "alloc": 21}),
    ("clusters, a hole of one and a half", CLUSTERS, new() + writes(4096, 64) + SYNC,
     ["falloc h1 punch 65536 98304"] + SYNC,
     {"handles": 1, "marks": 5, "frees": 1, "tx_blocks": 3}),
    ("clusters, a cut in the second", CLUSTERS, new() + writes(4096, 40) + SYNC,
     ["ftruncate h1 69632"] + SYNC, {"handles": 3, "marks": 6, "frees": 2, "tx_blocks": 4}),
    ("clusters, 8 MiB by 4 KiB, not delayed", CLUSTERS, [], new() + writes(4096, 2048),
     {"begin now": 2048, "handles": 2050, "marks": 4228, "alloc": 8, "pa": 120},
     ("-t", "ext4"), NOW),
    # What fsync writes of the metadata, and what is left for the sync of the device.
    ("no journal, fsync after each of 200 appends", BARE, [], synced_appends() + SYNC,
     {"requests": 404, "sectors": 3240}),
    ("no journal, fsync of a file two new folders deep", BARE, [],
     ["mkdir /d 0755", "mkdir /d/e 0755"] + new("/d/e/f") + writes(4096, 1) +
     ["fsync h1"] * 2 + SYNC,
     {"requests": 8, "sectors": 80}),
    ("no journal, fsync of 20 extents", BARE, [], new() + sparse(20, 8192) + ["fsync h1"] + SYNC,
     {"requests": 26, "sectors": 216}),
    ("no journal, names and modes with fsync", BARE, new() + writes(4096, 1) + SYNC,
     ["mkdir /d 0755", "link /f /d/l", "fsync h1", "rename /f /d/r", "fsync h1", "chmod h1 0600",
      "fsync h1"] + SYNC,
     {"requests": 12, "sectors": 96}),
    ("no journal, 64 MiB by 8 KiB", BARE, [],
     new() + writes(8192, 8192) + SYNC,
     {"begin": 8192, "reserve": 16384, "extents": 8, "handles": 0, "marks": 44, "alloc": 8}),
    ("ext3, 64 MiB by 4 KiB", 4096, [], new() + writes(4096, 16384) + SYNC,
     {"begin": 16384, "reserve": 16384, "extents": 24, "handles": 26, "marks": 71,
      "pointers": 32793, "alloc": 25, "lookup": 32794, "tx_blocks": 23, "ordered": 0}, EXT3, ()),
    ("without extents, 64 MiB by 4 KiB", 4096, [], new() + writes(4096, 16384) + SYNC,
     {"begin": 16384, "extents": 24, "handles": 26, "marks": 71, "alloc": 25, "pa": 16},
     PLAIN, ()),
    ("ext3, 64 MiB by 4 KiB, not delayed", 4096, [], new() + writes(4096, 16384),
     {"begin now": 16384, "handles": 16386, "marks": 32802, "pointers": 32769, "alloc": 32,
      "pa": 16369, "lookup": 16386}, EXT3, NOW),
    ("without extents, 64 MiB by 4 KiB, not delayed", 4096, [], new() + writes(4096, 16384),
     {"begin now": 16384, "handles": 16386, "marks": 32802, "alloc": 32, "pa": 16369},
     PLAIN, NOW),
    ("extents, 64 MiB by 4 KiB, not delayed", 4096, [], new() + writes(4096, 16384),
     {"begin now": 16384, "handles": 16386, "marks": 49156, "alloc": 15, "pa": 16369},
     ("-t", "ext4"), NOW),
    ("data=journal, 64 MiB by 4 KiB", 4096, [], new() + writes(4096, 16384),
     {"begin now": 16384, "handles": 16386, "marks": 49156, "alloc": 15, "pa": 16369, "commits": 6,
      "tx_blocks": 6 * 2690, "logged": 6 * 2702, "ordered": 0}, ("-t", "ext4"), LOGGED),
    ("data=journal, fsync after each of 200 appends", 4096, [], synced_appends(),
     {"begin now": 200, "writepages": 200, "commits": 200, "handles": 402, "marks": 604,
      "tx_blocks": 803, "logged": 1203}, ("-t", "ext4"), LOGGED),
    ("data=journal, 4 MiB rewritten", 4096, new() + writes(4096, 1024) + SYNC,
     writes(4096, 1024) + SYNC, {"begin now": 1024, "handles": 1026, "marks": 0, "commits": 2},
     ("-t", "ext4"), LOGGED),
    ("data=journal, 1 KiB blocks, 8 MiB by 4 KiB", 1024, [], new() + writes(4096, 2048) + SYNC,
     {"begin now": 2048, "handles": 2052, "marks": 18436, "commits": 3, "tx_blocks": 8203,
      "logged": 8342}, ("-t", "ext4"), LOGGED),
    ("data=journal of ext3, 8 MiB by 4 KiB", 4096, [], new() + writes(4096, 2048) + SYNC,
     {"begin now": 2048, "handles": 2052, "marks": 4116, "commits": 2, "tx_blocks": 2057,
      "logged": 2064}, EXT3, LOGGED),
    ("data=journal, cut 4 MiB to 20 KiB, to nothing", 4096, new() + writes(4096, 1024) + SYNC,
     ["ftruncate h1 20480", "ftruncate h1 0"] + SYNC,
     {"handles": 6, "marks": 17, "tx_blocks": 4}, ("-t", "ext4"), LOGGED),
    ("data=journal, 100 inline bytes become 8 KiB", INLINE, new() + writes(100, 1) + SYNC,
     writes(8192, 1) + SYNC, {"begin now": 2, "handles": 5, "marks": 7, "tx_blocks": 5},
     ("-t", "ext4"), LOGGED),
    ("data=writeback, 8 MiB by 4 KiB", 4096, [], new() + writes(4096, 2048) + SYNC,
     {"begin": 2048, "handles": 6, "marks": 14, "ordered": 0},
     ("-t", "ext4"), ("data=writeback",)),
    ("data=writeback, 8 MiB by 4 KiB, not delayed", 4096, [], new() + writes(4096, 2048) + SYNC,
     {"begin now": 2048, "handles": 2050, "marks": 6148, "ordered": 0, "tx_blocks": 6},
     ("-t", "ext4"), ("data=writeback",) + NOW),
    ("8 MiB by 4 KiB, not delayed, and synced", 4096, [], new() + writes(4096, 2048) + SYNC,
     {"begin now": 2048, "handles": 2050, "marks": 6148, "tx_blocks": 6}, ("-t", "ext4"), NOW),
    ("1 KiB blocks, 8 MiB by 4 KiB, not delayed", 1024, [], new() + writes(4096, 2048),
     {"begin now": 2048, "handles": 2050, "marks": 18436, "alloc": 11, "pa": 8181},
     ("-t", "ext4"), NOW),
    ("8 MiB by 64 KiB, not delayed", 4096, [], new() + writes(65536, 128),
     {"begin now": 128, "handles": 130, "marks": 4228, "alloc": 8, "pa": 2040},
     ("-t", "ext4"), NOW),
    # A gap in a block is zeroed, which orders the file in its commit; a file that was ordered once is
    # written by each later commit that waits for it.
    ("a write behind a gap of 4080 bytes", 4096, [], new() + ["write h1 4080 16"] + SYNC,
     {"begin": 1, "ordered": 1, "writepages": 2}),
    ("a write behind a gap of a block", 4096, [], new() + ["write h1 4096 16"] + SYNC,
     {"begin": 1, "ordered": 0, "writepages": 1}),
    ("a write behind a gap to the next block", 4096, new() + writes(100, 1) + SYNC,
     ["write h1 5000 16"] + SYNC, {"begin": 1, "ordered": 1, "writepages": 2}),
    ("written at once, behind a gap, then more", 4096, new() + ["write h1 4080 16"] + SYNC,
     writes(4096, 4, start=8192) + SYNC, {"begin": 4, "ordered": 1, "writepages": 2},
     ("-t", "ext4"), ("dioread_lock",)),
    ("written at once, then more", 4096, new() + writes(4096, 1) + SYNC,
     writes(4096, 4, start=8192) + SYNC, {"begin": 4, "ordered": 0, "writepages": 1},
     ("-t", "ext4"), ("dioread_lock",)),
    ("not delayed, behind a gap of 4080 bytes", 4096, [], new() + ["write h1 4080 16"] + SYNC,
     {"begin now": 1, "ordered": 1, "writepages": 2}, ("-t", "ext4"), NOW),
    # What no kernel here does: by the rules of ext3, and an inode of its own for each of 16 streams.
    ("ext3's rules, 16 streams of 4 MiB", 4096, [], streams(16, 1024),
     {"handles": 16384 + 17, "marks": 4 * 16384 + 48}, EXT3, ("allocation=ext3",)),
    ("ext3's rules after the first patch", 4096, [], streams(16, 1024),
     {"handles": 16384 + 17, "marks": 3 * 16384 + 48}, EXT3, ("allocation=ext3-patch1",)),
    ("ext3's rules after both patches", 4096, [], streams(16, 1024),
     {"handles": 16384 + 17, "marks": 2 * 16384 + 16 * 13 + 48}, EXT3,
     ("allocation=ext3-patched",)),
    ("ext3, cut 64 MiB to 20 KiB, to nothing", 4096, new() + writes(4096, 16384) + SYNC,
     ["ftruncate h1 20480", "ftruncate h1 0"] + SYNC,
     {"handles": 6, "marks": 42, "sum.jbd2_hs_requested": 113, "tx_blocks": 4}, EXT3, ()),
    ("ext3, a hole of 8 MiB", 4096, new() + writes(4096, 16384) + SYNC,
     ["falloc h1 punch %d %d" % (MIB, 8 * MIB)] + SYNC,
     {"handles": 1, "marks": 6, "tx_blocks": 6}, EXT3, ()),
    ("ext3, remove 64 MiB", 4096, new() + writes(4096, 16384) + SYNC,
     ["close h1", "unlink /f"] + SYNC,
     {"handles": 2, "marks": 40, "sum.jbd2_hs_requested": 94, "tx_blocks": 6}, EXT3, ()),
    ("ext3, 20 blocks", 4096, [], new() + writes(4096, 20) + SYNC,
     {"extents": 2, "handles": 4, "marks": 10, "tx_blocks": 7}, EXT3, ()),
    ("1 KiB blocks of ext3, 64 MiB by 4 KiB", 1024, [], new() + writes(4096, 16384) + SYNC,
     {"extents": 288, "handles": 290, "marks": 839, "alloc": 289, "pa": 256}, EXT3, ()),
]


def new_image(work, block, features=("-t", "ext4")):
    image = work + "/v.img"
    with open(image, "wb") as f:
        f.truncate(1 << 30)
    how = ["-b", str(block)] if isinstance(block, int) else block.split()
    subprocess.run(["mke2fs", "-q", "-F", *features] + how + ["-E",
                    "lazy_itable_init=1,lazy_journal_init=1", image], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return image


def write_trace(path, ops):
    with open(path, "w", encoding="ascii") as f:
        f.write("#wtrace 1\n#hz 250\n#clock realtime start=1700000000.0\n%ops\n")
        f.writelines("0 1 %s\n" % op for op in ops)


def replay_once(out, work, block, ops, features, options):
    write_trace(work + "/v.wtr", ops)
    done = subprocess.run([out + "/tests/tools/play", work + "/v.wtr",
                           new_image(work, block, features), *options],
                          check=True, text=True, stdout=subprocess.PIPE)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    got = {name: int(value) for group, name, value in rows if group in ("counter", "folio")}
    got["requests"] = got["disk.run.wr_ios"] - got["disk.run.flush_ios"]
    return got


def replay(out, work, block, before, ops, *how):
    got = replay_once(out, work, block, before + ops, *how)
    base = replay_once(out, work, block, before, *how) if before else {}
    return {name: n - base.get(name, 0) for name, n in got.items()}


def of_ops(lines, ops):
    """Without what the replay's own syncfs did after the last op, and where the log's blocks lie: a
    commit follows the clock."""
    last = len(lines)
    if ops[-1:] != SYNC:
        while last and not re.search(r": ext4_((da_|journalled_)?write_end|sync_file_exit): |caller ext4_(journalled_)?write_end", lines[last - 1]):
            last -= 1
    return [line for line in lines[:last] if " ino 8 lblk " not in line]


def timestamps(lines):
    """Handles and marks for the times of a file alone: those right before a write or an allocation
    begins.  The end of a write whose handle is open since its begin, an inline one, makes the same mark itself."""
    n, last, handles, own = 0, "", 0, False
    for line in lines:
        if re.search(r" ext4_((da_)?write_begin|fallocate_enter|punch_hole): ", line):
            n += "caller ext4_dirty_inode" in last
            handles = 0
        elif ": ext4_journal_start_inode: " in line:
            handles += 1
        elif ": jbd2_handle_stats: " in line:
            handles -= 1
        elif " ext4_da_write_end: " in line:
            own = handles > 0
        elif own and "caller ext4_dirty_inode" in line:
            own, last = False, ""
            continue
        if re.search(r": ext4_\w+: ", line):
            last = line
    return n


def written(device):
    """Write requests but for flushes, and sectors so far."""
    with open("/sys/block/%s/stat" % os.path.basename(device), encoding="ascii") as f:
        fields = [int(n) for n in f.read().split()]
    return fields[4] - fields[15], fields[6]


def play_on_kernel(out, work, mnt, before, ops):
    """The trace's lines, and how much was written meanwhile, with the replay's own syncfs."""
    play, log = [out + "/tests/tools/play", work + "/v.wtr", "dir:" + mnt, "asap"], work + "/log"
    if before:
        write_trace(work + "/v.wtr", before)
        subprocess.run(play, check=True, stdout=subprocess.DEVNULL)
        ops = ["open h1 /f rw"] + ops
    write_trace(work + "/v.wtr", ops)
    device = subprocess.run(["findmnt", "-no", "SOURCE", mnt], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.strip()
    start = written(device)
    subprocess.run(["taskset", "-c", "0", sys.executable, HERE + "/events.py", device,
                    work + "/counters"] + play, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, EVENTS_LOG=log))
    end = written(device)
    with open(log, encoding="utf-8", errors="replace") as f:
        return of_ops(list(f), ops), [b - a for a, b in zip(start, end)]


def kernel(out, work, block, before, ops, features, options):
    mnt = work + "/mnt"
    os.makedirs(mnt, exist_ok=True)
    options = ",".join(("loop,noinit_itable",) + options)
    subprocess.run(["mount", "-t", "ext4", "-o", options, new_image(work, block, features), mnt],
                   check=True)
    try:
        lines, (requests, sectors) = play_on_kernel(out, work, mnt, before, ops)
    finally:
        subprocess.run(["umount", mnt], check=True)
    got, spent = events.tally(lines, None), timestamps(lines)
    got[EVENT["marks"]] -= spent
    if "^has_journal" not in str(block):
        got[EVENT["handles"]] -= spent
    got["requests"], got[EVENT["sectors"]] = requests, sectors
    return got


def main():
    bad = 0
    measure = kernel if "--kernel" in sys.argv[2:] else replay
    with tempfile.TemporaryDirectory(prefix="extkit-vectors-", dir="/var/tmp") as work:
        for name, block, before, ops, want, *how in ROWS:
            how = how or [("-t", "ext4"), ()]
            if measure == kernel and any("ext3" in option for option in how[1]):
                continue
            if measure == kernel:
                want = {key: n for key, n in want.items() if not key.startswith("order")}
            got = measure(sys.argv[1], work, block, before, ops, *how)
            wrong = []
            for key, value in want.items():
                what = EVENT.get(key, key)
                n = got.get(what, 0)
                if n != value:
                    wrong.append("%s %d, in the row %d" % (key, n, value))
            bad += bool(wrong)
            print("%s - %s: %s" % ("not ok" if wrong else "ok", name, "; ".join(wrong) or
                                   "%d counts" % len(want)))
            os.remove(work + "/v.img")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
