/* SPDX-License-Identifier: BSD-2-Clause */
/* A raw image: data go to their places, and what is zero stays a hole of the file. */
#include <errno.h>
#include <unistd.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "tree/convert.h"

#define GRAIN ((size_t)4096) /* the least hole that file systems make */

static int raw_begin(struct form_file *f)
{
	return f->size <= INT64_MAX && ftruncate(f->fd, (off_t)f->size) == 0
		   ? 0
		   : diag_errno(f->diag, f->size > INT64_MAX ? -EFBIG : -errno, "cannot write %s",
				f->name);
}

static int raw_data(struct form_file *f, uint64_t off, const uint8_t *buf, size_t len)
{
	size_t from = 0;
	int rc = 0;

	for (size_t at = 0; at < len && rc == 0;) {
		size_t n = MIN(len - at, GRAIN);
		bool zero = mem_is_zero(buf + at, n);

		if (zero && at > from)
			rc = form_put(f, off + from, buf + from, at - from);
		at += n;
		if (zero)
			from = at;
	}
	return rc == 0 && len > from ? form_put(f, off + from, buf + from, len - from) : rc;
}

static int raw_zeros(struct form_file *f, uint64_t off, uint64_t len, bool unused)
{
	return 0;
}

static int raw_finish(struct form_file *f)
{
	f->at = f->size;
	return 0;
}

const struct form_ops form_raw = {
    .bytes = sizeof(struct form_file),
    .begin = raw_begin,
    .data = raw_data,
    .zeros = raw_zeros,
    .finish = raw_finish,
};
