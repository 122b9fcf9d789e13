/* SPDX-License-Identifier: BSD-2-Clause */
/* A manifest that is read, as its parts share it: values (manifest_values.c), lines
 * (source_spec.c), contents (manifest_contents.c). */
#ifndef TREE_MANIFEST_IMPL_H
#define TREE_MANIFEST_IMPL_H

#include "base/str.h"
#include "tree/source.h"
#include "tree/xattrs.h"

#define MANIFEST_BUF ((size_t)1 << 16)
/* The longest word: the value of an attribute, every byte of it escaped. */
#define MANIFEST_WORD ((size_t)1 << 19)

/* Where contents are: in the manifest itself, or in a file beside it. */
enum place_kind { PLACE_NONE, PLACE_BASE64, PLACE_TEXT, PLACE_FILE };

struct place {
	enum place_kind kind;
	uint64_t at, len;        /* characters of the manifest */
	char *text;              /* the bytes, or the name of the file */
	struct tree_range *data; /* what the bytes in the manifest are of the file; NULL: all */
	size_t ndata;
};

/* A range of the place token, and how many bytes those before it have. */
struct range_cursor {
	uint64_t token, packed;
	size_t at;
};

struct defaults {
	uint32_t mode, uid, gid, type;
	bool has_mode;
};

struct reader {
	struct tree_source s;
	int fd, folder; /* folder: the one that the manifest lies in */
	uint8_t *buf;
	size_t len, at;
	uint64_t off; /* of buf's end in the file */
	uint64_t line;
	struct str path, link, target, file, word;
	struct xattr_list xattrs;
	struct tree_range *ranges;
	size_t nranges, ranges_cap;
	struct place *places;
	size_t nplaces, places_cap;
	struct defaults set;
	int open_fd;
	uint64_t open_token;
	struct range_cursor cursor;
	bool has_size, has_data, has_type, has_map;
	uint32_t words, lasting; /* of the line; those that /set may have too */
	struct place here;       /* of the line's contents */
};

/* -EINVAL with the line, and the value unless it is NULL. */
int manifest_bad(struct reader *r, const char *why, const char *value);

/* ---- characters ----
 * The next one, or -1 at the end with an error in *rc; blanks, and the rest of a line, are passed
 * over; a word ends before a blank, or before stop. */
int manifest_peek(struct reader *r, int *rc);
int manifest_skip_blanks(struct reader *r);
int manifest_skip_line(struct reader *r);
int manifest_read_word(struct reader *r, int stop, struct str *to);

/* ---- values ---- of words; *ret and *e are touched on success only. */
int manifest_number(struct reader *r, const char *text, int base, uint64_t most, uint64_t *ret);
int manifest_narrow(struct reader *r, const char *text, int base, uint64_t most, uint32_t *ret);
int manifest_time_value(struct reader *r, const char *text, struct ek_time *ret);
int manifest_type_value(struct reader *r, const char *text, uint32_t *ret);
int manifest_device_value(struct reader *r, char *text, struct tree_entry *e);
int manifest_text_value(struct reader *r, struct str *s);
int manifest_path_value(struct reader *r, struct str *s);
int manifest_xattr_value(struct reader *r, const char *name);

/* The same of values that are read piece by piece: they may be longer than a word. */
int manifest_map_value(struct reader *r);
int manifest_data_value(struct reader *r);

/* Contents of a place; the read of tree_source_ops. */
int manifest_read(struct tree_source *s, uint64_t token, uint64_t off, void *buf, size_t len);

#endif
