/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TUNNEL_H
#define ADP_TUNNEL_H 1

/* Output to tunnel ports.
 *
 * What sends a packet through a tunnel (the header to push, the way through
 * the underlay's bridge) is upstream's translation of "output:PORT" for the
 * packet's tunnel metadata.  It is kept and used again as long as routes,
 * neighbours, ports and the tables of other bridges stay as they are.  When
 * one of these changes the main thread translates anew what is in use, in
 * slices; meanwhile packets go by the old translation, for at most half a
 * second, as they do in stock until its revalidators have come round.  After
 * that, and while it leads nowhere, the packet's thread translates itself.
 * What is out of date and isn't translated anew keeps nothing of what it led
 * through: of the underlay, a bridge, flow or device that goes is gone a grace
 * period after that.
 *
 * A struct adp_tunnel stands for one kind of packet going to one tunnel; it
 * lives as long as somebody refers to it or packets take it.  Of the packet
 * only what the outer header takes over makes a kind: congestion bits, and ToS
 * and TTL where the port inherits them.  Its translation, the actions, is made
 * anew in place.  One without actions says that the packet goes nowhere: the
 * neighbour's MAC is not known yet (upstream's translation has asked for it),
 * or there is no route.  It holds the recirculation IDs that its actions name,
 * where the underlay recirculates (groups that hash, ct()).
 *
 * What bounds them: 65,536 for a bridge; when one more comes, of a few the one
 * leaves that was longest without a packet.  One that no packet took for 20 s
 * leaves.
 *
 * Cost: a packet reads a line of its tunnel and two (over IPv6, three) of its
 * translation.  A turn of the main thread costs the tunnels that packets took
 * since the last one, and what changed.
 *
 * Thread-safety: find and actions from any RCU reader, references and credit
 * from any thread; the rest in the main thread.
 */

#include "flow.h"

struct adp_bridge;
struct adp_tunnel;
struct adp_tunnels;
struct nlattr;

struct adp_tunnels *adp_tunnels_create(void);
/* Behind a grace period: packet threads may still look at them. */
void adp_tunnels_destroy(struct adp_tunnels *);
/* Pushes counters, renews what is out of date, drops what nobody uses. */
void adp_tunnels_run(struct adp_bridge *);
/* What upstream learned of ports, bonds and addresses becomes part of how it
 * translates in its run() for a datapath's type.  Before that: will anything
 * that tunnels depend on?  After it, if so: what was translated until then is
 * out of date, also for who translates just now. */
bool adp_tunnels_expect_change(const struct adp_bridge *, const char *type);
void adp_tunnels_note_change(struct adp_bridge *);
/* Lets go of the recirculation IDs that translations hold: whoever comes has
 * those translated anew.  When a bridge that they may lead through goes. */
void adp_tunnels_release_recircs(struct adp_bridge *);
/* After upstream's run(), before the loop sleeps. */
void adp_tunnels_wait(struct adp_bridge *);

struct adp_tunnels_counts {
    uint64_t n;
    uint64_t n_translated;              /* Ever, first ones included. */
    uint64_t n_idle, n_evicted;         /* Left unused, for want of room. */
};
void adp_tunnels_get_counts(const struct adp_tunnels *,
                            struct adp_tunnels_counts *);

/* The tunnel for packets to tunnel port 'port' with the headers and tunnel
 * metadata of 'flow', or NULL if only stock translation knows.  Its own is up
 * to date.  Valid until the caller quiesces. */
struct adp_tunnel *adp_tunnel_find(struct adp_bridge *, ofp_port_t port,
                                   const struct flow *);
bool adp_tunnel_try_ref(struct adp_tunnel *);
void adp_tunnel_unref(struct adp_tunnel *);         /* NULL is fine. */

/* What sends a packet through a tunnel. */
struct adp_tunnel_actions {
    const struct nlattr *data;
    uint32_t size;                      /* 0: it leads nowhere. */

    /* If they do no more than to push a header and to send the packet out: by
     * which port, otherwise ODPP_NONE; and the first of the two. */
    odp_port_t odp_port;
    const struct nlattr *push;
};

/* The actions of its translation, or NULL if somebody has to find it again
 * first.  Valid until the caller quiesces. */
const struct adp_tunnel_actions *adp_tunnel_actions(const struct adp_tunnel *,
                                                    long long int now_ms);

/* A translation is as new as the bridge's tunnels if both have one serial
 * number.  Any thread. */
uint64_t adp_tunnel_serial(const struct adp_tunnel *);
uint64_t adp_tunnels_serial(const struct adp_tunnels *);

/* Starts to fetch what adp_tunnel_actions() and who pushes the header read. */
void adp_tunnel_prefetch_actions(const struct adp_tunnel *);

/* Counts packets that took it. */
void adp_tunnel_credit(struct adp_tunnel *, uint64_t n_packets,
                       uint64_t n_bytes);

#endif /* adp-tunnel.h */
