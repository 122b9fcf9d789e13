/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One timed line of the text form: "TIME THREAD OP arguments keys".
 *
 * The arguments follow the row of the op in op_forms; what comes behind them are keys, in any
 * order.  The spellings of an early importer are translated by one table of words.
 */
#include "trace/wtr_line.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "trace/words.h"

/* Old words: another name, and whether the thing named is never followed as a link. */
static const struct {
	const char *word;
	enum op_code code;
	uint32_t flags;
} old_words[] = {
    {"fchmod", OP_CHMOD, 0},
    {"fchown", OP_CHOWN, 0},
    {"lchown", OP_CHOWN, OPF_NOFOLLOW},
    {"futimens", OP_UTIMENS, 0},
    {"sync_file_range", OP_SYNCRANGE, 0},
};

static bool key_is(const char *p, size_t n, const char *key)
{
	return strlen(key) == n && memcmp(p, key, n) == 0;
}

/* Keeps a token that nobody knows, joined to the others by a space. */
static void keep_extra(struct line_parser *lp, const char *p, size_t n)
{
	struct op_str *x = &lp->op.extra;

	lp->op.plain = 0;
	if (x->n)
		lp->extra[x->n++] = ' ';
	memcpy(lp->extra + x->n, p, n);
	x->n += (uint32_t)n;
	lp->extra[x->n] = 0;
	x->p = lp->extra;
}

/* The keys whose value is a number, a word or text.  0 taken, 1 unknown, or an error. */
static int cold_key(struct line_parser *lp, struct cursor *c, const char *key, size_t nkey,
		    struct op_str v)
{
	struct op *o = &lp->op;
	uint64_t mode;
	int via;

	o->plain = 0;
	if (key_is(key, nkey, "data"))
		return parse_data(lp, v.p, v.n) < 0 ? cur_fail(c, "not a data reference") : 0;
	if (key_is(key, nkey, "flags")) {
		uint32_t flags = flag_list(open_flag_words, v, ',');

		o->flags |= flags;
		return flags ? 0 : cur_fail(c, "unknown open flag");
	}
	if (key_is(key, nkey, "mode")) {
		if (!parse_number(v.p, v.n, 8, &mode) || mode > 0177777)
			return cur_fail(c, "not an octal mode");
		o->mode = (uint32_t)mode;
		o->flags |= OPF_MODE;
		return 0;
	}
	if (key_is(key, nkey, "segs"))
		return o->segs = v, 0;
	if (key_is(key, nkey, "id"))
		return o->id = v, 0;
	if (key_is(key, nkey, "after"))
		return o->after = v, 0;
	if (key_is(key, nkey, "want"))
		return parse_number(v.p, v.n, 10, &o->want) ? 0 : cur_fail(c, "not a number");
	if (key_is(key, nkey, "lost") && o->code == OP_GAP)
		return parse_number(v.p, v.n, 10, &o->arg) ? 0 : cur_fail(c, "not a number");
	via = key_is(key, nkey, "via") ? word_find(op_via_words, VIA_COUNT, v.p, v.n) : -1;
	if (via <= 0)
		return 1;
	o->sub = (uint8_t)via;
	return 0;
}

static int one_key(struct line_parser *lp, struct cursor *c, struct op_str t)
{
	const char *eq = memchr(t.p, '=', t.n);
	struct op *o = &lp->op;
	uint32_t flag;
	int err;

	if (!eq) {
		flag = flag_find(bare_flag_words, t.p, t.n);
		o->flags |= flag;
		if (flag)
			return 0;
		if (!lp->lenient)
			return cur_fail(c, "unknown word");
		lp->counts.unknown_words++;
		keep_extra(lp, t.p, t.n);
		return 0;
	}
	if (key_is(t.p, (size_t)(eq - t.p), "dur"))
		return parse_number(eq + 1, t.n - 4, 10, &o->dur) ? 0 : cur_fail(c, "not a number");
	if (t.n == 6 && memcmp(t.p, "sync=", 5) == 0 && (t.p[5] == 'd' || t.p[5] == 's')) {
		o->flags |= t.p[5] == 'd' ? OPF_DSYNC : OPF_SYNC;
		return 0;
	}
	err = cold_key(lp, c, t.p, (size_t)(eq - t.p),
		       (struct op_str){eq + 1, t.n - (uint32_t)(eq + 1 - t.p)});
	if (err == 1)
		keep_extra(lp, t.p, t.n);
	return err < 0 ? err : 0;
}

