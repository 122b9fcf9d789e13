/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names in a table of fixed size: a slot per hash, the newest answer wins.  A folder's stamp is
 * unique to the time it has been in memory; changes of single names overwrite their slots.
 */
#include "fs/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/hash.h"
#include "base/mem.h"
#include "fs/dir.h"
#include "fs/inode.h"

#define SLOTS 8192u

struct slot {
	uint64_t stamp; /* of the folder when it answered */
	uint32_t dir, ino;
	uint8_t len;
	char name[NAME_MAX_BYTES];
};

struct names {
	struct slot slot[SLOTS];
	struct {
		uint32_t hash;
		unsigned version;
		uint8_t len; /* 0: none */
		char name[NAME_MAX_BYTES];
	} hashed; /* last */
};

int names_open(struct diag *d, struct names **ret)
{
	struct names *n = mem_array(1, sizeof(*n), MEM_CAP, d);

	if (n == NULL)
		return -ENOMEM;
	*ret = n;
	return 0;
}

void names_close(struct names *n)
{
	free(n);
}

static size_t place(const struct ek_inode *dir, const char *name, uint32_t len)
{
	return hash_mix(dir->ino.v + ((uint64_t)crc32c(~0u, name, len) << 32)) % SLOTS;
}

static bool holds(const struct slot *s, const struct ek_inode *dir, const char *name, uint32_t len)
{
	return s->dir == dir->ino.v && s->stamp == dir->seq && s->len == len &&
	       memcmp(s->name, name, len) == 0;
}

int names_find(const struct names *n, const struct ek_inode *dir, const char *name, uint32_t len,
	       ek_inum *ret)
{
	const struct slot *s = &n->slot[place(dir, name, len)];

	if (!holds(s, dir, name, len))
		return -ENOENT;
	*ret = (ek_inum){s->ino};
	return s->ino != 0;
}

void names_note(struct names *n, const struct ek_inode *dir, const char *name, uint32_t len,
		ek_inum ino)
{
	struct slot *s = &n->slot[place(dir, name, len)];

	s->stamp = dir->seq;
	s->dir = dir->ino.v;
	s->ino = ino.v;
	s->len = (uint8_t)len;
	memcpy(s->name, name, len);
}

int names_hash(struct names *n, const uint32_t seed[4], unsigned version, const char *name,
	       uint32_t len, uint32_t *ret)
{
	uint32_t minor;
	int rc;

	if (len != 0 && n->hashed.len == len && n->hashed.version == version &&
	    memcmp(n->hashed.name, name, len) == 0) {
		*ret = n->hashed.hash;
		return 0;
	}
	rc = dir_hash(seed, version, name, len, ret, &minor);
	if (rc == 0 && len <= NAME_MAX_BYTES) {
		n->hashed.hash = *ret;
		n->hashed.version = version;
		n->hashed.len = (uint8_t)len;
		memcpy(n->hashed.name, name, len);
	}
	return rc;
}
