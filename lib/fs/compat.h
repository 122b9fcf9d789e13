/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profiles: what a kernel, a boot loader or e2fsprogs of some version can read and write.
 *
 * "linux-4.9", "e2fsprogs-1.42", "grub-2.06".  Versions of Linux are those of ext4(5), section
 * KERNEL SUPPORT, and of the releases that brought fast_commit and orphan_file; those of e2fsprogs
 * its release notes; GRUB ignores what it need not know, and stops at incompatible features it has
 * not heard of.
 */
#ifndef FS_COMPAT_H
#define FS_COMPAT_H

struct create_opts;
struct diag;

/* Takes away the features that the profile's reader does not have.  -EINVAL for a name that is no
 * profile. */
int compat_limit(const char *profile, struct create_opts *o, struct diag *d);

/* -EINVAL, with their names, when o has features that the profile's reader does not have. */
int compat_check(const char *profile, const struct create_opts *o, struct diag *d);

#endif
