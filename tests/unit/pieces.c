/* SPDX-License-Identifier: BSD-2-Clause */
/* Contents on their way to a new image: what was added is there, whoever writes it. */
#include "tree/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io/dev.h"
#include "io/past_cache.h"
#include "tap.h"
#include "tree/target.h"

static char path[64];

static void open_target(struct tree_target *t, struct diag *d, struct tree_pieces **p)
{
	struct ek_create_options opt = {.size = sizeof(opt)};

	*d = (struct diag){0};
	snprintf(path, sizeof(path), "/tmp/extkit-pieces-%d.img", (int)getpid());
	unlink(path);
	CHECK_INT(tree_target_open(path, &opt, 0, d, t), 0);
	CHECK_INT(tree_pieces_open(t, p), 0);
}

static void close_target(struct tree_target *t, struct tree_pieces *p)
{
	tree_pieces_close(p);
	tree_target_close(t);
}

/* len bytes of the letter c at off. */
static int add(struct tree_pieces *p, uint64_t off, size_t len, int c)
{
	uint8_t *to;
	int rc = 0;

	while (len > 0 && rc == 0) {
		size_t n = len;

		rc = tree_pieces_room(p, off, &n, &to);
		if (rc == 0) {
			memset(to, c, n);
			tree_pieces_add(p, n);
			off += n;
			len -= n;
		}
	}
	return rc;
}

static bool holds(struct dev *dev, uint64_t off, size_t len, int c)
{
	uint8_t *bytes = malloc(len);
	bool same = dev_read(dev, off, bytes, len) == 0;

	for (size_t i = 0; i < len && same; i++)
		same = bytes[i] == c;
	free(bytes);
	return same;
}

TEST(neighbours_and_far_places_hold_what_was_added)
{
	struct tree_target t;
	struct tree_pieces *p;
	struct diag d;

	open_target(&t, &d, &p);
	for (unsigned i = 0; i < 5000; i++)
		CHECK_INT(add(p, (uint64_t)i * 4096, 4096, 'a' + (int)(i % 26)), 0);
	tree_pieces_past_cache(p);
	CHECK_INT(add(p, (uint64_t)1 << 31, 7 * TREE_PIECE / 2, 'X'), 0);
	CHECK_INT(tree_pieces_settle(p), 0);
	CHECK_INT(tree_pieces_out(p), 5000 * 4096 + 7 * TREE_PIECE / 2);
	for (unsigned i = 0; i < 5000; i++)
		CHECK(holds(t.dev, (uint64_t)i * 4096, 4096, 'a' + (int)(i % 26)));
	CHECK(holds(t.dev, (uint64_t)1 << 31, 7 * TREE_PIECE / 2, 'X'));
	close_target(&t, p);
}

TEST(more_follows_behind_what_was_settled)
{
	struct tree_target t;
	struct tree_pieces *p;
	struct diag d;

	open_target(&t, &d, &p);
	CHECK_INT(add(p, 0, 1000, 'a'), 0);
	CHECK_INT(tree_pieces_settle(p), 0);
	CHECK_INT(tree_pieces_settle(p), 0);
	CHECK_INT(add(p, 1000, 1000, 'b'), 0);
	CHECK_INT(tree_pieces_settle(p), 0);
	CHECK(holds(t.dev, 0, 1000, 'a'));
	CHECK(holds(t.dev, 1000, 1000, 'b'));
	close_target(&t, p);
}

TEST(what_cannot_be_written_is_told_with_its_place_and_stays_an_error)
{
	struct rlimit most = {8u << 20, RLIM_INFINITY}, before;
	struct tree_target t;
	struct tree_pieces *p;
	struct diag d;
	int rc = 0;

	open_target(&t, &d, &p);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &most), 0);
	for (unsigned i = 0; i < 64 && rc == 0; i++)
		rc = add(p, (uint64_t)i * TREE_PIECE, TREE_PIECE, 'a');
	if (rc == 0)
		rc = tree_pieces_settle(p);
	CHECK_INT(rc, -EFBIG);
	CHECK_INT(tree_pieces_settle(p), -EFBIG);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
	CHECK_INT(d.code, -EFBIG);
	CHECK(strstr(d.text, "cannot resize") != NULL);
	close_target(&t, p);
}

TEST(pieces_that_nobody_settles_leave_nothing_behind)
{
	struct tree_target t;
	struct tree_pieces *p;
	struct diag d;

	open_target(&t, &d, &p);
	for (unsigned i = 0; i < 20; i++)
		CHECK_INT(add(p, (uint64_t)i * TREE_PIECE, TREE_PIECE, 'a'), 0);
	close_target(&t, p);
	CHECK_INT(access(path, F_OK), -1);
}

TEST(a_file_that_cannot_pass_by_the_cache_is_moved_all_the_same)
{
	char in[5] = "";
	struct iovec out = {(char[]){"tree"}, 4}, back = {in, 4};
	bool past = true;
	int pipes[2];

	CHECK_INT(pipe(pipes), 0);
	CHECK_INT(past_cache_move(pipes[1], true, &out, 1, -1, &past), -1);
	CHECK(!past);
	close(pipes[0]);
	close(pipes[1]);
	past = true;
	pipes[0] = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
	if (pipes[0] < 0) {
		SKIP("no file without a name in /dev/shm");
		return;
	}
	CHECK_INT(past_cache_move(pipes[0], true, &out, 1, 0, &past), 4);
	CHECK_INT(past_cache_move(pipes[0], false, &back, 1, 0, &past), 4);
	CHECK_STR(in, "tree");
	close(pipes[0]);
}

int main(void)
{
	return tap_main();
}
