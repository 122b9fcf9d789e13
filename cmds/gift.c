/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of new inodes, from options and from files of the host. */
#include "gift.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "cmd.h"
#include "extkit/image.h"
#include "fail.h"

#define VALUE_MAX ((size_t)65536)

unsigned gift_open_flags(const struct put_opts *o)
{
	return EK_IMAGE_WRITE | (o->dry ? (unsigned)EK_IMAGE_DRY_RUN : 0);
}

void gift_free(struct gift *g)
{
	for (size_t i = 0; i < g->attr.nxattrs; i++)
		free(g->held[i]);
}

/* Takes over both, which holds the name. */
static int gift_add(struct run *run, struct gift *g, char *both, const char *name,
		    const void *value, size_t len)
{
	size_t at = g->attr.nxattrs;

	for (size_t i = 0; i < at; i++)
		if (strcmp(g->xattrs[i].name, name) == 0) { /* the later one counts */
			free(g->held[i]);
			g->xattrs[i] = (struct ek_xattr){name, value, len};
			g->held[i] = both;
			return EXIT_DONE;
		}
	if (at == GIFT_XATTRS) {
		free(both);
		return fail_usage(run, _("more than %u extended attributes"), GIFT_XATTRS);
	}
	g->xattrs[at] = (struct ek_xattr){name, value, len};
	g->held[at] = both;
	g->attr.nxattrs++;
	return EXIT_DONE;
}

/* One attribute of the host's file; those that may not be read are not there. */
static int keep_xattr(struct run *run, struct gift *g, int fd, const char *name)
{
	size_t room = strlen(name) + 1;
	char *both = malloc(room + VALUE_MAX);
	ssize_t n;

	if (both == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	memcpy(both, name, room);
	n = fgetxattr(fd, name, both + room, VALUE_MAX);
	if (n < 0) {
		free(both);
		return EXIT_DONE;
	}
	return gift_add(run, g, both, both, both + room, (size_t)n);
}

static int keep_xattrs(struct run *run, struct gift *g, int fd)
{
	static char names[65536];
	ssize_t n = flistxattr(fd, names, sizeof(names));
	int code = EXIT_DONE;

	for (ssize_t at = 0; at < n && code == EXIT_DONE; at += (ssize_t)strlen(names + at) + 1)
		code = keep_xattr(run, g, fd, names + at);
	return code;
}

int gift_keep(struct run *run, struct gift *g, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail(run, EXIT_HOST, "%s", strerror(errno));
	g->attr.mask = EK_ATTR_MODE | EK_ATTR_UID | EK_ATTR_GID | EK_ATTR_ATIME | EK_ATTR_MTIME;
	g->attr.mode = st.st_mode & 07777;
	g->attr.uid = st.st_uid;
	g->attr.gid = st.st_gid;
	g->attr.atime = (struct ek_time){st.st_atim.tv_sec, (uint32_t)st.st_atim.tv_nsec};
	g->attr.mtime = (struct ek_time){st.st_mtim.tv_sec, (uint32_t)st.st_mtim.tv_nsec};
	return keep_xattrs(run, g, fd);
}

static int set_id(struct run *run, const char *word, struct opt_num num, unsigned bit, uint32_t *to,
		  struct gift *g)
{
	if (!num.set)
		return EXIT_DONE;
	if (num.v >= UINT32_MAX)
		return fail_usage(run, _("--%s: %llu is too much"), word,
				  (unsigned long long)num.v);
	*to = (uint32_t)num.v;
	g->attr.mask |= bit;
	return EXIT_DONE;
}

static int set_mode(struct run *run, const char *text, struct gift *g)
{
	char *end;
	unsigned long mode;

	if (text == NULL)
		return EXIT_DONE;
	mode = strtoul(text, &end, 8);
	if (*text < '0' || *text > '7' || *end != '\0' || mode > 07777)
		return fail_usage(run, _("--mode: '%s' is no octal mode"), text);
	g->attr.mode = (uint32_t)mode;
	g->attr.mask |= EK_ATTR_MODE;
	return EXIT_DONE;
}

int gift_options(struct run *run, struct gift *g)
{
	const struct put_opts *o = run->opts;
	int code = set_mode(run, o->mode, g);

	if (code == EXIT_DONE)
		code = set_id(run, "uid", o->uid, EK_ATTR_UID, &g->attr.uid, g);
	if (code == EXIT_DONE)
		code = set_id(run, "gid", o->gid, EK_ATTR_GID, &g->attr.gid, g);
	for (size_t i = 0; i < o->xattrs.n && code == EXIT_DONE; i++) {
		char *both = strdup(o->xattrs.v[i]);
		char *sign = both != NULL ? strchr(both, '=') : NULL;

		if (sign == NULL) {
			free(both);
			return fail_usage(run, _("--xattr: '%s' is not NAME=VALUE"),
					  o->xattrs.v[i]);
		}
		*sign = '\0';
		code = gift_add(run, g, both, both, sign + 1, strlen(sign + 1));
	}
	g->attr.size = sizeof(g->attr);
	g->attr.xattrs = g->xattrs;
	return code;
}
