/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Undo files of images.  An image without a journal has one from its first change on.  With a
 * journal what was kept stays in memory until the first commit that is not the closing one: up to
 * then a crash leaves the image as it was, and the closing commit is the whole edit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "extkit/image.h"
#include "extkit/undo.h"
#include "fs/edit_impl.h"
#include "fs/session.h"
#include "io/container.h"
#include "io/dev.h"
#include "io/undo.h"
#include "ondisk/super.h"

#define SUPER_MAGIC 0xEF53u

/* What is in an undo_id: where the filesystem lies, its UUID, when it was made. */
struct identity {
	le64 offset;
	uint8_t uuid[16];
	le32 made;
	uint8_t zero[12];
};

_Static_assert(sizeof(struct identity) == UNDO_ID, "identity of a filesystem");

static int read_super(struct dev *dev, uint64_t offset, struct super_raw *ret)
{
	if (offset > dev->size || dev->size - offset < SUPER_OFFSET + sizeof(*ret))
		return -EINVAL;
	return dev_read(dev, offset + SUPER_OFFSET, ret, sizeof(*ret));
}

static void identify(const struct super_raw *sb, uint64_t offset, struct undo_id *ret)
{
	struct identity id = {.offset = le64_make(offset), .made = sb->s_mkfs_time};

	memcpy(id.uuid, sb->s_uuid, sizeof(id.uuid));
	memcpy(ret->bytes, &id, sizeof(id));
}

/* NULL without memory, or when there is none: *ret_none then. */
static char *path_of(const struct dev *file, const char *given, bool *ret_none)
{
	char *path;

	*ret_none = given == NULL && file->is_block && !container_at(file->name);
	if (*ret_none)
		return NULL;
	if (given != NULL)
		return strdup(given);
	return asprintf(&path, "%s.undo", file->name) < 0 ? NULL : path;
}

static int refuse_left_over(struct session *s, const char *path)
{
	if (access(path, F_OK) < 0)
		return 0;
	return diag_set(&s->ctx->diag, -EUCLEAN,
			"cannot write %s: an edit was interrupted: 'extkit undo %s' takes it back "
			"by %s",
			s->file->name, s->file->name, path);
}

/* Whether the image wants an undo device, and whether with a file from the start. */
static bool wants(const struct ek_image_options *opt, const struct super_raw *sb, bool *ret_file)
{
	bool journal = (le32_get(sb->s_feature_compat) & COMPAT_HAS_JOURNAL) != 0;

	*ret_file = !journal;
	return (opt->flags & EK_IMAGE_UNDO) != 0 ||
	       ((opt->flags & EK_IMAGE_UNDO_FILE) != 0 && !journal);
}

static int open_undo(struct session *s, const struct ek_image_options *opt, const char *path)
{
	struct super_raw sb;
	struct undo_id id;
	bool file;
	int rc = read_super(s->file, opt->offset, &sb);

	/* what is no filesystem is refused by the open that follows */
	if (rc < 0 || le16_get(sb.s_magic) != SUPER_MAGIC || !wants(opt, &sb, &file))
		return rc == -EINVAL ? 0 : rc;
	if ((opt->flags & EK_IMAGE_UNDO) == 0 && path == NULL)
		return 0;
	if ((opt->flags & EK_IMAGE_UNDO) != 0 && !file && le32_get(sb.s_journal_inum) == 0)
		return diag_set(&s->ctx->diag, -EOPNOTSUPP,
				"unsupported: what is in an external journal cannot be taken back");
	if (file && path == NULL)
		return diag_set(&s->ctx->diag, -EINVAL,
				"cannot take back what is done to %s: it is a block device without "
				"a journal, and no undo file was named",
				s->file->name);
	identify(&sb, opt->offset, &id);
	rc = dev_open_undo(s->file, path, &id, &s->undo);
	return rc < 0 || !file ? rc : undo_arm(s->undo);
}

