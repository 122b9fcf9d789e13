/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inspection: the superblock's sizes are checked, its checksum is not; structures become rows of
 * fields, and a field that is set is sealed and written through.
 */
#include "fs/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/ctx.h"
#include "base/escape.h"
#include "base/mem.h"
#include "fs/session.h"
#include "io/dev.h"
#include "ondisk/group.h"
#include "ondisk/inode.h"
#include "ondisk/jbd2.h"
#include "ondisk/mmp.h"
#include "ondisk/super.h"

#define FIELDS_MAX 160u

/* ---- open ---- */

static int read_shape(struct ek_inspect *ins)
{
	struct super_raw sb;
	int rc;

	if (ins->dev->size < SUPER_OFFSET + SUPER_SIZE)
		return diag_set(ins->diag, -EINVAL,
				"no ext filesystem: %s: %llu bytes are too few for a superblock",
				ins->dev->name, (unsigned long long)ins->dev->size);
	rc = dev_read(ins->dev, SUPER_OFFSET, &sb, sizeof(sb));
	if (rc == 0)
		rc = super_verify_torn(&sb, ins->dev->size, "superblock", ins->diag);
	if (rc == 0)
		geom_from_super(&sb, &ins->geom);
	return rc;
}

static int open_at(struct ek_inspect *ins, const char *path, const struct ek_inspect_options *opt)
{
	bool write = (opt->flags & EK_INSPECT_WRITE) != 0;
	int rc = dev_open(path, write ? DEV_WRITE : 0, ins->diag, &ins->file);

	if (rc < 0)
		return rc;
	ins->dev = ins->file;
	if (opt->offset == 0)
		return 0;
	if (opt->offset >= ins->file->size)
		return diag_set(ins->diag, -EINVAL, "%s: offset %llu is past its %llu bytes",
				ins->file->name, (unsigned long long)opt->offset,
				(unsigned long long)ins->file->size);
	return dev_open_slice(ins->file, opt->offset, ins->file->size - opt->offset, &ins->dev);
}

static void release(struct ek_inspect *ins)
{
	if (ins->dev != NULL && ins->dev != ins->file)
		dev_close(ins->dev);
	if (ins->file != NULL)
		dev_close(ins->file);
	geom_free(&ins->geom);
	free(ins->scratch);
	free(ins->fields);
	free(ins);
}

int ek_inspect_open(struct ek_ctx *ctx, const char *path, const struct ek_inspect_options *opt,
		    struct ek_inspect **ret)
{
	struct ek_inspect_options in = {.size = sizeof(in)};
	struct ek_inspect *ins = mem_zero(sizeof(*ins));
	int rc;

	diag_clear(&ctx->diag);
	if (ins == NULL)
		return diag_set(&ctx->diag, -ENOMEM, "out of memory for an inspection");
	if (opt != NULL)
		session_hand_out(&in, opt->size, opt, sizeof(in));
	ins->ctx = ctx;
	ins->diag = &ctx->diag;
	ins->flags = in.flags;
	ins->scratch = mem_aligned(64, INSPECT_SCRATCH);
	ins->fields = mem_array(FIELDS_MAX, sizeof(*ins->fields), MEM_CAP, ins->diag);
	rc = ins->scratch == NULL || ins->fields == NULL ? -ENOMEM : open_at(ins, path, &in);
	if (rc == 0)
		rc = read_shape(ins);
	if (rc < 0) {
		release(ins);
		return rc;
	}
	*ret = ins;
	return 0;
}

int ek_inspect_close(struct ek_inspect *ins)
{
	int rc;

	if (ins == NULL)
		return 0;
	diag_clear(ins->diag);
	rc = (ins->flags & EK_INSPECT_WRITE) != 0 ? dev_flush(ins->dev) : 0;
	release(ins);
	return rc;
}

/* ---- seals ---- */

/* Checksums that the unit should have, computed in the scratch space: what a damaged structure
 * says of its own length can lead far behind its end. */
static const uint8_t *sealed(struct ek_inspect *ins, const struct unit *u)
{
	const struct geom *g = &ins->geom;
	struct buf b = {.pblk = {u->at >> g->block_bits},
			.data = ins->scratch,
			.size = g->block_size,
			.owner = u->owner};

	memset(ins->scratch, 0, INSPECT_SCRATCH);
	memcpy(ins->scratch, u->data, u->len);
	if (u->kind == UNIT_SUPER)
		super_seal((struct super_raw *)(void *)ins->scratch);
	else if (u->kind == UNIT_GROUP)
		group_seal(g, u->number, ins->scratch);
	else if (u->kind == UNIT_INODE)
		inode_seal(g, (ek_inum){u->number}, ins->scratch);
	else if (u->kind == UNIT_LOG)
		jbd2_super_seal((struct jbd2_super *)(void *)ins->scratch);
	else if (u->kind == UNIT_GUARD)
		mmp_seal(g, (struct mmp_raw *)(void *)ins->scratch);
	else if (u->ver != NULL && u->ver->seal != NULL)
		u->ver->seal(g, &b);
	return ins->scratch;
}

