/* SPDX-License-Identifier: BSD-2-Clause */
/* Recorded counters, a line each, into an array. */
#include "recorded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fail.h"

/* A recorder writes about a hundred lines; more than this is another kind of file. */
#define ROWS_MAX 100000u

/* 1 for a row, 0 for a line that says nothing, -1 for one that is none; line is cut up. */
static int parse(char *line, struct recorded_row *ret)
{
	char *tab = strchr(line, '\t'), *end;
	long long v;

	line[strcspn(line, "\r\n")] = '\0';
	if (*line == '\0' || *line == '#' || strcmp(line, "counter\tvalue") == 0)
		return 0;
	if (tab == NULL || tab == line)
		return -1;
	*tab = '\0';
	errno = 0;
	v = strtoll(tab + 1, &end, 10);
	if (errno != 0 || end == tab + 1 || *end != '\0')
		return -1;
	ret->name = line;
	ret->value = v;
	return 1;
}

static int add(struct recorded *r, const struct recorded_row *row)
{
	struct recorded_row *rows;

	if (r->n >= ROWS_MAX)
		return -1;
	rows = realloc(r->rows, (r->n + 1) * sizeof(*rows));
	if (rows == NULL)
		return -1;
	r->rows = rows;
	rows[r->n].name = strdup(row->name);
	rows[r->n].value = row->value;
	return rows[r->n].name != NULL ? (r->n++, 0) : -1;
}

int recorded_read(struct run *run, const char *file, struct recorded *ret)
{
	FILE *f = fopen(file, "re");
	struct recorded_row row;
	unsigned long number = 0;
	char *line = NULL;
	size_t cap = 0;
	int code = EXIT_DONE, kind;

	if (f == NULL)
		return fail(run, EXIT_HOST, "%s: %s", file, strerror(errno));
	while (code == EXIT_DONE && getline(&line, &cap, f) >= 0) {
		number++;
		kind = parse(line, &row);
		if (kind < 0)
			code = fail(run, EXIT_USAGE, _("%s:%lu: not a name, a tab and a number"),
				    file, number);
		else if (kind == 1 && add(ret, &row) != 0)
			code = fail(run, EXIT_HOST, "%s", _("no memory"));
	}
	if (code == EXIT_DONE && ferror(f))
		code = fail(run, EXIT_HOST, "%s: %s", file, strerror(errno));
	free(line);
	fclose(f);
	return code;
}

void recorded_free(struct recorded *recorded)
{
	for (size_t i = 0; i < recorded->n; i++)
		free(recorded->rows[i].name);
	free(recorded->rows);
}
