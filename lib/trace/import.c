/* SPDX-License-Identifier: BSD-2-Clause */
/* The common part of importers: building one op at a time and handing it over in order. */
#include "trace/import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/blobs.h"
#include "trace/manifest.h"
#include "trace/notes.h"

#define UNKNOWNS_MAX 512
#define TEXT_MAX     8192u /* two of them escaped are less than a line of 64 KiB */

/* The last reference to an open file went: that is the close of the model. */
static void closed(void *arg, struct ofd *o)
{
	struct importer *im = arg;

	if (!o->handle)
		return;
	import_begin(im, OP_CLOSE)->handle = o->handle;
	import_emit(im);
}

static void unmapped(void *arg, const struct window *w)
{
	struct importer *im = arg;
	struct op *o = import_begin(im, OP_MUNMAP);

	o->plain = 0;
	o->window = w->number;
	import_emit(im);
}

static const struct procs_events events = {closed, unmapped};

static int find_root(struct importer *im)
{
	const char *root = im->opt.root ? im->opt.root : "/";
	struct file *f;

	if (root[0] != '/')
		return diag_set(im->base.d, -EINVAL, "import: root %s: must start with /", root);
	im->root = names_walk(&im->procs.names, im->procs.names.root, root, strlen(root), 0);
	f = im->root ? name_file(im->root) : NULL;
	if (!f)
		return diag_set(im->base.d, -ENOMEM, "import: no memory");
	f->type = 'd';
	return 0;
}

int import_init(struct importer *im, const struct import_options *opt, struct diag *d)
{
	static const struct import_options none = {0};
	int err;

	im->opt = opt ? *opt : none;
	im->base.d = d;
	im->base.header.text = "";
	op_clear(&im->op);
	im->order = reorder_new();
	err = procs_init(&im->procs, &events, im);
	if (!im->order || err < 0)
		return diag_set(d, -ENOMEM, "import: no memory");
	err = find_root(im);
	if (err == 0 && im->opt.initial) {
		err = manifest_open(im->opt.initial, im->opt.extents, im->opt.root, d, &im->nodes);
		im->manifest = err == 0;
	}
	return err;
}

void import_free(struct importer *im)
{
	name_put(&im->procs.names, im->root);
	procs_free(&im->procs);
	reorder_free(im->order);
	op_source_close(im->nodes);
	free(im->data);
	free(im->unknowns);
	free(im->header);
}

int import_header(struct importer *im, const char *source, const char *clock)
{
	struct op_header *h = &im->base.header;
	int n;

	im->header = malloc(256);
	if (!im->header)
		return diag_set(im->base.d, -ENOMEM, "import: no memory");
	n = snprintf(im->header, 256,
		     "wtrace 1\nunit ns\nsource %.40s\nclock %.40s start=%llu.%09llu", source,
		     clock, (unsigned long long)(im->start / 1000000000),
		     (unsigned long long)(im->start % 1000000000));
	*h = (struct op_header){.text = im->header, .len = (size_t)n, .version = 1};
	return 0;
}

void import_fail(struct importer *im, int err, const char *what)
{
	if (im->err == 0)
		im->err = diag_set(im->base.d, err, "import: %s", what);
}

void import_cut(struct importer *im, const char *file, uint64_t line)
{
	im->counts.cut++;
	notes_cut(im->base.notes, file, line);
}

void import_unknown(struct importer *im, const char *name, size_t n)
{
	void *p = im->unknowns;

	im->counts.unknown++;
	n = MIN(n, (size_t)IMPORT_NAME - 1);
	for (size_t i = 0; i < im->nunknowns; i++)
		if (strlen(im->unknowns[i].name) == n &&
		    memcmp(im->unknowns[i].name, name, n) == 0) {
			im->unknowns[i].count++;
			return;
		}
	/* Hostile input may invent names without end; the sum above is right all the same. */
	if (im->nunknowns == UNKNOWNS_MAX ||
	    mem_grow(&p, &im->unknowns_cap, im->nunknowns + 1, sizeof(*im->unknowns)) < 0)
		return;
	im->unknowns = p;
	im->unknowns[im->nunknowns] = (struct import_unknown){.count = 1};
	memcpy(im->unknowns[im->nunknowns++].name, name, n);
}

struct op *import_begin(struct importer *im, enum op_code code)
{
	struct op *o = &im->op;

