/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 2 GiB written in 8 KiB calls and synced, then read in 64 KiB calls with nothing cached: to an
 * image file and to a loop device, through our path, through the kernel's ext4, and, to know what
 * the target gives at all, as large asynchronous direct transfers without any filesystem of ours.
 *
 * Usage: stream [FOLDER [MIB [ROUNDS]]].  Each round runs every case once; medians are shown.  Loop
 * devices need root; without it only the image file is measured, and the kernel is left out.
 */
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>

#ifdef HAVE_LIBURING
#include <liburing.h>
#endif

#include <extkit/replay.h>

#include "base/check.h"
#include "bench.h"
#include "trace/target.h"

#define CALL   8192u
#define READ   65536u
#define ROUNDS 9u
#define DEPTH  16u

enum side { OURS, KERNEL, RAW, SIDES };
enum way { WRITES, READS, WAYS };

static const char *const side_names[SIDES] = {"extkit", "kernel ext4", "raw direct, 1 MiB x 16"};

struct sample {
	double wall[ROUNDS], cpu[ROUNDS];
};

static const char *const way_names[WAYS] = {"write", "read"};

static uint8_t *payload;
static uint64_t total; /* bytes */

static double used_cpu(void)
{
	return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

/* ---- our path ---- */

static struct target *open_ours(const char *image, unsigned flags)
{
	struct ek_replay_options opt = {.size = sizeof(opt)};
	struct op open_op = {.code = OP_OPEN, .handle = 1, .flags = flags, .mode = 0644};
	struct target *t;

	must(target_open_image(image, &opt, (struct ek_time){1700000000, 0}, 250, &diag, &t),
	     image);
	must(t->ops->begin(t), "begin");
	open_op.path.p = "/data";
	open_op.path.n = 5;
	must(t->ops->op(t, &open_op), "open");
	return t;
}

static void close_ours(struct target *t)
{
	must(t->ops->finish(t), "finish");
	t->ops->close(t);
}

static void go_over(struct target *t, struct op *o)
{
	for (uint64_t ns = 5000; o->off < total; o->off += o->len, ns += 5000) {
		must(t->ops->tick(t, ns), "tick");
		must(t->ops->op(t, o), "transfer");
	}
}

static void write_ours(const char *image)
{
	struct op write_op = {.code = OP_WRITE, .handle = 1, .data_kind = DATA_BLOB, .len = CALL};
	struct op sync_op = {.code = OP_SYNC};
	struct target *t = open_ours(image, OPF_WRITE | OPF_CREAT | OPF_MODE);

	write_op.data.bytes = payload;
	write_op.data.n = CALL;
	go_over(t, &write_op);
	must(t->ops->op(t, &sync_op), "sync");
	close_ours(t);
}

static void read_ours(const char *image)
{
	struct op read_op = {.code = OP_READ, .handle = 1, .len = READ};
	struct target *t = open_ours(image, OPF_READ);

	go_over(t, &read_op);
	close_ours(t);
}

/* ---- the kernel's ---- */

static void write_kernel(const char *point)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/data", point);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(fd, path);
	for (uint64_t at = 0; at < total; at += CALL)
		must(pwrite(fd, payload, CALL, (off_t)at) == CALL ? 0 : -1, path);
	must(syncfs(fd), path);
	close(fd);
}

static void read_kernel(const char *point)
{
	static uint8_t to[READ];
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/data", point);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd, path);
	for (uint64_t at = 0; at < total; at += READ)
		must(pread(fd, to, READ, (off_t)at) == READ ? 0 : -1, path);
	close(fd);
}

/* ---- the target alone ---- */

#ifdef HAVE_LIBURING

static void reap(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	must(io_uring_wait_cqe(ring, &cqe), "io_uring");
	must(cqe->res == (int)MIB ? 0 : -1, "raw transfer");
	io_uring_cqe_seen(ring, cqe);
}

static void run_raw(const char *path, bool writes)
{
	uint8_t *buf = aligned_alloc(4096, MIB);
	int fd = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	struct io_uring ring;
	uint64_t at = 0;
	unsigned busy = 0;

	must(fd, path);
	must(buf == NULL ? -1 : 0, "memory");
	memset(buf, 7, MIB);
	must(io_uring_queue_init(DEPTH, &ring, 0), "io_uring");
	while (at < total || busy != 0) {
		while (at < total && busy < DEPTH) {
			if (writes)
				io_uring_prep_write(io_uring_get_sqe(&ring), fd, buf, MIB, at);
			else
				io_uring_prep_read(io_uring_get_sqe(&ring), fd, buf, MIB, at);
			io_uring_submit(&ring);
			at += MIB;
			busy++;
		}
		reap(&ring);
		busy--;
	}
	must(fdatasync(fd), path);
	io_uring_queue_exit(&ring);
	close(fd);
	free(buf);
}

#else

static void run_raw(const char *path, bool writes)
{
	fprintf(stderr, "%s: raw %s need liburing\n", path, writes ? "writes" : "reads");
	exit(1);
}

#endif

static void write_raw(const char *path)
{
	run_raw(path, true);
}

static void read_raw(const char *path)
{
	run_raw(path, false);
}

/* ---- rounds ---- */

