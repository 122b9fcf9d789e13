/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit policy: the write paths a replay can follow, and what distinguishes them. */
#include "extkit/policy.h"

#include "cmd.h"
#include "fail.h"

#define SWITCHES_MAX 32u

static int run_list(struct run *run)
{
	static const struct out_col cols[] = {{"policy", N_("Policy"), false},
					      {"about", N_("What it is"), false}};
	const struct ek_policy_value *p;

	out_table(run->out, "policies", cols, 2);
	for (size_t i = 0; (p = ek_policy_preset(i)) != NULL; i++) {
		out_str(run->out, NULL, NULL, p->word);
		out_str(run->out, NULL, NULL, p->about);
	}
	out_table_end(run->out);
	return EXIT_DONE;
}

static const struct example list_examples[] = {
    {"extkit policy list", N_("tells the names that --policy of a replay takes")},
    {NULL, NULL},
};

COMMAND(policy_list) = {
    .name = "policy list",
    .brief = N_("list the write paths that have a name"),
    .args = "",
    .about = N_("One line for each. The first is what a replay does when nothing is said."),
    .examples = list_examples,
    .run = run_list,
};

/* ---- show ---- */

struct show_opts {
	struct opt_list set;
	bool values;
};

#define T struct show_opts

static const struct opt show_options[] = {
    OPT_LIST(T, set, 0, "set", N_("SWITCH=VALUE"), N_("change one thing; may be given again")),
    OPT_FLAG(T, values, 'a', "all", N_("every value of every switch, chosen or not")),
    OPT_END,
};

static void show_value(struct run *run, const struct ek_policy_switch *s,
		       const struct ek_policy_value *v, bool chosen)
{
	const struct show_opts *o = run->opts;

	out_str(run->out, NULL, NULL, s->name);
	out_str(run->out, NULL, NULL, v->word);
	if (o->values)
		out_bool(run->out, NULL, NULL, chosen);
	out_str(run->out, NULL, NULL, v->about);
}

static int run_show(struct run *run)
{
	static const struct out_col all[] = {{"switch", N_("Switch"), false},
					     {"value", N_("Value"), false},
					     {"chosen", N_("Chosen"), false},
					     {"about", N_("What it does"), false}};
	static const struct out_col few[] = {{"switch", N_("Switch"), false},
					     {"value", N_("Value"), false},
					     {"about", N_("What it does"), false}};
	const struct show_opts *o = run->opts;
	const struct ek_policy_switch *s;
	unsigned chosen[SWITCHES_MAX];
	int err = ek_policy_resolve(run->ctx, run->argc > 0 ? run->argv[0] : NULL, o->set.v,
				    o->set.n, chosen, SWITCHES_MAX);

	if (err < 0)
		return fail(run, EXIT_USAGE, "%s", ek_ctx_message(run->ctx));
	out_table(run->out, "switches", o->values ? all : few, o->values ? 4 : 3);
	for (size_t i = 0; i < SWITCHES_MAX && (s = ek_policy_switch(i)) != NULL; i++) {
		for (unsigned v = 0; s->values[v].word != NULL; v++) {
			if (o->values || v == chosen[i])
				show_value(run, s, &s->values[v], v == chosen[i]);
		}
	}
	out_table_end(run->out);
	return EXIT_DONE;
}

static const struct example show_examples[] = {
    {"extkit policy show linux-5.14", N_("tells how ext4 of that kernel wrote")},
    {"extkit policy show --all", N_("tells what can be chosen with --set")},
    {"extkit policy show native --set inode=eager", N_("tells what a replay with both would do")},
    {NULL, NULL},
};

COMMAND(policy_show) = {
    .name = "policy show",
    .brief = N_("tell what makes a write path"),
    .args = N_("[POLICY]"),
    .about = N_("The switches and what they are set to. What a value excludes follows it, unless "
		"it was asked for too: then the combination is refused, and the reason said."),
    .options = show_options,
    .examples = show_examples,
    .min_args = 0,
    .max_args = 1,
    .opts_size = sizeof(struct show_opts),
    .run = run_show,
};

COMMAND(policy) = {
    .name = "policy",
    .brief = N_("tell which write paths a replay can follow"),
    .args = N_("VERB..."),
    .about = N_("A policy is a value for each switch: where handles are opened, how large folios "
		"are, when blocks are allocated. Kernels and ideas have names."),
    .max_args = -1,
};
