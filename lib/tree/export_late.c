/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of an export: symbolic links, when no path is resolved any more, then what folders are.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "extkit/inode.h"
#include "tree/export_impl.h"
#include "tree/host.h"

/* ---- links ---- */

/* A relative target that climbs no higher than the tree, from the folder of path. */
static bool stays_inside(const char *path, const char *target)
{
	int depth = 0;

	if (target[0] == '/')
		return false;
	for (const char *p = path; (p = strchr(p, '/')) != NULL; p++)
		depth++;
	for (const char *p = target; *p != '\0';) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			depth--;
		else if (n != 0 && !(n == 1 && p[0] == '.'))
			depth++;
		if (depth < 0)
			return false;
		p += n;
		p += strspn(p, "/");
	}
	return true;
}

static int place_link(struct export *x, struct ek_inode *inode, const char *path,
		      const char *target)
{
	struct ek_stat st = {.size = sizeof(st)};
	struct timespec times[2];
	const char *name;
	int at = export_parent(x, path, &name), rc;

	if (at < 0)
		return at;
	rc = symlinkat(target, at, name) < 0 ? -errno : ek_inode_stat(inode, &st);
	if (rc == 0) {
		times[0] = (struct timespec){st.atime.sec, (long)st.atime.nsec};
		times[1] = (struct timespec){st.mtime.sec, (long)st.mtime.nsec};
		utimensat(at, name, times, AT_SYMLINK_NOFOLLOW);
	}
	if (rc == 0 && (x->opt.flags & EK_EXPORT_OWNER) != 0 &&
	    fchownat(at, name, st.uid, st.gid, AT_SYMLINK_NOFOLLOW) < 0)
		rc = -errno;
	x->rep->links += rc == 0 ? 1 : 0;
	return rc;
}

static int make_link(struct export *x, const struct later *l, char *target)
{
	struct ek_inode *inode;
	int rc;

	if (x->opt.links == EK_LINKS_SKIP) {
		export_issue(x, EK_ISSUE_SKIPPED, 0, l->path, "a link");
		return 0;
	}
	rc = ek_inode_open_number(x->img, l->ino, &inode);
	if (rc < 0)
		return rc;
	rc = ek_inode_readlink(inode, target, EXPORT_PIECE);
	if (rc == 0 && x->opt.links == EK_LINKS_INSIDE && !stays_inside(l->path, target))
		export_issue(x, EK_ISSUE_SKIPPED, 0, l->path, "a link that leads out of the tree");
	else if (rc == 0)
		rc = place_link(x, inode, l->path, target);
	ek_inode_close(inode);
	return rc;
}

void export_links(struct export *x)
{
	for (size_t i = 0; i < x->links.n; i++) {
		int rc = make_link(x, &x->links.v[i], (char *)x->piece);

		if (rc < 0)
			export_failed(x, rc, x->links.v[i].path);
	}
}

/* ---- folders ---- */

static int finish_folder(struct export *x, const struct later *l)
{
	struct ek_stat st = {.size = sizeof(st)};
	struct ek_inode *inode;
	const char *name;
	int at, fd, rc = ek_inode_open_number(x->img, l->ino, &inode);

	if (rc < 0)
		return rc;
	rc = ek_inode_stat(inode, &st);
	at = *l->path != '\0' ? host_parent(x->root, l->path, &name) : dup(x->root);
	fd = at;
	if (at >= 0 && *l->path != '\0') {
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
		close(at);
	}
	rc = rc < 0 ? rc : MIN(fd, 0);
	if (rc == 0)
		rc = host_finish(inode, &st, fd, x->opt.flags);
	if (fd >= 0)
		close(fd);
	ek_inode_close(inode);
	return rc;
}

void export_folders(struct export *x)
{
	for (size_t i = x->folders.n; i-- > 0;) {
		int rc = finish_folder(x, &x->folders.v[i]);

		if (rc < 0)
			export_failed(x, rc, x->folders.v[i].path);
	}
}
