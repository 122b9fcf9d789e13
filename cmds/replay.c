/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit replay: a trace onto an image, and what ext4 would have done for it. */
#include "extkit/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "recorded.h"
#include "show.h"
#include "target.h"

struct replay_opts {
	int clock;
	struct opt_list set, fault;
	struct opt_num memory, background, dirty, hz, phase;
	const char *stop_after, *initial, *extents, *root, *compare, *umask, *policy, *region,
	    *pace, *threads;
	bool lenient, no_initial, no_stores, crash, nodelalloc, dioread_lock, all, dry;
};

#define T struct replay_opts

static const struct opt replay_options[] = {
    OPT_CHOICE(T, clock, 0, "clock", "virtual|real|asap",
	       N_("the trace's times, its pace, or no waiting")),
    OPT_FILE(T, compare, 0, "compare", N_("FILE"),
	     N_("show recorded counters beside ours: lines of name, tab, value")),
    OPT_TEXT(T, stop_after, 0, "stop-after", N_("N|STAGE"),
	     N_("end after N operations, or show what leaves a stage and change nothing: "
		"op, folio, delayed, writeback, allocation, bio or completion")),
    OPT_FILE(T, initial, 'i', "initial", N_("FILE"), N_("the files before the trace, a table")),
    OPT_FILE(T, extents, 0, "extents", N_("FILE"), N_("their extents, a table")),
    OPT_TEXT(T, root, 'r', "root", N_("DIR"), N_("the folder of the table that becomes /")),
    OPT_FLAG(T, no_initial, 0, "no-initial", N_("do not make the files before the trace")),
    OPT_ROOM(T, memory, 0, "memory", N_("SIZE"), N_("of the page cache, usually 1G")),
    OPT_SIZE(T, background, 0, "dirty-background", N_("SIZE"), N_("when writeback begins")),
    OPT_SIZE(T, dirty, 0, "dirty", N_("SIZE"), N_("when writers wait")),
    OPT_COUNT(T, hz, 0, "hz", N_("N"), N_("ticks a second, for timestamps; usually 250")),
    OPT_NUMBER(T, phase, 0, "tick-phase", N_("NS"),
	       N_("when in a tick timestamps advance: one of the traced machine, modulo 4 ms")),
    OPT_TEXT(T, umask, 0, "umask", N_("OCTAL"), N_("of the replayed program, usually 022")),
    OPT_TEXT(T, policy, 0, "policy", N_("NAME"),
	     N_("the write path of a kernel, see extkit policy list; usually linux-6.18")),
    OPT_LIST(T, set, 0, "set", N_("SWITCH=VALUE"),
	     N_("one thing about it, see extkit policy show")),
    OPT_TEXT(
	T, region, 0, "region", N_("KEY=VALUE,..."),
	N_("of region:STORE: walk, track, stable, folio, block, batch, skips, skip_limit, "
	   "stores, zeros, max_store, align, bridge, inflight, segs, nr_to_write, dirty, memory, "
	   "slot")),
    OPT_TEXT(T, pace, 0, "pace", N_("EXTENT:PAGE"),
	     N_("let background writeback take that many ns for an extent and for a page, while "
		"writers go on; usually it takes no time")),
    OPT_TEXT(T, threads, 0, "threads", N_("N|trace"),
	     N_("that many workers, or one for each thread of the trace; usually everything runs "
		"in turn, and gives the same bytes every time")),
    OPT_LIST(T, fault, 0, "fault", N_("locate:N|copy:N"),
	     N_("every N-th write to an inline file does not find its inode's block, or meets the "
		"end of the program's memory: see the switch inline of extkit policy")),
    OPT_FLAG(T, nodelalloc, 0, "nodelalloc", N_("allocate when data are written to the cache")),
    OPT_FLAG(T, dioread_lock, 0, "dioread-lock", N_("allocate written extents, as older ext4 did")),
    OPT_FLAG(T, no_stores, 0, "no-stores", N_("leave stores through mappings out")),
    OPT_FLAG(T, lenient, 0, "lenient", N_("count and list what cannot be read or done and go on")),
    OPT_FLAG(T, crash, 0, "crash", N_("end as a power cut would: nothing pending is written")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_FLAG(T, all, 'a', "all", N_("rows of nothing too")),
    OPT_END,
};

static unsigned flags_of(const struct replay_opts *o)
{
	return (o->lenient ? (unsigned)EK_REPLAY_LENIENT : 0) |
	       (o->no_initial ? (unsigned)EK_REPLAY_NO_INITIAL : 0) |
	       (o->no_stores ? (unsigned)EK_REPLAY_NO_STORES : 0) |
	       (o->crash ? (unsigned)EK_REPLAY_CRASH : 0) |
	       (o->nodelalloc ? (unsigned)EK_REPLAY_NODELALLOC : 0) |
	       (o->dioread_lock ? (unsigned)EK_REPLAY_DIOREAD_LOCK : 0) |
	       (o->dry ? (unsigned)EK_REPLAY_DRY_RUN : 0);
}

static int set_umask(struct run *run, const char *text, struct ek_replay_options *opt)
{
	unsigned long mask;
	char *end;

	if (text == NULL)
		return EXIT_DONE;
	mask = strtoul(text, &end, 8);
	if (*text < '0' || *text > '7' || *end != '\0' || mask > 0777)
		return fail_usage(run, _("--umask: '%s' is no octal mask"), text);
	opt->umask = mask != 0 ? (uint32_t)mask : UINT32_MAX;
	return EXIT_DONE;
}

static int set_pace(struct run *run, const char *text, struct ek_replay_options *opt)
{
	unsigned long long extent, page;
	char *end;

	if (text == NULL)
		return EXIT_DONE;
	errno = 0;
	extent = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != ':' || end[1] < '0' || end[1] > '9')
		return fail_usage(run, _("--pace: '%s' is not EXTENT:PAGE in nanoseconds"), text);
	page = strtoull(end + 1, &end, 10);
	if (errno != 0 || *end != '\0' || extent > 1000000000 || page > 1000000000)
		return fail_usage(run, _("--pace: '%s' is not EXTENT:PAGE in nanoseconds"), text);
	opt->pace_extent_ns = extent;
	opt->pace_page_ns = page;
	return EXIT_DONE;
}

