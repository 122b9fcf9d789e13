/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the importers have in common: options, counters, the traced root, the op being built and the
 * order in which ops leave.
 *
 * An importer is a source like any other.  It turns records of system calls or kernel events into
 * ops; what lies outside the traced root leaves no trace but a count.
 */
#ifndef TRACE_IMPORT_H
#define TRACE_IMPORT_H

#include "trace/op.h"
#include "trace/procs.h"
#include "trace/reorder.h"

struct instream;

enum import_flag {
	IMPORT_NO_READS = 1,       /* leave reads and stats out */
	IMPORT_SCRUB = 2,          /* keep no recorded bytes, not even short ones */
	IMPORT_CHECKSUMS = 4,      /* keep CRC-32C of recorded bytes instead of the bytes */
	IMPORT_GUESS = 8,          /* take an msync for a store into all it covers */
	IMPORT_OBSERVED = 16,      /* kernel events: keep them as observed lines too */
	IMPORT_EVENTS_ONLY = 32,   /* kernel events: observed lines and no ops */
	IMPORT_WAIT_RELATIVE = 64, /* fio version 2: "wait" counts from the line before */
};

struct import_options {
	unsigned flags;
	const char *root;              /* of the traced machine, absolute; NULL: "/" */
	const char *cwd;               /* of the first task, absolute; NULL: "/" */
	const char *initial;           /* manifest before the recording (tsv or .wtr), or NULL */
	const char *extents;           /* its extents (tsv), or NULL */
	uint32_t dev_major, dev_minor; /* kernel events: the device, 0:0 the first one seen */
};

/* A call or event by name that the importer does not know. */
#define IMPORT_NAME 40
struct import_unknown {
	char name[IMPORT_NAME];
	uint64_t count;
};

struct import_counts {
	uint64_t lines;
	uint64_t calls;           /* complete calls or events */
	uint64_t ops;             /* made from them */
	uint64_t outside;         /* known calls that do not touch the traced root */
	uint64_t failed;          /* known calls that returned an error */
	uint64_t ignored;         /* known calls without an effect on files */
	uint64_t unknown;         /* calls in no table; import_unknowns() lists them */
	uint64_t cut;             /* lines that end too early or make no sense */
	uint64_t unmatched;       /* a second half without a first, or a first without a second */
	uint64_t inferred_closes; /* a number came back that was never closed */
	uint64_t inherited;       /* descriptors used that were never seen to be opened */
	uint64_t inferred_names;  /* names used that nothing was seen to make: sockets */
	uint64_t orphans;         /* threads whose parent is unknown */
	uint64_t unknown_sizes;   /* appends to files of unknown size, taken as empty */
	uint64_t partial_data;    /* writes of which only some bytes were recorded */
	uint64_t crossing;        /* renames and links into or out of the traced root */
	uint64_t unplaced;        /* calls that no op can express */
	uint64_t late;            /* ops out of order because too many calls were under way */
	uint64_t lost;            /* events the recorder says it lost */
	uint64_t data_bytes;      /* recorded bytes kept */
};

struct importer {
	struct op_source base;
	struct import_options opt;
	struct import_counts counts;
	struct procs procs;
	struct name *root;
	struct reorder *order;
	uint64_t start; /* of the trace, in the recorder's clock */
	bool started;
	bool manifest;           /* there is one, so what it does not name did not exist */
	struct op_source *nodes; /* the manifest while it is handed out */
	uint32_t handles;
	struct op op; /* being built */
	char path[8192], path2[8192];
	uint8_t *data; /* recorded bytes of the op being built */
	size_t data_cap;
	struct import_unknown *unknowns;
	size_t nunknowns, unknowns_cap;
	char *header;
	uint64_t now; /* of the event being worked on, for closes it causes */
	uint64_t now_dur;
	uint32_t now_thread;
	int err;
};

/* Sets up what all importers need; name is the recorder's for the header's #source line. */
int import_init(struct importer *im, const struct import_options *opt, struct diag *d);
void import_free(struct importer *im);

/* Writes the header lines, once the start is known. */
int import_header(struct importer *im, const char *source, const char *clock);

/* Counts and notes a line that ends too early or makes no sense. */
void import_cut(struct importer *im, const char *file, uint64_t line);

/* Remembers an unknown call or event. */
void import_unknown(struct importer *im, const char *name, size_t n);

/* Starts building an op of the event being worked on (now, now_dur, now_thread). */
struct op *import_begin(struct importer *im, enum op_code code);

/* Puts the path of a name under the root into the op; false when it is outside. */
bool import_path(struct importer *im, const struct name *n);
bool import_path2(struct importer *im, const struct name *n);

/* Hands over the op that was built. */
void import_emit(struct importer *im);

/* Gives n bytes of im->data to the op being built, in the shortest form that the options allow. */
void import_data(struct importer *im, size_t n);

/* Room for n bytes in im->data; false without memory. */
bool import_data_room(struct importer *im, size_t n);

/* Remembers the first error. */
void import_fail(struct importer *im, int err, const char *what);

/* The next item of the manifest: 1, 0 when there is none (any more), or an error. */
int import_next_node(struct importer *im, const struct op **ret);

/* Each makes a source; the counters are filled while it is read. */
int strace_import(const char *const *paths, unsigned n, const struct import_options *opt,
		  struct diag *d, struct op_source **ret);
/* in is read once, so children are guessed; it becomes the source's own, even on failure. */
int strace_import_stream(struct instream *in, const struct import_options *opt, struct diag *d,
			 struct op_source **ret);
int fio_import(struct instream *in, const struct import_options *opt, struct diag *d,
	       struct op_source **ret);
int events_import(struct instream *in, const struct import_options *opt, struct diag *d,
		  struct op_source **ret);

/* strace_import() of one log in memory, for tests. */
int strace_import_memory(const void *p, size_t n, const struct import_options *opt, struct diag *d,
			 struct op_source **ret);

const struct import_counts *import_counts(const struct op_source *s);
const struct import_unknown *import_unknowns(const struct op_source *s, size_t *ret_n);

#endif
