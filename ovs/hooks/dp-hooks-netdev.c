/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of dpif-netdev.c: accessors to its statics. */

#include "conntrack-peek.h"
#include "dp-hooks-tunnel.c"

const struct dp_hooks *dp_hooks;

bool
dp_hook_received(struct dp_netdev_pmd_thread *pmd,
                 struct dp_packet_batch *batch, odp_port_t port)
{
    if (dp_hooks && dp_hooks->received) {
        dp_hooks->received(pmd, batch, port);
        if (!dp_packet_batch_is_empty(batch)) {
            outer_take(pmd, batch, port);
        }
    }
    return dp_packet_batch_is_empty(batch);
}

bool
dp_hook_decapsulated(struct dp_netdev_pmd_thread *pmd,
                     struct dp_packet_batch *batch)
{
    if (dp_hooks && dp_hooks->decapsulated) {
        const size_t n = dp_packet_batch_size(batch);
        const odp_port_t port = batch->packets[0]->md.in_port.odp_port;

        dp_hooks->decapsulated(pmd, batch);
        if (dp_packet_batch_size(batch) < n) {
            outer_note_ours(pmd, port);
        }
    }
    if (!dp_packet_batch_is_empty(batch)) {
        /* The stock way, maybe inside of a verdict's execution. */
        bool bypass = conntrack_bypass_fragments(false);

        dp_netdev_recirculate(pmd, batch);
        conntrack_bypass_fragments(bypass);
    }
    return true;
}

/* By the clock: how long an iteration of a thread's loop takes depends on its
 * load, and on 'pmd-maxsleep'. */
#define IDLE_INTERVAL_US 2000
DEFINE_STATIC_PER_THREAD_DATA(long long int, idle_next, 0);

/* After so many iterations a thread does what it does now and then: it looks
 * which queues are enabled; others it doesn't poll. */
#define N_ITERATIONS 1025

/* Until there is a packet, or other ports.  Returns true if the thread has
 * rested. */
static bool
rest(struct dp_netdev_pmd_thread *pmd)
{
    int ms;

    if (!dp_hooks || !dp_hooks->rest || pmd->n_output_batches
        || !dp_hooks->rest(pmd->ctx.now, &ms)) {
        return false;
    }
    seq_wait(pmd->reload_seq, pmd->last_reload_seq);
    poll_timer_wait(ms);
    poll_block();
    pmd_thread_ctx_time_update(pmd);
    return true;
}

static void
age(struct dp_netdev_pmd_thread *pmd)
{
    long long int *next = idle_next_get();

    if (OVS_UNLIKELY(pmd->ctx.now >= *next)
        && dp_hooks && dp_hooks->idle) {
        *next = pmd->ctx.now + IDLE_INTERVAL_US;
        dp_hooks->idle(dp_pmd_now_ms(pmd));
    }
}

unsigned int
dp_hook_idle(struct dp_netdev_pmd_thread *pmd)
{
    age(pmd);
    return rest(pmd) ? N_ITERATIONS : 0;
}

