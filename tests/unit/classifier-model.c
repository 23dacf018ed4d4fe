/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG
#include "classifier-model.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "hash.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "util.h"

/* Flows with one table and match. */
struct model_list {
    struct hmap_node node;
    struct minimatch match;
    uint8_t table_id;
    int *priorities;            /* Descending; deleted ones included. */
    size_t n, allocated;
};

struct model_removal {
    struct model_list *list;
    int priority;
};

void
classifier_model_init(struct classifier_model *m)
{
    *m = (struct classifier_model) { .n_steps = 0 };
    hmap_init(&m->lists);
}

void
classifier_model_uninit(struct classifier_model *m)
{
    struct model_list *list;

    HMAP_FOR_EACH_POP (list, node, &m->lists) {
        minimatch_destroy(&list->match);
        free(list->priorities);
        free(list);
    }
    hmap_destroy(&m->lists);
    free(m->removals);
}

static struct model_list *
get_list(struct classifier_model *m, const struct ofputil_flow_mod *fm)
{
    uint32_t hash = minimatch_hash(&fm->match, fm->table_id);
    struct model_list *list;

    HMAP_FOR_EACH_WITH_HASH (list, node, hash, &m->lists) {
        if (list->table_id == fm->table_id
            && minimatch_equal(&list->match, &fm->match)) {
            return list;
        }
    }
    list = xzalloc(sizeof *list);
    minimatch_clone(&list->match, &fm->match);
    list->table_id = fm->table_id;
    hmap_insert(&m->lists, &list->node, hash);
    return list;
}

/* How many stand before where 'priority' is or should be. */
static size_t
position(const struct model_list *list, int priority)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (list->priorities[mid] > priority) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static void
insert(struct model_list *list, size_t i, int priority)
{
    if (list->n >= list->allocated) {
        list->priorities = x2nrealloc(list->priorities, &list->allocated,
                                      sizeof *list->priorities);
    }
    memmove(&list->priorities[i + 1], &list->priorities[i],
            (list->n - i) * sizeof *list->priorities);
    list->priorities[i] = priority;
    list->n++;
}

/* Counts a search for position 'i' of 'list'. */
static void
seek(struct classifier_model *m, const struct model_list *list, size_t i)
{
    m->n_steps += 1 + (list == m->list && i >= m->n_before ? i - m->n_before
                       : i);
    m->list = i ? list : NULL;
    m->n_before = i;
}

void
classifier_model_mod(struct classifier_model *m,
                     const struct ofputil_flow_mod *fm)
{
    struct model_list *list = get_list(m, fm);
    size_t i = position(list, fm->priority);
    bool found = i < list->n && list->priorities[i] == fm->priority;

    seek(m, list, i);
    if (fm->command != OFPFC_DELETE_STRICT) {
        seek(m, list, i);
        if (!found) {
            insert(list, i, fm->priority);
        }
    } else if (found) {
        if (m->n_removals >= m->allocated_removals) {
            m->removals = x2nrealloc(m->removals, &m->allocated_removals,
                                     sizeof *m->removals);
        }
        m->removals[m->n_removals++] = (struct model_removal) {
            list, fm->priority
        };
    }
}

/* Are the masks of 'a' and 'b' in one subtable? */
static bool
same_subtable(const struct model_list *a, const struct model_list *b)
{
    return (a->table_id == b->table_id
            && minimask_equal(a->match.mask, b->match.mask));
}

/* Counts what it takes to find the new top of the subtable that 'list' is
 * in, where the top had 'priority'. */
static void
find_top(struct classifier_model *m, const struct model_list *list,
         int priority)
{
    const struct model_list *other;
    size_t n_heads = 0;

    HMAP_FOR_EACH (other, node, &m->lists) {
        if (other->n && same_subtable(other, list)) {
            if (other->priorities[0] >= priority) {
                return;         /* It isn't new. */
            }
            n_heads++;
        }
    }
    m->n_steps += n_heads;
}

void
classifier_model_settle(struct classifier_model *m)
{
    for (size_t k = 0; k < m->n_removals; k++) {
        struct model_list *list = m->removals[k].list;
        int priority = m->removals[k].priority;
        size_t i = position(list, priority);

        seek(m, list, i);
        list->n--;
        memmove(&list->priorities[i], &list->priorities[i + 1],
                (list->n - i) * sizeof *list->priorities);
        if (!i) {
            find_top(m, list, priority);
        }
    }
    m->n_removals = 0;
}
