/* SPDX-License-Identifier: Apache-2.0 */

/* Packets on their way into the compiled pipeline.
 *
 * Runs in PMD threads and, for ports without a PMD, in the main thread.  A
 * packet of a bridge of type "antrea" takes the fast path if its session is
 * known.  Any other is parsed whole, decided on and, unless it is punted, sent
 * where the verdict says; a punted one stays in the batch, and upstream goes
 * on with it as if nothing had happened. */

#include <config.h>
#include "adp-input.h"
#include "adp-input-private.h"

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-catch.h"
#include "adp-credit.h"
#include "adp-fast.h"
#include "adp-flow-cache.h"
#include "adp-held.h"
#include "adp-igmp-queue.h"
#include "adp-install.h"
#include "adp-log-packet.h"
#include "adp-packet-in.h"
#include "adp-refuse.h"
#include "adp-rewrite.h"
#include "adp-summary.h"
#include "adp-truncate.h"
#include "adp-tunnel.h"
#include "adp-tuple.h"
#include "adp-walk-cache.h"
#include "adp-walk.h"
#include "dp-hooks.h"
#include "dp-packet.h"
#include "dpif-netdev-private.h"
#include "ofproto/tunnel.h"
#include "packets.h"
#include "tnl-ports.h"

/* Accounting. */

/* Accounts for a packet that stays in its batch. */
static void
leave(struct adp_fast *f, struct adp_bridge *b, enum adp_punt punt,
      const struct flow *flow)
{
    if (punt != ADP_PUNT_BRIDGE) {      /* Of which all packets stay. */
        adp_punted_add(&f->punted, flow);
    }
    adp_count(&b->counters.punts[punt], 1);
    if (flow->dl_type == htons(ETH_TYPE_IP)
        || flow->dl_type == htons(ETH_TYPE_IPV6)) {
        adp_count(&b->counters.ip_punts, 1);
    }
}

static void
count_drop(struct adp_bridge *b, const struct adp_walk *w)
{
    enum adp_drop why = (w->tunnel_lost ? ADP_DROP_TUNNEL
                         : w->verdict.answer ? ADP_DROP_REJECT
                         : w->verdict.drop_rule ? ADP_DROP_FLOW
                         : ADP_DROP_MISS);

    adp_count(&b->counters.drops[why], 1);
}

/* The break at or behind 'i' where another pass begins, or NULL. */
static const struct adp_break *
next_pass(const struct adp_verdict *v, size_t i)
{
    for (; i < v->n_breaks; i++) {
        if (v->breaks[i].packet_in == SIZE_MAX && !v->breaks[i].answers) {
            return &v->breaks[i];
        }
    }
    return NULL;
}

/* Counts a packet in, and learns of, what the walk met between two breaks:
 * NULL for its beginning and end. */
static void
credit(struct adp_bridge *b, const struct adp_walk *w,
       const struct adp_break *from, const struct adp_break *to,
       uint64_t n_bytes, uint16_t tcp_flags, long long int now)
{
    const struct adp_verdict *v = &w->verdict;

    for (size_t i = from ? from->n_hits : 0; i < (to ? to->n_hits : v->n_hits);
         i++) {
        adp_credit_hit(b, &v->hits[i], 1, n_bytes, now, tcp_flags);
    }
    size_t n_idle_passes = ((to ? to->n_idle_passes : v->n_idle_passes)
                            - (from ? from->n_idle_passes : 0));
    if (n_idle_passes) {
        adp_count(&b->counters.idle_passes, n_idle_passes);
    }
    if (!from) {
        adp_count(&b->counters.handled, 1);
        adp_count(&b->counters.handled_bytes, n_bytes);
    }
    if (!to) {
        for (size_t i = 0; i < w->n_tunnels; i++) {
            adp_tunnel_credit(w->tunnels[i], 1, n_bytes);
        }
        for (size_t i = 0; i < w->n_lost; i++) {
            adp_tunnel_credit(w->lost[i], 1, n_bytes);
        }
        if (v->dropped || (w->tunnel_lost && !w->n_tunnels)) {
            count_drop(b, w);
        }
    }
}

static void
learn(struct adp_bridge *b, const struct adp_walk *w,
      const struct adp_break *from, const struct adp_break *to)
{
    const struct adp_verdict *v = &w->verdict;

    for (size_t i = from ? from->n_learned : 0;
         i < (to ? to->n_learned : v->n_learned); i++) {
        adp_install_learned(b, &v->learned[i], w->program->generation);
    }
}

