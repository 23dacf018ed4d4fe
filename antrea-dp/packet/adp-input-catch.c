/* SPDX-License-Identifier: Apache-2.0 */

/* Packets on their way in that somebody may wait for.
 *
 * Each is looked at in its turn, when those before it have gone, and before
 * its session or anything else is: so a walk that begins now meets what the
 * packet will. */

#include <config.h>
#include "adp-input-private.h"

#include "adp-bridge-shared.h"
#include "adp-catch.h"
#include "adp-fast.h"
#include "adp-walk.h"
#include "dp-packet.h"
#include "packets.h"

/* Walks with a copy of the packet, 'original', if somebody waits for such.
 * 'punt' is why stock has to take it, if that is known. */
static void
catch_packet(struct adp_fast *f, size_t i, struct adp_bridge *b,
             const struct dp_packet *packet, const struct pkt_metadata *md,
             const struct flow *original, enum adp_punt punt)
{
    struct adp_catch *c = adp_catch_begin(b, original);
    struct flow parsed, *flow;

    if (!c) {
        return;
    }

    struct adp_walk *w = adp_catch_walk(c, &flow);
    struct dp_packet *copy = dp_packet_clone(packet);
    copy->md = *md;
    adp_input_parse(copy, &parsed);     /* For conntrack: where headers are. */
    if (!punt) {
        punt = adp_input_punt_early(f, &f->packets[i], b, original);
    }
    adp_walk(w, b, f->tracker, copy, flow, f->now);
    if (!punt) {
        punt = adp_input_punt_late(f, w, original, flow);
    }
    w->verdict.punt = punt;
    adp_catch_end(c);
    dp_packet_delete(copy);
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
        struct flow *flow)
{
    struct dp_packet shadow;

    if (dp_packet_size(packet) < ETH_HEADER_LEN) {
        return false;
    }
    dp_packet_use_const(&shadow, dp_packet_data(packet),
                        dp_packet_size(packet));
    shadow.md = *md;
    adp_input_parse(&shadow, flow);
    return true;
}

static bool
look_at_received(struct adp_bridge *b, const struct dp_packet *packet,
                 const struct pkt_metadata *md, ofp_port_t ofp_port,
                 struct flow *flow)
{
    if (!look_at(packet, md, flow)) {
        return false;
    }
    flow->in_port.ofp_port = ofp_port;
    flow->tunnel.metadata.tab = ofproto_get_tun_tab(&b->dpif.up);
    return true;
}

void
adp_input_catch(struct adp_fast *f, size_t i, const struct dp_packet *packet,
                struct adp_bridge *b, odp_port_t odp_port, ofp_port_t ofp_port,
                bool has_marks)
{
    struct pkt_metadata md;
    struct flow flow;

    pkt_metadata_init(&md, odp_port);
    md.pkt_mark = has_marks ? packet->md.pkt_mark : 0;
    if (look_at_received(b, packet, &md, ofp_port, &flow)) {
        catch_packet(f, i, b, packet, &md, &flow, ADP_PUNT_NONE);
    }
}

void
adp_input_catch_decapsulated(struct adp_fast *f, size_t i,
                             const struct dp_packet *packet)
{
    struct adp_bridge *b;
    ofp_port_t ofp_port;
    struct flow flow;
    bool known;

    if (!look_at(packet, &packet->md, &flow)
        || (b = adp_ports_input_tunnel(&flow, &ofp_port)) == NULL) {
        return;
    }
    bool complete = adp_input_complete_tunnel_flow(b, ofp_port, &flow, &known);
    if (adp_bridge_mode(b) == ADP_MODE_CLOSED) {
        catch_none(b, &flow);
    } else if (known) {
        catch_packet(f, i, b, packet, &packet->md, &flow,
                     complete ? ADP_PUNT_NONE : ADP_PUNT_TUNNEL);
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
        struct flow flow;

        pkt_metadata_init(&md, odp_port);
        if (look_at_received(b, packet, &md, ofp_port, &flow)) {
            catch_none(b, &flow);
        }
    }
}
