/* SPDX-License-Identifier: BSD-2-Clause */
/* Mounted folders are refused by name. */
#include <errno.h>

#include "base/diag.h"
#include "trace/target.h"

int target_open_folder(const char *path, const struct ek_replay_options *opt, struct diag *d,
		       struct target **ret)
{
	return diag_set(d, -EOPNOTSUPP, "unsupported target: folder %s", path);
}
