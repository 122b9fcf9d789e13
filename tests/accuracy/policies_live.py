#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the running kernel counts for the same trace under each policy, over and over.

    tests/accuracy/policies_live.py OUT RUNS TABLE [recording...]

policies.tsv compares runs of the programs themselves, two or one under each policy.  Here each
recording's trace is replayed, at its recorded pace, onto a loop mount with the mount and mke2fs
options of the policy, RUNS times, in turns: what differs then is the policy's doing or chance, and
how much chance there is shows in the runs.  TABLE gets rows "workload policy counter runs min max";
runs that it has already stay, and these are added.  Needs root, loop devices, mke2fs and tracefs.
"""

import os
import subprocess
import sys
import tempfile

import events
from policies import COLUMNS, DATA, POLICIES, fresh, run, size_of, table, unpack

HERE = os.path.dirname(os.path.abspath(__file__))
MOUNT = {
    "nodelalloc": "nodelalloc",
    "ext3fmt": "nodelalloc",
    "dioread_lock": "dioread_lock",
    "journal": "data=journal",
    "writeback": "data=writeback",
}


def disk(device):
    """Write requests, sectors and flushes of a block device so far."""
    with open(f"/sys/class/block/{os.path.basename(device)}/stat", encoding="ascii") as f:
        v = [int(x) for x in f.read().split()]
    return {"disk.run.wr_ios": v[4], "disk.run.wr_sect": v[6], "disk.run.flush_ios": v[15]}


def count_extents(mnt, work):
    tree = os.path.join(HERE, "../tools/tree.py")
    run("python3", tree, mnt, f"{work}/tree.tsv", f"{work}/extents.tsv")
    return len(table(f"{work}/extents.tsv"))


def play(out, work, mnt):
    """Counters of the trace alone: the files it begins with are there before."""
    device = run("findmnt", "-no", "SOURCE", mnt).strip()
    run(f"{out}/tests/tools/play", f"{work}/init.wtr", f"dir:{mnt}")
    os.sync()
    before = disk(device)
    recorder = events.Recorder(device)
    try:
        recorder.start()
        run(f"{out}/tests/tools/play", f"{work}/t.wtr", f"dir:{mnt}", "real", "no-stores",
            "no-initial", "lenient")
        recorder.stop()
        rows = events.tally(recorder.lines(), None)
    finally:
        recorder.close()
    if rows["lost"]:
        sys.exit(f"policies_live: {rows['lost']} events were lost")
    rows.update({k: v - before[k] for k, v in disk(device).items()})
    return rows


def replay(out, work, image, policy):
    mnt = f"{work}/mnt"
    fresh(f"{work}/p.img", size_of(image["image"]), POLICIES[policy][0])
    options = ",".join(["loop"] + ([MOUNT[policy]] if policy in MOUNT else []))
    run("mount", "-o", options, f"{work}/p.img", mnt)
    try:
        os.rmdir(f"{mnt}/lost+found")
        rows = play(out, work, mnt)
        rows["extents"] = count_extents(mnt, work)
    finally:
        run("umount", mnt)
    return {c: sum(rows.get(n, 0) for n in names) for c, names in COLUMNS.items()}


def import_trace(out, work, name):
    unpack(name, work)
    run(f"{out}/extkit", "trace", "import", "-q", "--root", "/t", "--initial",
        f"{work}/initial.tsv", f"{work}/strace.txt", "-o", f"{work}/t.wtr")
    with open(f"{work}/t.wtr", encoding="utf-8") as f, \
            open(f"{work}/init.wtr", "w", encoding="utf-8") as to:
        for line in f:
            if line.startswith("%ops"):
                break
            to.write(line)


class Ranges:
    """The lowest and the highest count of each cell, and of how many runs."""

    def __init__(self, path):
        self.path = path
        self.rows = {}
        for r in table(path) if os.path.exists(path) else []:
            self.rows[r["workload"], r["policy"], r["counter"]] = [
                int(r["runs"]), int(r["min"]), int(r["max"])]

    def add(self, key, value):
        runs, low, high = self.rows.get(key, (0, value, value))
        self.rows[key] = [runs + 1, min(low, value), max(high, value)]

    def save(self):
        with open(self.path, "w", encoding="ascii") as f:
            f.write("workload\tpolicy\tcounter\truns\tmin\tmax\n")
            for key, v in self.rows.items():
                f.write("\t".join(str(x) for x in (*key, *v)) + "\n")


def main():
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    out, runs, ranges, names = sys.argv[1], int(sys.argv[2]), Ranges(sys.argv[3]), sys.argv[4:]
    for image in table(f"{DATA}/images.tsv"):
        name = image["name"]
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="extkit-live-", dir="/var/tmp") as work:
            os.mkdir(f"{work}/mnt")
            import_trace(out, work, name)
            for policy in list(POLICIES) * runs:
                for counter, v in replay(out, work, image, policy).items():
                    ranges.add((name, policy, counter), v)
        ranges.save()
        print(f"# {name}: done", file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as e:
        sys.exit(f"policies_live: {' '.join(e.cmd)}: {e.stderr}")
