/* SPDX-License-Identifier: BSD-2-Clause */
/* Replay onto a folder of this host: each op does what it says, and none of them leaves the folder.
 */
#include "host.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "extkit/ctx.h"
#include "extkit/replay.h"
#include "trace/target.h"

static struct ek_ctx *ctx;
static char root[128];

/* An empty folder; SKIP leaves by longjmp, so it is made anew for each test. */
static void fresh_root(void)
{
	static int count;

	snprintf(root, sizeof(root), "%s/root%d", dir, ++count);
	CHECK_INT(mkdir(root, 0755), 0);
	ek_ctx_free(ctx);
	ctx = NULL;
	CHECK_INT(ek_ctx_new(&ctx), 0);
}

static int play_onto(const char *folder, const char *ops, unsigned flags)
{
	struct ek_replay_options opt = {.size = sizeof(opt), .flags = flags};
	char target[200];
	FILE *f = fopen(in_dir("t.wtr"), "w");

	CHECK(f != NULL);
	fprintf(f, "#wtrace 1\n%s", ops);
	CHECK_INT(fclose(f), 0);
	snprintf(target, sizeof(target), "dir:%s", folder);
	return ek_replay(ctx, in_dir("t.wtr"), target, &opt, NULL);
}

static void play(const char *ops)
{
	int rc;

	fresh_root();
	rc = play_onto(root, ops, 0);
	if (rc < 0)
		printf("# %s\n", ek_ctx_message(ctx));
	CHECK_INT(rc, 0);
}

