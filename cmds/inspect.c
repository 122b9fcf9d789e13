/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit inspect: structures on disk, field by field. */
#include "extkit/inspect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "show.h"
#include "target.h"

struct inspect_opts {
	struct opt_list set;
	bool no_seal;
};

#define T struct inspect_opts

static const struct opt inspect_options[] = {
    OPT_LIST(T, set, 0, "set", N_("FIELD=VALUE"), N_("change a field and make the checksum right")),
    OPT_FLAG(T, no_seal, 0, "no-seal", N_("leave the checksum as it is: damage for tests")),
    OPT_END,
};

static const struct out_col inspect_cols[] = {
    {"structure", N_("Structure"), false}, {"offset", N_("Offset"), true},
    {"field", N_("Field"), false},         {"size", N_("Size"), true},
    {"value", N_("Value"), false},         {"meaning", N_("Meaning"), false},
};

#define SHOWN_BYTES 24u /* of long fields, in text */

static void number_cell(struct out *out, const struct ek_field *f)
{
	char text[96];
	struct ek_time t = {(int32_t)(uint32_t)f->number, 0};
	char when[SHOW_MAX];

	if (f->kind == EK_FIELD_TIME && f->size == 4 && f->number != 0)
		snprintf(text, sizeof(text), "%" PRIu64 " (%s)", f->number, show_time(when, t));
	else if (f->kind == EK_FIELD_FLAGS || f->kind == EK_FIELD_MAGIC || f->kind == EK_FIELD_CSUM)
		snprintf(text, sizeof(text), "0x%0*" PRIx64, (int)f->size * 2, f->number);
	else
		snprintf(text, sizeof(text), "%" PRIu64, f->number);
	out_u64_as(out, NULL, NULL, f->number, text);
}

