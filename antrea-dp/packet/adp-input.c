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
#include "adp-catch.h"
#include "adp-fast.h"
#include "adp-flow-cache.h"
#include "adp-sample.h"
#include "adp-walk-cache.h"
#include "dp-hooks.h"
#include "dp-packet.h"
#include "dpif-netdev-private.h"
#include "ofproto/tunnel.h"
#include "packets.h"

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

/* Handles packet 'i' of the batch, which is sampled, without a look at the
 * tables, if that can be, and returns whether it could. */
static bool
take_sampled(struct adp_fast *f, size_t i, struct adp_bridge *b,
             struct dp_packet *packet)
{
    const struct adp_fast_packet *fp = &f->packets[i];

    if (fp->is_parsed
        && adp_punted_overtaken_by_parsed(&f->punted, &fp->parsed)) {
        return (adp_fast_known(f, fp, b) == ADP_FAST_REFUSED
                && adp_fast_take_sampled(f, i, packet, b));
    }
    return (adp_fast_take_sampled(f, i, packet, b)
            || adp_input_replay(f, fp, b, packet));
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
    return n_taken ? n_taken : adp_input_replay(f, fp, b, packets[0]);
}

static const struct tun_table *
tunnel_options(const struct adp_bridge *b)
{
    return ofproto_get_tun_tab(&b->dpif.up);
}

static bool
reads_labels(const struct adp_bridge *b)
{
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);

    return program->reads & ADP_READS_IPV6_LABEL;
}

/* Fetches cached walks for those of 'n' packets that are known to have no
 * session, if there are several to overlap; of trains, for their heads. */
static void
fetch_walks(struct adp_fast *f, const struct adp_bridge *b, size_t n)
{
    const uint8_t *heads = adp_fast_has_trains(f) ? f->heads : NULL;
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);
    struct adp_walk_fetch fetches[NETDEV_MAX_BURST];
    uint8_t packets[NETDEV_MAX_BURST];
    size_t n_fetches = 0;

    if (f->n_unknown < 2 || !adp_walk_cache_count(f->cache->walk_cache)) {
        return;
    }
    n = heads ? f->n_heads : n;
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

/* What comes before a batch from one port is taken.  Sessions know nothing of
 * marks: a packet that has one walks the tables, and others have none, nor a
 * queue, whatever the packet was that had their memory before. */
static void
fetch(struct adp_fast *f, struct dp_packet_batch *batch, bool has_marks,
      bool catches, const struct adp_bridge *b, ofp_port_t ofp_port)
{
    const uint32_t ingress = adp_flow_cache_ingress(b, ofp_port);
    const bool labels = reads_labels(b);
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        OVS_PREFETCH(dp_packet_data(packet));
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        adp_fast_parse(f, i, packet, ingress, labels);
        packet->md.skb_priority = 0;
        if (OVS_LIKELY(!has_marks)) {
            packet->md.pkt_mark = 0;
        } else if (packet->md.pkt_mark) {
            adp_fast_skip(f, i);
        }
    }
    adp_fast_fetch(f, dp_packet_batch_size(batch), catches);
    fetch_walks(f, b, dp_packet_batch_size(batch));
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
    return adp_input_walk(f, &f->packets[i], b, packet, &flow);
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

/* Handles a batch, and returns how many of its packets are gone.  'watched':
 * somebody may want to know what becomes of a packet. */
static inline ALWAYS_INLINE size_t
receive(struct adp_fast *f, struct dp_packet_batch *batch,
        struct adp_bridge *b, odp_port_t odp_port, ofp_port_t ofp_port,
        bool has_marks, bool compiled, const bool watched)
{
    const size_t n = dp_packet_batch_size(batch);
    size_t sampled = watched ? adp_input_first_sample(f, n) : n;
    size_t n_handled = 0;

    dp_packet_batch_refill_init(batch);
    for (size_t i = 0; i < n; ) {
        struct dp_packet *packet = batch->packets[i];
        size_t n_taken = 0;

        if (watched) {
            adp_input_watch(f, i, packet, b, odp_port, ofp_port, has_marks,
                            i == sampled);
        }
        if (compiled) {
            n_taken = (watched && f->sample ? take_sampled(f, i, b, packet)
                       : take(f, i, i < sampled ? sampled : n, b, batch));
        }
        if (n_taken
            || receive_one(f, i, packet, b, odp_port, ofp_port, has_marks)) {
            n_handled += MAX(n_taken, 1);
        } else {
            dp_packet_batch_refill(batch, packet, i);
        }
        if (watched && i == sampled) {
            sampled = adp_input_next_sample(f, i, n);
        }
        i += MAX(n_taken, 1);
    }
    return n_handled;
}

