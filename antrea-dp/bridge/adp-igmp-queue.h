/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_IGMP_QUEUE_H
#define ADP_IGMP_QUEUE_H 1

/* Messages of IGMP on their way from packet threads to the main thread.
 *
 * A flow that sends such messages to the agent, and that the datapath takes
 * care of itself (ADP_ANSWER_READ), has a packet thread leave a copy of the
 * message in a queue.  The packet itself goes nowhere.
 *
 * Bounded: of the ports that share one of ADP_IGMP_QUEUE_SLOTS slots
 * ADP_IGMP_QUEUE_OF_SLOT messages of at most ADP_IGMP_QUEUE_MAX_LEN bytes, so
 * that who sends more than is read leaves others their place.  What comes by
 * tunnels has as many slots, by the other end's address, that it shares with
 * no port, since other Nodes' members depend on it.
 *
 * Thread-safety: add in any thread, without a lock (but for waking up the main
 * thread when the queue was empty); the rest in the main thread.
 */

#include <stddef.h>
#include <stdint.h>
#include "mpsc-queue.h"
#include "openvswitch/types.h"

struct adp_bridge;
struct adp_igmp_queue;
struct dp_packet;
struct flow;

#define ADP_IGMP_QUEUE_SLOTS 64
#define ADP_IGMP_QUEUE_OF_SLOT 64
#define ADP_IGMP_QUEUE_MAX_LEN 2048

struct adp_igmp_message {
    struct mpsc_queue_node node;
    ofp_port_t in_port;
    ovs_be32 tunnel_src;        /* 0: it came by no tunnel over IPv4. */
    uint64_t ports_lost;        /* Before it was decided on. */
    size_t len;
    uint8_t data[];
};

struct adp_igmp_queue *adp_igmp_queue_create(void);
/* Frees what is in it. */
void adp_igmp_queue_destroy(struct adp_igmp_queue *);

/* Copies the message of 'packet', which came in as 'flow' says, or counts it
 * as lost.  It was decided on after adp_ports_n_lost() was 'ports_lost'. */
void adp_igmp_queue_add(struct adp_bridge *, const struct dp_packet *packet,
                        const struct flow *, uint64_t ports_lost);
/* Takes the one that waited longest, for the caller to free; NULL: none
 * waits. */
struct adp_igmp_message *adp_igmp_queue_take(struct adp_bridge *);
/* Wakes up the main thread when there is something to take. */
void adp_igmp_queue_wait(struct adp_bridge *);

#endif /* adp-igmp-queue.h */
