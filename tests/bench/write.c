/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes through our path and through the kernel's, side by side in one run: the same calls on an
 * image file here, and as system calls on a loop mount of an equal image.  Needs root for the
 * kernel's half and says so otherwise.
 *
 * Usage: write [FOLDER], where images are made (default TMPDIR or /tmp).
 * BENCH_ONLY=cached|memcpy runs one case, BENCH_NO_KERNEL=1 leaves the kernel out.
 */
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <extkit/replay.h>

#include "base/check.h"
#include "bench.h"
#include "trace/target.h"

#define IMAGE_MIB  4096u
#define CACHED_MIB 64u
#define ROUNDS     5u /* in turns; medians count */

static char folder[256], image[300], peer[300], point[300];
static bool have_kernel;

/* ---- the two sides ---- */

static struct target *target;
static int kernel_fd = -1;
static uint8_t *payload;
static uint64_t clock_ns;

static void run(struct op *o)
{
	must(target->ops->tick(target, clock_ns), "tick");
	must(target->ops->op(target, o), "op");
}

static void open_ours(const char *path, uint32_t handle)
{
	struct op o = {.code = OP_OPEN,
		       .handle = handle,
		       .flags = OPF_WRITE | OPF_CREAT | OPF_MODE,
		       .mode = 0644};

	o.path.p = path;
	o.path.n = (uint32_t)strlen(path);
	run(&o);
}

static void write_ours(uint64_t off, uint64_t len)
{
	/* A source of ops fills the same struct again and again. */
	static struct op o = {.code = OP_WRITE, .handle = 1, .data_kind = DATA_BLOB};

	o.off = off;
	o.len = len;
	o.data.bytes = payload;
	o.data.n = (uint32_t)len;
	run(&o);
}

static void write_kernel(uint64_t off, uint64_t len)
{
	if (pwrite(kernel_fd, payload, len, (off_t)off) != (ssize_t)len)
		must(-1, "pwrite");
}

/* ---- cached overwrites ---- */

struct mix {
	const char *name;
	uint64_t len;
	bool random;
	double least; /* times the kernel's rate */
};

static double rate(void (*write_one)(uint64_t, uint64_t), const struct mix *mix, double *cpu)
{
	uint64_t slots = (uint64_t)CACHED_MIB * MIB / mix->len, state = 1, n = 0;
	double start = seconds(CLOCK_MONOTONIC), cpu0 = seconds(CLOCK_PROCESS_CPUTIME_ID), t;

	do {
		for (unsigned i = 0; i < 1024; i++, n++) {
			uint64_t slot = n;

			if (mix->random) {
				state = state * 6364136223846793005u + 1442695040888963407u;
				slot = state >> 33;
			}
			write_one(slot % slots * mix->len, mix->len);
		}
		t = seconds(CLOCK_MONOTONIC) - start;
	} while (t < 0.4);
	*cpu = (double)n / (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu0);
	return (double)n / t;
}

static void bench_cached(void)
{
	static const struct mix mixes[] = {
	    {"256 B sequential", 256, false, 20},     {"256 B random", 256, true, 20},
	    {"4 KiB sequential", 4096, false, 5},     {"4 KiB random", 4096, true, 15},
	    {"64 KiB sequential", 65536, false, 1.5}, {"1 MiB sequential", MIB, false, 1.1},
	};

	for (uint64_t at = 0; at < (uint64_t)CACHED_MIB * MIB; at += MIB) {
		write_ours(at, MIB);
		if (have_kernel)
			write_kernel(at, MIB);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(mixes); i++) {
		double rates[4][ROUNDS], ours, kernel, cpu, kcpu;

		for (unsigned r = 0; r < ROUNDS; r++) {
			rates[0][r] = rate(write_ours, &mixes[i], &rates[1][r]);
			if (!have_kernel)
				continue;
			rates[2][r] = rate(write_kernel, &mixes[i], &rates[3][r]);
			/* Its writeback must not run beside our next turn. */
			must(syncfs(kernel_fd), "syncfs");
		}
		ours = median(rates[0], ROUNDS);
		cpu = median(rates[1], ROUNDS);
		kernel = have_kernel ? median(rates[2], ROUNDS) : 0;
		kcpu = have_kernel ? median(rates[3], ROUNDS) : 0;
		printf("%-22s %9.1f ns %8.2f GB/s", mixes[i].name, 1e9 / ours,
		       ours * (double)mixes[i].len / 1e9);
		if (have_kernel)
			printf("   kernel %9.1f ns   %6.2f times, per CPU second %6.2f (aim %.1f)",
			       1e9 / kernel, ours / kernel, cpu / kcpu, mixes[i].least);
		printf("\n");
	}
}

