/* SPDX-License-Identifier: BSD-2-Clause */
/* The ordered tree, against a table of flags and its own rules. */
#include "tap.h"

#include <stdlib.h>

#include "base/rb.h"

#define KEYS 1500

struct thing {
	unsigned key;
	struct rb_node node;
};

static struct thing things[KEYS];
static bool in[KEYS];

static unsigned key_of(const struct rb_node *n)
{
	return ((const struct thing *)((const char *)n - offsetof(struct thing, node)))->key;
}

static void insert(struct rb_root *root, unsigned key)
{
	struct rb_node **link = &root->top, *parent = NULL;

	while (*link != NULL) {
		parent = *link;
		link = &parent->kid[key > key_of(parent)];
	}
	things[key].key = key;
	rb_insert(root, parent, link, &things[key].node);
}

/* The black nodes on every path below n; -1 when the rules of the tree are broken. */
static int black_height(const struct rb_node *n, const struct rb_node *parent)
{
	int a, b, red;

	if (n == NULL)
		return 0;
	red = (int)(n->up & 1);
	if ((n->up & ~(uintptr_t)1) != (uintptr_t)parent || (red && (!parent || (parent->up & 1))))
		return -1;
	a = black_height(n->kid[0], n);
	b = black_height(n->kid[1], n);
	return a < 0 || a != b ? -1 : a + !red;
}

static void check_order(const struct rb_root *root)
{
	struct rb_node *n = rb_first(root), *back = rb_last(root);

	for (unsigned k = 0; k < KEYS; k++) {
		if (!in[k])
			continue;
		CHECK(n != NULL);
		CHECK_INT(key_of(n), k);
		n = rb_next(n);
	}
	CHECK(n == NULL);
	for (unsigned k = KEYS; k-- != 0;) {
		if (!in[k])
			continue;
		CHECK(back != NULL);
		CHECK_INT(key_of(back), k);
		back = rb_prev(back);
	}
	CHECK(back == NULL);
}

TEST(random_inserts_and_erases_keep_order_and_balance)
{
	struct rb_root root = {NULL};
	uint32_t seed = 1;

	memset(in, 0, sizeof(in));
	for (int i = 0; i < 100000; i++) {
		unsigned key;

		seed = seed * 1664525 + 1013904223;
		key = (seed >> 8) % KEYS;
		if (in[key])
			rb_erase(&root, &things[key].node);
		else
			insert(&root, key);
		in[key] = !in[key];
		if (i % 50 == 0)
			CHECK(black_height(root.top, NULL) >= 0);
		if (i % 1000 == 0)
			check_order(&root);
	}
	check_order(&root);
	for (unsigned key = 0; key < KEYS; key++) {
		if (in[key])
			rb_erase(&root, &things[key].node);
		CHECK(black_height(root.top, NULL) >= 0);
	}
	CHECK(rb_empty(&root));
}

TEST(sorted_inserts_stay_shallow)
{
	struct rb_root root = {NULL};

	for (unsigned key = 0; key < 1023; key++)
		insert(&root, key);
	CHECK(black_height(root.top, NULL) <= 10);
	CHECK(black_height(root.top, NULL) >= 5);
}

TEST(replace_puts_the_new_node_in_the_same_place)
{
	struct rb_root root = {NULL};
	struct thing fresh = {.key = 5};

	for (unsigned key = 0; key < 10; key++)
		insert(&root, key);
	rb_replace(&root, &things[5].node, &fresh.node);
	CHECK(rb_next(&things[4].node) == &fresh.node);
	CHECK(rb_prev(&things[6].node) == &fresh.node);
	CHECK(black_height(root.top, NULL) > 0);
}

TEST(tearing_hands_out_each_node_once)
{
	struct rb_root root = {NULL};
	struct rb_node *n;
	int count = 0;

	memset(in, 0, sizeof(in));
	for (unsigned key = 0; key < KEYS; key++)
		insert(&root, (key * 7) % KEYS);
	while ((n = rb_tear(&root)) != NULL) {
		CHECK(!in[key_of(n)]);
		in[key_of(n)] = true;
		memset(n, 0xff, sizeof(*n));
		count++;
	}
	CHECK_INT(count, KEYS);
	CHECK(rb_empty(&root));
}

int main(void)
{
	return tap_main();
}
