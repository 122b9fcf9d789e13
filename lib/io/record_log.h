/* SPDX-License-Identifier: BSD-2-Clause */
/* What states.c needs of the recorder beyond recorder.h. */
#ifndef IO_RECORD_LOG_H
#define IO_RECORD_LOG_H

struct dev;

/* The bytes before the first record; belongs to the recorder and is not to be written. */
struct dev *recorder_origin(struct dev *dev);

#endif
