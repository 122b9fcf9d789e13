#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Counts what the kernel did on one mounted device: events.py DEVICE COUNTERS COMMAND...

Runs the command with the ext4, jbd2 and writeback tracepoints of the device on, in a tracefs
instance of its own, and writes COUNTERS as rows "counter value" with the names of the recordings:
event.NAME counts, sum.NAME adds a field up.  An optional environment EVENTS_LOG keeps the events.
"""
import collections
import os
import re
import subprocess
import sys

SUMS = {"ext4_allocate_blocks": [("len", "sum.allocated_blocks_data")],
        "ext4_da_write_pages_extent": [("len", "sum.wp_extent_blocks")],
        "jbd2_handle_stats": [("requested_blocks", "sum.jbd2_hs_requested"),
                              ("dirtied_blocks", "sum.jbd2_hs_dirtied")],
        "jbd2_run_stats": [("handle_count", "sum.jbd2_tx_handles"), ("blocks", "sum.jbd2_tx_blocks"),
                           ("blocks_logged", "sum.jbd2_tx_blocks_logged")]}
LINE = re.compile(r"^.{16,}?\s\[\d+\]\s+\S+\s+[\d.]+: (\w+): (.*)$")


def put(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


class Recorder:
    """A tracefs instance; the mount is ours when there was none."""

    def __init__(self, device):
        number = os.stat(device).st_rdev
        self.dev = os.major(number) << 20 | os.minor(number)
        self.name = "%d:%d" % (os.major(number), os.minor(number))
        self.mounted = None
        top = "/sys/kernel/tracing"
        if not os.path.isdir(top + "/events"):
            top = self.mounted = "/run/extkit-tracefs-%d" % os.getpid()
            os.makedirs(top)
            subprocess.run(["mount", "-t", "tracefs", "none", top], check=True)
        self.at = "%s/instances/extkit-%d" % (top, os.getpid())
        os.mkdir(self.at)

    def start(self):
        put(self.at + "/buffer_size_kb", "98304")
        for system in ("ext4", "jbd2"):
            put("%s/events/%s/filter" % (self.at, system), "dev == %d" % self.dev)
            put("%s/events/%s/enable" % (self.at, system), "1")
        folio = self.at + "/events/writeback/writeback_dirty_folio"
        put(folio + "/filter", 'name == "%s"' % self.name)
        put(folio + "/enable", "1")

    def stop(self):
        put(self.at + "/tracing_on", "0")

    def lines(self):
        with open(self.at + "/trace", encoding="utf-8", errors="replace") as f:
            yield from f

    def close(self):
        os.rmdir(self.at)
        if self.mounted:
            subprocess.run(["umount", self.mounted], check=False)
            os.rmdir(self.mounted)


def tally(lines, log):
    total = collections.Counter()
    for line in lines:
        if log:
            log.write(line)
        if line.startswith("#") and "entries-in-buffer" in line:
            kept, written = line.split(":")[1].split()[0].split("/")
            if kept != written:
                total["lost"] = int(written) - int(kept)
        m = LINE.match(line)
        if not m:
            continue
        total["event." + m.group(1)] += 1
        for field, name in SUMS.get(m.group(1), ()):
            v = re.search(r"\b%s (\d+)" % field, m.group(2))
            total[name] += int(v.group(1)) if v else 0
    return total


def main():
    recorder = Recorder(sys.argv[1])
    try:
        recorder.start()
        rc = subprocess.run(sys.argv[3:], check=False).returncode
        recorder.stop()
        log = os.environ.get("EVENTS_LOG")
        with open(log or os.devnull, "w", encoding="utf-8") as f:
            total = tally(recorder.lines(), f if log else None)
    finally:
        recorder.close()
    with open(sys.argv[2], "w", encoding="ascii") as f:
        f.write("counter\tvalue\n")
        f.writelines("%s\t%d\n" % row for row in sorted(total.items()))
    sys.exit(rc)


if __name__ == "__main__":
    main()
