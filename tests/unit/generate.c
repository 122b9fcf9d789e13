// SPDX-License-Identifier: BSD-2-Clause
/* Workloads that are made: how many calls of which kind, where, and what is refused. */
#include "tap.h"

#include <stdlib.h>

#include "base/diag.h"
#include "extkit/generate.h"
#include "trace/generate.h"

static struct diag diag;

struct seen {
	uint64_t ops[OP_COUNT];
	uint64_t before; /* ops in front of "measure" */
	uint64_t end;    /* the highest byte written */
	uint64_t last;   /* time */
	uint32_t threads;
	bool sorted, whole;
};

static int run(const char *spec, struct seen *ret)
{
	struct op_source *s;
	const struct op *o;
	uint64_t n = 0;
	int rc;

	memset(ret, 0, sizeof(*ret));
	diag_clear(&diag);
	ret->sorted = true;
	rc = generate_open(spec, &diag, &s);
	if (rc < 0)
		return rc;
	while ((rc = op_next(s, &o)) == 1) {
		ret->ops[o->code]++;
		if (o->code == OP_MARK && strcmp(o->name.p, GENERATE_MEASURE) == 0)
			ret->before = n;
		if (o->code == OP_WRITE && o->off + o->len > ret->end)
			ret->end = o->off + o->len;
		ret->sorted = ret->sorted && o->time >= ret->last;
		ret->last = o->time;
		if (o->thread > ret->threads)
			ret->threads = o->thread;
		n++;
	}
	ret->whole = op_whole(s);
	op_source_close(s);
	return rc;
}

TEST(the_three_pairs_of_fstime_make_40000_calls_in_20_passes)
{
	static const struct {
		const char *spec;
		uint64_t bytes;
	} rows[] = {
	    {"fstime:mode=write,buffer=256,blocks=500", 512000},
	    {"fstime:mode=write,buffer=1024,blocks=2000", 2048000},
	    {"fstime:mode=write,buffer=4096,blocks=8000", 8192000},
	};
	struct seen s;

	for (unsigned i = 0; i < 3; i++) {
		CHECK_INT(run(rows[i].spec, &s), 0);
		CHECK_INT(s.ops[OP_WRITE], 40000);
		CHECK_INT(s.ops[OP_OPEN], 1);
		CHECK_INT(s.end, rows[i].bytes);
		CHECK(s.sorted && s.whole);
	}
}

TEST(a_copy_reads_what_was_written_before_and_writes_as_often)
{
	struct seen s;

	CHECK_INT(run("fstime:mode=copy,buffer=256,blocks=500,passes=20", &s), 0);
	CHECK_INT(s.ops[OP_WRITE], 2000 + 40000);
	CHECK_INT(s.ops[OP_READ], 2000 + 40000);
	CHECK_INT(s.before, 2 + 4000);
	CHECK_INT(run("fstime:mode=read,passes=3", &s), 0);
	CHECK_INT(s.ops[OP_WRITE], 2000);
	CHECK_INT(s.ops[OP_READ], 6000);
}

TEST(dd_of_64_mib_makes_8192_calls)
{
	struct seen s;

	CHECK_INT(run("dd:conv=fsync,end=sync", &s), 0);
	CHECK_INT(s.ops[OP_WRITE], 8192);
	CHECK_INT(s.end, 64 << 20);
	CHECK_INT(s.ops[OP_FSYNC], 1);
	CHECK_INT(s.ops[OP_SYNCFS], 1);
	CHECK_INT(run("dd:bs=8K,count=512K", &s), 0);
	CHECK_INT(s.ops[OP_WRITE], 512 << 10);
}

TEST(processes_take_turns_and_have_files_of_their_own)
{
	struct seen s;

	CHECK_INT(run("fstime:procs=8,passes=2,end=close", &s), 0);
	CHECK_INT(s.threads, 8);
	CHECK_INT(s.ops[OP_OPEN], 8);
	CHECK_INT(s.ops[OP_CLOSE], 8);
	CHECK_INT(s.ops[OP_WRITE], 8 * 4000);
	CHECK(s.sorted);
	CHECK_INT(run("appenders:size=1M", &s), 0);
	CHECK_INT(s.ops[OP_WRITE], 16 * 256);
	CHECK_INT(s.end, 1 << 20);
}

TEST(folio_prepares_what_its_reads_are_to_find)
{
	struct seen s;

	CHECK_INT(run("folio:mode=read,from=hole,size=1M,bs=64K", &s), 0);
	CHECK_INT(s.ops[OP_WRITE], 0);
	CHECK_INT(s.ops[OP_FTRUNCATE], 1);
	CHECK_INT(s.ops[OP_READ], 16);
	CHECK_INT(run("folio:mode=read,from=disk,size=3M,bs=1M", &s), 0);
	CHECK_INT(s.ops[OP_WRITE], 3);
	CHECK_INT(s.ops[OP_FSYNC], 1);
	CHECK_INT(s.ops[OP_ADVISE], 1);
	CHECK_INT(s.before, 6);
	CHECK_INT(run("folio:mode=read,from=hole,size=3M,warm=yes", &s), 0);
	CHECK_INT(s.ops[OP_WRITE], 3);
	CHECK_INT(s.ops[OP_FTRUNCATE], 2);
	CHECK_INT(s.before, 6);
	CHECK_INT(run("folio:overwrite=yes,sync=yes,size=1M", &s), 0);
	CHECK_INT(s.ops[OP_WRITE], 1 + 256);
	CHECK_INT(s.ops[OP_FSYNC], 1 + 256);
	CHECK_INT(s.end, 1 << 20);
}

