/* SPDX-License-Identifier: Apache-2.0 */

/* Packets that no session is for: an earlier walk is replayed, or they walk
 * the tables, and what came of that is carried out. */

#include <config.h>
#include "adp-input-private.h"

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-credit.h"
#include "adp-fast.h"
#include "adp-flow-cache.h"
#include "adp-held.h"
#include "adp-igmp-queue.h"
#include "adp-install.h"
#include "adp-log-packet.h"
#include "adp-offload-actions.h"
#include "adp-offload.h"
#include "adp-packet-in.h"
#include "adp-ports.h"
#include "adp-refuse.h"
#include "adp-rewrite.h"
#include "adp-sample.h"
#include "adp-summary.h"
#include "adp-truncate.h"
#include "adp-tunnel.h"
#include "adp-tuple.h"
#include "adp-walk-cache.h"
#include "adp-walk.h"
#include "dp-hooks.h"
#include "dp-packet.h"
#include "dpif-netdev-private.h"
#include "packets.h"

/* Accounting. */

/* Accounts for a packet that stays in its batch. */
void
adp_input_leave(struct adp_fast *f, struct adp_bridge *b, enum adp_punt punt,
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

/* Deciding. */

/* True if the packet, which upstream handles, may be one whose sender is to be
 * told that it is refused, or that is to be logged: see tell_beside(). */
static bool
may_be_told(const struct adp_fast *f, const struct adp_fast_packet *fp,
            struct adp_bridge *b, struct dp_packet *packet,
            const struct flow *flow)
{
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);

    return (adp_answers_any_told(&program->answers)
            && is_ip_any(flow) && !(flow->nw_frag & FLOW_NW_FRAG_ANY)
            && (adp_fast_known_ordinary(f, fp, packet, b)
                != ADP_FAST_NOT_REFUSED));
}

/* True if upstream handles the packet whatever the walk would say, and there
 * is nothing to be done beside. */
static bool
is_upstreams(const struct adp_fast *f, const struct adp_fast_packet *fp,
             struct adp_bridge *b, struct dp_packet *packet,
             const struct flow *flow)
{
    enum adp_mode mode = adp_bridge_mode(b);

    return (mode == ADP_MODE_STOCK
            || (mode == ADP_MODE_WATCHED && !adp_held_may_be(flow)
                && !may_be_told(f, fp, b, packet, flow)));
}

/* Why the packet can't be decided on at all.  One that comes behind a punted
 * one can unless it is known that it isn't refused. */
enum adp_punt
adp_input_punt_early(const struct adp_fast *f,
                     const struct adp_fast_packet *fp, struct adp_bridge *b,
                     struct dp_packet *packet, const struct flow *flow)
{
    return (is_upstreams(f, fp, b, packet, flow) ? ADP_PUNT_BRIDGE
            : flow->nw_frag & FLOW_NW_FRAG_ANY ? ADP_PUNT_FRAGMENT
            : (adp_punted_overtaken_by(&f->punted, flow)
               && adp_fast_known(f, fp, b) == ADP_FAST_NOT_REFUSED)
            ? ADP_PUNT_BEHIND : ADP_PUNT_NONE);
}

/* True if the executor would have to find a port for the packet that it may
 * not find, and then send the packet without NAT. */
static bool
leaves_nat_to_chance(const struct adp_walk *w, const struct flow *original)
{
    struct adp_summary sum;

    return (conntrack_peek_nat_by_chance(&w->ct.peek)
            && (!adp_walk_may_apply(w)
                || !adp_summary_init(&sum, w, original)));
}

enum adp_punt
adp_input_punt_late(const struct adp_fast *f, const struct adp_walk *w,
                    const struct flow *original)
{
    const struct adp_verdict *v = &w->verdict;

    if (adp_bridge_mode(w->bridge) == ADP_MODE_WATCHED && !v->held) {
        return ADP_PUNT_BRIDGE;
    }
    /* A packet that goes nowhere overtakes nobody, nor does one that waits.
     * Upstream would neither tell its sender nor log it nor read it: for good
     * it would keep one that is to be held. */
    if (!v->answer && !(v->dropped && v->n_logs) && !v->held && !v->read
        && adp_punted_overtaken_by(&f->punted, original)) {
        return ADP_PUNT_BEHIND;
    }
    if (v->punt) {
        return v->punt;
    }
    if (v->held && v->n_breaks) {
        return ADP_PUNT_CONTROLLER;     /* Who waits can't pause. */
    }
    if (leaves_nat_to_chance(w, original)) {
        return ADP_PUNT_ACTION;
    }
    return w->concerns_tunnel ? ADP_PUNT_TUNNEL : ADP_PUNT_NONE;
}

