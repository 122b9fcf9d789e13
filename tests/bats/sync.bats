#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit sync

load ../lib/common

# tree: a folder t with a file of each kind, and a.img made of it with room for more.
tree() {
	mkdir -p t/d/e u
	echo one >t/a
	ln t/a t/d/l
	ln -s a t/s
	mkfifo t/p
	yes text | head -c 700000 >t/d/big
	echo deep >t/d/e/f
	x 0 create --size auto --free 8M --from t a.img
}

# synced SOURCE IMG [OPTION...]: after sync the image is sound and has what the source has, and a
# second sync changes nothing.
synced() {
	local from=$1 img=$2
	shift 2
	x 0 sync "$@" "$from" "$img"
	equal "$out" ""
	clean "$img"
	x 0 diff "$from" "$img"
	quiet "$from" "$img" "$@"
}

# quiet SOURCE IMG [OPTION...]: nothing is left to do.
quiet() {
	local from=$1 img=$2
	shift 2
	x 0 sync --dry-run "$@" "$from" "$img"
	equal "$out" ""
}

# steps SOURCE IMG [OPTION...]: what sync would do, as ACTION:PATH in the order of paths.
steps() {
	local from=$1 img=$2
	shift 2
	x 0 sync --dry-run "$@" "$from" "$img"
	awk 'NR > 1 {print $1 ":" $2}' <<<"$out" | sort -t: -k2
}

# blocks A B: how many blocks of 1 KiB differ.
blocks() {
	cmp -l "$1" "$2" | awk '{b[int(($1 - 1) / 1024)]} END {n = 0; for (i in b) n++; print n}'
}

@test "a source without any entry does not empty the image" {
	mkdir t none
	echo one >t/one
	x 0 create --size auto --from t a.img
	head -c 1M /dev/zero >zeros
	x 2 sync zeros a.img
	one_error_line sync
	has "$err" "refused: zeros: it holds no names"
	"$EXTKIT" sync - a.img <zeros 2>err && false
	has "$(<err)" "refused"
	x 0 cat a.img:/one
	x 0 sync --keep zeros a.img
	x 0 cat a.img:/one
	x 0 sync none a.img
	x 5 cat a.img:/one
}

@test "names come, change and go, and the image equals the folder" {
	tree
	echo other >t/a
	chmod 600 t/d/big
	rm t/d/e/f t/p
	mkdir t/new
	echo n >t/new/n
	ln -sf elsewhere t/s
	cp a.img before.img
	equal "$(steps t a.img)" "$(printf '%s\n' set:. replace:a set:d/big set:d/e remove:d/e/f link:d/l make:new make:new/n remove:p replace:s | sort -t: -k2)"
	cmp a.img before.img
	synced t a.img
	x 0 cat a.img:/a
	equal "$out" other
}

@test "a second sync leaves every byte as it is" {
	tree
	echo new >t/d/e/g
	x 0 sync t a.img
	cp a.img before.img
	x 0 sync t a.img
	cmp a.img before.img
	clean a.img
	chmod 400 a.img
	x 0 sync t a.img
}

@test "a second sync through a pipe changes the superblock only, and the journal" {
	need tar
	tree
	echo new >t/d/e/g
	tar -C t --format=pax -cf t.tar .
	x 0 create --size auto --free 8M --no-journal --from t b.img
	for img in a.img b.img; do
		"$EXTKIT" sync - $img <t.tar
		cp $img before.img
		"$EXTKIT" sync - $img <t.tar
		clean $img
		[ "$(blocks $img before.img)" -le "$([ $img = b.img ] && echo 1 || echo 32)" ]
		x 0 diff t.tar $img
	done
}

@test "one small file of a thousand costs a few blocks" {
	mkdir -p t/{0,1,2,3,4,5,6,7,8,9}
	for i in {0..9}/{0..99}; do echo "$i" >"t/$i"; done
	x 0 create --size auto --free 8M --no-journal --from t a.img
	cp a.img before.img
	x 0 sync t a.img
	[ "$(blocks a.img before.img)" -le 1 ]
	cp a.img before.img
	echo changed >t/5/50
	synced t a.img
	echo "blocks: $(blocks a.img before.img)"
	[ "$(blocks a.img before.img)" -le 16 ]
	x 0 map before.img:/5/51
	was=$out
	x 0 map a.img:/5/51
	equal "$out" "$was"
}

