/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The power goes at any moment of a day's work on an image: what comes back is the tree after one
 * of its steps, not before the last one that was synced, and every block and inode is accounted
 * for.
 */
#include "fs_small_day.h"

#include "io/recorder.h"

/* What an empty image uses: the same in every later state, whatever files take. */
struct base {
	uint64_t blocks, inodes;
};

static struct scenario sc;
static struct base base;
static unsigned sync_every;
static bool apart;        /* values lie in inodes, which the walk does not see: e2fsck counts */
static uint64_t restarts; /* of handles, in the run that was recorded */

static bool slow(void)
{
	return getenv("EXTKIT_SLOW") != NULL;
}

static void account(struct ek_image *img, const struct walk *w, struct base *ret)
{
	const struct geom *g = &img->geom;
	uint64_t files =
	    (w->sectors << 9 >> g->block_bits) + (img->groups.space.free << g->cluster_bits);

	ret->blocks = g->blocks - files;
	ret->inodes = g->inodes - img->groups.free_inodes - w->inodes;
}

static int sync_and_mark(struct scenario *s, void *ctx)
{
	int rc;

	if (s->steps % sync_every != 0)
		return 0;
	rc = image_sync(&s->t);
	return rc < 0 ? rc : recorder_mark(ctx, s->steps);
}

static bool in_model(uint64_t digest, uint64_t from)
{
	for (uint64_t k = from; k <= sc.steps; k++) {
		if (sc.model[k] == digest)
			return true;
	}
	return false;
}

static void say(const struct state *st, const char *what, const char *text)
{
	TAP_FAIL("%s: %s (epoch %llu, %s, %zu writes, step %llu)", what, text,
		 (unsigned long long)st->epoch, st->how, st->writes,
		 (unsigned long long)st->last_mark);
}

/* The state, recovered by a writer, or seen by a reader. */
static void check_open(struct dev *dev, unsigned flags, const struct state *st)
{
	struct diag d = {0};
	struct ek_image *img;
	struct base now;
	struct walk w;

	if (fs_open(dev, flags, &d, &img) < 0)
		say(st, "not opened", d.text);
	walk_tree(img, &w);
	account(img, &w, &now);
	if (w.errors != 0)
		say(st, "damaged", w.first);
	if (!in_model(w.digest, st->last_mark))
		say(st, "no tree of any step", flags != 0 ? "for a writer" : "for a reader");
	if (flags != 0 && !apart && (now.blocks != base.blocks || now.inodes != base.inodes)) {
		printf("# %llu blocks and %llu inodes, expected %llu and %llu\n",
		       (unsigned long long)now.blocks, (unsigned long long)now.inodes,
		       (unsigned long long)base.blocks, (unsigned long long)base.inodes);
		say(st, "lost or doubly used", "blocks or inodes");
	}
	if (image_close(img) < 0)
		say(st, "not closed", "");
}

/* The power goes again while the state is being recovered. */
static void cut_recovery(struct dev *dev, const struct state *st)
{
	struct states_opts o = {.seed = 2, .full = 1, .random = 2};
	struct dev *copy, *recorder, *again;
	struct states *inner;
	struct ek_image *img;
	struct diag d = {0};
	struct state s;
	int rc;

	fs_copy(dev, &copy);
	CHECK_INT(recorder_open(copy, &recorder), 0);
	CHECK_INT(fs_open(recorder, IMAGE_WRITE, &d, &img), 0);
	CHECK_INT(image_close(img), 0);
	CHECK_INT(states_open(recorder, &o, &inner), 0);
	while ((rc = states_next(inner, &again, &s)) == 1)
		check_open(again, IMAGE_WRITE, st);
	CHECK_INT(rc, 0);
	states_close(inner);
	dev_close(recorder);
	dev_close(copy);
}

static void check_state(struct dev *dev, const struct state *st, unsigned n)
{
	unsigned sample = apart ? 15 : slow() ? 50 : 150;

	if (n % 8 == 0)
		check_open(dev, 0, st);
	if (n % (slow() ? 60 : 200) == 1)
		cut_recovery(dev, st);
	check_open(dev, IMAGE_WRITE, st);
	if (n % sample == 0 && have_e2fsck() && fs_e2fsck(dev) != 0)
		say(st, "e2fsck is not content", "");
}

static void record(struct dev *dev, struct dev **ret)
{
	struct diag d = {0};
	struct ek_image *img;
	struct walk w;
	int rc;

	CHECK_INT(fs_open(dev, IMAGE_WRITE, &d, &img), 0);
	walk_tree(img, &w);
	account(img, &w, &base);
	CHECK_INT(image_close(img), 0);
	CHECK_INT(recorder_open(dev, ret), 0);
	CHECK_INT(fs_open(*ret, IMAGE_WRITE, &d, &img), 0);
	sc.after = sync_and_mark;
	sc.ctx = *ret;
	rc = sc_run(&sc, img);
	if (rc < 0)
		TAP_FAIL("step %u: %d: %s", sc.steps + 1, rc, img->diag.text);
	restarts = img->counters.v[COUNTER_HANDLE_RESTART];
	rc = image_close(img);
	CHECK_INT(rc, 0);
	CHECK_INT(recorder_mark(*ret, sc.steps), 0);
}

