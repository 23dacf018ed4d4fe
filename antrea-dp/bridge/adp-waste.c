/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-waste.h"

#include <stdlib.h>

#include "adp-turn.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "util.h"

/* The largest object that is taken apart, as what is left of one is searched
 * for each of its members.  Records have less. */
#define MAX_MEMBERS 64

/* What is to be freed.  Of the last one parts are taken out, which come behind
 * it, so that there are as many more as it is deep. */
static struct json **waste;
static size_t n_waste, allocated_waste;

void
adp_waste_put(struct json *json)
{
    if (json) {
        if (n_waste >= allocated_waste) {
            waste = x2nrealloc(waste, &allocated_waste, sizeof *waste);
        }
        waste[n_waste++] = json;
    }
}

bool
adp_waste_is_empty(void)
{
    return !n_waste;
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

static void
free_some(void)
{
    struct json *part = take_part(waste[n_waste - 1]);

    if (part) {
        adp_waste_put(part);
    } else {
        json_destroy(waste[--n_waste]);
    }
}

void
adp_waste_run(void)
{
    struct adp_turn_slice slice;

    if (!n_waste) {
        return;
    }
    adp_turn_slice_init(&slice);
    while (n_waste && adp_turn_slice_goes_on(&slice)) {
        free_some();
    }
    if (!n_waste) {
        free(waste);
        waste = NULL;
        allocated_waste = 0;
    }
}

void
adp_waste_wait(void)
{
    if (n_waste) {
        poll_immediate_wake();
    }
}
