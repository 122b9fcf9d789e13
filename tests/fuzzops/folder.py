#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Links and unlinks names of many lengths in one folder, so that its index grows: folder.py SEED OPS

Prints ops for run --trace; in 1 KiB blocks some twenty thousand make an index of two levels.
"""
import random
import sys


def main():
    r, names = random.Random(int(sys.argv[1])), []
    print("1000000 1 mkdir /d 0755\n2000000 1 mknod /f 0600 0:0")
    for i in range(int(sys.argv[2])):
        if names and r.random() < 0.25:
            k = r.randrange(len(names))
            names[k], names[-1] = names[-1], names[k]
            op = "unlink " + names.pop()
        else:
            names.append("/d/%d-%s" % (i, "x" * r.choice([3, 10, 30, 60, 120, 200])))
            op = "link /f " + names[-1]
        print("%d 1 %s" % (3000000 + i * 1000, op))


if __name__ == "__main__":
    main()
