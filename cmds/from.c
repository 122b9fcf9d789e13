/* SPDX-License-Identifier: BSD-2-Clause */
/* Options about trees become the library's, and its reports rows. */
#include "from.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fail.h"

static int parse_id(struct run *run, const char *word, const char *text, uint32_t *ret)
{
	uint64_t v;

	if (opt_number(text, &v) < 0 || v > UINT32_MAX)
		return fail_usage(run, _("--%s: '%s' is no number of an owner"), word, text);
	*ret = (uint32_t)v;
	return EXIT_DONE;
}

/* "FROM:TO" or "FROM:TO:COUNT". */
static int parse_map(struct run *run, const char *word, const char *text, struct ek_id_map *ret)
{
	unsigned long long v[3] = {0, 0, 1};
	const char *p = text;
	unsigned n = 0;
	char *end;

	while (n < 3 && *p >= '0' && *p <= '9') {
		errno = 0;
		v[n++] = strtoull(p, &end, 10);
		if (errno != 0 || v[n - 1] > UINT32_MAX)
			break;
		p = end;
		if (*p != ':')
			break;
		p++;
	}
	if (n < 2 || *p != '\0' || v[n - 1] > UINT32_MAX || v[2] == 0 ||
	    v[0] + v[2] - 1 > UINT32_MAX || v[1] + v[2] - 1 > UINT32_MAX)
		return fail_usage(run, _("--%s: '%s' is not FROM:TO:COUNT"), word, text);
	*ret = (struct ek_id_map){(uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2]};
	return EXIT_DONE;
}

static int parse_maps(struct run *run, const char *word, const struct opt_list *l,
		      const struct ek_id_map **ret, size_t *n)
{
	struct ek_id_map *maps = calloc(l->n + 1, sizeof(*maps));
	int code = EXIT_DONE;

	if (maps == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	for (size_t i = 0; i < l->n && code == EXIT_DONE; i++)
		code = parse_map(run, word, l->v[i], &maps[i]);
	*ret = maps;
	*n = l->n;
	return code;
}

const char *from_given(const struct from_opts *o)
{
	const struct {
		bool set;
		const char *word;
	} all[] = {
	    {o->all_root, "all-root"},
	    {o->owner != NULL, "owner"},
	    {o->group != NULL, "group"},
	    {o->users.n != 0, "map-users"},
	    {o->groups.n != 0, "map-groups"},
	    {o->excludes.n != 0, "exclude"},
	    {o->file_contexts != NULL, "file-contexts"},
	    {o->xattr_file != NULL, "xattr-file"},
	    {o->fs_config != NULL, "fs-config"},
	    {o->keep_going, "keep-going"},
	    {o->no_xattrs, "no-xattrs"},
	    {o->clamp, "clamp-mtime"},
	    {o->max_entries.set, "max-entries"},
	    {o->max_bytes.set, "max-bytes"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].set)
			return all[i].word;
	return NULL;
}

int from_fill(struct run *run, const struct from_opts *o, struct ek_tree_options *tree)
{
	int code = EXIT_DONE;

	tree->flags |= (o->all_root ? (unsigned)EK_TREE_ALL_ROOT : 0) |
		       (o->owner != NULL ? (unsigned)EK_TREE_UID : 0) |
		       (o->group != NULL ? (unsigned)EK_TREE_GID : 0) |
		       (o->clamp ? (unsigned)EK_TREE_CLAMP : 0) |
		       (o->keep_going ? (unsigned)EK_TREE_KEEP_GOING : 0) |
		       (o->no_xattrs ? (unsigned)EK_TREE_NO_XATTRS : 0);
	tree->excludes = o->excludes.v;
	tree->nexcludes = o->excludes.n;
	tree->file_contexts = o->file_contexts;
	tree->xattr_file = o->xattr_file;
	tree->fs_config = o->fs_config;
	tree->max_entries = o->max_entries.v;
	tree->max_bytes = o->max_bytes.v;
	if (o->owner != NULL)
		code = parse_id(run, "owner", o->owner, &tree->uid);
	if (code == EXIT_DONE && o->group != NULL)
		code = parse_id(run, "group", o->group, &tree->gid);
	if (code == EXIT_DONE)
		code = parse_maps(run, "map-users", &o->users, &tree->users, &tree->nusers);
	if (code == EXIT_DONE)
		code = parse_maps(run, "map-groups", &o->groups, &tree->groups, &tree->ngroups);
	return code;
}

void from_free(struct ek_tree_options *tree)
{
	free((void *)(uintptr_t)tree->users);
	free((void *)(uintptr_t)tree->groups);
	tree->users = tree->groups = NULL;
}

bool from_reads_once(const char *source)
{
	struct stat st;

	return strcmp(source, "-") == 0 ||
	       (stat(source, &st) == 0 &&
		(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode)));
}