static bool has_seal(const struct ek_inspect *ins, const struct unit *u)
{
	if (u->kind == UNIT_GROUP)
		return geom_gdt_csum(&ins->geom);
	if (u->kind == UNIT_LOG)
		return jbd2_super_has_csum((const struct jbd2_super *)(const void *)u->data);
	if (u->kind == UNIT_INODE && inode_is_blank(&ins->geom, u->data))
		return false;
	return geom_csum(&ins->geom);
}

static enum ek_sealed seal_state(struct ek_inspect *ins, const struct unit *u)
{
	if (!has_seal(ins, u))
		return EK_SEALED_NONE;
	return memcmp(sealed(ins, u), u->data, u->len) == 0 ? EK_SEALED_RIGHT : EK_SEALED_WRONG;
}

/* ---- showing ---- */

struct showing {
	ek_structure_fn *fn;
	void *arg;
	uint64_t only; /* one index, or UINT64_MAX */
	bool any;
};

static void fill_field(const struct field_table *t, const struct field *f, const uint8_t *base,
		       struct ek_field *ret)
{
	*ret = (struct ek_field){.name = f->name,
				 .help = f->help,
				 .since = f->since,
				 .offset = f->offset,
				 .size = f->size,
				 .kind = (enum ek_field_kind)f->kind,
				 .is_number = field_is_number(f),
				 .bytes = base + f->offset};
	if (ret->is_number)
		ret->number = field_get(t, f, base);
}

/* Fields that the structure is long enough for: descriptors of 32 bytes, inodes of 128. */
static uint32_t fill_fields(struct ek_inspect *ins, const struct found *f)
{
	const uint8_t *base = f->unit->data + f->off;
	uint32_t room = f->unit->len - f->off, n = 0;

	for (unsigned i = 0; i < f->table->count && n < FIELDS_MAX - 1; i++) {
		const struct field *row = &f->table->fields[i];

		if (row->offset + row->size <= room)
			fill_field(f->table, row, base, &ins->fields[n++]);
	}
	if (f->tail_name != NULL)
		ins->fields[n++] = (struct ek_field){.name = f->tail_name,
						     .help = "",
						     .since = "",
						     .offset = f->tail_off - f->off,
						     .size = f->tail_len,
						     .kind = EK_FIELD_TEXT,
						     .bytes = f->unit->data + f->tail_off};
	return n;
}

static int show_one(struct ek_inspect *ins, const struct found *f, void *arg)
{
	struct showing *show = arg;
	struct ek_structure s = {.size = sizeof(s), .name = f->table->name, .index = f->index};

	if (show->only != UINT64_MAX && show->only != f->index)
		return 0;
	show->any = true;
	s.offset = f->unit->at + f->off;
	s.sum = seal_state(ins, f->unit);
	s.nfields = fill_fields(ins, f);
	s.fields = ins->fields;
	return show->fn(&s, show->arg);
}

/* The number behind '#'; UINT64_MAX without one. */
static int parse_index(struct ek_inspect *ins, const char *what, uint64_t *ret)
{
	const char *mark = strchr(what, '#');
	char shown[80], *end;

	*ret = UINT64_MAX;
	if (mark == NULL)
		return 0;
	errno = 0;
	*ret = strtoull(mark + 1, &end, 10);
	if (errno == 0 && end != mark + 1 && *end == '\0' && mark[1] >= '0' && mark[1] <= '9')
		return 0;
	return diag_set(ins->diag, -EINVAL, "'%s': want a number behind #",
			escape_to(shown, sizeof(shown), what, strlen(what)));
}

static int nothing(struct ek_inspect *ins, const char *what)
{
	char shown[80];

	return diag_set(ins->diag, -ENOENT, "'%s': nothing of the kind is there",
			escape_to(shown, sizeof(shown), what, strlen(what)));
}

int ek_inspect_show(struct ek_inspect *ins, const char *what, ek_structure_fn *fn, void *arg)
{
	struct showing show = {.fn = fn, .arg = arg};
	int rc;

	diag_clear(ins->diag);
	rc = parse_index(ins, what, &show.only);
	if (rc == 0)
		rc = inspect_find(ins, what, show_one, &show);
	return rc != 0 || show.any ? rc : nothing(ins, what);
}

