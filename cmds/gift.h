/* SPDX-License-Identifier: BSD-2-Clause */
/* What new files and folders are given: the options that say so, and the attributes they stand for.
 */
#ifndef CMDS_GIFT_H
#define CMDS_GIFT_H

#include <stdbool.h>

#include "extkit/edit.h"
#include "extkit/inode.h"
#include "opt.h"

struct run;

struct put_opts {
	bool parents, keep, no_replace, dry;
	const char *mode;
	struct opt_num uid, gid;
	struct opt_list xattrs;
};

#define ROW_PARENTS \
	OPT_FLAG(struct put_opts, parents, 'p', "parents", N_("make missing folders on the way"))
#define ROW_DRY  OPT_FLAG(struct put_opts, dry, 0, "dry-run", N_("check everything, change nothing"))
#define ROW_MODE OPT_TEXT(struct put_opts, mode, 'm', "mode", N_("OCTAL"), N_("permissions"))
#define ROW_UID  OPT_NUMBER(struct put_opts, uid, 'u', "uid", N_("N"), N_("the owner, otherwise 0"))
#define ROW_GID  OPT_NUMBER(struct put_opts, gid, 'g', "gid", N_("N"), N_("the group, otherwise 0"))
#define ROW_XATTR                                                         \
	OPT_LIST(struct put_opts, xattrs, 'x', "xattr", N_("NAME=VALUE"), \
		 N_("an extended attribute; may be given again"))

#define GIFT_XATTRS 256u

/* Attributes with the memory that they point into. */
struct gift {
	struct ek_attr attr;
	struct ek_xattr xattrs[GIFT_XATTRS];
	char *held[GIFT_XATTRS];
};

/* How to open the image: for writing, or for a dry run.  enum ek_image_flag. */
unsigned gift_open_flags(const struct put_opts *o);

/* What the host's file has, as --archive wants it.  An exit code. */
int gift_keep(struct run *run, struct gift *g, int fd);

/* What the options say, over what was kept.  An exit code; gift_free must follow in any case. */
int gift_options(struct run *run, struct gift *g);

void gift_free(struct gift *g);

#endif
