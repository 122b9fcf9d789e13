/* SPDX-License-Identifier: BSD-2-Clause */
/* What kernel events do to files: threads and inodes are followed, handles opened on first use. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "trace/events.h"

/* Inode numbers beyond this are those of block devices. */
#define INO_MAX  UINT32_MAX
#define INO_ROOT 2u

struct thread *events_thread(struct events *e, uint32_t pid)
{
	struct hash_node *h = hash_find(&e->threads, pid);
	struct thread *t;

	if (h)
		return hash_entry(h, struct thread, node);
	t = mem_zero(sizeof(*t));
	if (!t) {
		import_fail(&e->im, -ENOMEM, "no memory for a thread");
		return NULL;
	}
	t->pid = pid;
	hash_insert(&e->threads, &t->node, pid);
	return t;
}

/* The op's path: the name made up for an inode. */
static void path_of(struct events *e, uint64_t ino)
{
	struct op *op = &e->im.op;
	int n = snprintf(e->im.path, sizeof(e->im.path), "/i%llu", (unsigned long long)ino);

	if (ino == INO_ROOT)
		n = 1;
	op->path = (struct op_str){e->im.path, (uint32_t)n};
	e->im.path[n] = '\0';
	op->plain = 0;
}

struct inode *events_inode(struct events *e, uint64_t ino)
{
	struct hash_node *h = hash_find(&e->inodes, ino);

	return h ? hash_entry(h, struct inode, node) : NULL;
}

static void close_inode(struct events *e, struct inode *i)
{
	if (i->gone || i->handle == 0)
		return;
	import_begin(&e->im, OP_CLOSE)->handle = i->handle;
	import_emit(&e->im);
}

static void forget_inode(struct events *e, uint64_t ino)
{
	struct inode *i = events_inode(e, ino);

	if (!i)
		return;
	close_inode(e, i);
	hash_remove(&e->inodes, &i->node);
	free(i);
}

/* Replaces what is known of an inode number. */
static struct inode *new_inode(struct events *e, uint64_t ino)
{
	struct inode *i;

	forget_inode(e, ino);
	i = mem_zero(sizeof(*i));
	if (!i) {
		import_fail(&e->im, -ENOMEM, "no memory for an inode");
		return NULL;
	}
	i->folder = ino == INO_ROOT;
	hash_insert(&e->inodes, &i->node, ino);
	return i;
}

/* A file that nothing was seen to make was there before, of unknown size: the trace makes it. */
static void open_inode(struct events *e, struct inode *i, uint64_t ino)
{
	struct op *op = import_begin(&e->im, OP_OPEN);

	op->handle = i->handle = ++e->im.handles;
	op->flags = i->folder ? OPF_READ | OPF_DIRECTORY : OPF_READ | OPF_WRITE | OPF_CREAT;
	if (e->creating) {
		op->flags |= OPF_EXCL | OPF_NEW | OPF_MODE;
		op->mode = e->creating & 07777;
	}
	path_of(e, ino);
	import_emit(&e->im);
}

/* The handle of an inode, opened on first use. */
uint32_t events_handle(struct events *e, uint64_t ino)
{
	struct inode *i = events_inode(e, ino);

	if (!i || i->gone)
		i = new_inode(e, ino);
	if (!i)
		return 0;
	if (i->handle == 0)
		open_inode(e, i, ino);
	return i->handle;
}

bool events_ino(const struct event_line *l, uint64_t *ino)
{
	return event_number(l->fields, "ino", ino) && *ino <= INO_MAX;
}

/* The kernel lets go of an inode.  One without a name is closed, which frees it. */
static bool let_go(struct events *e, uint64_t ino)
{
	struct inode *i = events_inode(e, ino);

	if (!i || !i->unlinked)
		return false;
	close_inode(e, i);
	i->gone = true;
	return true;
}

/* Loses its name without an event: replaced by a rename, or a folder that was removed. */
static void lose_name(struct events *e, struct inode *i, uint64_t ino)
{
	if (i->unlinked || ino == INO_ROOT)
		return;
	import_begin(&e->im, i->folder ? OP_RMDIR : OP_UNLINK);
	path_of(e, ino);
	import_emit(&e->im);
	i->unlinked = true;
}

/* With links left, only the kernel's memory of the inode goes. */
static void evict(struct events *e, const struct event_line *l)
{
	uint64_t ino, links = 0;
	struct inode *i;

	if (!events_ino(l, &ino))
		return;
	i = events_inode(e, ino);
	if (i && (!event_number(l->fields, "nlink", &links) || links == 0))
		lose_name(e, i, ino);
	let_go(e, ino);
}

static void allocate_inode(struct events *e, const struct event_line *l)
{
	struct inode *i;
	uint64_t ino, mode;

	if (!events_ino(l, &ino) || !event_number(l->fields, "mode", &mode))
		return;
	i = events_inode(e, ino);
	if (i)
		lose_name(e, i, ino);
	forget_inode(e, ino);
	if ((mode & 0170000) == 0040000) {
		import_begin(&e->im, OP_MKDIR)->mode = (uint32_t)mode & 07777;
		path_of(e, ino);
		import_emit(&e->im);
		i = new_inode(e, ino);
		if (i)
			i->folder = true;
	} else if ((mode & 0170000) == 0100000) {
		e->creating = (uint32_t)mode | 0100000;
		events_handle(e, ino);
		e->creating = 0;
	} else {
		e->im.counts.unplaced++;
	}
}

static void unlink_enter(struct events *e, const struct event_line *l)
{
	struct inode *i;
	uint64_t ino;

	if (!events_ino(l, &ino))
		return;
	i = events_inode(e, ino);
	if (i && i->unlinked)
		return; /* another of its names: the trace knows one */
	import_begin(&e->im, OP_UNLINK);
	path_of(e, ino);
	import_emit(&e->im);
	if (i)
		i->unlinked = true;
}

