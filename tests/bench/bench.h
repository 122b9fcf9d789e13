/* SPDX-License-Identifier: BSD-2-Clause */
/* What the benchmarks share: clocks, failing loudly, images, and memory that was used before. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "fs/create.h"
#include "io/dev.h"

#define MIB (1u << 20)

static struct diag diag;

static inline double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts v. */
static inline double median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* Ends the program when rc says that what failed. */
static inline void must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, diag.code != 0 ? diag.text : strerror(errno));
	exit(1);
}

/* An empty default image over what path is now: a file becomes sparse and of that size first. */
static inline void make_image(const char *path, uint64_t mib)
{
	struct create_opts o = {.fresh = true};
	struct layout l;
	struct dev *dev;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	must(fd, path);
	if (strncmp(path, "/dev/", 5) != 0)
		must(ftruncate(fd, 0) < 0 ? -1 : ftruncate(fd, (off_t)(mib * MIB)), path);
	close(fd);
	create_opts_default(&o);
	o.size = mib * MIB;
	o.fresh = strncmp(path, "/dev/", 5) != 0;
	o.uuid[0] = 1;
	o.now.sec = 1700000000;
	must(layout_plan(&o, &diag, &l), "plan");
	must(dev_open(path, DEV_WRITE, &diag, &dev), path);
	must(layout_write(&l, &o, dev, &diag), path);
	layout_free(&l);
	dev_close(dev);
}

/*
 * Uses that much memory and gives it back.  A virtual machine gets memory from its host at the
 * first use of it, which can take seconds a gigabyte and has nothing to do with who uses it.
 */
static inline void warm_memory(uint64_t mib)
{
	void *p = mmap(NULL, mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p == MAP_FAILED ? -1 : 0, "memory");
	madvise(p, mib * MIB, MADV_HUGEPAGE); /* small pieces would come from elsewhere */
	memset(p, 1, mib * MIB);
	munmap(p, mib * MIB);
}

#endif
