/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-held.h"

#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "adp-main-queue.h"
#include "adp-ports.h"
#include "conntrack-peek.h"
#include "dp-packet.h"
#include "dpif.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-atomic.h"
#include "packets.h"
#include "timeval.h"
#include "util.h"

/* Those who get the packets share these, by the end of their addresses: Pods
 * of a Node have addresses that follow each other. */
#define N_SLOTS 64

struct adp_held_queue {
    struct adp_main_queue queue;        /* Contains "struct adp_held"s. */
    atomic_count n;                     /* In it and behind it. */
    atomic_count of_slot[N_SLOTS];      /* Of them, ADP_HELD_MAX_OF_SLOT at
                                         * most. */
};

struct adp_held_queue *
adp_held_queue_create(void)
{
    struct adp_held_queue *q = xzalloc(sizeof *q);

    adp_main_queue_init(&q->queue);
    atomic_count_init(&q->n, 0);
    for (size_t i = 0; i < N_SLOTS; i++) {
        atomic_count_init(&q->of_slot[i], 0);
    }
    return q;
}

static atomic_count *
slot_of(struct adp_held_queue *q, const struct flow *flow)
{
    uint8_t end = (flow->dl_type == htons(ETH_TYPE_IP) ? ntohl(flow->nw_dst)
                   : flow->ipv6_dst.s6_addr[15]);

    return &q->of_slot[end % N_SLOTS];
}

/* Is there room for one more that came in as 'flow' says? */
static bool
take_place(struct adp_held_queue *q, const struct flow *flow)
{
    atomic_count *of_slot = slot_of(q, flow);

    if (atomic_count_inc(of_slot) < ADP_HELD_MAX_OF_SLOT) {
        if (atomic_count_inc(&q->n) < ADP_HELD_MAX) {
            return true;
        }
        atomic_count_dec(&q->n);
    }
    atomic_count_dec(of_slot);
    return false;
}

static void
give_place_back(struct adp_held_queue *q, const struct flow *flow)
{
    atomic_count_dec(&q->n);
    atomic_count_dec(slot_of(q, flow));
}

static void
held_free(struct adp_held *held)
{
    dp_packet_delete(held->packet);
    free(held);
}

static struct adp_held *
take(struct adp_held_queue *q)
{
    struct mpsc_queue_node *node = adp_main_queue_take(&q->queue);

    return node ? CONTAINER_OF(node, struct adp_held, node) : NULL;
}

void
adp_held_queue_destroy(struct adp_held_queue *q)
{
    struct adp_held *held;

    while ((held = take(q)) != NULL) {
        held_free(held);
    }
    adp_main_queue_destroy(&q->queue);
    free(q);
}

/* Packet threads. */

bool
adp_held_wants(const struct dp_packet *packet, const struct flow *flow)
{
    size_t l4_len = dp_packet_l4_size(packet);

    if (flow->nw_proto == IPPROTO_UDP) {
        return l4_len > UDP_HEADER_LEN;
    }
    if (flow->nw_proto == IPPROTO_TCP && l4_len >= TCP_HEADER_LEN) {
        const struct tcp_header *tcp = dp_packet_l4(packet);

        return l4_len > TCP_OFFSET(tcp->tcp_ctl) * 4;
    }
    return false;
}

void
adp_held_add(struct adp_bridge *b, struct dp_packet *packet,
             const struct flow *flow, const struct ofpbuf *actions,
             uint64_t ports_lost)
{
    struct adp_held_queue *q = b->held;

    if (!take_place(q, flow)) {
        adp_count(&b->counters.held_lost, 1);
    } else {
        /* A copy on the heap: those who wait take no buffer of the NIC's. */
        struct adp_held *held = xmalloc(sizeof *held + actions->size);

        held->packet = dp_packet_clone(packet);
        held->flow = *flow;
        held->since = time_msec();
        held->ports_lost = ports_lost;
        held->actions_len = actions->size;
        memcpy(held + 1, actions->data, actions->size);
        adp_main_queue_insert(&q->queue, &held->node);
        adp_count(&b->counters.held, 1);
    }
    dp_packet_delete(packet);
}

/* Main thread. */

struct adp_held *
adp_held_take(struct adp_bridge *b)
{
    return take(b->held);
}

static void
execute(struct adp_bridge *b, struct adp_held *held)
{
    struct dpif_execute execute = {
        .actions = (const struct nlattr *) (held + 1),
        .actions_len = held->actions_len,
        .packet = held->packet,
        .flow = &held->flow,
    };
    /* No flow looks any more at what conntrack might add of fragments. */
    bool bypass = conntrack_bypass_fragments(true);

    dpif_execute(b->dpif.backer->dpif, &execute);
    conntrack_bypass_fragments(bypass);
}

void
adp_held_release(struct adp_bridge *b, struct adp_held *held, bool pass)
{
    give_place_back(b->held, &held->flow);
    if (pass && held->actions_len) {
        if (held->ports_lost == adp_ports_n_lost()) {
            execute(b, held);
        } else {
            adp_count(&b->counters.held_stale, 1);
        }
    }
    held_free(held);
}

void
adp_held_wait(struct adp_bridge *b)
{
    adp_main_queue_wait(&b->held->queue);
}
