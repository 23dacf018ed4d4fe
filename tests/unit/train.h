/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_TRAIN_H
#define TESTS_TRAIN_H 1

/* A datapath of type "dummy" with devices of type "train", one of which receives
 * the packets that lie ready, in one batch. */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dp-packet.h"
#include "dpif.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "util.h"

/* What the device "in0" receives next. */
static struct dp_packet_batch train;

/* The test's: 'batch', which it takes, leaves by 'netdev'. */
static void train_sent(struct netdev *, struct dp_packet_batch *);

static struct netdev *
train_alloc(void)
{
    return xzalloc(sizeof(struct netdev));
}

static void
train_dealloc(struct netdev *netdev)
{
    free(netdev);
}

static int
train_construct(struct netdev *netdev OVS_UNUSED)
{
    return 0;
}

static void
train_destruct(struct netdev *netdev OVS_UNUSED)
{
}

static int
train_get_etheraddr(const struct netdev *netdev OVS_UNUSED,
                    struct eth_addr *mac)
{
    *mac = (struct eth_addr) ETH_ADDR_C(aa,55,00,00,00,01);
    return 0;
}

static int
train_update_flags(struct netdev *netdev OVS_UNUSED,
                   enum netdev_flags off OVS_UNUSED,
                   enum netdev_flags on OVS_UNUSED, enum netdev_flags *old)
{
    *old = NETDEV_UP | NETDEV_PROMISC;
    return 0;
}

static int
train_send(struct netdev *netdev, int qid OVS_UNUSED,
           struct dp_packet_batch *batch, bool concurrent OVS_UNUSED)
{
    train_sent(netdev, batch);
    return 0;
}

static struct netdev_rxq *
train_rxq_alloc(void)
{
    return xzalloc(sizeof(struct netdev_rxq));
}

static void
train_rxq_dealloc(struct netdev_rxq *rxq)
{
    free(rxq);
}

static int
train_rxq_construct(struct netdev_rxq *rxq OVS_UNUSED)
{
    return 0;
}

static void
train_rxq_destruct(struct netdev_rxq *rxq OVS_UNUSED)
{
}

static int
train_rxq_recv(struct netdev_rxq *rxq, struct dp_packet_batch *batch,
               int *qfill OVS_UNUSED)
{
    struct dp_packet *packet;

    if (dp_packet_batch_is_empty(&train)
        || strcmp(netdev_get_name(rxq->netdev), "in0")) {
        return EAGAIN;
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, &train) {
        dp_packet_batch_add(batch, packet);
    }
    dp_packet_batch_init(&train);
    return 0;
}

static const struct netdev_class train_class = {
    .type = "train",
    .alloc = train_alloc,
    .construct = train_construct,
    .destruct = train_destruct,
    .dealloc = train_dealloc,
    .get_etheraddr = train_get_etheraddr,
    .update_flags = train_update_flags,
    .send = train_send,
    .rxq_alloc = train_rxq_alloc,
    .rxq_construct = train_rxq_construct,
    .rxq_destruct = train_rxq_destruct,
    .rxq_dealloc = train_rxq_dealloc,
    .rxq_recv = train_rxq_recv,
};

/* The datapath. */
static struct dpif *dpif;

static odp_port_t
add_port(const char *name, const char *type)
{
    odp_port_t port = ODPP_NONE;
    struct netdev *netdev;

    ck_assert_int_eq(netdev_open(name, type, &netdev), 0);
    ck_assert_int_eq(dpif_port_add(dpif, netdev, &port), 0);
    netdev_close(netdev);
    return port;
}

#endif /* train.h */
