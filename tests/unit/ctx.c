/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts: stories, progress, cancelling. */
#include "tap.h"

#include <errno.h>

#include "base/ctx.h"

static int count_calls(void *arg, const struct ek_progress *progress)
{
	int *left = arg;

	return --*left < 0;
}

TEST(a_new_context_has_no_story)
{
	struct ek_ctx *ctx;

	CHECK_INT(ek_ctx_new(&ctx), 0);
	CHECK_INT(ek_ctx_code(ctx), 0);
	CHECK_STR(ek_ctx_message(ctx), "");
	ek_ctx_free(ctx);
}

TEST(missing_blocks_and_inodes_reach_the_caller)
{
	struct ek_ctx *ctx;

	CHECK_INT(ek_ctx_new(&ctx), 0);
	diag_set(&ctx->diag, -ENOSPC, "no space: %s", "a.img");
	ctx->diag.need_blocks = 12;
	ctx->diag.need_inodes = 1;
	CHECK_INT(ek_ctx_code(ctx), -ENOSPC);
	CHECK_INT(ek_ctx_missing_blocks(ctx), 12);
	CHECK_INT(ek_ctx_missing_inodes(ctx), 1);
	ek_ctx_free(ctx);
}

TEST(failures_of_the_host_are_told_from_those_of_the_image)
{
	struct ek_ctx *ctx;

	CHECK_INT(ek_ctx_new(&ctx), 0);
	diag_errno(&ctx->diag, -ENOENT, "cannot open %s", "a.img");
	CHECK_INT(ek_ctx_from_host(ctx), 1);
	diag_clear(&ctx->diag);
	diag_set(&ctx->diag, -ENOENT, "no such path: %s", "/etc");
	CHECK_INT(ek_ctx_from_host(ctx), 0);
	ek_ctx_free(ctx);
}

TEST(a_listener_can_end_a_long_call)
{
	const struct ek_progress step = {.stage = "write files", .unit = "bytes"};
	struct ek_ctx *ctx;
	int left = 1;

	CHECK_INT(ek_ctx_new(&ctx), 0);
	CHECK_INT(ctx_progress(ctx, &step), 0);
	ek_ctx_on_progress(ctx, count_calls, &left);
	CHECK_INT(ctx_progress(ctx, &step), 0);
	CHECK_INT(ctx_progress(ctx, &step), -ECANCELED);
	CHECK_STR(ek_ctx_message(ctx), "write files: stopped on request");
	ek_ctx_free(ctx);
}

int main(void)
{
	return tap_main();
}
