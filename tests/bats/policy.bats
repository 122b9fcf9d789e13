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
