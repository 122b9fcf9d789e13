/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of the image target on the contents of files: through the page cache, or past it. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "trace/target_image.h"
#include "trace/words.h"

int image_no_space(struct image_target *t, uint64_t len, uint64_t written)
{
	uint64_t bs = t->img->geom.block_size, missing = (len - written + bs - 1) / bs;
	struct diag *d = &t->img->diag;

	diag_replace(d, -ENOSPC, "no space: %llu of %llu bytes written, %llu blocks missing",
		     (unsigned long long)written, (unsigned long long)len,
		     (unsigned long long)missing);
	d->need_blocks = missing;
	return -ENOSPC;
}

static int short_write(struct image_target *t, const struct op *o, int64_t n)
{
	if (n >= 0 && t->pc->faults.copy.every != 0) /* as short as was asked for */
		return 0;
	if (n == -ENOSPC || (n >= 0 && (uint64_t)n < o->len))
		return image_no_space(t, o->len, n < 0 ? 0 : (uint64_t)n);
	return n < 0 ? (int)n : 0;
}

static unsigned sync_flags(const struct open_file *f, const struct op *o)
{
	unsigned flags = f->sync;

	if ((o->flags & OPF_SYNC) != 0)
		flags |= PC_SYNC;
	if ((o->flags & OPF_DSYNC) != 0)
		flags |= PC_DSYNC;
	return flags;
}

/* Past the cache, or until it is durable. */
static int64_t write_with_flags(struct image_target *t, const struct open_file *f,
				const struct op *o, const struct pc_source *src)
{
	if (f->direct || (o->flags & OPF_DIRECT) != 0)
		return pc_direct_write(&t->task, f->inode, o->off, o->len, src, sync_flags(f, o));
	return pc_write(&t->task, f->inode, o->off, o->len, src, sync_flags(f, o));
}

int image_op_write(struct image_target *t, const struct op *o)
{
	struct open_file *f = image_file(t, o->handle);
	const struct pc_source *src = &t->any;
	int64_t n;

	if (f == NULL)
		return -EBADF;
	if (o->data_kind != DATA_NONE) {
		t->given = image_source(t, o);
		src = &t->given;
	}
	if (f->direct || f->sync != 0 || (o->flags & (OPF_DIRECT | OPF_SYNC | OPF_DSYNC)) != 0)
		n = write_with_flags(t, f, o, src);
	else
		n = pc_write(&t->task, f->inode, o->off, o->len, src, 0);
	return n == (int64_t)o->len ? 0 : short_write(t, o, n);
}

/* Past the cache, in pieces of the copy buffer; the bytes go nowhere. */
static int read_direct(struct image_target *t, struct ek_inode *inode, uint64_t off, uint64_t len)
{
	int64_t n = 1;

	for (uint64_t done = 0; done < len && n > 0; done += (uint64_t)n) {
		n = pc_direct_read(&t->task, inode, off + done,
				   MIN(len - done, (uint64_t)COPY_BYTES), t->copy);
		if (n < 0)
			return (int)n;
	}
	return 0;
}

int image_op_read(struct image_target *t, const struct op *o)
{
	struct open_file *f = image_file(t, o->handle);
	int64_t n;

	if (f == NULL)
		return -EBADF;
	if (!inode_is_file(f->inode))
		return 0;
	if (f->direct || (o->flags & OPF_DIRECT) != 0)
		return read_direct(t, f->inode, o->off, o->len);
	n = pc_read(&t->task, f->inode, o->off, o->len, NULL, &f->reads);
	return n < 0 ? (int)n : 0;
}

int image_op_store(struct image_target *t, const struct op *o)
{
	struct open_file *f = image_file(t, o->handle);
	struct pc_source src = image_source(t, o);

	if (f == NULL)
		return -EBADF;
	if (t->no_stores)
		return 0;
	return pc_mmap_write(&t->task, f->inode, o->off, o->len, &src, &f->reads);
}

