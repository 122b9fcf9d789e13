/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A folder of the host as a source: entries in the order of their names' bytes, whatever order the
 * host has.  Files with several names are told by device and inode number; holes by asking the
 * host, where a file has fewer blocks than its size wants.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/past_cache.h"
#include "tree/source.h"
#include "tree/xattrs.h"

/* A folder that is open, with its names sorted. */
struct level {
	int fd;
	size_t path_len; /* of the folder itself */
	char **names;
	size_t n, at, cap;
};

/* The first name of a file that has several. */
struct known {
	struct hash_node node;
	uint64_t dev, ino;
	char path[];
};

struct folder {
	struct tree_source s;
	int root;
	struct level *levels;
	size_t depth, cap;
	struct str path, host; /* host: scratch */
	bool started, enter;   /* enter: the entry handed out last is a folder to go into */
	struct hash known;
	struct known *noted; /* the entry handed out last is a file's first name */
	struct str files; /* paths of files whose contents may be asked for; tokens are offsets */
	uint64_t open_token;
	int open_fd;
	struct xattr_list xattrs;
	struct tree_range *ranges;
	size_t ranges_cap;
	char *target;
	bool is_root_user;
};

static struct folder *of(struct tree_source *s)
{
	return container_of(s, struct folder, s);
}

static int host_error(struct folder *f, int rc, const char *what)
{
	char shown[200];

	return diag_errno(f->s.diag, rc, "%s: %s/%s", what, f->s.name,
			  escape_to(shown, sizeof(shown), str_text(&f->path), f->path.len));
}

/* ---- levels ---- */

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(struct level *l, DIR *dir)
{
	struct dirent *e;

	for (errno = 0; (e = readdir(dir)) != NULL; errno = 0) {
		char *name;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		name = strdup(e->d_name);
		if (name == NULL ||
		    mem_grow((void **)&l->names, &l->cap, l->n + 1, sizeof(*l->names)) < 0) {
			free(name);
			return -ENOMEM;
		}
		l->names[l->n++] = name;
	}
	if (errno != 0)
		return -errno;
	if (l->n > 1)
		qsort(l->names, l->n, sizeof(*l->names), by_bytes);
	return 0;
}

static void close_level(struct level *l)
{
	while (l->n > 0)
		free(l->names[--l->n]);
	free(l->names);
	if (l->fd >= 0)
		close(l->fd);
}

/* Enters the folder at path, whose descriptor becomes the level's. */
static int enter(struct folder *f, int at, const char *name)
{
	struct level l = {.path_len = f->path.len};
	DIR *dir;
	int fd, rc;

	l.fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (l.fd < 0)
		return host_error(f, -errno, "cannot read folder");
	fd = dup(l.fd);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
	} else {
		rc = read_names(&l, dir);
		closedir(dir);
	}
	if (rc == 0)
		rc = mem_grow((void **)&f->levels, &f->cap, f->depth + 1, sizeof(l));
	if (rc < 0) {
		close_level(&l);
		return host_error(f, rc, "cannot read folder");
	}
	f->levels[f->depth++] = l;
	return 0;
}

/* ---- one entry ---- */

static struct ek_time time_of(struct timespec t)
{
	return (struct ek_time){t.tv_sec, (uint32_t)t.tv_nsec};
}

static uint64_t key_of(const struct stat *st)
{
	return hash_mix(st->st_ino) ^ st->st_dev;
}

static const char *known_name(struct folder *f, const struct stat *st)
{
	for (struct hash_node *n = hash_find(&f->known, key_of(st)); n != NULL; n = n->next) {
		struct known *k = hash_entry(n, struct known, node);

		if (k->dev == st->st_dev && k->ino == st->st_ino)
			return k->path;
	}
	return NULL;
}

static int note_name(struct folder *f, const struct stat *st)
{
	struct known *k = malloc(sizeof(*k) + f->path.len + 1);

	if (k == NULL)
		return -ENOMEM;
	k->dev = st->st_dev;
	k->ino = st->st_ino;
	memcpy(k->path, str_text(&f->path), f->path.len + 1);
	hash_insert(&f->known, &k->node, key_of(st));
	f->noted = k;
	return 0;
}

