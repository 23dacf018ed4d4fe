/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_FAST_H
#define ADP_FAST_H 1

/* The fast path: packets whose session is known.
 *
 * Works on a batch: parse all, then take the packets one after the other, in
 * their order.  Beside that go stages that ask for the memory that packets
 * need, so that nobody waits for it: the line of the index, the session, the
 * connections, the tunnel.
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
    struct adp_session *candidate;     /* NULL: none, or not looked for. */
    const struct adp_tunnel *tunnel;   /* Being fetched, or NULL. */
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
    uint8_t age, moment;        /* By the clock of sessions. */
    /* Packets on their way into one tunnel by actions that do more than push a
     * header and send them out. */
    struct dp_packet_batch waiting;
    const struct adp_tunnel_actions *tnl_actions; /* If any is waiting. */
    bool is_paced;              /* Stages go on while others are handled. */
    /* What is fetched while packets are taken: for 'n_paced' packets of the
     * batch; how many each of the stages is done for; the last two are for
     * some session with a tunnel, or more than one connection. */
    uint8_t n_paced, n_sessions, n_conns, n_more, n_actions;
    bool has_more;
    /* Packets that have no session, at the first place or anywhere. */
    uint32_t n_missing, n_unknown;
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

/* Parses a packet, number 0 first and then one after the other; for packet 'i'
 * of the batch.  'labels': the bridge's flows read IPv6's flow label. */
void adp_fast_parse(struct adp_fast *, size_t i, struct dp_packet *,
                    uint32_t ingress, bool labels);

/* Instead of that, or right behind it: packet 'i' has no session. */
static inline void
adp_fast_skip(struct adp_fast *f, size_t i)
{
    f->packets[i].is_parsed = false;
}

/* Behind them, before any of the batch of 'n' is taken.  'alone': there shall
 * be no trains. */
void adp_fast_fetch(struct adp_fast *, size_t n, bool alone);

/* True if there may be trains among the packets that were parsed. */
static inline bool
adp_fast_has_trains(const struct adp_fast *f)
{
    return f->n_alike;
}

/* What a packet's session, if it has one, says would become of it. */
enum adp_fast_known {
    ADP_FAST_UNKNOWN,           /* No session, or not as things are now. */
    ADP_FAST_NOT_REFUSED,
    ADP_FAST_REFUSED
};
enum adp_fast_known adp_fast_known(const struct adp_fast *,
                                   const struct adp_fast_packet *,
                                   struct adp_bridge *);
/* The same of an ordinary packet of its connections, as these are now.  Of any
 * other nothing is known. */
enum adp_fast_known adp_fast_known_ordinary(const struct adp_fast *,
                                            const struct adp_fast_packet *,
                                            struct dp_packet *,
                                            struct adp_bridge *);

/* The number of packets, up to number 'end' of the batch, in the train that
 * begins with packet 'i', or would if it had no part of it before it.  Only if
 * adp_fast_has_trains(), behind adp_fast_fetch(). */
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