TEST(every_pass_of_a_region_writer_touches_every_block_once_in_another_order)
{
	enum { BLOCKS = 256, PASSES = 2 };
	static uint8_t seen[2][PASSES][BLOCKS];
	unsigned pass[2] = {0}, same = 0;
	uint64_t order[2][PASSES][BLOCKS], at[2] = {0};
	struct op_source *s;
	const struct op *o;

	diag_clear(&diag);
	CHECK_INT(generate_open("region:procs=2,size=1M,passes=2", &diag, &s), 0);
	while (op_next(s, &o) == 1) {
		unsigned w = o->thread - 1;

		if (o->code == OP_ADVISE) {
			CHECK_INT(at[w], BLOCKS);
			pass[w]++;
			at[w] = 0;
		} else if (o->code == OP_WRITE) {
			seen[w][pass[w]][o->off / 4096]++;
			order[w][pass[w]][at[w]++] = o->off;
		}
	}
	op_source_close(s);
	for (unsigned w = 0; w < 2; w++) {
		CHECK_INT(pass[w], PASSES);
		for (unsigned i = 0; i < BLOCKS; i++)
			CHECK(seen[w][0][i] == 1 && seen[w][1][i] == 1);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		same += order[0][0][i] == order[0][1][i] || order[0][0][i] == order[1][0][i];
	CHECK(same < BLOCKS / 8);
}

TEST(a_shuffle_of_any_length_meets_every_number_once)
{
	static const uint64_t lengths[] = {1, 2, 3, 7, 100, 1000, 4096, 5000};

	for (unsigned k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		uint64_t n = lengths[k], sum = 0;
		bool *seen = calloc(n, sizeof(*seen));

		for (uint64_t i = 0; seen != NULL && i < n; i++) {
			uint64_t at = gen_shuffled(i, n, 42);

			CHECK(at < n && !seen[at]);
			if (at < n)
				seen[at] = true;
			sum += at;
		}
		free(seen);
		CHECK_INT(sum, n * (n - 1) / 2);
	}
}

TEST(the_clock_moves_by_what_is_asked_for_or_by_bytes)
{
	struct seen s;

	CHECK_INT(run("dd:count=10,ns=1000", &s), 0);
	CHECK_INT(s.last, 11000);
	CHECK_INT(run("dd:count=10,bs=4000", &s), 0);
	CHECK_INT(s.last, 11 * 3000);
}

TEST(what_makes_no_sense_is_refused_with_the_word_that_is_wrong)
{
	static const struct {
		const char *spec, *says;
	} rows[] = {
	    {"", "no generator ''"},
	    {"nothing", "no generator 'nothing'"},
	    {"dd:speed=3", "no key 'speed'"},
	    {"dd:bs", "expected KEY=VALUE"},
	    {"dd:bs=", "bs=: not a size"},
	    {"dd:bs=K", "bs=K: not a size"},
	    {"dd:bs=-1", "bs=-1: not a size"},
	    {"dd:bs=0", "from 1 to 1073741824"},
	    {"dd:bs=99999999999999999999T", "not a size"},
	    {"dd:bs=20000000T", "not a size"},
	    {"dd:procs=1025", "from 1 to 1024"},
	    {"dd:ns=1000000000,count=256G", "take too long"},
	    {"dd:bs=1G,count=256G,ns=1", "more than a file holds"},
	    {"fstime:mode=move", "not one of write|read|copy"},
	    {"fstime:buffer=4M,blocks=1", "does not fit"},
	    {"fstime:blocks=1099511627776,buffer=1,passes=4294967296", "too many calls"},
	    {"folio:bs=2M,size=1M", "is more than size"},
	    {"region:bs=2M,size=1M", "is more than size"},
	    {"appenders:bs=2M,size=1M", "is more than size"},
	};
	struct seen s;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_INT(run(rows[i].spec, &s), -22);
		if (strstr(diag.text, rows[i].says) == NULL)
			CHECK_STR(diag.text, rows[i].says);
	}
}

TEST(generators_are_listed_in_order_and_what_is_usual_is_accepted)
{
	struct ek_generator_key key;
	char usual[24], spec[80];
	struct op_source *s;

	for (size_t i = 0; ek_generator_name(i) != NULL; i++) {
		CHECK(i == 0 || strcmp(ek_generator_name(i - 1), ek_generator_name(i)) < 0);
		CHECK(ek_generator_says(i)[0] != '\0');
		for (size_t k = 0; ek_generator_key(i, k, usual, &key) == 1; k++) {
			snprintf(spec, sizeof(spec), "%s:%s=%s", ek_generator_name(i), key.name,
				 key.usual);
			CHECK_INT(generate_open(spec, &diag, &s), 0);
			op_source_close(s);
		}
	}
	CHECK(ek_generator_name(5) == NULL && ek_generator_says(5) == NULL);
	CHECK_INT(ek_generator_key(99, 0, usual, &key), 0);
}

int main(void)
{
	return tap_main();
}