int from_check(struct run *run, const struct ek_tree_options *tree)
{
	struct ek_create_options opt = {.size = sizeof(opt)};
	struct ek_tree_options trial = *tree;
	struct ek_tree_report *r;
	int err;

	for (size_t i = 0; i < tree->nsources; i++) {
		if (from_reads_once(tree->sources[i]))
			return EXIT_DONE;
	}
	trial.how = EK_SIZE_MIN;
	err = ek_create_tree(run->ctx, NULL, &opt, &trial, &r);
	if (err < 0)
		return fail_call(run, err);
	ek_tree_report_free(r);
	return EXIT_DONE;
}

int from_size(struct run *run, const char *text, struct ek_tree_options *tree, uint64_t *bytes)
{
	*bytes = 0;
	tree->how = EK_SIZE_GIVEN;
	if (text == NULL)
		return EXIT_DONE;
	if (strcmp(text, "auto") == 0)
		tree->how = EK_SIZE_AUTO;
	else if (strcmp(text, "min") == 0)
		tree->how = EK_SIZE_MIN;
	else if (opt_size(text, bytes) < 0)
		return fail_usage(run, _("--size: '%s' is no size, auto or min"), text);
	return EXIT_DONE;
}

static const struct out_col issue_cols[] = {{"path", N_("Path"), false}, {"why", N_("Why"), false}};

int from_issues(struct run *run, const struct ek_tree_report *r)
{
	if (run->json)
		out_u64(run->out, "failed", NULL, r->failed);
	if (run->json || r->nissues != 0) {
		out_table(run->out, "issues", issue_cols, 2);
		for (size_t i = 0; i < r->nissues; i++) {
			out_str(run->out, NULL, NULL, r->issues[i].path);
			out_str(run->out, NULL, NULL, r->issues[i].why);
		}
		out_table_end(run->out);
	}
	return r->failed != 0 ? EXIT_SKIPPED : EXIT_DONE;
}

void from_bill(struct run *run, const struct ek_tree_report *r)
{
	const struct {
		const char *key, *label;
		uint64_t v;
	} rows[] = {
	    {"bytes", N_("Bytes"), r->bytes},
	    {"block_size", N_("Block size"), r->block_size},
	    {"blocks", N_("Blocks"), r->blocks},
	    {"data", N_("  contents"), r->data},
	    {"folders", N_("  folders"), r->folders},
	    {"links", N_("  long links"), r->links},
	    {"xattrs", N_("  attributes"), r->xattrs},
	    {"maps", N_("  maps"), r->maps},
	    {"tables", N_("  bitmaps and inode tables"), r->tables},
	    {"supers", N_("  superblocks and descriptors"), r->supers},
	    {"journal", N_("  journal"), r->journal},
	    {"other", N_("  files of the filesystem"), r->other},
	    {"free", N_("  free"), r->free},
	    {"inodes", N_("Inodes"), r->inodes},
	    {"inodes_used", N_("  in use"), r->inodes_used},
	    {"entries", N_("Names"), r->entries},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		out_u64(run->out, rows[i].key, rows[i].label, rows[i].v);
}