/* True if the packets that have the session key of this one look the same to
 * the program. */
static bool
may_remember(const struct adp_walk *w, const struct flow *flow,
             const struct adp_session_packet *p)
{
    uint32_t not_in_key = ADP_READS_OTHER;

    if (flow->nw_proto == IPPROTO_TCP) {
        not_in_key |= ADP_READS_TCP_FLAGS;
    }
    if (p->is_ipv6 && !p->has_label) {
        not_in_key |= ADP_READS_IPV6_LABEL;     /* Since it was parsed. */
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
    bool is_applied;                    /* To conntrack, already. */
};

static void
init_execution(struct execution *e, const struct adp_summary *sum)
{
    memcpy(&e->content, &sum->content, sizeof e->content);
    e->actions = sum->actions;
    e->tuple = sum->tuple;
    e->nw_proto = sum->flow->nw_proto;
    e->is_applied = false;
}

/* Finds the way into the content's tunnel, if there is one.  Returns false if
 * nothing gets in at the moment. */
static bool
find_way(const struct adp_fast *f, struct execution *e)
{
    e->tnl_actions = NULL;
    if (e->content.tunnel) {
        e->tnl_actions = adp_tunnel_actions(e->content.tunnel, f->now);
        if (!e->tnl_actions || !e->tnl_actions->size) {
            return false;
        }
    }
    return true;
}

/* Does to conntrack what the walk 'w' found out.  Returns false, and has done
 * nothing, if that can't be. */
static bool
execute_conntrack(struct adp_walk *w)
{
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

/* Remembers a walk for packets to come.  'sum' may be NULL: then it isn't. */
static void
remember(struct adp_fast *f, const struct adp_fast_packet *fp,
         const struct adp_walk *w, const struct adp_summary *sum,
         const struct flow *flow)
{
    if (!fp->is_parsed) {
        return;
    }

    const bool may = may_remember(w, flow, &fp->parsed);
    if (!may || adp_summary_exceeds_cache(w)) {
        adp_flow_cache_count_uncacheable(f->cache);
    }
    if (!may || !sum) {
        return;
    }
    if (w->ct.peek.ordinary && adp_summary_may_be_kept(sum)
        && adp_log_allows_session(&sum->content)) {
        struct adp_cached_verdict_source source;

        adp_summary_source(sum, &source);
        adp_flow_cache_remember(f->cache, &fp->parsed, w, &sum->tuple, &source,
                                &sum->content, f->now);
    }
    adp_walk_cache_add(f->cache->walk_cache, &fp->parsed, sum);
}

/* Logs a packet that was decided on.  'sum' may be NULL. */
static void
log_decided(struct adp_fast *f, struct adp_bridge *b,
            const struct dp_packet *packet, const struct flow *original,
            const struct adp_walk *w, const struct adp_summary *sum,
            bool is_first)
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
        .is_first = is_first,
    }, w->verdict.logs, w->verdict.n_logs);
}

/* Does for a packet that upstream takes, while the bridge is punted for what
 * only looks on, what upstream would not: its sender is told that it is
 * refused, and it is logged.  Nothing else comes of the walk, but that packets
 * like one that has nothing to be told may be known by a session. */
static void
tell_beside(struct adp_fast *f, const struct adp_fast_packet *fp,
            struct adp_bridge *b, const struct dp_packet *packet,
            const struct flow *original, const struct adp_walk *w)
{
    const struct adp_verdict *v = &w->verdict;
    struct adp_summary summary;

    if (v->punt) {
        return;
    }
    bool summed_up = adp_summary_init(&summary, w, original);
    if (v->n_logs) {
        log_decided(f, b, packet, original, w, summed_up ? &summary : NULL,
                    adp_log_packet_is_first(w));
    }
    if (!v->answer) {
        remember(f, fp, w, summed_up ? &summary : NULL, original);
    } else if (!v->answers_late) {      /* Upstream runs the meter. */
        adp_refuse(f, b, packet, v->answer, original->in_port.ofp_port);
    }
}

/* Where the last ct() of the verdict's actions ends, if executing them is to
 * begin a connection with NAT.  0 if not, or if a ct() is inside of another
 * action. */
