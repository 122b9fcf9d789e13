/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two trees compared: images, folders of the host, archives and manifests, in any pair.
 *
 *	static int tell(void *arg, const struct ek_difference *d)
 *	{
 *		printf("%s: %s: %s, %s\n", d->path, d->what, d->a, d->b);
 *		return 0;
 *	}
 *
 *	struct ek_diff_side a = {.name = "old.tar"}, b = {.name = "new.img"};
 *	struct ek_diff_options opt = {.size = sizeof(opt)};
 *
 *	if (ek_diff(ctx, &a, &b, &opt, tell, NULL) == 0)
 *		puts("equal");
 */
#ifndef EXTKIT_DIFF_H
#define EXTKIT_DIFF_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;
struct ek_inode;

struct ek_diff_side {
	const char *name;       /* as a source of a tree (extkit/tree.h) */
	struct ek_inode *inode; /* or a folder of an open image; then name is for messages */
};

enum ek_diff_flag {
	EK_DIFF_NO_TIMES = 1 << 0,
	EK_DIFF_NO_OWNERS = 1 << 1,
	EK_DIFF_NO_XATTRS = 1 << 2,
	EK_DIFF_NO_CONTENTS = 1 << 3 /* sizes are compared all the same */
};

struct ek_diff_options {
	size_t size;    /* sizeof(struct ek_diff_options) */
	unsigned flags; /* enum ek_diff_flag, or'ed */
};

/* One difference.  what: "missing" (a or b is "-", the other "there"), "type", "mode", "owner",
 * "size", "contents" (a and b are the first byte that differs), "target", "device", "time",
 * "flags", "project", "attributes" (the first that differs), "links".  a and b are the values in
 * words. Valid during the call only; path is as the trees have it: escape it before showing. */
struct ek_difference {
	const char *path; /* below the start, "" for the start itself */
	const char *what;
	const char *a, *b;
};

/* Other than 0 ends the comparison with that result. */
typedef int ek_diff_fn(void *arg, const struct ek_difference *d);

/* Calls tell for each difference: those of what both have and of what only b has in the order of b,
 * then what only a has in the order of its names; with a an archive and b none, the other way
 * round.  lost+found at the start is compared only when both have it.  Times of access and creation
 * are not compared, nor what a source does not know.  Returns 0 when there was none, 1 when there
 * were some.
 *
 * Memory goes with the number of names in a; contents are compared piece by piece.  Of two archives
 * the contents of the first are kept in memory (a file without a name) meanwhile. */
EK_EXPORT EK_MUST int ek_diff(struct ek_ctx *ctx, const struct ek_diff_side *a,
			      const struct ek_diff_side *b, const struct ek_diff_options *opt,
			      ek_diff_fn *tell, void *arg);

#ifdef __cplusplus
}
#endif
#endif
