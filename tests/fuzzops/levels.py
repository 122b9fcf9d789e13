#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A random workload on sparse files around the borders of pointer blocks: levels.py SEED OPS BLOCK

Writes, punches and cuts begin and end at, before and behind the first block of each level, and of
pointer blocks inside the second and third.
"""
import random
import sys


def borders(per):
    """The third level of larger blocks begins behind 4 GiB: too much to be read and compared."""
    first = [0, 12, 12 + per, 12 + per + per * per]
    inside = [first[2] + per * k for k in (1, 2, 5)]
    deep = [first[2] + per * (per - 1)]
    deep += [first[3] + k for k in (0, per, per * per, per * per + per, 2 * per * per + 3 * per)]
    return first[:3] + inside + (deep if per <= 256 else [])


def main():
    seed, ops, block = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    r, at = random.Random(seed), borders(block // 4)

    def place():
        return max(0, (r.choice(at) + r.choice([-13, -2, -1, 0, 0, 1, 2, 12])) * block
                   + r.choice([0, 0, 0, 1, block // 2, block - 1]))

    print("#wtrace 1\n#hz 250\n#clock realtime start=1700000000.0\n%ops")
    for h in (1, 2, 3):
        print("0 1 open h%d /f%d rw flags=creat,excl mode=0644 new" % (h, h))
    for i in range(ops):
        h, off = r.randint(1, 3), place()
        what = r.choice(["write"] * 6 + ["punch"] * 4 + ["cut", "fsync", "syncfs", "direct"])
        if what == "write":
            text = "write h%d %d %d" % (h, off, r.choice([1, block, 3 * block + 5, 20 * block]))
        elif what == "punch":
            end = r.choice([place(), off + r.randint(1, 40) * block])
            if end <= off:
                continue
            text = "falloc h%d punch %d %d" % (h, off, end - off)
        elif what == "cut":
            text = "ftruncate h%d %d" % (h, off)
        elif what == "direct":
            text = "read h%d %d %d" % (h, off, block)
        else:
            text = "%s h%d" % (what, h)
        print("%d 1 %s" % (i * 1000, text))


if __name__ == "__main__":
    main()