static int set_faults(struct run *run, const struct opt_list *list, struct ek_replay_options *opt)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *colon = strchr(list->v[i], ':');
		size_t n = colon != NULL ? (size_t)(colon - list->v[i]) : 0;
		bool copy = n == 4 && strncmp(list->v[i], "copy", n) == 0;
		unsigned long every = 0;
		char *end = NULL;

		errno = 0;
		if (copy || (n == 6 && strncmp(list->v[i], "locate", n) == 0))
			every = strtoul(colon + 1, &end, 10);
		if (every == 0 || every > UINT32_MAX || errno != 0 || *end != '\0' ||
		    colon[1] < '0' || colon[1] > '9')
			return fail_usage(run, _("--fault: '%s' is neither locate:N nor copy:N"),
					  list->v[i]);
		*(copy ? &opt->fault_copy_every : &opt->fault_locate_every) = (uint32_t)every;
	}
	return EXIT_DONE;
}

static int set_threads(struct run *run, const char *text, struct ek_replay_options *opt)
{
	unsigned long n;
	char *end;

	if (text == NULL)
		return EXIT_DONE;
	opt->threads = EK_THREADS_TRACE;
	if (strcmp(text, "trace") == 0)
		return EXIT_DONE;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || n == 0 ||
	    n >= EK_THREADS_TRACE)
		return fail_usage(run, _("--threads: '%s' is neither a number nor 'trace'"), text);
	opt->threads = (uint32_t)n;
	return EXIT_DONE;
}

/* ---- stages ---- */

static const struct out_col item_cols[] = {
    {"ns", N_("Time"), true}, {"what", N_("What"), false}, {"inode", N_("Inode"), true},
    {"at", N_("At"), true},   {"len", N_("Length"), true}, {"place", N_("Place"), true},
};

static int show_item(void *data, const struct ek_replay_item *item)
{
	struct run *run = data;
	char span[SHOW_MAX];

	out_u64_as(run->out, NULL, NULL, item->ns, show_span(span, item->ns));
	out_str(run->out, NULL, NULL, item->what);
	if (item->inode != 0)
		out_u64(run->out, NULL, NULL, item->inode);
	else
		out_none(run->out, NULL, NULL);
	out_u64(run->out, NULL, NULL, item->at);
	out_u64(run->out, NULL, NULL, item->len);
	out_u64(run->out, NULL, NULL, item->place);
	return 0;
}

static unsigned stage_of(const char *word)
{
	static const char *const words[] = {
	    [EK_STAGE_OP] = "op",
	    [EK_STAGE_FOLIO] = "folio",
	    [EK_STAGE_DELAYED] = "delayed",
	    [EK_STAGE_WRITEBACK] = "writeback",
	    [EK_STAGE_ALLOCATION] = "allocation",
	    [EK_STAGE_BIO] = "bio",
	    [EK_STAGE_COMPLETION] = "completion",
	};

	for (unsigned i = EK_STAGE_OP; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return EK_STAGE_NONE;
}

static int set_stop(struct run *run, const char *text, struct ek_replay_options *opt)
{
	char *end;

	if (text == NULL)
		return EXIT_DONE;
	opt->stage = stage_of(text);
	opt->item = show_item;
	opt->item_data = run;
	if (opt->stage != EK_STAGE_NONE)
		return EXIT_DONE;
	errno = 0;
	opt->stop_after = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || opt->stop_after == 0)
		return fail_usage(run,
				  _("--stop-after: '%s' is neither a number of operations nor "
				    "a stage"),
				  text);
	return EXIT_DONE;
}

