/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-l7.h"

#include <stdlib.h>

#include "model-records.h"
#include "pipeline-state.h"
#include "util.h"

/* By VLAN; NULL: none has it. */
struct l7_parts {
    const struct adp_id_part *parts[ADP_MAX_L7_VLANS + 1];
};

static void
note_part(uint32_t vlan, const struct adp_id_part *part, void *l7_)
{
    struct l7_parts *l7 = l7_;

    l7->parts[vlan] = part;
}

static struct json *
rule_to_json(uint32_t vlan, const struct adp_id_part *part)
{
    const struct adp_network_policy *policy
        = CONTAINER_OF(part->record, struct adp_network_policy, up);
    const struct adp_network_policy_rule *rule = &policy->rules[part->index];
    struct json *o = json_object_create();

    json_object_put(o, "vlan", json_integer_create(vlan));
    json_object_put_string(o, "policy", policy->up.name);
    json_object_put_string(o, "direction", rule->ingress ? "In" : "Out");
    json_object_put(o, "number", json_integer_create(rule->priority + 1));
    if (rule->name) {
        json_object_put_string(o, "rule", rule->name);
    }
    json_object_put(o, "protocols", json_clone(rule->l7_protocols));
    return o;
}

struct json *
adp_l7_rules(const struct adp_pipeline_state *state)
{
    struct l7_parts *l7 = xzalloc(sizeof *l7);
    struct json *array = json_array_create_empty();

    adp_ids_for_each(&state->vlans, note_part, l7);
    for (size_t i = 0; i < ARRAY_SIZE(l7->parts); i++) {
        if (l7->parts[i]) {
            json_array_add(array, rule_to_json(i, l7->parts[i]));
        }
    }
    free(l7);
    return array;
}

size_t
adp_l7_n_rules(const struct adp_pipeline_state *state)
{
    return shash_count(&state->vlans.by_key);
}