@test "what differs in metadata only keeps its inode and its blocks" {
	tree
	x 0 xattr set user.k=v a.img:/d/big
	x 0 chown 5:7 a.img:/d/big
	x 0 chmod 4711 a.img:/d/e
	x 0 attr +d a.img:/a
	x 0 touch a.img:/d/e/f
	x 0 stat a.img:/d/big
	ino=$(awk '/Inode/ {print $2}' <<<"$out")
	x 0 map a.img:/d/big
	was=$out
	equal "$(steps t a.img)" "$(printf '%s\n' set:a set:d/big set:d/e set:d/e/f)"
	synced t a.img
	x 0 map a.img:/d/big
	equal "$out" "$was"
	x 0 stat a.img:/d/big
	equal "$(awk '/Inode/ {print $2}' <<<"$out")" "$ino"
	x 0 xattr ls a.img:/d/big
	equal "$out" ""
}

@test "names of one file are joined, parted and moved across folders" {
	mkdir -p t/x t/y t/z
	echo one >t/x/a && ln t/x/a t/y/b && ln t/x/a t/z/c
	echo two >t/x/d && echo two >t/y/e
	x 0 create --size auto --free 4M --from t a.img
	rm t/y/b t/y/e && echo one >t/y/b
	ln t/x/d t/y/e && ln t/x/d t/z/g
	synced t a.img
	x 0 stat a.img:/x/d
	has "$out" "3"
	# the first name changes contents, and the others come along
	echo changed >t/x/d
	synced t a.img
	x 0 cat a.img:/z/g
	equal "$out" changed
	# the first name goes
	rm t/x/d
	equal "$(steps t a.img)" "$(printf '%s\n' set:x remove:x/d | sort -t: -k2)"
	synced t a.img
	# partners change
	rm t/x/a t/z/g && ln t/z/c t/x/a && ln -f t/y/b t/z/g
	synced t a.img
	# each on its own
	for f in t/x/a t/z/g; do cp -p $f h && mv h $f; done
	synced t a.img
}

@test "files, folders and links take each other's places" {
	tree
	rm -r t/d && echo file >t/d
	rm t/a && mkdir -p t/a/b && echo x >t/a/b/c
	rm t/s && mkdir t/s && ln t/a/b/c t/s/a
	rm t/p && ln -s a t/p
	synced t a.img
	rm -r t/a t/s t/d && ln -s nowhere t/a && mkfifo t/s && ln -s t t/d
	synced t a.img
	rm t/a t/s t/d t/p && mkdir t/d t/s && echo x >t/d/l && echo y >t/s/y
	synced t a.img
}

@test "folders go with all that is in them, and --keep keeps what is not in the way" {
	tree
	rm -r t/d
	mkdir t/d.x
	equal "$(steps t a.img)" "$(printf '%s\n' remove:d make:d.x set:. | sort -t: -k2)"
	cp a.img b.img
	synced t a.img
	x 0 sync -k t b.img
	clean b.img
	x 0 cat b.img:/d/e/f
	equal "$out" deep
	quiet t b.img -k
	echo file >t/d
	x 0 sync -k t b.img
	clean b.img
	x 0 cat b.img:/d
	equal "$out" file
}

@test "archives, manifests and images are sources, also through a pipe" {
	need tar
	tree
	echo changed >t/a
	yes TEXT | head -c 700000 >t/d/big
	rm t/p t/d/e/f
	tar -C t --format=pax --numeric-owner -cf t.tar .
	cp a.img b.img
	cp a.img c.img
	synced t.tar a.img
	x 0 diff t a.img --no-times
	"$EXTKIT" sync - c.img <t.tar
	clean c.img
	x 0 diff t.tar c.img
	x 0 spec -o t.spec a.img
	synced t.spec b.img
	echo once >once && x 0 put once a.img:/once
	x 0 sync a.img b.img
	clean b.img
	x 0 diff --no-times a.img b.img
	quiet a.img b.img
	tar -C t --format=pax -cf part.tar d/big
	x 0 sync part.tar c.img
	clean c.img
	x 0 ls -R c.img
	equal "$(grep -c -e '^a$' -e e/f <<<"$out")" 0
	x 0 cat c.img:/d/big
	equal "$(head -n 1 <<<"$out")" TEXT
}

