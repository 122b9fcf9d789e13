#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lists a mounted folder: what a program sees of it, one row for each name, and its extents.

tree.py FOLDER ROWS EXTENTS [xattrs]
ROWS     path type mode uid gid nlink size blocks512 ino sha256_or_target extents [xattrs]
EXTENTS  path logical_block length_blocks physical_block flags
Both are in the form of the recordings in tests/data/traces, with /t for the folder.
"""
import array
import fcntl
import hashlib
import os
import stat
import struct
import sys

FIEMAP = 0xC020660B
FLAGS = [(0x1, "last"), (0x2, "unknown"), (0x4, "delalloc"), (0x8, "encoded"), (0x100, "not_aligned"),
         (0x200, "inline"), (0x400, "tail"), (0x800, "unwritten"), (0x1000, "merged"), (0x2000, "shared")]
KINDS = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFCHR: "c",
         stat.S_IFBLK: "b", stat.S_IFIFO: "p", stat.S_IFSOCK: "s"}


def extents(fd, block):
    """Rows of (logical, length, physical, flags) in blocks; the end of the file is flagged eof."""
    size, start, rows = os.fstat(fd).st_size, 0, []
    while True:
        count = 500
        buf = array.array("B", struct.pack("=QQIIII", start, 2**63 - 1 - start, 0, 0, count, 0)
                          + bytes(56 * count))
        fcntl.ioctl(fd, FIEMAP, buf)
        mapped = struct.unpack_from("=I", buf, 20)[0]
        for i in range(mapped):
            lo, po, n, _, _, fl = struct.unpack_from("=QQQQQI", buf, 32 + 56 * i)
            names = [w for bit, w in FLAGS if fl & bit]
            if lo + n >= size:
                names.append("eof")
            rows.append((lo // block, n // block, po // block, ",".join(names) or "-"))
            start = lo + n
            if fl & 1:
                return rows
        if mapped == 0:
            return rows


def content(fd):
    digest = hashlib.sha256()
    while True:
        part = os.read(fd, 1 << 20)
        if not part:
            return digest.hexdigest()
        digest.update(part)


def xattrs(path):
    out = []
    for name in sorted(os.listxattr(path, follow_symlinks=False)):
        value = os.getxattr(path, name, follow_symlinks=False)
        out.append("%s=%s" % (name, hashlib.sha256(value).hexdigest()[:16]))
    return ",".join(out) or "-"


def row(path, name, st, block, want_xattrs, ext_rows):
    kind = KINDS[stat.S_IFMT(st.st_mode)]
    what, pieces = "-", 0
    if kind == "f":
        fd = os.open(path, os.O_RDONLY)
        what = content(fd)
        runs = extents(fd, block)
        os.close(fd)
        pieces = len(runs)
        ext_rows += [(name,) + r for r in runs]
    elif kind == "l":
        what = os.readlink(path)
    elif kind in "cb":
        what = "%d:%d" % (os.major(st.st_rdev), os.minor(st.st_rdev))
    cols = [name, kind, "%04o" % stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid, st.st_nlink,
            st.st_size, st.st_blocks, st.st_ino, what, pieces]
    if want_xattrs:
        cols.append(xattrs(path))
    return "\t".join(str(c) for c in cols)


def listing(root, want_xattrs):
    block = os.statvfs(root).f_bsize
    rows, ext_rows = [], []
    for folder, dirs, files in os.walk(root):
        for n in sorted(dirs + files):
            path = os.path.join(folder, n)
            rows.append(row(path, "/t" + path[len(root):], os.lstat(path), block, want_xattrs,
                            ext_rows))
    return sorted(rows), sorted(ext_rows)


def main():
    root = sys.argv[1].rstrip("/")
    rows, ext_rows = listing(root, "xattrs" in sys.argv[4:])
    with open(sys.argv[2], "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write("path\ttype\tmode\tuid\tgid\tnlink\tsize\tblocks512\tino\tsha256_or_target\textents\n")
        f.writelines(r + "\n" for r in rows)
    with open(sys.argv[3], "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write("path\tlogical_block\tlength_blocks\tphysical_block\tflags\n")
        f.writelines("%s\t%d\t%d\t%d\t%s\n" % r for r in ext_rows)


if __name__ == "__main__":
    main()
