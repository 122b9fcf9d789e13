/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A context carries what a failing call has to say, and who wants to hear of progress.
 *
 * Make one for each thread that works on its own images; calls on one context must not overlap.
 * A context costs about a kilobyte and opens nothing.
 *
 *	struct ek_ctx *ctx;
 *
 *	if (ek_ctx_new(&ctx) == 0) {
 *		if (some_call(ctx, ...) < 0)
 *			fprintf(stderr, "%s\n", ek_ctx_message(ctx));
 *		ek_ctx_free(ctx);
 *	}
 */
#ifndef EXTKIT_CTX_H
#define EXTKIT_CTX_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;

/* Makes a context; the caller frees it after everything that was opened with it.  -ENOMEM. */
EK_EXPORT EK_MUST int ek_ctx_new(struct ek_ctx **ret);

/* Accepts NULL. */
EK_EXPORT void ek_ctx_free(struct ek_ctx *ctx);

/* The story of the last call that failed: one line without a newline, in the form
 * "what: where: why and the value", or "" when none did.  Names that came from an image are already
 * escaped.  Valid until the next call on this context. */
EK_EXPORT const char *ek_ctx_message(const struct ek_ctx *ctx);

/* The negative errno of that call, 0 when none failed. */
EK_EXPORT int ek_ctx_code(const struct ek_ctx *ctx);

/* 1 when the host gave that errno (the image file is missing, its disk is full), 0 when it is about
 * what is inside an image or a trace. */
EK_EXPORT int ek_ctx_from_host(const struct ek_ctx *ctx);

/* With -ENOSPC: how many blocks and inodes more would have done; 0 for what is not known. */
EK_EXPORT uint64_t ek_ctx_missing_blocks(const struct ek_ctx *ctx);
EK_EXPORT uint64_t ek_ctx_missing_inodes(const struct ek_ctx *ctx);

/* How far a long call has come. */
struct ek_progress {
	const char *stage; /* a constant English word or two, such as "write files" */
	uint64_t done;     /* in unit, never falls within a stage */
	uint64_t total;    /* 0 when unknown */
	const char *unit;  /* "bytes", "ops", "files" */
};

/* Is called now and then by long calls, from the thread that made the call.  A result other than 0
 * ends the call with -ECANCELED; what was begun is undone as after any failure. */
typedef int ek_progress_fn(void *arg, const struct ek_progress *progress);

/* NULL stops the reports. */
EK_EXPORT void ek_ctx_on_progress(struct ek_ctx *ctx, ek_progress_fn *fn, void *arg);

#ifdef __cplusplus
}
#endif
#endif