/* Parsing. */

void
adp_input_parse(struct dp_packet *packet, struct flow *flow)
{
    struct {
        struct miniflow mf;
        uint64_t buf[FLOW_U64S];
    } m;

    miniflow_extract(packet, &m.mf);
    /* Tunnels take the outer source port from it. */
    dpif_netdev_packet_get_rss_hash_orig_pkt(packet, &m.mf);
    miniflow_expand(&m.mf, flow);
}

/* Deciding. */

/* Why the packet can't be decided on at all.  One that comes behind a punted
 * one can unless it is known that it isn't refused. */
enum adp_punt
adp_input_punt_early(const struct adp_fast *f,
                     const struct adp_fast_packet *fp, struct adp_bridge *b,
                     const struct flow *flow)
{
    return (adp_bridge_mode(b) == ADP_MODE_STOCK ? ADP_PUNT_BRIDGE
            : flow->nw_frag & FLOW_NW_FRAG_ANY ? ADP_PUNT_FRAGMENT
            : (adp_punted_overtaken_by(&f->punted, flow)
               && adp_fast_known(f, fp, b) == ADP_FAST_NOT_REFUSED)
            ? ADP_PUNT_BEHIND : ADP_PUNT_NONE);
}

/* True if upstream may learn from the packet where a tunnel's neighbour is. */
static bool
tells_neighbour(const struct flow *flow)
{
    return (flow->dl_type == htons(ETH_TYPE_ARP)
            || (flow->dl_type == htons(ETH_TYPE_IPV6)
                && flow->nw_proto == IPPROTO_ICMPV6
                && flow->tp_src == htons(ND_NEIGHBOR_ADVERT)));
}

/* True if the packet, now with the headers of 'flow', goes to a port with an
 * address of ours, and is a tunnel's or tells about a tunnel's neighbour:
 * upstream ends the tunnel there, and notes the neighbour. */
static bool
concerns_tunnel(const struct adp_walk *w, struct flow *flow)
{
    struct flow_wildcards wc;

    if (!w->to_ip_port || w->verdict.dropped) {
        return false;
    }
    memset(&wc, 0, sizeof wc);
    return (tells_neighbour(flow)
            || tnl_port_map_lookup(flow, &wc) != ODPP_NONE);
}

enum adp_punt
adp_input_punt_late(const struct adp_fast *f, const struct adp_walk *w,
                    const struct flow *original, struct flow *flow)
{
    const struct adp_verdict *v = &w->verdict;

    /* A packet that goes nowhere overtakes nobody, and upstream would neither
     * tell its sender nor log it. */
    if (!v->answer && !(v->dropped && v->n_logs)
        && adp_punted_overtaken_by(&f->punted, original)) {
        return ADP_PUNT_BEHIND;
    }
    if (v->punt) {
        return v->punt;
    }
    if (v->held && v->n_breaks) {
        return ADP_PUNT_CONTROLLER;     /* Who waits can't pause. */
    }
    return concerns_tunnel(w, flow) ? ADP_PUNT_TUNNEL : ADP_PUNT_NONE;
}

/* True if the packets that have the session key of this one look the same to
 * the program. */
static bool
may_remember(const struct adp_walk *w, const struct flow *flow)
{
    uint32_t not_in_key = ADP_READS_OTHER;

    if (flow->nw_proto == IPPROTO_TCP) {
        not_in_key |= ADP_READS_TCP_FLAGS;
    }
    return !(w->program->reads & not_in_key);
}

/* A verdict without its ct()s, and the packet that it is for. */
struct execution {
    struct adp_cached_verdict_content content;
    const struct nlattr *actions;
    struct conntrack_peek_tuple tuple;  /* The packet's after NAT. */
    uint8_t nw_proto;
    /* Of the content's tunnel. */
    const struct adp_tunnel_actions *tnl_actions;
};

/* Does to conntrack what the walk 'w' found out.  Returns false, and has done
 * nothing, if that can't be. */
