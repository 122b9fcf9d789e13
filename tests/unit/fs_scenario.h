/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A day in the life of an image: a list of operations on names, sizes, ranges and attributes, each
 * of which either happened or did not.  The digest of the tree after each is the model that crashes
 * and failures are compared with.
 *
 * Data is written as ordered mode does it: to blocks just allocated, before their transaction
 * commits.  No operation overwrites bytes in place.
 */
#ifndef FS_SCENARIO_H
#define FS_SCENARIO_H

#include "fs_walk.h"

#include <linux/falloc.h>

#include "fs/credits.h"
#include "journal/journal.h"

#define STEPS_MAX 1000u

struct scenario {
	struct ek_image *img;
	struct task t;
	struct ek_inode *root, *held;
	uint64_t model[STEPS_MAX + 1]; /* digest after each step; [0] is the beginning */
	unsigned steps;
	int (*script)(struct scenario *s); /* instead of the usual day */
	bool go_on;                        /* after refusals too */
	unsigned refused;
	bool later; /* the day after, on an image that had its first */
	bool blind; /* do not look at the tree after each step: the model is known */
	/* Called after each step; a negative result ends the run. */
	int (*after)(struct scenario *s, void *ctx);
	void *ctx;
};

static inline int at_path(struct scenario *s, const char *path, struct ek_inode **dir,
			  const char **name, uint32_t *len)
{
	return path_parent(&s->t, path, dir, name, len);
}

static inline int sc_open(struct scenario *s, const char *path, struct ek_inode **ret)
{
	return path_walk(&s->t, path, WALK_NOFOLLOW, ret);
}

static inline int sc_create(struct scenario *s, const char *path)
{
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	int rc = at_path(s, path, &dir, &name, &len);

	if (rc == 0) {
		rc = fs_create(&s->t, dir, name, len, 0644, NULL);
		inode_put(&s->t, dir);
	}
	return rc;
}

static inline int sc_mkdir(struct scenario *s, const char *path)
{
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	int rc = at_path(s, path, &dir, &name, &len);

	if (rc == 0) {
		rc = fs_mkdir(&s->t, dir, name, len, 0755, NULL);
		inode_put(&s->t, dir);
	}
	return rc;
}

static inline int sc_unlink(struct scenario *s, const char *path)
{
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	int rc = at_path(s, path, &dir, &name, &len);

	if (rc == 0) {
		rc = fs_unlink(&s->t, dir, name, len);
		inode_put(&s->t, dir);
	}
	return rc;
}

static inline int sc_rmdir(struct scenario *s, const char *path)
{
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	int rc = at_path(s, path, &dir, &name, &len);

	if (rc == 0) {
		rc = fs_rmdir(&s->t, dir, name, len);
		inode_put(&s->t, dir);
	}
	return rc;
}

static inline int sc_rename(struct scenario *s, const char *from, const char *to, unsigned flags)
{
	struct ek_inode *a, *b;
	const char *an, *bn;
	uint32_t al, bl;
	int rc = at_path(s, from, &a, &an, &al);

	if (rc < 0)
		return rc;
	rc = at_path(s, to, &b, &bn, &bl);
	if (rc == 0) {
		rc = fs_rename(&s->t, a, an, al, b, bn, bl, flags);
		inode_put(&s->t, b);
	}
	inode_put(&s->t, a);
	return rc;
}

static inline int sc_symlink(struct scenario *s, const char *path, const char *target)
{
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	int rc = at_path(s, path, &dir, &name, &len);

	if (rc == 0) {
		rc = fs_symlink(&s->t, dir, name, len, target, (uint32_t)strlen(target), NULL);
		inode_put(&s->t, dir);
	}
	return rc;
}

static inline int sc_mknod(struct scenario *s, const char *path)
{
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	int rc = at_path(s, path, &dir, &name, &len);

	if (rc == 0) {
		rc = fs_mknod(&s->t, dir, name, len, S_IFCHR | 0600, 4, 65, NULL);
		inode_put(&s->t, dir);
	}
	return rc;
}

