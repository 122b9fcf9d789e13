/* SPDX-License-Identifier: BSD-2-Clause */
/* A doubly linked ring whose links live inside the things it links. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/check.h"

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_insert_after(struct list *at, struct list *item)
{
	item->next = at->next;
	item->prev = at;
	at->next->prev = item;
	at->next = item;
}

static inline void list_push(struct list *head, struct list *item)
{
	list_insert_after(head, item);
}

static inline void list_append(struct list *head, struct list *item)
{
	list_insert_after(head->prev, item);
}

/* Takes item out of its ring; it becomes a ring of its own, so a second removal is harmless. */
static inline void list_remove(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

#define list_entry(p, type, member)    container_of(p, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)

#define list_for_each(p, head) for (struct list *p = (head)->next; p != (head); p = p->next)

/* Like list_for_each, but the body may remove p. */
#define list_for_each_safe(p, head)                                           \
	for (struct list *p = (head)->next, *p##_next = p->next; p != (head); \
	     p = p##_next, p##_next = p->next)

#endif
