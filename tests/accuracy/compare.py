#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares one replay with the kernel's: compare.py NAME FOLDER VARIANCE [asap] [markdown]

FOLDER holds the listings and counters that tests/accuracy/run made.  Level A is what a program can
see of the files afterwards, level B is where extents begin and end and how they were asked for;
both are exact or wrong.  Level C are counters that depend on time, in bands.  Physical addresses
and inode numbers are not judged.
"""
import csv
import glob
import hashlib
import os
import sys

# Replays of one thread without background writeback: level B is exact for them, bounded for others.
STRICT = ("dd-8k", "sqlite-insert", "tar-x-src", "fstime-copy")
# Rows of level B: our name of the counter is the kernel's.
EXACT = ["event.ext4_da_write_begin", "event.ext4_da_reserve_space", "event.ext4_request_blocks",
         "event.ext4_allocate_blocks", "event.ext4_da_write_pages_extent", "event.ext4_writepages",
         "sum.allocated_blocks_data", "sum.wp_extent_blocks", "event.jbd2_end_commit"]
# Rows of level C: name in variance.tsv, relative and absolute tolerance, follows the clock.  How much
# is logged does not: it depends on whether I/O ends before or after a commit begins, at any pace.
BANDS = [("event.ext4_writepages", "writepages", 0.10, 0, False),
         ("event.jbd2_end_commit", "jbd2_commits", 0.10, 2, False),
         ("event.jbd2_handle_start", "jbd2_handles", 0.05, 0, True),
         ("event.ext4_mark_inode_dirty", "mark_inode_dirty", 0.05, 0, True),
         ("sum.jbd2_tx_blocks_logged", "jbd2_blocks_logged", 0.05, 0, False),
         ("disk.run.wr_sect", "blk_write_sectors", 0.05, 0, False),
         ("disk.run.wr_ios", "blk_write_ios", 0.10, 0, False)]
# Shown beside them: they tell where a difference comes from.
SHOWN = ["event.ext4_es_insert_delayed_extent", "event.ext4_es_insert_extent",
         "event.ext4_es_remove_extent",
         "event.ext4_es_lookup_extent_enter", "event.ext4_ext_map_blocks_enter",
         "event.ext4_ext_handle_unwritten_extents", "event.ext4_mballoc_alloc",
         "event.ext4_mballoc_prealloc", "event.ext4_mb_new_inode_pa", "event.ext4_mb_new_group_pa",
         "event.ext4_discard_preallocations", "event.ext4_free_blocks",
         "event.ext4_allocate_inode", "event.ext4_free_inode", "event.ext4_journal_start_inode",
         "event.ext4_journal_start_sb", "event.ext4_journal_start_reserved",
         "event.writeback_dirty_folio", "sum.jbd2_tx_blocks", "sum.jbd2_hs_requested",
         "sum.jbd2_hs_dirtied"]
# Files whose recorded content has another origin: the early importer that made ops.wtr did not see
# where a copy came from (make-c), or the file is an old one that was partly overwritten (pgbench).
OTHER_ORIGIN = {("make-c", "/t/inst/bin/prog"), ("make-c", "/t/inst/lib/libm16.a"),
                ("pgbench-small", "/t/pg/pg_wal/00000001000000000000000B")}


def table(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def pattern(n):
    return hashlib.sha256((bytes(range(256)) * (n // 256 + 1))[:n]).hexdigest()


def content_ok(name, want, ours, initial, old):
    """Whether the content of a file is what a replay with our initial files must give; None when
    the recording cannot tell."""
    if want["sha256_or_target"] == ours["sha256_or_target"]:
        return True
    if want["type"] != "f":
        return False
    if (want["size"], want["sha256_or_target"]) in old:
        return ours["sha256_or_target"] == pattern(int(ours["size"]))
    if want["path"] in initial or (name, want["path"]) in OTHER_ORIGIN:
        return None
    return False


def differences(want, ours, judge):
    """Lines that say what differs, and how many contents could not be judged."""
    out, unknown = [], 0
    for path in sorted(set(want) | set(ours)):
        if path not in ours or path not in want:
            out.append("%s: %s" % (path, "missing" if path not in ours else "too much"))
            continue
        w, o = want[path], ours[path]
        out += ["%s: %s %s, kernel %s" % (path, k, o[k], w[k]) for k in
                ("type", "mode", "uid", "gid", "nlink", "size", "blocks512") if w[k] != o[k]]
        good = judge(w, o)
        unknown += good is None
        if good is False:
            out.append("%s: content %s, kernel %s" % (path, o["sha256_or_target"][:16],
                                                      w["sha256_or_target"][:16]))
    return out, unknown


def shape(path):
    """Extents without places: logical block, length, unwritten."""
    files = {}
    for r in table(path):
        files.setdefault(r["path"], []).append(
            (int(r["logical_block"]), int(r["length_blocks"]), "unwritten" in r["flags"]))
    return {path: sorted(rows) for path, rows in files.items()}


def by_path(path):
    return {r["path"]: r for r in table(path)}


def used(folder, kernel):
    """Blocks and inodes taken by the ops, where they are not as many as in the kernel."""
    with open(folder + "/free.txt", encoding="ascii") as f:
        blocks, inodes, blocks_after, inodes_after = (int(w) for w in f.read().split())
    return ["%s used: %d, kernel %d" % (what, n, kernel["fs.%s_used_delta" % what])
            for what, n in (("blocks", blocks - blocks_after), ("inodes", inodes - inodes_after))
            if n != kernel["fs.%s_used_delta" % what]]


def level_a(name, folder, kernel):
    ours = by_path(folder + "/our-tree.tsv")
    initial = by_path(folder + "/initial.tsv")
    old = {(r["size"], r["sha256_or_target"]) for r in initial.values() if r["type"] == "f"}
    bad, unknown = differences(by_path(folder + "/kreplay-tree.tsv"), ours,
                               lambda w, o: content_ok(name, w, o, initial, old))
    if os.path.exists(folder + "/live-tree.tsv"):
        now, unknown = differences(by_path(folder + "/live-tree.tsv"), ours,
                                   lambda w, o: w["sha256_or_target"] == o["sha256_or_target"])
        bad += ["now: " + d for d in now]
    with open(folder + "/fsck.rc", encoding="ascii") as f:
        if f.read().strip() != "0":
            bad.insert(0, "e2fsck is not satisfied")
    bad += used(folder, kernel)
    return bad, len(ours), unknown


def level_b(name, folder, ours, kernel):
    bad = []
    want, got = shape(folder + "/kreplay-extents.tsv"), shape(folder + "/our-extents.tsv")
    total_want, total = (sum(len(v) for v in s.values()) for s in (want, got))
    strict = name in STRICT
    for path in sorted(set(want) | set(got)):
        w, o = want.get(path, []), got.get(path, [])
        if w != o and (strict or abs(len(w) - len(o)) > 1):
            bad.append("%s: extents %s, kernel %s" % (path, o, w))
    if not strict and abs(total - total_want) > max(1, total_want * 0.02):
        bad.append("%d extents, kernel %d" % (total, total_want))
    for row in EXACT if strict else []:
        if ours.get(row, 0) != kernel.get(row, 0):
            bad.append("%s %d, kernel %d" % (row, ours.get(row, 0), kernel.get(row, 0)))
    return bad, total, total_want


def level_c(name, numbers, paced):
    """Rows of counter, kernel's lowest and highest, ours, verdict.  What follows the clock is held
    against runs at the same pace: the one under strace and the one of now, or the fast ones."""
    rows = []
    for key, short, rel, least, timed in BANDS:
        fast = [numbers["kernel"].get(key, 0)] + numbers["runs"].get((name, short), [])
        slow = [numbers["strace"][(name, short)]] if (name, short) in numbers["strace"] else []
        slow += [live[key] for live in numbers["live"] if key in live]
        band = (slow or fast) if timed and paced else fast if timed else fast + slow
        lo, hi, o = min(band), max(band), numbers["ours"].get(key, 0)
        inside = lo - max(rel * lo, least) <= o <= hi + max(rel * hi, least)
        rows.append((key, lo, hi, o, "in" if inside else "OUT"))
    return rows


def counters(path):
    if not os.path.exists(path):
        return {}
    return {r["counter"]: int(float(r["value"])) for r in table(path)}


def read_numbers(folder, variance_path):
    rows = table(variance_path)
    n = {"runs": {(r["workload"], r["counter"]): [float(r["min"]), float(r["max"])] for r in rows},
         "strace": {(r["workload"], r["counter"]): float(r["run_under_strace"]) for r in rows},
         "kernel": counters(folder + "/kreplay-counters.tsv"),
         "live": [counters(p) for p in sorted(glob.glob(folder + "/live-counters-*.tsv"))],
         "ours": {}, "failed": 0, "missed": 0}
    with open(folder + "/report.tsv", encoding="utf-8") as f:
        for line in f:
            group, what, value = line.rstrip("\n").split("\t")
            if group == "counter":
                n["ours"][what] = int(value)
            elif group in ("failed", "missed"):
                n[group] += int(value)
    return n


def show(name, a, b, c, n):
    bad_a, files, unknown = a
    bad_b, extents, kernel_extents = b
    print("== %s: %d names, %d extents (kernel %d)" % (name, files, extents, kernel_extents))
    print("A %s" % ("exact" if not bad_a else "%d differences" % len(bad_a)) +
          (", content of %d files not judged" % unknown if unknown else "") +
          (", %d ops failed" % n["failed"] if n["failed"] else "") +
          (", %d missed" % n["missed"] if n["missed"] else ""))
    for line in bad_a[:12]:
        print("    " + line[:300])
    word = "exact" if name in STRICT else "in bounds"
    print("B %s" % (word if not bad_b else "%d differences" % len(bad_b)))
    for line in bad_b[:20]:
        print("    " + line[:300])
    print("C %-44s %15s %9s" % ("", "kernel", "ours"))
    for key, lo, hi, o, verdict in c:
        print("  %-44s %7g-%-7g %9d  %s" % (key, lo, hi, o, verdict))
    print("  %-44s %7s %7s %9s" % ("also", "kreplay", "now", "ours"))
    for key in SHOWN:
        k, o = n["kernel"].get(key, 0), n["ours"].get(key, 0)
        l = n["live"][0].get(key, 0) if n["live"] else ""
        print("  %-44s %7d %7s %9d  %s" % (key, k, l, o, "" if o in (k, l) else "%+d" % (o - k)))


def markdown(name, a, b, c):
    exact = "exact" if name in STRICT else "in bounds"
    cells = ["%d%s" % (o, " (%g)" % lo if lo == hi else " (%g-%g)" % (lo, hi)) if verdict == "in"
             else "**%d** (%g-%g)" % (o, lo, hi) for _, lo, hi, o, verdict in c]
    print("| %s | %s | %s | %d (%d) | %s |" % (
        name, "exact" if not a[0] else "**%d differ**" % len(a[0]),
        exact if not b[0] else "**%d differ**" % len(b[0]), b[1], b[2], " | ".join(cells)))


def main():
    name, folder, variance_path = sys.argv[1:4]
    words = sys.argv[4:]
    n = read_numbers(folder, variance_path)
    a = level_a(name, folder, n["kernel"])
    b = level_b(name, folder, n["ours"], n["kernel"])
    c = level_c(name, n, "asap" not in words)
    if "markdown" in words:
        markdown(name, a, b, c)
    else:
        show(name, a, b, c, n)
    sys.exit(1 if a[0] or b[0] or n["failed"] or n["missed"] else 0)


if __name__ == "__main__":
    main()
