#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Level D: does a policy change our counters in the direction in which it changes the kernel's?

    tests/accuracy/policies.py OUT [recording...]

policies.tsv has what a kernel counted for each recording under other mount or mke2fs options, and
variance.tsv how much its counts vary from run to run without any.  Those are runs of the programs;
policies-replayed.tsv has replays of the same traces on kernel mounts (policies_live.py).  Each
recording is replayed under the same options here.  Wherever the kernel's replays show a difference,
which is where all counts with the policy lie on one side of all without it, ours must have its sign,
except where policies-differ.tsv says that it has not (doc/ACCURACY.md, level D).  Needs root, loop
devices and mke2fs; 77 without them.
Exit status 1: a sign differs that is not in that list, or an image is not clean.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(HERE, "tests/data/traces")

# mke2fs options and settings of the replay, by the kernel's mount or mke2fs option
POLICIES = {
    "base": (["-b", "4096"], []),
    "nodelalloc": (["-b", "4096"], ["allocation=nodelalloc"]),
    "dioread_lock": (["-b", "4096"], ["completion=written"]),
    "ext3fmt": (["-b", "4096", "-O", "^extent,^64bit,^metadata_csum"], ["allocation=nodelalloc"]),
    "journal": (["-b", "4096"], ["data=journal"]),
    "writeback": (["-b", "4096"], ["data=writeback"]),
    "nojournal": (["-b", "4096", "-O", "^has_journal"], []),
    "b1k": (["-b", "1024"], []),
}

# the table's columns and our rows
COLUMNS = {
    "extents": ["extents"],
    "blocks_allocated": ["sum.allocated_blocks_data"],
    "writepages": ["event.ext4_writepages"],
    "wp_extents": ["event.ext4_da_write_pages_extent"],
    "allocate_calls": ["event.ext4_allocate_blocks"],
    "da_reserve": ["event.ext4_da_reserve_space"],
    "write_begin": ["event.ext4_da_write_begin", "event.ext4_write_begin"],
    "dirty_folio": ["event.writeback_dirty_folio"],
    "mark_inode_dirty": ["event.ext4_mark_inode_dirty"],
    "jbd2_handles": ["sum.jbd2_tx_handles"],
    "jbd2_commits": ["event.jbd2_end_commit"],
    "jbd2_tx_blocks": ["sum.jbd2_tx_blocks"],
    "jbd2_blocks_logged": ["sum.jbd2_tx_blocks_logged"],
    "blk_write_ios": ["disk.run.wr_ios"],
    "blk_write_sectors": ["disk.run.wr_sect"],
    "blk_flushes": ["disk.run.flush_ios"],
}


def table(path):
    with open(path, encoding="utf-8") as f:
        head = f.readline().rstrip("\n").split("\t")
        return [dict(zip(head, line.rstrip("\n").split("\t"))) for line in f]


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def unpack(name, work):
    for f, to in (("strace.txt", "strace.txt"), ("initial.tsv", "initial.tsv")):
        with open(os.path.join(work, to), "wb") as out:
            subprocess.run(["zstd", "-qdc", f"{DATA}/{name}/{f}.zst"], check=True, stdout=out)


def fresh(image, size, options):
    if os.path.exists(image):
        os.unlink(image)
    with open(image, "wb") as f:
        f.truncate(size)
    run("mke2fs", "-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=0,lazy_journal_init=0",
        *options, image)


def replay(out, trace, image, phase, settings):
    rows = {}
    sets = [a for s in settings for a in ("--set", s)]
    text = run(f"{out}/extkit", "replay", "--json", "--lenient", "--no-stores",
               "--tick-phase", phase, *sets, trace, image)
    for r in json.loads(text)["report"]:
        key = r["name"] if r["group"] == "counter" else f"{r['group']}.{r['name']}"
        rows[key] = r["value"]
    rows["extents"] = rows.get("extent.extents", 0)
    return {c: sum(rows.get(n, 0) for n in names) for c, names in COLUMNS.items()}


def sign(x):
    return (x > 0) - (x < 0)


def size_of(text):
    units = {"K": 10, "M": 20, "G": 30}
    return int(text[:-1]) << units[text[-1]] if text[-1] in units else int(text)


