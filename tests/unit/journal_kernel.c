/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs that Linux left behind at a power cut, recovered here and by e2fsprogs. */
#include "journal_image.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/crc.h"
#include "io/bio.h"
#include "ondisk/jbd2.h"

static uint8_t *theirs;

/* What e2fsprogs makes of an image when it replays the journal and does nothing else: e2fsck -E
 * journal_only would release orphans as well. */
static void replay_with_debugfs(const uint8_t *image)
{
	char path[] = "/var/tmp/extkit-unit-XXXXXX", command[200];
	int fd = mkstemp(path), status;
	ssize_t n;

	CHECK(fd >= 0);
	CHECK_INT(write(fd, image, im.size), im.size);
	snprintf(command, sizeof(command),
		 "PATH=$PATH:/sbin:/usr/sbin; debugfs -w -R journal_run %s >%s.log 2>&1", path,
		 path);
	status = system(command);
	theirs = malloc(im.size);
	CHECK(theirs != NULL);
	n = pread(fd, theirs, im.size, 0);
	close(fd);
	unlink(path);
	snprintf(command, sizeof(command), "%s.log", path);
	unlink(command);
	CHECK_INT(n, im.size);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		SKIP("debugfs is missing or did not replay");
}

/* debugfs marks the superblock: the flag that asks for recovery, times, the checksum over both. */
static bool may_differ(size_t at)
{
	static const struct {
		size_t at, len;
	} fields[] = {
	    {0x30, 4},  /* s_wtime */
	    {0x3a, 2},  /* s_state */
	    {0x40, 4},  /* s_lastcheck */
	    {0x60, 4},  /* s_feature_incompat: RECOVER */
	    {0x178, 8}, /* s_kbytes_written */
	    {0x274, 1}, /* s_wtime_hi */
	    {0x3fc, 4}, /* s_checksum */
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (at >= SUPER_OFFSET + fields[i].at &&
		    at < SUPER_OFFSET + fields[i].at + fields[i].len)
			return true;
	}
	return false;
}

static size_t differences(const uint8_t *ours)
{
	size_t n = 0;

	for (size_t i = 0; i < im.size; i++) {
		if (ours[i] == theirs[i] || may_differ(i))
			continue;
		if (n++ < 10)
			printf("# byte 0x%zx (block %zu): 0x%02x here, 0x%02x there\n", i,
			       i >> im.geom.block_bits, ours[i], theirs[i]);
	}
	return n;
}

static void recovers_as_debugfs(const char *name)
{
	struct jnl *j;
	uint8_t *ours;
	uint32_t count = 0;
	size_t n;

	load(name);
	replay_with_debugfs(im.bytes);
	CHECK_INT(jnl_open(&im.cfg, &j), 0);
	CHECK(jnl_dirty(j));
	CHECK_INT(jnl_recover(j, &count), 0);
	CHECK(count > 0);
	CHECK(!jnl_dirty(j));
	CHECK_INT(jnl_close(j), 0);
	ours = malloc(im.size);
	CHECK_INT(dev_read(im.dev, 0, ours, im.size), 0);
	n = differences(ours);
	printf("# %s: %u transactions, %zu bytes differ\n", name, count, n);
	CHECK(memcmp(ours, im.bytes, im.size) != 0);
	CHECK_INT(n, 0);
	free(ours);
	free(theirs);
	unload();
}

TEST(an_ordered_log_of_linux_recovers_as_with_debugfs)
{
	recovers_as_debugfs("images/kernel-dirty-ordered");
}

TEST(a_data_journal_of_linux_recovers_as_with_debugfs)
{
	recovers_as_debugfs("images/kernel-dirty-datajournal");
}

TEST(a_checksummed_log_of_linux_recovers_as_with_debugfs)
{
	recovers_as_debugfs("images/b3-ext4j");
}

TEST(an_ext3_log_of_linux_recovers_as_with_debugfs)
{
	recovers_as_debugfs("images/b6-ext3j");
}

/* ---- logs written here, recovered by e2fsprogs ---- */

static struct bioq *bioq;
static struct jnl *jnl;
static struct jnl_user user;