static bool
execute_conntrack(struct adp_fast *f, struct adp_walk *w,
                  struct execution *e)
{
    e->tnl_actions = NULL;
    if (e->content.tunnel) {
        e->tnl_actions = adp_tunnel_actions(e->content.tunnel, f->now);
        if (!e->tnl_actions || !e->tnl_actions->size) {
            return false;
        }
    }
    return !w->has_ct_timeout && conntrack_peek_apply(&w->ct.peek);
}

/* Rewrites the packet and sends it on. */
static void
execute_content(struct adp_fast *f, const struct execution *e,
                struct dp_packet *packet)
{
    if (e->content.metered
        && !dp_pmd_meter(f->pmd, packet, e->content.meter_id)) {
        return;
    }
    adp_rewrite_to(packet, &e->content, &e->tuple, e->nw_proto);
    adp_fast_leave(f, packet, &e->content, e->actions, e->tnl_actions);
}

/* Counts a packet that was decided on at the cost of 'cycles'. */
static void
count_decided(struct adp_fast *f, struct adp_bridge *b,
              const struct adp_walk *w, const struct adp_summary *sum,
              const struct flow *flow, uint64_t n_bytes, uint64_t cycles)
{
    uint16_t tcp_flags = ntohs(flow->tcp_flags);
    struct adp_cached_verdict *v = NULL;

    if (sum && !w->tunnel_lost) {
        struct adp_cached_verdict_source source;

        adp_summary_source(sum, &source);
        v = adp_cached_verdict_for_decided(f->cache->verdicts, &source,
                                           &sum->content, f->now);
    }
    if (v) {
        adp_store_count(f->cache->verdicts, &v->up, 1, n_bytes, tcp_flags,
                        f->now);
        adp_count_mine(&v->n_cycles, cycles);
    } else {
        credit(b, w, NULL, next_pass(&w->verdict, 0), n_bytes, tcp_flags,
               f->now);
        if (w->from_tunnel) {
            adp_credit_tunnel_port(b, flow->in_port.ofp_port, 1,
                                          n_bytes);
        }
        adp_count(&b->counters.decides, 1);
        adp_count(&b->counters.decide_cycles, cycles);
    }
}

/* Remembers a walk for packets to come. */
static void
remember(struct adp_fast *f, const struct adp_fast_packet *fp,
         const struct adp_summary *sum, const struct flow *flow)
{
    if (fp->is_parsed && may_remember(sum->w, flow)) {
        if (sum->w->ct.peek.ordinary && adp_summary_may_be_kept(sum)
            && adp_log_allows_session(&sum->content)) {
            struct adp_cached_verdict_source source;

            adp_summary_source(sum, &source);
            adp_flow_cache_remember(f->cache, &fp->parsed, sum->w, &sum->tuple,
                                    &source, &sum->content, f->now);
        }
        adp_walk_cache_add(f->cache->walk_cache, &fp->parsed, sum);
    }
}

/* Logs a packet that was decided on.  'sum' may be NULL. */
static void
log_decided(struct adp_fast *f, struct adp_bridge *b,
            const struct dp_packet *packet, const struct flow *original,
            const struct adp_walk *w, const struct adp_summary *sum)
{
    struct conntrack_peek_tuple tuple;

    adp_tuple_from_flow(&tuple, original);
    adp_log_packet(f, b, &(struct adp_log_packet) {
        .packet = packet,
        .original = &tuple,
        .nw_proto = original->nw_proto,
        .in_port = original->in_port.ofp_port,
        .w = w,
        .content = sum ? &sum->content : NULL,
        .is_first = adp_log_packet_is_first(w),
    }, w->verdict.logs, w->verdict.n_logs);
}

