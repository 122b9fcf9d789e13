/* SPDX-License-Identifier: BSD-2-Clause */
/* Knobs as text: KEY=VALUE, separated by commas, one row of a table for each key. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "pagecache/region.h"

enum kind { WORD, SIZE32, SIZE64 };

struct knob {
	const char *key;
	enum kind kind;
	size_t at;
	uint64_t least, most;
	const char *words[7]; /* in the order of their numbers; with sizes, one that means 0 */
};

#define AT(member) offsetof(struct rknobs, member)

static const struct knob knobs[] = {
    {"walk", WORD, AT(walk), 0, 0, {"region", "batch", "generic", "inline", "iter", "bitmap"}},
    {"track", WORD, AT(track), 0, 0, {"none", "range", "block", "bytes"}},
    {"stable", WORD, AT(stable), 0, 0, {"wait", "copy", "cow"}},
    {"skips", WORD, AT(skips), 0, 0, {"afs", "cifs"}},
    {"stores", WORD, AT(stores), 0, 0, {"async", "sync"}},
    {"zeros", WORD, AT(zeros), 0, 0, {"write", "zero"}},
    {"folio", SIZE32, AT(folio), PAGE_BYTES, CHUNK_BYTES, {"auto"}},
    {"block", SIZE32, AT(block), 512, 4096, {NULL}},
    {"batch", SIZE32, AT(batch), 1, REGION_BATCH, {NULL}},
    {"skip_limit", SIZE32, AT(skip_limit), 0, UINT32_MAX, {NULL}},
    {"inflight", SIZE32, AT(inflight), 1, 64, {NULL}},
    {"segs", SIZE32, AT(segs), 1, 65536, {NULL}},
    {"max_store", SIZE64, AT(max_store), 512, (uint64_t)256 << 20, {"auto"}},
    {"align", SIZE64, AT(align), 1, (uint64_t)1 << 30, {"auto"}},
    {"bridge", SIZE64, AT(bridge), 0, CHUNK_BYTES, {NULL}},
    {"nr_to_write", SIZE64, AT(nr_to_write), 1, INT64_MAX, {"all"}},
    {"dirty", SIZE64, AT(dirty), PAGE_BYTES, (uint64_t)1 << 40, {NULL}},
    {"memory", SIZE64, AT(memory), (uint64_t)8 << 20, (uint64_t)1 << 36, {NULL}},
    {"slot", SIZE64, AT(slot), PAGE_BYTES, REGION_MAX, {"auto"}},
};

static const struct rknobs usual = {.walk = WALK_BITMAP,
				    .track = TRACK_BYTES,
				    .stable = STABLE_COPY,
				    .folio = PAGE_BYTES,
				    .block = PAGE_BYTES,
				    .batch = 15,
				    .skip_limit = 5,
				    .inflight = 64,
				    .segs = 1024,
				    .dirty = (uint64_t)64 << 20,
				    .memory = (uint64_t)1 << 30};

static void store(struct rknobs *k, const struct knob *knob, uint64_t v)
{
	char *at = (char *)k + knob->at;

	if (knob->kind == SIZE64)
		*(uint64_t *)(void *)at = v;
	else
		*(uint32_t *)(void *)at = (uint32_t)v;
	if (knob->at == AT(bridge))
		k->bridge_given = true;
}

static bool read_size(const char *text, uint64_t *ret)
{
	static const char letters[] = "KMG";
	const char *letter;
	uint64_t v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno != 0)
		return false;
	letter = *end != '\0' ? strchr(letters, *end) : NULL;
	if (letter != NULL) {
		end++;
		if (ck_shl(v, 10 * (unsigned)(letter - letters + 1), &v))
			return false;
	}
	*ret = v;
	return *end == '\0';
}

static int refuse(const struct knob *knob, const char *value, struct diag *d)
{
	struct str known = {0};
	int rc;

	for (size_t i = 0; knob->words[i] != NULL; i++)
		str_addf(&known, " %s", knob->words[i]);
	if (knob->kind != WORD)
		str_addf(&known, " %llu to %llu", (unsigned long long)knob->least,
			 (unsigned long long)knob->most);
	rc = diag_set(d, -EINVAL, "region: %s has no value '%s', only%s", knob->key, value,
		      str_text(&known));
	str_free(&known);
	return rc;
}

static int set_value(struct rknobs *k, const struct knob *knob, const char *value, struct diag *d)
{
	uint64_t v;

	for (unsigned i = 0; knob->words[i] != NULL; i++) {
		if (strcmp(knob->words[i], value) == 0) {
			store(k, knob, i);
			return 0;
		}
	}
	if (knob->kind == WORD || !read_size(value, &v) || v < knob->least || v > knob->most)
		return refuse(knob, value, d);
	if ((knob->at == AT(folio) || knob->at == AT(block)) && !is_pow2(v))
		return refuse(knob, value, d);
	store(k, knob, v);
	return 0;
}

static int no_key(const char *setting, struct diag *d)
{
	struct str known = {0};
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		str_addf(&known, " %s", knobs[i].key);
	rc = diag_set(d, -EINVAL, "region: '%s' is not KEY=VALUE, the keys are:%s", setting,
		      str_text(&known));
	str_free(&known);
	return rc;
}

static int set(struct rknobs *k, char *setting, struct diag *d)
{
	char *equals = strchr(setting, '=');

	if (equals == NULL)
		return no_key(setting, d);
	*equals = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
		if (strcmp(knobs[i].key, setting) == 0)
			return set_value(k, &knobs[i], equals + 1, d);
	}
	return no_key(setting, d);
}

int region_knobs(const char *text, struct diag *d, struct rknobs *ret)
{
	struct rknobs k = usual;
	char *copy = strdup(text != NULL ? text : ""), *save = NULL, *p;
	int rc = 0;

	if (copy == NULL)
		return diag_set(d, -ENOMEM, "out of memory for options");
	for (p = strtok_r(copy, ",", &save); p != NULL && rc == 0; p = strtok_r(NULL, ",", &save))
		rc = set(&k, p, d);
	free(copy);
	if (rc == 0)
		*ret = k;
	return rc;
}
