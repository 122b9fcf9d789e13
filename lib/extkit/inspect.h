/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Structures as they lie on disk, field by field, sound or not, and single fields changed with the
 * checksum made right again.
 *
 *	static int show(const struct ek_structure *s, void *arg)
 *	{
 *		for (unsigned i = 0; i < s->nfields; i++)
 *			if (s->fields[i].is_number)
 *				printf("%s %llu\n", s->fields[i].name,
 *				       (unsigned long long)s->fields[i].number);
 *		return 0;
 *	}
 *
 *	if (ek_inspect_open(ctx, "disk.img", NULL, &ins) == 0) {
 *		err = ek_inspect_show(ins, "inode:12", show, NULL);
 *		ek_inspect_close(ins);
 *	}
 *
 * Nothing is replayed, repaired or believed but the sizes in the superblock.  What can be looked
 * at:
 *
 *	super, super:GROUP    the superblock, or its copy in a group
 *	group:N               a group's descriptor
 *	inode:N               an inode
 *	extents:N, dir:N, xattrs:N   what belongs to inode N, each structure by itself
 *	log                   the superblock of the log inside
 *	orphans               the ends of the orphan file's blocks
 *	guard                 the mount guard of mmp
 *
 * Structures come in the order of their places; "#3" behind the word is the fourth of them.
 */
#ifndef EXTKIT_INSPECT_H
#define EXTKIT_INSPECT_H

#include <stdbool.h>

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;
struct ek_inspect;

enum ek_inspect_flag {
	EK_INSPECT_WRITE = 1 << 0,  /* fields may be set: takes the lock that writers share */
	EK_INSPECT_NO_SEAL = 1 << 1 /* leave checksums as they are: how damage is made */
};

struct ek_inspect_options {
	size_t size;     /* sizeof(struct ek_inspect_options) */
	unsigned flags;  /* enum ek_inspect_flag, or'ed */
	uint64_t offset; /* bytes before the filesystem */
};

/* What the number in a field is. */
enum ek_field_kind {
	EK_FIELD_NUMBER,
	EK_FIELD_FLAGS,   /* bits */
	EK_FIELD_MAGIC,   /* always the same */
	EK_FIELD_BLOCK,   /* a block number, or a part of one */
	EK_FIELD_INODE,   /* an inode number */
	EK_FIELD_TIME,    /* seconds since 1970, signed 32 bit */
	EK_FIELD_TIME_HI, /* more bits of the time before */
	EK_FIELD_CSUM,    /* a checksum */
	EK_FIELD_TEXT,    /* bytes up to the first zero */
	EK_FIELD_UUID,    /* 16 bytes */
	EK_FIELD_BYTES
};

struct ek_field {
	const char *name, *help;
	const char *since; /* the feature that gave it meaning, "" for what ext2 had */
	uint32_t offset;   /* in the structure, bytes */
	uint32_t size;     /* bytes */
	enum ek_field_kind kind;
	bool is_number;
	uint64_t number;      /* when it is one */
	const uint8_t *bytes; /* as they lie, size of them */
};

enum ek_sealed { EK_SEALED_NONE, EK_SEALED_RIGHT, EK_SEALED_WRONG };

/* Valid during the call it is handed to. */
struct ek_structure {
	size_t size;        /* sizeof(struct ek_structure), of the library */
	const char *name;   /* "inode", "extent-leaf" */
	uint32_t index;     /* among those that were asked for, from 0 */
	uint64_t offset;    /* in the filesystem, bytes */
	enum ek_sealed sum; /* the checksum over it: none, right, wrong */
	const struct ek_field *fields;
	uint32_t nfields;
};

/* Goes on while it is 0. */
typedef int ek_structure_fn(const struct ek_structure *s, void *arg);

/* opt may be NULL.  -EINVAL when there is no superblock at all; -EBUSY as ek_image_open. */
EK_EXPORT EK_MUST int ek_inspect_open(struct ek_ctx *ctx, const char *path,
				      const struct ek_inspect_options *opt,
				      struct ek_inspect **ret);

/* Flushes what was set; the first error.  Accepts NULL. */
EK_EXPORT int ek_inspect_close(struct ek_inspect *ins);

/* Hands each structure that what names to fn; what fn returned if not 0.
 *
 * -EINVAL: no such word or number; -ENOENT: nothing of the kind is there; -EUCLEAN: the way to it
 * is damaged, with the place. */
EK_EXPORT EK_MUST int ek_inspect_show(struct ek_inspect *ins, const char *what, ek_structure_fn *fn,
				      void *arg);

/* Sets one field of the first structure that what names.  A number is decimal, 0x... or negative;
 * text is text; a UUID is written as usual; other bytes are hex digits.  The checksum over the
 * structure is made right unless EK_INSPECT_NO_SEAL is set.
 *
 * -EINVAL: no such field, or a value that does not fit, with the value. */
EK_EXPORT EK_MUST int ek_inspect_set(struct ek_inspect *ins, const char *what, const char *field,
				     const char *value);

#ifdef __cplusplus
}
#endif
#endif