static void sync_file(struct events *e, const struct event_line *l)
{
	uint64_t ino, datasync = 0;
	uint32_t handle;

	if (!events_ino(l, &ino))
		return;
	event_number(l->fields, "datasync", &datasync);
	handle = events_handle(e, ino);
	import_begin(&e->im, datasync ? OP_FDATASYNC : OP_FSYNC)->handle = handle;
	import_emit(&e->im);
}

static void fallocate(struct events *e, const struct event_line *l)
{
	static const struct {
		const char *word;
		enum op_falloc mode;
	} words[] = {{"PUNCH_HOLE", FALLOC_PUNCH},
		     {"COLLAPSE_RANGE", FALLOC_COLLAPSE},
		     {"ZERO_RANGE|KEEP_SIZE", FALLOC_ZEROKEEP},
		     {"KEEP_SIZE|ZERO_RANGE", FALLOC_ZEROKEEP},
		     {"ZERO_RANGE", FALLOC_ZERO},
		     {"INSERT_RANGE", FALLOC_INSERT},
		     {"KEEP_SIZE", FALLOC_KEEP}};
	uint64_t ino, off, len;
	enum op_falloc mode = FALLOC_ALLOC;
	uint32_t handle;
	struct op *op;

	if (!events_ino(l, &ino) || !event_number(l->fields, "offset", &off) ||
	    !event_number(l->fields, "len", &len) || off > INT64_MAX || len > INT64_MAX)
		return;
	for (unsigned i = sizeof(words) / sizeof(words[0]); i-- > 0;)
		if (memmem(l->fields.p, l->fields.n, words[i].word, strlen(words[i].word)))
			mode = words[i].mode;
	handle = events_handle(e, ino);
	op = import_begin(&e->im, OP_FALLOC);
	op->handle = handle;
	op->off = off;
	op->len = len;
	op->sub = (uint8_t)mode;
	op->plain = 0;
	import_emit(&e->im);
}

static void ordered_truncate(struct events *e, const struct event_line *l)
{
	uint64_t ino, size;
	uint32_t handle;
	struct op *op;

	if (!events_ino(l, &ino) || !event_number(l->fields, "new_size", &size) || size > INT64_MAX)
		return;
	/* Cutting an inode without a name to nothing is how the kernel deletes it. */
	if (size == 0 && let_go(e, ino))
		return;
	handle = events_handle(e, ino);
	op = import_begin(&e->im, OP_FTRUNCATE);
	op->handle = handle;
	op->len = size;
	import_emit(&e->im);
}

/* iomap_dio_rw_begin: a direct read or write. */
static void direct_io(struct events *e, const struct event_line *l)
{
	uint64_t ino, off, len;
	uint32_t handle;
	struct op *op;
	bool write = memmem(l->fields.p, l->fields.n, "WRITE", 5) != NULL;

	if (!events_ino(l, &ino) || !event_number(l->fields, "offset", &off) ||
	    !event_number(l->fields, "length", &len) || off > INT64_MAX || len > INT64_MAX ||
	    (!write && (e->im.opt.flags & IMPORT_NO_READS)))
		return;
	handle = events_handle(e, ino);
	op = import_begin(&e->im, write ? OP_WRITE : OP_READ);
	op->handle = handle;
	op->off = off;
	op->len = len;
	op->flags = OPF_DIRECT;
	import_emit(&e->im);
}

static bool is(const struct event_line *l, const char *name)
{
	return l->event.n == strlen(name) && memcmp(l->event.p, name, l->event.n) == 0;
}

/* Remembers whether the thread is in a call that zeroes parts of pages, and whether it writes. */
static void track_inside(struct thread *t, const struct event_line *l)
{
	if (is(l, "ext4_truncate_enter") || is(l, "ext4_fallocate_enter") ||
	    is(l, "ext4_begin_ordered_truncate"))
		t->inside = true;
	else if (is(l, "ext4_truncate_exit") || is(l, "ext4_fallocate_exit") ||
		 is(l, "ext4_da_write_begin") || is(l, "ext4_sync_file_enter"))
		t->inside = false;
	if (!is(l, "writeback_dirty_folio"))
		t->last_wrote = false; /* the handlers of writes set it */
}

bool events_work(struct events *e, struct thread *t, const struct event_line *l)
{
	track_inside(t, l);
	if (is(l, "ext4_da_write_begin") || is(l, "ext4_write_begin"))
		events_write_begin(e, t, l);
	else if (is(l, "ext4_da_write_end") || is(l, "ext4_write_end") ||
		 is(l, "ext4_journalled_write_end"))
		events_write_end(e, t, l);
	else if (is(l, "writeback_dirty_folio") || is(l, "writeback_dirty_page"))
		events_dirty(e, t, l);
	else if (is(l, "ext4_allocate_inode"))
		allocate_inode(e, l);
	else if (is(l, "ext4_unlink_enter"))
		unlink_enter(e, l);
	else if (is(l, "ext4_sync_file_enter"))
		sync_file(e, l);
	else if (is(l, "ext4_fallocate_enter"))
		fallocate(e, l);
	else if (is(l, "ext4_begin_ordered_truncate"))
		ordered_truncate(e, l);
	else if (is(l, "ext4_evict_inode") || is(l, "ext4_free_inode"))
		evict(e, l);
	else if (is(l, "iomap_dio_rw_begin"))
		direct_io(e, l);
	else if (is(l, "ext4_sync_fs")) {
		import_begin(&e->im, OP_SYNCFS);
		import_emit(&e->im);
	} else
		return false;
	return true;
}
