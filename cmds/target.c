/* SPDX-License-Identifier: BSD-2-Clause */
/* From an image argument to an open image, and what all image verbs share on the way. */
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "extkit/partition.h"
#include "fail.h"

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* A remote image is named by a URI, and no file is. */
static char *behind_scheme(char *text)
{
	static const char *const schemes[] = {"nbd://", "nbds://", "nbd+unix://", "nbds+unix://"};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
			return text + strlen(schemes[i]);
	}
	return NULL;
}

static bool is_selector(const char *text)
{
	return *text == '@' || strncmp(text, "LABEL=", 6) == 0 ||
	       strncmp(text, "PARTLABEL=", 10) == 0 ||
	       (text[0] == 'p' && text[1] >= '1' && text[1] <= '9');
}

/* "disk.img@@1M", "disk.img@p2", "disk.img@LABEL=root": the sign, NULL when text has none or names
 * a file with it. */
static char *sign_of(char *text)
{
	char *last = NULL;

	for (char *at = text; (at = strchr(at, '@')) != NULL; at++) {
		if (at == text || !is_selector(at + 1))
			continue;
		last = at;
		at += at[1] == '@';
	}
	return last != NULL && !exists(text) ? last : NULL;
}

static bool names_image(char *text)
{
	char *sign = sign_of(text);
	bool yes;

	if (sign == NULL)
		return exists(text);
	if (strstr(sign, ":/") != NULL)
		return false; /* it ends before the path */
	*sign = '\0';
	yes = exists(text);
	*sign = '@';
	return yes;
}

/* The ':' between image and path, NULL when there is none. */
static char *split_of(char *text)
{
	char *uri = behind_scheme(text), *first = strstr(uri != NULL ? uri : text, ":/");

	if (uri != NULL)
		return first;
	if (names_image(text))
		return NULL;
	for (char *at = first; at != NULL; at = strstr(at + 1, ":/")) {
		bool yes;

		*at = '\0';
		yes = names_image(text);
		*at = ':';
		if (yes)
			return at;
	}
	return first;
}

/* Where what the text behind the sign names begins: "@1M", "p2", "LABEL=root". */
static int find_start(struct run *run, const char *image, const char *text, uint64_t *ret)
{
	struct ek_partition p = {.size = sizeof(p)};
	int err;

	if (*text == '@') {
		if (opt_size(text + 1, ret) == 0 || opt_number(text + 1, ret) == 0)
			return EXIT_DONE;
		return fail_usage(run, _("'%s' is no offset"), text + 1);
	}
	err = ek_partition_find(run->ctx, image, text, &p);
	if (err == -ENOENT && !ek_ctx_from_host(run->ctx))
		return fail(run, EXIT_NO, "%s", ek_ctx_message(run->ctx));
	if (err == -ENOTUNIQ)
		return fail(run, EXIT_USAGE, "%s", ek_ctx_message(run->ctx));
	if (err < 0)
		return fail_call(run, err);
	*ret = p.offset;
	return EXIT_DONE;
}

int target_parse(struct run *run, const char *arg, struct target *ret)
{
	struct target t = {.image = strdup(arg), .path = "/"};
	char *split, *sign;

	if (t.image == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	split = split_of(t.image);
	if (split != NULL) {
		*split = '\0';
		t.path = split + 1;
		t.has_path = true;
	}
	sign = sign_of(t.image);
	if (sign != NULL) {
		int code;

		*sign = '\0';
		code = find_start(run, t.image, sign + 1, &t.offset);
		if (code != EXIT_DONE) {
			free(t.image);
			return code;
		}
	}
	if (*t.image == '\0') {
		free(t.image);
		return fail_usage(run, _("'%s' names no image"), arg);
	}
	*ret = t;
	return EXIT_DONE;
}

int target_now(struct run *run, struct ek_time *ret)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	uint64_t sec;

	if (text == NULL || *text == '\0')
		return EXIT_DONE;
	if (opt_number(text, &sec) != 0 || sec > INT64_MAX)
		return fail_usage(run, _("SOURCE_DATE_EPOCH: '%s' is not a number of seconds"),
				  text);
	ret->sec = (int64_t)sec;
	/* 0 means the host's clock: the first nanosecond of 1970 is near enough */
	ret->nsec = sec == 0 ? 1 : 0;
	return EXIT_DONE;
}

/* ---- scripts ---- */

static bool in_script(const struct run *run, const char *arg)
{
	return run->held != NULL && strstr(arg, ":/") == NULL; /* a URI has one */
}

