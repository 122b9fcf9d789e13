/* SPDX-License-Identifier: BSD-2-Clause */
/* A new image on its way to its place.  What is there already is proved free before anything is
 * written, and its permissions become those of the new file. */
#include "tree/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/create.h"
#include "io/container.h"
#include "io/dev.h"
#include "io/temp.h"

#define STEP ((uint64_t)1 << 30) /* a file grows by so much */

static bool is_place(const char *path, const struct ek_create_options *opt)
{
	struct stat st;

	if (opt->offset != 0 || dev_is_remote(path))
		return true;
	return (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) || container_at(path);
}

static int open_temp(struct tree_target *t, mode_t mode)
{
	int fd = temp_make(t->path, mode, &t->temp);

	if (fd < 0)
		return diag_errno(t->diag, fd, "cannot write beside %s", t->path);
	close(fd);
	return dev_open(t->temp, DEV_WRITE, t->diag, &t->file);
}

/* The file that is there must not be in use, and may hold nothing unless forced. */
static int open_beside(const char *path, const struct ek_create_options *opt, struct tree_target *t)
{
	struct stat st = {0};
	struct dev *old;
	int rc;

	t->fresh = true;
	if (stat(path, &st) < 0) {
		t->path = strdup(path);
		return t->path == NULL ? -ENOMEM : open_temp(t, 0);
	}
	t->over = true;
	rc = create_check_target(path, opt, t->diag);
	if (rc < 0)
		return rc;
	rc = dev_open(path, DEV_WRITE | DEV_PLAIN, t->diag, &old);
	if (rc < 0)
		return rc;
	dev_close(old);
	t->path = realpath(path, NULL);
	return t->path == NULL ? -errno : open_temp(t, st.st_mode);
}

static int open_place(const char *path, const struct ek_create_options *opt, uint64_t bytes,
		      struct tree_target *t)
{
	int rc = create_check_target(path, opt, t->diag);
	uint64_t room;

	if (rc == 0)
		rc = dev_open(path, DEV_WRITE | DEV_CREATE, t->diag, &t->file);
	if (rc < 0)
		return rc;
	if (!t->file->is_block && bytes != 0 && t->file->size < opt->offset + bytes)
		rc = dev_resize(t->file, opt->offset + bytes);
	if (rc == 0 && t->file->size <= opt->offset)
		rc = diag_set(t->diag, -EINVAL, "%s ends before offset %llu: a size must be given",
			      path, (unsigned long long)opt->offset);
	if (rc < 0)
		return rc;
	room = t->file->size - opt->offset;
	return dev_open_slice(t->file, opt->offset, bytes != 0 && bytes < room ? bytes : room,
			      &t->dev);
}

int tree_target_open(const char *path, const struct ek_create_options *opt, uint64_t bytes,
		     struct diag *d, struct tree_target *t)
{
	int rc;

	*t = (struct tree_target){.diag = d};
	if (is_place(path, opt))
		return open_place(path, opt, bytes, t);
	rc = open_beside(path, opt, t);
	t->dev = t->file;
	return rc;
}

int tree_target_write(struct tree_target *t, uint64_t off, const void *buf, size_t len)
{
	if (t->temp != NULL && off + len > t->dev->size) {
		int rc = dev_resize(t->dev, (off + len + STEP - 1) / STEP * STEP);

		if (rc < 0)
			return rc;
	}
	return dev_write(t->dev, off, buf, len);
}

int tree_target_fit(struct tree_target *t, uint64_t bytes)
{
	if (t->temp != NULL)
		return dev_resize(t->dev, bytes);
	if (bytes > t->dev->size)
		return diag_set(t->diag, -ENOSPC, "%s has %llu bytes, %llu wanted", t->file->name,
				(unsigned long long)t->dev->size, (unsigned long long)bytes);
	return 0;
}

int tree_target_place(struct tree_target *t)
{
	int rc = t->temp != NULL && t->over ? dev_flush(t->file) : 0;

	if (rc < 0 || t->temp == NULL)
		return rc;
	if (rename(t->temp, t->path) < 0)
		return diag_errno(t->diag, -errno, "cannot write %s", t->path);
	free(t->temp);
	t->temp = NULL;
	return 0;
}

void tree_target_close(struct tree_target *t)
{
	if (t->dev != t->file)
		dev_close(t->dev);
	dev_close(t->file);
	if (t->temp != NULL)
		unlink(t->temp);
	free(t->temp);
	free(t->path);
	*t = (struct tree_target){0};
}
