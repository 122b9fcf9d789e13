#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A random workload as a trace: workload.py SEED OPS BLOCK [WITHOUT [FEATURES]]

Keeps a model of names, sizes and open files, so that every op is one that succeeds.  The same
arguments give the same trace.  WITHOUT names ops to leave out, with commas; "ranges" are all modes
of fallocate but holes, which are all that files without extents have.  FEATURES is searched for
inline_data and ea_inode, which want other sizes and, the former, care (leave_inode), and for
bigalloc and -C: ranges are collapsed and inserted in clusters.
"""
import random
import re
import sys

KIB = 1024
MAX_NAMES, MAX_DIRS, MAX_OPEN = 160, 24, 24
MAX_SIZE, MAX_TOTAL = 3 << 20, 40 << 20


class Inode:
    def __init__(self, kind):
        self.kind, self.size, self.links, self.xattrs = kind, 0, 1, {}
        self.has_blocks = False


class Handle:
    def __init__(self, number, inode, read, write, direct):
        self.number, self.inode, self.read, self.write = number, inode, read, write
        self.direct = direct


class Workload:
    def __init__(self, seed, block, without=(), features=""):
        self.r, self.block, self.without = random.Random(seed), block, without
        self.inline, self.apart = "inline_data" in features, "ea_inode" in features
        size = re.search(r"-C (\d+)", features)
        self.cluster = block if "bigalloc" not in features or "^bigalloc" in features else \
            int(size.group(1)) if size else 16 * block
        self.whiteouts = "whiteout" not in without
        self.names = {"": Inode("d")}  # path to inode; "" is the root
        self.handles, self.next_handle, self.next_name = [], 1, 1
        self.time, self.lines = 0, []
        self.total = 0

    # ---- choices ----

    def paths(self, *kinds):
        return [p for p, i in self.names.items() if i.kind in kinds and p]

    def pick(self, items):
        return self.r.choice(items) if items else None

    def some_dir(self):
        return self.pick([p for p, i in self.names.items() if i.kind == "d"])

    def new_path(self):
        if len(self.names) > MAX_NAMES:
            return None
        self.next_name += 1
        tail = self.r.choice(["", "", "", "-" + "n" * self.r.randint(1, 60), "-" + "m" * 230])
        return "%s/%d%s" % (self.some_dir(), self.next_name, tail)

    def below(self, path):
        return [p for p in self.names if p.startswith(path + "/")]

    def mode(self):
        return self.r.choice([0o644, 0o600, 0o755, 0o4755, 0o2755, 0o2644, 0o1777, 0o000, 0o6711])

    def file_handle(self, need):
        return self.pick([h for h in self.handles
                          if h.inode.kind == "f" and (h.write or "w" not in need)
                          and (h.read or "r" not in need) and (h.direct == ("d" in need))])

    def length(self):
        b = self.block
        return self.r.choice([
            self.r.randint(1, 200), self.r.randint(1, 200), b, 4096, b * self.r.randint(1, 8),
            self.r.randint(1, 3 * 4096), self.r.randint(1, 64 * KIB), 64 * KIB,
            self.r.randint(1, 400 * KIB)])

    def offset(self, size):
        b = self.block
        return self.r.choice([
            size, size, size, 0, self.r.randint(0, max(size, 1)),
            self.r.randint(0, max(size, 1)) // b * b, max(0, size - self.r.randint(0, 2 * b)),
            size + self.r.randint(0, 3 * b), (size // b + self.r.randint(0, 40)) * b,
            self.r.randint(0, MAX_SIZE)])

    def emit(self, text):
        self.time += self.r.choice([1000, 20000, 1000000, 5000000, 60000000])
        self.lines.append("%d %d %s" % (self.time, self.r.randint(1, 3), text))

    def resize(self, inode, size):
        self.total += size - inode.size
        inode.size = size

    def grow(self, inode, end):
        if end > MAX_SIZE or self.total + max(0, end - inode.size) > MAX_TOTAL:
            return False
        self.resize(inode, max(inode.size, end))
        return True

    def leave_inode(self, h):
        """Linux moves inline data to a block through the log, which brings them back over what is
        written there before the log is: nothing is, when they move in a transaction of their own."""
        if self.inline and not h.inode.has_blocks:
            self.emit("falloc h%d keep 0 1" % h.number)
            self.emit("syncfs")
            h.inode.has_blocks = True

    # ---- files ----

    def op_open_new(self):
        path = self.new_path()
        if path is None or len(self.handles) >= MAX_OPEN:
            return
        self.names[path] = Inode("f")
        how = self.r.choice(["w", "rw", "rw"])
        self.add_handle(path, how, "creat,excl", " mode=%04o new" % self.mode())

    def add_handle(self, path, how, flags, tail=""):
        direct = self.r.random() < 0.06
        if direct:
            flags += ",direct"
        elif self.r.random() < 0.06:
            flags += self.r.choice([",sync", ",dsync"])
        flags = flags.strip(",")
        h = Handle(self.next_handle, self.names[path], "r" in how, "w" in how, direct)
        self.next_handle += 1
        self.handles.append(h)
        self.emit("open h%d %s %s%s%s" % (h.number, path, how, " flags=" + flags if flags else "",
                                          tail))

    def op_open_old(self):
        path = self.pick(self.paths("f"))
        if path is None or len(self.handles) >= MAX_OPEN:
            return
        how, flags = self.r.choice(["r", "w", "rw", "rw"]), ""
        if how != "r" and self.r.random() < 0.2:
            flags = "trunc"
            self.resize(self.names[path], 0)
        self.add_handle(path, how, flags)

    def op_tmpfile(self):
        if len(self.handles) >= MAX_OPEN:
            return
        h = Handle(self.next_handle, Inode("f"), True, True, False)
        h.inode.links = 0
        self.next_handle += 1
        self.handles.append(h)
        self.emit("open h%d %s rw flags=tmpfile mode=0600" % (h.number, self.some_dir() or "/"))

    def op_close(self):
        h = self.pick(self.handles)
        if h is None:
            return
        self.handles.remove(h)
        self.emit("close h%d" % h.number)
        self.forget(h.inode)

    def forget(self, inode):
        if inode.links == 0 and not any(h.inode is inode for h in self.handles):
            self.resize(inode, 0)

    def op_write(self):
        h = self.file_handle("w")
        if h is None:
            return
        off, n = self.offset(h.inode.size), self.length()
        data = self.r.choice(["", "", " data=z"])
        if n <= 8:
            data = " data=x:" + "5a" * n
        if self.grow(h.inode, off + n):
            self.emit("write h%d %d %d%s" % (h.number, off, n, data))

    def op_direct_write(self):
        h = self.file_handle("wd")
        if h is None:
            return
        off, n = self.offset(h.inode.size) // 4096 * 4096, 4096 * self.r.randint(1, 20)
        if self.grow(h.inode, off + n):
            self.emit("write h%d %d %d direct" % (h.number, off, n))

    def op_store(self):
        h = self.file_handle("rw")
        if h is None or h.inode.size == 0:
            return
        end = (h.inode.size + 4095) // 4096 * 4096
        off = self.r.randrange(end)
        self.leave_inode(h)
        self.emit("mwrite h%d %d %d via=fault" % (h.number, off,
                                                  min(end - off, self.r.randint(1, 9000))))

    def op_read(self):
        h = self.file_handle("r")
        if h is not None:
            self.emit("read h%d %d %d" % (h.number, self.r.randint(0, h.inode.size), self.length()))

    def op_copy(self):
        a, b = self.file_handle("r"), self.file_handle("w")
        if a is None or b is None or a.inode is b.inode or a.inode.size == 0:
            return
        src = self.r.randrange(a.inode.size)
        n = self.r.randint(1, a.inode.size - src)
        dst = self.offset(b.inode.size)
        if self.grow(b.inode, dst + n):
            self.emit("copy h%d %d h%d %d %d" % (a.number, src, b.number, dst, n))

    def op_truncate(self):
        size = self.r.choice([0, self.r.randint(0, MAX_SIZE), self.block * self.r.randint(0, 40),
                              self.r.randint(0, 5 * self.block)])
        h, path = self.file_handle("w"), self.pick(self.paths("f"))
        if path is not None and self.r.random() < 0.5:
            inode, what = self.names[path], "truncate %s" % path
        elif h is not None:
            inode, what = h.inode, "ftruncate h%d" % h.number
        else:
            return
        grows = size > inode.size
        if not grows or self.grow(inode, size):
            self.resize(inode, size)
            self.emit("%s %d" % (what, size))
            if self.inline and grows and not inode.has_blocks:
                self.emit("syncfs")

    def op_falloc(self):
        h = self.file_handle("w")
        if h is None:
            return
        mode = self.r.choice(["alloc", "keep", "punch", "punch", "zero", "zerokeep", "collapse",
                              "insert"])
        if "ranges" in self.without:
            mode = "punch"
        off, n, size = self.offset(h.inode.size), self.length(), h.inode.size
        if mode in ("collapse", "insert"):
            off = self.r.randint(0, size) // self.cluster * self.cluster
            n = self.cluster * self.r.randint(1, max(30 * self.block // self.cluster, 2))
            if off >= size or (mode == "collapse" and off + n >= size):
                return
        if mode in ("alloc", "zero") and not self.grow(h.inode, off + n):
            return
        if mode in ("keep", "zerokeep") and off + n > MAX_SIZE:
            return
        if mode == "insert" and not self.grow(h.inode, size + n):
            return
        if mode == "collapse":
            self.resize(h.inode, size - n)
        self.leave_inode(h)
        self.emit("falloc h%d %s %d %d" % (h.number, mode, off, n))

    def op_sync(self):
        h = self.file_handle("w") or self.file_handle("r")
        if h is not None:
            self.emit(self.r.choice([
                "fsync h%d", "fsync h%d", "fdatasync h%d", "syncrange h%d 0 0 wb,w,wa",
                "advise h%d 0 0 dontneed", "syncrange h%d 4096 65536 w"]) % h.number)

    # No dropcaches: a mounted folder ignores it, and which holes a store fills depends on what is
    # cached.
    def op_sync_all(self):
        self.emit(self.r.choice(["sync", "syncfs", "syncfs"]))

    # ---- names ----

    def op_mkdir(self):
        path = self.new_path()
        if path is not None and len(self.paths("d")) < MAX_DIRS:
            self.names[path] = Inode("d")
            self.emit("mkdir %s %04o" % (path, self.r.choice([0o755, 0o700, 0o2775, 0o1777])))

    def op_rmdir(self):
        path = self.pick([p for p in self.paths("d") if not self.below(p)])
        if path is not None:
            del self.names[path]
            self.emit("rmdir %s" % path)

    def drop(self, path):
        inode = self.names.pop(path)
        if inode.kind != "d":
            inode.links -= 1
            self.forget(inode)

    def op_unlink(self):
        path = self.pick(self.paths("f", "l", "s"))
        if path is not None:
            self.drop(path)
            self.emit("unlink %s" % path)

    def op_link(self):
        old, new = self.pick(self.paths("f", "s")), self.new_path()
        if old is not None and new is not None:
            self.names[new] = self.names[old]
            self.names[old].links += 1
            self.emit("link %s %s" % (old, new))

    def op_symlink(self):
        path = self.new_path()
        if path is not None:
            n = self.r.choice([1, 20, 58, 59, 60, 61, 300, self.block - 1])
            self.names[path] = Inode("l")
            self.emit("symlink %s %s" % ("t" * n, path))

    def op_mknod(self):
        path = self.new_path()
        if path is not None:
            self.names[path] = Inode("s")
            self.emit("mknod %s %s" % (path, self.r.choice(
                ["10644 0:0", "140600 0:0", "20666 1:3", "60660 7:200", "20600 300:70000"])))

    def move(self, old, new):
        for p in [old] + self.below(old):
            self.names[new + p[len(old):]] = self.names.pop(p)

    def op_rename(self):
        old, new = self.pick(self.paths("f", "l", "s", "d")), self.new_path()
        if old is None or new is None or new.startswith(old + "/"):
            return
        flag = self.r.choice(["", "", " noreplace"])
        whiteout = self.names[old].kind == "f" and self.r.random() < 0.1 and self.whiteouts
        self.move(old, new)
        if whiteout:
            self.names[old] = Inode("s")
            flag = " whiteout"
        self.emit("rename %s %s%s" % (old, new, flag))

    def op_replace(self):
        old = self.pick(self.paths("f", "l", "s", "d"))
        if old is None:
            return
        if self.names[old].kind == "d":
            new = self.pick([p for p in self.paths("d") if not self.below(p)])
        else:
            new = self.pick(self.paths("f", "l", "s"))
        if new is None or new == old or new.startswith(old + "/") or old.startswith(new + "/") or \
                self.names[new] is self.names[old]:
            return
        self.drop(new)
        self.move(old, new)
        self.emit("rename %s %s" % (old, new))

    def op_exchange(self):
        a, b = self.pick(self.paths("f", "l", "s", "d")), self.pick(self.paths("f", "l", "s", "d"))
        if a is None or a == b or a.startswith(b + "/") or b.startswith(a + "/") or \
                self.names[a] is self.names[b]:
            return
        self.move(a, "?")
        self.move(b, a)
        self.move("?", b)
        self.emit("rename %s %s exchange" % (a, b))

    # ---- attributes ----

    def target(self, kinds):
        """A path or a handle, and its inode."""
        h = self.file_handle("w")
        if h is not None and self.r.random() < 0.3:
            return "h%d" % h.number, h.inode
        path = self.pick(self.paths(*kinds))
        return (path, self.names[path]) if path is not None else (None, None)

    def op_chmod(self):
        what, _ = self.target("fds")
        if what is not None:
            self.emit("chmod %s %04o" % (what, self.mode()))

    def op_chown(self):
        what, inode = self.target("fdls")
        if what is not None:
            tail = " nofollow" if inode.kind == "l" else ""
            self.emit("chown %s %s %s%s" % (what, self.r.choice(["-1", "0", "1000", "70000"]),
                                            self.r.choice(["-1", "0", "100", "4000000000"]), tail))

    def op_utimens(self):
        what, inode = self.target("fdls")
        if what is not None:
            tail = " nofollow" if inode.kind == "l" else ""
            self.emit("utimens %s %s %s%s" % (what, self.r.choice(["now", "omit", "5.000000001"]),
                                              self.r.choice(["now", "7.9", "4000000000.5"]), tail))

    def op_setxattr(self):
        what, inode = self.target("fd")
        if what is None:
            return
        name = self.r.choice(["user.a", "user.b", "user." + "c" * 40, "trusted.d", "user.e"])
        n = self.r.choice([0, 1, 10, 30, 60, 100, 250])
        if self.apart:
            n = self.r.choice([n, n, 500, self.block - 60, self.block - 56, self.block - 55, 4096,
                               self.r.randint(250, 9000), self.r.randint(1, 65536), 65536])
        elif sum(inode.xattrs.values()) - inode.xattrs.get(name, 0) + n + 80 > 700:
            return
        inode.xattrs[name] = n + 64
        self.emit("setxattr %s %s %d%s" % (what, name, n, self.r.choice(["", " data=z"])))

    def op_removexattr(self):
        what, inode = self.target("fd")
        if what is not None and inode.xattrs:
            name = self.r.choice(sorted(inode.xattrs))
            del inode.xattrs[name]
            self.emit("removexattr %s %s" % (what, name))

    WEIGHTS = [(op_open_new, 8), (op_open_old, 8), (op_tmpfile, 1), (op_close, 12), (op_write, 30),
               (op_direct_write, 3), (op_store, 4), (op_read, 3), (op_copy, 3), (op_truncate, 7),
               (op_falloc, 14), (op_sync, 6), (op_sync_all, 2), (op_mkdir, 4), (op_rmdir, 2),
               (op_unlink, 6), (op_link, 3), (op_symlink, 3), (op_mknod, 1), (op_rename, 5),
               (op_replace, 4), (op_exchange, 2), (op_chmod, 3), (op_chown, 3), (op_utimens, 2),
               (op_setxattr, 6), (op_removexattr, 3)]

    def make(self, count):
        ops, weights = zip(*[w for w in self.WEIGHTS if w[0].__name__[3:] not in self.without])
        while len(self.lines) < count:
            self.r.choices(ops, weights)[0](self)
        return self.lines


def main():
    seed, count, block = (int(a) for a in sys.argv[1:4])
    print("#wtrace 1\n#hz 250\n#clock realtime start=1700000000.0\n%ops")
    without = sys.argv[4].split(",") if len(sys.argv) > 4 else ()
    features = sys.argv[5] if len(sys.argv) > 5 else ""
    print("\n".join(Workload(seed, block, without, features).make(count)))


if __name__ == "__main__":
    main()