static size_t
end_of_nat(const struct adp_walk *w)
{
    const struct ofpbuf *actions = &w->verdict.actions;
    const struct nlattr *a;
    size_t end = 0, n = 0, left;

    if (!conntrack_peek_creates_nat(&w->ct.peek)) {
        return 0;
    }
    NL_ATTR_FOR_EACH (a, left, actions->data, actions->size) {
        if (nl_attr_type(a) == OVS_ACTION_ATTR_CT) {
            end = ((const char *) nl_attr_next(a)
                   - (const char *) actions->data);
            n++;
        }
    }
    return n == w->ct.peek.n_steps ? end : 0;
}

/* True if the packet, behind the last ct(), has the addresses that were
 * foreseen for it. */
static bool
has_foreseen_addresses(const struct adp_walk *w,
                       const struct dp_packet *packet)
{
    const struct conntrack_peek *peek = &w->ct.peek;
    const struct conntrack_peek_tuple *t = &peek->steps[peek->n_steps - 1];

    if (t->dl_type == htons(ETH_TYPE_IP)) {
        const struct ip_header *ip = dp_packet_l3(packet);

        return (get_16aligned_be32(&ip->ip_src) == t->src.ipv4
                && get_16aligned_be32(&ip->ip_dst) == t->dst.ipv4);
    } else {
        const struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(packet);

        return (!memcmp(&ip6->ip6_src, &t->src.ipv6, sizeof t->src.ipv6)
                && !memcmp(&ip6->ip6_dst, &t->dst.ipv6, sizeof t->dst.ipv6));
    }
}

/* A verdict's actions that are being executed for a packet. */
struct piecewise {
    struct adp_fast *f;
    struct adp_bridge *b;
    const struct adp_walk *w;
    const struct flow *flow;
    struct dp_packet_batch batch;       /* The packet, or none any more. */
    size_t at;                          /* So far. */
    size_t nat_end;                     /* See end_of_nat(). */
};

static void
execute_up_to(struct piecewise *p, size_t end)
{
    const char *actions = p->w->verdict.actions.data;

    if (end > p->at && !dp_packet_batch_is_empty(&p->batch)) {
        dp_pmd_execute_and_keep(p->f->pmd, &p->batch, p->flow,
                                (const struct nlattr *) &actions[p->at],
                                end - p->at);
        p->at = end;
    }
}

/* Executes the actions up to 'end'.  Returns false if nothing is left of the
 * packet: a meter has dropped it, or its connection got no room or no port any
 * more, since another thread was first.  Then what decided on it would send it
 * without NAT, where upstream asks the flows behind ct(). */
static bool
execute_piece(struct piecewise *p, size_t end)
{
    if (p->nat_end > p->at && p->nat_end <= end) {
        execute_up_to(p, p->nat_end);
        if (!dp_packet_batch_is_empty(&p->batch)
            && !has_foreseen_addresses(p->w, p->batch.packets[0])) {
            adp_count(&p->b->counters.drops[ADP_DROP_NAT], 1);
            dp_packet_delete_batch(&p->batch, true);
            dp_packet_batch_init(&p->batch);
        }
    }
    execute_up_to(p, end);
    return !dp_packet_batch_is_empty(&p->batch);
}

/* Does what is to be done at break 'i', where the packet is. */
static void
execute_break(struct piecewise *p, size_t i, struct dp_packet *as_it_came,
              uint64_t n_bytes)
{
    const struct adp_verdict *v = &p->w->verdict;
    const struct adp_break *brk = &v->breaks[i];

    if (brk->packet_in != SIZE_MAX) {
        adp_packet_in_send(p->b, p->f->pmd, &v->packet_ins[brk->packet_in],
                           p->batch.packets[0], p->at == v->actions.size
                           && i >= v->last_pass);
    } else if (brk->answers) {
        adp_refuse(p->f, p->b, as_it_came, v->answer,
                   p->flow->in_port.ofp_port);
    } else {
        const struct adp_break *to = next_pass(v, i + 1);

        credit(p->b, p->w, brk, to, n_bytes, ntohs(p->flow->tcp_flags),
               p->f->now);
        learn(p->b, p->w, brk, to);
    }
}

/* Executes the actions of a verdict that has breaks, or begins a connection
 * with NAT. */
