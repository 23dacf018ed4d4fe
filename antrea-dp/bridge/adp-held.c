/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-held.h"

#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "dp-packet.h"
#include "dpif.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "packets.h"
#include "seq.h"
#include "timeval.h"
#include "util.h"

struct adp_held_queue {
    struct mpsc_queue queue;            /* Contains "struct adp_held"s. */
    atomic_count n;                     /* In it and behind it. */
    atomic_count n_waiting;             /* In it. */
    struct seq *seq;                    /* Changes when it was empty. */
    uint64_t seqno;
};

struct adp_held_queue *
adp_held_queue_create(void)
{
    struct adp_held_queue *q = xzalloc(sizeof *q);

    mpsc_queue_init(&q->queue);
    atomic_count_init(&q->n, 0);
    atomic_count_init(&q->n_waiting, 0);
    q->seq = seq_create();
    q->seqno = seq_read(q->seq);
    return q;
}

static void
held_free(struct adp_held *held)
{
    dp_packet_delete(held->packet);
    free(held);
}

void
adp_held_queue_destroy(struct adp_held_queue *q)
{
    struct mpsc_queue_node *node;

    mpsc_queue_acquire(&q->queue);
    MPSC_QUEUE_FOR_EACH_POP (node, &q->queue) {
        held_free(CONTAINER_OF(node, struct adp_held, node));
    }
    mpsc_queue_release(&q->queue);
    mpsc_queue_destroy(&q->queue);
    seq_destroy(q->seq);
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
             const struct flow *flow, const struct ofpbuf *actions)
{
    struct adp_held_queue *q = b->held;

    if (atomic_count_inc(&q->n) >= ADP_HELD_MAX) {
        atomic_count_dec(&q->n);
        adp_count(&b->counters.held_lost, 1);
    } else {
        /* A copy on the heap: those who wait take no buffer of the NIC's. */
        struct adp_held *held = xmalloc(sizeof *held + actions->size);

        held->packet = dp_packet_clone(packet);
        held->flow = *flow;
        held->since = time_msec();
        held->actions_len = actions->size;
        memcpy(held + 1, actions->data, actions->size);
        mpsc_queue_insert(&q->queue, &held->node);
        adp_count(&b->counters.held, 1);
        if (!atomic_count_inc(&q->n_waiting)) {
            seq_change(q->seq);
        }
    }
    dp_packet_delete(packet);
}

/* Main thread. */

struct adp_held *
adp_held_take(struct adp_bridge *b)
{
    struct adp_held_queue *q = b->held;
    struct mpsc_queue_node *node;

    q->seqno = seq_read(q->seq);
    mpsc_queue_acquire(&q->queue);
    node = mpsc_queue_pop(&q->queue);
    mpsc_queue_release(&q->queue);
    if (!node) {
        return NULL;
    }
    atomic_count_dec(&q->n_waiting);
    return CONTAINER_OF(node, struct adp_held, node);
}

void
adp_held_release(struct adp_bridge *b, struct adp_held *held, bool pass)
{
    atomic_count_dec(&b->held->n);
    if (pass && held->actions_len) {
        struct dpif_execute execute = {
            .actions = (const struct nlattr *) (held + 1),
            .actions_len = held->actions_len,
            .packet = held->packet,
            .flow = &held->flow,
        };

        dpif_execute(b->dpif.backer->dpif, &execute);
    }
    held_free(held);
}

void
adp_held_wait(struct adp_bridge *b)
{
    if (atomic_count_get(&b->held->n_waiting)) {
        poll_immediate_wake();
    } else {
        seq_wait(b->held->seq, b->held->seqno);
    }
}
