/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A disk of a virtual machine as a device: a network block device whose server is a child of ours.
 * Every call goes to that; what is ours is the way there and the end.
 */
#include "io/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/escape.h"
#include "io/dev_impl.h"
#include "io/nbd.h"
#include "io/qemu_impl.h"

struct qemu {
	struct dev dev;
	struct dev *nbd;
	struct qemu_child child;
};

static struct dev *below(struct dev *dev)
{
	return ((struct qemu *)dev)->nbd;
}

static int qemu_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	return dev_read(below(dev), off, buf, len);
}

static int qemu_write(struct dev *dev, uint64_t off, const void *buf, size_t len)
{
	return dev_write(below(dev), off, buf, len);
}

static int qemu_readv(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n)
{
	return dev_readv(below(dev), off, iov, n);
}

static int qemu_writev(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n)
{
	return dev_writev(below(dev), off, iov, n);
}

static int qemu_flush(struct dev *dev)
{
	return dev_flush(below(dev));
}

static int qemu_discard(struct dev *dev, uint64_t off, uint64_t len)
{
	return dev_discard(below(dev), off, len);
}

static int qemu_zero(struct dev *dev, uint64_t off, uint64_t len)
{
	return dev_zero(below(dev), off, len);
}

static int qemu_submit(struct dev *dev, struct dev_req **reqs, unsigned n)
{
	struct dev *nbd = below(dev);

	return nbd->ops->submit(nbd, reqs, n);
}

static int qemu_reap(struct dev *dev, unsigned min)
{
	return dev_reap(below(dev), min);
}

static void qemu_close(struct dev *dev)
{
	struct qemu *q = (struct qemu *)dev;

	dev_close(q->nbd); /* hangs up, which ends the program */
	qemu_end(&q->child, true);
}

static const struct dev_ops qemu_ops = {
    .name = "qemu",
    .read = qemu_read,
    .write = qemu_write,
    .readv = qemu_readv,
    .writev = qemu_writev,
    .flush = qemu_flush,
    .discard = qemu_discard,
    .zero = qemu_zero,
    .submit = qemu_submit,
    .reap = qemu_reap,
    .close = qemu_close,
};

/* The reason in what the program said, without its name and the image's. */
static char *reason_of(char *said)
{
	char *why = strstr(said, "}': ");

	said[strcspn(said, "\n")] = '\0';
	if (why != NULL && why < said + strlen(said))
		return why + 4;
	return strncmp(said, "qemu-nbd: ", 10) == 0 ? said + 10 : said;
}

/* The program's own words beat those of a connection that broke. */
static int tell(struct qemu *q, enum container kind, int r)
{
	struct diag *d = q->dev.diag;
	char said[512], text[300];
	const char *why;

	if (r == -EOPNOTSUPP)
		return r;
	qemu_listen(&q->child, said, sizeof(said));
	if (said[0] == '\0')
		return r;
	why = reason_of(said);
	escape_to(text, sizeof(text), why, strlen(why));
	if (strstr(why, " lock") != NULL)
		return diag_replace(d, -EBUSY, "cannot use %s: another program uses it: %s",
				    q->dev.name, text);
	r = strstr(why, "Permission denied") != NULL ? -EACCES : -EUCLEAN;
	diag_replace(d, r, "cannot use %s as %s: %s", q->dev.name, container_name(kind), text);
	if (d != NULL)
		d->host = r == -EACCES;
	return r;
}

static int start(struct qemu *q, int fd, enum container kind, unsigned flags)
{
	struct diag *d = q->dev.diag;
	int r = qemu_start(fd, kind, (flags & DEV_WRITE) != 0, d, &q->child);

	if (r < 0)
		return r;
	r = nbd_open_socket(q->child.socket, q->dev.name, flags & DEV_WRITE, QEMU_WAIT_MS, d,
			    &q->nbd);
	qemu_hide(&q->child);
	if (r < 0) {
		r = tell(q, kind, r);
		qemu_end(&q->child, false);
		return r;
	}
	qemu_agreed(&q->child);
	dev_like(&q->dev, q->nbd);
	return 0;
}

/* A descriptor of the same file for the program, without our lock. */
static int reopen(struct dev *file)
{
	char path[64];
	uint64_t off;
	int fd, r = dev_host(file, &fd, &off);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : diag_errno(file->diag, -errno, "cannot open %s again", file->name);
}

int qemu_open(struct dev *file, enum container kind, unsigned flags, struct dev **ret)
{
	struct qemu *q = NULL;
	int r = qemu_check(file, kind), fd = -1;

	if (r == 0)
		r = fd = reopen(file);
	if (r >= 0) {
		q = dev_new(sizeof(*q), &qemu_ops, file->name, file->diag);
		r = q != NULL ? 0 : -ENOMEM;
	}
	dev_close(file);
	if (r == 0)
		r = start(q, fd, kind, flags);
	if (fd >= 0)
		close(fd);
	if (r < 0 && q != NULL)
		dev_drop(&q->dev);
	if (r == 0)
		*ret = &q->dev;
	return r;
}