void
adp_input_received(struct dp_netdev_pmd_thread *pmd,
                   struct dp_packet_batch *batch, odp_port_t odp_port,
                   bool has_marks)
{
    ofp_port_t ofp_port;
    size_t n_handled;
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

    const bool watched = adp_catch_is_armed() || adp_sample_is_on();
    adp_fast_init(&f, pmd, adp_flow_cache_begin_batch(), odp_port);
    fetch(&f, batch, has_marks, adp_catch_is_armed(), b, ofp_port);
    if (OVS_UNLIKELY(watched)) {
        n_handled = receive(&f, batch, b, odp_port, ofp_port, has_marks,
                            mode == ADP_MODE_COMPILED, true);
    } else {
        n_handled = receive(&f, batch, b, odp_port, ofp_port, has_marks,
                            mode == ADP_MODE_COMPILED, false);
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
    uint64_t map_serial = adp_ports_map_serial();
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
            adp_input_leave(f, b, ADP_PUNT_TUNNEL, &flow);
        }
        return false;
    }

    if (!f->packets[i].is_parsed) {
        /* Its like may take the fast path from now on. */
        adp_flow_cache_add_kind(f->cache, &tunnel, b, ofp_port, map_serial,
                                f->now);
    }
    return adp_input_walk(f, &f->packets[i], b, packet, &flow);
}

/* As receive(), for packets of these kinds; counts those that came to a closed
 * bridge in '*n_refused' instead. */
static inline ALWAYS_INLINE size_t
receive_decapsulated(struct adp_fast *f, struct dp_packet_batch *batch,
                     const struct adp_ingress *const kinds[],
                     size_t *n_refused, const bool watched)
{
    const size_t n = dp_packet_batch_size(batch);
    size_t sampled = watched ? adp_input_first_sample(f, n) : n;
    size_t n_handled = 0;

    dp_packet_batch_refill_init(batch);
    for (size_t i = 0; i < n; ) {
        struct adp_bridge *b = kinds[i] ? kinds[i]->owner : NULL;
        struct dp_packet *packet = batch->packets[i];
        size_t n_taken = 0;
        bool refused = false;

        if (watched) {
            adp_input_watch_decapsulated(f, i, packet, i == sampled);
        }
        if (b && adp_bridge_mode(b) == ADP_MODE_COMPILED) {
            n_taken = (watched && f->sample ? take_sampled(f, i, b, packet)
                       : take(f, i, i < sampled ? sampled : n, b, batch));
        }
        if (n_taken || decapsulated_one(f, i, packet, &refused)) {
            n_handled += refused ? 0 : MAX(n_taken, 1);
            *n_refused += refused;
        } else {
            dp_packet_batch_refill(batch, packet, i);
        }
        if (watched && i == sampled) {
            sampled = adp_input_next_sample(f, i, n);
        }
        i += MAX(n_taken, 1);
    }
    return n_handled;
}

void
adp_input_decapsulated(struct dp_netdev_pmd_thread *pmd,
                       struct dp_packet_batch *batch)
{
    const struct adp_ingress *kinds[NETDEV_MAX_BURST];
    uint32_t hashes[NETDEV_MAX_BURST];
    const size_t n = dp_packet_batch_size(batch);
    struct dp_packet *packet;
    size_t n_refused = 0;
    struct adp_fast f;

    if (!adp_ports_any_bridge()) {
        return;                         /* The thread needs no cache. */
    }

    adp_fast_init(&f, pmd, adp_flow_cache_begin_batch(), ODPP_NONE);
    adp_flow_cache_fetch_kinds(f.cache, batch, hashes);
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        kinds[i] = adp_flow_cache_find_kind(f.cache, &packet->md.tunnel,
                                            hashes[i], f.now);
        if (kinds[i]) {
            adp_fast_parse(&f, i, packet,
                           adp_flow_cache_ingress_of_kind(kinds[i]),
                           reads_labels(kinds[i]->owner));
        } else {
            adp_fast_skip(&f, i);
        }
    }
    adp_fast_fetch(&f, n, adp_catch_is_armed());

    size_t n_handled
        = (OVS_UNLIKELY(adp_catch_is_armed() || adp_sample_is_on())
           ? receive_decapsulated(&f, batch, kinds, &n_refused, true)
           : receive_decapsulated(&f, batch, kinds, &n_refused, false));
    adp_fast_flush(&f);
    adp_flow_cache_end_batch(f.cache);
    if (n_handled) {
        dp_pmd_count_compiled(pmd, false, n_handled);
    }
    if (n_refused) {
        dp_pmd_count_lost(pmd, false, n_refused);
    }
}