static void open_writer(void)
{
	uint32_t n;

	CHECK_INT(bioq_open(im.dev, NULL, &im.diag, &bioq), 0);
	im.cfg.bioq = bioq;
	im.cfg.read_only = false;
	CHECK_INT(jnl_open(&im.cfg, &jnl), 0);
	CHECK_INT(jnl_recover(jnl, &n), 0);
}

static struct handle *begin(unsigned credits)
{
	struct handle *h = NULL;

	CHECK_INT(handle_start(jnl, &user, HANDLE_MISC, credits, 0, 8, &h), 0);
	return h;
}

static void put(struct handle *h, uint64_t block, uint32_t first_word)
{
	be32 word = be32_make(first_word);
	struct buf *b;

	CHECK_INT(buf_new(im.cache, (ek_pblk){block}, &verify_any, (struct buf_owner){0, 0}, &b),
		  0);
	memset(b->data, (int)block, b->size);
	memcpy(b->data, &word, sizeof(word));
	CHECK_INT(handle_dirty(h, b), 0);
	buf_put(b);
}

/* The last blocks of the images are free, and these recoveries do not care what they mean. */
static void write_log(void)
{
	uint64_t at = im.geom.blocks - 400;
	struct handle *h = begin(250);

	for (unsigned i = 0; i < 200; i++)
		put(h, at + i, i % 50 == 7 ? JBD2_MAGIC : i);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(jnl_commit_running(jnl), 1);
	h = begin(50);
	for (unsigned i = 0; i < 40; i++)
		put(h, at + 5 * i, 1000 + i);
	for (unsigned i = 0; i < 8; i++)
		CHECK_INT(handle_forget(h, NULL, (ek_pblk){at + 50 + i}), 0);
	put(h, at + 51, 51);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(jnl_commit_running(jnl), 1);
	h = begin(10);
	put(h, at + 52, 52);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(jnl_commit_running(jnl), 1);
	h = begin(10);
	put(h, at, 7777); /* never committed */
	CHECK_INT(handle_stop(h), 0);
}

static void ask_for_recovery(void)
{
	struct super_raw sb;

	CHECK_INT(dev_read(im.dev, SUPER_OFFSET, &sb, sizeof(sb)), 0);
	sb.s_feature_incompat = le32_make(le32_get(sb.s_feature_incompat) | INCOMPAT_RECOVER);
	super_seal(&sb);
	CHECK_INT(dev_write(im.dev, SUPER_OFFSET, &sb, sizeof(sb)), 0);
}

struct kind {
	uint32_t compat, incompat;
};

/* Makes the log one of this kind: it is empty, so only its superblock tells. */
static void set_kind(const struct kind *k)
{
	uint64_t at = im.runs[0].pblk << im.geom.block_bits;
	struct jbd2_super sb;

	CHECK_INT(jnl_close(jnl), 0);
	CHECK_INT(dev_read(im.dev, at, &sb, sizeof(sb)), 0);
	sb.s_feature_compat = be32_make(k->compat);
	sb.s_feature_incompat = be32_make(k->incompat | JBD2_INCOMPAT_REVOKE);
	sb.s_checksum_type =
	    (k->incompat & (JBD2_INCOMPAT_CSUM_V2 | JBD2_INCOMPAT_CSUM_V3)) != 0 ? 4 : 0;
	sb.s_checksum = be32_make(0);
	if (sb.s_checksum_type != 0)
		sb.s_checksum = be32_make(crc32c(~0u, &sb, sizeof(sb)));
	CHECK_INT(dev_write(im.dev, at, &sb, sizeof(sb)), 0);
	CHECK_INT(jnl_open(&im.cfg, &jnl), 0);
}

static void e2fsprogs_recovers(const char *name, const struct kind *k)
{
	uint8_t *dirty, *ours;
	uint32_t count;
	size_t n;

	load(name);
	open_writer();
	if (k != NULL)
		set_kind(k);
	write_log();
	jnl_kill(jnl);
	bioq_close(bioq);
	ask_for_recovery();
	dirty = malloc(im.size);
	ours = malloc(im.size);
	CHECK(dirty != NULL && ours != NULL);
	CHECK_INT(dev_read(im.dev, 0, dirty, im.size), 0);
	replay_with_debugfs(dirty);
	im.cfg.read_only = true;
	CHECK_INT(jnl_open(&im.cfg, &jnl), 0);
	CHECK_INT(jnl_recover(jnl, &count), 0);
	CHECK_INT(count, 3);
	jnl_kill(jnl);
	CHECK_INT(dev_read(im.dev, 0, ours, im.size), 0);
	CHECK(memcmp(dirty, ours, im.size) != 0);
	n = differences(ours);
	printf("# log written to %s: %zu bytes differ\n", name, n);
	CHECK_INT(n, 0);
	free(dirty);
	free(ours);
	free(theirs);
	unload();
}

