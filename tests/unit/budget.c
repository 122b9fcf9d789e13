/* SPDX-License-Identifier: BSD-2-Clause */
/* Writeback budgets beside a writer that goes on (delalloc-facts 4.9): the flusher takes time, a
 * page is written every so often, and what differs is when a call stops. */
#include "cached_file.h"

#define PAGES   32768u
#define UNIT_NS 1000000u /* what an extent costs; a page costs a fiftieth */

struct outcome {
	uint64_t calls, extents, blocks, overruns, handles;
};

static struct policy policy;
static struct image_opts opts;

static struct outcome stream(const char *rule, const char *pass, unsigned rate)
{
	const char *set[] = {rule, pass, "folio=s0", "completion=written", "wrap=w1"};
	struct pc_config cfg = {.memory = 256u << 20,
				.background_pages = 4096,
				.dirty_pages = 32768,
				.pace = {UNIT_NS, UNIT_NS / 50}};
	struct pc_source zeros = {NULL, 0};
	struct outcome o;
	struct counters *c;

	OK(policy_choose(NULL, set, ARRAY_SIZE(set), &diag, &policy));
	opts = usual;
	opts.policy = &policy;
	image_size = 256u << 20;
	start(4096, &opts, &cfg);
	c = &img->counters;
	for (uint64_t i = 0; i < PAGES; i++) {
		uint64_t ns = i * UNIT_NS / rate;

		img->now.sec = usual.now.sec + (int64_t)(ns / 1000000000u);
		img->now.nsec = (uint32_t)(ns % 1000000000u);
		OK(pc_write(&task, file, i * PAGE_BYTES, PAGE_BYTES, &zeros, 0));
	}
	o = (struct outcome){c->v[COUNTER_WRITEPAGES], c->v[COUNTER_DA_WRITE_PAGES_EXTENT],
			     c->v[COUNTER_WP_EXTENT_BLOCKS], c->v[COUNTER_BUDGET_OVERRUNS],
			     c->handles[HANDLE_WRITE_PAGE]};
	stop();
	return o;
}

static uint64_t mean(const struct outcome *o)
{
	return o->blocks / o->extents;
}

TEST(the_old_rule_never_stops_and_maps_the_less_the_slower_the_writer_is)
{
	uint64_t before = 0;

	for (unsigned rate = 5; rate <= 40; rate *= 2) {
		struct outcome o = stream("budget=r0", "pass=p0", rate);

		CHECK_INT(o.calls, 1);
		CHECK(mean(&o) > before);
		CHECK(mean(&o) < 1024);
		CHECK_INT(o.overruns, 1);
		before = mean(&o);
	}
}

TEST(a_call_that_keeps_its_budget_maps_all_of_it_at_once_however_slow_the_writer_is)
{
	static const char *const rules[] = {"budget=r1", "budget=r2"};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		for (unsigned rate = 5; rate <= 40; rate *= 2) {
			struct outcome o = stream(rules[i], "pass=p1", rate);

			CHECK_INT(o.overruns, 0);
			CHECK_INT(mean(&o), 1024);
			CHECK_INT(o.extents, o.calls);
			CHECK_INT(o.handles, o.calls);
		}
	}
}

TEST(without_a_first_pass_each_call_costs_an_empty_handle)
{
	struct outcome o = stream("budget=r1", "pass=p0", 20);

	CHECK_INT(o.overruns, 0);
	CHECK_INT(o.handles, 2 * o.calls);
}

int main(void)
{
	return tap_main();
}
