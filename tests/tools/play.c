/* SPDX-License-Identifier: BSD-2-Clause */
/* Replays a trace through the public interface and prints the report as rows of group, name, value:
 * play TRACE TARGET [virtual|real|asap] [no-stores] [no-initial] [lenient] [nodelalloc]
 * [tick=NS] [policy=NAME] [SWITCH=VALUE...] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extkit/ctx.h>
#include <extkit/replay.h>

#define SETTINGS_MAX 16u

static const char *settings[SETTINGS_MAX];

static int set_word(struct ek_replay_options *opt, const char *word)
{
	static const struct {
		const char *word;
		unsigned clock, flags;
	} words[] = {
	    {"virtual", EK_CLOCK_VIRTUAL, 0},
	    {"real", EK_CLOCK_REAL, 0},
	    {"asap", EK_CLOCK_ASAP, 0},
	    {"no-stores", 0, EK_REPLAY_NO_STORES},
	    {"lenient", 0, EK_REPLAY_LENIENT},
	    {"no-initial", 0, EK_REPLAY_NO_INITIAL},
	    {"nodelalloc", 0, EK_REPLAY_NODELALLOC},
	    {"dioread_lock", 0, EK_REPLAY_DIOREAD_LOCK},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i].word) == 0) {
			opt->clock |= words[i].clock;
			opt->flags |= words[i].flags;
			return 0;
		}
	}
	if (strncmp(word, "tick=", 5) == 0) {
		opt->tick_phase = (uint32_t)strtoul(word + 5, NULL, 10);
		return 0;
	}
	if (strncmp(word, "policy=", 7) == 0) {
		opt->policy = word + 7;
		return 0;
	}
	if (strchr(word, '=') != NULL && opt->nset < SETTINGS_MAX) {
		settings[opt->nset++] = word;
		opt->set = settings;
		return 0;
	}
	fprintf(stderr, "play: %s is no word of mine\n", word);
	return -1;
}

int main(int argc, char **argv)
{
	struct ek_replay_options opt = {.size = sizeof(opt)};
	struct ek_replay_report *report;
	const struct ek_replay_row *row;
	struct ek_ctx *ctx;
	int rc;

	if (argc < 3 || ek_ctx_new(&ctx) < 0)
		return 2;
	for (int i = 3; i < argc; i++) {
		if (set_word(&opt, argv[i]) < 0)
			return 2;
	}
	rc = ek_replay(ctx, argv[1], argv[2], &opt, &report);
	if (rc < 0) {
		fprintf(stderr, "play: %s\n", ek_ctx_message(ctx));
	} else {
		for (size_t i = 0; (row = ek_replay_report_row(report, i)) != NULL; i++)
			printf("%s\t%s\t%llu\n", row->group, row->name,
			       (unsigned long long)row->value);
		ek_replay_report_free(report);
	}
	ek_ctx_free(ctx);
	return rc < 0;
}