static void hex_cell(struct run *run, const struct ek_field *f)
{
	uint32_t n = run->json || f->size <= SHOWN_BYTES ? f->size : SHOWN_BYTES;
	char *text = malloc(2 * (size_t)n + 4), *at = text;

	if (text == NULL) {
		out_str(run->out, NULL, NULL, "");
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		at += sprintf(at, "%02x", f->bytes[i]);
	strcpy(at, n < f->size ? "..." : "");
	out_str(run->out, NULL, NULL, text);
	free(text);
}

static void value_cell(struct run *run, const struct ek_field *f)
{
	char uuid[SHOW_MAX];

	if (f->is_number)
		number_cell(run->out, f);
	else if (f->kind == EK_FIELD_TEXT)
		out_bytes(run->out, NULL, NULL, f->bytes, strnlen((const char *)f->bytes, f->size));
	else if (f->kind == EK_FIELD_UUID)
		out_str(run->out, NULL, NULL, show_uuid(uuid, f->bytes));
	else
		hex_cell(run, f);
}

static const char *seal_word(enum ek_sealed sum)
{
	return sum == EK_SEALED_RIGHT   ? N_("right")
	       : sum == EK_SEALED_WRONG ? N_("wrong")
					: N_("none");
}

static int show_structure(const struct ek_structure *s, void *arg)
{
	struct run *run = arg;
	struct out *out = run->out;
	char name[64];

	snprintf(name, sizeof(name), "%s#%" PRIu32, s->name, s->index);
	for (uint32_t i = 0; i < s->nfields; i++) {
		const struct ek_field *f = &s->fields[i];

		out_str(out, NULL, NULL, name);
		out_u64(out, NULL, NULL, s->offset + f->offset);
		out_str(out, NULL, NULL, f->name);
		out_u64(out, NULL, NULL, f->size);
		value_cell(run, f);
		out_str(out, NULL, NULL, f->help);
	}
	out_str(out, NULL, NULL, name);
	out_u64(out, NULL, NULL, s->offset);
	out_str(out, NULL, NULL, "checksum");
	out_u64(out, NULL, NULL, 0);
	out_word(out, NULL, NULL, seal_word(s->sum));
	out_str(out, NULL, NULL, "");
	return 0;
}

static int set_fields(struct run *run, struct ek_inspect *ins, const char *what)
{
	const struct inspect_opts *o = run->opts;
	int code = EXIT_DONE;

	for (size_t i = 0; i < o->set.n && code == EXIT_DONE; i++) {
		const char *mark = strchr(o->set.v[i], '=');
		char *field;
		int err;

		if (mark == NULL || mark == o->set.v[i])
			return fail_usage(run, _("--set: '%s' is not FIELD=VALUE"), o->set.v[i]);
		field = strndup(o->set.v[i], (size_t)(mark - o->set.v[i]));
		if (field == NULL)
			return fail(run, EXIT_HOST, _("out of memory"));
		err = ek_inspect_set(ins, what, field, mark + 1);
		free(field);
		code = err < 0 ? fail_call(run, err) : EXIT_DONE;
	}
	return code;
}

static int show_all(struct run *run, struct ek_inspect *ins, char *const *what, int n)
{
	int err = 0;

	out_table(run->out, "fields", inspect_cols, 6);
	for (int i = 0; i < n && err == 0; i++)
		err = ek_inspect_show(ins, what[i], show_structure, run);
	out_table_end(run->out);
	return err < 0 ? fail_call(run, err) : EXIT_DONE;
}

/* "inode:N" of the path inside. */
static int inode_word(struct run *run, const char *arg, char *word, size_t size)
{
	struct ek_stat st = {.size = sizeof(st)};
	struct ek_inode *inode;
	struct target t;
	int code = target_open(run, arg, EK_IMAGE_NO_RECOVERY, &t), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_inode_open(t.img, t.path, 0, &inode);
	if (err == 0) {
		err = ek_inode_stat(inode, &st);
		ek_inode_close(inode);
	}
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	snprintf(word, size, "inode:%" PRIu32, st.ino.v);
	return target_end(run, &t, EXIT_DONE);
}

static int inspect(struct run *run, const struct target *t, char *const *what, int n)
{
	const struct inspect_opts *o = run->opts;
	struct ek_inspect_options opt = {.size = sizeof(opt), .offset = t->offset};
	struct ek_inspect *ins;
	int err, code;

	opt.flags = (o->set.n != 0 ? (unsigned)EK_INSPECT_WRITE : 0) |
		    (o->no_seal ? (unsigned)EK_INSPECT_NO_SEAL : 0);
	err = ek_inspect_open(run->ctx, t->image, &opt, &ins);
	if (err < 0)
		return fail_open(run, err);
	code = o->set.n != 0 ? set_fields(run, ins, what[0]) : show_all(run, ins, what, n);
	err = ek_inspect_close(ins);
	return code == EXIT_DONE && err < 0 ? fail_call(run, err) : code;
}

static int run_inspect(struct run *run)
{
	const struct inspect_opts *o = run->opts;
	char word[32] = "super", *fallback[] = {word};
	char *const *what = run->argc > 1 ? run->argv + 1 : fallback;
	int n = run->argc > 1 ? run->argc - 1 : 1, code;
	struct target t;

	if (o->set.n != 0 && n > 1)
		return fail_usage(run, _("--set changes one structure, not %d"), n);
	code = target_parse(run, run->argv[0], &t);
	if (code != EXIT_DONE)
		return code;
	if (t.has_path && run->argc > 1)
		code = fail_usage(run, _("a path inside or what to look at, not both"));
	else if (t.has_path)
		code = inode_word(run, run->argv[0], word, sizeof(word));
	if (code == EXIT_DONE)
		code = inspect(run, &t, what, n);
	return target_end(run, &t, code);
}

static const struct example inspect_examples[] = {
    {"extkit inspect disk.img", N_("shows the superblock")},
    {"extkit inspect disk.img inode:12 extents:12", N_("an inode and its extent tree")},
    {"extkit inspect disk.img:/etc/passwd", N_("the inode that a path leads to")},
    {"extkit inspect --json disk.img group:0 dir:2 log", N_("the same for a program")},
    {"extkit inspect --set i_links_count=3 disk.img inode:12",
     N_("changes a field and makes the checksum right")},
    {"extkit inspect --no-seal --set ee_block=9 disk.img 'extents:12#1'",
     N_("damages the first extent of inode 12")},
    {NULL, NULL},
};

COMMAND(inspect) = {
    .name = "inspect",
    .brief = N_("show and set fields of structures on disk"),
    .args = N_("IMG[:/PATH] [WHAT]..."),
    .about = N_(
	"WHAT is super, super:GROUP, group:N, inode:N, extents:N, dir:N, xattrs:N (of inode "
	"N), log, orphans or guard; without it, the superblock. Structures are shown as they "
	"lie, sound or not: nothing is replayed or repaired, and only the sizes in the "
	"superblock are believed. #N behind WHAT is one structure of those it names.\n\n"
	"--set writes past the journal and past every check but the checksum: it is for "
	"people who know what they do, and for tests that need damage."),
    .options = inspect_options,
    .examples = inspect_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct inspect_opts),
    .run = run_inspect,
};