class Kernel:
    """What the kernel's counts say of a cell: a recording, a policy and a counter."""

    def __init__(self):
        self.rows = {(r["workload"], r["policy"]): r for r in table(f"{DATA}/policies.tsv")}
        self.spread = {(r["workload"], r["counter"]): float(r["max"]) - float(r["min"])
                       for r in table(f"{DATA}/variance.tsv")}
        self.replays = {(r["workload"], r["policy"], r["counter"]): (int(r["min"]), int(r["max"]))
                        for r in table(f"{DATA}/policies-replayed.tsv")}

    def has(self, name, policy):
        return (name, policy) in self.rows

    def recorded(self, name, policy, counter):
        """The difference, 0 when it is within the spread."""
        diff = float(self.rows[name, policy][counter]) - float(self.rows[name, "base"][counter])
        return diff if abs(diff) > self.spread[name, counter] else 0

    def replayed(self, name, policy, counter):
        """The smallest difference between any two replays, 0 when their ranges meet."""
        low, high = self.replays[name, policy, counter]
        base_low, base_high = self.replays[name, "base", counter]
        return max(low - base_high, 0) + min(high - base_low, 0)


def our_counts(out, work, image, wrong):
    """By policy; images that are not clean go to wrong."""
    name, ours = image["name"], {}
    unpack(name, work)
    trace = f"{work}/t.wtr"
    run(f"{out}/extkit", "trace", "import", "-q", "--root", "/t", "--initial",
        f"{work}/initial.tsv", f"{work}/strace.txt", "-o", trace)
    for policy, (mke2fs, settings) in POLICIES.items():
        fresh(f"{work}/p.img", size_of(image["image"]), mke2fs)
        ours[policy] = replay(out, trace, f"{work}/p.img", image["tick_phase"], settings)
        fsck = subprocess.run(["e2fsck", "-fn", f"{work}/p.img"], capture_output=True,
                              check=False)
        if fsck.returncode != 0:
            wrong.append((name, policy, "e2fsck", 0, 0, fsck.returncode))
    return ours


def judge(kernel, name, ours, tally, wrong):
    for policy in POLICIES:
        if policy == "base" or not kernel.has(name, policy):
            continue
        for c in COLUMNS:
            recorded = sign(kernel.recorded(name, policy, c))
            replayed = sign(kernel.replayed(name, policy, c))
            mine = sign(ours[policy][c] - ours["base"][c])
            tally["recorded"] += recorded != 0
            tally["recorded, same here"] += recorded != 0 and mine == recorded
            again = recorded != 0 and recorded == replayed
            tally["recorded and replayed"] += again
            tally["recorded and replayed, same here"] += again and mine == recorded
            tally["replayed"] += replayed != 0
            tally["replayed, same here"] += replayed != 0 and mine == replayed
            if replayed != 0 and mine != replayed:
                wrong.append((name, policy, c, kernel.recorded(name, policy, c),
                              kernel.replayed(name, policy, c), ours[policy][c] - ours["base"][c]))


def tell(known, wrong):
    """Differences that are not in the list."""
    fresh_ones = 0
    for name, policy, c, recorded, replayed, mine in wrong:
        is_known = (name, policy, c) in known
        fresh_ones += not is_known
        print(f"{name}\t{policy}\t{c}\trecorded {recorded:+g}\treplayed {replayed:+g}\t"
              f"ours {mine:+g}\t{'known' if is_known else 'not known'}")
    return fresh_ones


def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(args) < 1:
        print(__doc__, file=sys.stderr)
        return 2
    if os.getuid() != 0 or shutil.which("mke2fs") is None:
        print("policies: not root, or no mke2fs: nothing was compared", file=sys.stderr)
        return 77
    out, names = args[0], args[1:]
    kernel, tally, wrong = Kernel(), defaultdict(int), []
    with tempfile.TemporaryDirectory(prefix="extkit-policies-", dir="/var/tmp") as work:
        for image in table(f"{DATA}/images.tsv"):
            if names and image["name"] not in names:
                continue
            judge(kernel, image["name"], our_counts(out, work, image, wrong), tally, wrong)
            print(f"# {image['name']}: done", file=sys.stderr)
    known = {(r["workload"], r["policy"], r["counter"])
             for r in table(f"{DATA}/policies-differ.tsv")}
    fresh_ones = tell(known, wrong)
    for what, n in tally.items():
        print(f"{n}\t{what}")
    return 1 if fresh_ones else 0


if __name__ == "__main__":
    sys.exit(main())
