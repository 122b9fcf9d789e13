/* SPDX-License-Identifier: BSD-2-Clause */
/* From a failed call to one line on stderr and an exit code. */
#include "fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "buffer.h"
#include "cmd.h"
#include "escape.h"

struct row {
	int err, code;
};

/* What an errno means when the image gave it; everything else is the host's. */
static const struct row codes[] = {
    {-EUCLEAN, EXIT_DAMAGED},   {-EBADMSG, EXIT_DAMAGED}, {-EILSEQ, EXIT_DAMAGED},
    {-EOVERFLOW, EXIT_DAMAGED}, {-EROFS, EXIT_DAMAGED},   {-EPERM, EXIT_DAMAGED},
    {-ENOSPC, EXIT_SPACE},      {-EDQUOT, EXIT_SPACE},    {-EFBIG, EXIT_SPACE},
    {-ENOENT, EXIT_PATH},       {-ENOTDIR, EXIT_PATH},    {-EISDIR, EXIT_PATH},
    {-EEXIST, EXIT_PATH},       {-ENOTEMPTY, EXIT_PATH},  {-ELOOP, EXIT_PATH},
    {-ENAMETOOLONG, EXIT_PATH}, {-EMLINK, EXIT_PATH},     {-EXDEV, EXIT_PATH},
    {-ESTALE, EXIT_PATH},       {-ENODATA, EXIT_PATH},    {-EINVAL, EXIT_USAGE},
    {-E2BIG, EXIT_USAGE},       {-ERANGE, EXIT_USAGE},    {-EOPNOTSUPP, EXIT_FEATURE},
    {-ENOSYS, EXIT_FEATURE},
};

int fail_code(int err, int host)
{
	if (err == -EBUSY || err == -ETXTBSY)
		return EXIT_LOCKED;
	if (err == -ECANCELED)
		return 130; /* what a shell reports for an interrupt */
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]) && !host; i++)
		if (codes[i].err == err)
			return codes[i].code;
	return EXIT_HOST;
}

void fail_tell(const struct run *run, const char *text)
{
	struct buffer b = {0};

	buffer_adds(&b, "extkit");
	if (run->cmd != NULL)
		buffer_addf(&b, " %s", run->cmd->name);
	buffer_adds(&b, ": ");
	if (run->where != NULL)
		escape_text(&b, run->where, strlen(run->where));
	escape_text(&b, text, strlen(text));
	buffer_addc(&b, '\n');
	fwrite(b.text, 1, b.len, stderr);
	buffer_free(&b);
}

static int say(struct run *run, int code, const char *text)
{
	fail_tell(run, text);
	if (run->said != NULL)
		snprintf(run->said, SAID_MAX, "%s%s", run->where != NULL ? run->where : "", text);
	if (run->out != NULL)
		out_error(run->out, code, text, run->ctx ? ek_ctx_missing_blocks(run->ctx) : 0,
			  run->ctx ? ek_ctx_missing_inodes(run->ctx) : 0);
	return code;
}

int fail_call(struct run *run, int err)
{
	const char *text = ek_ctx_message(run->ctx);

	return say(run, fail_code(err, ek_ctx_from_host(run->ctx)),
		   *text != '\0' ? text : strerror(-err));
}

int fail_open(struct run *run, int err)
{
	if (err == -EINVAL || err == -EISDIR)
		return say(run, EXIT_DAMAGED, ek_ctx_message(run->ctx));
	return fail_call(run, err);
}

int fail(struct run *run, int exit_code, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return say(run, exit_code, text);
}

int fail_usage(struct run *run, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say(run, EXIT_USAGE, text);
	fprintf(stderr, _("Try 'extkit %s%s--help'.\n"), run->cmd != NULL ? run->cmd->name : "",
		run->cmd != NULL ? " " : "");
	return EXIT_USAGE;
}