static const char *under(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static struct stat stat_of(const char *name)
{
	struct stat st;

	CHECK_INT(lstat(under(name), &st), 0);
	return st;
}

static size_t slurp(const char *name, uint8_t *buf, size_t cap)
{
	FILE *f = fopen(under(name), "r");
	size_t n;

	CHECK(f != NULL);
	n = fread(buf, 1, cap, f);
	fclose(f);
	return n;
}

TEST(writes_hold_the_pattern_zeros_or_recorded_bytes)
{
	uint8_t buf[1000];

	play("%ops\n"
	     "1 1 open h1 /a w flags=creat mode=0640 new\n"
	     "2 1 write h1 0 300 data=c:00000000\n"
	     "3 1 write h1 300 10 data=z\n"
	     "4 1 write h1 310 3 data=x:616263\n"
	     "5 1 close h1\n");
	CHECK_INT(slurp("a", buf, sizeof(buf)), 313);
	for (unsigned i = 0; i < 300; i++)
		CHECK_INT(buf[i], i & 255);
	for (unsigned i = 300; i < 310; i++)
		CHECK_INT(buf[i], 0);
	CHECK(memcmp(buf + 310, "abc", 3) == 0);
	CHECK_INT(stat_of("a").st_mode & 07777, 0640);
}

TEST(a_write_larger_than_the_buffer_repeats_it)
{
	uint8_t *buf = malloc(3000000);

	play("%ops\n"
	     "1 1 open h1 /a w flags=creat\n"
	     "2 1 write h1 7 2500001\n");
	CHECK_INT(slurp("a", buf, 3000000), 2500008);
	for (unsigned i = 0; i < 2500001; i++)
		CHECK_INT(buf[7 + i], i & 255);
	free(buf);
}

static unsigned masked;

/* In place of libc's: a mask is the whole process's, and other threads make files. */
mode_t umask(mode_t mask)
{
	masked++;
	return (mode_t)syscall(SYS_umask, mask);
}

TEST(the_mask_is_the_traces_and_the_process_keeps_its_own)
{
	mode_t before = umask(077), after;
	char text[300];

	masked = 0;
	snprintf(text, sizeof(text),
		 "%%init manifest\n"
		 "f 0640 %u:%u 0 /old\n"
		 "%%ops\n"
		 "1 1 mkdir /d 0777\n"
		 "2 1 mknod /p 10666 0:0\n"
		 "3 1 open h1 /f w flags=creat mode=0666\n"
		 "4 1 open h2 /old w flags=creat mode=0666\n",
		 (unsigned)getuid(), (unsigned)getgid());
	play(text);
	CHECK_INT(masked, 0);
	after = umask(before);
	CHECK_INT(after, 077);
	CHECK_INT(stat_of("f").st_mode & 07777, 0644);
	CHECK_INT(stat_of("old").st_mode & 07777, 0640);
	CHECK_INT(stat_of("d").st_mode & 07777, 0755);
	CHECK(S_ISFIFO(stat_of("p").st_mode));
	CHECK_INT(stat_of("p").st_mode & 07777, 0644);
}

TEST(names_are_made_moved_and_removed)
{
	char target[100] = {0};

	play("%ops\n"
	     "1 1 mkdir /d 0755\n"
	     "2 1 open h1 /d/a w flags=creat,excl\n"
	     "3 1 link /d/a /b\n"
	     "4 1 symlink ../x%20y /d/s\n"
	     "5 1 rename /d/a /c\n"
	     "6 1 mkdir /gone 0755\n"
	     "7 1 rmdir /gone\n"
	     "8 1 link /c /e\n"
	     "9 1 unlink /e\n"
	     "10 1 rename /c /d exchange\n"
	     "11 1 open h2 /c r flags=directory\n"
	     "12 1 read h2 0 4096\n"
	     "13 1 fsync h2\n"
	     "14 1 open h3 /c rw flags=tmpfile mode=0600\n"
	     "15 1 write h3 0 10\n");
	CHECK_INT(stat_of("b").st_nlink, 2);
	CHECK_INT(stat_of("d").st_ino, stat_of("b").st_ino);
	CHECK(S_ISDIR(stat_of("c").st_mode));
	CHECK(readlink(under("c/s"), target, sizeof(target) - 1) > 0);
	CHECK_STR(target, "../x y");
	CHECK_INT(access(under("gone"), F_OK), -1);
	CHECK_INT(access(under("e"), F_OK), -1);
}

TEST(attributes_go_by_path_by_handle_and_to_links)
{
	char value[300];
	struct stat st;

	play("%ops\n"
	     "1 1 open h1 /a rw flags=creat\n"
	     "2 1 symlink a /s\n"
	     "3 1 chmod h1 0600\n"
	     "4 1 utimens /s 5.000000001 7.000000002 nofollow\n"
	     "5 1 utimens h1 omit 9.5\n"
	     "6 1 setxattr /s user.k 300\n"
	     "7 1 setxattr h1 user.l 3 data=x:616263\n"
	     "8 1 setxattr h1 user.m 1\n"
	     "9 1 removexattr /a user.m\n"
	     "10 1 truncate /s 77\n"
	     "11 1 chmod /s 0604\n");
	st = stat_of("a");
	CHECK_INT(st.st_mode & 07777, 0604);
	CHECK_INT(st.st_size, 77);
	CHECK_INT(getxattr(under("a"), "user.k", value, sizeof(value)), 300);
	CHECK_INT((uint8_t)value[299], 299 & 255);
	CHECK_INT(getxattr(under("a"), "user.l", value, sizeof(value)), 3);
	CHECK(memcmp(value, "abc", 3) == 0);
	CHECK_INT(getxattr(under("a"), "user.m", value, sizeof(value)), -1);
	st = stat_of("s");
	CHECK_INT(st.st_mtim.tv_sec, 7); /* its atime is that of the last time it was followed */
	CHECK_INT(st.st_mtim.tv_nsec, 2);
}

TEST(ranges_are_allocated_punched_and_shifted)
{
	uint8_t buf[20000];

	play("%ops\n"
	     "1 1 open h1 /a rw flags=creat\n"
	     "2 1 write h1 0 16384\n"
	     "3 1 falloc h1 punch 4096 4096\n"
	     "4 1 falloc h1 zero 12288 4096\n"
	     "5 1 falloc h1 alloc 16384 100\n"
	     "6 1 syncrange h1 0 0 wb,w,wa\n"
	     "7 1 fdatasync h1\n"
	     "8 1 fsync h1\n"
	     "9 1 sync\n"
	     "10 1 syncfs h1\n"
	     "11 1 advise h1 0 0 dontneed\n");
	CHECK_INT(slurp("a", buf, sizeof(buf)), 16484);
	CHECK_INT(buf[4095], 255);
	CHECK_INT(buf[4097], 0);
	CHECK_INT(buf[8193], 1);
	CHECK_INT(buf[12289], 0);
}

TEST(stores_change_the_file_as_far_as_it_reaches)
{
	static const char ops[] = "%ops\n"
				  "1 1 open h1 /a rw flags=creat\n"
				  "2 1 write h1 0 5000 data=z\n"
				  "3 1 mmap m1 h1 0 65536 rw shared\n"
				  "4 1 mwrite h1 4096 4096 via=fault\n"
				  "5 1 mwrite h1 40960 4096 via=fault\n"
				  "6 1 msync h1 0 8192 sync\n"
				  "7 1 munmap m1\n";
	uint8_t buf[6000];

	play(ops);
	CHECK_INT(slurp("a", buf, sizeof(buf)), 5000);
	CHECK_INT(buf[4095], 0);
	CHECK_INT(buf[4097], 1);
	fresh_root();
	CHECK_INT(play_onto(root, ops, EK_REPLAY_NO_STORES), 0);
	slurp("a", buf, sizeof(buf));
	CHECK_INT(buf[4097], 0);
}

TEST(copies_come_from_a_handle_or_from_outside)
{
	uint8_t buf[5000];

	play("%ops\n"
	     "1 1 open h1 /a rw flags=creat\n"
	     "2 1 write h1 0 1000 data=z\n"
	     "3 1 write h1 1000 1000\n"
	     "4 1 open h2 /b w flags=creat\n"
	     "5 1 copy h1 900 h2 100 9223372035781033984\n"
	     "6 1 copy h0 0 h2 1200 1000\n"
	     "7 1 clone h1 1000 h2 2200 10\n");
	CHECK_INT(slurp("b", buf, sizeof(buf)), 2210);
	CHECK_INT(buf[199], 0);
	CHECK_INT(buf[201], 1);
	CHECK_INT(buf[1201], 1);
	CHECK_INT(buf[2209], 9);
}

TEST(direct_writes_are_direct_on_any_handle)
{
	uint8_t buf[9000];
	int rc;

	fresh_root();
	rc = play_onto(root,
		       "%ops\n"
		       "1 1 open h1 /a w flags=creat\n"
		       "2 1 write h1 0 4096 direct\n"
		       "3 1 open h2 /a rw flags=direct,dsync\n"
		       "4 1 write h2 4096 4096 data=z\n"
		       "5 1 write h1 8192 10\n",
		       0);
	if (rc == -EINVAL)
		SKIP("no direct I/O here");
	CHECK_INT(rc, 0);
	CHECK_INT(slurp("a", buf, sizeof(buf)), 8202);
	CHECK_INT(buf[4095], 255);
	CHECK_INT(buf[4097], 0);
	CHECK_INT(buf[8201], 9);
}

TEST(initial_files_are_made_with_their_links_and_attributes)
{
	unsigned u = (unsigned)getuid(), g = (unsigned)getgid(); /* others may not be given files */
	uint8_t buf[1000];
	char text[500];

	snprintf(text, sizeof(text),
		 "%%init manifest\n"
		 "d 2751 %u:%u /d\n"
		 "f 0604 %u:%u 700 /d/a ino=9 mtime=3.5\n"
		 "f 0604 %u:%u 700 /b ino=9 mtime=3.5\n"
		 "l 0777 %u:%u /s target=/d/a\n"
		 "%%ops\n"
		 "1 1 open h1 /s rw\n"
		 "2 1 write h1 0 1 data=x:77\n",
		 u, g, u, g, u, g, u, g);
	play(text);
	CHECK_INT(slurp("d/a", buf, sizeof(buf)), 700);
	CHECK_INT(buf[0], 0x77);
	CHECK_INT(buf[699], 699 & 255);
	CHECK_INT(stat_of("b").st_nlink, 2);
	CHECK_INT(stat_of("b").st_mode & 07777, 0604);
	CHECK_INT(stat_of("d").st_mode & 07777, 02751);
}

TEST(nothing_outside_the_folder_is_reached_through_links)
{
	char text[2000];
	struct stat st;

	fresh_root();
	snprintf(text, sizeof(text),
		 "%%ops\n"
		 "1 1 symlink ../.. /up\n"
		 "2 1 symlink %s /abs\n"
		 "3 1 open h1 /up/escaped w flags=creat\n"
		 "4 1 mkdir /up/escaped-dir 0755\n"
		 "5 1 mkdir /abs/escaped-dir 0755\n"
		 "6 1 rename /abs /up/y\n"
		 "7 1 chmod / 0700\n"
		 "8 1 open h2 /up/up/up rw flags=tmpfile\n",
		 dir);
	CHECK_INT(play_onto(root, text, EK_REPLAY_LENIENT), 0);
	CHECK_INT(access(in_dir("escaped"), F_OK), -1);
	CHECK_INT(access(in_dir("escaped-dir"), F_OK), -1);
	CHECK_INT(access("/escaped-dir", F_OK), -1);
	CHECK(S_ISREG(stat_of("escaped").st_mode));
	CHECK(S_ISDIR(stat_of("escaped-dir").st_mode));
	CHECK(S_ISLNK(stat_of("y").st_mode));
	CHECK_INT(stat(root, &st), 0);
	CHECK_INT(st.st_mode & 07777, 0700);
}

/* The readers of traces refuse such paths; the target does not count on them. */
TEST(nothing_outside_the_folder_is_reached_by_dots)
{
	static const char *const paths[] = {"/../escaped", "/..", "/a/../../escaped",
					    "..",          "/",   ""};
	struct ek_replay_options opt = {.size = sizeof(opt)};
	struct target *t;
	struct op o;

	play("%ops\n1 1 mkdir /a 0755\n");
	CHECK_INT(target_open_folder(root, &opt, &diag, &t), 0);
	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		static const uint8_t codes[] = {OP_MKDIR, OP_CHMOD, OP_RMDIR, OP_UNLINK,
						OP_TRUNCATE};

		for (unsigned k = 0; k < sizeof(codes); k++) {
			op_clear(&o);
			o.code = codes[k];
			o.path = (struct op_str){paths[i], (uint32_t)strlen(paths[i])};
			o.mode = 0700;
			t->ops->op(t, &o);
		}
	}
	t->ops->close(t);
	CHECK_INT(access(in_dir("escaped"), F_OK), -1);
	CHECK(access(root, F_OK) == 0);
}

