/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LOG_PACKET_H
#define ADP_LOG_PACKET_H 1

/* Tells the log of a packet that policy rules with logging decided on.
 *
 * What is denied is logged packet by packet; what is let pass only with the
 * packet that begins a connection.  (Antrea's agent gets all packets up to the
 * other end's first, one-way UDP for as long as it lasts.)  So packets of
 * sessions, which all have their connections already, have nothing to log but
 * what is denied, and a verdict that denies and logs makes no session.
 *
 * Thread-safety: of the thread that the batch belongs to.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/types.h"

struct adp_bridge;
struct adp_cached_verdict_content;
struct adp_fast;
struct adp_log_item;
struct adp_walk;
struct conntrack_peek_tuple;
struct dp_packet;

/* Does the packet of the walk 'w', which has not been carried out yet, begin a
 * connection, or belong to none? */
bool adp_log_packet_is_first(const struct adp_walk *w);

struct adp_log_packet {
    const struct dp_packet *packet;     /* As it came in, */
    const struct conntrack_peek_tuple *original; /* with these addresses. */
    uint8_t nw_proto;
    ofp_port_t in_port;
    const struct adp_walk *w;           /* Its way through conntrack. */
    const struct adp_cached_verdict_content *content; /* What becomes of it;
                                         * NULL: no short way to say. */
    bool is_first;                      /* adp_log_packet_is_first(). */
};

/* Logs what 'logs' says of the packet. */
void adp_log_packet(struct adp_fast *, struct adp_bridge *,
                    const struct adp_log_packet *,
                    const struct adp_log_item *logs, size_t n_logs);

/* True if packets with a session may have this verdict. */
bool adp_log_allows_session(const struct adp_cached_verdict_content *);

#endif /* adp-log-packet.h */