static int add_range(struct folder *f, struct tree_entry *e, uint64_t from, uint64_t to)
{
	if (mem_grow((void **)&f->ranges, &f->ranges_cap, e->ndata + 1, sizeof(*f->ranges)) < 0)
		return -ENOMEM;
	f->ranges[e->ndata++] = (struct tree_range){from, to};
	e->data = f->ranges;
	return 0;
}

/* Where the file has data, as the host says. */
static int find_data(struct folder *f, int at, const char *name, struct tree_entry *e)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), rc = 0;
	off_t from = 0, to;

	if (fd < 0)
		return host_error(f, -errno, "cannot read");
	if (mem_grow((void **)&f->ranges, &f->ranges_cap, 1, sizeof(*f->ranges)) < 0)
		rc = -ENOMEM;
	e->data = f->ranges;
	while (rc == 0 && (uint64_t)from < e->size) {
		from = lseek(fd, from, SEEK_DATA);
		if (from < 0) {
			rc = errno == ENXIO ? 0 : -errno;
			break;
		}
		to = lseek(fd, from, SEEK_HOLE);
		if (to < 0)
			rc = -errno;
		else
			rc = add_range(f, e, (uint64_t)from, MIN((uint64_t)to, e->size));
		from = to;
	}
	close(fd);
	return rc < 0 ? host_error(f, rc, "cannot read") : 0;
}

static int regular(struct folder *f, int at, const char *name, const struct stat *st,
		   struct tree_entry *e)
{
	e->size = (uint64_t)st->st_size;
	e->has_contents = true;
	e->token = f->files.len;
	str_add(&f->files, str_text(&f->path), f->path.len + 1);
	if (f->files.err != 0)
		return f->files.err;
	if (!f->is_root_user && faccessat(at, name, R_OK, AT_EACCESS) < 0)
		return host_error(f, -errno, "cannot read");
	if ((uint64_t)st->st_blocks * 512 < e->size)
		return find_data(f, at, name, e);
	return 0;
}

static int read_target(struct folder *f, int at, const char *name, struct tree_entry *e)
{
	ssize_t n = readlinkat(at, name, f->target, 65536);

	if (n < 0)
		return host_error(f, -errno, "cannot read link");
	f->target[n] = '\0';
	e->target = f->target;
	return 0;
}

/* Calls about attributes want a path: the plain one costs least, and where it would be too long the
 * descriptor of the folder stands for its beginning. */
static const char *host_path(struct folder *f, int at, const char *name)
{
	size_t base = strlen(f->s.name);

	str_cut(&f->host, 0);
	if (base + 1 + f->path.len < PATH_MAX)
		str_addf(&f->host, "%s/%s", f->s.name, str_text(&f->path));
	else
		str_addf(&f->host, "/proc/self/fd/%d/%s", at, name);
	return str_text(&f->host);
}

static int fill(struct folder *f, int at, const char *name, const struct stat *st,
		struct tree_entry *e)
{
	int rc = 0;

	e->mode = st->st_mode;
	e->uid = st->st_uid;
	e->gid = st->st_gid;
	e->mtime = time_of(st->st_mtim);
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1) {
		e->link = known_name(f, st);
		if (e->link != NULL)
			return 0;
		rc = note_name(f, st);
	}
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)) {
		e->dev_major = major(st->st_rdev);
		e->dev_minor = minor(st->st_rdev);
	}
	if (rc == 0 && S_ISREG(st->st_mode))
		rc = regular(f, at, name, st, e);
	if (rc == 0 && S_ISLNK(st->st_mode))
		rc = read_target(f, at, name, e);
	if (rc < 0)
		return rc;
	rc = xattr_list_host(&f->xattrs, host_path(f, at, name));
	if (rc < 0)
		return host_error(f, rc, "cannot read attributes");
	e->xattrs = f->xattrs.v;
	e->nxattrs = f->xattrs.n;
	return 0;
}

static int hand_out(struct folder *f, int at, const char *name, struct tree_entry *e)
{
	struct stat st;
	int rc;

	*e = (struct tree_entry){.path = str_text(&f->path)};
	f->noted = NULL;
	if (f->path.err != 0)
		return f->path.err;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return host_error(f, -errno, "cannot read");
	rc = fill(f, at, name, &st, e);
	f->enter = rc == 0 && S_ISDIR(st.st_mode);
	return rc < 0 ? rc : 1;
}

