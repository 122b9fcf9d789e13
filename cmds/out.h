/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a verb has to say: facts, sections of facts, and tables.  As text, facts are "Label: value"
 * lines and tables have aligned columns; with --json all of it is one object whose members are
 *named by keys, and stays valid JSON when the verb fails half-way.
 *
 *	out_u64(out, "blocks", _("Blocks"), 1024);
 *	out_table(out, "files", columns, 2);
 *	out_u64(out, NULL, NULL, inode); out_bytes(out, NULL, NULL, name, len);   (one row)
 *	out_table_end(out);
 *
 * Inside a table values fill the columns from left to right, and key and label are not looked at.
 */
#ifndef CMDS_OUT_H
#define CMDS_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct out;

struct out_col {
	const char *key;   /* JSON member */
	const char *title; /* heading, marked for translation */
	bool right;        /* numbers line up on the right */
};

/* quiet leaves out notes and headings.  verb becomes the first member of the JSON object. */
struct out *out_new(FILE *to, bool json, bool quiet, const char *verb);

/* Ends open tables and sections, writes everything, frees.  0, or a negative errno when something
 * could not be written. */
int out_close(struct out *out);

/* Text goes to another stream from here on, because standard output carries the result itself.  Not
 * for JSON. */
void out_divert(struct out *out, FILE *to);

void out_u64(struct out *out, const char *key, const char *label, uint64_t v);
void out_i64(struct out *out, const char *key, const char *label, int64_t v);
void out_bool(struct out *out, const char *key, const char *label, bool v);
void out_none(struct out *out, const char *key, const char *label);

/* Words of ours: translated in text, given raw in JSON. */
void out_word(struct out *out, const char *key, const char *label, const char *word);

/* Strings and bytes from outside: escaped. */
void out_str(struct out *out, const char *key, const char *label, const char *text);
void out_bytes(struct out *out, const char *key, const char *label, const void *bytes, size_t n);

/* Text and JSON differ: text says as_text ("1.5 MiB", "-rw-r--r--"), JSON the number. */
void out_u64_as(struct out *out, const char *key, const char *label, uint64_t v,
		const char *as_text);

/* A number that came out of a measurement or a division. */
void out_double(struct out *out, const char *key, const char *label, double v, int digits);

void out_section(struct out *out, const char *key, const char *title);
void out_section_end(struct out *out);

void out_table(struct out *out, const char *key, const struct out_col *cols, size_t n);
void out_table_end(struct out *out);

/* A sentence for people; nothing in JSON or when quiet. */
void out_note(struct out *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The members of a failure, JSON only. */
void out_error(struct out *out, int exit_code, const char *text, uint64_t need_blocks,
	       uint64_t need_inodes);

/* Bytes that are the result themselves, as cat gives them; not for JSON. */
void out_raw(struct out *out, const void *bytes, size_t n);

#endif
