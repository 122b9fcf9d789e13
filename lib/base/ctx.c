/* SPDX-License-Identifier: BSD-2-Clause */
/* A context: the last failure of a caller's thread and its wish to hear of progress. */
#include "base/ctx.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

int ek_ctx_new(struct ek_ctx **ret)
{
	struct ek_ctx *ctx = mem_zero(sizeof(*ctx));

	if (ctx == NULL)
		return -ENOMEM;
	*ret = ctx;
	return 0;
}

void ek_ctx_free(struct ek_ctx *ctx)
{
	free(ctx);
}

const char *ek_ctx_message(const struct ek_ctx *ctx)
{
	return ctx->diag.text;
}

int ek_ctx_code(const struct ek_ctx *ctx)
{
	return ctx->diag.code;
}

int ek_ctx_from_host(const struct ek_ctx *ctx)
{
	return ctx->diag.host;
}

uint64_t ek_ctx_missing_blocks(const struct ek_ctx *ctx)
{
	return ctx->diag.need_blocks;
}

uint64_t ek_ctx_missing_inodes(const struct ek_ctx *ctx)
{
	return ctx->diag.need_inodes;
}

void ek_ctx_on_progress(struct ek_ctx *ctx, ek_progress_fn *fn, void *arg)
{
	ctx->progress = fn;
	ctx->progress_arg = arg;
}

int ctx_progress(struct ek_ctx *ctx, const struct ek_progress *progress)
{
	if (ctx->progress == NULL || ctx->progress(ctx->progress_arg, progress) == 0)
		return 0;
	return diag_set(&ctx->diag, -ECANCELED, "%s: stopped on request", progress->stage);
}
