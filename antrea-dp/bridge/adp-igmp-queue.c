/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-igmp-queue.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "adp-main-queue.h"
#include "dp-packet.h"
#include "flow.h"
#include "ovs-atomic.h"
#include "util.h"

struct adp_igmp_queue {
    struct adp_main_queue queue;        /* "struct adp_igmp_message"s. */
    atomic_count of_ports[ADP_IGMP_QUEUE_SLOTS];    /* In it, by in_port; */
    atomic_count of_tunnels[ADP_IGMP_QUEUE_SLOTS];  /* by tunnel_src. */
};

struct adp_igmp_queue *
adp_igmp_queue_create(void)
{
    struct adp_igmp_queue *q = xzalloc(sizeof *q);

    adp_main_queue_init(&q->queue);
    for (size_t i = 0; i < ADP_IGMP_QUEUE_SLOTS; i++) {
        atomic_count_init(&q->of_ports[i], 0);
        atomic_count_init(&q->of_tunnels[i], 0);
    }
    return q;
}

static struct adp_igmp_message *
take(struct adp_igmp_queue *q)
{
    struct mpsc_queue_node *node = adp_main_queue_take(&q->queue);

    return node ? CONTAINER_OF(node, struct adp_igmp_message, node) : NULL;
}

void
adp_igmp_queue_destroy(struct adp_igmp_queue *q)
{
    struct adp_igmp_message *m;

    while ((m = take(q)) != NULL) {
        free(m);
    }
    adp_main_queue_destroy(&q->queue);
    free(q);
}

static atomic_count *
slot_of(struct adp_igmp_queue *q, ofp_port_t in_port, ovs_be32 tunnel_src)
{
    return (tunnel_src
            ? &q->of_tunnels[ntohl(tunnel_src) % ADP_IGMP_QUEUE_SLOTS]
            : &q->of_ports[ofp_to_u16(in_port) % ADP_IGMP_QUEUE_SLOTS]);
}

/* Packet threads. */

void
adp_igmp_queue_add(struct adp_bridge *b, const struct dp_packet *packet,
                   const struct flow *flow, uint64_t ports_lost)
{
    struct adp_igmp_queue *q = b->igmp;
    atomic_count *of_slot = slot_of(q, flow->in_port.ofp_port,
                                    flow->tunnel.ip_src);
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
        m->ports_lost = ports_lost;
        m->len = len;
        if (len) {
            memcpy(m->data, dp_packet_l4(packet), len);
        }
        adp_main_queue_insert(&q->queue, &m->node);
        adp_count(&b->counters.igmp, 1);
    }
}

/* Main thread. */

struct adp_igmp_message *
adp_igmp_queue_take(struct adp_bridge *b)
{
    struct adp_igmp_message *m = take(b->igmp);

    if (m) {
        atomic_count_dec(slot_of(b->igmp, m->in_port, m->tunnel_src));
    }
    return m;
}

void
adp_igmp_queue_wait(struct adp_bridge *b)
{
    adp_main_queue_wait(&b->igmp->queue);
}
