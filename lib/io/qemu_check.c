/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a disk of a virtual machine wants from the host besides itself.  An image can name another
 * file that its contents are taken from; who made the image would so read files of who opens it.
 * Here the headers are looked at for such names, and for encryption, which needs a password.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/escape.h"
#include "io/dev.h"
#include "io/qemu_impl.h"

#define QCOW2_DATA_FILE  0x4u
#define VHD_DYNAMIC      3u
#define VMDK_DESCRIPTION ((size_t)20 * 512)

struct qcow {
	be32 magic, version;
	be64 backing;
	be32 backing_len, mtime;
	be64 size;
	uint8_t bits[4];
	be32 crypt;
	be64 table;
};

struct qcow2 {
	be32 magic, version;
	be64 backing;
	be32 backing_len, cluster_bits;
	be64 size;
	be32 crypt, l1_size;
	be64 l1, refcounts;
	be32 refcount_clusters, snapshots;
	be64 snapshot_table;
	be64 incompatible; /* since version 3 */
};

struct vhd {
	char cookie[8];
	be32 features, version;
	be64 data_offset;
	be32 time, app, app_version, os;
	be64 first_size, size;
	be32 geometry, type;
};

struct vmdk {
	le32 magic, version, flags;
	le64 capacity, grain, description, description_size;
};

_Static_assert(offsetof(struct qcow, crypt) == 36, "as on disk");
_Static_assert(offsetof(struct qcow2, incompatible) == 72, "as on disk");
_Static_assert(offsetof(struct vhd, type) == 60, "as on disk");
_Static_assert(offsetof(struct vmdk, description) == 28, "as on disk");

static int refuse(const struct dev *file, enum container kind, const char *why)
{
	return diag_set(file->diag, -EOPNOTSUPP, "refused: %s: this %s image %s", file->name,
			container_name(kind), why);
}

static int read_head(struct dev *file, enum container kind, void *head, size_t len)
{
	if (file->size < len)
		return diag_set(file->diag, -EUCLEAN, "corrupt %s image: %s: it has %llu bytes",
				container_name(kind), file->name, (unsigned long long)file->size);
	return dev_read(file, 0, head, len);
}

static int refuse_backing(struct dev *file, enum container kind, uint64_t at, uint32_t len)
{
	char name[1024], text[240], why[300];
	size_t n = MIN((size_t)len, sizeof(name));

	if (at > file->size || n > file->size - at || dev_read(file, at, name, n) < 0)
		n = 0;
	snprintf(why, sizeof(why), "lies over another file, '%s', which is not followed",
		 escape_to(text, sizeof(text), name, n));
	return refuse(file, kind, why);
}

static int check_qcow(struct dev *file, enum container kind)
{
	struct qcow h;
	int r = read_head(file, kind, &h, sizeof(h));

	if (r < 0)
		return r;
	if (be64_get(h.backing) != 0)
		return refuse_backing(file, kind, be64_get(h.backing), be32_get(h.backing_len));
	return be32_get(h.crypt) != 0 ? refuse(file, kind, "is encrypted") : 0;
}

static int check_qcow2(struct dev *file, enum container kind)
{
	struct qcow2 h;
	int r = read_head(file, kind, &h, sizeof(h));
	uint32_t version;

	if (r < 0)
		return r;
	version = be32_get(h.version);
	if (version != 2 && version != 3)
		return refuse(file, kind, "has a version that is neither 2 nor 3");
	if (be64_get(h.backing) != 0)
		return refuse_backing(file, kind, be64_get(h.backing), be32_get(h.backing_len));
	if (version == 3 && (be64_get(h.incompatible) & QCOW2_DATA_FILE) != 0)
		return refuse(file, kind, "keeps its data in another file, which is not followed");
	return be32_get(h.crypt) != 0 ? refuse(file, kind, "is encrypted") : 0;
}

static int check_vhd(struct dev *file, enum container kind)
{
	struct vhd h;
	int r = read_head(file, kind, &h, sizeof(h));

	if (r < 0)
		return r;
	if (be32_get(h.type) != VHD_DYNAMIC)
		return refuse(file, kind, "is not of the dynamic type, or lies over another file");
	return 0;
}

/* Whether the description at off, if there is one, names a parent. */
static int check_parent(struct dev *file, enum container kind, uint64_t off)
{
	static const char word[] = "parentFileNameHint";
	char text[VMDK_DESCRIPTION];
	size_t n;
	int r;

	if (off >= file->size)
		return 0;
	n = (size_t)MIN((uint64_t)sizeof(text), file->size - off);
	r = dev_read(file, off, text, n);
	if (r < 0)
		return r;
	return memmem(text, n, word, sizeof(word) - 1) == NULL
		   ? 0
		   : refuse(file, kind, "lies over another file, which is not followed");
}

static int check_vmdk(struct dev *file, enum container kind)
{
	uint64_t description;
	struct vmdk h;
	int r = read_head(file, kind, &h, sizeof(h));

	if (r == 0)
		r = check_parent(file, kind, 512);
	if (r < 0 || memcmp(&h.magic, "KDMV", 4) != 0)
		return r;
	if (le64_get(h.capacity) == 0)
		return refuse(file, kind, "keeps its data in other files, which are not followed");
	description = le64_get(h.description);
	return description < file->size / 512 ? check_parent(file, kind, description * 512) : 0;
}

int qemu_check(struct dev *file, enum container kind)
{
	switch (kind) {
	case CONTAINER_QCOW:
		return check_qcow(file, kind);
	case CONTAINER_QCOW2:
		return check_qcow2(file, kind);
	case CONTAINER_VHD:
		return check_vhd(file, kind);
	case CONTAINER_VMDK:
		return check_vmdk(file, kind);
	default:
		return 0; /* qemu-nbd itself refuses a VHDX that has a parent */
	}
}
