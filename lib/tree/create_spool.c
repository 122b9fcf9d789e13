/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents of a stream that have no place yet, one behind the other: the first of them in memory,
 * what follows, where everything must wait, in a file without a name beside the target.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/check.h"
#include "tree/create_impl.h"

/* Beside the target, where there must be room; but what is beside a device may be memory. */
static int open_file(struct making *m)
{
	const char *path = m->target.path, *slash = path != NULL ? strrchr(path, '/') : NULL;
	struct stat st;
	char *folder;
	int rc;

	if (path != NULL && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return spool_open_in(&m->spool, NULL, m->diag);
	folder = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	if (folder == NULL)
		return diag_set(m->diag, -ENOMEM, "out of memory to spool");
	rc = spool_open_in(&m->spool, folder, m->diag);
	free(folder);
	return rc;
}

/* Costs what is used of it, and few faults where the host has large pages. */
static int open_memory(struct making *m)
{
	void *p =
	    mmap(NULL, MAKING_WAIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return diag_errno(m->diag, -errno, "cannot spool");
	(void)madvise(p, MAKING_WAIT, MADV_HUGEPAGE);
	m->wait = p;
	return 0;
}

void making_unspool(struct making *m)
{
	if (m->wait != NULL)
		munmap(m->wait, MAKING_WAIT);
	spool_close(&m->spool);
	m->wait = NULL;
	m->spooled = 0;
}

/* At most *len bytes from the source behind what waits. */
static int spool_piece(struct making *m, struct tree_source *s, const struct gather_node *n,
		       uint64_t from, size_t *len)
{
	uint8_t *piece; /* nothing goes out yet: it is free */
	int rc;

	if (m->spooled < MAKING_WAIT) {
		rc = m->wait == NULL ? open_memory(m) : 0;
		*len = (size_t)MIN((uint64_t)*len, MAKING_WAIT - m->spooled);
		return rc < 0 ? rc : s->ops->read(s, n->i.token, from, m->wait + m->spooled, *len);
	}
	rc = m->spool.fd < 0 ? open_file(m) : 0;
	if (rc == 0)
		rc = tree_pieces_room(m->out, 0, len, &piece);
	if (rc == 0)
		rc = s->ops->read(s, n->i.token, from, piece, *len);
	return rc < 0 ? rc : spool_write(&m->spool, m->spooled - MAKING_WAIT, piece, *len, m->diag);
}

static int spool_run(struct making *m, struct tree_source *s, const struct gather_node *n,
		     const struct build_run *r)
{
	uint32_t bs = build_block_size(m->b);
	uint64_t from = (uint64_t)r->lblk * bs;
	uint64_t to = MIN(from + (uint64_t)r->len * bs, n->i.size);
	int rc = 0;

	while (from < to && rc == 0) {
		size_t len = (size_t)MIN(to - from, (uint64_t)TREE_PIECE);

		rc = spool_piece(m, s, n, from, &len);
		m->spooled += rc == 0 ? len : 0;
		from += len;
	}
	return rc;
}

int making_spool(struct making *m, struct tree_source *s, struct gather_node *n)
{
	uint64_t at = m->spooled;
	int rc = 0;

	for (uint32_t i = 0; i < n->i.nruns && rc == 0; i++)
		rc = spool_run(m, s, n, &n->i.runs[i]);
	n->i.token = at;
	return rc;
}

int making_fetch(struct making *m, uint64_t at, void *buf, size_t len)
{
	size_t n = at < MAKING_WAIT ? (size_t)MIN((uint64_t)len, MAKING_WAIT - at) : 0;

	if (n != 0)
		memcpy(buf, m->wait + at, n);
	return n == len ? 0
			: spool_read(m->spool.fd, at + n - MAKING_WAIT, (uint8_t *)buf + n, len - n,
				     m->diag);
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
	making_unspool(m);
	return rc;
}