/* Executes the actions of a verdict that has breaks. */
static void
execute_with_breaks(struct adp_fast *f, struct adp_bridge *b,
                    const struct adp_walk *w, struct dp_packet *packet,
                    const struct flow *flow)
{
    const struct adp_verdict *v = &w->verdict;
    const char *actions = v->actions.data;
    const uint64_t n_bytes = dp_packet_size(packet);
    /* The sender gets his answer to the packet as it came. */
    struct dp_packet *as_it_came = (v->answers_late
                                    ? dp_packet_clone(packet) : NULL);
    struct dp_packet_batch batch;
    size_t at = 0;

    adp_fast_flush(f);
    dp_packet_batch_init_packet(&batch, packet);
    for (size_t i = 0; i < v->n_breaks; i++) {
        const struct adp_break *brk = &v->breaks[i];

        if (brk->start > at) {
            dp_pmd_execute_and_keep(f->pmd, &batch, flow,
                                    (const struct nlattr *) &actions[at],
                                    brk->start - at);
        }
        if (dp_packet_batch_is_empty(&batch)) {
            dp_packet_delete(as_it_came);
            return;                     /* A meter has dropped it. */
        }
        at = brk->end;
        if (brk->packet_in != SIZE_MAX) {
            adp_packet_in_send(b, f->pmd, &v->packet_ins[brk->packet_in],
                               batch.packets[0], at == v->actions.size);
        } else if (brk->answers) {
            adp_refuse(f, b, as_it_came, v->answer, flow->in_port.ofp_port);
        } else {
            const struct adp_break *to = next_pass(v, i + 1);

            credit(b, w, brk, to, n_bytes, ntohs(flow->tcp_flags), f->now);
            learn(b, w, brk, to);
        }
    }
    dp_packet_delete(as_it_came);
    adp_fast_execute(f, batch.packets[0], flow,
                     (const struct nlattr *) &actions[at],
                     v->actions.size - at);
}

/* Decides and, unless the packet is punted, does what the verdict says.  'fp'
 * is the packet as the fast path saw it. */
static enum adp_punt
walk_and_execute(struct adp_fast *f, const struct adp_fast_packet *fp,
                 struct adp_bridge *b, struct dp_packet *packet,
                 const struct flow *original, struct adp_walk *w)
{
    struct pmd_perf_stats *perf = &f->pmd->perf_stats;
    struct flow flow = *original;
    struct adp_summary summary;
    enum adp_punt punt;

    uint64_t start = cycles_counter_update(perf);
    adp_walk(w, b, f->tracker, packet, &flow, f->now);
    uint64_t cycles = cycles_counter_update(perf) - start;

    punt = adp_input_punt_late(f, w, original, &flow);
    if (punt) {
        adp_count(&b->counters.decides, 1);
        adp_count(&b->counters.decide_cycles, cycles);
        return punt;
    }

    bool summed_up = adp_summary_init(&summary, w, original);
    count_decided(f, b, w, summed_up ? &summary : NULL, original,
                  dp_packet_size(packet), cycles);
    learn(b, w, NULL, next_pass(&w->verdict, 0));
    if (summed_up) {
        remember(f, fp, &summary, original);
    }
    if (w->verdict.n_logs) {
        log_decided(f, b, packet, original, w, summed_up ? &summary : NULL);
    }
    if (w->verdict.answer && !w->verdict.answers_late) {
        adp_refuse(f, b, packet, w->verdict.answer,
                   original->in_port.ofp_port);
    }

    if (w->verdict.read) {
        adp_igmp_queue_add(b, packet, original);
    }

    struct execution e;
    if (summed_up) {
        memcpy(&e.content, &summary.content, sizeof e.content);
        e.actions = summary.actions;
        e.tuple = summary.tuple;
        e.nw_proto = original->nw_proto;
    }
    if (w->verdict.held && adp_held_wants(packet, original)) {
        adp_held_add(b, packet, original, &w->verdict.actions);
    } else if (summed_up && execute_conntrack(f, w, &e)) {
        execute_content(f, &e, packet);
    } else if (w->verdict.n_breaks) {
        execute_with_breaks(f, b, w, packet, original);
    } else {
        adp_fast_execute(f, packet, original, w->verdict.actions.data,
                         w->verdict.actions.size);
    }
    return ADP_PUNT_NONE;
}

/* Logs a packet for which a cached walk was replayed. */
static void
log_replayed(struct adp_fast *f, struct adp_bridge *b,
             const struct dp_packet *packet,
             const struct adp_session_packet *p, const struct adp_walk *w,
             const struct adp_cached_verdict_content *content, bool is_first)
{
    struct conntrack_peek_tuple tuple;
    ofp_port_t in_port = content->ingress_tunnel;

    if (f->in_port != ODPP_NONE) {
        adp_ports_input(f->in_port, &in_port);
    }
    adp_tuple_from_packet(&tuple, p);
    adp_log_packet(f, b, &(struct adp_log_packet) {
        .packet = packet,
        .original = &tuple,
        .nw_proto = p->nw_proto,
        .in_port = in_port,
        .w = w,
        .content = content,
        .is_first = is_first,
    }, content->logs, content->n_logs);
}

