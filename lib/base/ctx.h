/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a context.  Every public call that takes one starts with diag_clear(&ctx->diag) and
 * lets the layers below write to &ctx->diag.
 */
#ifndef BASE_CTX_H
#define BASE_CTX_H

#include "base/diag.h"
#include "extkit/ctx.h"

struct ek_ctx {
	struct diag diag;
	ek_progress_fn *progress; /* NULL: nobody asks */
	void *progress_arg;
};

/* Tells the listener, when there is one.  Cheap, yet meant for each megabyte rather than for each
 * block.  Returns 0, or -ECANCELED with a story when the listener wants the call to end. */
int ctx_progress(struct ek_ctx *ctx, const struct ek_progress *progress);

#endif
