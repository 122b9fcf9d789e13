#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# extkit policy, and replays that follow one

load ../lib/common

@test "policies and their switches are listed" {
	x 0 policy list
	has "$out" linux-6.18
	has "$out" native
	x 0 policy show linux-5.14
	has "$out" g0
	x 0 policy show --all
	has "$out" g0
	has "$out" g5
}

@test "a policy that does not exist or cannot be is a usage error that says why" {
	x 2 policy show linux-1.0
	has "$err" "no preset 'linux-1.0', there are: linux-6.18"
	x 2 policy show --set data=journal --set folio=s2
	has "$err" "folio=s2 is impossible with data=journal"
}

# under ARG...: the recording on a fresh image a.img under a policy, which must be clean afterwards.
under() {
	rm -f a.img
	make_image a.img 256M
	x 0 replay "$@" "$trace" a.img
	clean a.img
}

# tree: names, sizes, modes and contents of a.img, without what a policy may change.
tree() {
	rm -rf got
	x 0 get -R a.img:/ got
	(cd got && find . ! -name lost+found -printf '%p %y %m %s %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

@test "under every policy files have the same contents" {
	trace=$SRC/contrib/demo/sqlite.wtb
	under
	local want policy
	want=$(tree)
	for policy in $("$EXTKIT" policy list | awk 'NR > 1 {print $1}'); do
		under --policy "$policy"
		equal "$(tree)" "$want"
	done
	for policy in folio=s0 folio=s2 folio=s3 write=g0 write=g1 write=g3 budget=r0 budget=r1 pass=p0 wrap=w0 completion=written; do
		under --set "$policy"
		equal "$(tree)" "$want"
	done
}

@test "a power cut under any strategy of folios leaves a filesystem that recovers" {
	trace=$SRC/contrib/demo/sqlite.wtb
	local policy at
	for policy in folio=s0 folio=s2 folio=s3 write=g0; do
		for at in 100 700 1400; do
			rm -f a.img
			make_image a.img 64M
			x 0 replay --set $policy --crash --stop-after $at "$trace" a.img
			x 0 rm -f a.img:/no-such-name # replays the journal
			clean a.img
		done
	done
}
