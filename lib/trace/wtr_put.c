/* SPDX-License-Identifier: BSD-2-Clause */
/* The pieces of a text line on the way out; wtr_cursor.c reads what this writes. */
#include "trace/wtr_put.h"

#include "trace/words.h"

char *put_u64(char *p, uint64_t v)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		*p++ = digits[--n];
	return p;
}

char *put_octal(char *p, uint32_t v)
{
	char digits[12];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + (v & 7));
		v >>= 3;
	} while (v || n < 4);
	while (n)
		*p++ = digits[--n];
	return p;
}

char *put_hex(char *p, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*p++ = digits[bytes[i] >> 4];
		*p++ = digits[bytes[i] & 15];
	}
	return p;
}

char *put_text(char *p, const char *text)
{
	size_t n = strlen(text);

	memcpy(p, text, n);
	return p + n;
}

char *put_bytes(char *p, struct op_str s)
{
	if (s.n)
		memcpy(p, s.p, s.n);
	return p + s.n;
}

/* Length of the UTF-8 sequence at p (2 to 4), or 0 when there is none. */
static unsigned utf8_len(const unsigned char *p, size_t left)
{
	unsigned n = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
	uint32_t cp;

	if (n == 0 || n > left)
		return 0;
	cp = p[0] & (0x7fu >> n);
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (p[i] & 0x3f);
	}
	if ((n == 3 && (cp < 0x800 || (cp >= 0xd800 && cp < 0xe000))) ||
	    (n == 4 && (cp < 0x10000 || cp > 0x10ffff)))
		return 0;
	return n;
}

char *put_escaped(char *p, struct op_str s)
{
	const unsigned char *from = (const unsigned char *)s.p;

	for (uint32_t i = 0; i < s.n;) {
		unsigned n = from[i] > 0x20 && from[i] < 0x7f && from[i] != '%' ? 1 : 0;

		if (from[i] >= 0x80)
			n = utf8_len(from + i, s.n - i);
		if (n == 0) {
			*p++ = '%';
			p = put_hex(p, from + i, 1);
			i++;
		} else {
			memcpy(p, from + i, n);
			p += n;
			i += n;
		}
	}
	return p;
}

static char *put_time(char *p, struct op_time t)
{
	if (t.nsec == OP_TIME_NOW)
		return put_text(p, "now");
	if (t.nsec == OP_TIME_OMIT)
		return put_text(p, "omit");
	if (t.nsec == OP_TIME_UNKNOWN)
		return put_text(p, "?");
	if (t.sec < 0)
		*p++ = '-';
	p = put_u64(p, t.sec < 0 ? 0 - (uint64_t)t.sec : (uint64_t)t.sec);
	*p++ = '.';
	for (uint32_t unit = 100000000; unit; unit /= 10)
		*p++ = (char)('0' + t.nsec / unit % 10);
	return p;
}

static char *put_flags(char *p, uint32_t flags, const struct flag_word *words)
{
	char *start = p;

	for (; words->word; words++)
		if (flags & words->flag) {
			if (p != start)
				*p++ = ',';
			p = put_text(p, words->word);
		}
	return p;
}

static const struct flag_word wait_words[] = {
    {OPF_WAIT_BEFORE, "wb"}, {OPF_START, "w"}, {OPF_WAIT_AFTER, "wa"}, {0, NULL}};

static char *put_access(char *p, uint32_t flags)
{
	if (flags & OPF_PATH)
		return put_text(p, "path");
	if (flags & OPF_WRITE)
		return put_text(p, flags & OPF_READ ? "rw" : "w");
	return put_text(p, "r");
}

static char *put_id(char *p, uint32_t id)
{
	return id == UINT32_MAX ? put_text(p, "-1") : put_u64(p, id);
}

static char *put_number(char *p, char letter, uint32_t v)
{
	*p++ = letter;
	return put_u64(p, v);
}

static char *put_dev(char *p, uint64_t dev)
{
	p = put_u64(p, dev >> 32);
	*p++ = ':';
	return put_u64(p, dev & UINT32_MAX);
}

static char *put_cold_arg(char *p, const struct op *o, char kind)
{
	switch (kind) {
	case 'H':
		return put_number(p, 'h', o->handle2);
	case 'w':
		return put_number(p, 'm', o->window);
	case 'x':
		return o->path.n ? put_escaped(p, o->path) : put_number(p, 'h', o->handle);
	case 'O':
		return put_u64(p, o->off2);
	case 'a':
		return put_u64(p, o->arg);
	case 'p':
	case 't':
		return put_escaped(p, o->path);
	case 'q':
		return put_escaped(p, o->path2);
	case 'n':
		return put_escaped(p, o->name);
	case 'm':
		return put_octal(p, o->mode);
	case 'u':
		p = put_id(p, o->uid);
		*p++ = ' ';
		return put_id(p, o->gid);
	case 'D':
		return put_dev(p, o->dev);
	case 'T':
		p = put_time(p, o->atime);
		*p++ = ' ';
		return put_time(p, o->mtime);
	case 'A':
		return put_access(p, o->flags);
	case 'W':
		return put_flags(p, o->flags, wait_words);
	case 'Y':
		return put_text(p, o->flags & OPF_ASYNC ? "async" : "sync");
	case 'F':
		return put_text(p, o->sub < FALLOC_COUNT ? op_falloc_words[o->sub] : "alloc");
	default:
		return put_text(p, o->sub < ADVICE_COUNT ? op_advice_words[o->sub] : "willneed");
	}
}

static char *put_arg(char *p, const struct op *o, char kind)
{
	*p++ = ' ';
	switch (kind) {
	case 'h':
		return put_number(p, 'h', o->handle);
	case 'o':
		return put_u64(p, o->off);
	case 'l':
		return put_u64(p, o->len);
	default:
		return put_cold_arg(p, o, kind);
	}
}

