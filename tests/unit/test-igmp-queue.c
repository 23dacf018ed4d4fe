/* SPDX-License-Identifier: Apache-2.0 */

/* The queue of IGMP's messages, and of what the main thread takes from packet
 * threads in general. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "adp-igmp-queue.h"
#include "dp-packet.h"
#include "flow.h"
#include "openvswitch/poll-loop.h"
#include "ovs-thread.h"
#include "packets.h"
#include "test-run.h"
#include "timeval.h"
#include "util.h"

static struct adp_bridge *b;

static void
setup(void)
{
    b = xzalloc(sizeof *b);
    b->igmp = adp_igmp_queue_create();
}

static void
teardown(void)
{
    adp_igmp_queue_destroy(b->igmp);
    free(b);
}

/* A message of 'len' bytes, the first 'number', comes in at 'port', when so
 * many were lost. */
static void
come(uint16_t port, uint8_t number, size_t len, ovs_be32 tunnel_src)
{
    struct dp_packet *p = dp_packet_new(ETH_HEADER_LEN + len);
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    flow.in_port.ofp_port = u16_to_ofp(port);
    flow.tunnel.ip_src = tunnel_src;
    dp_packet_put_zeros(p, ETH_HEADER_LEN);
    if (len) {
        memset(dp_packet_put_zeros(p, len), number, len);
        dp_packet_set_l4(p, (char *) dp_packet_data(p) + ETH_HEADER_LEN);
    }
    adp_igmp_queue_add(b, p, &flow, number);
    dp_packet_delete(p);
}

/* Takes a message, which must be that one. */
static void
take(uint16_t port, uint8_t number, size_t len)
{
    struct adp_igmp_message *m = adp_igmp_queue_take(b);

    ck_assert_ptr_nonnull(m);
    ck_assert_uint_eq(ofp_to_u16(m->in_port), port);
    ck_assert_uint_eq(m->len, len);
    ck_assert_uint_eq(m->ports_lost, number);
    for (size_t i = 0; i < len; i++) {
        ck_assert_uint_eq(m->data[i], number);
    }
    free(m);
}

static uint64_t
n_added(void)
{
    return adp_counted(&b->counters.igmp);
}

static uint64_t
n_lost(void)
{
    return adp_counted(&b->counters.igmp_lost);
}

START_TEST(in_order)
{
    ck_assert_ptr_null(adp_igmp_queue_take(b));
    come(1, 10, 8, 0);
    come(2, 11, ADP_IGMP_QUEUE_MAX_LEN, 0);
    come(1, 12, 0, htonl(0x0a000001));
    take(1, 10, 8);
    take(2, 11, ADP_IGMP_QUEUE_MAX_LEN);

    struct adp_igmp_message *m = adp_igmp_queue_take(b);
    ck_assert_uint_eq(m->len, 0);
    ck_assert_uint_eq(ntohl(m->tunnel_src), 0x0a000001);
    free(m);
    ck_assert_ptr_null(adp_igmp_queue_take(b));
    ck_assert_uint_eq(n_added(), 3);
    ck_assert_uint_eq(n_lost(), 0);
}
END_TEST

/* Ports whose slots are apart leave each other their places, and a place is
 * free again once its message was taken. */
START_TEST(bounds)
{
    for (int i = 0; i < ADP_IGMP_QUEUE_OF_SLOT + 5; i++) {
        come(1, i, 8, 0);
    }
    ck_assert_uint_eq(n_added(), ADP_IGMP_QUEUE_OF_SLOT);
    ck_assert_uint_eq(n_lost(), 5);
    come(1 + ADP_IGMP_QUEUE_SLOTS, 0, 8, 0);
    ck_assert_uint_eq(n_lost(), 6);
    come(2, 200, 8, 0);
    ck_assert_uint_eq(n_lost(), 6);

    take(1, 0, 8);
    come(1, 201, 8, 0);
    ck_assert_uint_eq(n_lost(), 6);
    come(1, 202, 8, 0);
    ck_assert_uint_eq(n_lost(), 7);

    come(3, 0, ADP_IGMP_QUEUE_MAX_LEN + 1, 0);
    ck_assert_uint_eq(n_lost(), 8);
    for (int i = 1; i < ADP_IGMP_QUEUE_OF_SLOT; i++) {
        take(1, i, 8);
    }
    take(2, 200, 8);
    take(1, 201, 8);
    ck_assert_ptr_null(adp_igmp_queue_take(b));
}
END_TEST