int session_open_undo(struct session *s, const struct ek_image_options *opt)
{
	bool none;
	char *path = path_of(s->file, opt->undo, &none);
	int rc = path == NULL && !none ? -ENOMEM : 0;

	if (rc == 0 && path != NULL)
		rc = refuse_left_over(s, path);
	if (rc == 0)
		rc = open_undo(s, opt, path);
	free(path);
	return rc;
}

int session_drop_undo(struct session *s, bool keep)
{
	if (s->undo == NULL)
		return 0;
	return keep ? undo_keep(s->undo) : undo_take_back(s->undo);
}

void session_before_commit(void *session)
{
	struct session *s = session;

	/* a failure shows at the commit's first write */
	if (s->undo != NULL && s->task.img != NULL && !s->last)
		(void)undo_arm(s->undo);
}

int edit_flush(struct task *t)
{
	const struct ek_image *img = t->img;
	bool undone = img->session != NULL && img->session->undo != NULL;

	return jnl_is_none(img->jnl) && !undone ? dev_flush(img->dev) : 0;
}

int ek_image_take_back(struct ek_image *img)
{
	struct session *s = img->session;
	int rc = 0;

	diag_clear(&s->ctx->diag);
	if (s->undo == NULL && s->dry == NULL && img->writable)
		rc = diag_set(&s->ctx->diag, -EINVAL,
			      "cannot take back what was done to %s: it was not asked for",
			      s->file->name);
	image_kill(img);
	if (rc == 0)
		rc = session_drop_undo(s, false);
	session_free(s);
	return rc;
}

/* ---- what was left ---- */

struct match {
	struct dev *file;
	const char *path;
};

static int match(void *ctx, const struct undo_id *id)
{
	const struct match *m = ctx;
	struct identity want;
	struct super_raw sb;
	struct undo_id have;
	int rc;

	memcpy(&want, id->bytes, sizeof(want));
	rc = read_super(m->file, le64_get(want.offset), &sb);
	if (rc == 0) {
		identify(&sb, le64_get(want.offset), &have);
		rc = memcmp(&have, id, sizeof(have)) != 0 ? -EINVAL : 0;
	}
	return rc != -EINVAL ? rc
			     : diag_set(m->file->diag, -EINVAL,
					"cannot use %s: it is about another filesystem than the "
					"one in %s",
					m->path, m->file->name);
}

static int undo_file(struct dev *file, const char *path, unsigned flags, struct undo_done *done)
{
	struct match m = {file, path};
	int rc = 0;

	if (access(path, F_OK) < 0)
		return diag_set(file->diag, -ENOENT, "nothing to take back: there is no %s", path);
	if ((flags & EK_UNDO_FORGET) == 0)
		rc = undo_replay(path, file, match, &m, done);
	return rc < 0 ? rc : undo_remove(path, file->diag);
}

int ek_undo(struct ek_ctx *ctx, const char *path, const char *undo, unsigned flags,
	    struct ek_undone *ret)
{
	struct undo_done done = {0, 0};
	struct ek_undone told;
	struct dev *file;
	bool none;
	char *name;
	int rc;

	diag_clear(&ctx->diag);
	rc = dev_open(path, DEV_WRITE, &ctx->diag, &file);
	if (rc < 0)
		return rc;
	name = path_of(file, undo, &none);
	if (name == NULL)
		rc = none ? diag_set(&ctx->diag, -ENOENT,
				     "nothing to take back: %s is a block device, whose undo file "
				     "must be named",
				     path)
			  : -ENOMEM;
	if (rc == 0)
		rc = undo_file(file, name, flags, &done);
	free(name);
	dev_close(file);
	told = (struct ek_undone){sizeof(told), done.records, done.bytes};
	if (rc == 0 && ret != NULL)
		session_hand_out(ret, ret->size, &told, sizeof(told));
	return rc;
}