@test "a folder inside is made equal, and nothing else is touched" {
	tree
	mkdir -p u/w && echo w >u/w/f
	x 0 sync u a.img:/d/e
	clean a.img
	x 0 diff u a.img:/d/e
	x 0 cat a.img:/a
	equal "$out" one
	x 0 sync u a.img:/srv/new
	clean a.img
	x 0 diff u a.img:/srv/new
	x 0 ln -s d a.img:/to
	x 0 sync u a.img:/to
	clean a.img
	x 0 diff u a.img:/d
	x 0 stat a.img:/to
	has "$out" link
	x 5 sync u a.img:/a
}

@test "lost+found in the root stays with what is in it, and one below does not" {
	tree
	echo found >f
	x 0 put f a.img:/lost+found/f
	x 0 mkdir a.img:/d/lost+found
	x 0 sync t a.img
	clean a.img
	quiet t a.img
	x 1 diff t a.img
	equal "$(awk 'NR > 1 {print $NF}' <<<"$out")" lost+found/f
	x 0 cat a.img:/lost+found/f
	equal "$out" found
	x 5 stat a.img:/d/lost+found
	mkdir t/lost+found && echo mine >t/lost+found/g
	x 0 sync t a.img
	clean a.img
	x 5 stat a.img:/lost+found/g
}

@test "what options leave out goes, owners are mapped, and nothing goes when entries failed" {
	tree
	x 0 sync --exclude big --owner 7 t a.img
	clean a.img
	x 5 stat a.img:/d/big
	quiet t a.img --exclude big --owner 7
	printf '#spec 1\n./a type=file data=a\n./b time=99999999999 data=b\n' >a.spec
	x 8 sync --keep-going a.spec a.img
	clean a.img
	x 0 cat a.img:/d/e/f
	equal "$out" deep
	x 0 cat a.img:/a
	equal "$out" a
}

@test "flags, ACLs and projects of the folder do not come over what the source says" {
	printf '#spec 1\n. type=dir\n./d type=dir flags=0x40\n' >a.spec
	x 0 create --size auto --free 4M --from a.spec a.img
	printf '#spec 1\n. type=dir\n./d type=dir flags=0x40\n./d/f data=x\n./d/e type=dir\n' >b.spec
	synced b.spec a.img
}

@test "files keep their project in folders that hand down another" {
	local folder='./d type=dir project=42 flags=0x20000000'
	printf '#spec 1\n. type=dir\n%s\n./d/x data=hello project=42\n' "$folder" >a.spec
	printf '#spec 1\n. type=dir\n%s\n./d/x data=other project=9\n./d/y data=new project=7\n./d/z data=none\n./d/l type=link link=x project=8\n' \
		"$folder" >b.spec
	x 0 create --size auto --free 4M -O project --from a.spec a.img
	synced b.spec a.img
	x 0 create -f --size auto --free 4M -O project --from a.spec a.img
	sed -i /none/d b.spec
	x 0 import b.spec a.img
	clean a.img
	x 0 diff b.spec a.img
}

@test "a source that tells no projects leaves inheritance, one that does sets 0 too" {
	printf '#spec 1\n. type=dir\n./d type=dir project=42 flags=0x20000000\n./d/e type=dir\n' >a.spec
	x 0 create --size auto --free 4M -O project --from a.spec a.img
	mkdir -p t/d/e t/d/n
	echo text >t/d/x
	echo deep >t/d/n/y
	tar -C t -cf t.tar .
	for from in t t.tar; do
		for verb in sync import; do
			cp a.img b.img
			x 0 "$verb" "$from" b.img
			clean b.img
			x 0 spec b.img
			echo "$out" >b.spec
			[ "$(grep -c project=42 b.spec)" -eq 4 ]
			[ "$(grep -c flags=0x20000000 b.spec)" -eq 2 ]
			x 0 diff --no-times "$from" b.img
			quiet "$from" b.img
		done
	done
	printf '#spec 1\n. type=dir\n./d type=dir project=42 flags=0x20000000\n./d/e type=dir\n./d/n type=dir\n./d/x data=text\n./d/n/y data=deep\n' >c.spec
	for verb in sync import; do
		cp a.img b.img
		x 0 "$verb" c.spec b.img
		clean b.img
		x 0 diff --no-times --no-owners c.spec b.img
		x 0 spec b.img
		echo "$out" >b.spec
		[ "$(grep -c project=42 b.spec)" -eq 1 ]
	done
}

