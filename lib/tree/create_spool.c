/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents of a stream that have no place yet: in memory, or in a file without a name beside the
 * target when everything must wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "tree/create_impl.h"
#include "tree/spool.h"

/* Memory, or a file without a name beside the target when everything must wait. */
static int open_spool(struct making *m)
{
	const char *slash = m->target.path != NULL ? strrchr(m->target.path, '/') : NULL;
	char folder[4096] = ".";

	if (slash != NULL && (size_t)(slash - m->target.path) < sizeof(folder) - 1) {
		memcpy(folder, m->target.path, (size_t)(slash - m->target.path) + 1);
		folder[slash - m->target.path + 1] = '\0';
	}
	m->spool = build_can_settle(m->b) ? memfd_create("extkit", MFD_CLOEXEC)
					  : open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (m->spool < 0)
		m->spool = memfd_create("extkit", MFD_CLOEXEC);
	return m->spool < 0 ? diag_errno(m->diag, -errno, "cannot spool") : 0;
}

static int spool_run(struct making *m, struct tree_source *s, const struct gather_node *n,
		     const struct build_run *r)
{
	uint32_t bs = build_block_size(m->b);
	uint64_t from = (uint64_t)r->lblk * bs;
	uint64_t to = MIN(from + (uint64_t)r->len * bs, n->i.size);
	int rc = 0;

	while (from < to && rc == 0) {
		size_t len = (size_t)MIN(to - from, (uint64_t)MAKING_PIECE);

		rc = s->ops->read(s, n->i.token, from, m->piece, len);
		if (rc == 0)
			rc = spool_write(m->spool, m->spooled, m->piece, len, m->diag);
		m->spooled += len;
		from += len;
	}
	return rc;
}

int making_spool(struct making *m, struct tree_source *s, struct gather_node *n)
{
	uint64_t at = m->spooled;
	int rc = m->spool < 0 ? open_spool(m) : 0;

	for (uint32_t i = 0; i < n->i.nruns && rc == 0; i++)
		rc = spool_run(m, s, n, &n->i.runs[i]);
	n->i.token = at;
	return rc;
}

int making_settle(struct making *m)
{
	int rc = build_settle(m->b);

	for (size_t i = 0; i < m->nfiles && rc == 0 && m->path != NULL; i++) {
		struct gather_node *n = m->files[i];

		if (n->has_contents && n->i.origin == NULL)
			rc = making_copy(m, NULL, n);
	}
	if (rc == 0)
		rc = making_flush(m);
	if (m->spool >= 0)
		close(m->spool);
	m->spool = -1;
	return rc;
}
