/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-engine-set.h"

#include <stdlib.h>

#include "hash.h"
#include "model-pause.h"
#include "util.h"

void
adp_engine_set_init(struct engine_set *set)
{
    hmap_init(&set->members);
    ovs_list_init(&set->order);
}

void
adp_engine_set_destroy(struct engine_set *set)
{
    struct engine_member *m;

    LIST_FOR_EACH_POP (m, order_node, &set->order) {
        free(m);
    }
    hmap_destroy(&set->members);
}

static struct engine_member *
find(const struct engine_set *set, const void *data)
{
    struct engine_member *m;

    HMAP_FOR_EACH_WITH_HASH (m, node, hash_pointer(data, 0), &set->members) {
        if (m->data == data) {
            return m;
        }
    }
    return NULL;
}

bool
adp_engine_set_contains(const struct engine_set *set, const void *data)
{
    return find(set, data) != NULL;
}

bool
adp_engine_set_add(struct engine_set *set, void *data)
{
    if (find(set, data)) {
        return false;
    }

    struct engine_member *m = xmalloc(sizeof *m);
    m->data = data;
    hmap_insert(&set->members, &m->node, hash_pointer(data, 0));
    ovs_list_push_back(&set->order, &m->order_node);
    return true;
}

bool
adp_engine_set_remove(struct engine_set *set, const void *data)
{
    struct engine_member *m = find(set, data);

    if (m) {
        hmap_remove(&set->members, &m->node);
        ovs_list_remove(&m->order_node);
        free(m);
    }
    return m != NULL;
}

/* Marks. */

void
adp_engine_mark(struct engine_marks *list, struct engine_mark *mark)
{
    if (!mark->place) {
        if (list->n >= list->allocated) {
            list->marks = x2nrealloc(list->marks, &list->allocated,
                                     sizeof *list->marks);
        }
        list->marks[list->n++] = mark;
        mark->place = list->n;
    }
}

void
adp_engine_unmark(struct engine_marks *list, struct engine_mark *mark)
{
    if (mark->place) {
        list->marks[mark->place - 1] = NULL;
        mark->place = 0;
    }
}

void
adp_engine_marks_clear(struct engine_marks *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->marks[i]) {
            list->marks[i]->place = 0;
        }
        adp_pause();
    }
    free(list->marks);
    *list = (struct engine_marks) { .n = 0 };
}
