#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit export and extkit import

load ../lib/common

full_image() {
	need_root "make device nodes"
	need python3
	python3 "$SRC/tests/tools/full-tree" make full
	x 0 create --seed v1 --size auto --from full a.img
}

@test "an image becomes tar and an image again, and nothing is lost but the socket that tar cannot hold" {
	full_image
	x 6 export a.img -o a.tar
	has "$err" "sock"
	[ ! -e a.tar ]
	x 8 export --keep-going a.img -o a.tar
	chmod 644 a.tar
	x 0 create --size auto --from a.tar b.img
	clean b.img
	mount_image b.img mnt ro
	python3 "$SRC/tests/tools/full-tree" compare full mnt sock
	[ "$(du -k mnt/sparse | cut -f1)" -lt 100 ]
}

@test "GNU tar and the kernel get from the archive what is in the image" {
	full_image
	need tar
	x 8 export --keep-going a.img -o a.tar
	mkdir out
	tar --xattrs --xattrs-include='*' --acls -C out -xpf a.tar
	python3 "$SRC/tests/tools/full-tree" compare full out sock
}

@test "export writes the same bytes twice, to a file and to a pipe" {
	full_image
	x 8 export --keep-going a.img -o a.tar
	"$EXTKIT" export --keep-going a.img 2>/dev/null | cmp - a.tar
}

@test "cpio keeps sockets and names of one inode, and refuses what it cannot keep" {
	mkdir t
	printf x >t/f
	ln t/f t/g
	touch -d @1000000000 t/f t
	x 0 create --size auto --no-lost-found --from t a.img
	x 0 export --format cpio a.img -o a.cpio
	x 0 create --size auto --no-lost-found --from a.cpio b.img
	x 0 get -R b.img out
	equal "$(stat -c %i out/f)" "$(stat -c %i out/g)"
	equal "$(cat out/g)" x
	touch -d @1000000000.5 t/f
	x 0 create -f --size auto --no-lost-found --from t a.img
	x 6 export --format cpio a.img -o b.cpio
	has "$err" "parts of a second"
}

@test "import lays archives over what is there" {
	need tar
	mkdir -p t/a u/a/b
	printf old >t/a/f
	printf keep >t/a/k
	printf new >u/a/f
	printf deep >u/a/b/d
	ln u/a/f u/a/g
	ln -s f u/a/l
	touch -d @1000000000 u/a
	tar -C u -cf u.tar a
	x 0 create --size auto --free 1M --from t a.img
	x 0 import u.tar a.img
	clean a.img
	x 0 get -R a.img out
	equal "$(cat out/a/f out/a/k out/a/b/d out/a/l)" newkeepdeepnew
	equal "$(stat -c %i out/a/f)" "$(stat -c %i out/a/g)"
	equal "$(stat -c %Y out/a)" 1000000000
	x 0 import u a.img:/opt
	clean a.img
	x 0 cat a.img:/opt/a/f
	equal "$out" new
}

@test "what comes back over a tree has the flags it left with, and those only" {
	printf '#spec 1\n. type=dir\n./d type=dir\n./d/f data=f\n./e type=dir flags=0x40\n./e/g data=g\n./h flags=0x80 data=h\n' >a.spec
	x 0 create --size auto --free 1M --from a.spec a.img
	x 0 export a.img -o a.tar
	cp a.img b.img
	x 0 attr +nodump,noatime,sync b.img:/d b.img:/h b.img:/d/f
	x 0 attr =immutable b.img:/e/g
	x 0 attr =topdir b.img:/e
	x 0 rm b.img:/d/f
	x 0 mkdir b.img:/d/new
	for from in a.tar a.spec; do
		cp b.img c.img
		x 0 import $from c.img
		clean c.img
		x 0 spec c.img
		equal "$(sed -n 's/ .*flags=\([^ ]*\).*/ \1/p' <<<"$out")" "$(printf '%s\n' './d/new 0xc8' './e 0x40' './h 0x80')"
	done
}