char *target_whole(struct run *run, const char *arg)
{
	const struct held *h = run->held;
	char *whole;

	if (!in_script(run, arg))
		return strdup(arg);
	if (asprintf(&whole, "%s:%s%s%s", h->name, arg[0] == '/' ? "" : h->cwd,
		     arg[0] == '/' || strcmp(h->cwd, "/") == 0 ? "" : "/", arg) < 0)
		return NULL;
	return whole;
}

bool target_same(const char *a, const char *b)
{
	struct stat x, y;

	return strcmp(a, b) == 0 || (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
				     x.st_ino == y.st_ino);
}

/* The script's own image, whichever way it is named. */
bool target_is_held(struct run *run, const char *arg)
{
	struct run quiet = {.ctx = run->ctx};
	struct target t, own;
	bool same = false;

	if (run->held == NULL || run->held->img == NULL)
		return false;
	if (in_script(run, arg))
		return true;
	if (target_parse(&quiet, arg, &t) != EXIT_DONE)
		return false;
	if (target_parse(&quiet, run->held->name, &own) == EXIT_DONE) {
		same = target_same(t.image, own.image) && t.offset == own.offset;
		free(own.image);
	}
	free(t.image);
	return same;
}

static int target_held(struct run *run, const char *arg, unsigned flags, struct target *ret)
{
	struct target t;
	int code = target_parse(run, arg, &t);

	if (code == EXIT_DONE && (flags & EK_IMAGE_DRY_RUN) != 0) {
		free(t.image);
		return fail_usage(run, _("--dry-run is for the script as a whole"));
	}
	if (code != EXIT_DONE)
		return code;
	t.img = run->held->img;
	t.held = true;
	*ret = t;
	return EXIT_DONE;
}

static int target_open_file(struct run *run, const char *arg, unsigned flags, struct target *ret);

int target_open(struct run *run, const char *arg, unsigned flags, struct target *ret)
{
	char *whole = target_whole(run, arg);
	int code;

	if (whole == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	code = target_is_held(run, arg) ? target_held(run, whole, flags, ret)
					: target_open_file(run, whole, flags, ret);
	free(whole);
	return code;
}

/* ---- files ---- */

static int target_open_file(struct run *run, const char *arg, unsigned flags, struct target *ret)
{
	struct ek_image_options opt = {
	    .size = sizeof(opt),
	    .flags = flags | (run->no_replay ? (unsigned)EK_IMAGE_NO_RECOVERY : 0),
	    .journal = run->journal};
	struct target t;
	int code, err;

	code = target_now(run, &opt.now);
	if (run->no_replay && (flags & EK_IMAGE_WRITE) != 0)
		return fail_usage(run, _("--no-replay is for reading"));
	if (code != EXIT_DONE || (code = target_parse(run, arg, &t)) != EXIT_DONE)
		return code;
	if ((flags & EK_IMAGE_WRITE) != 0)
		opt.flags |= EK_IMAGE_UNDO_FILE;
	opt.undo = run->undo;
	opt.offset = t.offset;
	err = ek_image_open(run->ctx, t.image, &opt, &t.img);
	if (err < 0) {
		free(t.image);
		return fail_open(run, err);
	}
	*ret = t;
	return EXIT_DONE;
}

bool target_is_folder(struct ek_inode *inode)
{
	struct ek_stat st = {.size = sizeof(st)};

	return ek_inode_stat(inode, &st) == 0 && S_ISDIR(st.mode);
}

int target_end(struct run *run, struct target *target, int code)
{
	int err = target->img != NULL && !target->held ? ek_image_close(target->img) : 0;

	free(target->image);
	return err < 0 && code == EXIT_DONE ? fail_call(run, err) : code;
}

void trouble_add(struct run *run, struct trouble *trouble, int err)
{
	const char *text = ek_ctx_message(run->ctx);

	if (*text == '\0')
		text = strerror(-err);
	if (trouble->count++ == 0) {
		trouble->code = fail_code(err, ek_ctx_from_host(run->ctx));
		snprintf(trouble->text, sizeof(trouble->text), "%s", text);
	}
	if (!run->json)
		fail_tell(run, text);
}

int trouble_end(struct run *run, const struct trouble *trouble)
{
	if (trouble->count == 0)
		return EXIT_DONE;
	if (!run->json)
		return trouble->code;
	return fail(run, trouble->code, "%s", trouble->text);
}
