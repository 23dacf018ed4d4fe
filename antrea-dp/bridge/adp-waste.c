/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-waste.h"

#include <stdlib.h>

#include "adp-turn.h"
#include "openvswitch/json.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "util.h"

/* The largest object that is taken apart, as what is left of one is searched
 * for each of its members.  Records have less. */
#define MAX_MEMBERS 64

/* Between two looks at the clock. */
#define PIECES 32

struct waste {
    struct ovs_list node;       /* In 'wastes'. */
    struct json *json;          /* NULL once it is among 'parts'. */
    uint64_t cost;
    uint64_t *account;
};

static struct ovs_list wastes = OVS_LIST_INITIALIZER(&wastes);

/* What is left of the first waste.  Of the last part others are taken out,
 * which come behind it, so that there are as many as it is deep. */
static struct json **parts;
static size_t n_parts, allocated_parts;

void
adp_waste_put(struct json *json, uint64_t cost, uint64_t *account)
{
    if (!json && !account) {
        return;
    }

    struct waste *w = xmalloc(sizeof *w);
    *w = (struct waste) { .json = json, .cost = cost, .account = account };
    ovs_list_push_back(&wastes, &w->node);
}

bool
adp_waste_is_empty(void)
{
    return ovs_list_is_empty(&wastes);
}

static void
part_push(struct json *part)
{
    if (n_parts >= allocated_parts) {
        parts = x2nrealloc(parts, &allocated_parts, sizeof *parts);
    }
    parts[n_parts++] = part;
}

/* Takes a part out of 'json'.  Returns NULL if it has none, or isn't ours
 * alone. */
static struct json *
take_part(struct json *json)
{
    struct json *part = NULL;

    if (json->count > 1) {
        return NULL;
    }
    if (json->type == JSON_ARRAY && json->array.n) {
        part = json->array.elems[--json->array.n];
    } else if (json->type == JSON_OBJECT && !shash_is_empty(json->object)
               && shash_count(json->object) <= MAX_MEMBERS) {
        struct shash_node *node = shash_first(json->object);

        part = node->data;
        shash_delete(json->object, node);
    }
    return part;
}

/* Nothing is left of the first waste. */
static void
end_first(void)
{
    struct waste *w = CONTAINER_OF(ovs_list_pop_front(&wastes), struct waste,
                                   node);

    if (w->account) {
        *w->account -= w->cost;
    }
    free(w);
    free(parts);
    parts = NULL;
    allocated_parts = 0;
}

static void
free_piece(void)
{
    struct waste *first = CONTAINER_OF(ovs_list_front(&wastes), struct waste,
                                       node);

    if (first->json) {
        part_push(first->json);
        first->json = NULL;
    } else if (n_parts) {
        struct json *part = take_part(parts[n_parts - 1]);

        if (part) {
            part_push(part);
        } else {
            json_destroy(parts[--n_parts]);
        }
    } else {
        end_first();
    }
}

void
adp_waste_run(long long int least_us)
{
    if (adp_waste_is_empty()) {
        return;
    }

    long long int until = adp_turn_now() + least_us;
    struct adp_turn_slice slice;
    adp_turn_slice_init(&slice);
    while (!adp_waste_is_empty()
           && (adp_turn_slice_goes_on(&slice) || adp_turn_now() < until)) {
        for (int i = 0; i < PIECES && !adp_waste_is_empty(); i++) {
            free_piece();
        }
    }
}

void
adp_waste_wait(void)
{
    if (!adp_waste_is_empty()) {
        poll_immediate_wake();
    }
}
