// SPDX-License-Identifier: BSD-2-Clause
/* Nine recordings of real programs: the import gives the known ops, and playing them gives the tree
 * that was recorded afterwards. */
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/diag.h"
#include "trace/import.h"
#include "trace/names.h"
#include "trace/stream.h"
#include "trace/wtr.h"

static struct diag diag;

/* Where the recordings are, from where this file is. */
static const char *data_path(const char *name)
{
	static char path[512];
	const char *slash = strrchr(__FILE__, '/');

	snprintf(path, sizeof(path), "%.*s/../data/traces/%s", slash ? (int)(slash - __FILE__) : 1,
		 slash ? __FILE__ : ".", name);
	return path;
}

/* What must be the same in both imports of a recording. */
struct fact {
	uint64_t time, off, len;
	uint32_t thread, code;
};

static int by_all(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fact));
}

static size_t facts_of(struct op_source *s, struct fact **ret)
{
	size_t n = 0, cap = 0;
	const struct op *o;

	*ret = NULL;
	while (op_next(s, &o) > 0) {
		if (o->code < OP_WRITE || o->code > OP_UTIMENS || o->code == OP_READ ||
		    o->code == OP_MMAP || o->code == OP_MUNMAP || o->code == OP_MKNOD)
			continue;
		if (n == cap) {
			cap = cap ? cap * 2 : 1024;
			*ret = realloc(*ret, cap * sizeof(**ret));
		}
		(*ret)[n++] =
		    (struct fact){(o->time + 500) / 1000, o->off, o->len, o->thread, o->code};
	}
	op_source_close(s);
	qsort(*ret, n, sizeof(**ret), by_all);
	return n;
}

static void check_recording(const char *name)
{
	char log[600], ops[600], initial[600];
	const char *const logs[] = {log};
	struct import_options opt = {.root = "/t", .initial = initial, .flags = IMPORT_NO_READS};
	struct fact *ours, *theirs;
	struct op_source *s;
	struct instream *in;
	size_t n, m;

	snprintf(log, sizeof(log), "%s/strace.txt.zst", data_path(name));
	snprintf(ops, sizeof(ops), "%s/ops.wtr.zst", data_path(name));
	snprintf(initial, sizeof(initial), "%s/initial.tsv.zst", data_path(name));
	if (access(log, R_OK) != 0)
		SKIP("tests/data/traces is not here");
	diag_clear(&diag);
	CHECK_INT(strace_import(logs, 1, &opt, &diag, &s), 0);
	n = facts_of(s, &ours);
	CHECK_INT(instream_open(ops, 0, &diag, &in), 0);
	CHECK_INT(wtr_read(in, 0, &diag, &s), 0);
	m = facts_of(s, &theirs);
	CHECK_INT(n, m);
	for (size_t i = 0; i < n; i++)
		if (memcmp(&ours[i], &theirs[i], sizeof(*ours)) != 0)
			TAP_FAIL("%s: %s at %llu us differs", name, op_word(ours[i].code),
				 (unsigned long long)ours[i].time);
	free(ours);
	free(theirs);
}

/* The files that a trace leaves behind, by name: what a replay must end with. */
struct tree {
	struct names ns;
	struct hash open;  /* by handle: struct opened */
	const char *wrong; /* the first op that could not be played */
};

struct opened {
	struct hash_node node;
	struct file *file;
};

static struct name *look(struct tree *t, struct op_str path)
{
	return names_walk(&t->ns, t->ns.root, path.p, path.n, 0);
}

/* What a handle stands for, or NULL. */
static struct file *held(struct tree *t, const struct op *o, uint32_t handle)
{
	struct hash_node *h = hash_find(&t->open, handle);

	if (!h && !t->wrong)
		t->wrong = op_word(o->code);
	return h ? hash_entry(h, struct opened, node)->file : NULL;
}

static void grow(struct file *f, uint64_t end)
{
	if (f && end > f->size)
		f->size = end;
}

static void play_open(struct tree *t, const struct op *o)
{
	struct name *n = look(t, o->path);
	struct opened *open = calloc(1, sizeof(*open));

	if ((!n->file && !(o->flags & OPF_CREAT)) || (n->file && (o->flags & OPF_EXCL)) ||
	    (!n->file) != ((o->flags & OPF_NEW) != 0))
		t->wrong = t->wrong ? t->wrong : "open";
	open->file = file_get(name_file(n));
	if (o->flags & OPF_TRUNC)
		open->file->size = 0;
	hash_insert(&t->open, &open->node, o->handle);
	name_put(&t->ns, n);
}

static void play_close(struct tree *t, const struct op *o)
{
	struct hash_node *h = hash_find(&t->open, o->handle);

	if (!held(t, o, o->handle))
		return;
	hash_remove(&t->open, h);
	file_put(hash_entry(h, struct opened, node)->file);
	free(hash_entry(h, struct opened, node));
}

