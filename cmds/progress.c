/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of long calls as a line on the terminal or as JSON lines. */
#include "progress.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "escape.h"

#define FIRST_MS 500 /* short runs stay silent */
#define EVERY_MS 100

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
	/* A second one ends the program at once. */
	signal(sig, SIG_DFL);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void draw_json(const struct ek_progress *step)
{
	fputs("{\"stage\":", stderr);
	escape_json_file(stderr, step->stage);
	fprintf(stderr, ",\"done\":%" PRIu64 ",\"total\":%" PRIu64 ",\"unit\":", step->done,
		step->total);
	escape_json_file(stderr, step->unit);
	fputs("}\n", stderr);
}

static void draw_line(const struct ek_progress *step)
{
	if (step->total != 0)
		fprintf(stderr, "\r\033[K%s: %3.0f %%", _(step->stage),
			100.0 * (double)step->done / (double)step->total);
	else
		fprintf(stderr, "\r\033[K%s: %" PRIu64 " %s", _(step->stage), step->done,
			_(step->unit));
	fflush(stderr);
}

static int on_progress(void *arg, const struct ek_progress *step)
{
	struct progress *p = arg;
	uint64_t now;

	if (interrupted)
		return 1;
	if (p->mode == PROGRESS_NONE)
		return 0;
	now = now_ms();
	if (now - p->begun < FIRST_MS || now - p->shown < EVERY_MS)
		return 0;
	p->shown = now;
	p->drawn = 1;
	if (p->mode == PROGRESS_JSON)
		draw_json(step);
	else
		draw_line(step);
	return 0;
}

void progress_begin(struct progress *progress, struct run *run)
{
	memset(progress, 0, sizeof(*progress));
	progress->mode = run->progress;
	if (progress->mode == PROGRESS_AUTO && (run->quiet || !isatty(STDERR_FILENO)))
		progress->mode = PROGRESS_NONE;
	progress->begun = now_ms();
	/* A shell that runs something in the background has it ignore interrupts. */
	if (signal(SIGINT, on_interrupt) == SIG_IGN)
		signal(SIGINT, SIG_IGN);
	ek_ctx_on_progress(run->ctx, on_progress, progress);
}

void progress_end(struct progress *progress, struct run *run)
{
	ek_ctx_on_progress(run->ctx, NULL, NULL);
	if (progress->drawn && progress->mode == PROGRESS_AUTO)
		fputs("\r\033[K", stderr);
}