/* The same by an earlier walk that is cached.  Returns false, and has done
 * nothing, if there is none that fits. */
static bool
replay_and_execute(struct adp_fast *f, const struct adp_fast_packet *fp,
                   struct adp_bridge *b, struct dp_packet *packet,
                   struct adp_walk *w)
{
    const struct adp_session_packet *p = &fp->parsed;
    struct pmd_perf_stats *perf = &f->pmd->perf_stats;
    struct execution e;

    uint64_t start = cycles_counter_update(perf);
    adp_walk_prepare(w, b, f->tracker, packet, f->in_port == ODPP_NONE,
                     f->now);
    bool nat;
    struct adp_cached_verdict *v
        = adp_walk_cache_replay(f->cache->walk_cache, p, w, &e.tuple, &nat);
    uint64_t cycles = cycles_counter_update(perf) - start;

    if (!v || (v->content.missed && adp_bridge_sends_misses(b))) {
        return false;
    }
    memcpy(&e.content, &v->content, sizeof e.content);
    e.content.nat = nat;
    e.actions = v->actions;
    e.nw_proto = p->nw_proto;
    if (w->ct.peek.ordinary && adp_log_allows_session(&e.content)) {
        struct adp_cached_verdict_source source;

        adp_cached_verdict_source_init(&source, v, w->program, w->ports);
        adp_flow_cache_remember(f->cache, p, w, &e.tuple, &source, &e.content,
                                f->now);
    }
    bool is_first = adp_log_packet_is_first(w);
    if (!execute_conntrack(f, w, &e)) {
        return false;
    }
    adp_store_count(f->cache->verdicts, &v->up, 1, dp_packet_size(packet),
                    p->tcp_flags, f->now);
    adp_count_mine(&v->n_cycles, cycles);
    adp_flow_cache_count_replay(f->cache);
    adp_fast_init_metadata(f, packet, p->is_ipv6);
    if (e.content.n_logs) {
        log_replayed(f, b, packet, p, w, &e.content, is_first);
    }
    if (e.content.answer) {
        adp_refuse(f, b, packet, e.content.answer, e.content.ingress_tunnel);
    }
    execute_content(f, &e, packet);
    return true;
}

static bool
replay(struct adp_fast *f, const struct adp_fast_packet *fp,
       struct adp_bridge *b, struct dp_packet *packet)
{
    struct adp_walk *w;
    bool done = false;

    if (fp->is_parsed && (w = adp_flow_cache_begin_walk(f->cache)) != NULL) {
        done = replay_and_execute(f, fp, b, packet, w);
        adp_flow_cache_end_walk(f->cache);
    }
    return done;
}

/* Handles packets from number 'i' on of a batch of 'n' without a look at the
 * tables, as far as that can be, and returns how many. */
static size_t
take(struct adp_fast *f, size_t i, size_t n, struct adp_bridge *b,
     const struct dp_packet_batch *batch)
{
    const bool has_trains = adp_fast_has_trains(f);
    struct dp_packet *const *packets = &batch->packets[i];
    const struct adp_fast_packet *fp = &f->packets[i];

    if (fp->is_parsed
        && adp_punted_overtaken_by_parsed(&f->punted, &fp->parsed)) {
        return (adp_fast_known(f, fp, b) == ADP_FAST_REFUSED
                && adp_fast_take(f, i, packets[0], b));
    }

    size_t n_train = has_trains ? adp_fast_train(f, i, n) : 1;
    size_t n_taken = (n_train > 1
                      ? adp_fast_take_train(f, i, packets, n_train, b)
                      : adp_fast_take(f, i, packets[0], b));
    return n_taken ? n_taken : replay(f, fp, b, packets[0]);
}

/* The packet is a fragment.  If whole it would be held until it was read, it
 * isn't worth anything: in its place an answer is held that has nothing to
 * read, so that who asked asks again by TCP.  Returns false, and has done
 * nothing, if that can't be. */
static bool
hold_truncated(struct adp_fast *f, struct adp_bridge *b,
               struct dp_packet *packet, const struct flow *original)
{
    struct dp_packet *answer = adp_truncated_answer(packet, original);
    struct adp_walk *w = answer ? adp_flow_cache_begin_walk(f->cache) : NULL;
    struct flow came, flow;
    bool held = false;

