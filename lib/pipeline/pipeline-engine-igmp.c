/* SPDX-License-Identifier: Apache-2.0 */

/* What egress rules say about messages of IGMP that Pods send: no field of a
 * flow has the type or the group of one, so nobody but who reads the message
 * can apply them. */

#include <config.h>
#include "pipeline-engine-private.h"

static bool
applies_to(const struct engine_rule *rule, const struct engine_pod *pod)
{
    for (size_t i = 0; i < rule->n_applied_to; i++) {
        if (adp_engine_set_contains(&pod->groups, rule->applied_to[i])) {
            return true;
        }
    }
    return false;
}

static bool
is_about(const struct engine_rule *rule, uint8_t type, ovs_be32 group)
{
    const struct adp_network_policy_rule *up = rule->up.rule;

    for (size_t i = 0; i < up->n_services; i++) {
        const struct adp_network_policy_service *service = &up->services[i];

        if ((service->igmp_type < 0 || service->igmp_type == type)
            && (!service->group_address || service->group_address == group)) {
            return true;
        }
    }
    return false;
}

/* Of rules of one rank one that drops. */
static const struct engine_rule *
find_of_rank(const struct engine_rank *rank, const struct engine_pod *pod,
             uint8_t type, ovs_be32 group)
{
    const struct engine_rule *found = NULL, *rule;

    for (size_t i = 0; i < rank->n_parts; i++) {
        LIST_FOR_EACH (rule, part_node, &rank->parts[i]->rules) {
            if (is_about(rule, type, group) && applies_to(rule, pod)) {
                found = rule;
                if (rule->up.rule->action == ADP_ACTION_DROP) {
                    return found;
                }
            }
        }
    }
    return found;
}

bool
adp_engine_is_valid(const struct adp_engine *e)
{
    return e->valid;
}

bool
adp_engine_allows_igmp(const struct adp_engine *e, const char *pod_name,
                       uint8_t type, ovs_be32 group, uint32_t *conj_id)
{
    const struct engine_pod *pod = shash_find_data(&e->pods, pod_name);
    size_t list = e->parts ? e->parts->igmp_list : 0;

    *conj_id = 0;
    if (!pod) {
        return false;
    }
    for (size_t i = 0; list && i < e->ranks[list].n; i++) {
        const struct engine_rule *rule = find_of_rank(e->ranks[list].ranks[i],
                                                      pod, type, group);
        if (rule) {
            *conj_id = rule->up.conj_id;
            return rule->up.rule->action == ADP_ACTION_ALLOW;
        }
    }
    return true;
}
