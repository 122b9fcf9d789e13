/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libblkid asked through a descriptor of its own: ours may be open with O_DIRECT, which wants
 * aligned buffers that libblkid does not have.  Of a device without one it sees a file in memory
 * that has the device's ends, where all signatures are, and nothing in between.
 */
#include "io/probe.h"

#include <blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uuid.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/escape.h"
#include "base/mem.h"
#include "io/dev.h"

static void copy_value(blkid_probe pr, const char *name, char *to, size_t cap)
{
	const char *value;

	if (blkid_probe_lookup_value(pr, name, &value, NULL) == 0)
		snprintf(to, cap, "%s", value);
}

static void read_topology(blkid_probe pr, struct probe *p)
{
	blkid_topology tp = blkid_probe_get_topology(pr);

	if (tp == NULL)
		return;
	p->io_min = blkid_topology_get_minimum_io_size(tp);
	p->io_best = blkid_topology_get_optimal_io_size(tp);
	p->skew = blkid_topology_get_alignment_offset(tp);
	p->physical = (uint32_t)blkid_topology_get_physical_sector_size(tp);
}

static void read_table(blkid_probe pr, struct probe *p)
{
	blkid_partlist list = blkid_probe_get_partitions(pr);
	blkid_parttable table = list != NULL ? blkid_partlist_get_table(list) : NULL;
	const char *type = table != NULL ? blkid_parttable_get_type(table) : NULL;
	int n = list != NULL ? blkid_partlist_numof_partitions(list) : 0;

	if (type != NULL)
		snprintf(p->table, sizeof(p->table), "%s", type);
	if (n > 0)
		p->parts = (unsigned)n;
}

static int ask(blkid_probe pr, struct probe *p)
{
	int r;

	blkid_probe_enable_superblocks(pr, 1);
	blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL |
						  BLKID_SUBLKS_UUID | BLKID_SUBLKS_USAGE);
	blkid_probe_enable_partitions(pr, 1);
	blkid_probe_enable_topology(pr, 1);
	r = blkid_do_safeprobe(pr); /* 0 found, 1 nothing, -2 several, -1 error with errno */
	if (r == -1)
		return errno > 0 ? -errno : -EIO;
	p->ambiguous = r == -2;
	copy_value(pr, "TYPE", p->type, sizeof(p->type));
	copy_value(pr, "LABEL", p->label, sizeof(p->label));
	copy_value(pr, "UUID", p->uuid, sizeof(p->uuid));
	copy_value(pr, "USAGE", p->usage, sizeof(p->usage));
	read_table(pr, p);
	read_topology(pr, p);
	p->found = p->ambiguous || p->type[0] != '\0' || p->table[0] != '\0';
	return 0;
}

static int take_all(blkid_probe pr, void *arg)
{
	struct probe p = {0};
	int r = ask(pr, &p);

	if (r == 0)
		*(struct probe *)arg = p;
	return r;
}

/* What is wanted from a probe of a device. */
typedef int question(blkid_probe pr, void *arg);

static int probe_fd(int fd, uint64_t off, uint64_t size, question *q, void *arg)
{
	blkid_probe pr = blkid_new_probe();
	int r;

	if (pr == NULL)
		return -ENOMEM;
	errno = 0;
	if (blkid_probe_set_device(pr, fd, (blkid_loff_t)off, (blkid_loff_t)size) < 0)
		r = errno > 0 ? -errno : -EIO;
	else
		r = q(pr, arg);
	blkid_free_probe(pr);
	return r;
}

#define END_BYTES ((uint64_t)1 << 20) /* looked at, at either end of a device */

static int copy_end(struct dev *dev, int to, uint64_t off, uint64_t len, void *buf)
{
	int r = dev_read(dev, off, buf, (size_t)len);

	if (r < 0)
		return r;
	return pwrite(to, buf, (size_t)len, (off_t)off) == (ssize_t)len ? 0 : -EIO;
}

