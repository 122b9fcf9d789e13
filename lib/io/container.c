/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a file holds is looked up in a table of first bytes; then the device for that form is put
 * over the file.  A compressed file may hold an Android sparse image in turn, nothing deeper.
 */
#include "io/container.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/diag.h"
#include "io/compressed.h"
#include "io/dev.h"
#include "io/qemu.h"
#include "io/sparse.h"
#include "io/zstd.h"

struct form {
	enum container kind;
	const char *name;
	size_t len;
	const char *magic;
	uint32_t version; /* big endian, behind a magic of four bytes; 0: any */
};

static const struct form forms[] = {
    {CONTAINER_QCOW, "qcow", 4, "QFI\xfb", 1},
    {CONTAINER_QCOW2, "qcow2", 4, "QFI\xfb", 0},
    {CONTAINER_VHD, "VHD", 8, "conectix", 0},
    {CONTAINER_VHDX, "VHDX", 8, "vhdxfile", 0},
    {CONTAINER_VMDK, "VMDK", 4, "KDMV", 0},
    {CONTAINER_VMDK, "VMDK", 4, "COWD", 0},
    {CONTAINER_VMDK_TEXT, "VMDK", 21, "# Disk DescriptorFile", 0},
    {CONTAINER_SPARSE, "Android sparse", 4, "\x3a\xff\x26\xed", 0},
    {CONTAINER_ZSTD, "zstd", 4, "\x28\xb5\x2f\xfd", 0},
    {CONTAINER_GZIP, "gzip", 3, "\x1f\x8b\x08", 0},
    {CONTAINER_XZ, "xz", 6, "\xfd\x37zXZ\x00", 0},
    {CONTAINER_BZIP2, "bzip2", 3, "BZh", 0},
};

/* "BZh" alone could be a word. */
static bool is_bzip2(const uint8_t *head, size_t len)
{
	return len >= 10 && head[3] >= '1' && head[3] <= '9' &&
	       memcmp(head + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0;
}

static bool fits(const struct form *f, const uint8_t *head, size_t len)
{
	be32 version;

	if (len < f->len || memcmp(head, f->magic, f->len) != 0)
		return false;
	if (f->kind == CONTAINER_BZIP2)
		return is_bzip2(head, len);
	if (f->version == 0)
		return true;
	if (len < 8)
		return false;
	memcpy(&version, head + 4, sizeof(version));
	return be32_get(version) == f->version;
}

/* Magic, block size and revision of a superblock, and that it has blocks. */
static bool is_ext(const uint8_t *head, size_t len)
{
	const uint8_t *sb = head + 1024;
	le32 blocks, log, rev;

	if (len < CONTAINER_HEAD || sb[56] != 0x53 || sb[57] != 0xef)
		return false;
	memcpy(&blocks, sb + 4, sizeof(blocks));
	memcpy(&log, sb + 24, sizeof(log));
	memcpy(&rev, sb + 76, sizeof(rev));
	return le32_get(blocks) != 0 && le32_get(log) <= 6 && le32_get(rev) <= 1;
}

enum container container_find(const uint8_t *head, size_t len)
{
	if (is_ext(head, len))
		return CONTAINER_RAW;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (fits(&forms[i], head, len))
			return forms[i].kind;
	}
	return CONTAINER_RAW;
}

const char *container_name(enum container kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (forms[i].kind == kind)
			return forms[i].name;
	}
	return "raw";
}

bool container_is_writable(enum container kind)
{
	return kind != CONTAINER_RAW && kind <= CONTAINER_VMDK;
}

bool container_at(const char *path)
{
	uint8_t head[CONTAINER_HEAD];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = pread(fd, head, sizeof(head), 0);
	if (fd >= 0)
		close(fd);
	return n > 0 && container_is_writable(container_find(head, (size_t)n));
}

static int find(struct dev *file, enum container *ret)
{
	uint8_t head[CONTAINER_HEAD];
	size_t len = (size_t)MIN(file->size, (uint64_t)sizeof(head));
	int r = dev_read(file, 0, head, len);

	if (r < 0)
		return r;
	file->stats = (struct dev_stats){0}; /* who counts the reads counts its own */
	*ret = container_find(head, len);
	return 0;
}

static int open_compressed(struct dev *file, enum container kind, struct dev **ret)
{
	enum container inner;
	struct dev *plain;
	int r = compressed_open(file, kind, UINT64_MAX, &plain);

	if (r < 0)
		return r;
	r = find(plain, &inner);
	if (r == 0 && inner == CONTAINER_SPARSE)
		return sparse_open(plain, ret);
	if (r == 0 && inner != CONTAINER_RAW)
		r = diag_set(plain->diag, -EOPNOTSUPP,
			     "cannot use %s: it is %s inside of %s: decompress it first",
			     plain->name, container_name(inner), container_name(kind));
	if (r < 0)
		dev_close(plain);
	else
		*ret = plain;
	return r;
}

static bool is_compressed(enum container kind)
{
	return kind >= CONTAINER_ZSTD;
}

static bool has_image(struct dev *dev, enum container kind)
{
	uint8_t head[CONTAINER_HEAD];

	if (kind != CONTAINER_RAW)
		return !is_compressed(kind);
	return dev->size >= sizeof(head) && dev_read(dev, 0, head, sizeof(head)) == 0 &&
	       is_ext(head, sizeof(head));
}

bool container_has_image(const char *path)
{
	enum container kind = CONTAINER_RAW;
	struct dev *dev;
	bool yes;

	if (dev_open(path, DEV_PLAIN, NULL, &dev) < 0)
		return false;
	if (find(dev, &kind) == 0 && is_compressed(kind) &&
	    compressed_open(dev, kind, CONTAINER_HEAD, &dev) < 0)
		return false; /* nor is it an archive, which tells why */
	yes = find(dev, &kind) == 0 && has_image(dev, kind);
	dev_close(dev);
	return yes;
}

static int open_kind(struct dev *file, enum container kind, unsigned flags, struct dev **ret)
{
	int r;

	if (container_is_writable(kind))
		return qemu_open(file, kind, flags, ret);
	if (kind == CONTAINER_SPARSE)
		return sparse_open(file, ret);
	if (kind != CONTAINER_ZSTD)
		return open_compressed(file, kind, ret);
	r = zstd_has_table(file);
	if (r > 0)
		return zstd_open(file, ret);
	if (r == 0)
		return open_compressed(file, kind, ret);
	dev_close(file);
	return r;
}

int container_open(struct dev *file, unsigned flags, struct dev **ret)
{
	enum container kind = CONTAINER_RAW;
	int r = find(file, &kind);

	if (r == 0 && kind == CONTAINER_RAW) {
		*ret = file;
		return 0;
	}
	if (r == 0 && kind == CONTAINER_VMDK_TEXT)
		r = diag_set(file->diag, -EOPNOTSUPP,
			     "refused: %s is a VMDK description that names other files",
			     file->name);
	if (r == 0 && (flags & DEV_WRITE) != 0 && !container_is_writable(kind))
		r = diag_set(file->diag, -EROFS,
			     "cannot write %s: it is %s, which can be read only: 'extkit convert' "
			     "makes a raw image of it",
			     file->name, container_name(kind));
	if (r < 0) {
		dev_close(file);
		return r;
	}
	return open_kind(file, kind, flags, ret);
}