/* In steps of a pipe: read, then write.  A source outside the traced root has no bytes here. */
int image_op_copy(struct image_target *t, const struct op *o)
{
	struct open_file *from = o->handle != 0 ? image_file(t, o->handle) : NULL;
	struct open_file *to = image_file(t, o->handle2);
	struct pc_source outside = {t->pattern, PATTERN_BYTES}, inside = {t->copy, 0};
	uint64_t done = 0, end = o->len;

	if (to == NULL || (o->handle != 0 && from == NULL))
		return -EBADF;
	while (done < end) {
		uint64_t n = MIN(end - done, (uint64_t)COPY_BYTES), want = n;
		int64_t rc = (int64_t)n;

		if (from != NULL) {
			/* A pipe holds pages, the first of them cut where the source begins. */
			n = MIN(n, COPY_BYTES - (o->off + done) % PAGE_BYTES);
			rc = pc_splice(&t->task, from->inode, o->off + done, n, want, t->copy,
				       &from->reads);
			if (rc >= 0 && rc < (int64_t)n) /* the source ends here */
				end = done + (uint64_t)rc;
			n = rc >= 0 ? (uint64_t)rc : n;
		}
		if (rc > 0)
			rc = pc_write(&t->task, to->inode, o->off2 + done, n,
				      from != NULL ? &inside : &outside, to->sync);
		if (rc < 0)
			return (int)rc;
		done += n;
	}
	return 0;
}

int image_op_falloc(struct image_target *t, const struct op *o)
{
	struct open_file *f = image_file(t, o->handle);

	if (f == NULL)
		return -EBADF;
	return o->sub < FALLOC_COUNT
		   ? inode_fallocate(&t->task, f->inode, op_falloc_modes[o->sub], o->off, o->len)
		   : -EINVAL;
}

int image_op_fsync(struct image_target *t, const struct op *o)
{
	struct open_file *f = image_file(t, o->handle);

	if (f == NULL)
		return -EBADF;
	return pc_fsync(&t->task, f->inode, o->code == OP_FDATASYNC);
}

int image_op_sync_range(struct image_target *t, const struct op *o)
{
	struct open_file *f = image_file(t, o->handle);
	unsigned flags = 0;

	if (f == NULL)
		return -EBADF;
	flags |= (o->flags & OPF_WAIT_BEFORE) != 0 ? 1u : 0;
	flags |= (o->flags & OPF_START) != 0 ? 2u : 0;
	flags |= (o->flags & OPF_WAIT_AFTER) != 0 ? 4u : 0;
	return pc_sync_range(&t->task, f->inode, o->off, o->len, flags);
}

int image_op_sync_all(struct image_target *t, const struct op *o)
{
	return o->code == OP_SYNC ? pc_sync_all(&t->task) : pc_sync(&t->task);
}

int image_op_msync(struct image_target *t, const struct op *o)
{
	struct open_file *f = image_file(t, o->handle);

	if (f == NULL)
		return -EBADF;
	if (t->no_stores || (o->flags & OPF_ASYNC) != 0)
		return 0;
	return pc_fsync(&t->task, f->inode, false);
}

int image_op_advise(struct image_target *t, const struct op *o)
{
	struct open_file *f = image_file(t, o->handle);

	if (f == NULL)
		return -EBADF;
	switch (o->sub) {
	case ADVICE_WILLNEED:
		return inode_is_file(f->inode) ? pc_will_need(&t->task, f->inode, o->off, o->len)
					       : 0;
	case ADVICE_DONTNEED:
		return pc_dont_need(&t->task, f->inode, o->off, o->len);
	case ADVICE_RANDOM:
		f->reads.advice = READAHEAD_RANDOM;
		return 0;
	case ADVICE_SEQUENTIAL:
		f->reads.advice = READAHEAD_SEQUENTIAL;
		return 0;
	default:
		return 0;
	}
}

int image_op_drop_caches(struct image_target *t, const struct op *o)
{
	pc_drop_caches(t->pc);
	return 0;
}
