/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Background writeback for loads on a mounted folder.  The kernel's own begins when a tenth of the
 * host's memory is dirty, which belongs to the whole machine and is more than a load has.  So a
 * thread asks for it as soon as a load has as much dirty as the page cache here begins with.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/mem.h"
#include "trace/bench.h"

#define NAP_NS 2000000 /* between two looks: as long as the flusher of a crew sleeps */

struct bench_flusher {
	const char *folder;
	uint64_t background;       /* bytes that may be dirty before it begins */
	atomic_ullong wrote;       /* bytes, so far */
	atomic_uint nfiles;        /* of file that are open */
	int file[BENCH_FILES_MAX]; /* grows in front of nfiles */
	pthread_t thread;
	atomic_bool stop;
};

static void write_back(struct bench_flusher *f)
{
	unsigned n = atomic_load(&f->nfiles);

	for (unsigned i = 0; i < n; i++)
		sync_file_range(f->file[i], 0, 0, SYNC_FILE_RANGE_WRITE);
}

static void *run(void *arg)
{
	static const struct timespec nap = {.tv_nsec = NAP_NS};
	struct bench_flusher *f = arg;
	uint64_t sent = 0;

	while (!atomic_load(&f->stop)) {
		uint64_t wrote = atomic_load(&f->wrote);

		if (wrote - sent < f->background) {
			nanosleep(&nap, NULL);
			continue;
		}
		write_back(f);
		sent = wrote;
	}
	return NULL;
}

int bench_flusher_start(const char *folder, uint64_t background, struct diag *d,
			struct bench_flusher **ret)
{
	struct bench_flusher *f = mem_zero(sizeof(*f));
	int rc;

	if (f == NULL)
		return diag_set(d, -ENOMEM, "bench: no memory");
	f->folder = folder;
	f->background = background;
	rc = pthread_create(&f->thread, NULL, run, f);
	if (rc != 0) {
		free(f);
		return diag_set(d, -rc, "bench: cannot start a thread");
	}
	*ret = f;
	return 0;
}

int bench_flusher_file(struct bench_flusher *f, const char *name, struct diag *d)
{
	unsigned n = atomic_load(&f->nfiles);
	char path[4096];
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", f->folder, name) >= (int)sizeof(path))
		return diag_set(d, -ENAMETOOLONG, "bench: %s: too long", f->folder);
	fd = n < BENCH_FILES_MAX ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd < 0)
		return diag_errno(d, n < BENCH_FILES_MAX ? -errno : -EMFILE, "bench: %s", path);
	f->file[n] = fd;
	atomic_store(&f->nfiles, n + 1);
	return 0;
}

void bench_flusher_wrote(struct bench_flusher *f, uint64_t bytes)
{
	atomic_store_explicit(&f->wrote, bytes, memory_order_relaxed);
}

void bench_flusher_stop(struct bench_flusher *f)
{
	if (f == NULL)
		return;
	atomic_store(&f->stop, true);
	pthread_join(f->thread, NULL);
	for (unsigned i = 0; i < f->nfiles; i++)
		close(f->file[i]);
	free(f);
}