@test "hostile archives are refused with one line, and the image stays as it was" {
	need python3 tar
	python3 - <<-'END'
		import io, tarfile
		def make(name, *members):
		    with tarfile.open(name, "w") as t:
		        for path, kind, link, data in members:
		            m = tarfile.TarInfo(path)
		            m.type, m.linkname, m.size = kind, link, len(data)
		            t.addfile(m, io.BytesIO(data))
		F, H, L, D = tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE
		make("up.tar", ("ok", F, "", b"x"), ("../up", F, "", b"x"))
		make("absolute.tar", ("/etc/passwd", F, "", b"x"))
		make("linkout.tar", ("a", H, "../../etc/passwd", b""))
		make("early.tar", ("a", H, "b", b""), ("b", F, "", b"x"))
		make("below.tar", ("a", F, "", b"x"), ("a/b", F, "", b"x"))
		make("through.tar", ("a", L, "/etc", b""), ("a/passwd", F, "", b"x"))
		make("turn.tar", ("a", D, "", b""), ("a/b", F, "", b"x"), ("a", F, "", b"x"))
		make("long.tar", ("n" * 256, F, "", b"x"))
		make("whole.tar", ("a", F, "", b"x" * 100000))
		data = open("whole.tar", "rb").read()
		open("cut.tar", "wb").write(data[:50000])
	END
	echo old >a.img
	local name
	for name in up absolute linkout early below through turn long cut; do
		run ! "$EXTKIT" create --size auto --from $name.tar a.img
		run -2 "$EXTKIT" create --size auto --from $name.tar b.img || run -5 "$EXTKIT" create --size auto --from $name.tar b.img
		equal "${#lines[@]}" 1
		equal "$(cat a.img)" old
	done
	equal "$(ls ./*.img*)" ./a.img
	x 0 create --size 8M b.img
	cp b.img c.img
	for name in up absolute linkout long cut; do
		run ! "$EXTKIT" import $name.tar b.img
		cmp b.img c.img
	done
}

@test "a bomb ends at a limit" {
	need gzip tar
	truncate -s 300M zeros
	tar -cf - zeros | gzip >bomb.tgz
	x 4 create --size auto --max-bytes 10M --from bomb.tgz a.img
	has "$err" "more than 10485760"
	[ ! -e a.img ]
	x 4 create --size 10M --from bomb.tgz a.img
	has "$err" "are missing"
	[ ! -e a.img ]
}

@test "a file that an archive cannot keep has no other name there either" {
	printf '#spec 1\n./a data=a project=7\n./b hard=a\n./c data=c\n' >a.spec
	x 0 create --size auto -O project --from a.spec a.img
	x 8 export --keep-going a.img -o a.tar
	[ "$(grep -c 'project number' <<<"$err")" -eq 2 ]
	need tar
	mkdir out && tar -C out -xf a.tar
	[ ! -e out/a ] && [ ! -e out/b ] && [ -e out/c ]
}

@test "an attribute with = in its name is not written as another one" {
	printf '#spec 1\n./a xattr.user.a\\075b=v\n' >a.spec
	x 0 create --size auto --from a.spec a.img
	x 6 export a.img -o a.tar
	has "$err" "an attribute with = in its name"
	x 0 spec a.img -o b.spec
	x 0 create --size auto --from b.spec b.img
	x 0 xattr get 'user.a=b' b.img:/a
	equal "$out" v
}

@test "nodes have the mode and the times that the image says, whatever the umask is" {
	mkdir t
	mkfifo t/p
	chmod 666 t/p
	touch -d @1000 t/p
	x 0 create --size auto --from t a.img
	(umask 077 && "$EXTKIT" get -R --nodes a.img:/ out)
	equal "$(stat -c '%a %Y' out/p)" "666 1000"
}

@test "an archive has the mode that the umask leaves, and nothing stays beside it" {
	mkdir t
	x 0 create --size auto --from t a.img
	(umask 026 && "$EXTKIT" export -o a.tar a.img)
	equal "$(stat -c %a a.tar)" 640
	x 0 export -f -o a.tar a.img
	equal "$(ls)" "$(printf '%s\n' a.img a.tar t)"
}

@test "a file that somebody makes while an archive is written is not written over" {
	mkdir t
	head -c 8M /dev/urandom >t/f
	x 0 create --size auto --from t a.img
	x_bg() { "$EXTKIT" export --compress gzip a.img -o a.tar 2>said; }
	x_bg 3>&- &
	for _ in $(seq 2000); do
		compgen -G 'a.tar.*' >/dev/null && break
		sleep 0.002
	done
	compgen -G 'a.tar.*'
	echo mine >a.tar
	code=0
	wait $! || code=$?
	equal "$code" 7
	has "$(cat said)" "a.tar: File exists"
	equal "$(cat a.tar)" mine
	equal "$(echo a.tar*)" a.tar
}

@test "what is wrong with a source is told when an image was read before it" {
	x 0 create -q --size 8M a.img
	cp a.img b.img
	printf 'no archive' >junk
	for run in "create --from a.img --from junk c.img" "import a.img junk b.img" "size a.img junk" "diff a.img junk" "diff junk a.img"; do
		# shellcheck disable=SC2086 # the words of a command
		x 2 $run
		has "$err" "archive junk: cannot be read"
	done
}
