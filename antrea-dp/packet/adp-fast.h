/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_FAST_H
#define ADP_FAST_H 1

/* The fast path: packets whose session is known.
 *
 * Works on a batch, in stages, so that waiting for memory overlaps: parse all
 * and fetch their lines of the index; fetch the sessions; fetch the
 * connections; then take the packets one after the other, in their order.
 *
 * Packets of a connection come in trains: one behind the other with the same
 * session key.  What needs to be done once is done for the first of them: its
 * session is fetched and compared with how things are now, and the others,
 * which were received together with it, go by what was found.  What depends
 * on the packet (checksums, the numbers and windows of TCP) is looked at for
 * each.
 *
 * Nothing here decides.  A packet that has no session, or one that is out of
 * date, or that is not an ordinary one of its connections, is left to
 * the caller, untouched.
 *
 * Thread-safety: a struct adp_fast belongs to one thread and one batch.
 */

#include "adp-punted.h"
#include "adp-session-parse.h"
#include "conntrack-track.h"
#include "dp-hooks.h"
#include "dp-packet.h"

struct adp_bridge;
struct adp_flow_cache;
struct adp_cached_verdict_content;
struct adp_program;
struct adp_ports;
struct adp_sample;
struct adp_tunnel;
struct adp_tunnel_actions;
struct dp_netdev_pmd_thread;
struct nlattr;

struct adp_fast_packet {
    struct adp_session_packet parsed;
    struct adp_session *candidate;     /* NULL: none, or it follows. */
    const struct adp_tunnel *tunnel;   /* Being fetched, between two stages. */
    bool is_parsed;
    bool follows;               /* In a train, but not its head. */
};

struct adp_fast {
    struct dp_netdev_pmd_thread *pmd;
    struct adp_flow_cache *cache;
    odp_port_t in_port;
    struct conntrack *tracker;
    long long int now;
    struct conntrack_clock clock;
    struct dp_pmd_tx_cache tx;
    uint64_t serial;            /* Of the sessions that were fetched. */
    uint8_t age;                /* By the clock of sessions. */
    /* Packets on their way into one tunnel by actions that do more than push a
     * header and send them out. */
    struct dp_packet_batch waiting;
    const struct adp_tunnel_actions *tnl_actions; /* If any is waiting. */
    bool has_more_conns;        /* Some session has more than one. */
    bool has_tunnels;           /* Some session's packets go into a tunnel. */
    uint32_t n_unknown;         /* Packets that have no session. */
    struct adp_punted punted;   /* Punted packets. */
    struct adp_sample *sample;  /* Of the packet at hand, or NULL. */
    /* Of the packet that was parsed last, and how often it was that of the one
     * before it: 0 tells that there are no trains. */
    uint32_t last_hash;
    uint32_t n_alike;
    /* Of the packets that were parsed those that don't follow another. */
    size_t n_heads;
    uint8_t heads[NETDEV_MAX_BURST];
    struct adp_fast_packet packets[NETDEV_MAX_BURST];
};

/* 'in_port': where the packets were received, or ODPP_NONE if they came out of
 * tunnels and have metadata. */
void adp_fast_init(struct adp_fast *, struct dp_netdev_pmd_thread *,
                   struct adp_flow_cache *, odp_port_t in_port);

/* Notes what upstream's executor wants to know of a packet that was parsed by
 * adp_fast_parse() alone. */
void adp_fast_init_metadata(const struct adp_fast *, struct dp_packet *,
                            bool ipv6);

/* Stage by stage, for packet 'i' of the batch.  'labels': the bridge's flows
 * read IPv6's flow label.  If there may be trains,
 * adp_fast_couple() comes behind the first stage, and those behind that are
 * for heads of trains alone. */
void adp_fast_parse(struct adp_fast *, size_t i, struct dp_packet *,
                    uint32_t ingress, bool labels);
void adp_fast_fetch_session(struct adp_fast *, size_t i);
void adp_fast_fetch_conns(struct adp_fast *, size_t i);
/* Only if 'has_more_conns'. */
void adp_fast_fetch_more_conns(struct adp_fast *, size_t i);
/* Only if 'has_tunnels', while packets before it are taken: the connections
 * once more.  What a batch with tunnels needs doesn't fit into the first
 * cache, and they were fetched first. */
void adp_fast_fetch_conns_again(const struct adp_fast *, size_t i);
/* Only if 'has_tunnels': the tunnel, then its actions. */
void adp_fast_fetch_tunnel(struct adp_fast *, size_t i);
void adp_fast_fetch_tunnel_actions(struct adp_fast *, size_t i);

/* True if there may be trains among the packets that were parsed. */
static inline bool
adp_fast_has_trains(const struct adp_fast *f)
{
    return f->n_alike;
}

/* Finds out which of the 'n' packets of the batch, none of which was fetched
 * for yet, follow others.  Only if adp_fast_has_trains(). */
void adp_fast_couple(struct adp_fast *, size_t n);

/* What a packet's session, if it has one, says would become of it. */
enum adp_fast_known {
    ADP_FAST_UNKNOWN,           /* No session, or not as things are now. */
    ADP_FAST_NOT_REFUSED,
    ADP_FAST_REFUSED
};
enum adp_fast_known adp_fast_known(const struct adp_fast *,
                                   const struct adp_fast_packet *,
                                   struct adp_bridge *);

/* The number of packets, up to number 'end' of the batch, in the train that
 * begins with packet 'i', or would if it had no part of it before it.  Behind
 * adp_fast_couple(). */
static inline size_t
adp_fast_train(const struct adp_fast *f, size_t i, size_t end)
{
    size_t next = i + 1;

    while (next < end && f->packets[next].follows) {
        next++;
    }
    return next - i;
}

/* Takes a packet if it has a session that is as things are now.  Returns true
 * if the packet was handled: it is gone, or waits for adp_fast_flush(). */
bool adp_fast_take(struct adp_fast *, size_t i, struct dp_packet *,
                   struct adp_bridge *);

/* The same for the packet of 'sample', which is told what was done. */
bool adp_fast_take_sampled(struct adp_fast *, size_t i, struct dp_packet *,
                           struct adp_bridge *);

/* The same for packets from the beginning of a train of 'n', the first of
 * which is packet 'i' of the batch.  Returns the number of packets that were
 * handled.  If it isn't 0, the packet behind them may well be taken by another
 * call. */
size_t adp_fast_take_train(struct adp_fast *, size_t i,
                           struct dp_packet *const packets[], size_t n,
                           struct adp_bridge *);

/* Sends a packet on that was rewritten as 'content' says: to its port, into
 * its tunnel by 'tnl_actions' if that isn't NULL, or by 'actions'.  A packet
 * into a tunnel may wait for others that go there too. */
void adp_fast_leave(struct adp_fast *, struct dp_packet *,
                    const struct adp_cached_verdict_content *content,
                    const struct nlattr *actions,
                    const struct adp_tunnel_actions *tnl_actions);

/* Hands a packet, whose headers were those of 'flow', to upstream's executor,
 * after all that waits. */
void adp_fast_execute(struct adp_fast *, struct dp_packet *,
                      const struct flow *flow, const struct nlattr *actions,
                      size_t actions_len);

/* Sends on what waits, at the end of the batch. */
void adp_fast_flush(struct adp_fast *);

#endif /* adp-fast.h */