@test "files of another project get further names in folders that hand theirs down" {
	printf '#spec 1\n. type=dir\n./d type=dir project=42 flags=0x20000000\n' >a.spec
	x 0 create --size auto --free 4M -O project --from a.spec a.img
	cp a.spec b.spec
	printf './d/x data=text project=9\n./d/l hard=d/x\n./y data=other\n./d/z hard=y\n' >>b.spec
	for verb in sync import; do
		cp a.img b.img
		x 0 "$verb" b.spec b.img
		clean b.img
		x 0 diff --no-times --no-owners b.spec b.img
	done
	sed -i 's/d.l hard/d\/k hard/' b.spec
	x 0 sync b.spec b.img
	clean b.img
	x 0 diff --no-times --no-owners b.spec b.img
}

@test "devices follow their numbers" {
	printf '#spec 1\n. type=dir\n./c type=char device=1,3\n./b type=block device=8,1\n./s type=socket\n' >a.spec
	printf '#spec 1\n. type=dir\n./c type=char device=1,5\n./b type=char device=8,1\n./s type=fifo\n' >b.spec
	x 0 create --size auto --free 4M --from a.spec a.img
	equal "$(steps b.spec a.img)" "$(printf '%s\n' replace:b replace:c replace:s)"
	synced b.spec a.img
}

@test "an archive may not have one name as a folder and as a file" {
	need python3
	python3 - <<-'END'
		import io, tarfile
		def make(name, *members):
		    with tarfile.open(name, "w") as t:
		        for path, kind, link, data in members:
		            m = tarfile.TarInfo(path)
		            m.type, m.linkname, m.size = kind, link, len(data)
		            t.addfile(m, io.BytesIO(data))
		F, H, L, D = tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE
		make("below.tar", ("a", F, "", b"x"), ("a/b", F, "", b"x"))
		make("through.tar", ("a", L, "/etc", b""), ("a/passwd", F, "", b"x"))
		make("turn.tar", ("a", D, "", b""), ("a/b", F, "", b"x"), ("a", F, "", b"x"))
		make("early.tar", ("a", H, "b", b""), ("b", F, "", b"x"))
		make("self.tar", ("a", H, "a", b""))
		make("twice.tar", ("a", F, "", b"1"), ("b", H, "a", b""), ("a", F, "", b"2"), ("d/x", F, "", b"x"), ("d", D, "", b""), ("d", D, "", b""))
	END
	x 0 create --size 8M a.img
	mkdir t && ln -s /lost+found t/a
	x 0 import t a.img
	for name in below through turn early self; do
		run ! "$EXTKIT" sync - a.img <$name.tar
		clean a.img
		x 0 ls a.img:/lost+found
		equal "$out" ""
	done
	"$EXTKIT" sync - a.img <twice.tar
	clean a.img
	x 0 cat a.img:/a
	equal "$out" 2
	x 0 cat a.img:/d/x
	equal "$out" x
}

@test "an image without room fails with exit code 4 and stays sound" {
	mkdir t && head -c 20M /dev/urandom >t/big && echo x >t/a
	x 0 create --size 8M a.img
	x 4 sync t a.img
	clean a.img
	x 2 sync t
	x 7 sync none a.img
}

@test "changes are rows for a program" {
	tree
	echo more >t/a
	need_json
	x 0 sync --json t a.img
	equal "$(json '[(r["action"], r["path"]) for r in d["changes"]]')" "[('replace', 'a'), ('link', 'd/l')]"
	x 0 sync --json t a.img
	equal "$(json 'd["changes"]')" "[]"
}

@test "a further name that sorts first, and a file that moved, are not written again" {
	mkdir -p t/d
	head -c 3M /dev/urandom >t/d/old
	head -c 3M /dev/urandom >t/gone
	x 0 create --size auto --from t a.img
	cp a.img b.img
	x 0 map a.img:/d/old
	old=$out
	x 0 map a.img:/gone
	gone=$out
	ln t/d/old t/d/a && mkdir t/new && mv t/gone t/new/there
	equal "$(steps t a.img)" "$(printf '%s\n' set:. set:d link:d/a remove:gone make:new link:new/there | sort -t: -k2)"
	synced t a.img # there is no room for either a second time
	x 0 map a.img:/d/a
	equal "$out" "$old"
	x 0 map a.img:/new/there
	equal "$out" "$gone"
	x 0 stat a.img:/d/old
	has "$out" "2"
	need tar
	tar -C t --format=pax --numeric-owner -cf t.tar .
	"$EXTKIT" sync - b.img <t.tar
	clean b.img
	x 0 diff t.tar b.img
	# equal in length and time, but another file: it is one of its own
	echo one >t/x && echo two >t/y && touch -r t/x t/y
	x 0 create -f --size auto --free 1M --from t a.img
	echo two >t/a && touch -r t/x t/a && rm t/x && cp -p t/y t/z
	synced t a.img
	x 0 stat --json a.img:/y
	need_json
	equal "$(json 'd["links"]')" 1
}

