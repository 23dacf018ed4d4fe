/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-igmp-queue.h"

#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "dp-packet.h"
#include "flow.h"
#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "seq.h"
#include "util.h"

struct adp_igmp_queue {
    struct mpsc_queue queue;            /* "struct adp_igmp_message"s. */
    atomic_count n;                     /* In it, */
    atomic_count of_slot[ADP_IGMP_QUEUE_SLOTS]; /* by in_port. */
    struct seq *seq;                    /* Changes when it was empty. */
    uint64_t seqno;
};

struct adp_igmp_queue *
adp_igmp_queue_create(void)
{
    struct adp_igmp_queue *q = xzalloc(sizeof *q);

    mpsc_queue_init(&q->queue);
    atomic_count_init(&q->n, 0);
    for (size_t i = 0; i < ARRAY_SIZE(q->of_slot); i++) {
        atomic_count_init(&q->of_slot[i], 0);
    }
    q->seq = seq_create();
    q->seqno = seq_read(q->seq);
    return q;
}

void
adp_igmp_queue_destroy(struct adp_igmp_queue *q)
{
    struct mpsc_queue_node *node;

    mpsc_queue_acquire(&q->queue);
    MPSC_QUEUE_FOR_EACH_POP (node, &q->queue) {
        free(CONTAINER_OF(node, struct adp_igmp_message, node));
    }
    mpsc_queue_release(&q->queue);
    mpsc_queue_destroy(&q->queue);
    seq_destroy(q->seq);
    free(q);
}

static atomic_count *
slot_of(struct adp_igmp_queue *q, ofp_port_t in_port)
{
    return &q->of_slot[ofp_to_u16(in_port) % ADP_IGMP_QUEUE_SLOTS];
}

/* Packet threads. */

void
adp_igmp_queue_add(struct adp_bridge *b, const struct dp_packet *packet,
                   const struct flow *flow)
{
    struct adp_igmp_queue *q = b->igmp;
    atomic_count *of_slot = slot_of(q, flow->in_port.ofp_port);
    size_t len = dp_packet_l4(packet) ? dp_packet_l4_size(packet) : 0;

    if (len > ADP_IGMP_QUEUE_MAX_LEN) {
        adp_count(&b->counters.igmp_lost, 1);
    } else if (atomic_count_inc(of_slot) >= ADP_IGMP_QUEUE_OF_SLOT) {
        atomic_count_dec(of_slot);
        adp_count(&b->counters.igmp_lost, 1);
    } else {
        struct adp_igmp_message *m = xmalloc(sizeof *m + len);

        m->in_port = flow->in_port.ofp_port;
        m->tunnel_src = flow->tunnel.ip_src;
        m->len = len;
        if (len) {
            memcpy(m->data, dp_packet_l4(packet), len);
        }
        mpsc_queue_insert(&q->queue, &m->node);
        adp_count(&b->counters.igmp, 1);
        if (!atomic_count_inc(&q->n)) {
            seq_change(q->seq);
        }
    }
}

/* Main thread. */

struct adp_igmp_message *
adp_igmp_queue_take(struct adp_bridge *b)
{
    struct adp_igmp_queue *q = b->igmp;
    struct mpsc_queue_node *node;

    q->seqno = seq_read(q->seq);
    mpsc_queue_acquire(&q->queue);
    node = mpsc_queue_pop(&q->queue);
    mpsc_queue_release(&q->queue);
    if (!node) {
        return NULL;
    }

    struct adp_igmp_message *m = CONTAINER_OF(node, struct adp_igmp_message,
                                              node);
    atomic_count_dec(&q->n);
    atomic_count_dec(slot_of(q, m->in_port));
    return m;
}

void
adp_igmp_queue_wait(struct adp_bridge *b)
{
    if (atomic_count_get(&b->igmp->n)) {
        poll_immediate_wake();
    } else {
        seq_wait(b->igmp->seq, b->igmp->seqno);
    }
}
