/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_ENGINE_SET_H
#define ADP_PIPELINE_ENGINE_SET_H 1

/* Which of an engine's nodes are linked to another, and which are dirty, both
 * to be gone through in the order in which they came.  So what an engine does
 * follows from what it was told, and not from where malloc() put its nodes.
 *
 * Thread-safety: as the model.
 * Memory: grows with the nodes in it.
 * Cost: a hash look-up for each call of a set's functions, a few steps for one
 * of a list's.
 */

#include <stdbool.h>
#include <stddef.h>
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"

/* A set of pointers. */
struct engine_set {
    struct hmap members;        /* Contains "struct engine_member"s. */
    struct ovs_list order;
};

struct engine_member {
    struct hmap_node node;
    struct ovs_list order_node;
    void *data;
};

void adp_engine_set_init(struct engine_set *);
void adp_engine_set_destroy(struct engine_set *);
/* Return false if it was there, or wasn't. */
bool adp_engine_set_add(struct engine_set *, void *);
bool adp_engine_set_remove(struct engine_set *, const void *);
bool adp_engine_set_contains(const struct engine_set *, const void *);

static inline bool
adp_engine_set_is_empty(const struct engine_set *set)
{
    return hmap_is_empty(&set->members);
}

#define ENGINE_SET_FOR_EACH(MEMBER, SET) \
    LIST_FOR_EACH (MEMBER, order_node, &(SET)->order)

/* A list in which each node is at most once.  A node has a mark for it as a
 * member. */
struct engine_mark {
    size_t place;               /* In 'marks', plus 1; 0: it isn't there. */
};

struct engine_marks {
    struct engine_mark **marks; /* NULL: has left. */
    size_t n, allocated;
};

void adp_engine_mark(struct engine_marks *, struct engine_mark *);
void adp_engine_unmark(struct engine_marks *, struct engine_mark *);
/* Empties the list, and frees what it holds. */
void adp_engine_marks_clear(struct engine_marks *);

static inline bool
adp_engine_is_marked(const struct engine_mark *mark)
{
    return mark->place > 0;
}

/* More may be marked meanwhile, and will be gone through. */
#define ENGINE_MARKS_FOR_EACH(NODE, MEMBER, MARKS)                      \
    for (size_t at__ = 0; at__ < (MARKS)->n; at__++)                    \
        if ((MARKS)->marks[at__]                                        \
            && (INIT_CONTAINER(NODE, (MARKS)->marks[at__], MEMBER), true))

#endif /* pipeline-engine-set.h */