    if (w) {
        adp_input_parse(answer, &came);
        came.in_port = original->in_port;
        came.tunnel = original->tunnel;
        flow = came;
        adp_walk(w, b, f->tracker, answer, &flow, f->now);
        held = (w->verdict.held && !w->verdict.punt
                && !w->verdict.n_breaks);
        if (held) {
            count_decided(f, b, w, NULL, &came, dp_packet_size(packet), 0);
            adp_count(&b->counters.dns_truncated, 1);
            adp_held_add(b, answer, &came, &w->verdict.actions);
            dp_packet_delete(packet);
        }
        adp_flow_cache_end_walk(f->cache);
    }
    if (!held) {
        dp_packet_delete(answer);
    }
    return held;
}

/* Returns true if the packet was handled, and is gone. */
static bool
handle(struct adp_fast *f, const struct adp_fast_packet *fp,
       struct adp_bridge *b, struct dp_packet *packet,
       const struct flow *flow)
{
    enum adp_punt punt = adp_input_punt_early(f, fp, b, flow);

    if (!punt) {
        struct adp_walk *w = adp_flow_cache_begin_walk(f->cache);

        if (w) {
            punt = walk_and_execute(f, fp, b, packet, flow, w);
            adp_flow_cache_end_walk(f->cache);
        } else {
            punt = ADP_PUNT_DEPTH;
        }
    }
    if (punt == ADP_PUNT_FRAGMENT && hold_truncated(f, b, packet, flow)) {
        return true;
    }
    if (punt) {
        leave(f, b, punt, flow);
    }
    return !punt;
}

static const struct tun_table *
tunnel_options(const struct adp_bridge *b)
{
    return ofproto_get_tun_tab(&b->dpif.up);
}

/* Fetches cached walks for those of 'n' packets that have no session, if there
 * are several to overlap: 'heads', or the first of the batch. */
static void
fetch_walks(struct adp_fast *f, const struct adp_bridge *b,
            const uint8_t *heads, size_t n)
{
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);
    struct adp_walk_fetch fetches[NETDEV_MAX_BURST];
    uint8_t packets[NETDEV_MAX_BURST];
    size_t n_fetches = 0;

    if (f->n_unknown < 2 || !adp_walk_cache_count(f->cache->walk_cache)) {
        return;
    }
    for (size_t k = 0; k < n; k++) {
        size_t i = heads ? heads[k] : k;

        if (f->packets[i].is_parsed && !f->packets[i].candidate) {
            packets[n_fetches++] = i;
        }
    }
    for (int stage = 0; stage < ADP_WALK_FETCH_STAGES; stage++) {
        for (size_t i = 0; i < n_fetches; i++) {
            adp_walk_cache_fetch(f->cache->walk_cache, f->tracker, stage,
                                 program->reads,
                                 &f->packets[packets[i]].parsed, &fetches[i]);
        }
    }
}

/* The stages of the fast path after parsing for 'n' packets: 'heads', or the
 * first of the batch; then for a bridge, unless 'b' is NULL, what is cached
 * for others. */
static inline ALWAYS_INLINE void
fetch_stages(struct adp_fast *f, const struct adp_bridge *b,
             const uint8_t *heads, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        adp_fast_fetch_session(f, heads ? heads[k] : k);
    }
    for (size_t k = 0; k < n; k++) {
        adp_fast_fetch_conns(f, heads ? heads[k] : k);
    }
    if (f->has_more_conns) {
        for (size_t k = 0; k < n; k++) {
            adp_fast_fetch_more_conns(f, heads ? heads[k] : k);
        }
    }
    if (f->has_tunnels) {
        for (size_t k = 0; k < n; k++) {
            adp_fast_fetch_tunnel(f, heads ? heads[k] : k);
        }
        for (size_t k = 0; k < n; k++) {
            adp_fast_fetch_tunnel_actions(f, heads ? heads[k] : k);
        }
    }
    if (b) {
        fetch_walks(f, b, heads, n);
    }
}

/* The same for a batch of 'n', without a detour if there are no trains.  While
 * somebody waits for a packet, each goes alone. */