static void cut_everywhere(const struct shape *shape, unsigned every, unsigned stride)
{
	struct states_opts o = {.seed = 1, .full = slow() ? 8 : 3, .random = slow() ? 32 : 4};
	struct dev *dev, *recorder, *state;
	struct states *st;
	struct state s;
	unsigned n = 0;
	int rc;

	tap_one_thread();
	sync_every = every;
	fs_make(shape, &dev);
	record(dev, &recorder);
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	CHECK_INT(states_open(recorder, &o, &st), 0);
	while ((rc = states_next(st, &state, &s)) == 1) {
		if (n++ % (slow() ? 1 : stride) == 0)
			check_state(state, &s, n / (slow() ? 1 : stride));
	}
	CHECK_INT(rc, 0);
	printf("# %u states of %u steps\n", n, sc.steps);
	states_close(st);
	dev_close(recorder);
	dev_close(dev);
}

TEST(every_power_cut_leaves_a_tree_of_some_step)
{
	static const struct shape s = {.size = 6 << 20, .block_size = 1024};

	cut_everywhere(&s, 1, 7);
}

TEST(steps_that_share_a_transaction_come_back_as_one_of_them_with_a_tiny_cache)
{
	static const struct shape s = {
	    .size = 8 << 20, .block_size = 1024, .blocks_per_group = 2048};

	fs_cache_bytes = 1;
	cut_everywhere(&s, 9, 5);
	fs_cache_bytes = 0;
}

TEST(with_the_orphan_file_power_cuts_are_survived_too)
{
	static const struct shape s = {
	    .size = 6 << 20, .block_size = 1024, .compat_on = COMPAT_ORPHAN_FILE};

	cut_everywhere(&s, 1, 7);
}

TEST(files_with_pointers_survive_power_cuts_too)
{
	static const struct shape s = {.size = 6 << 20,
				       .block_size = 1024,
				       .compat_off = COMPAT_ORPHAN_FILE,
				       .ro_compat_off = RO_COMPAT_METADATA_CSUM,
				       .incompat_off = INCOMPAT_EXTENTS | INCOMPAT_64BIT |
						       INCOMPAT_FLEX_BG | INCOMPAT_CSUM_SEED};

	cut_everywhere(&s, 1, 3);
}

TEST(files_in_clusters_survive_power_cuts)
{
	static const struct shape s = {.size = 16 << 20, .block_size = 1024, .cluster = 4};

	cut_everywhere(&s, 1, 7);
	cut_everywhere(&s, 9, 9);
}

TEST(without_checksums_power_cuts_are_survived_too)
{
	static const struct shape s = {
	    .size = 12 << 20, .block_size = 4096, .ro_compat_off = RO_COMPAT_METADATA_CSUM};

	cut_everywhere(&s, 2, 7);
}

/* A file in every group, whose blocks no single transaction can free. */
static int wide_file(struct scenario *s)
{
	const struct space *space = &s->img->groups.space;
	uint64_t bs = s->img->geom.block_size, size;
	int rc = sc_step(s, sc_create(s, "/wide"));

	size = (space->free - space->reserved - 200) * bs;
	rc = rc < 0 ? rc : sc_step(s, sc_truncate(s, "/wide", size));
	for (unsigned i = 0; i < 2 && rc == 0; i++) {
		rc = sc_fallocate(s, "/wide", FALLOC_FL_KEEP_SIZE, 0, size);
		rc = rc < 0 ? rc : image_sync(&s->t);
		rc = rc < 0 ? rc
			    : sc_step(s, i == 0 ? sc_truncate(s, "/wide", 3 * bs)
						: sc_unlink(s, "/wide"));
	}
	return rc;
}

/* Blocks for all of the file, which no allocation gave contents yet: zeros. */
static int map_all(struct scenario *s, struct ek_inode *inode)
{
	uint64_t blocks = inode->size / s->img->geom.block_size;
	int rc = 0;

	for (uint64_t at = 0; at < blocks && rc == 0;) {
		struct map m = {.lblk = {(uint32_t)at}, .len = (uint32_t)(blocks - at)};
		struct handle *h;

		rc = task_start_inode(&s->t, inode, HANDLE_MAP_BLOCKS, map_credits(inode, 256, 1),
				      0, &h);
		if (rc == 0)
			rc = handle_end(h, map_blocks(&s->t, inode, &m, MAP_CREATE));
		at += m.len;
	}
	return rc;
}

