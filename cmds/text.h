/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words for people.  _() translates now; N_() marks text of a const table that is translated where
 * it is shown.
 */
#ifndef CMDS_TEXT_H
#define CMDS_TEXT_H

#include <libintl.h>

#define _(text)              gettext(text)
#define N_(text)             text
#define PLURAL(one, many, n) ngettext(one, many, n)

#endif
