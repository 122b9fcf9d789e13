#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Trees of many entries: the size told is the size made, and the smallest image is made at once.

load ../lib/common

# same_size SPEC: what extkit size says is what create makes, and the image is sound.
same_size() {
	need_json
	x 0 size --json --size min "$1"
	local bytes
	bytes=$(json 'd["bytes"]')
	x 0 create --size min --from "$1" a.img
	equal "$(stat -c %s a.img)" "$bytes"
	clean a.img
}

@test "10,000 symbolic links, a part of which want blocks, have the size that was told" {
	awk 'BEGIN {
		print "#spec 1\n. type=dir"
		for (i = 0; i < 10000; i++) {
			to = "target-" i
			for (j = 0; j < i % 12; j++) to = to "/and-further"
			print "./l" i " type=link link=" to
		}
	}' >links.spec
	same_size links.spec
	x 0 stat a.img:/l9999
	has "$out" link
}

@test "100,000 files of one byte have the size that was told" {
	awk 'BEGIN {
		print "#spec 1\n. type=dir"
		for (i = 0; i < 100000; i++) {
			if (i % 1000 == 0) print "./d" i / 1000 " type=dir"
			print "./d" int(i / 1000) "/f" i " data=x"
		}
	}' >files.spec
	same_size files.spec
	x 0 cat a.img:/d99/f99999
	equal "$out" x
}

@test "a folder of 200,000 names has the size that was told" {
	awk 'BEGIN {
		print "#spec 1\n. type=dir\n./d type=dir"
		for (i = 0; i < 200000; i++) print "./d/name-" i " type=file"
	}' >names.spec
	same_size names.spec
	x 0 stat a.img:/d/name-199999
}

@test "100,000 files that come again in the opposite order take no longer than others" {
	need_json
	python3 - <<-'EOF'
		import io, tarfile
		archive = tarfile.open("a.tar", "w")
		for i in list(range(100000)) + list(reversed(range(100000))):
		    info = tarfile.TarInfo("f%d" % i)
		    info.size = 1
		    archive.addfile(info, io.BytesIO(b"x"))
		archive.close()
	EOF
	timeout 30 "$EXTKIT" create -q --size auto --from a.tar a.img
	clean a.img
}