/* Whether an argument that may be missing is there. */
static bool given(const struct op *o, char kind)
{
	switch (kind) {
	case 'h':
		return o->handle != 0;
	case 'm':
		return true;
	case 'n':
		return o->name.n != 0;
	case 'D':
		return o->dev != 0;
	default:
		return o->arg != 0;
	}
}

static char *put_data(char *p, const struct op_data *d, const uint8_t *hash)
{
	static const char kinds[] = "?zcbprx";
	uint8_t crc[4];

	p = put_text(p, " data=");
	*p++ = kinds[d->kind < DATA_KINDS ? d->kind : 0];
	if (d->kind == DATA_ZERO)
		return p;
	*p++ = ':';
	switch (d->kind) {
	case DATA_CRC:
		for (unsigned i = 0; i < 4; i++)
			crc[i] = (uint8_t)(d->crc >> (24 - 8 * i));
		return put_hex(p, crc, 4);
	case DATA_BLOB:
		return put_hex(p, hash, 32);
	case DATA_MIXED:
		p = put_u64(p, d->percent);
		*p++ = ':';
		return put_u64(p, d->seed);
	case DATA_INLINE:
		return put_hex(p, d->bytes, d->n);
	default:
		return put_u64(p, d->seed);
	}
}

static char *put_key(char *p, const char *key, struct op_str v)
{
	return v.n ? put_bytes(put_text(p, key), v) : p;
}

/* The keys of an op: open's flags and mode, words, then values. */
static char *put_keys(char *p, const struct op *o, const uint8_t *hash)
{
	uint32_t flags = o->flags;

	if (o->code == OP_OPEN) {
		if (flags & (OPF_CREAT | OPF_EXCL | OPF_TRUNC | OPF_APPEND | OPF_SYNC | OPF_DSYNC |
			     OPF_DIRECT | OPF_TMPFILE | OPF_NOFOLLOW | OPF_DIRECTORY | OPF_NOATIME))
			p = put_flags(put_text(p, " flags="), flags, open_flag_words);
		if (flags & OPF_MODE)
			p = put_octal(put_text(p, " mode="), o->mode);
		flags &= OPF_NEW;
	}
	for (const struct flag_word *w = bare_flag_words; flags && w->word; w++)
		if (flags & w->flag) {
			*p++ = ' ';
			p = put_text(p, w->word);
		}
	if (flags & (OPF_SYNC | OPF_DSYNC))
		p = put_text(p, flags & OPF_SYNC ? " sync=s" : " sync=d");
	if (!o->plain) {
		p = put_key(p, " segs=", o->segs);
		if (o->want != OP_NONE64)
			p = put_u64(put_text(p, " want="), o->want);
		if (o->code == OP_MWRITE && o->sub && o->sub < VIA_COUNT)
			p = put_text(put_text(p, " via="), op_via_words[o->sub]);
		if (o->code == OP_GAP)
			p = put_u64(put_text(p, " lost="), o->arg);
		if (o->data.kind)
			p = put_data(p, &o->data, hash);
		p = put_key(p, " id=", o->id);
		p = put_key(p, " after=", o->after);
		p = put_key(p, " ", o->extra);
	}
	if (o->dur != OP_NONE64)
		p = put_u64(put_text(p, " dur="), o->dur);
	return p;
}

char *put_timed(char *p, const struct op *o, const uint8_t *hash)
{
	p = put_u64(p, o->time);
	*p++ = ' ';
	if (o->thread == OP_NO_THREAD)
		*p++ = '-';
	else
		p = put_u64(p, o->thread);
	*p++ = ' ';
	if (o->code == OP_OBSERVED || o->code == OP_UNKNOWN) {
		p = put_bytes(put_text(p, o->code == OP_OBSERVED ? "~ " : ""), o->name);
		return put_key(p, " ", o->extra);
	}
	p = put_text(p, op_word((enum op_code)o->code));
	for (const char *f = op_word((enum op_code)o->code) ? op_forms[o->code].args : ""; *f;
	     f++) {
		if (*f == '?' && !given(o, *++f))
			continue;
		p = put_arg(p, o, *f);
	}
	return put_keys(p, o, hash);
}

static char *put_extents(char *p, const struct op_node *n)
{
	for (uint32_t i = 0; i < n->nextents; i++) {
		const struct op_extent *e = &n->extents[i];

		p = put_u64(put_text(p, i ? "," : " extents="), e->lblk);
		*p++ = ':';
		p = put_u64(p, e->pblk);
		*p++ = ':';
		p = put_u64(p, e->len);
	}
	return p;
}

char *put_node(char *p, const struct op_node *n)
{
	*p++ = n->type;
	*p++ = ' ';
	p = put_octal(p, n->mode);
	*p++ = ' ';
	p = put_u64(p, n->uid);
	*p++ = ':';
	p = put_u64(p, n->gid);
	*p++ = ' ';
	if (n->type == 'f')
		p = put_text(put_u64(p, n->size), " ");
	if (n->type == 'c' || n->type == 'b')
		p = put_text(put_dev(p, n->dev), " ");
	p = put_escaped(p, n->path);
	if (n->target.n)
		p = put_escaped(put_text(p, " target="), n->target);
	if (n->ino)
		p = put_u64(put_text(p, " ino="), n->ino);
	p = put_key(p, " sha256=", n->sha256);
	p = put_extents(p, n);
	if (n->atime.nsec != OP_TIME_UNKNOWN)
		p = put_time(put_text(p, " atime="), n->atime);
	if (n->mtime.nsec != OP_TIME_UNKNOWN)
		p = put_time(put_text(p, " mtime="), n->mtime);
	return put_key(p, " ", n->extra);
}