/* ---- setting ---- */

struct setting {
	const char *field, *value;
	uint64_t index;
	bool done;
};

static int bad_value(struct ek_inspect *ins, const struct setting *set, const char *want)
{
	char shown[80];

	return diag_set(ins->diag, -EINVAL, "%s: '%s': want %s", set->field,
			escape_to(shown, sizeof(shown), set->value, strlen(set->value)), want);
}

static int set_number(struct ek_inspect *ins, const struct setting *set,
		      const struct field_table *t, const struct field *f, uint8_t *base)
{
	bool negative = set->value[0] == '-';
	uint64_t most = f->size == 8 ? UINT64_MAX : (1ull << 8 * f->size) - 1;
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(set->value + negative, &end, 0);
	if (errno != 0 || end == set->value + negative || *end != '\0' ||
	    set->value[negative] < '0' || set->value[negative] > '9')
		return bad_value(ins, set, "a number: 12, -1 or 0x1f");
	if (negative ? v > most / 2 + 1 : v > most)
		return bad_value(ins, set, "a number that fits the field");
	field_set(t, f, base, negative ? 0 - v : v);
	return 0;
}

static int nibble(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static int set_hex(struct ek_inspect *ins, const struct setting *set, uint8_t *to, uint32_t size)
{
	if (strlen(set->value) != 2 * (size_t)size)
		return bad_value(ins, set, "two hex digits for each byte of the field");
	for (uint32_t i = 0; i < size; i++) {
		int hi = nibble(set->value[2 * i]), lo = nibble(set->value[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return bad_value(ins, set, "hex digits");
		to[i] = (uint8_t)(hi << 4 | lo);
	}
	return 0;
}

static int set_bytes(struct ek_inspect *ins, const struct setting *set, enum field_kind kind,
		     uint8_t *to, uint32_t size)
{
	size_t len = strlen(set->value);

	if (kind == FIELD_UUID)
		return uuid_parse(set->value, to) == 0 ? 0 : bad_value(ins, set, "a UUID");
	if (kind == FIELD_BYTES)
		return set_hex(ins, set, to, size);
	if (len > size)
		return bad_value(ins, set, "text that fits the field");
	memset(to, 0, size);
	memcpy(to, set->value, len);
	return 0;
}

static int change(struct ek_inspect *ins, const struct found *f, const struct setting *set)
{
	const struct field *row = field_named(f->table, set->field);
	uint8_t *base = f->unit->data + f->off;

	if (row != NULL && f->off + row->offset + row->size <= f->unit->len)
		return field_is_number(row)
			   ? set_number(ins, set, f->table, row, base)
			   : set_bytes(ins, set, row->kind, base + row->offset, row->size);
	if (f->tail_name != NULL && strcmp(set->field, f->tail_name) == 0)
		return set_bytes(ins, set, FIELD_TEXT, f->unit->data + f->tail_off, f->tail_len);
	return diag_set(ins->diag, -EINVAL, "%s has no field '%s'", f->table->name, set->field);
}

static int set_one(struct ek_inspect *ins, const struct found *f, void *arg)
{
	struct setting *set = arg;
	const uint8_t *out = f->unit->data;
	const struct field *row;
	int rc;

	if (f->index != set->index)
		return 0;
	rc = change(ins, f, set);
	if (rc < 0)
		return rc;
	row = field_named(f->table, set->field);
	if ((ins->flags & EK_INSPECT_NO_SEAL) == 0 && has_seal(ins, f->unit) &&
	    (row == NULL || row->kind != FIELD_CSUM))
		out = sealed(ins, f->unit);
	set->done = true;
	rc = dev_write(ins->dev, f->unit->at, out, f->unit->len);
	return rc < 0 ? rc : 1;
}

int ek_inspect_set(struct ek_inspect *ins, const char *what, const char *field, const char *value)
{
	struct setting set = {.field = field, .value = value};
	int rc;

	diag_clear(ins->diag);
	if ((ins->flags & EK_INSPECT_WRITE) == 0)
		return diag_set(ins->diag, -EROFS, "%s was opened for reading", ins->file->name);
	rc = parse_index(ins, what, &set.index);
	if (set.index == UINT64_MAX)
		set.index = 0;
	if (rc == 0)
		rc = inspect_find(ins, what, set_one, &set);
	if (rc < 0)
		return rc;
	return set.done ? 0 : nothing(ins, what);
}
