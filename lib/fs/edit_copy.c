/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies inside an image and between two.
 *
 * A file is made without a name, filled and given all it has, and then takes its name: it is there
 * whole or not at all.  A tree is copied folder by folder with a stack; a folder gets its times
 * when it is left, because what is made in it changes them.  Names of one file are known by its
 * inode.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/name.h"
#include "extkit/inode.h"
#include "fs/dir.h"
#include "fs/edit_copy.h"
#include "fs/inode.h"
#include "fs/namei.h"
#include "fs/session.h"

struct twin {
	struct hash_node node; /* key: the inode it was copied from */
	ek_inum ino;
};

static int remember(struct copy *c, const struct ek_inode *from, const struct ek_inode *made)
{
	struct twin *w;

	if (from->rec.links < 2)
		return 0;
	w = malloc(sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	w->ino = made->ino;
	hash_insert(&c->twins, &w->node, from->ino.v);
	return 0;
}

/* The copy of an inode that was met under another name: 1, 0 when there is none. */
static int find_twin(struct copy *c, const struct ek_inode *from, struct ek_inode **ret)
{
	struct hash_node *n = from->rec.links < 2 ? NULL : hash_find(&c->twins, from->ino.v);
	int rc;

	if (n == NULL)
		return 0;
	rc = inode_get(c->to->img, hash_entry(n, struct twin, node)->ino, ret);
	return rc < 0 ? rc : 1;
}

/* ---- one inode ---- */

static unsigned slot_flags(const struct copy *c)
{
	return (c->flags & EK_COPY_NO_REPLACE) != 0 ? 0 : (unsigned)EK_PUT_REPLACE;
}

static int link_twin(struct copy *c, struct ek_inode *twin, struct slot *s)
{
	int rc = slot_open(c->to, s, slot_flags(c), 0);

	if (rc < 0)
		return rc;
	rc = s->old == twin ? -EEXIST : fs_link(c->to, twin, s->dir, s->name, s->len);
	return slot_close(c->to, s, rc);
}

/* What may go for the new file. */
static int check_old(struct copy *c, const struct ek_inode *from, struct slot *s, bool *ret_over)
{
	struct ek_inode *old;
	int rc = edit_entry(c->to, s->dir, s->name, s->len, &old);

	*ret_over = rc == 0;
	if (rc == -ENOENT)
		diag_clear(&c->to->img->diag);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	if (old == from)
		rc = diag_set(&c->to->img->diag, -EEXIST, "bad path: inode %u onto itself",
			      from->ino.v);
	else if ((c->flags & EK_COPY_NO_REPLACE) != 0)
		rc = -EEXIST;
	else if (inode_is_dir(old))
		rc = -EISDIR;
	inode_put(c->to, old);
	return rc;
}

static int copy_file(struct copy *c, struct ek_inode *from, struct slot *s)
{
	struct ek_inode *made;
	bool over;
	int rc = check_old(c, from, s, &over);

	if (rc == 0)
		rc = fs_tmpfile(c->to, s->dir, 0600, &made);
	if (rc < 0)
		return rc;
	rc = copy_data(c, from, made);
	if (rc == 0)
		rc = copy_attr(c, from, made);
	if (rc == 0)
		rc = edit_flush(c->to);
	if (rc == 0)
		rc = over ? fs_link_over(c->to, made, s->dir, s->name, s->len)
			  : fs_link(c->to, made, s->dir, s->name, s->len);
	if (rc == 0)
		rc = remember(c, from, made);
	inode_put(c->to, made);
	return rc;
}

static int make_node(struct copy *c, struct ek_inode *from, struct slot *s)
{
	uint32_t major = 0, minor = 0;
	char target[4097];
	int rc;

	if (S_ISLNK(from->rec.mode)) {
		rc = fs_readlink(c->from, from, target, sizeof(target));
		return rc < 0 ? rc
			      : fs_symlink(c->to, s->dir, s->name, s->len, target,
					   (uint32_t)strlen(target), &s->made);
	}
	if (S_ISCHR(from->rec.mode) || S_ISBLK(from->rec.mode))
		inode_get_rdev(&from->rec, &major, &minor);
	return fs_mknod(c->to, s->dir, s->name, s->len, from->rec.mode, major, minor, &s->made);
}

static int copy_node(struct copy *c, struct ek_inode *from, struct slot *s)
{
	unsigned credits = 0;
	bool over;
	int rc = check_old(c, from, s, &over);

	if (rc == 0)
		rc = copy_credits(c, from, &credits);
	if (rc == 0)
		rc = slot_open(c->to, s, slot_flags(c), credits);
	if (rc < 0)
		return rc;
	rc = make_node(c, from, s);
	if (rc == 0)
		rc = copy_attr(c, from, s->made);
	if (rc == 0)
		rc = remember(c, from, s->made);
	if (rc < 0 && s->made != NULL) {
		struct diag story = c->to->img->diag;

		if (fs_unlink(c->to, s->dir, s->name, s->len) == 0)
			c->to->img->diag = story;
	}
	return slot_close(c->to, s, rc);
}

/* The folder that is there already, or a new one. */
static int copy_folder(struct copy *c, struct ek_inode *from, struct slot *s)
{
	struct ek_inode *made;
	int rc;

	if ((c->flags & EK_COPY_TREE) == 0)
		return -EISDIR;
	rc = edit_entry(c->to, s->dir, s->name, s->len, &made);
	if (rc == -ENOENT) {
		diag_clear(&c->to->img->diag);
		rc = fs_mkdir(c->to, s->dir, s->name, s->len, 0700, &made);
		if (rc == 0)
			c->done.names++;
	}
	if (rc < 0)
		return rc;
	if (!inode_is_dir(made) || made == from) {
		inode_put(c->to, made);
		return made == from ? -EEXIST : -ENOTDIR;
	}
	return copy_push(c, inode_ref(from), made);
}

static int copy_one(struct copy *c, struct ek_inode *from, struct ek_inode *dir, const char *name,
		    uint32_t len)
{
	struct slot s = {.dir = dir, .name = name, .len = len};
	struct ek_inode *twin;
	int rc = copy_check(c, from);

	if (rc < 0 || inode_is_dir(from))
		return rc < 0 ? rc : copy_folder(c, from, &s);
	rc = find_twin(c, from, &twin);
	if (rc == 1) {
		rc = link_twin(c, twin, &s);
		inode_put(c->to, twin);
	} else if (rc == 0) {
		rc = inode_is_file(from) ? copy_file(c, from, &s) : copy_node(c, from, &s);
	}
	c->done.names += rc == 0 ? 1 : 0;
	return rc;
}

/* ---- trees ---- */

int copy_push(struct copy *c, struct ek_inode *from, struct ek_inode *made)
{
	int rc = mem_grow((void **)&c->levels, &c->cap, c->n + 1, sizeof(*c->levels));

	for (size_t i = 0; rc == 0 && i < c->n; i++)
		if (c->levels[i].from == from)
			rc = diag_set(&c->from->img->diag, -EUCLEAN,
				      "corrupt tree: folder %u lies in itself", from->ino.v);
	if (rc < 0) {
		inode_put(c->from, from);
		inode_put(c->to, made);
		return rc;
	}
	c->levels[c->n++] = (struct copy_level){.from = from, .made = made};
	return 0;
}

static void pop(struct copy *c)
{
	struct copy_level *l = &c->levels[--c->n];

	dir_iter_end(&l->it);
	inode_put(c->to, l->made);
	inode_put(c->from, l->from);
}

/* The next entry of the deepest folder, or the end of it. */
static int step(struct copy *c)
{
	struct copy_level *l = &c->levels[c->n - 1];
	char name[NAME_MAX_BYTES + 1];
	struct ek_inode *inode;
	struct dirent e;
	int rc;

	while ((rc = dir_next(c->from, l->from, &l->it, &e)) == 1 &&
	       name_is_dots(e.name, e.name_len))
		continue;
	if (rc == 1 && !name_is_sound(e.name, e.name_len))
		rc = diag_set(&c->from->img->diag, -EUCLEAN,
			      "corrupt dirent: inode %u: a name is empty or has '/' or a zero byte "
			      "inside",
			      l->from->ino.v);
	if (rc == 0) {
		rc = copy_attr(c, l->from, l->made);
		pop(c);
		return rc;
	}
	if (rc < 0)
		return rc;
	memcpy(name, e.name, e.name_len);
	if (e.ino.v < c->from->img->geom.first_ino)
		return diag_set(&c->from->img->diag, -EUCLEAN,
				"corrupt dirent: inode %u: an entry names the reserved inode %u",
				l->from->ino.v, e.ino.v);
	rc = inode_get(c->from->img, e.ino, &inode);
	if (rc < 0)
		return rc;
	rc = copy_one(c, inode, l->made, name, e.name_len);
	inode_put(c->from, inode);
	return rc;
}

static int copy_levels(struct copy *c)
{
	int rc = 0;

	while (rc == 0 && c->n > 0)
		rc = step(c);
	return rc;
}

/* ---- public ---- */

/* A folder onto one that has no name of its own, or simply is there: 1 when it was copied. */
static int copy_onto(struct copy *c, struct ek_inode *from, const char *to)
{
	struct ek_inode *made;
	int rc = inode_is_dir(from) && (c->flags & EK_COPY_TREE) != 0
		     ? path_walk(c->to, to, WALK_NOFOLLOW, &made)
		     : -ENOENT;

	diag_clear(&c->to->img->diag);
	if (rc < 0)
		return 0;
	if (!inode_is_dir(made) || made == from) {
		inode_put(c->to, made);
		return 0;
	}
	rc = c->from == c->to ? edit_check_outside(c->to, from, made) : 0;
	if (rc == 0)
		rc = copy_push(c, inode_ref(from), inode_ref(made));
	inode_put(c->to, made);
	return rc < 0 ? rc : 1;
}

static int copy_to(struct copy *c, struct ek_inode *from, const char *to)
{
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	int rc = copy_onto(c, from, to);

	if (rc != 0)
		return rc < 0 ? rc : copy_levels(c);
	rc = edit_parent(c->to, to, &dir, &name, &len);
	if (rc < 0)
		return rc;
	if (c->from == c->to && inode_is_dir(from))
		rc = edit_check_outside(c->to, from, dir);
	if (rc == 0)
		rc = copy_one(c, from, dir, name, len);
	inode_put(c->to, dir);
	return rc < 0 ? rc : copy_levels(c);
}

static int copy_path(struct copy *c, const char *from, const char *to)
{
	struct ek_inode *inode;
	int rc = session_check_writable(c->to->img);

	if (rc == 0)
		rc = path_walk(c->from, from, (c->flags & EK_COPY_FOLLOW) != 0 ? 0 : WALK_NOFOLLOW,
			       &inode);
	if (rc < 0)
		return rc;
	rc = copy_to(c, inode, to);
	while (c->n > 0)
		pop(c);
	inode_put(c->from, inode);
	return rc;
}

static void copy_free(struct copy *c)
{
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&c->twins, &at)) != NULL)
		free(hash_entry(n, struct twin, node));
	hash_free(&c->twins);
	free(c->levels);
	free(c->piece);
}

int ek_copy(struct ek_image *src, const char *from, struct ek_image *dst, const char *to,
	    unsigned flags, struct ek_copied *ret)
{
	struct copy c = {.flags = flags};
	int rc;

	/* two images are entered in an order that all callers share */
	if (src < dst)
		session_begin(src);
	c.to = session_begin(dst);
	if (src > dst)
		session_begin(src);
	c.from = &src->session->task;
	rc = copy_path(&c, from, to);
	copy_free(&c);
	if (ret != NULL)
		session_hand_out(ret, ret->size, &c.done, sizeof(c.done));
	if (src != dst) {
		if (dst->diag.code != rc)
			session_tell(src, rc, "cannot copy", from);
		session_end(src, 0, "", "");
	}
	return session_end(dst, rc, "cannot copy", from);
}