TEST(device_nodes_are_made_but_never_opened)
{
	if (geteuid() != 0)
		SKIP("not root");
	fresh_root();
	CHECK_INT(play_onto(root,
			    "%ops\n"
			    "1 1 mknod /full 20666 1:7\n"
			    "2 1 open h1 /full w\n"
			    "3 1 write h1 0 4\n",
			    EK_REPLAY_LENIENT),
		  0);
	CHECK_INT(stat_of("full").st_rdev, makedev(1, 7));
	/* A write that reached /dev/full would have ended the run with no space. */
}

TEST(an_op_on_a_handle_that_is_not_open_ends_the_run_unless_lenient)
{
	static const char ops[] = "%ops\n"
				  "1 1 write h9 0 10\n"
				  "2 1 mkdir /d 0755\n";

	fresh_root();
	CHECK_INT(play_onto(root, ops, 0), -EINVAL);
	CHECK(strstr(ek_ctx_message(ctx), "write: handle h9 is not open") != NULL);
	CHECK_INT(play_onto(root, ops, EK_REPLAY_LENIENT), 0);
	CHECK(S_ISDIR(stat_of("d").st_mode));
}

/* A fresh ext4 of 16 MiB, mounted; the mount goes away with the loop device's last user. */
static void mount_small(char loop[32])
{
	char command[600];

	if (geteuid() != 0)
		SKIP("not root");
	fresh_root();
	snprintf(command, sizeof(command),
		 "truncate -s 16M %s && mke2fs -q -F -t ext4 -b 4096 %s >/dev/null 2>&1",
		 in_dir("m.img"), in_dir("m.img"));
	if (system(command) != 0)
		SKIP("no mke2fs");
	if (attach_loop(in_dir("m.img"), loop) < 0)
		SKIP(tap_skip_reason);
	if (mount(loop, root, "ext4", 0, NULL) < 0)
		SKIP("no mounting here");
}