/* The ends of dev in a file in memory: a descriptor or a negative errno. */
static int copy_ends(struct dev *dev)
{
	int fd = memfd_create("ends", MFD_CLOEXEC);
	uint64_t len = MIN(dev->size, END_BYTES), tail = MAX(dev->size - len, len);
	void *buf = mem_zero((size_t)END_BYTES);
	int r = fd < 0 ? -errno : buf == NULL ? -ENOMEM : 0;

	if (r == 0 && ftruncate(fd, (off_t)dev->size) < 0)
		r = -errno;
	if (r == 0)
		r = copy_end(dev, fd, 0, len, buf);
	if (r == 0 && tail < dev->size)
		r = copy_end(dev, fd, tail, dev->size - tail, buf);
	free(buf);
	if (r == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return r;
}

static int probe_ends(struct dev *dev, question *q, void *arg)
{
	int fd = copy_ends(dev), r = fd;

	if (fd >= 0) {
		r = probe_fd(fd, 0, dev->size, q, arg);
		close(fd);
	}
	return r < 0 ? diag_errno(dev->diag, r, "cannot look at %s", dev->name) : r;
}

static int probe_dev(struct dev *dev, question *q, void *arg)
{
	char path[40];
	uint64_t off;
	int fd, own, r = dev_host(dev, &fd, &off);

	if (r == -EOPNOTSUPP)
		return probe_ends(dev, q, arg);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return diag_errno(dev->diag, -errno, "cannot look at %s", dev->name);
	r = probe_fd(own, off, dev->size, q, arg);
	close(own);
	return r < 0 ? diag_errno(dev->diag, r, "cannot look at %s", dev->name) : r;
}

int probe_read(struct dev *dev, struct probe *ret)
{
	if (dev->size != 0) /* to libblkid a size of 0 means "find out" */
		return probe_dev(dev, take_all, ret);
	*ret = (struct probe){0};
	return 0;
}

/* ---- partitions ---- */

struct parts {
	struct dev *dev;
	struct probe_part *ret;
	unsigned cap;
};

static bool take_part(const struct dev *dev, blkid_partition from, struct probe_part *ret)
{
	uint64_t start = (uint64_t)blkid_partition_get_start(from);
	uint64_t size = (uint64_t)blkid_partition_get_size(from);
	const char *name = blkid_partition_get_name(from);
	int number = blkid_partition_get_partno(from);

	if (number <= 0 || size == 0 || start > dev->size >> 9 || size > (dev->size >> 9) - start ||
	    blkid_partition_is_extended(from))
		return false;
	*ret = (struct probe_part){(unsigned)number, start << 9, size << 9, ""};
	if (name != NULL)
		snprintf(ret->name, sizeof(ret->name), "%s", name);
	return true;
}

static int take_parts(blkid_probe pr, void *arg)
{
	struct parts *p = arg;
	blkid_partlist list;
	unsigned n = 0;

	blkid_probe_enable_superblocks(pr, 0);
	blkid_probe_enable_partitions(pr, 1);
	list = blkid_probe_get_partitions(pr);
	for (int i = 0; list != NULL && i < blkid_partlist_numof_partitions(list); i++) {
		blkid_partition one = blkid_partlist_get_partition(list, i);

		if (n < p->cap && one != NULL && take_part(p->dev, one, &p->ret[n]))
			n++;
	}
	return (int)n;
}

int probe_parts(struct dev *dev, struct probe_part *ret, unsigned cap)
{
	struct parts p = {dev, ret, cap};

	return dev->size != 0 ? probe_dev(dev, take_parts, &p) : 0;
}

int probe_refuse(struct dev *dev, const char *why, struct diag *d)
{
	struct probe p = {0};
	char type[64], label[96];
	int rc = probe_read(dev, &p);

	if (rc < 0 || (!p.found && !p.ambiguous))
		return rc;
	escape_to(type, sizeof(type), p.type[0] != '\0' ? p.type : p.table,
		  strlen(p.type[0] != '\0' ? p.type : p.table));
	escape_to(label, sizeof(label), p.label, strlen(p.label));
	return diag_set(d, -EPERM, "refused: %s holds %s%s%s%s; %s", dev->name,
			type[0] != '\0' ? type : "several signatures", label[0] != '\0' ? " '" : "",
			label, label[0] != '\0' ? "'" : "", why);
}

int probe_find(const uint8_t u[16], char *path, size_t cap)
{
	char text[UUID_STR_LEN], *found;
	size_t len;

	uuid_unparse_lower(u, text);
	found = blkid_evaluate_tag("UUID", text, NULL);
	if (found == NULL)
		return -ENOENT;
	len = strlen(found);
	if (len < cap)
		memcpy(path, found, len + 1);
	free(found);
	return len < cap ? 0 : -ENOENT;
}
