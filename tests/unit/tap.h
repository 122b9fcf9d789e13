/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small TAP harness: one program per module, one function per fact, named by a sentence.
 *
 *	TEST(extent_insert_splits_full_leaf) { CHECK(x == 1); CHECK_INT(f(), 0); }
 *	int main(void) { return tap_main(); }
 *
 * A failed check ends its test only.  SKIP("why") ends it as skipped.
 */
#ifndef TAP_H
#define TAP_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct tap_test {
	const char *name;
	void (*run)(void);
	struct tap_test *next;
};

static struct tap_test *tap_first, **tap_end = &tap_first;
static jmp_buf tap_out;

#define TEST(sentence)                                                       \
	static void sentence(void);                                          \
	static struct tap_test tap_##sentence = {#sentence, sentence, NULL}; \
	__attribute__((constructor)) static void tap_add_##sentence(void)    \
	{                                                                    \
		*tap_end = &tap_##sentence;                                  \
		tap_end = &tap_##sentence.next;                              \
	}                                                                    \
	static void sentence(void)

#define TAP_FAIL(...)                                    \
	do {                                             \
		printf("# %s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__);                     \
		printf("\n");                            \
		longjmp(tap_out, 1);                     \
	} while (0)

#define CHECK(cond)                                      \
	do {                                             \
		if (!(cond))                             \
			TAP_FAIL("not true: %s", #cond); \
	} while (0)

#define CHECK_INT(got, want)                                                       \
	do {                                                                       \
		long long tap_g = (long long)(got), tap_w = (long long)(want);     \
		if (tap_g != tap_w)                                                \
			TAP_FAIL("%s is %lld, expected %lld", #got, tap_g, tap_w); \
	} while (0)

#define CHECK_STR(got, want)                                                           \
	do {                                                                           \
		const char *tap_g = (got), *tap_w = (want);                            \
		if (strcmp(tap_g, tap_w) != 0)                                         \
			TAP_FAIL("%s is \"%s\", expected \"%s\"", #got, tap_g, tap_w); \
	} while (0)

#define SKIP(why)                        \
	do {                             \
		tap_skip_reason = (why); \
		longjmp(tap_out, 2);     \
	} while (0)

#ifdef __SANITIZE_THREAD__
#define TAP_THREADS_ONLY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TAP_THREADS_ONLY 1
#endif
#endif
#ifndef TAP_THREADS_ONLY
#define TAP_THREADS_ONLY 0
#endif

static const char *tap_skip_reason = "";
static int tap_count, tap_failed;

/* For long sweeps: the thread sanitizer makes them take minutes and learns nothing from them. */
static inline void tap_one_thread(void)
{
	if (TAP_THREADS_ONLY)
		SKIP("one thread: nothing for the thread sanitizer");
}

static inline int tap_main(void)
{
	for (struct tap_test *t = tap_first; t != NULL; t = t->next)
		tap_count++;
	printf("1..%d\n", tap_count);
	tap_count = 0;
	for (struct tap_test *volatile t = tap_first; t != NULL; t = t->next) {
		int how = setjmp(tap_out);

		if (how == 0)
			t->run();
		tap_count++;
		if (how == 2)
			printf("ok %d - %s # SKIP %s\n", tap_count, t->name, tap_skip_reason);
		else
			printf("%s %d - %s\n", how == 0 ? "ok" : "not ok", tap_count, t->name);
		tap_failed += how == 1;
		fflush(stdout);
	}
	return tap_failed != 0;
}

#endif