static int parse_keys(struct line_parser *lp, struct cursor *c)
{
	while (c->p != c->end) {
		struct op_str t;
		char *at;
		int err = cur_space(c);

		at = c->p;
		if (err < 0 || (err = cur_token(c, &t)) < 0)
			return err;
		err = one_key(lp, c, t);
		if (err < 0) {
			c->p = at;
			return err;
		}
	}
	return 0;
}

/* The words that most lines have, without a search. */
static enum op_code find_word(const char *p, size_t n, uint32_t *flags)
{
	enum op_code code;

	if (n == 5 && memcmp(p, "write", 5) == 0)
		return OP_WRITE;
	if (n == 4 && memcmp(p, "read", 4) == 0)
		return OP_READ;
	code = op_find(p, n);
	for (unsigned i = 0; code == OP_NONE && i < ARRAY_SIZE(old_words); i++)
		if (key_is(p, n, old_words[i].word)) {
			*flags = old_words[i].flags;
			code = old_words[i].code;
		}
	return code;
}

/* Everything behind the word as it is. */
static void keep_rest(struct line_parser *lp, struct cursor *c, enum op_code code)
{
	struct op *o = &lp->op;

	o->code = (uint8_t)code;
	o->plain = 0;
	if (c->p < c->end) {
		c->p++;
		o->extra = (struct op_str){c->p, (uint32_t)(c->end - c->p)};
	}
	c->p = c->end;
}

static int parse_observed(struct line_parser *lp, struct cursor *c)
{
	int err = cur_space(c);

	if (err < 0 || (err = cur_token(c, &lp->op.name)) < 0)
		return err;
	keep_rest(lp, c, OP_OBSERVED);
	/* The text behind the name must not run into it. */
	((char *)lp->op.name.p)[lp->op.name.n] = 0;
	return 0;
}

/* Names lie next to each other in the line: the space behind each becomes its 0. */
static void end_names(struct op *o)
{
	struct op_str *all[] = {&o->path, &o->path2, &o->name, &o->segs, &o->id, &o->after};

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i]->n)
			((char *)all[i]->p)[all[i]->n] = 0;
}

static int parse_head(struct op *o, struct cursor *c)
{
	uint64_t thread;
	int err = cur_u64(c, &o->time);

	if (err < 0 || (err = cur_space(c)) < 0)
		return err;
	if (*c->p == '-') {
		c->p++;
		return cur_space(c);
	}
	if ((err = cur_u64(c, &thread)) < 0)
		return err;
	if (thread >= OP_NO_THREAD)
		return cur_fail(c, "thread number too large");
	o->thread = (uint32_t)thread;
	return cur_space(c);
}

int parse_timed(struct line_parser *lp, struct cursor *c)
{
	struct op *o = &lp->op;
	struct op_str word;
	char *at;
	int err = parse_head(o, c);

	lp->word = at = c->p;
	if (err < 0 || (err = cur_token(c, &word)) < 0)
		return err;
	if (word.n == 1 && word.p[0] == '~')
		return parse_observed(lp, c);
	o->code = (uint8_t)find_word(word.p, word.n, &o->flags);
	if (o->code == OP_NONE) {
		c->p = at;
		if (!lp->lenient)
			return cur_fail(c, "unknown op");
		lp->counts.unknown_ops++;
		c->p = at + word.n;
		o->name = word;
		keep_rest(lp, c, OP_UNKNOWN);
		((char *)word.p)[word.n] = 0;
		return 0;
	}
	if ((err = parse_args(lp, c, op_forms[o->code].args)) < 0 || (err = parse_keys(lp, c)) < 0)
		return err;
	if (!o->plain)
		end_names(o);
	return 0;
}