static inline int sc_link(struct scenario *s, const char *from, const char *to)
{
	struct ek_inode *inode, *dir;
	const char *name;
	uint32_t len;
	int rc = sc_open(s, from, &inode);

	if (rc < 0)
		return rc;
	rc = at_path(s, to, &dir, &name, &len);
	if (rc == 0) {
		rc = fs_link(&s->t, inode, dir, name, len);
		inode_put(&s->t, dir);
	}
	inode_put(&s->t, inode);
	return rc;
}

/* One run of blocks just allocated, filled before anyone can see it. */
static inline int sc_fill_run(struct scenario *s, struct ek_inode *inode, struct map *m, int c)
{
	static uint8_t data[65536];
	uint32_t bs = s->img->geom.block_size;
	int rc = map_blocks(&s->t, inode, m, MAP_CREATE);

	memset(data, c, bs);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < m->len && rc == 0; i++)
		rc = dev_write(s->img->dev, (m->pblk.v + i) * bs, data, bs);
	if (rc == 0) {
		inode->size = MAX(inode->size, (uint64_t)(m->lblk.v + m->len) * bs);
		inode->rec.size = inode->size;
		rc = inode_mark_dirty(&s->t, inode, MARK_SETATTR);
	}
	return rc;
}

/* Takes a write that failed half way back. */
static inline void sc_unwrite(struct scenario *s, struct ek_inode *inode, uint32_t first,
			      uint32_t n, uint64_t size)
{
	struct handle *h;

	if (task_start_inode(&s->t, inode, HANDLE_TRUNCATE, credits_truncate(inode), 0, &h) < 0)
		return;
	map_remove(&s->t, inode, (ek_lblk){first}, (ek_lblk){first + n});
	inode->size = size;
	inode->rec.size = size;
	inode_mark_dirty(&s->t, inode, MARK_TRUNCATE);
	handle_stop(h);
}

/* Whole blocks [first, first + n), which must be a hole. */
static inline int sc_write(struct scenario *s, const char *path, uint32_t first, uint32_t n, int c)
{
	struct ek_inode *inode;
	uint64_t size;
	int rc = sc_open(s, path, &inode);

	if (rc < 0)
		return rc;
	size = inode->size;
	for (uint32_t at = first; at < first + n && rc == 0;) {
		struct map m = {.lblk = {at}, .len = first + n - at};
		struct handle *h;

		rc = task_start_inode(&s->t, inode, HANDLE_MAP_BLOCKS, map_credits(inode, m.len, 1),
				      0, &h);
		if (rc < 0)
			break;
		rc = handle_end(h, sc_fill_run(s, inode, &m, c));
		at += m.len;
	}
	if (rc < 0)
		sc_unwrite(s, inode, first, n, size);
	inode_put(&s->t, inode);
	return rc;
}

static inline int sc_truncate(struct scenario *s, const char *path, uint64_t size)
{
	struct ek_inode *inode;
	int rc = sc_open(s, path, &inode);

	if (rc == 0) {
		rc = inode_set_size(&s->t, inode, size);
		inode_put(&s->t, inode);
	}
	return rc;
}

static inline int sc_fallocate(struct scenario *s, const char *path, int mode, uint64_t off,
			       uint64_t len)
{
	struct ek_inode *inode;
	int rc = sc_open(s, path, &inode);

	if (rc == 0) {
		rc = inode_fallocate(&s->t, inode, mode, off, len);
		if (rc == -EOPNOTSUPP && inode_has_pointers(inode))
			rc = 0; /* such files have no other ranges than holes */
		inode_put(&s->t, inode);
	}
	return rc;
}

static inline int sc_setxattr(struct scenario *s, const char *path, const char *name, size_t len)
{
	static uint8_t value[65536];
	struct ek_inode *inode;
	int rc = sc_open(s, path, &inode);

	if (rc < 0)
		return rc;
	memset(value, (int)('a' + len % 26), sizeof(value));
	rc = xattr_change(&s->t, inode, name, len != 0 ? value : NULL, len);
	inode_put(&s->t, inode);
	return rc;
}

