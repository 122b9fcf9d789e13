/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Busy checks read four lists of the kernel: mounts, swap areas, holders of a block device, and
 * loop devices with their files.  Things are compared by device and inode number, never by name;
 * names in the lists are only looked up to get at those numbers.
 */
#include "io/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/escape.h"
#include "base/str.h"

/* Whether path leads to what st describes. */
static bool same_thing(const char *path, const struct stat *st)
{
	struct stat other;

	if (stat(path, &other) < 0)
		return false;
	if (S_ISBLK(st->st_mode))
		return S_ISBLK(other.st_mode) && other.st_rdev == st->st_rdev;
	return other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Undoes the octal escapes (\040) of the kernel's lists, in place. */
static char *unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p != '\0'; to++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
		    p[3] >= '0' && p[3] <= '7') {
			*to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			*to = *p++;
		}
	}
	*to = '\0';
	return text;
}

/* Whether the block device major:minor is disk's partition. */
static bool is_part_of(unsigned major_nr, unsigned minor_nr, dev_t disk)
{
	char path[80];
	unsigned a, b;
	bool found;
	FILE *in;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major_nr, minor_nr);
	if (access(path, F_OK) < 0)
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", major_nr, minor_nr);
	in = fopen(path, "re");
	if (in == NULL)
		return false;
	found = fscanf(in, "%u:%u", &a, &b) == 2 && makedev(a, b) == disk;
	fclose(in);
	return found;
}

/* One line of mountinfo: "id parent major:minor root where options [tags] - type source options".
 */
static bool line_is_mount(char *line, const struct stat *st, char **where)
{
	unsigned major_nr, minor_nr;
	char *save, *source, *word = strstr(line, " - ");

	if (word == NULL || sscanf(line, "%*d %*d %u:%u", &major_nr, &minor_nr) != 2)
		return false;
	source = NULL;
	if (strtok_r(word + 3, " \n", &save) != NULL)
		source = strtok_r(NULL, " \n", &save);
	*word = '\0';
	word = strtok_r(line, " ", &save);
	for (int i = 0; i < 4 && word != NULL; i++)
		word = strtok_r(NULL, " ", &save);
	if (word == NULL)
		return false;
	*where = unescape(word);
	if (S_ISBLK(st->st_mode) && (makedev(major_nr, minor_nr) == st->st_rdev ||
				     is_part_of(major_nr, minor_nr, st->st_rdev)))
		return true;
	/* File systems that count as no device of their own (btrfs, erofs on a file) name a path.
	 */
	return major_nr == 0 && source != NULL && source[0] == '/' && source[1] != '/' &&
	       same_thing(unescape(source), st);
}

/* Shows what as text, followed by a name of the host. */
static int found(struct str *why, const char *what, const char *name)
{
	str_adds(why, what);
	escape_add(why, name, strlen(name));
	return 1;
}

static int busy_mount(const struct stat *st, struct str *why)
{
	FILE *in = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *where;
	size_t cap = 0;
	int busy = 0;

	if (in == NULL)
		return 0;
	while (!busy && getline(&line, &cap, in) > 0) {
		if (line_is_mount(line, st, &where))
			busy = found(why, "mounted on ", where);
	}
	free(line);
	fclose(in);
	return busy;
}

static int busy_swap(const struct stat *st, struct str *why)
{
	FILE *in = fopen("/proc/swaps", "re");
	char *line = NULL;
	size_t cap = 0;
	int busy = 0;

	if (in == NULL)
		return 0;
	while (!busy && getline(&line, &cap, in) > 0) {
		line[strcspn(line, " \t\n")] = '\0';
		if (line[0] == '/' && same_thing(unescape(line), st))
			busy = found(why, "used as swap space", "");
	}
	free(line);
	fclose(in);
	return busy;
}

static int busy_holder(const struct stat *st, struct str *why)
{
	char path[80];
	const struct dirent *e;
	int busy = 0;
	DIR *dir;

	if (!S_ISBLK(st->st_mode))
		return 0;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major(st->st_rdev),
		 minor(st->st_rdev));
	dir = opendir(path);
	if (dir == NULL)
		return 0;
	while (!busy && (e = readdir(dir)) != NULL) {
		if (e->d_name[0] != '.')
			busy = found(why, "part of /dev/", e->d_name);
	}
	closedir(dir);
	return busy;
}

/* Whether the loop device's file is the one st describes: by the kernel's numbers if the device can
 * be opened, else by the name it reports, which may belong to another mount namespace. */
static bool loop_has(const char *loop, const struct stat *st)
{
	char path[512] = "", file[4096] = "";
	struct loop_info64 info;
	bool found = false;
	FILE *in;
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", loop);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		found = ioctl(fd, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == st->st_dev &&
			info.lo_inode == st->st_ino;
		close(fd);
	}
	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", loop);
	in = found ? NULL : fopen(path, "re");
	if (in == NULL)
		return found;
	if (fgets(file, sizeof(file), in) != NULL) {
		file[strcspn(file, "\n")] = '\0';
		found = same_thing(file, st);
	}
	fclose(in);
	return found;
}

/* "loop7": other names that begin so are partitions and "loop-control". */
static bool is_loop_name(const char *name)
{
	return strncmp(name, "loop", 4) == 0 && name[4] != '\0' &&
	       name[4 + strspn(name + 4, "0123456789")] == '\0';
}

/* Where /sys is missing, as in a bare chroot, the device nodes are the list. */
static int busy_loop(const struct stat *st, struct str *why)
{
	const struct dirent *e;
	int busy = 0;
	DIR *dir;

	if (!S_ISREG(st->st_mode))
		return 0;
	dir = opendir("/sys/block");
	if (dir == NULL)
		dir = opendir("/dev");
	if (dir == NULL)
		return 0;
	while (!busy && (e = readdir(dir)) != NULL) {
		if (is_loop_name(e->d_name) && loop_has(e->d_name, st))
			busy = found(why, "the backing file of /dev/", e->d_name);
	}
	closedir(dir);
	return busy;
}

int guard_busy(const struct stat *st, struct str *why)
{
	static int (*const ask[])(const struct stat *, struct str *) = {busy_mount, busy_swap,
									busy_holder, busy_loop};

	for (size_t i = 0; i < sizeof(ask) / sizeof(ask[0]); i++) {
		if (ask[i](st, why))
			return 1;
	}
	return 0;
}

int guard_lock(int fd, const char *name, struct diag *d)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES))
		return 0;
	if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
		return diag_set(d, -EBUSY, "cannot write %s: locked by process %d", name,
				(int)lock.l_pid);
	return diag_set(d, -EBUSY, "cannot write %s: another program has it open for writing",
			name);
}
