/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_FLOWS_H
#define ADP_STATE_FLOWS_H 1

/* The flows and groups that a state has put into its bridge, and the step
 * from them to another flow set.
 *
 * A "struct adp_installed" remembers each flow by its text and, parsed, by
 * table, priority and match, which is how OpenFlow tells flows apart.  A
 * "struct adp_install_plan" holds the flow mods and group mods that lead from
 * there to a new flow set; the caller hands them to the bridge and then either
 * takes the plan or drops it:
 *
 *   - What stands in both with the same text is not touched, nor parsed.
 *
 *   - A flow whose match stays is modified in place, so that it keeps its
 *     counters and age; unless a timeout, a flag or the importance differs,
 *     which OpenFlow can only change by adding the flow anew.
 *
 *   - A deletion is strict and names the cookie, too: a flow that somebody
 *     else put in the place of ours stays.
 *
 *   - Groups are added-or-modified, so that it doesn't matter whether somebody
 *     deleted them meanwhile.
 *
 * Two texts for one table, priority and match are an error, because OpenFlow
 * would keep just one of them.
 *
 * Memory: the installed set and the plan own all that they hold; the flow set
 * is only read.
 *
 * Cost: one hash look-up per flow of both sets; parsing only for what changes,
 * which comes in the order that suits upstream (adp-state-order.h).
 *
 * Thread-safety: none, main thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"

struct adp_error;
struct adp_flow_set;
struct ofputil_flow_mod;
struct ofputil_group_mod;
struct ofputil_port_map;
struct ofputil_table_map;

struct adp_installed {
    struct hmap flows_by_text;  /* Contains "struct installed_flow"s. */
    struct hmap flows_by_key;   /* The same ones. */
    struct hmap groups_by_text; /* Contains "struct installed_group"s. */
    struct hmap groups_by_id;   /* The same ones. */
};

void adp_installed_init(struct adp_installed *);
void adp_installed_uninit(struct adp_installed *);
void adp_installed_swap(struct adp_installed *, struct adp_installed *);

struct adp_install_plan {
    /* For the bridge. */
    struct ofputil_flow_mod *flow_mods;
    size_t n_flow_mods;
    struct ofputil_group_mod *group_mods;
    size_t n_group_mods;

    /* Private. */
    size_t allocated_flow_mods, allocated_group_mods;
    struct ovs_list old_flows;  /* Are in the installed set; are to leave. */
    struct ovs_list old_groups;
    struct hmap new_flows;      /* Aren't in it yet; are to enter. */
    struct hmap new_groups;
};

/* Makes the plan that leads from 'installed' to 'set'.  With 'reinstall' adds
 * all of 'set', whatever 'installed' says.  The name maps may be NULL.
 *
 * On error '*plan' is empty, and needs no uninit. */
struct adp_error *adp_install_plan_init(struct adp_install_plan *plan,
                                        struct adp_installed *installed,
                                        const struct adp_flow_set *set,
                                        const struct ofputil_port_map *,
                                        const struct ofputil_table_map *,
                                        bool reinstall)
    OVS_WARN_UNUSED_RESULT;
/* The plan went into force: 'installed' becomes what it leads to. */
void adp_install_plan_take(struct adp_install_plan *, struct adp_installed *);
/* Frees the plan, whether taken or not. */
void adp_install_plan_uninit(struct adp_install_plan *);

#endif /* adp-state-flows.h */