static void
execute_piecewise(struct adp_fast *f, struct adp_bridge *b,
                  const struct adp_walk *w, struct dp_packet *packet,
                  const struct flow *flow, size_t nat_end)
{
    const struct adp_verdict *v = &w->verdict;
    const char *actions = v->actions.data;
    const uint64_t n_bytes = dp_packet_size(packet);
    /* The sender gets his answer to the packet as it came. */
    struct dp_packet *as_it_came = (v->answers_late
                                    ? dp_packet_clone(packet) : NULL);
    struct piecewise p = { .f = f, .b = b, .w = w, .flow = flow,
                           .nat_end = nat_end };
    bool is_left = true;

    dp_packet_batch_init_packet(&p.batch, packet);
    for (size_t i = 0; is_left && i < v->n_breaks; i++) {
        is_left = execute_piece(&p, v->breaks[i].start);
        if (is_left) {
            p.at = v->breaks[i].end;
            execute_break(&p, i, as_it_came, n_bytes);
        }
    }
    dp_packet_delete(as_it_came);
    if (is_left && execute_piece(&p, MAX(p.at, nat_end))) {
        adp_fast_execute(f, p.batch.packets[0], flow,
                         (const struct nlattr *) &actions[p.at],
                         v->actions.size - p.at);
    }
}

/* The same.  What goes into a tunnel before the last piece is cut to what is
 * sent there, and goes on so: what is behind is for each segment. */
static void
execute_in_pieces(struct adp_fast *f, struct adp_bridge *b,
                  const struct adp_walk *w, struct dp_packet *packet,
                  const struct flow *flow, size_t nat_end)
{
    const struct adp_verdict *v = &w->verdict;
    size_t last = MAX(nat_end, (v->n_breaks ? v->breaks[v->n_breaks - 1].start
                                : 0));

    adp_fast_flush(f);
    if (OVS_LIKELY(!dp_packet_hwol_is_tso(packet))
        || !adp_offload_is_pushed(v->actions.data, last)) {
        execute_piecewise(f, b, w, packet, flow, nat_end);
        return;
    }

    struct adp_segments segments;
    struct dp_packet *segment;

    adp_segments_init(&segments, packet, 0, ETH_PAYLOAD_MAX);
    while ((segment = adp_segments_next(&segments))) {
        execute_piecewise(f, b, w, segment, flow, nat_end);
    }
    dp_packet_delete(packet);
}

/* Tells the packet's sample, if it is sampled, that the way 'way' leads to
 * 'e', with these hits. */
static void
note_content(struct adp_fast *f, enum adp_sample_way way,
             const struct adp_walk *w, const struct execution *e,
             const struct adp_hit *hits)
{
    if (OVS_UNLIKELY(f->sample != NULL)) {
        adp_sample_note_content(f->sample, way, &e->content, e->actions,
                                e->tnl_actions, hits, w, &e->tuple,
                                e->nw_proto);
    }
}

/* Does to conntrack what the walk was summed up as, if there is a way for the
 * packet.  Returns false, and has done nothing, if that can't be. */
static bool
apply_summary(struct adp_fast *f, struct adp_walk *w, struct execution *e)
{
    if (!find_way(f, e)) {
        return false;
    }
    note_content(f, ADP_SAMPLE_WALK, w, e, w->verdict.hits);
    return execute_conntrack(w);
}

/* The same for a packet that begins a connection with NAT, before anything
 * else comes of it.  If somebody else has got the tuple, or the room,
 * meanwhile, the executor might send the packet without NAT: it is punted. */
static enum adp_punt
apply_nat(struct adp_fast *f, struct adp_walk *w, struct execution *e)
{
    e->is_applied = (adp_walk_may_apply(w)
                     && conntrack_peek_creates_nat(&w->ct.peek));
    return (e->is_applied && !apply_summary(f, w, e) ? ADP_PUNT_ACTION
            : ADP_PUNT_NONE);
}

/* Carries out what the walk was summed up as.  Returns false, and has done
 * nothing, if that can't be. */
static bool
execute_summary(struct adp_fast *f, struct adp_walk *w, struct execution *e,
                struct dp_packet *packet)
{
    if (!e->is_applied && !apply_summary(f, w, e)) {
        return false;
    }
    execute_content(f, e, packet);
    return true;
}