static void
fetch_sessions(struct adp_fast *f, const struct adp_bridge *b, size_t n,
               bool catches)
{
    if (OVS_UNLIKELY(catches)) {
        f->n_alike = 0;
    }
    if (adp_fast_has_trains(f)) {
        adp_fast_couple(f, n);
        fetch_stages(f, b, f->heads, f->n_heads);
    } else {
        fetch_stages(f, b, NULL, n);
    }
}

/* The first stages of the fast path for a batch from one port.  Sessions know
 * nothing of marks: a packet that has one walks the tables. */
static void
fetch(struct adp_fast *f, struct dp_packet_batch *batch, bool has_marks,
      bool catches, const struct adp_bridge *b, ofp_port_t ofp_port)
{
    const uint32_t ingress = adp_flow_cache_ingress(b, ofp_port);
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        OVS_PREFETCH(dp_packet_data(packet));
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        adp_fast_parse(f, i, packet, ingress);
        if (OVS_UNLIKELY(has_marks && packet->md.pkt_mark)) {
            f->packets[i].is_parsed = false;
        }
    }
    fetch_sessions(f, b, dp_packet_batch_size(batch), catches);
}

/* A packet that the fast path did not take. */
static bool
receive_one(struct adp_fast *f, size_t i, struct dp_packet *packet,
            struct adp_bridge *b, odp_port_t odp_port, ofp_port_t ofp_port,
            bool has_marks)
{
    const uint32_t mark = has_marks ? packet->md.pkt_mark : 0;
    struct flow flow;

    if (dp_packet_size(packet) < ETH_HEADER_LEN) {
        return false;
    }
    pkt_metadata_init(&packet->md, odp_port);
    packet->md.pkt_mark = mark;
    adp_input_parse(packet, &flow);
    flow.in_port.ofp_port = ofp_port;
    flow.tunnel.metadata.tab = tunnel_options(b);
    return handle(f, &f->packets[i], b, packet, &flow);
}

/* Drops a batch that came to a closed bridge. */
static void
refuse(struct adp_bridge *b, struct dp_netdev_pmd_thread *pmd,
       struct dp_packet_batch *batch)
{
    size_t n = dp_packet_batch_size(batch);

    adp_count(&b->counters.drops[ADP_DROP_RESTORE], n);
    dp_pmd_count_lost(pmd, true, n);
    dp_packet_delete_batch(batch, true);
    dp_packet_batch_init(batch);
}

void
adp_input_received(struct dp_netdev_pmd_thread *pmd,
                   struct dp_packet_batch *batch, odp_port_t odp_port,
                   bool has_marks)
{
    const size_t n = dp_packet_batch_size(batch);
    ofp_port_t ofp_port;
    size_t n_handled = 0;
    struct adp_fast f;

    struct adp_bridge *b = adp_ports_input(odp_port, &ofp_port);
    if (!b) {
        return;
    }

    enum adp_mode mode = adp_bridge_mode(b);
    if (OVS_UNLIKELY(mode == ADP_MODE_CLOSED)) {
        if (adp_catch_is_armed()) {
            adp_input_catch_refused(b, batch, odp_port, ofp_port);
        }
        refuse(b, pmd, batch);
        return;
    }

    bool compiled = mode == ADP_MODE_COMPILED;
    bool catches = adp_catch_is_armed();
    adp_fast_init(&f, pmd, adp_flow_cache_begin_batch(), odp_port);
    fetch(&f, batch, has_marks, catches, b, ofp_port);
    dp_packet_batch_refill_init(batch);
    for (size_t i = 0; i < n; ) {
        struct dp_packet *packet = batch->packets[i];

        if (OVS_UNLIKELY(catches)) {
            adp_input_catch(&f, i, packet, b, odp_port, ofp_port, has_marks);
        }
        size_t n_taken = compiled ? take(&f, i, n, b, batch) : 0;

        if (n_taken
            || receive_one(&f, i, packet, b, odp_port, ofp_port, has_marks)) {
            n_handled += MAX(n_taken, 1);
        } else {
            dp_packet_batch_refill(batch, packet, i);
        }
        i += MAX(n_taken, 1);
    }
    adp_fast_flush(&f);
    adp_flow_cache_end_batch(f.cache);
    dp_pmd_count_compiled(pmd, true, n_handled);
}

/* Completes the flow of a packet that came out of a tunnel to port 'ofp_port'.
 * Returns false if upstream has to see it: '*known' tells whether the flow is
 * what upstream will see. */
