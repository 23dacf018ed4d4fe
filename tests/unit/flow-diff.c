/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "flow-diff.h"

#include <string.h>
#include "util.h"

/* The part of a flow that makes it unique: table, priority and match. */
static char *
flow_key(const char *flow)
{
    const char *start = strstr(flow, "table=");
    const char *end = strstr(flow, " actions=");

    ovs_assert(start && end > start);
    return xmemdup0(start, end - start);
}

/* "group_id=9" of "group_id=9,type=...". */
static char *
group_key(const char *group)
{
    return xmemdup0(group, strcspn(group, ","));
}

/* Puts into 'added' what is only in 'new', and the keys of what is only in
 * 'old' into 'gone'. */
static void
diff_texts(const struct shash *old, const struct shash *new,
           char *(*key)(const char *), struct svec *added, struct svec *gone)
{
    const struct shash_node *node;

    if (new) {
        SHASH_FOR_EACH (node, new) {
            if (!old || !shash_find(old, node->name)) {
                svec_add(added, node->name);
            }
        }
    }
    if (old) {
        SHASH_FOR_EACH (node, old) {
            if (!new || !shash_find(new, node->name)) {
                svec_add_nocopy(gone, key(node->name));
            }
        }
    }
    svec_sort(added);
    svec_sort(gone);
}

/* Drops from 'gone' what has its key in 'added' as well, and moves the latter
 * to 'replaced' if that isn't NULL. */
static void
drop_replaced(struct svec *added, struct svec *gone, struct svec *replaced,
              char *(*key)(const char *))
{
    struct svec new_keys = SVEC_EMPTY_INITIALIZER;
    struct svec old_keys = *gone;
    struct svec still_added = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < added->n; i++) {
        char *k = key(added->names[i]);

        if (replaced) {
            svec_add(svec_contains(&old_keys, k) ? replaced : &still_added,
                     added->names[i]);
        }
        svec_add_nocopy(&new_keys, k);
    }
    svec_sort(&new_keys);

    svec_init(gone);
    for (size_t i = 0; i < old_keys.n; i++) {
        if (!svec_contains(&new_keys, old_keys.names[i])) {
            svec_add(gone, old_keys.names[i]);
        }
    }

    if (replaced) {
        svec_destroy(added);
        *added = still_added;
    }
    svec_destroy(&new_keys);
    svec_destroy(&old_keys);
}

void
flow_set_diff(const struct adp_flow_set *old, const struct adp_flow_set *new,
              struct flow_diff *diff)
{
    svec_init(&diff->add_flows);
    svec_init(&diff->delete_flows);
    svec_init(&diff->add_groups);
    svec_init(&diff->modify_groups);
    svec_init(&diff->delete_groups);

    diff_texts(old ? &old->flows : NULL, &new->flows, flow_key,
               &diff->add_flows, &diff->delete_flows);
    drop_replaced(&diff->add_flows, &diff->delete_flows, NULL, flow_key);

    diff_texts(old ? &old->groups : NULL, &new->groups, group_key,
               &diff->add_groups, &diff->delete_groups);
    drop_replaced(&diff->add_groups, &diff->delete_groups,
                  &diff->modify_groups, group_key);
}

void
flow_diff_uninit(struct flow_diff *diff)
{
    svec_destroy(&diff->add_flows);
    svec_destroy(&diff->delete_flows);
    svec_destroy(&diff->add_groups);
    svec_destroy(&diff->modify_groups);
    svec_destroy(&diff->delete_groups);
}

bool
flow_diff_is_empty(const struct flow_diff *diff)
{
    return (!diff->add_flows.n && !diff->delete_flows.n
            && !diff->add_groups.n && !diff->modify_groups.n
            && !diff->delete_groups.n);
}
