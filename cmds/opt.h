/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options are rows of a const table.  A row names its letter, its word, what it takes, the member
 * of the verb's option struct it fills and one line of help; everything else is made from that.
 *
 * On the command line: -abc, -ovalue, -o value, --word=value, --word value; "--" ends options;
 * options may follow operands.  A word must be complete: a prefix that is unique today is not
 * tomorrow.
 */
#ifndef CMDS_OPT_H
#define CMDS_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

enum opt_kind {
	OPT_KIND_END,
	OPT_KIND_FLAG,   /* bool */
	OPT_KIND_TEXT,   /* const char * */
	OPT_KIND_FILE,   /* const char *, completed as a file name */
	OPT_KIND_NUMBER, /* struct opt_num */
	OPT_KIND_SIZE,   /* struct opt_num, in bytes, with a suffix */
	OPT_KIND_TIME,   /* struct opt_num, in nanoseconds, with a unit: ns us ms s; bare is seconds
			  */
	OPT_KIND_CHOICE, /* int: the position in "one|two|three" */
	OPT_KIND_LIST    /* struct opt_list: may be given again */
};

struct opt_num {
	bool set;
	uint64_t v;
};

struct opt_list {
	size_t n;
	const char **v; /* freed by opt_free */
};

struct opt {
	char letter;      /* 0: none */
	const char *word; /* without dashes */
	enum opt_kind kind;
	const char *arg;  /* what the synopsis calls the value; for a choice "one|two" */
	size_t at;        /* offset in the option struct */
	const char *help; /* one line without a full stop */
	bool positive;    /* a number or size: 0 means nothing */
};

/* The offset of a member, which must have this type. */
#define OPT_AT(s, member, type) (offsetof(s, member) + 0 * sizeof(&((s *)0)->member == (type *)0))

/* A row: the member m of struct s has this type; floor is true when 0 means nothing. */
#define OPT_ROW(s, m, type, kind, letter, word, arg, help, floor)        \
	{                                                                \
		letter, word, kind, arg, OPT_AT(s, m, type), help, floor \
	}
#define OPT_FLAG(s, m, letter, word, help) \
	OPT_ROW(s, m, bool, OPT_KIND_FLAG, letter, word, NULL, help, false)
#define OPT_TEXT(s, m, letter, word, arg, help) \
	OPT_ROW(s, m, const char *, OPT_KIND_TEXT, letter, word, arg, help, false)
#define OPT_FILE(s, m, letter, word, arg, help) \
	OPT_ROW(s, m, const char *, OPT_KIND_FILE, letter, word, arg, help, false)
#define OPT_NUMBER(s, m, letter, word, arg, help) \
	OPT_ROW(s, m, struct opt_num, OPT_KIND_NUMBER, letter, word, arg, help, false)
#define OPT_SIZE(s, m, letter, word, arg, help) \
	OPT_ROW(s, m, struct opt_num, OPT_KIND_SIZE, letter, word, arg, help, false)
/* The same of at least 1. */
#define OPT_COUNT(s, m, letter, word, arg, help) \
	OPT_ROW(s, m, struct opt_num, OPT_KIND_NUMBER, letter, word, arg, help, true)
#define OPT_ROOM(s, m, letter, word, arg, help) \
	OPT_ROW(s, m, struct opt_num, OPT_KIND_SIZE, letter, word, arg, help, true)
#define OPT_TIME(s, m, letter, word, arg, help) \
	OPT_ROW(s, m, struct opt_num, OPT_KIND_TIME, letter, word, arg, help, false)
#define OPT_CHOICE(s, m, letter, word, choices, help) \
	OPT_ROW(s, m, int, OPT_KIND_CHOICE, letter, word, choices, help, false)
#define OPT_LIST(s, m, letter, word, arg, help) \
	OPT_ROW(s, m, struct opt_list, OPT_KIND_LIST, letter, word, arg, help, false)
#define OPT_END                                             \
	{                                                   \
		0, NULL, OPT_KIND_END, NULL, 0, NULL, false \
	}

/* One table together with the struct it fills. */
struct opt_into {
	const struct opt *table; /* may be NULL */
	void *fill;
};

#define OPT_WHY 256

/*
 * Takes the options out of argv[0..*argc) and leaves the operands there in their order.  With
 * stop_at_operand parsing ends at the first operand.  Returns 0, or -1 with one line in why.
 */
int opt_parse(const struct opt_into *into, size_t n, int *argc, char **argv, bool stop_at_operand,
	      char why[OPT_WHY]);

/* Frees what lists hold. */
void opt_free(const struct opt *table, void *fill);

/* "64M" to bytes: K M G T P (and KiB ...) are powers of 1024, kB MB GB TB PB of 1000, bare numbers
 * are bytes.  0 or -1. */
int opt_size(const char *text, uint64_t *ret);

/* "1.5ms" to nanoseconds. */
int opt_time(const char *text, uint64_t *ret);

/* Decimal, or 0x and hexadecimal. */
int opt_number(const char *text, uint64_t *ret);

#endif