/* The file stays open while its name goes. */
static inline int sc_hold(struct scenario *s, const char *path)
{
	return path != NULL ? sc_open(s, path, &s->held)
			    : (inode_put(&s->t, s->held), s->held = NULL, 0);
}

static inline int sc_tmpfile(struct scenario *s, const char *name)
{
	struct ek_inode *f;
	int rc = fs_tmpfile(&s->t, s->root, 0600, &f);

	if (rc < 0)
		return rc;
	rc = fs_link(&s->t, f, s->root, name, (uint32_t)strlen(name));
	inode_put(&s->t, f);
	return rc;
}

static inline int sc_step(struct scenario *s, int rc)
{
	struct walk w;

	if (s->go_on) {
		s->refused += rc < 0;
		return rc == -EIO || rc == -EUCLEAN || rc == -EBADMSG || rc == -EROFS ? rc : 0;
	}
	if (rc < 0 || s->after == NULL)
		return rc;
	if (s->steps < STEPS_MAX)
		s->steps++;
	if (!s->blind) {
		walk_tree(s->img, &w);
		s->model[s->steps] = w.digest;
	}
	return s->after(s, s->ctx);
}

#define STEP(call)                              \
	do {                                    \
		int step_rc = sc_step(s, call); \
		if (step_rc < 0)                \
			return step_rc;         \
	} while (0)

static inline int sc_names(struct scenario *s)
{
	STEP(sc_create(s, "/a"));
	STEP(sc_write(s, "/a", 0, 20, 'a'));
	STEP(sc_mkdir(s, "/d"));
	STEP(sc_create(s, "/d/x"));
	STEP(sc_write(s, "/d/x", 3, 30, 'x'));
	STEP(sc_link(s, "/a", "/d/hard"));
	STEP(sc_symlink(s, "/d/fast", "../a"));
	STEP(sc_symlink(s, "/slow",
			"a/target/that/is/too/long/to/lie/within/the/sixty/bytes/"
			"of/an/inode/so/it/gets/a/block"));
	STEP(sc_mknod(s, "/d/tty"));
	STEP(sc_rename(s, "/a", "/d/x", 0));
	STEP(sc_mkdir(s, "/d/e"));
	STEP(sc_mkdir(s, "/d/e/f"));
	STEP(sc_rename(s, "/d/e", "/e", 0));
	STEP(sc_rename(s, "/e/f", "/d/hard", RENAME_SWAP));
	STEP(sc_unlink(s, "/e/f"));
	STEP(sc_rmdir(s, "/d/hard"));
	STEP(sc_unlink(s, "/slow"));
	STEP(sc_tmpfile(s, "named"));
	return 0;
}

static inline int sc_sizes(struct scenario *s)
{
	uint64_t bs = s->img->geom.block_size;

	STEP(sc_create(s, "/big"));
	STEP(sc_write(s, "/big", 0, 60, 'b'));
	STEP(sc_write(s, "/big", 100, 20, 'c'));
	STEP(sc_truncate(s, "/big", 110 * bs));
	STEP(sc_truncate(s, "/big", 200 * bs));
	STEP(sc_fallocate(s, "/big", 0, 140 * bs, 30 * bs));
	STEP(sc_fallocate(s, "/big", FALLOC_FL_KEEP_SIZE, 220 * bs, 16 * bs));
	STEP(sc_fallocate(s, "/big", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 10 * bs, 8 * bs));
	STEP(sc_fallocate(s, "/big", FALLOC_FL_ZERO_RANGE, 30 * bs, 5 * bs));
	STEP(sc_fallocate(s, "/big", FALLOC_FL_COLLAPSE_RANGE, 16 * bs, 8 * bs));
	STEP(sc_fallocate(s, "/big", FALLOC_FL_INSERT_RANGE, 4 * bs, 8 * bs));
	for (uint32_t i = 0; i < 12; i++)
		STEP(sc_write(s, "/big", 300 + 4 * i, 2, 'd'));
	STEP(sc_hold(s, "/big"));
	STEP(sc_unlink(s, "/big"));
	STEP(sc_create(s, "/after"));
	STEP(sc_write(s, "/after", 0, 50, 'e'));
	STEP(sc_hold(s, NULL));
	STEP(sc_write(s, "/after", 50, 80, 'f'));
	STEP(sc_truncate(s, "/after", 0));
	return 0;
}