/* Calls on names: the first must exist, except where it is made. */
static void play_names(struct tree *t, const struct op *o)
{
	bool makes = o->code == OP_MKDIR || o->code == OP_MKNOD || o->code == OP_SYMLINK;
	struct name *a = o->code == OP_SYMLINK ? NULL : look(t, o->path);
	struct name *b = o->path2.n ? look(t, o->path2) : NULL;

	if (!makes && !a->file && !t->wrong)
		t->wrong = op_word(o->code);
	if (o->code == OP_UNLINK || o->code == OP_RMDIR)
		name_unlink(&t->ns, a);
	else if (o->code == OP_RENAME && name_move(&t->ns, a, b) < 0)
		t->wrong = "rename";
	else if (o->code == OP_LINK)
		name_set_file(b, file_get(a->file));
	else if (makes)
		name_set_file(b ? b : a, file_new('d'));
	name_put(&t->ns, a);
	name_put(&t->ns, b);
}

static void play(struct tree *t, const struct op *o)
{
	struct name *n;

	if (o->code == OP_NODE) {
		n = look(t, o->node->path);
		name_file(n)->size = o->node->size;
		name_put(&t->ns, n);
	} else if (o->code == OP_OPEN) {
		play_open(t, o);
	} else if (o->code == OP_CLOSE) {
		play_close(t, o);
	} else if (o->code == OP_WRITE) {
		grow(held(t, o, o->handle), o->off + o->len);
	} else if (o->code == OP_COPY) {
		held(t, o, o->handle);
		grow(held(t, o, o->handle2), o->off2 + o->len);
	} else if (o->code == OP_FTRUNCATE) {
		struct file *f = held(t, o, o->handle);

		if (f)
			f->size = o->len;
	} else if (o->path.n) {
		play_names(t, o);
	} else if (o->handle) {
		held(t, o, o->handle);
	}
}

static void clear_tree(struct tree *t)
{
	struct hash_node *h;
	size_t at = 0;

	while ((h = hash_pop(&t->open, &at))) {
		file_put(hash_entry(h, struct opened, node)->file);
		free(hash_entry(h, struct opened, node));
	}
	hash_free(&t->open);
	names_free(&t->ns);
}

/* Every file of the recorded tree is there with its size; the number of files, or -1. */
static int compare_tree(struct tree *t, const char *path)
{
	struct instream *in;
	struct lines l;
	char *line, *col[8];
	size_t n;
	int files = 0;

	if (instream_open(path, 0, &diag, &in) < 0 || lines_init(&l, in, 65536) < 0)
		return -1;
	while (files >= 0 && lines_next(&l, &line, &n) > 0) {
		struct name *name;
		char *save = NULL;

		if (strncmp(line, "/t/", 3) != 0)
			continue;
		for (int i = 0; i < 8; i++)
			col[i] = strtok_r(i ? NULL : line, "\t", &save);
		name =
		    names_walk(&t->ns, t->ns.root, col[0] + 2, strlen(col[0] + 2), WALK_EXISTING);
		if (!name || !name->file ||
		    (col[1][0] == 'f' && name->file->size != strtoull(col[6], NULL, 10))) {
			printf("# %s: %s %s\n", col[0],
			       name ? "has another size than" : "is not there, of", col[6]);
			files = -2;
		}
		files++;
		name_put(&t->ns, name);
	}
	lines_free(&l);
	return files;
}

static void check_tree(const char *name)
{
	char log[600], tree_path[600], initial[600];
	const char *const logs[] = {log};
	struct import_options opt = {.root = "/t", .initial = initial};
	struct tree t = {0};
	struct op_source *s;
	const struct op *o;

	snprintf(log, sizeof(log), "%s/strace.txt.zst", data_path(name));
	snprintf(tree_path, sizeof(tree_path), "%s/tree.tsv.zst", data_path(name));
	snprintf(initial, sizeof(initial), "%s/initial.tsv.zst", data_path(name));
	if (access(tree_path, R_OK) != 0)
		SKIP("tests/data/traces is not here");
	diag_clear(&diag);
	CHECK_INT(names_init(&t.ns), 0);
	name_file(t.ns.root);
	CHECK_INT(strace_import(logs, 1, &opt, &diag, &s), 0);
	while (op_next(s, &o) > 0)
		play(&t, o);
	op_source_close(s);
	CHECK_STR(t.wrong ? t.wrong : "", "");
	CHECK(compare_tree(&t, tree_path) > 0);
	clear_tree(&t);
}

#define RECORDING(word, name)                                    \
	TEST(the_recording_of_##word##_imports_to_the_known_ops) \
	{                                                        \
		check_recording(name);                           \
	}

#define TREE(word, name)                                           \
	TEST(the_recording_of_##word##_plays_to_the_recorded_tree) \
	{                                                          \
		check_tree(name);                                  \
	}

TREE(dd, "dd-8k")
TREE(sqlite, "sqlite-insert")
TREE(git, "git-clone-commit")
TREE(tar, "tar-x-src")
TREE(make, "make-c")
TREE(fio, "fio-mix")
TREE(fstime, "fstime-copy")
TREE(kmio, "kmio16")
TREE(pgbench, "pgbench-small")

RECORDING(dd, "dd-8k")
RECORDING(sqlite, "sqlite-insert")
RECORDING(git, "git-clone-commit")
RECORDING(tar, "tar-x-src")
RECORDING(make, "make-c")
RECORDING(fio, "fio-mix")
RECORDING(fstime, "fstime-copy")
RECORDING(kmio, "kmio16")
RECORDING(pgbench, "pgbench-small")

int main(void)
{
	return tap_main();
}