static int fill(struct run *run, struct ek_replay_options *opt)
{
	const struct replay_opts *o = run->opts;
	int code = target_now(run, &opt->now);

	if (code == EXIT_DONE && o->initial == NULL && (o->extents != NULL || o->root != NULL))
		code = fail_usage(run, _("--%s belongs to --initial"),
				  o->extents != NULL ? "extents" : "root");

	if (code == EXIT_DONE && o->hz.v > 1000000)
		code = fail_usage(run, _("--hz: at most 1000000"));
	if (code == EXIT_DONE)
		code = set_umask(run, o->umask, opt);
	if (code == EXIT_DONE)
		code = set_pace(run, o->pace, opt);
	if (code == EXIT_DONE)
		code = set_faults(run, &o->fault, opt);
	if (code == EXIT_DONE)
		code = set_threads(run, o->threads, opt);
	opt->flags = flags_of(o);
	opt->clock = (unsigned)o->clock;
	opt->initial = o->initial;
	opt->extents = o->extents;
	opt->root = o->root;
	opt->memory = o->memory.v;
	opt->background_bytes = o->background.v;
	opt->dirty_bytes = o->dirty.v;
	opt->policy = o->policy;
	opt->region = o->region;
	opt->set = o->set.v;
	opt->nset = o->set.n;
	opt->hz = (uint32_t)o->hz.v;
	opt->tick_phase = (uint32_t)(o->phase.v % 1000000000u);
	return code != EXIT_DONE ? code : set_stop(run, o->stop_after, opt);
}

/* ---- reports ---- */

static const struct out_col report_cols[] = {
    {"group", N_("Group"), false},
    {"name", N_("Name"), false},
    {"value", N_("Value"), true},
};

static void report(struct run *run, const struct ek_replay_report *rep)
{
	const struct replay_opts *o = run->opts;
	const struct ek_replay_row *row;
	char span[SHOW_MAX];

	out_table(run->out, "report", report_cols, 3);
	for (size_t i = 0; (row = ek_replay_report_row(rep, i)) != NULL; i++) {
		size_t len = strlen(row->name);
		bool ns = len > 3 && strcmp(row->name + len - 3, "_ns") == 0;

		if (row->value == 0 && !o->all && !run->json)
			continue;
		out_str(run->out, NULL, NULL, row->group);
		out_str(run->out, NULL, NULL, row->name);
		if (ns)
			out_u64_as(run->out, NULL, NULL, row->value, show_span(span, row->value));
		else
			out_u64(run->out, NULL, NULL, row->value);
	}
	out_table_end(run->out);
}

static const struct out_col compare_cols[] = {
    {"counter", N_("Counter"), false},
    {"recorded", N_("Recorded"), true},
    {"ours", N_("Ours"), true},
    {"difference", N_("Difference"), true},
};

