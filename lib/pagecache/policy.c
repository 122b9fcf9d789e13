/* SPDX-License-Identifier: BSD-2-Clause */
/* The policies that exist, one const record each. */
#include "pagecache/policy.h"

const struct policy policy_linux_6_18 = {
    .name = "linux-6.18",
    .write = WRITE_G5,
    .folio = FOLIO_S1,
    .budget = BUDGET_R2,
    .wrap = WRAP_W1,
    .max_order = 9,
};