TEST(a_full_filesystem_stops_stores_and_writes_with_no_space)
{
	char loop[32];
	int full, store;

	mount_small(loop);
	full = play_onto(root,
			 "%ops\n"
			 "1 1 open h1 /a w flags=creat\n"
			 "2 1 write h1 0 100000000\n",
			 0);
	store = play_onto(root,
			  "%ops\n"
			  "1 1 open h1 /b rw flags=creat\n"
			  "2 1 ftruncate h1 1000000\n"
			  "3 1 mwrite h1 0 1000000 via=fault\n",
			  0);
	CHECK_INT(umount2(root, MNT_DETACH), 0);
	CHECK_INT(full, -ENOSPC);
	CHECK_INT(store, -ENOSPC);
	CHECK(strstr(ek_ctx_message(ctx), "mwrite h1") != NULL);
}

TEST(other_mounts_below_the_folder_are_not_entered)
{
	char loop[32], text[200], name[32], outer[128];
	int rc;

	mount_small(loop);
	snprintf(outer, sizeof(outer), "%s", dir);
	snprintf(name, sizeof(name), "%s", strrchr(root, '/') + 1);
	snprintf(text, sizeof(text), "%%ops\n1 1 mkdir /%s/in 0755\n", name);
	rc = play_onto(outer, text, EK_REPLAY_LENIENT);
	CHECK_INT(access(under("in"), F_OK), -1);
	CHECK_INT(umount2(root, MNT_DETACH), 0);
	CHECK_INT(rc, 0);
}

int main(void)
{
	int r = host_main();

	ek_ctx_free(ctx);
	return r;
}
