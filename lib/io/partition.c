/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Partitions of a device: libblkid reads the table, and the label in each of them as it would on a
 * device of its own.  Numbers come from the image, so a partition that does not lie on it is left
 * out.
 */
#include "extkit/partition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/diag.h"
#include "io/dev.h"
#include "io/probe.h"

#define PARTS_MAX 256u /* GPT has 128 places, as a rule */

struct disk {
	struct dev *dev;
	struct probe whole;
	struct probe_part *parts;
	unsigned n;
};

static int open_disk(struct ek_ctx *ctx, const char *path, struct disk *ret)
{
	struct disk k = {.dev = NULL};
	int rc;

	diag_clear(&ctx->diag);
	rc = dev_open(path, 0, &ctx->diag, &k.dev);
	if (rc < 0)
		return rc;
	rc = probe_read(k.dev, &k.whole);
	k.parts = rc == 0 ? calloc(PARTS_MAX, sizeof(*k.parts)) : NULL;
	if (rc == 0 && k.parts == NULL)
		rc = diag_set(&ctx->diag, -ENOMEM, "out of memory for partitions");
	if (rc == 0)
		rc = probe_parts(k.dev, k.parts, PARTS_MAX);
	if (rc < 0) {
		free(k.parts);
		dev_close(k.dev);
		return rc;
	}
	k.n = (unsigned)rc;
	*ret = k;
	return 0;
}

static void close_disk(struct disk *k)
{
	free(k->parts);
	dev_close(k->dev);
}

static void copy_text(char *to, size_t cap, const char *from)
{
	size_t n = MIN(strlen(from), cap - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

static void fill(const struct probe *fs, const struct probe_part *part, struct ek_partition *p)
{
	*p = (struct ek_partition){.size = sizeof(*p)};
	if (part != NULL) {
		p->number = part->number;
		p->offset = part->offset;
		p->length = part->length;
		copy_text(p->name, sizeof(p->name), part->name);
	}
	copy_text(p->label, sizeof(p->label), fs->label);
	copy_text(p->type, sizeof(p->type), fs->type);
}

static int look_into(struct disk *k, unsigned i, struct ek_partition *ret)
{
	struct probe fs;
	struct dev *slice;
	int rc = dev_open_slice(k->dev, k->parts[i].offset, k->parts[i].length, &slice);

	if (rc < 0)
		return rc;
	rc = probe_read(slice, &fs);
	dev_close(slice);
	if (rc == 0)
		fill(&fs, &k->parts[i], ret);
	return rc;
}

static int give(struct ek_partition *ret, const struct ek_partition *p)
{
	size_t size = MIN(ret->size, sizeof(*p));

	if (size < sizeof(ret->size))
		return -EINVAL;
	memcpy((char *)ret + sizeof(ret->size), (const char *)p + sizeof(p->size),
	       size - sizeof(ret->size));
	return 0;
}

/* ---- selectors ---- */

enum by { BY_NUMBER, BY_LABEL, BY_NAME };

struct selector {
	enum by by;
	unsigned number;
	const char *text;
};

static int read_selector(const char *text, struct selector *ret)
{
	unsigned long n;
	char *end;

	if (strncmp(text, "LABEL=", 6) == 0) {
		*ret = (struct selector){.by = BY_LABEL, .text = text + 6};
	} else if (strncmp(text, "PARTLABEL=", 10) == 0) {
		*ret = (struct selector){.by = BY_NAME, .text = text + 10};
	} else {
		if (text[0] != 'p' || text[1] < '1' || text[1] > '9')
			return -EINVAL;
		n = strtoul(text + 1, &end, 10);
		if (*end != '\0' || n > 100000)
			return -EINVAL;
		*ret = (struct selector){.by = BY_NUMBER, .number = (unsigned)n};
	}
	return 0;
}

static bool selects(const struct selector *s, const struct ek_partition *p)
{
	switch (s->by) {
	case BY_NUMBER:
		return p->number == s->number;
	case BY_LABEL:
		return strcmp(p->label, s->text) == 0;
	case BY_NAME:
		return strcmp(p->name, s->text) == 0;
	}
	return false;
}

static int find(struct disk *k, const struct selector *s, struct ek_partition *ret)
{
	struct ek_partition p;
	unsigned found = 0;
	int rc = 0;

	fill(&k->whole, NULL, &p);
	p.length = k->dev->size;
	if (s->by == BY_LABEL && k->n == 0 && selects(s, &p)) {
		*ret = p;
		return 1;
	}
	for (unsigned i = 0; i < k->n && rc == 0; i++) {
		rc = look_into(k, i, &p);
		if (rc < 0 || !selects(s, &p))
			continue;
		if (found++ == 0)
			*ret = p;
	}
	return rc < 0 ? rc : (int)found;
}

int ek_partition_find(struct ek_ctx *ctx, const char *path, const char *selector,
		      struct ek_partition *ret)
{
	struct selector s;
	struct ek_partition p;
	struct disk k;
	int rc = read_selector(selector, &s);

	if (rc < 0)
		return diag_replace(&ctx->diag, rc,
				    "partition: '%s' is not pN, LABEL= or PARTLABEL=", selector);
	rc = open_disk(ctx, path, &k);
	if (rc < 0)
		return rc;
	rc = find(&k, &s, &p);
	if (rc == 0)
		rc = diag_set(&ctx->diag, -ENOENT, "partition: %s: none of %u is %s", path, k.n,
			      selector);
	else if (rc > 1)
		rc =
		    diag_set(&ctx->diag, -ENOTUNIQ, "partition: %s: %d are %s", path, rc, selector);
	else if (rc == 1)
		rc = give(ret, &p);
	close_disk(&k);
	return rc;
}
