/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-main-queue.h"

#include "openvswitch/poll-loop.h"
#include "seq.h"

void
adp_main_queue_init(struct adp_main_queue *q)
{
    mpsc_queue_init(&q->queue);
    atomic_count_init(&q->n, 0);
    q->seq = seq_create();
    q->seqno = seq_read(q->seq);
}

void
adp_main_queue_destroy(struct adp_main_queue *q)
{
    mpsc_queue_destroy(&q->queue);
    seq_destroy(q->seq);
}

void
adp_main_queue_insert(struct adp_main_queue *q, struct mpsc_queue_node *node)
{
    mpsc_queue_insert(&q->queue, node);
    if (!atomic_count_inc(&q->n)) {
        seq_change(q->seq);
    }
}

struct mpsc_queue_node *
adp_main_queue_take(struct adp_main_queue *q)
{
    struct mpsc_queue_node *node;

    q->seqno = seq_read(q->seq);
    mpsc_queue_acquire(&q->queue);
    node = mpsc_queue_pop(&q->queue);
    mpsc_queue_release(&q->queue);
    if (node) {
        atomic_count_dec(&q->n);
    }
    return node;
}

void
adp_main_queue_wait(struct adp_main_queue *q)
{
    if (atomic_count_get(&q->n)) {
        poll_immediate_wake();
    } else {
        seq_wait(q->seq, q->seqno);
    }
}
