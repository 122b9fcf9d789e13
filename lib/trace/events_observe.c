/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel events as observed lines: short names, and only the fields that a replay or a comparison
 * uses, one row per event. */
#include <stdlib.h>

#include "base/check.h"
#include "trace/events.h"

#define KEYS 8

struct observed {
	const char *event;
	const char *name;
	struct {
		const char *from, *to;
	} key[KEYS];
};

static const struct observed rows[] = {
    {"writeback_dirty_folio", "dirty", {{"ino", "ino"}, {"index", "index"}}},
    {"writeback_dirty_page", "dirty", {{"ino", "ino"}, {"index", "index"}}},
    {"ext4_writepages",
     "writepages",
     {{"ino", "ino"},
      {"range_start", "start"},
      {"range_end", "end"},
      {"nr_to_write", "nr"},
      {"sync_mode", "sync"},
      {"for_kupdate", "kupdate"},
      {"range_cyclic", "cyclic"},
      {"writeback_index", "index"}}},
    {"ext4_writepages_result",
     "written",
     {{"ino", "ino"}, {"ret", "ret"}, {"pages_written", "pages"}}},
    {"ext4_da_write_pages_extent",
     "extent",
     {{"ino", "ino"}, {"lblk", "lblk"}, {"len", "len"}, {"flags", "flags"}}},
    {"ext4_allocate_blocks",
     "alloc",
     {{"ino", "ino"},
      {"lblk", "lblk"},
      {"len", "len"},
      {"block", "block"},
      {"goal", "goal"},
      {"flags", "flags"}}},
    {"ext4_free_blocks", "free", {{"ino", "ino"}, {"block", "block"}, {"count", "len"}}},
    {"jbd2_start_commit", "commit", {{"transaction", "tid"}, {"sync", "sync"}}},
    {"jbd2_handle_stats",
     "handle",
     {{"tid", "tid"},
      {"type", "type"},
      {"requested_blocks", "requested"},
      {"dirtied_blocks", "dirtied"}}},
    {"writeback_start",
     "wbkick",
     {{"nr_pages", "nr"},
      {"sync_mode", "sync"},
      {"kupdate", "kupdate"},
      {"range_cyclic", "cyclic"},
      {"background", "background"},
      {"reason", "reason"}}},
    {"balance_dirty_pages", "throttle", {{"dirty", "dirty"}, {"pause", "pause"}}},
};

static void append(char **to, const char *end, const char *p, size_t n)
{
	n = MIN(n, (size_t)(end - *to));
	memcpy(*to, p, n);
	*to += n;
}

static void append_key(char **to, const char *end, const char *start, const char *key,
		       struct op_str value)
{
	static const char huge[] = "9223372036854775807";

	if (*to > start)
		append(to, end, " ", 1);
	append(to, end, key, strlen(key));
	append(to, end, "=", 1);
	if (value.n == sizeof(huge) - 1 && memcmp(value.p, huge, value.n) == 0)
		append(to, end, "max", 3);
	else
		append(to, end, value.p, value.n);
}

static void emit(struct events *e, const char *name, const char *end)
{
	struct op *op = import_begin(&e->im, OP_OBSERVED);

	op->plain = 0;
	op->name = (struct op_str){name, (uint32_t)strlen(name)};
	op->extra = (struct op_str){e->extra, (uint32_t)(end - e->extra)};
	import_emit(&e->im);
}

/* "M,m RWBS sector + n [task]": the letters stay as they are. */
static bool observe_bio(struct events *e, const struct event_line *l)
{
	const char *p = memchr(l->fields.p, ' ', l->fields.n), *end = l->fields.p + l->fields.n;
	char *to = e->extra, *stop = e->extra + sizeof(e->extra);
	struct op_str word[4];
	unsigned n = 0;

	while (p && p < end && n < 4) {
		const char *from;

		while (p < end && *p == ' ')
			p++;
		for (from = p; p < end && *p != ' ';)
			p++;
		word[n++] = (struct op_str){from, (uint32_t)(p - from)};
	}
	if (n < 4 || word[0].n == 0 || word[1].n == 0 || word[3].n == 0)
		return false;
	append_key(&to, stop, e->extra, "rwbs", word[0]);
	append_key(&to, stop, e->extra, "sector", word[1]);
	append_key(&to, stop, e->extra, "n", word[3]);
	emit(e, "bio", to);
	return true;
}

bool events_observe(struct events *e, const struct event_line *l)
{
	char *to = e->extra, *end = e->extra + sizeof(e->extra);
	const struct observed *r = rows;

	if (l->event.n == 15 && memcmp(l->event.p, "block_bio_queue", 15) == 0)
		return observe_bio(e, l);
	while (r < rows + ARRAY_SIZE(rows) &&
	       (strlen(r->event) != l->event.n || memcmp(r->event, l->event.p, l->event.n) != 0))
		r++;
	if (r == rows + ARRAY_SIZE(rows))
		return false;
	for (unsigned i = 0; i < KEYS && r->key[i].from; i++) {
		struct op_str value;

		if (event_word(l->fields, r->key[i].from, &value))
			append_key(&to, end, e->extra, r->key[i].to, value);
	}
	emit(e, r->name, to);
	return true;
}