/* Carries out the actions of the walk's verdict. */
static void
execute_verdict(struct adp_fast *f, struct adp_bridge *b,
                const struct adp_walk *w, struct dp_packet *packet,
                const struct flow *flow)
{
    if (OVS_UNLIKELY(f->sample != NULL)) {
        adp_sample_note_walk(f->sample, w);
    }
    size_t nat_end = end_of_nat(w);

    if (w->verdict.n_breaks || nat_end) {
        execute_in_pieces(f, b, w, packet, flow, nat_end);
    } else {
        adp_fast_execute(f, packet, flow, w->verdict.actions.data,
                         w->verdict.actions.size);
    }
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
    struct execution e;
    enum adp_punt punt;
    bool summed_up = false, is_first = false;

    uint64_t ports_lost = adp_ports_n_lost();
    uint64_t start = cycles_counter_update(perf);
    adp_walk(w, b, f->tracker, packet, &flow, f->now);
    uint64_t cycles = cycles_counter_update(perf) - start;

    punt = adp_input_punt_late(f, w, original);
    if (!punt) {
        summed_up = adp_summary_init(&summary, w, original);
        is_first = adp_log_packet_is_first(w);
    }
    if (summed_up) {
        init_execution(&e, &summary);
        punt = apply_nat(f, w, &e);
    }
    if (punt) {
        adp_count(&b->counters.decides, 1);
        adp_count(&b->counters.decide_cycles, cycles);
        if (punt == ADP_PUNT_BRIDGE) {
            tell_beside(f, fp, b, packet, original, w);
        }
        return punt;
    }

    count_decided(f, b, w, summed_up ? &summary : NULL, original,
                  dp_packet_size(packet), cycles);
    learn(b, w, NULL, next_pass(&w->verdict, 0));
    remember(f, fp, w, summed_up ? &summary : NULL, original);
    if (w->verdict.n_logs) {
        log_decided(f, b, packet, original, w, summed_up ? &summary : NULL,
                    is_first);
    }
    if (w->verdict.answer && !w->verdict.answers_late) {
        adp_refuse(f, b, packet, w->verdict.answer,
                   original->in_port.ofp_port);
    }

    if (w->verdict.read) {
        adp_igmp_queue_add(b, packet, original, ports_lost);
    }

    if (w->verdict.held && adp_held_wants(packet, original)) {
        adp_held_add(b, packet, original, &w->verdict.actions, ports_lost);
    } else if (!summed_up || !execute_summary(f, w, &e, packet)) {
        execute_verdict(f, b, w, packet, original);
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

        adp_cached_verdict_source_init(&source, v, w);
        adp_flow_cache_remember(f->cache, p, w, &e.tuple, &source, &e.content,
                                f->now);
    }
    bool is_first = adp_log_packet_is_first(w);
    if (!find_way(f, &e)) {
        return false;
    }
    note_content(f, ADP_SAMPLE_REPLAY, w, &e, v->hits);
    if (!execute_conntrack(w)) {
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

bool
adp_input_replay(struct adp_fast *f, const struct adp_fast_packet *fp,
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
        uint64_t ports_lost = adp_ports_n_lost();
        adp_walk(w, b, f->tracker, answer, &flow, f->now);
        held = (w->verdict.held && !w->verdict.punt && !w->verdict.n_breaks
                && !leaves_nat_to_chance(w, &came));
        if (held) {
            count_decided(f, b, w, NULL, &came, dp_packet_size(packet), 0);
            adp_count(&b->counters.dns_truncated, 1);
            adp_held_add(b, answer, &came, &w->verdict.actions, ports_lost);
            dp_packet_delete(packet);
        }
        adp_flow_cache_end_walk(f->cache);
    }
    if (!held) {
        dp_packet_delete(answer);
    }
    return held;
}

bool
adp_input_walk(struct adp_fast *f, const struct adp_fast_packet *fp,
               struct adp_bridge *b, struct dp_packet *packet,
               const struct flow *flow)
{
    enum adp_punt punt = adp_input_punt_early(f, fp, b, packet, flow);

    if (!punt) {
        struct adp_walk *w = adp_flow_cache_begin_walk(f->cache);

        if (w) {
            punt = walk_and_execute(f, fp, b, packet, flow, w);
            adp_flow_cache_end_walk(f->cache);
        } else {
            punt = ADP_PUNT_DEPTH;
        }
    }
    /* As upstream looks at it. */
    if (punt == ADP_PUNT_FRAGMENT
        && b->dpif.up.frag_handling != OFPUTIL_FRAG_DROP
        && hold_truncated(f, b, packet, flow)) {
        return true;
    }
    if (punt) {
        adp_input_leave(f, b, punt, flow);
    }
    return !punt;
}