bool
adp_input_complete_tunnel_flow(struct adp_bridge *b, ofp_port_t ofp_port,
                               struct flow *flow, bool *known)
{
    struct flow_tnl tunnel = flow->tunnel;
    uint8_t nw_tos = flow->nw_tos;

    *known = false;
    flow->in_port.ofp_port = ofp_port;
    if (tunnel.flags & FLOW_TNL_F_UDPIF) {
        if (tun_metadata_from_geneve_udpif(tunnel_options(b), &tunnel,
                                           &tunnel, &flow->tunnel)) {
            return false;
        }
    } else {
        flow->tunnel.metadata.tab = tunnel_options(b);
    }

    /* Congestion marks move from the outer to the inner header. */
    *known = true;
    return tnl_process_ecn(flow) && flow->nw_tos == nw_tos;
}

/* Returns true if the packet is gone; then '*refused' tells that its bridge is
 * closed. */
static bool
decapsulated_one(struct adp_fast *f, size_t i, struct dp_packet *packet,
                 bool *refused)
{
    struct flow_tnl tunnel = packet->md.tunnel;
    ofp_port_t ofp_port;
    struct flow flow;
    bool known;

    if (dp_packet_size(packet) < ETH_HEADER_LEN) {
        return false;
    }
    adp_input_parse(packet, &flow);
    struct adp_bridge *b = adp_ports_input_tunnel(&flow, &ofp_port);
    if (!b) {
        return false;
    }
    if (OVS_UNLIKELY(adp_bridge_mode(b) == ADP_MODE_CLOSED)) {
        adp_count(&b->counters.drops[ADP_DROP_RESTORE], 1);
        dp_packet_delete(packet);
        *refused = true;
        return true;
    }
    if (!adp_input_complete_tunnel_flow(b, ofp_port, &flow, &known)) {
        if (known) {
            leave(f, b, ADP_PUNT_TUNNEL, &flow);
        }
        return false;
    }

    if (!f->packets[i].is_parsed) {
        /* Its like may take the fast path from now on. */
        adp_flow_cache_add_kind(f->cache, &tunnel, b, ofp_port, f->now);
    }
    return handle(f, &f->packets[i], b, packet, &flow);
}

void
adp_input_decapsulated(struct dp_netdev_pmd_thread *pmd,
                       struct dp_packet_batch *batch)
{
    const struct adp_ingress *kinds[NETDEV_MAX_BURST];
    uint32_t hashes[NETDEV_MAX_BURST];
    const size_t n = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    size_t n_handled = 0, n_refused = 0, i;
    struct adp_fast f;

    adp_fast_init(&f, pmd, adp_flow_cache_begin_batch(), ODPP_NONE);
    adp_flow_cache_fetch_kinds(f.cache, batch, hashes);
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        kinds[i] = adp_flow_cache_find_kind(f.cache, &packet->md.tunnel,
                                            hashes[i], f.now);
        f.packets[i].is_parsed = false;
        if (kinds[i]) {
            adp_fast_parse(&f, i, packet,
                           adp_flow_cache_ingress_of_kind(kinds[i]));
        }
    }
    bool catches = adp_catch_is_armed();
    fetch_sessions(&f, NULL, n, catches);

    dp_packet_batch_refill_init(batch);
    for (i = 0; i < n; ) {
        struct adp_bridge *b = kinds[i] ? kinds[i]->owner : NULL;
        size_t n_taken = 0;
        bool refused = false;

        packet = batch->packets[i];
        if (OVS_UNLIKELY(catches)) {
            adp_input_catch_decapsulated(&f, i, packet);
        }
        if (b && adp_bridge_mode(b) == ADP_MODE_COMPILED) {
            n_taken = take(&f, i, n, b, batch);
        }
        if (n_taken || decapsulated_one(&f, i, packet, &refused)) {
            n_handled += refused ? 0 : MAX(n_taken, 1);
            n_refused += refused;
        } else {
            dp_packet_batch_refill(batch, packet, i);
        }
        i += MAX(n_taken, 1);
    }
    adp_fast_flush(&f);
    adp_flow_cache_end_batch(f.cache);
    if (n_handled) {
        dp_pmd_count_compiled(pmd, false, n_handled);
    }
    if (n_refused) {
        dp_pmd_count_lost(pmd, false, n_refused);
    }
}