/* The same without extents. */
static int wide_pointers(struct scenario *s)
{
	const struct space *space = &s->img->groups.space;
	uint64_t bs = s->img->geom.block_size, size = (space->free - 2000) * bs;
	struct ek_inode *inode;
	int rc = sc_step(s, sc_create(s, "/wide"));

	rc = rc < 0 ? rc : sc_step(s, sc_truncate(s, "/wide", size));
	for (unsigned i = 0; i < 2 && rc == 0; i++) {
		rc = sc_open(s, "/wide", &inode);
		if (rc < 0)
			return rc;
		rc = map_all(s, inode);
		inode_put(&s->t, inode);
		rc = rc < 0 ? rc : image_sync(&s->t);
		rc = rc < 0 ? rc
			    : sc_step(s, i == 0 ? sc_truncate(s, "/wide", 3 * bs)
						: sc_unlink(s, "/wide"));
	}
	return rc;
}

TEST(a_removal_by_pointers_in_several_transactions_is_finished_after_any_cut)
{
	static const struct shape s = {.size = 80 << 20,
				       .block_size = 1024,
				       .blocks_per_group = 256,
				       .compat_off = COMPAT_RESIZE_INODE | COMPAT_ORPHAN_FILE,
				       .ro_compat_off = RO_COMPAT_METADATA_CSUM,
				       .incompat_off = INCOMPAT_EXTENTS | INCOMPAT_64BIT |
						       INCOMPAT_FLEX_BG | INCOMPAT_CSUM_SEED};

	restarts = 0;
	sc.script = wide_pointers;
	cut_everywhere(&s, 1, 25);
	printf("# %llu restarts\n", (unsigned long long)restarts);
	CHECK(restarts > 1);
	sc.script = NULL;
}

TEST(a_removal_of_several_transactions_is_finished_after_any_cut)
{
	static const struct shape s = {.size = 80 << 20,
				       .block_size = 1024,
				       .blocks_per_group = 256,
				       .compat_off = COMPAT_RESIZE_INODE};

	sc.script = wide_file;
	cut_everywhere(&s, 1, 15);
	printf("# %llu restarts\n", (unsigned long long)restarts);
	CHECK(restarts > 1);
	sc.script = NULL;
}

/* ---- inline data, values in inodes ---- */

TEST(inline_files_and_folders_survive_power_cuts)
{
	static const struct shape s = {
	    .size = 6 << 20, .block_size = 1024, .incompat_on = INCOMPAT_INLINE_DATA};

	sc.script = small_day;
	cut_everywhere(&s, 1, 5);
	sc.script = NULL;
	cut_everywhere(&s, 3, 25);
}

TEST(values_in_inodes_survive_power_cuts)
{
	static const struct shape s = {.size = 6 << 20,
				       .block_size = 1024,
				       .compat_on = COMPAT_ORPHAN_FILE,
				       .incompat_on = INCOMPAT_INLINE_DATA | INCOMPAT_EA_INODE};

	apart = true;
	sc.script = small_day_apart;
	cut_everywhere(&s, 1, 9);
	sc.script = NULL;
	apart = false;
}

static void fill_folder(const char *dir, unsigned n)
{
	char path[200];

	CHECK_INT(sc_mkdir(&sc, dir), 0);
	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%0100u", dir, i);
		CHECK_INT(sc_link(&sc, "/one", path), 0);
	}
	CHECK_INT(image_sync(&sc.t), 0);
	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%0100u", dir, i);
		CHECK_INT(sc_unlink(&sc, path), 0);
	}
	CHECK_INT(sc_rmdir(&sc, dir), 0);
}

TEST(blocks_of_removed_folders_and_links_are_not_brought_back_over_a_file)
{
	static const struct shape shape = {.size = 4 << 20, .block_size = 1024};
	struct diag d = {0};
	struct ek_image *img;
	struct walk before, after;
	struct dev *dev;

	fs_make(&shape, &dev);
	CHECK_INT(fs_open(dev, IMAGE_WRITE, &d, &img), 0);
	memset(&sc, 0, sizeof(sc));
	sc.img = img;
	task_init(&sc.t, img);
	CHECK_INT(sc_symlink(&sc, "/slow",
			     "a/target/of/more/than/sixty/bytes/that/does/not/fit/the/inode"),
		  0);
	CHECK_INT(sc_create(&sc, "/one"), 0);
	fill_folder("/dir", 3000);
	CHECK_INT(sc_unlink(&sc, "/slow"), 0);
	CHECK_INT(sc_create(&sc, "/file"), 0);
	CHECK_INT(image_sync(&sc.t), 0);
	CHECK_INT(sc_write(&sc, "/file", 0, (uint32_t)img->groups.space.free - 300, 'n'), 0);
	CHECK_INT(image_sync(&sc.t), 0);
	walk_tree(img, &before);
	image_kill(img);
	CHECK_INT(fs_open(dev, IMAGE_WRITE, &d, &img), 0);
	walk_tree(img, &after);
	CHECK_INT(after.errors, 0);
	CHECK(after.digest == before.digest);
	CHECK_INT(image_close(img), 0);
	dev_close(dev);
}

int main(void)
{
	return tap_main();
}