TEST(a_log_with_v3_checksums_written_here_recovers_with_e2fsprogs)
{
	e2fsprogs_recovers("images/b3-ext4j", NULL);
	e2fsprogs_recovers("images/kernel-dirty-ordered", NULL);
}

TEST(a_log_without_checksums_written_here_recovers_with_e2fsprogs)
{
	e2fsprogs_recovers("images/b6-ext3j", NULL);
}

TEST(logs_of_every_kind_written_here_recover_with_e2fsprogs)
{
	static const struct kind kinds[] = {
	    {0, 0},
	    {0, JBD2_INCOMPAT_64BIT},
	    {JBD2_COMPAT_CHECKSUM, 0},
	    {JBD2_COMPAT_CHECKSUM, JBD2_INCOMPAT_64BIT},
	    {JBD2_COMPAT_CHECKSUM, JBD2_INCOMPAT_ASYNC_COMMIT},
	    {0, JBD2_INCOMPAT_CSUM_V2},
	    {0, JBD2_INCOMPAT_CSUM_V2 | JBD2_INCOMPAT_64BIT},
	    {0, JBD2_INCOMPAT_CSUM_V3},
	    {0, JBD2_INCOMPAT_CSUM_V3 | JBD2_INCOMPAT_64BIT},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		printf("# compat 0x%x, incompat 0x%x\n", kinds[i].compat, kinds[i].incompat);
		e2fsprogs_recovers("images/b6-ext3j", &kinds[i]);
	}
}

static int recover(const char *name, uint32_t *count)
{
	struct jnl *j;
	int rc;

	load(name);
	rc = jnl_open(&im.cfg, &j);
	if (rc < 0)
		return rc;
	rc = jnl_recover(j, count);
	jnl_close(j);
	return rc;
}

static bool untouched(void)
{
	uint8_t *now = malloc(im.size);
	bool same;

	CHECK_INT(dev_read(im.dev, 0, now, im.size), 0);
	same = memcmp(now, im.bytes, im.size) == 0;
	free(now);
	return same;
}

static void is_refused(const char *name, int code, const char *words)
{
	uint32_t count;
	int rc = recover(name, &count);

	printf("# %s: %d %s\n", name, rc, im.diag.text);
	CHECK_INT(rc, code);
	CHECK(strstr(im.diag.text, words) != NULL);
	CHECK(untouched());
	unload();
}

TEST(damaged_logs_are_refused_with_field_and_value_and_nothing_is_written)
{
	is_refused("malformed/j-blocksize", -EUCLEAN, "s_blocksize 4096");
	is_refused("malformed/j-csum-type-9", -EUCLEAN, "s_checksum_type 9");
	is_refused("malformed/j-data-csum", -EBADMSG, "log block 15");
	is_refused("malformed/j-desc-csum", -EBADMSG, "transaction 3");
	is_refused("malformed/j-fcblks-huge", -EUCLEAN, "s_num_fc_blks 4294967295");
	is_refused("malformed/j-first-0", -EUCLEAN, "s_first 0");
	is_refused("malformed/j-incompat-unknown", -EOPNOTSUPP, "0x80000000");
	is_refused("malformed/j-log-hole", -EUCLEAN, "hole at log block");
	is_refused("malformed/j-magic", -EUCLEAN, "h_magic");
	is_refused("malformed/j-maxlen-0", -EUCLEAN, "s_maxlen 0");
	is_refused("malformed/j-maxlen-huge", -EUCLEAN, "s_maxlen 4294967295");
	is_refused("malformed/j-revoke-count-huge", -EUCLEAN, "r_count");
	is_refused("malformed/j-sb-csum-stale", -EBADMSG, "s_checksum");
	is_refused("malformed/j-start-past", -EUCLEAN, "s_start 4000");
	is_refused("malformed/j-tag-feature", -EOPNOTSUPP, "");
	is_refused("malformed/j-tag-hi", -EUCLEAN, "goes to block 1099511627776");
	is_refused("malformed/j-tag-journal-block", -EUCLEAN, "inside the log");
	is_refused("malformed/j-tag-oob", -EUCLEAN, "goes to block 2147483632");
	is_refused("malformed/j-tag-superblock", -EUCLEAN, "");
}