/* No port takes the place of what comes by tunnels, nor the other way round,
 * nor a Node that of others whose slots are apart. */
START_TEST(tunnels)
{
    const ovs_be32 src = htonl(0x0a000001);

    for (int i = 0; i < ADP_IGMP_QUEUE_OF_SLOT + 1; i++) {
        come(1, i, 8, 0);
    }
    ck_assert_uint_eq(n_lost(), 1);
    for (int i = 0; i < ADP_IGMP_QUEUE_OF_SLOT; i++) {
        come(1 + ADP_IGMP_QUEUE_SLOTS, i, 8, src);
    }
    ck_assert_uint_eq(n_lost(), 1);
    come(2, 0, 8, src);
    ck_assert_uint_eq(n_lost(), 2);
    come(2, 0, 8, 0);
    ck_assert_uint_eq(n_lost(), 2);

    for (int i = 0; i < ADP_IGMP_QUEUE_OF_SLOT; i++) {
        take(1, i, 8);
    }
    come(2, 0, 8, src);
    ck_assert_uint_eq(n_lost(), 3);
    take(1 + ADP_IGMP_QUEUE_SLOTS, 0, 8);
    come(2, 0, 8, src);
    ck_assert_uint_eq(n_lost(), 3);

    come(2, 0, 8, htonl(ntohl(src) + 1));
    ck_assert_uint_eq(n_lost(), 3);
    come(2, 0, 8, htonl(ntohl(src) + ADP_IGMP_QUEUE_SLOTS));
    ck_assert_uint_eq(n_lost(), 4);
    for (int i = 1; i < ADP_IGMP_QUEUE_OF_SLOT; i++) {
        take(1 + ADP_IGMP_QUEUE_SLOTS, i, 8);
    }
    take(2, 0, 8);
    take(2, 0, 8);
    take(2, 0, 8);
    come(2, 0, 8, htonl(ntohl(src) + ADP_IGMP_QUEUE_SLOTS));
    ck_assert_uint_eq(n_lost(), 4);
}
END_TEST

static void *
packet_thread(void *port_)
{
    const uint16_t *port = port_;

    for (unsigned int i = 0; i < 20000; i++) {
        come(*port, i, 8, 0);
    }
    return NULL;
}

/* Two packet threads, and a main thread that sleeps whenever there is nothing:
 * each message is taken or counted as lost, and no wake-up goes missing. */
START_TEST(threads)
{
    static uint16_t ports[] = { 1, 2 };
    pthread_t threads[ARRAY_SIZE(ports)];
    uint64_t n_taken = 0;

    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        threads[i] = ovs_thread_create("packets", packet_thread, &ports[i]);
    }
    while (n_taken + n_lost() < 20000 * ARRAY_SIZE(ports)) {
        struct adp_igmp_message *m = adp_igmp_queue_take(b);

        if (m) {
            free(m);
            n_taken++;
        } else {
            /* What comes may all be lost. */
            bool may_be_last = n_taken >= n_added();
            long long int end = time_msec() + (may_be_last ? 1 : 60 * 1000);

            adp_igmp_queue_wait(b);
            poll_timer_wait_until(end);
            poll_block();
            ck_assert(may_be_last || time_msec() < end);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        xpthread_join(threads[i], NULL);
    }
    ck_assert_uint_eq(n_taken, n_added());
    ck_assert_ptr_null(adp_igmp_queue_take(b));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("igmp-queue");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, in_order);
    tcase_add_test(tc, bounds);
    tcase_add_test(tc, tunnels);
    tcase_add_test(tc, threads);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
