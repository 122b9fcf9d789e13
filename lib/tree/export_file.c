/* SPDX-License-Identifier: BSD-2-Clause */
/* Export of one file: under a name of its own first, renamed when it is whole. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "extkit/export.h"
#include "extkit/inode.h"
#include "fs/inode.h"
#include "fs/session.h"
#include "tree/host.h"

#define PIECE ((size_t)1 << 20)

static int fill(struct ek_inode *inode, const struct ek_stat *st, int fd, unsigned flags)
{
	void *piece = malloc(PIECE);
	int rc = piece == NULL ? -ENOMEM : host_copy(inode, st->bytes, fd, piece, PIECE);

	if (rc == 0)
		rc = host_finish(inode, st, fd, flags);
	free(piece);
	return rc;
}

/* Leaves a name that is taken alone, also on file systems that know no flags of a rename. */
static int place_anew(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if ((errno != EINVAL && errno != ENOSYS) || link(from, to) < 0)
		return -errno;
	return unlink(from) < 0 ? -errno : 0;
}

static int place(const char *from, const char *to, unsigned flags)
{
	if ((flags & EK_EXPORT_REPLACE) == 0)
		return place_anew(from, to);
	return rename(from, to) < 0 ? -errno : 0;
}

static int export_as(struct ek_inode *inode, const struct ek_stat *st, const char *dest,
		     unsigned flags)
{
	char *temp;
	int fd, rc;

	if (asprintf(&temp, "%s.XXXXXX", dest) < 0)
		return -ENOMEM;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		rc = -errno;
		free(temp);
		return rc;
	}
	rc = fill(inode, st, fd, flags);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0)
		rc = place(temp, dest, flags);
	if (rc < 0)
		unlink(temp);
	free(temp);
	return rc;
}

int ek_export_file(struct ek_inode *inode, const char *dest, const struct ek_export_options *opt,
		   uint64_t *ret_bytes)
{
	struct ek_export_options o = {.size = sizeof(o)};
	struct diag *d = &inode->img->session->ctx->diag;
	struct ek_stat st = {.size = sizeof(st)};
	int rc;

	if (opt != NULL)
		session_hand_out(&o, opt->size, opt, sizeof(o));
	rc = ek_inode_stat(inode, &st);
	if (rc < 0)
		return rc;
	if (!S_ISREG(st.mode))
		return diag_set(d, S_ISDIR(st.mode) ? -EISDIR : -EINVAL,
				"cannot export: inode %u is no regular file", inode->ino.v);
	if (o.max_bytes != 0 && st.bytes > o.max_bytes)
		return diag_set(d, -EFBIG, "export: bytes: more than %llu",
				(unsigned long long)o.max_bytes);
	rc = export_as(inode, &st, dest, o.flags);
	if (rc < 0)
		return diag_errno(d, rc, "cannot write %s", dest);
	if (ret_bytes != NULL)
		*ret_bytes = st.bytes;
	return 0;
}
