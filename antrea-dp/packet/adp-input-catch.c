/* SPDX-License-Identifier: Apache-2.0 */

/* Packets on their way in that somebody may wait for, or that are sampled.
 *
 * Each is looked at in its turn, when those before it have gone, and before
 * its session or anything else is: so a walk that begins now meets what the
 * packet will. */

#include <config.h>
#include "adp-input-private.h"

#include "adp-bridge-shared.h"
#include "adp-catch.h"
#include "adp-fast.h"
#include "adp-flow-cache.h"
#include "adp-sample.h"
#include "adp-walk.h"
#include "dp-packet.h"
#include "packets.h"

/* A packet to be looked at, and what stock would have to take it for, if that
 * is known. */
struct watched_packet {
    const struct dp_packet *packet;
    struct dp_packet seen;      /* The same, parsed, with metadata. */
    struct flow flow;
    enum adp_punt punt;
};

/* Walks with a copy of packet 'i' of the batch; 'flow' is what 'w' changes.
 * Returns why stock has to take it. */
static enum adp_punt
walk_ahead(struct adp_fast *f, size_t i, struct adp_bridge *b,
           const struct watched_packet *watched, struct adp_walk *w,
           struct flow *flow)
{
    struct dp_packet *copy = dp_packet_clone(watched->packet);
    enum adp_punt punt = watched->punt;
    struct flow parsed;

    copy->md = watched->seen.md;
    adp_input_parse(copy, &parsed);     /* For conntrack: where headers are. */
    if (!punt) {
        punt = adp_input_punt_early(f, &f->packets[i], b, copy,
                                    &watched->flow);
    }
    adp_walk(w, b, f->tracker, copy, flow, f->now);
    if (!punt) {
        punt = adp_input_punt_late(f, w, &watched->flow);
    }
    dp_packet_delete(copy);
    return punt;
}

/* Walks if somebody waits for such a packet. */
static void
catch_packet(struct adp_fast *f, size_t i, struct adp_bridge *b,
             const struct watched_packet *watched)
{
    struct adp_catch *c = adp_catch_begin(b, &watched->flow);
    struct flow *flow;

    if (c) {
        struct adp_walk *w = adp_catch_walk(c, &flow);

        w->verdict.punt = walk_ahead(f, i, b, watched, w, flow);
        adp_catch_end(c);
    }
}

/* Begins the packet's sample, if there is room for one. */
static void
sample_packet(struct adp_fast *f, size_t i, struct adp_bridge *b,
              const struct watched_packet *watched)
{
    struct adp_sampler *sampler = f->cache->sampler;
    struct flow flow = watched->flow;
    bool busy;

    f->sample = adp_sampler_open(sampler, &busy);
    if (!busy) {
        adp_count(f->sample ? &b->counters.sampled : &b->counters.samples_lost,
                  1);
    }
    if (f->sample) {
        struct adp_walk *w = adp_sampler_walk(sampler);

        adp_sample_prepare(f->sample, &watched->seen, &watched->flow, w);
        enum adp_punt punt = walk_ahead(f, i, b, watched, w, &flow);
        adp_sample_note_verdict(f->sample, w, punt);
    }
}

static void
watch_packet(struct adp_fast *f, size_t i, struct adp_bridge *b,
             const struct watched_packet *watched, bool sampled)
{
    if (adp_catch_is_armed()) {
        catch_packet(f, i, b, watched);
    }
    if (sampled) {
        sample_packet(f, i, b, watched);
    }
}

static void
catch_none(struct adp_bridge *b, const struct flow *original)
{
    struct adp_catch *c = adp_catch_begin(b, original);

    if (c) {
        adp_catch_refused(c);
        adp_catch_end(c);
    }
}

/* What the packet looks like with metadata 'md'; it stays as it is.  Returns
 * false if it is none. */
static bool
look_at(const struct dp_packet *packet, const struct pkt_metadata *md,
        struct watched_packet *watched)
{
    if (dp_packet_size(packet) < ETH_HEADER_LEN) {
        return false;
    }
    watched->packet = packet;
    watched->punt = ADP_PUNT_NONE;
    dp_packet_use_const(&watched->seen, dp_packet_data(packet),
                        dp_packet_size(packet));
    watched->seen.md = *md;
    adp_input_parse(&watched->seen, &watched->flow);
    return true;
}

static bool
look_at_received(struct adp_bridge *b, const struct dp_packet *packet,
                 const struct pkt_metadata *md, ofp_port_t ofp_port,
                 struct watched_packet *watched)
{
    if (!look_at(packet, md, watched)) {
        return false;
    }
    watched->flow.in_port.ofp_port = ofp_port;
    watched->flow.tunnel.metadata.tab = ofproto_get_tun_tab(&b->dpif.up);
    return true;
}

void
adp_input_watch(struct adp_fast *f, size_t i, const struct dp_packet *packet,
                struct adp_bridge *b, odp_port_t odp_port, ofp_port_t ofp_port,
                bool has_marks, bool sampled)
{
    struct watched_packet watched;
    struct pkt_metadata md;

    if (!sampled && !adp_catch_is_armed()) {
        return;
    }
    pkt_metadata_init(&md, odp_port);
    md.pkt_mark = has_marks ? packet->md.pkt_mark : 0;
    if (look_at_received(b, packet, &md, ofp_port, &watched)) {
        watch_packet(f, i, b, &watched, sampled);
    }
}

void
adp_input_watch_decapsulated(struct adp_fast *f, size_t i,
                             const struct dp_packet *packet, bool sampled)
{
    struct watched_packet watched;
    struct adp_bridge *b;
    ofp_port_t ofp_port;
    bool known;

    if ((!sampled && !adp_catch_is_armed())
        || !look_at(packet, &packet->md, &watched)
        || (b = adp_ports_input_tunnel(&watched.flow, &ofp_port)) == NULL) {
        return;
    }
    bool complete = adp_input_complete_tunnel_flow(b, ofp_port, &watched.flow,
                                                   &known);
    if (adp_bridge_mode(b) == ADP_MODE_CLOSED) {
        catch_none(b, &watched.flow);
    } else if (known) {
        watched.punt = complete ? ADP_PUNT_NONE : ADP_PUNT_TUNNEL;
        watch_packet(f, i, b, &watched, sampled);
    }
}

void
adp_input_catch_refused(struct adp_bridge *b,
                        const struct dp_packet_batch *batch,
                        odp_port_t odp_port, ofp_port_t ofp_port)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        struct pkt_metadata md;
        struct watched_packet watched;

        pkt_metadata_init(&md, odp_port);
        if (look_at_received(b, packet, &md, ofp_port, &watched)) {
            catch_none(b, &watched.flow);
        }
    }
}

/* Samples. */

size_t
adp_input_first_sample(struct adp_fast *f, size_t n)
{
    if (!f->cache->sampler) {
        f->cache->sampler = adp_sampler_create();
    }
    return adp_sampler_next(f->cache->sampler, 0, n);
}

size_t
adp_input_next_sample(struct adp_fast *f, size_t i, size_t n)
{
    if (f->sample) {
        adp_sampler_close(f->cache->sampler);
        f->sample = NULL;
    }
    return adp_sampler_next(f->cache->sampler, i + 1, n);
}
