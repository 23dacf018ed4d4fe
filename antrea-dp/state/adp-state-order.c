/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state-order.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "util.h"

/* Where a flow mod belongs. */
struct place {
    uint8_t table_id;
    uint32_t match_hash;        /* Tells lists apart; if two are taken for one,
                                 * the order is a worse one. */
    int priority;
    int head;                   /* The top priority in the list. */
    size_t index;               /* Where the flow mod is. */
};

static int
compare_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* List by list, each from its head. */
static int
compare_lists(const void *a_, const void *b_)
{
    const struct place *a = a_;
    const struct place *b = b_;
    int cmp = compare_numbers(a->table_id, b->table_id);

    cmp = cmp ? cmp : compare_numbers(a->match_hash, b->match_hash);
    cmp = cmp ? cmp : compare_numbers(b->priority, a->priority);
    return cmp ? cmp : compare_numbers(a->index, b->index);
}

/* The same, lists by ascending heads. */
static int
compare_heads(const void *a_, const void *b_)
{
    const struct place *a = a_;
    const struct place *b = b_;
    int cmp = compare_numbers(a->table_id, b->table_id);

    cmp = cmp ? cmp : compare_numbers(a->head, b->head);
    return cmp ? cmp : compare_lists(a, b);
}

static void
set_heads(struct place *places, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct place *place = &places[i];
        const struct place *before = i ? place - 1 : NULL;

        place->head = (before && before->table_id == place->table_id
                       && before->match_hash == place->match_hash
                       ? before->head : place->priority);
    }
}

void
adp_order_flow_mods(struct ofputil_flow_mod *fms, size_t n)
{
    if (!n) {
        return;
    }

    struct place *places = xmalloc(n * sizeof *places);
    for (size_t i = 0; i < n; i++) {
        places[i] = (struct place) {
            .table_id = fms[i].table_id,
            .match_hash = minimatch_hash(&fms[i].match, 0),
            .priority = fms[i].priority,
            .index = i,
        };
    }
    qsort(places, n, sizeof *places, compare_lists);
    set_heads(places, n);
    qsort(places, n, sizeof *places, compare_heads);

    struct ofputil_flow_mod *ordered = xmalloc(n * sizeof *ordered);
    for (size_t i = 0; i < n; i++) {
        ordered[i] = fms[places[i].index];
    }
    memcpy(fms, ordered, n * sizeof *fms);
    free(ordered);
    free(places);
}