static void bench_memcpy(void)
{
	uint8_t *to = aligned_alloc(2 * MIB, (size_t)CACHED_MIB * MIB);
	double start, t;
	uint64_t n = 0;

	must(to == NULL ? -1 : 0, "memory");
	memset(to, 1, (size_t)CACHED_MIB * MIB);
	start = seconds(CLOCK_MONOTONIC);
	do {
		memcpy(to + n % CACHED_MIB * MIB, payload, MIB);
		__asm__ volatile("" ::: "memory");
		n++;
		t = seconds(CLOCK_MONOTONIC) - start;
	} while (t < 1.0);
	printf("%-22s %9.1f ns %8.2f GB/s\n", "memcpy of 1 MiB", t / (double)n * 1e9,
	       (double)n * MIB / t / 1e9);
	free(to);
}

/* ---- set up ---- */

static void open_kernel(void)
{
	char path[400], line[1024];

	have_kernel = geteuid() == 0 && getenv("BENCH_NO_KERNEL") == NULL;
	if (!have_kernel) {
		printf("# the kernel's half needs root and is left out\n");
		return;
	}
	make_image(peer, IMAGE_MIB);
	must(mkdir(point, 0700) < 0 && errno != EEXIST ? -1 : 0, point);
	snprintf(line, sizeof(line), "mount -o loop %s %s", peer, point);
	must(system(line) == 0 ? 0 : -1, line);
	snprintf(path, sizeof(path), "%s/data", point);
	kernel_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	must(kernel_fd, path);
}

static void close_kernel(void)
{
	if (!have_kernel)
		return;
	close(kernel_fd);
	must(umount(point), point);
	rmdir(point);
	unlink(peer);
}

static bool wanted(const char *name)
{
	const char *only = getenv("BENCH_ONLY");

	return only == NULL || strcmp(only, name) == 0;
}

int main(int argc, char **argv)
{
	struct ek_replay_options opt = {.size = sizeof(opt)};
	const char *tmp = argc > 1 ? argv[1] : getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/extkit-bench-XXXXXX", tmp != NULL ? tmp : "/tmp");
	must(mkdtemp(folder) == NULL ? -1 : 0, folder);
	snprintf(image, sizeof(image), "%s/image", folder);
	snprintf(peer, sizeof(peer), "%s/peer", folder);
	snprintf(point, sizeof(point), "%s/mnt", folder);
	payload = aligned_alloc(4096, MIB);
	must(payload == NULL ? -1 : 0, "memory");
	for (unsigned i = 0; i < MIB; i++)
		payload[i] = (uint8_t)(i * 7);
	warm_memory(2 * CACHED_MIB + 256);
	make_image(image, IMAGE_MIB);
	open_kernel();
	must(target_open_image(image, &opt, (struct ek_time){1700000000, 0}, 250, &diag, &target),
	     image);
	must(target->ops->begin(target), "begin");
	open_ours("/data", 1);
	if (wanted("cached"))
		bench_cached();
	if (wanted("memcpy"))
		bench_memcpy();
	must(target->ops->finish(target), "finish");
	target->ops->close(target);
	close_kernel();
	if (getenv("BENCH_KEEP") == NULL) {
		unlink(image);
		rmdir(folder);
	}
	free(payload);
	return 0;
}