static inline int sc_attributes(struct scenario *s)
{
	STEP(sc_create(s, "/at"));
	STEP(sc_setxattr(s, "/at", "user.small", 20));
	STEP(sc_setxattr(s, "/at", "user.large", 500));
	STEP(sc_setxattr(s, "/at", "user.other", 200));
	STEP(sc_setxattr(s, "/at", "user.large", 30));
	STEP(sc_setxattr(s, "/at", "user.small", 0));
	STEP(sc_setxattr(s, "/at", "user.other", 0));
	STEP(sc_setxattr(s, "/at", "user.large", 400));
	STEP(sc_unlink(s, "/at"));
	return 0;
}

static inline int sc_folder(struct scenario *s)
{
	char path[200];

	STEP(sc_mkdir(s, "/many"));
	for (unsigned i = 0; i < 60; i++) {
		snprintf(path, sizeof(path), "/many/a-name-long-enough-to-fill-blocks-soon-%0*u",
			 (int)(10 + i % 40), i * 7919);
		STEP(sc_create(s, path));
	}
	for (unsigned i = 0; i < 60; i += 2) {
		snprintf(path, sizeof(path), "/many/a-name-long-enough-to-fill-blocks-soon-%0*u",
			 (int)(10 + i % 40), i * 7919);
		STEP(sc_unlink(s, path));
	}
	return 0;
}

/* What the day after does with what it finds: every block of it must be read first. */
static inline int sc_day_after(struct scenario *s)
{
	char path[200];

	STEP(sc_setxattr(s, "/d/x", "user.long", 600));
	STEP(sc_rename(s, "/d", "/many/d", 0));
	for (unsigned i = 1; i < 60; i += 2) {
		snprintf(path, sizeof(path), "/many/a-name-long-enough-to-fill-blocks-soon-%0*u",
			 (int)(10 + i % 40), i * 7919);
		STEP(i % 3 == 0 ? sc_unlink(s, path) : sc_write(s, path, 0, 5, 'g'));
	}
	STEP(sc_unlink(s, "/many/d/x"));
	STEP(sc_rename(s, "/e", "/many/d", RENAME_SWAP));
	STEP(sc_rmdir(s, "/many/d"));
	STEP(sc_fallocate(s, "/after", 0, 0, 100000));
	STEP(sc_create(s, "/many/new"));
	STEP(sc_link(s, "/named", "/many/other"));
	return 0;
}

/* Runs everything on an open image; stops at the first error. */
static inline int sc_run(struct scenario *s, struct ek_image *img)
{
	struct walk w;
	int rc;

	s->img = img;
	s->steps = 0;
	task_init(&s->t, img);
	s->held = NULL;
	rc = inode_get(img, (ek_inum){INUM_ROOT}, &s->root);
	if (rc < 0)
		return rc;
	if (s->after != NULL && !s->blind) {
		walk_tree(img, &w);
		s->model[0] = w.digest;
	}
	rc = s->script != NULL ? s->script(s) : s->later ? sc_day_after(s) : sc_names(s);
	if (!s->later && s->script == NULL) {
		rc = rc < 0 ? rc : sc_sizes(s);
		rc = rc < 0 ? rc : sc_attributes(s);
		rc = rc < 0 ? rc : sc_folder(s);
	}
	inode_put(&s->t, s->held);
	inode_put(&s->t, s->root);
	return rc;
}

#endif
