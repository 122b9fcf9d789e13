/* SPDX-License-Identifier: BSD-2-Clause */
/* A journal outside of its filesystem, on a device of its own. */
#ifndef FS_JOURNAL_DEV_H
#define FS_JOURNAL_DEV_H

#include <stdbool.h>
#include <stdint.h>

struct dev;
struct ek_image;
struct jnl_config;

/* True when the superblock says that the journal is on another device. */
bool journal_is_external(const struct ek_image *img);

/* Finds the device (image_opts.find_journal), proves that it is this filesystem's, and fills what
 * cfg says of the log; run gets the one run that cfg points to.  Readers get it under an overlay.
 * -EOPNOTSUPP when nobody can name the device, -EUCLEAN when it is another one's. */
struct jnl_run;
int journal_dev_open(struct ek_image *img, struct jnl_config *cfg, struct jnl_run *run);
/* What was opened on top of the device; the device stays its finder's. */
void journal_dev_close(struct ek_image *img);

#endif