/* stdio over a command: its first line of output without the newline. */
static void first_line(const char *command, char *line, int size)
{
	FILE *f = popen(command, "r");

	must(f == NULL || fgets(line, size, f) == NULL ? -1 : 0, command);
	line[strcspn(line, "\n")] = 0;
	must(pclose(f) == 0 ? 0 : -1, command);
}

static void attach(const char *file, char *loop, int size)
{
	char command[600];

	snprintf(command, sizeof(command), "losetup --find --show --direct-io=on %s", file);
	first_line(command, loop, size);
}

static void detach(const char *loop)
{
	char command[600];

	snprintf(command, sizeof(command), "losetup --detach %s", loop);
	must(system(command) == 0 ? 0 : -1, command);
}

static void timed(struct sample *s, unsigned round, void (*run)(const char *), const char *arg)
{
	double wall, cpu;

	warm_memory(total / MIB + 512);
	cpu = used_cpu();
	wall = seconds(CLOCK_MONOTONIC);
	run(arg);
	s->wall[round] = seconds(CLOCK_MONOTONIC) - wall;
	s->cpu[round] = used_cpu() - cpu;
}

typedef void run_fn(const char *arg);

static run_fn *const runs[SIDES][WAYS] = {
    [OURS] = {write_ours, read_ours},
    [KERNEL] = {write_kernel, read_kernel},
    [RAW] = {write_raw, read_raw},
};

static void on_file(const char *folder, struct sample s[WAYS][SIDES], unsigned round)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/image", folder);
	for (unsigned side = 0; side < SIDES; side++) {
		if (side == KERNEL)
			continue;
		make_image(path, total / MIB * 2); /* the raw writes fill holes too */
		for (unsigned way = 0; way < WAYS; way++)
			timed(&s[way][side], round, runs[side][way], path);
		unlink(path);
	}
}

/* A mount of its own for each way: nothing is cached. */
static void mounted(struct sample *s, unsigned round, const char *folder, const char *loop,
		    run_fn *run)
{
	char point[300];

	snprintf(point, sizeof(point), "%s/mnt", folder);
	must(mkdir(point, 0700) < 0 && errno != EEXIST ? -1 : 0, point);
	must(mount(loop, point, "ext4", 0, NULL), point);
	timed(s, round, run, point);
	must(umount(point), point);
	rmdir(point);
}

static void on_loop(const char *folder, struct sample s[WAYS][SIDES], unsigned round)
{
	char path[300], loop[64];

	for (unsigned side = 0; side < SIDES; side++) {
		snprintf(path, sizeof(path), "%s/peer", folder);
		make_image(path, total / MIB * 2);
		attach(path, loop, sizeof(loop));
		for (unsigned way = 0; way < WAYS; way++) {
			if (side == KERNEL)
				mounted(&s[way][side], round, folder, loop, runs[side][way]);
			else
				timed(&s[way][side], round, runs[side][way], loop);
		}
		detach(loop);
		unlink(path);
	}
}

static void show(const char *target, enum way way, struct sample s[SIDES], double kernel,
		 unsigned rounds)
{
	double wall[SIDES];

	for (unsigned i = 0; i < SIDES; i++) {
		if (s[i].wall[0] <= 0)
			continue;
		wall[i] = median(s[i].wall, rounds);
		printf("%-5s %-5s %-24s %7.3f s (%.3f to %.3f), CPU %.3f s\n", target,
		       way_names[way], side_names[i], wall[i], s[i].wall[0], s[i].wall[rounds - 1],
		       median(s[i].cpu, rounds));
	}
	printf("%-5s %-5s %.0f %% of raw (aim %d)", target, way_names[way],
	       100 * wall[RAW] / wall[OURS], way == WRITES ? 85 : 90);
	if (kernel > 0)
		printf(", %.2f times the kernel (aim 1.0)", kernel / wall[OURS]);
	printf("\n");
}

int main(int argc, char **argv)
{
	static struct sample file[WAYS][SIDES], loop[WAYS][SIDES];
	const char *tmp = argc > 1 ? argv[1] : getenv("TMPDIR");
	unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 3;
	char folder[256];

	total = (argc > 2 ? strtoull(argv[2], NULL, 10) : 2048) * MIB;
	rounds = MIN(MAX(rounds, 1u), ROUNDS);
	snprintf(folder, sizeof(folder), "%s/extkit-bench-XXXXXX", tmp != NULL ? tmp : "/tmp");
	must(mkdtemp(folder) == NULL ? -1 : 0, folder);
	payload = aligned_alloc(4096, CALL);
	must(payload == NULL ? -1 : 0, "memory");
	for (unsigned i = 0; i < CALL; i++)
		payload[i] = (uint8_t)(i * 7);
	for (unsigned i = 0; i < rounds; i++) {
		on_file(folder, file, i);
		if (geteuid() == 0)
			on_loop(folder, loop, i);
	}
	for (unsigned way = 0; way < WAYS; way++) {
		double kernel = geteuid() == 0 ? median(loop[way][KERNEL].wall, rounds) : 0;

		show("file", way, file[way], kernel, rounds);
		if (geteuid() == 0)
			show("loop", way, loop[way], kernel, rounds);
	}
	if (geteuid() != 0)
		printf("loop needs root and is left out, the kernel too\n");
	rmdir(folder);
	free(payload);
	return 0;
}
