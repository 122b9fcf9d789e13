#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Every damaged image of the corpus, read by every verb that reads: no crash, no hang, no byte changed, no
# raw control byte printed, nothing written outside of the target.

load ../lib/common

@test "damaged images are read or refused in bounded time" {
	local run=${EXTKIT_CORPUS:-${SRC:-$BATS_TEST_DIRNAME/../..}/../shared/corpus}/../conformance/run-malformed limit=(-m 4194304)
	[ -x "$run" ] || skip "the corpus of damaged images is not here"
	[ -z "${SANITIZED:-}" ] || limit=(-m 0 -t 60)
	"$run" -r -e "${limit[@]}" "$EXTKIT ls -lR {img}" "$EXTKIT stat {img}:/" "$EXTKIT info {img}" \
		"$EXTKIT cat {img}:/file" "$EXTKIT get -R {img} {dir}/out" "$EXTKIT find {img}" "$EXTKIT df {img}" \
		"$EXTKIT map {img}:/"
}
