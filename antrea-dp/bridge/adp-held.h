/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_HELD_H
#define ADP_HELD_H 1

/* Packets that wait until the main thread has read them.
 *
 * A flow that pauses a packet for the agent, and that the datapath takes care
 * of itself (ADP_ANSWER_HOLD), is met by DNS answers: a client must not get
 * one before the addresses that it tells are in force for its Pod's rules.  A
 * packet thread decides on such a packet as on any other, but has nothing of
 * the verdict executed: it leaves a copy of the packet, with the verdict's
 * actions, in a queue, and goes on.  The main thread reads the copy and, when
 * it may go on, has the actions executed, conntrack's among them.  If a port
 * was lost meanwhile, it is dropped: the number of the one that it was to
 * leave by may be another's by now.
 *
 * Bounded: ADP_HELD_MAX packets of a bridge, in the queue and behind it, and a
 * share of them for those who get them, so that a Pod's flood leaves room for
 * others' packets.  What finds no room is dropped, which resolvers cope with:
 * to let it pass would be to send clients to addresses that no rule knows,
 * also past rules that drop.
 *
 * Thread-safety: add in any thread, without a lock (but for waking up the main
 * thread when the queue was empty); the rest in the main thread.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include "flow.h"
#include "mpsc-queue.h"
#include "openvswitch/list.h"

struct adp_bridge;
struct adp_held_queue;
struct dp_packet;
struct ofpbuf;

/* Of a bridge: packets of some 1,500 bytes as a rule, and as much beside
 * them. */
#define ADP_HELD_MAX 1024
#define ADP_HELD_MAX_OF_SLOT (ADP_HELD_MAX / 4)

struct adp_held {
    struct mpsc_queue_node node;        /* In the queue, */
    struct ovs_list list_node;          /* later its taker's. */
    struct dp_packet *packet;
    struct flow flow;                   /* As it came in. */
    long long int since;                /* ms. */
    uint64_t ports_lost;                /* Before it was decided on. */
    size_t actions_len;
    /* Actions follow, aligned. */
};

struct adp_held_queue *adp_held_queue_create(void);
/* Frees what is in it. */
void adp_held_queue_destroy(struct adp_held_queue *);

#define ADP_DNS_PORT 53

/* May the packet, as it comes in, be one that a built-in pipeline's flow
 * pauses? */
static inline bool
adp_held_may_be(const struct flow *flow)
{
    return (flow->tp_src == htons(ADP_DNS_PORT)
            && (flow->nw_proto == IPPROTO_UDP
                || flow->nw_proto == IPPROTO_TCP));
}

/* Has 'packet' a payload that somebody might read? */
bool adp_held_wants(const struct dp_packet *packet, const struct flow *);
/* Takes 'packet', which came in as 'flow' says, for later, or drops it.
 * 'actions' are from a walk that began after adp_ports_n_lost() was
 * 'ports_lost'. */
void adp_held_add(struct adp_bridge *, struct dp_packet *packet,
                  const struct flow *, const struct ofpbuf *actions,
                  uint64_t ports_lost);

/* Takes the one that waited longest; NULL: none waits. */
struct adp_held *adp_held_take(struct adp_bridge *);
/* Lets it go on, unless its port may have gone, or drops it.  Frees it. */
void adp_held_release(struct adp_bridge *, struct adp_held *, bool pass);
/* Wakes up the main thread when there is something to take. */
void adp_held_wait(struct adp_bridge *);

#endif /* adp-held.h */
