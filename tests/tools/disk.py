#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes a disk image with a partition table around images: disk.py gpt|mbr DISK NAME=IMG...

Each image gets a partition on a boundary of 1 MiB; NAME is the partition's label in a GPT.
"""

import os
import struct
import sys
import uuid
import zlib

LINUX = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4").bytes_le
MIB = 1 << 20


def mbr(parts):
    b = bytearray(512)
    for i, (_, start, size, kind) in enumerate(parts):
        entry = struct.pack("<B3sB3sII", 0, b"\0\0\0", kind, b"\0\0\0", start, size)
        b[446 + 16 * i:462 + 16 * i] = entry
    b[510:512] = b"\x55\xaa"
    return bytes(b)


def gpt(parts, sectors):
    table = bytearray(128 * 128)
    for i, (name, start, size, _) in enumerate(parts):
        own = uuid.uuid5(uuid.NAMESPACE_OID, f"part {i}").bytes_le
        table[128 * i:128 * (i + 1)] = struct.pack(
            "<16s16sQQQ72s", LINUX, own, start, start + size - 1, 0, name.encode("utf-16-le"))

    def header(at, other, entries):
        fields = [b"EFI PART", 0x10000, 92, 0, 0, at, other, 34, sectors - 34,
                  uuid.uuid5(uuid.NAMESPACE_OID, "disk").bytes_le, entries, 128, 128,
                  zlib.crc32(bytes(table))]
        fields[3] = zlib.crc32(struct.pack("<8sIIIIQQQQ16sQIII", *fields))
        return struct.pack("<8sIIIIQQQQ16sQIII", *fields).ljust(512, b"\0")

    return [(0, mbr([("", 1, sectors - 1, 0xEE)])), (512, header(1, sectors - 1, 2)),
            (1024, bytes(table)), ((sectors - 33) * 512, bytes(table)),
            ((sectors - 1) * 512, header(sectors - 1, 1, sectors - 33))]


def main():
    kind, disk, args = sys.argv[1], sys.argv[2], sys.argv[3:]
    parts, images, at = [], [], MIB
    for a in args:
        name, path = a.split("=", 1)
        size = (os.path.getsize(path) + MIB - 1) // MIB * MIB
        parts.append((name, at // 512, size // 512, 0x83))
        images.append((at, path))
        at += size
    sectors = (at + MIB) // 512
    with open(disk, "wb") as f:
        f.truncate(sectors * 512)
        for off, data in gpt(parts, sectors) if kind == "gpt" else [(0, mbr(parts))]:
            f.seek(off)
            f.write(data)
        for off, path in images:
            f.seek(off)
            with open(path, "rb") as img:
                f.write(img.read())


main()