/* Recorders name events as our counters are named. */
static const struct ek_replay_row *find_row(const struct ek_replay_report *rep, const char *name)
{
	const struct ek_replay_row *row;

	for (size_t i = 0; (row = ek_replay_report_row(rep, i)) != NULL; i++)
		if (strcmp(row->group, "counter") == 0 && strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

static void compare_row(struct run *run, const struct recorded_row *theirs,
			const struct ek_replay_row *ours)
{
	out_str(run->out, NULL, NULL, theirs->name);
	out_i64(run->out, NULL, NULL, theirs->value);
	if (ours == NULL) {
		out_none(run->out, NULL, NULL);
		out_none(run->out, NULL, NULL);
		return;
	}
	out_u64(run->out, NULL, NULL, ours->value);
	out_i64(run->out, NULL, NULL, (int64_t)ours->value - theirs->value);
}

static void compare(struct run *run, const struct recorded *recorded,
		    const struct ek_replay_report *rep)
{
	const struct replay_opts *o = run->opts;

	out_table(run->out, "compare", compare_cols, 4);
	for (size_t i = 0; i < recorded->n; i++) {
		const struct ek_replay_row *ours = find_row(rep, recorded->rows[i].name);

		/* what has no counterpart here is the recorder's business */
		if (ours != NULL || o->all || run->json)
			compare_row(run, &recorded->rows[i], ours);
	}
	out_table_end(run->out);
}

/* ---- run ---- */

/* An image that is damaged, absent or in use is told as such before the trace is opened. */
static int check_image(struct run *run, const struct target *t)
{
	struct ek_image_options opt = {
	    .size = sizeof(opt), .offset = t->offset, .journal = run->journal};
	struct ek_image *img;
	int err = ek_image_open(run->ctx, t->image, &opt, &img);

	if (err == -EINVAL || err == -EISDIR)
		return fail(run, EXIT_DAMAGED, "%s", ek_ctx_message(run->ctx));
	if (err < 0)
		return fail_call(run, err);
	ek_image_close(img);
	return EXIT_DONE;
}

static int replay(struct run *run, const struct ek_replay_options *opt, const char *target,
		  const struct recorded *recorded)
{
	const struct replay_opts *o = run->opts;
	struct ek_replay_report *rep;
	int err;

	if (opt->stage != EK_STAGE_NONE)
		out_table(run->out, "items", item_cols, 6);
	err = ek_replay(run->ctx, run->argv[0], target, opt, &rep);
	if (opt->stage != EK_STAGE_NONE)
		out_table_end(run->out);
	if (err < 0)
		return fail_call(run, err);
	if (o->compare != NULL)
		compare(run, recorded, rep);
	if (opt->stage == EK_STAGE_NONE && (o->compare == NULL || run->json))
		report(run, rep);
	ek_replay_report_free(rep);
	return EXIT_DONE;
}

static int run_replay(struct run *run)
{
	const struct replay_opts *o = run->opts;
	struct ek_replay_options opt = {.size = sizeof(opt)};
	struct recorded recorded = {0};
	struct target t = {0};
	bool folder =
	    strncmp(run->argv[1], "dir:", 4) == 0 || strncmp(run->argv[1], "region:", 7) == 0;
	int code = fill(run, &opt);

	if (code == EXIT_DONE && o->compare != NULL)
		code = recorded_read(run, o->compare, &recorded);
	if (code == EXIT_DONE && !folder) {
		code = target_parse(run, run->argv[1], &t);
		if (code == EXIT_DONE && t.has_path)
			code = fail_usage(run, _("an image is wanted, not a path inside one"));
		if (code == EXIT_DONE)
			code = check_image(run, &t);
		opt.offset = t.offset;
	}
	if (code == EXIT_DONE)
		code = replay(run, &opt, folder ? run->argv[1] : t.image, &recorded);
	recorded_free(&recorded);
	return target_end(run, &t, code);
}

static const struct example replay_examples[] = {
    {"extkit replay app.wtb disk.img", N_("does to the image what the program did, and counts")},
    {"extkit replay --compare counters.tsv app.wtr disk.img",
     N_("puts counters that a kernel recorded beside ours")},
    {"extkit replay --crash --stop-after 1000 app.wtr disk.img",
     N_("leaves the image as a power cut would")},
    {"extkit replay --stop-after allocation app.wtr disk.img",
     N_("shows which blocks every run would get, and changes nothing")},
    {"extkit replay --region walk=batch,track=range gen:region: region:/tmp/store",
     N_("counts the stores of study 5's workload")},
    {"extkit replay gen:dd:bs=8K,count=8192,end=sync disk.img",
     N_("runs a workload that is made on the way; see extkit trace generate")},
    {NULL, NULL},
};

COMMAND(replay) = {
    .name = "replay",
    .brief = N_("run a trace on an image"),
    .args = N_("TRACE IMG|dir:DIR|region:STORE"),
    .about = N_(
	"Every operation goes through our page cache, delayed allocation, allocator and journal, "
	"so "
	"that the image has the same files and, as far as ext4's rules decide it, the same blocks. "
	"The report counts operations, what the kernel's tracepoints would have counted, inode "
	"marks, handles and folio sizes. With dir:DIR the operations are system calls below that "
	"folder instead. The trace gen:NAME:KEY=VALUE,... is made on the way by a generator: "
	"'extkit trace generate' lists them.\n\n"
	"With region:STORE the files' bytes go through region writeback to a store that takes them "
	"at any offset: a folder, or nbd://HOST/EXPORT or nbd+unix:///EXPORT?socket=FILE. The "
	"switches walk, track and stable of --set say how; --region has them too, and all that can "
	"be tuned: folio=SIZE|auto, block=SIZE (of the trackings block and bytes), batch=N (folios "
	"of a lookup, to 31), skips=afs|cifs and skip_limit=N (what is passed over before a flush "
	"ends), stores=async|sync, zeros=write|zero, max_store=SIZE, align=SIZE (where stores are "
	"cut), bridge=SIZE "
	"(clean bytes that save a store), inflight=N, segs=N, nr_to_write=PAGES, dirty=SIZE, "
	"memory=SIZE, slot=SIZE (what a file gets of an export). Folders, links and attributes "
	"pass without effect. Counters are equal in every run.\n\n"
	"An error in the trace is exit code 2 with file, line and column; an image that is too "
	"small is 4."),
    .options = replay_options,
    .examples = replay_examples,
    .min_args = 2,
    .max_args = 2,
    .opts_size = sizeof(struct replay_opts),
    .run = run_replay,
};
