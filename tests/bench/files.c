/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 10,000 files of 4 KiB made in a new folder and synced, on an image here and, with the same calls,
 * on a loop mount of an equal image.  The sides take turns, and the median of five rounds counts;
 * neither's image or mount is made in that time.  Needs root for the kernel's half and says so
 * otherwise.
 *
 * Usage: files [FOLDER], where images are made (default TMPDIR or /tmp).  BENCH_NO_KERNEL=1 leaves
 * the kernel out, BENCH_KEEP=1 the images there.
 */
#include <dirent.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <extkit/replay.h>

#include "bench.h"
#include "trace/target.h"

#define IMAGE_MIB 4096u
#define FILES     10000u
#define ROUNDS    5u
#define BYTES     4096u

static char folder[256], image[300], peer[300], point[300];
static bool have_kernel;
static uint8_t payload[BYTES];

/* ---- processor time ---- */

/* Processor time of this process, and of the kernel's threads: writeback, journal, loop and the
 * workers of requests run there, for either side. */
static double thread_seconds(const char *pid)
{
	char path[300], line[512], *p;
	unsigned long long ns = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	p = strrchr(line, ')');
	if (p == NULL || strncmp(p + 3, " 2 ", 3) != 0) /* the parent of all kernel threads */
		return 0;
	snprintf(path, sizeof(path), "/proc/%s/schedstat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n > 0)
		ns = strtoull(line, NULL, 10);
	return (double)ns / 1e9;
}

static double cpu_seconds(void)
{
	double sum = seconds(CLOCK_PROCESS_CPUTIME_ID);
	DIR *d = opendir("/proc");

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			sum += thread_seconds(e->d_name);
	}
	if (d != NULL)
		closedir(d);
	return sum;
}

/* ---- the two sides ---- */

static struct target *target;
static uint64_t clock_ns;
static int mount_fd;
static char names[FILES][40]; /* below the mount, "/files-R/file-N" */

/* Neither side should pay for that. */
static void name_files(unsigned round)
{
	for (unsigned i = 0; i < FILES; i++)
		snprintf(names[i], sizeof(names[i]), "/files-%u/file-%u", round, i);
}

static void run(struct op *o)
{
	must(target->ops->tick(target, clock_ns), "tick");
	must(target->ops->op(target, o), "op");
}

static void simple_ours(enum op_code code)
{
	struct op o = {.code = (uint8_t)code, .handle = 1};

	run(&o);
}

static void mkdir_ours(unsigned round)
{
	struct op o = {.code = OP_MKDIR, .mode = 0755};
	char name[32];

	snprintf(name, sizeof(name), "/files-%u", round);
	o.path.p = name;
	o.path.n = (uint32_t)strlen(name);
	run(&o);
	simple_ours(OP_SYNC);
}

static void make_ours(unsigned i)
{
	static struct op create = {
	    .code = OP_OPEN, .handle = 1, .flags = OPF_WRITE | OPF_CREAT | OPF_MODE, .mode = 0644};
	static struct op fill = {.code = OP_WRITE,
				 .handle = 1,
				 .len = BYTES,
				 .data_kind = DATA_BLOB,
				 .data = {.bytes = payload, .n = BYTES}};

	clock_ns += 10000;
	create.path.p = names[i];
	create.path.n = (uint32_t)strlen(names[i]);
	run(&create);
	run(&fill);
	simple_ours(OP_CLOSE);
}

static void mkdir_kernel(unsigned round)
{
	char name[400];

	snprintf(name, sizeof(name), "files-%u", round);
	must(mkdirat(mount_fd, name, 0755), name);
	must(syncfs(mount_fd), "syncfs");
}

static void make_kernel(unsigned i)
{
	int fd = openat(mount_fd, names[i] + 1, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	must(fd, names[i]);
	must(write(fd, payload, BYTES) == BYTES ? 0 : -1, names[i]);
	close(fd);
}

/* ---- rounds ---- */

struct cost {
	double made, all, process, cpu; /* seconds: until the last close, and with the sync */
};

static struct cost cost_of_files(bool ours)
{
	double cpu = cpu_seconds(), process = seconds(CLOCK_PROCESS_CPUTIME_ID);
	double start = seconds(CLOCK_MONOTONIC);
	struct cost c;

	for (unsigned i = 0; i < FILES; i++) {
		if (ours)
			make_ours(i);
		else
			make_kernel(i);
	}
	c.made = seconds(CLOCK_MONOTONIC) - start;
	if (ours)
		simple_ours(OP_SYNC);
	else
		must(syncfs(mount_fd), "syncfs");
	c.all = seconds(CLOCK_MONOTONIC) - start;
	c.process = seconds(CLOCK_PROCESS_CPUTIME_ID) - process;
	c.cpu = cpu_seconds() - cpu;
	return c;
}

/* Each member's median over the rounds. */
static struct cost median_cost(const struct cost *c)
{
	struct cost ret;

	for (size_t m = 0; m < sizeof(ret) / sizeof(double); m++) {
		double v[ROUNDS];

		for (unsigned i = 0; i < ROUNDS; i++)
			v[i] = ((const double *)&c[i])[m];
		((double *)&ret)[m] = median(v, ROUNDS);
	}
	return ret;
}

/* Each round in a folder of its own, which is made and synced before; the sides take turns. */
static void bench_files(void)
{
	struct cost ours[ROUNDS], kernel[ROUNDS], a, b;

	for (unsigned r = 0; r < ROUNDS; r++) {
		name_files(r);
		mkdir_ours(r);
		ours[r] = cost_of_files(true);
		if (!have_kernel)
			continue;
		mkdir_kernel(r);
		kernel[r] = cost_of_files(false);
	}
	a = median_cost(ours);
	printf("%-22s %9.3f s (made in %.3f), CPU %.3f s (process %.3f)\n", "10,000 files and sync",
	       a.all, a.made, a.cpu, a.process);
	if (!have_kernel)
		return;
	b = median_cost(kernel);
	printf("%-22s %9.3f s (made in %.3f), CPU %.3f s (process %.3f)\n", "  kernel", b.all,
	       b.made, b.cpu, b.process);
	printf("%-22s %9.2f times, per CPU second %.2f (aim 3.0)\n", "", b.all / a.all,
	       b.cpu / a.cpu);
}

/* ---- set up ---- */

static void open_kernel(void)
{
	char line[1024];

	have_kernel = geteuid() == 0 && getenv("BENCH_NO_KERNEL") == NULL;
	if (!have_kernel) {
		printf("# the kernel's half needs root and is left out\n");
		return;
	}
	make_image(peer, IMAGE_MIB);
	must(mkdir(point, 0700), point);
	snprintf(line, sizeof(line), "mount -o loop %s %s", peer, point);
	must(system(line) == 0 ? 0 : -1, line);
	mount_fd = open(point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(mount_fd, point);
}

static void remove_files(void)
{
	if (have_kernel) {
		close(mount_fd);
		must(umount(point), point);
		rmdir(point);
	}
	if (getenv("BENCH_KEEP") != NULL)
		return;
	unlink(peer);
	unlink(image);
	rmdir(folder);
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
	for (unsigned i = 0; i < BYTES; i++)
		payload[i] = (uint8_t)(i * 7);
	make_image(image, IMAGE_MIB);
	open_kernel();
	warm_memory(1024);
	must(target_open_image(image, &opt, (struct ek_time){1700000000, 0}, 250, &diag, &target),
	     image);
	must(target->ops->begin(target), "begin");
	bench_files();
	must(target->ops->finish(target), "finish");
	target->ops->close(target);
	remove_files();
	return 0;
}
