/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef READABLE_H
#define READABLE_H

#include "base/diag.h"
#include "trace/stream.h"
#include "trace/wtr.h"

/* What an import writes is a trace that its own reader takes. */
static void check_readable(const void *p, size_t n)
{
	struct op_source *s;
	struct instream *in;
	const struct op *o;
	struct diag d = {0};
	int rc = instream_memory(p, n, "again", 0, &d, &in);

	if (rc == 0)
		rc = wtr_read(in, 0, &d, &s);
	if (rc == 0) {
		while ((rc = op_next(s, &o)) > 0)
			;
		CHECK(rc < 0 || op_whole(s));
		op_source_close(s);
	}
	if (rc < 0)
		TAP_FAIL("%s", d.text);
}

#endif