static int folder_next(struct tree_source *s, struct tree_entry *ret)
{
	struct folder *f = of(s);

	if (!f->started) {
		f->started = true;
		return hand_out(f, f->root, ".", ret);
	}
	if (f->enter) {
		const char *slash = strrchr(str_text(&f->path), '/');
		int rc;

		f->enter = false;
		*ret = (struct tree_entry){.path = str_text(&f->path)};
		rc = f->depth == 0 ? enter(f, f->root, ".")
				   : enter(f, f->levels[f->depth - 1].fd,
					   slash != NULL ? slash + 1 : str_text(&f->path));
		if (rc < 0)
			return rc;
	}
	while (f->depth > 0) {
		struct level *l = &f->levels[f->depth - 1];

		str_cut(&f->path, l->path_len);
		if (l->at == l->n) {
			close_level(l);
			f->depth--;
			continue;
		}
		if (l->path_len != 0)
			str_addc(&f->path, '/');
		str_adds(&f->path, l->names[l->at]);
		return hand_out(f, l->fd, l->names[l->at++], ret);
	}
	return 0;
}

static void folder_prune(struct tree_source *s)
{
	struct folder *f = of(s);

	f->enter = false;
	if (f->noted != NULL) {
		hash_remove(&f->known, &f->noted->node);
		free(f->noted);
		f->noted = NULL;
	}
}

/* ---- contents ---- */

static int open_contents(struct folder *f, uint64_t token)
{
	const char *path = f->files.p + token;

	if (f->open_fd >= 0 && f->open_token == token)
		return 0;
	if (f->open_fd >= 0)
		close(f->open_fd);
	f->open_fd = openat(f->root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	f->open_token = token;
	if (f->open_fd < 0)
		return diag_errno(f->s.diag, -errno, "cannot read: %s/%.200s", f->s.name, path);
	return 0;
}

static int folder_read(struct tree_source *s, uint64_t token, uint64_t off, void *buf, size_t len)
{
	struct folder *f = of(s);
	uint8_t *p = buf;
	int rc = open_contents(f, token);

	while (rc == 0 && len > 0) {
		struct iovec iov = {p, len};
		ssize_t n = past_cache_move(f->open_fd, false, &iov, 1, (off_t)off, &s->past_cache);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = diag_errno(s->diag, -errno, "cannot read: %s/%.200s", s->name,
					f->files.p + token);
		else if (n == 0)
			rc = diag_set(s->diag, -ESTALE, "changed while it was read: %s/%.200s",
				      s->name, f->files.p + token);
		p += MAX(n, 0);
		off += (uint64_t)MAX(n, 0);
		len -= (size_t)MAX(n, 0);
	}
	return rc;
}

static int folder_host(struct tree_source *s, uint64_t token)
{
	struct folder *f = of(s);
	int rc = open_contents(f, token);

	return rc < 0 ? rc : f->open_fd;
}

static void folder_close(struct tree_source *s)
{
	struct folder *f = of(s);
	struct hash_node *n;
	size_t at = 0;

	while (f->depth > 0)
		close_level(&f->levels[--f->depth]);
	while ((n = hash_pop(&f->known, &at)) != NULL)
		free(hash_entry(n, struct known, node));
	hash_free(&f->known);
	if (f->open_fd >= 0)
		close(f->open_fd);
	if (f->root >= 0)
		close(f->root);
	xattr_list_free(&f->xattrs);
	str_free(&f->path);
	str_free(&f->host);
	str_free(&f->files);
	free(f->levels);
	free(f->ranges);
	free(f->target);
	free(f);
}

static const struct tree_source_ops folder_ops = {folder_next, folder_prune, folder_read,
						  folder_close, folder_host};

int tree_open_folder(const char *name, struct diag *d, struct tree_source **ret)
{
	struct folder *f = mem_zero(sizeof(*f));

	if (f == NULL)
		return diag_set(d, -ENOMEM, "out of memory for %s", name);
	f->s = (struct tree_source){.ops = &folder_ops, .diag = d, .name = name, .later = true};
	f->open_fd = -1;
	f->is_root_user = geteuid() == 0;
	f->target = malloc(65537);
	f->root = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->root < 0 || f->target == NULL) {
		int rc = diag_errno(d, f->root < 0 ? -errno : -ENOMEM, "cannot read %s", name);

		folder_close(&f->s);
		return rc;
	}
	*ret = &f->s;
	return 0;
}
