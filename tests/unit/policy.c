/* SPDX-License-Identifier: BSD-2-Clause */
/* Policies: words, presets, and what excludes what. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "extkit/policy.h"
#include "fs/policy.h"
#include "tap.h"

static struct diag d;

static int choose(const char *preset, struct policy *p, const char *a, const char *b)
{
	const char *set[] = {a, b};

	diag_clear(&d);
	return policy_choose(preset, set, a == NULL ? 0 : b == NULL ? 1 : 2, &d, p);
}

TEST(the_first_preset_is_what_nobody_chooses)
{
	struct policy p, q;

	CHECK_INT(choose(NULL, &p, NULL, NULL), 0);
	CHECK_INT(choose(ek_policy_preset(0)->word, &q, NULL, NULL), 0);
	for (unsigned i = 0; i < SWITCH_COUNT; i++)
		CHECK_INT(policy_value(&p, (enum policy_switch)i),
			  policy_value(&q, (enum policy_switch)i));
	CHECK_STR(p.name, q.name);
}

TEST(every_preset_is_possible_as_it_stands)
{
	const struct ek_policy_value *v;

	for (size_t i = 0; (v = ek_policy_preset(i)) != NULL; i++) {
		struct policy p, settled;

		CHECK_INT(choose(v->word, &p, NULL, NULL), 0);
		settled = p;
		CHECK_STR(p.name, v->word);
		for (unsigned s = 0; s < SWITCH_COUNT; s++) {
			char same[64];

			snprintf(same, sizeof(same), "%s=%s", ek_policy_switch(s)->name,
				 policy_word(&settled, (enum policy_switch)s));
			CHECK_INT(choose(v->word, &p, same, NULL), 0);
			CHECK_INT(policy_value(&p, (enum policy_switch)s),
				  policy_value(&settled, (enum policy_switch)s));
		}
	}
}

TEST(every_value_of_every_switch_can_be_chosen_alone)
{
	const struct ek_policy_switch *s;

	for (size_t i = 0; (s = ek_policy_switch(i)) != NULL; i++) {
		for (unsigned v = 0; s->values[v].word != NULL; v++) {
			struct policy p;
			char one[64];

			snprintf(one, sizeof(one), "%s=%s", s->name, s->values[v].word);
			CHECK_INT(choose(NULL, &p, one, NULL), 0);
			CHECK_INT(policy_value(&p, (enum policy_switch)i), v);
		}
	}
}

TEST(what_a_value_excludes_follows_it)
{
	struct policy p;

	CHECK_INT(choose(NULL, &p, "data=journal", NULL), 0);
	CHECK_INT(p.allocation, ALLOC_NODELALLOC);
	CHECK_INT(p.folio, FOLIO_S0);
	CHECK_INT(p.completion, COMPLETION_WRITTEN);
	CHECK_INT(choose(NULL, &p, "budget=r0", NULL), 0);
	CHECK_INT(p.pass, PASS_P0);
	CHECK_INT(choose("native", &p, "mapping=indirect", NULL), 0);
	CHECK_INT(p.folio, FOLIO_S1);
}

TEST(what_was_asked_for_and_is_excluded_is_refused_with_the_reason)
{
	struct policy p = policy_default;

	CHECK_INT(choose(NULL, &p, "data=journal", "folio=s2"), -EINVAL);
	CHECK(strstr(d.text, "folio=s2 is impossible with data=journal") != NULL);
	CHECK_INT(choose("ext3-3.3", &p, "completion=unwritten", NULL), -EINVAL);
	CHECK_INT(p.write, WRITE_G5); /* untouched */
}

TEST(unknown_words_are_answered_with_those_there_are)
{
	struct policy p;

	CHECK_INT(choose("linux-2.0", &p, NULL, NULL), -EINVAL);
	CHECK(strstr(d.text, "linux-6.18") != NULL);
	CHECK_INT(choose(NULL, &p, "folio", NULL), -EINVAL);
	CHECK_INT(choose(NULL, &p, "=s1", NULL), -EINVAL);
	CHECK(strstr(d.text, "completion") != NULL);
	CHECK_INT(choose(NULL, &p, "folio=", NULL), -EINVAL);
	CHECK(strstr(d.text, "s0 s1 s2 s3") != NULL);
}

int main(void)
{
	return tap_main();
}