static void is_recovered(const char *name, uint32_t want)
{
	uint32_t count = 0;
	int rc = recover(name, &count);

	printf("# %s: %d, %u transactions %s\n", name, rc, count, im.diag.text);
	CHECK_INT(rc, 0);
	CHECK_INT(count, want);
	unload();
}

TEST(odd_but_harmless_logs_are_recovered_in_one_lap)
{
	is_recovered("malformed/j-commit-missing", 9);
	is_recovered("malformed/j-commits-only-ring", 1023);
	is_recovered("malformed/j-desc-no-last", 9);
	is_recovered("malformed/j-revoke-flood", 10);
	is_recovered("malformed/j-seq-wrap", 0);
	is_recovered("malformed/j-type-3", 9);
}

TEST(broken_fast_commits_are_left_out)
{
	is_recovered("malformed/fc-tail-csum", 1);
	is_recovered("malformed/fc-len-past", 1);
	is_recovered("malformed/fc-dentry-short", 1);
}

TEST(unsound_fast_commits_with_a_right_checksum_are_refused)
{
	is_refused("malformed/fc-range-oob", -EUCLEAN, "outside the filesystem");
	is_refused("malformed/fc-head-features", -EOPNOTSUPP, "fc_features");
}

static uint32_t seed = 1;

static uint32_t random_number(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * below >> 32);
}

/* Overwrites bytes near the headers of the log, where they say most. */
static void spoil(struct dev *d)
{
	unsigned n = 1 + random_number(4);

	while (n-- > 0) {
		uint32_t lblk = random_number(130), at = random_number(64);
		uint8_t byte = (uint8_t)random_number(256);

		at += random_number(4) == 0 ? random_number(im.geom.block_size - 64) : 0;
		for (unsigned i = 0; i < im.cfg.run_count; i++) {
			const struct jnl_run *r = &im.runs[i];

			if (lblk >= r->lblk && lblk - r->lblk < r->len)
				CHECK_INT(
				    dev_write(
					d, ((r->pblk + lblk - r->lblk) << im.geom.block_bits) + at,
					&byte, 1),
				    0);
		}
	}
}

static void survives_damage(const char *name, unsigned rounds)
{
	unsigned refused = 0;

	load(name);
	for (unsigned i = 0; i < rounds; i++) {
		struct dev *spoilt, *over;
		struct jnl_config cfg = im.cfg;
		struct jnl *j;
		uint32_t count;
		int rc;

		diag_clear(&im.diag);
		CHECK_INT(dev_open_overlay(im.dev, &spoilt), 0);
		spoil(spoilt);
		CHECK_INT(dev_open_overlay(spoilt, &over), 0);
		CHECK_INT(buf_cache_open(over, &im.geom, 1 << 20, &im.diag, &cfg.cache), 0);
		rc = jnl_open(&cfg, &j);
		if (rc == 0) {
			rc = jnl_recover(j, &count);
			jnl_kill(j);
		}
		buf_cache_close(cfg.cache);
		refused += rc < 0;
		CHECK(rc == 0 || (over->stats.writes == 0 && im.diag.text[0] != 0));
		dev_close(over);
		dev_close(spoilt);
	}
	printf("# %s: %u of %u refused\n", name, refused, rounds);
	CHECK(refused > 0 && refused < rounds);
	unload();
}

TEST(random_damage_to_a_log_is_refused_before_the_first_write_or_harmless)
{
	survives_damage("images/b6-ext3j", 1500);
	survives_damage("images/b3-ext4j", 1500);
	survives_damage("images/b5-ext4fc", 300);
}

int main(void)
{
	return tap_main();
}
