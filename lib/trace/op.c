/* SPDX-License-Identifier: BSD-2-Clause */
/* The vocabulary of ops as tables, and the loop that carries items from a source to a sink. */
#include <errno.h>
#include <linux/falloc.h>

#include "base/check.h"
#include "trace/op.h"
#include "trace/words.h"

const struct op_form op_forms[OP_COUNT] = {
    [OP_OPEN] = {"open", "hpA"},
    [OP_CLOSE] = {"close", "h"},
    [OP_WRITE] = {"write", "hol"},
    [OP_READ] = {"read", "hol"},
    [OP_MMAP] = {"mmap", "wholA"},
    [OP_MUNMAP] = {"munmap", "w"},
    [OP_MWRITE] = {"mwrite", "hol"},
    [OP_MSYNC] = {"msync", "holY"},
    [OP_COPY] = {"copy", "hoHOl"},
    [OP_CLONE] = {"clone", "hoHOl"},
    [OP_DEDUPE] = {"dedupe", "hoHOl"},
    [OP_TRUNCATE] = {"truncate", "pl"},
    [OP_FTRUNCATE] = {"ftruncate", "hl"},
    [OP_FALLOC] = {"falloc", "hFol"},
    [OP_FSYNC] = {"fsync", "h"},
    [OP_FDATASYNC] = {"fdatasync", "h"},
    [OP_SYNCRANGE] = {"syncrange", "holW"},
    [OP_SYNCFS] = {"syncfs", "?h"},
    [OP_SYNC] = {"sync", ""},
    [OP_MKDIR] = {"mkdir", "p?m"},
    [OP_RMDIR] = {"rmdir", "p"},
    [OP_UNLINK] = {"unlink", "p"},
    [OP_RENAME] = {"rename", "pq"},
    [OP_LINK] = {"link", "pq"},
    [OP_SYMLINK] = {"symlink", "tq"},
    [OP_MKNOD] = {"mknod", "pm?D"},
    [OP_CHMOD] = {"chmod", "xm"},
    [OP_CHOWN] = {"chown", "xu"},
    [OP_UTIMENS] = {"utimens", "xT"},
    [OP_SETXATTR] = {"setxattr", "xnl"},
    [OP_REMOVEXATTR] = {"removexattr", "xn"},
    [OP_SETFLAGS] = {"setflags", "hn"},
    [OP_SETPROJECT] = {"setproject", "ha"},
    [OP_ADVISE] = {"advise", "holV"},
    [OP_DROPCACHES] = {"dropcaches", "?n"},
    [OP_REMOUNT] = {"remount", "?n"},
    [OP_FREEZE] = {"freeze", "?n"},
    [OP_THAW] = {"thaw", "?n"},
    [OP_FORK] = {"fork", "a"},
    [OP_EXIT] = {"exit", "?a"},
    [OP_MARK] = {"mark", "n"},
    [OP_GAP] = {"gap", ""},
    [OP_STAT] = {"stat", "x"},
};

const char *const op_falloc_words[FALLOC_COUNT] = {"alloc",    "keep",     "punch",  "zero",
						   "zerokeep", "collapse", "insert", "unshare"};
const int op_falloc_modes[FALLOC_COUNT] = {
    [FALLOC_ALLOC] = 0,
    [FALLOC_KEEP] = FALLOC_FL_KEEP_SIZE,
    [FALLOC_PUNCH] = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
    [FALLOC_ZERO] = FALLOC_FL_ZERO_RANGE,
    [FALLOC_ZEROKEEP] = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
    [FALLOC_COLLAPSE] = FALLOC_FL_COLLAPSE_RANGE,
    [FALLOC_INSERT] = FALLOC_FL_INSERT_RANGE,
    [FALLOC_UNSHARE] = FALLOC_FL_UNSHARE_RANGE,
};
const char *const op_via_words[VIA_COUNT] = {"", "fault", "diff", "guess"};
const char *const op_advice_words[ADVICE_COUNT] = {"willneed", "dontneed", "random", "sequential"};

const struct flag_word open_flag_words[] = {
    {OPF_CREAT, "creat"},         {OPF_EXCL, "excl"},       {OPF_TRUNC, "trunc"},
    {OPF_APPEND, "append"},       {OPF_SYNC, "sync"},       {OPF_DSYNC, "dsync"},
    {OPF_DIRECT, "direct"},       {OPF_TMPFILE, "tmpfile"}, {OPF_NOFOLLOW, "nofollow"},
    {OPF_DIRECTORY, "directory"}, {OPF_NOATIME, "noatime"}, {0, NULL},
};

const struct flag_word bare_flag_words[] = {
    {OPF_NEW, "new"},
    {OPF_APPEND, "append"},
    {OPF_DIRECT, "direct"},
    {OPF_DONTCACHE, "dontcache"},
    {OPF_ATOMIC, "atomic"},
    {OPF_SHARED, "shared"},
    {OPF_NOFOLLOW, "nofollow"},
    {OPF_NOREPLACE, "noreplace"},
    {OPF_EXCHANGE, "exchange"},
    {OPF_WHITEOUT, "whiteout"},
    {0, NULL},
};

int word_find(const char *const *words, unsigned n, const char *p, size_t len)
{
	for (unsigned i = 0; i < n; i++)
		if (words[i] && strlen(words[i]) == len && memcmp(words[i], p, len) == 0)
			return (int)i;
	return -1;
}

const char *op_word(enum op_code code)
{
	return (unsigned)code < OP_COUNT && op_forms[code].word ? op_forms[code].word : "?";
}

enum op_code op_find(const char *word, size_t n)
{
	for (unsigned i = 1; i < OP_COUNT; i++) {
		const char *w = op_forms[i].word;

		if (w && w[0] == word[0] && strlen(w) == n && memcmp(w, word, n) == 0)
			return (enum op_code)i;
	}
	return OP_NONE;
}

int op_copy(struct op_source *from, struct op_sink *to)
{
	const struct op *o;
	int err = op_sink_header(to, &from->header);

	if (err < 0)
		return err;
	while ((err = op_next(from, &o)) > 0) {
		err = op_write(to, o);
		if (err < 0)
			return err;
	}
	return err < 0 ? err : op_finish(to, op_whole(from));
}
