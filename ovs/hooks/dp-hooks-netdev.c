/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of dpif-netdev.c: accessors to its statics. */

#include "conntrack-peek.h"

const struct dp_hooks *dp_hooks;

bool
dp_hook_received(struct dp_netdev_pmd_thread *pmd,
                 struct dp_packet_batch *batch, odp_port_t port)
{
    if (dp_hooks && dp_hooks->received) {
        dp_hooks->received(pmd, batch, port);
    }
    return dp_packet_batch_is_empty(batch);
}

bool
dp_hook_decapsulated(struct dp_netdev_pmd_thread *pmd,
                     struct dp_packet_batch *batch)
{
    if (dp_hooks && dp_hooks->decapsulated) {
        dp_hooks->decapsulated(pmd, batch);
    }
    if (!dp_packet_batch_is_empty(batch)) {
        /* The stock way, maybe inside of a verdict's execution. */
        bool bypass = conntrack_bypass_fragments(false);

        dp_netdev_recirculate(pmd, batch);
        conntrack_bypass_fragments(bypass);
    }
    return true;
}

struct conntrack *
dp_pmd_conntrack(const struct dp_netdev_pmd_thread *pmd)
{
    return pmd->dp->conntrack;
}

struct conntrack *
dp_dpif_conntrack(const struct dpif *dpif)
{
    return get_dp_netdev(dpif)->conntrack;
}

long long int
dp_pmd_now_ms(const struct dp_netdev_pmd_thread *pmd)
{
    return pmd->ctx.now / 1000;
}

void
dp_pmd_count_compiled(struct dp_netdev_pmd_thread *pmd, bool received,
                      uint64_t n)
{
    pmd_perf_update_counter(&pmd->perf_stats,
                            received ? PMD_STAT_RECV : PMD_STAT_RECIRC, n);
    pmd_perf_update_counter(&pmd->perf_stats, PMD_STAT_COMPILED_HIT, n);
}

void
dp_pmd_execute(struct dp_netdev_pmd_thread *pmd, struct dp_packet_batch *batch,
               const struct flow *flow, const struct nlattr *actions,
               size_t actions_len)
{
    bool bypass = conntrack_bypass_fragments(true);

    dp_netdev_execute_actions(pmd, batch, true, flow, actions, actions_len);
    conntrack_bypass_fragments(bypass);
}