@test "what is gone makes room for what comes" {
	mkdir -p t/e/f
	head -c 9M /dev/urandom >t/d1
	head -c 9M /dev/urandom >t/e/f/one
	echo keep >t/e/two
	x 0 create --size auto --from t a.img
	mv t/e/two t/two && rm -r t/e t/d1
	head -c 12M /dev/urandom >t/z
	synced t a.img
	# through a pipe the names that come are not known before
	rm t/z && head -c 12M /dev/urandom >t/y
	need tar
	tar -C t --format=pax --numeric-owner -cf t.tar .
	cp a.img b.img
	"$EXTKIT" sync - b.img <t.tar 2>err && false
	has "$(<err)" "space"
	clean b.img
	x 0 sync t.tar a.img
	clean a.img
	x 0 diff t.tar a.img
	# nothing goes first when something may fail
	printf '#spec 1\n./a data=a\n./b time=99999999999 data=b\n' >a.spec
	x 8 sync --keep-going a.spec a.img
	x 0 cat a.img:/two
}

@test "a named pipe is a source that is read once" {
	tree
	rm -r t/d/e
	echo new >t/z
	tar -cf t.tar -C t .
	mkfifo pipe
	timeout 20 cat t.tar >pipe &
	run timeout 20 "$EXTKIT" sync pipe a.img
	equal "$status" 0
	wait
	clean a.img
	x 0 diff t.tar a.img
}

@test "a file that moved is written anew where its inode takes no further name" {
	need python3
	mkdir t to
	echo one >t/old
	python3 -c 'import os; [os.link("t/old", f"t/{i}") for i in range(64999)]' 2>err ||
		skip "the host has no 65000 names for one file"
	cp -p t/old to/new
	x 0 create --size auto --free 8M -N 16 --from t a.img
	x 0 sync --keep to a.img
	clean a.img
	x 0 cat a.img:/new
	equal "$out" one
}

@test "a further name gets a file of its own where an archive has more than an inode takes" {
	need python3
	mkdir t
	echo one >t/old
	touch -d @1000 t/old
	python3 -c 'import os; [os.link("t/old", f"t/{i}") for i in range(64998)]' 2>err ||
		skip "the host has no 65000 names for one file"
	x 0 create --size auto --free 8M -N 16 --from t a.img
	mkdir to
	cp -p t/old to/m1
	ln to/m1 to/m2
	ln to/m1 to/m3
	ln to/m1 to/m4
	tar -C to -cf to.tar m1 m2 m3 m4
	x 0 sync --keep to.tar a.img
	clean a.img
	for name in m1 m2 m3 m4; do
		x 0 cat a.img:/$name
		equal "$out" one
	done
	[ "$("$EXTKIT" ls -id a.img:/m2)" != "$("$EXTKIT" ls -id a.img:/m1)" ]
	equal "$("$EXTKIT" ls -id a.img:/m2 | awk '{print $1}')" "$("$EXTKIT" ls -id a.img:/m4 | awk '{print $1}')"
	# and keeps it as long as it is the same
	quiet to.tar a.img --keep
	x 0 chmod 600 a.img:/m2
	x 0 sync --dry-run --keep to.tar a.img
	equal "$(grep -c link <<<"$out")" 3
	x 0 sync --keep to.tar a.img
	clean a.img
	quiet to.tar a.img --keep
}

@test "a folder that only a name far below implies stays" {
	mkdir -p t/a
	echo x >t/a/x
	x 0 create --size auto --free 4M --from t a.img
	printf '#spec 1\n./a/b/c/d data=x\n./z data=y\n' >a.spec
	inode=$("$EXTKIT" ls -id a.img:/a)
	x 0 sync a.spec a.img
	clean a.img
	x 0 cat a.img:/a/b/c/d
	equal "$out" x
	quiet a.spec a.img
	equal "$("$EXTKIT" ls -id a.img:/a)" "$inode"
}
