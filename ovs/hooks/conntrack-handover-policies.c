/* SPDX-License-Identifier: Apache-2.0 */

/* Included by conntrack-handover.c: timeout policies of connections that are
 * handed over.
 *
 * A connection has its policy's number.  Each process draws these, anew when
 * the database's policy of a zone changes, so they mean nothing to another
 * one; what the policies say goes with the connections, and each gets the
 * number by which the new process knows a policy that says the same.  If there
 * is none, as the database has changed, the default timeouts hold, as they do
 * for a connection whose policy was deleted. */

BUILD_ASSERT_DECL(CT_DPIF_TP_ATTR_MAX < 32);

static bool
policy_is_sound(const struct ct_dpif_timeout_policy *policy)
{
    return !(policy->present >> CT_DPIF_TP_ATTR_MAX);
}

/* Of what begins with a policy's number. */
static int
compare_policy_ids(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* Of policies but for their numbers. */
static int
compare_timeouts(const void *a, const void *b)
{
    const size_t ofs = offsetof(struct ct_dpif_timeout_policy, present);

    return memcmp((const char *) a + ofs, (const char *) b + ofs,
                  sizeof(struct ct_dpif_timeout_policy) - ofs);
}

/* All but the default one, which each process has, in the order of their
 * numbers. */
static struct ct_dpif_timeout_policy *
copy_policies(struct conntrack *ct, uint32_t *n)
    OVS_REQUIRES(ct->ct_lock)
{
    size_t allocated = 1;
    struct ct_dpif_timeout_policy *policies = xmalloc(sizeof *policies);
    const struct timeout_policy *tp;

    *n = 0;
    CMAP_FOR_EACH (tp, node, &ct->timeout_policies) {
        if (tp->policy.id == DEFAULT_TP_ID) {
            continue;
        }
        if (*n >= allocated) {
            policies = x2nrealloc(policies, &allocated, sizeof *policies);
        }
        policies[(*n)++] = tp->policy;
    }
    qsort(policies, *n, sizeof *policies, compare_policy_ids);
    return policies;
}

/* From the old process's numbers to those of this one. */
struct policy_map {
    struct policy_ids {
        uint32_t id;            /* In their order. */
        uint32_t new_id;
    } *ids;
    size_t n;

    /* Policies of this process, in the order of their timeouts. */
    struct ct_dpif_timeout_policy *known;
    uint32_t n_known;
};

/* With room for 'n' policies. */
static void
policy_map_init(struct conntrack *ct, struct policy_map *map, size_t n)
{
    map->ids = xmalloc(n * sizeof *map->ids);
    map->n = 0;
    ovs_mutex_lock(&ct->ct_lock);
    map->known = copy_policies(ct, &map->n_known);
    ovs_mutex_unlock(&ct->ct_lock);
    qsort(map->known, map->n_known, sizeof *map->known, compare_timeouts);
}

static void
policy_map_uninit(struct policy_map *map)
{
    free(map->ids);
    free(map->known);
}

/* Its number is higher than those before. */
static void
policy_map_add(struct policy_map *map,
               const struct ct_dpif_timeout_policy *policy)
{
    const struct ct_dpif_timeout_policy *same
        = bsearch(policy, map->known, map->n_known, sizeof *map->known,
                  compare_timeouts);

    map->ids[map->n++] = (struct policy_ids) {
        policy->id, same ? same->id : DEFAULT_TP_ID,
    };
}

static uint32_t
policy_map_find(const struct policy_map *map, uint32_t id)
{
    const struct policy_ids *found
        = bsearch(&id, map->ids, map->n, sizeof *map->ids,
                  compare_policy_ids);

    return found ? found->new_id : DEFAULT_TP_ID;
}