void
dp_hook_unused(struct dp_netdev_pmd_thread *pmd)
{
    if (dp_hooks && dp_hooks->idle && dp_hooks->idle_interval) {
        pmd_thread_ctx_time_update(pmd);
        age(pmd);
        poll_timer_wait(dp_hooks->idle_interval());
    }
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

size_t
dp_dpif_work(const struct dpif *dpif, struct dp_pmd_work **workp)
{
    struct dp_netdev_pmd_thread **pmds;
    size_t n;

    sorted_poll_thread_list(get_dp_netdev(dpif), &pmds, &n);
    struct dp_pmd_work *work = xcalloc(n, sizeof *work);
    for (size_t i = 0; i < n; i++) {
        uint64_t stats[PMD_N_STATS];

        pmd_perf_read_counters(&pmds[i]->perf_stats, stats);
        work[i] = (struct dp_pmd_work) {
            .core_id = pmds[i]->core_id,
            .numa_id = pmds[i]->numa_id,
            .n_packets = stats[PMD_STAT_RECV],
            .busy_cycles = stats[PMD_CYCLES_ITER_BUSY],
            .idle_cycles = stats[PMD_CYCLES_ITER_IDLE],
        };
    }
    free(pmds);
    *workp = work;
    return n;
}

long long int
dp_pmd_now_ms(const struct dp_netdev_pmd_thread *pmd)
{
    return pmd->ctx.now / 1000;
}

void
dp_pmd_input_with_marks(struct dp_netdev_pmd_thread *pmd,
                        struct dp_packet_batch *batch, odp_port_t port)
{
    const int n = dp_packet_batch_size(batch);
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        uint32_t mark = packet->md.pkt_mark;

        pkt_metadata_init(&packet->md, port);
        packet->md.pkt_mark = mark;
    }
    /* Upstream counts what comes with metadata as recirculated. */
    pmd_perf_update_counter(&pmd->perf_stats, PMD_STAT_RECV, n);
    pmd_perf_update_counter(&pmd->perf_stats, PMD_STAT_RECIRC, -n);
    dp_netdev_recirculate(pmd, batch);
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
dp_pmd_count_lost(struct dp_netdev_pmd_thread *pmd, bool received, uint64_t n)
{
    pmd_perf_update_counter(&pmd->perf_stats,
                            received ? PMD_STAT_RECV : PMD_STAT_RECIRC, n);
    pmd_perf_update_counter(&pmd->perf_stats, PMD_STAT_LOST, n);
    COVERAGE_ADD(datapath_drop_lock_error, n);
}

/* True if 'packet' may be appended to what waits for 'tx' as it is. */
static inline bool
tx_port_takes(const struct tx_port *tx, const struct dp_packet *packet)
{
    const struct dp_packet_batch *waiting = &tx->output_pkts;

    return (!dp_packet_batch_is_empty(waiting)
            && dp_packet_batch_size(waiting) < NETDEV_MAX_BURST
            && packet->source == waiting->packets[0]->source
            && !dp_packet_get_cutlen(packet));
}

/* The port, or NULL. */
static inline struct tx_port *
tx_cache_get(struct dp_netdev_pmd_thread *pmd, struct dp_pmd_tx_cache *cache,
             odp_port_t port)
{
    size_t i = odp_to_u32(port) % ARRAY_SIZE(cache->ports);
    struct tx_port *tx = cache->ports[i].tx;

    if (!tx || cache->ports[i].port != port) {
        tx = pmd_send_port_cache_lookup(pmd, port);
        cache->ports[i].port = port;
        cache->ports[i].tx = tx;
    }
    return tx;
}

static inline void
send_by_port(struct dp_netdev_pmd_thread *pmd, struct tx_port *tx,
             struct dp_packet *packet, odp_port_t port)
{
    if (OVS_LIKELY(tx && tx_port_takes(tx, packet))) {
        tx->output_pkts_rxqs[dp_packet_batch_size(&tx->output_pkts)]
            = pmd->ctx.last_rxq;
        dp_packet_batch_add(&tx->output_pkts, packet);
    } else {
        struct dp_packet_batch batch;

        dp_packet_batch_init_packet(&batch, packet);
        dp_execute_output_action(pmd, &batch, true, port);
    }
}

void
dp_pmd_send(struct dp_netdev_pmd_thread *pmd, struct dp_pmd_tx_cache *cache,
            struct dp_packet *packet, odp_port_t port)
{
    send_by_port(pmd, tx_cache_get(pmd, cache, port), packet, port);
}

void
dp_pmd_send_train(struct dp_netdev_pmd_thread *pmd,
                  struct dp_pmd_tx_cache *cache,
                  struct dp_packet *const packets[], size_t n, odp_port_t port)
{
    struct tx_port *tx = tx_cache_get(pmd, cache, port);

    for (size_t i = 0; i < n; i++) {
        send_by_port(pmd, tx, packets[i], port);
    }
}

void
dp_pmd_send_into_tunnel(struct dp_netdev_pmd_thread *pmd,
                        struct dp_pmd_tx_cache *cache,
                        struct dp_packet *packet, const struct nlattr *push,
                        odp_port_t port)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, packet);
    if (push_tnl_action(pmd, push, &batch)) {
        COVERAGE_INC(datapath_drop_tunnel_push_error);
    } else if (OVS_LIKELY(!dp_packet_batch_is_empty(&batch))) {
        /* Without room for the header, another is in its place. */
        dp_pmd_send(pmd, cache, batch.packets[0], port);
    }
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

void
dp_pmd_execute_and_keep(struct dp_netdev_pmd_thread *pmd,
                        struct dp_packet_batch *batch, const struct flow *flow,
                        const struct nlattr *actions, size_t actions_len)
{
    bool bypass = conntrack_bypass_fragments(true);

    dp_netdev_execute_actions(pmd, batch, false, flow, actions, actions_len);
    conntrack_bypass_fragments(bypass);
}

bool
dp_pmd_meter(struct dp_netdev_pmd_thread *pmd, struct dp_packet *packet,
             uint32_t meter_id)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, packet);
    dp_netdev_run_meter(pmd->dp, &batch, meter_id, pmd->ctx.now);
    return !dp_packet_batch_is_empty(&batch);
}

bool
dp_pmd_meter_copy(struct dp_netdev_pmd_thread *pmd,
                  const struct dp_packet *packet, uint32_t meter_id)
{
    /* Meters look at nothing but the size. */
    struct dp_packet *stand_in = dp_packet_new(0);

    dp_packet_set_size(stand_in, dp_packet_size(packet));
    if (!dp_pmd_meter(pmd, stand_in, meter_id)) {
        return false;
    }
    dp_packet_delete(stand_in);
    return true;
}

void
dp_count_sent_to_controller(void)
{
    COVERAGE_INC(datapath_drop_userspace_action_error);
}