	if (o->plain) {
		o->off = o->len = 0;
		o->handle = o->flags = 0;
		o->sub = 0;
	} else {
		op_clear(o);
	}
	o->code = (uint8_t)code;
	o->time = im->now > im->start ? im->now - im->start : 0;
	o->thread = im->now_thread;
	o->dur = im->now_dur;
	return o;
}

bool import_path(struct importer *im, const struct name *n)
{
	size_t len = n ? name_path(n, im->root, im->path, sizeof(im->path)) : 0;

	im->op.path = (struct op_str){im->path, (uint32_t)len};
	im->op.plain = 0;
	return len != 0;
}

bool import_path2(struct importer *im, const struct name *n)
{
	size_t len = n ? name_path(n, im->root, im->path2, sizeof(im->path2)) : 0;

	im->op.path2 = (struct op_str){im->path2, (uint32_t)len};
	im->op.plain = 0;
	return len != 0;
}

/* Hostile logs claim offsets and names that no call can have, nor a line of a trace hold. */
static bool fits(const struct op *o)
{
	if (o->off > INT64_MAX || o->len > INT64_MAX)
		return false;
	return o->plain || (o->off2 <= INT64_MAX && o->path.n <= TEXT_MAX &&
			    o->path2.n <= TEXT_MAX && o->name.n <= TEXT_MAX);
}

void import_emit(struct importer *im)
{
	if (!fits(&im->op)) {
		im->counts.unplaced++;
		return;
	}
	im->counts.ops++;
	if (reorder_put(im->order, &im->op) < 0)
		import_fail(im, -ENOMEM, "no memory for an op");
}

bool import_data_room(struct importer *im, size_t n)
{
	void *p = im->data;

	if (mem_grow(&p, &im->data_cap, n, 1) < 0) {
		import_fail(im, -ENOMEM, "no memory for recorded bytes");
		return false;
	}
	im->data = p;
	return true;
}

void import_data(struct importer *im, size_t n)
{
	struct op *o = &im->op;
	struct op_data *d = &o->data;

	if (im->opt.flags & IMPORT_SCRUB)
		return;
	o->plain = 0;
	if (mem_is_zero(im->data, n)) {
		d->kind = DATA_ZERO;
	} else if ((im->opt.flags & IMPORT_CHECKSUMS) || n > BLOBS_MAX) {
		d->kind = DATA_CRC;
		d->crc = crc32c(UINT32_MAX, im->data, n) ^ UINT32_MAX;
	} else {
		d->kind = n <= OP_INLINE_MAX ? DATA_INLINE : DATA_BLOB;
		d->bytes = im->data;
		d->n = (uint32_t)n;
		im->counts.data_bytes += n;
	}
	o->data_kind = d->kind;
}

/* What the manifest says about a file, for sizes and kinds. */
static int learn_node(struct importer *im, const struct op_node *n)
{
	const char *p = n->path.p + 1; /* below the root */
	struct name *name = names_walk(&im->procs.names, im->root, p, n->path.n - 1, 0);
	struct file *f = name ? name_file(name) : NULL;

	if (!f) {
		name_put(&im->procs.names, name);
		return -ENOMEM;
	}
	f->type = n->type;
	f->size = n->size;
	f->size_known = true;
	f->complete = n->type == 'd';
	if (n->target.n && !f->target)
		f->target = strndup(n->target.p, n->target.n);
	name_put(&im->procs.names, name);
	return 0;
}

int import_next_node(struct importer *im, const struct op **ret)
{
	while (im->nodes) {
		int err = op_next(im->nodes, ret);

		if (err < 0)
			return err;
		if (err == 0) {
			op_source_close(im->nodes);
			im->nodes = NULL;
			break;
		}
		if ((*ret)->code != OP_NODE)
			continue;
		if (learn_node(im, (*ret)->node) < 0)
			return diag_set(im->base.d, -ENOMEM, "import: no memory for the manifest");
		return 1;
	}
	return 0;
}

const struct import_counts *import_counts(const struct op_source *s)
{
	const struct importer *im = (const struct importer *)s;

	/* Kept by the heap alone, shown with the rest. */
	((struct importer *)(uintptr_t)im)->counts.late = reorder_late(im->order);
	return &im->counts;
}

const struct import_unknown *import_unknowns(const struct op_source *s, size_t *ret_n)
{
	const struct importer *im = (const struct importer *)s;

	*ret_n = im->nunknowns;
	return im->unknowns;
}
