#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Counts that do not depend on time are the kernel's.

load ../lib/common

@test "small workloads cost what they cost in Linux" {
	command -v mke2fs >/dev/null || skip "no mke2fs"
	"$SRC/tests/accuracy/vectors.py" "${OUT:?}"
}
