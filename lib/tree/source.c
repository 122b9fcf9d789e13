/* SPDX-License-Identifier: BSD-2-Clause */
/* What kind of source a name stands for, and which paths a source may hand out. */
#include "tree/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ctx.h"
#include "base/escape.h"
#include "io/container.h"

#define DEPTH_LIMIT 256u

static int bad_path(const char *where, const char *path, const char *why, struct diag *d)
{
	char shown[160];

	return diag_set(d, -EINVAL, "refused: %s: path '%s' %s", where,
			escape_to(shown, sizeof(shown), path, strlen(path)), why);
}

int tree_clean_path(const char *where, const char *path, char *buf, struct diag *d)
{
	const char *p = path;
	unsigned depth = 0;
	size_t at = 0;

	if (*p == '/')
		return bad_path(where, path, "begins at the root of the host", d);
	while (*p != '\0') {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return bad_path(where, path, "leads out of the tree", d);
		if (n > 255)
			return bad_path(where, path, "has a name of more than 255 bytes", d);
		if (n != 0 && !(n == 1 && p[0] == '.')) {
			if (++depth > DEPTH_LIMIT)
				return bad_path(where, path, "is more than 256 folders deep", d);
			if (at != 0)
				buf[at++] = '/';
			memmove(buf + at, p, n);
			at += n;
		}
		p += n;
		p += strspn(p, "/");
	}
	buf[at] = '\0';
	return 0;
}

/* The first bytes of a regular file tell an image, in whatever form, and a manifest; all else is an
 * archive's.  To that a compressed image could look like an archive without entries. */
static int open_file(struct ek_ctx *ctx, const char *name, struct tree_source **ret)
{
	uint8_t head[1084] = {0};
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return diag_errno(&ctx->diag, -errno, "cannot read %s", name);
	n = pread(fd, head, sizeof(head), 0);
	close(fd);
	if ((n == (ssize_t)sizeof(head) && head[1080] == 0x53 && head[1081] == 0xEF) ||
	    container_has_image(name))
		return tree_open_image(ctx, name, ret);
	if (n >= 6 && (memcmp(head, "#spec", 5) == 0 || memcmp(head, "#mtree", 6) == 0))
		return tree_open_spec(name, &ctx->diag, ret);
	return tree_open_archive(name, &ctx->diag, ret);
}

int tree_open(struct ek_ctx *ctx, const char *name, struct tree_source **ret)
{
	struct stat st;

	if (strcmp(name, "-") == 0)
		return tree_open_archive(name, &ctx->diag, ret);
	if (stat(name, &st) < 0)
		return diag_errno(&ctx->diag, -errno, "cannot read %s", name);
	if (S_ISDIR(st.st_mode))
		return tree_open_folder(name, &ctx->diag, ret);
	if (S_ISBLK(st.st_mode))
		return tree_open_image(ctx, name, ret);
	if (S_ISREG(st.st_mode))
		return open_file(ctx, name, ret);
	return tree_open_archive(name, &ctx->diag, ret);
}
