/* SPDX-License-Identifier: Apache-2.0 */

/* conntrack's helper for FTP, with NAT: the address in a message of a control
 * connection is translated, however much comes behind it in the packet, if there
 * is room; and what is expected of one connection has a limit. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include <string.h>
#include "conntrack.h"
#include "conntrack-foresee.h"
#include "conntrack-peek.h"
#include "conntrack-private.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "talk.h"
#include "test-run.h"
#include "timeval.h"
#include "util.h"

enum { ZONE = 3, CLIENT = 0x0a000001, PUBLIC = 0xc0a80164, SERVER = 0x0a000002 };

static struct conntrack *ct;
static struct tuple tuples[2];          /* By direction, as packets come. */
static uint32_t seqs[2];

static bool exact;              /* Packets end with their memory. */

static struct dp_packet *
pass(int dir, uint16_t flags, const char *data, size_t size)
{
    const struct nat_action_info_t nat = {
        .min_addr.ipv4 = htonl(PUBLIC), .max_addr.ipv4 = htonl(PUBLIC),
        .nat_action = NAT_ACTION_SRC,
    };
    const struct segment s = {
        .flags = flags, .seq = seqs[dir], .win = 8192, .wscale = -1,
        .ack = flags & TCP_ACK ? seqs[!dir] : 0,
    };
    struct dp_packet *p = talk_compose(&tuples[dir], &s, size);
    struct dp_packet_batch batch;

    memcpy(CONST_CAST(char *, dp_packet_get_tcp_payload(p)), data, size);
    *talk_csum_field(p, &tuples[dir]) = 0;
    *talk_csum_field(p, &tuples[dir]) = talk_compute_csum(p, &tuples[dir]);
    seqs[dir] += size + (flags & TCP_SYN ? 1 : 0);
    if (exact) {
        /* As segments are that we made. */
        struct dp_packet *copy = dp_packet_clone_with_headroom(p, 128);

        dp_packet_delete(p);
        p = copy;
    }

    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(ct, &batch, htons(ETH_TYPE_IP), false, true, ZONE, NULL,
                      NULL, 0, 0, "ftp", &nat, time_msec(), 0);
    ck_assert(!(p->md.ct_state & CS_INVALID));
    return p;
}

static void
begin_connection(uint16_t port)
{
    tuples[0].tp_src = tuples[1].tp_dst = port;
    seqs[0] = seqs[1] = 1000;
    dp_packet_delete(pass(0, TCP_SYN, "", 0));
    dp_packet_delete(pass(1, TCP_SYN | TCP_ACK, "", 0));
    dp_packet_delete(pass(0, TCP_ACK, "", 0));
}

static void
set_up(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    ct = conntrack_init();
    tuples[0] = (struct tuple) {
        .nw_proto = IPPROTO_TCP, .tp_dst = IPPORT_FTP,
    };
    in6_addr_set_mapped_ipv4(&tuples[0].src, htonl(CLIENT));
    in6_addr_set_mapped_ipv4(&tuples[0].dst, htonl(SERVER));
    tuples[1] = tuples[0];
    tuples[1].src = tuples[0].dst;
    in6_addr_set_mapped_ipv4(&tuples[1].dst, htonl(PUBLIC));
    tuples[1].tp_src = tuples[0].tp_dst;
}

static void
tear_down(void)
{
    conntrack_destroy(ct);
    ovsrcu_exit();
}

START_TEST(address_is_translated)
{
    static const char command[] = "PORT 10,0,0,1,4,1\r\n";
    static const char translated[] = "PORT 192,168,1,100,4,1\r\n";
    const size_t longer = strlen(translated) - strlen(command);

    /* From 250 to 270 bytes behind "PORT ". */
    for (size_t size = 255; size <= 275; size++) {
        char data[300];

        memset(data, '\n', sizeof data);
        memcpy(data, command, strlen(command));
        begin_connection(40000 + size);
        struct dp_packet *p = pass(0, TCP_ACK | TCP_PSH, data, size);
        const char *now = dp_packet_get_tcp_payload(p);

        ck_assert_uint_eq(dp_packet_get_tcp_payload_length(p), size + longer);
        ck_assert_mem_eq(now, translated, strlen(translated));
        ck_assert_mem_eq(now + strlen(translated), data + strlen(command),
                         size - strlen(command));
        dp_packet_delete(p);
    }
}
END_TEST

/* Where there is no room for a longer address it stays as it is. */
START_TEST(no_room)
{
    static const char command[] = "PORT 10,0,0,1,4,1\r\n";

    exact = true;
    /* With each remainder by malloc()'s 16. */
    for (size_t size = 32; size < 48; size++) {
        char data[64];

        memset(data, '\n', sizeof data);
        memcpy(data, command, strlen(command));
        begin_connection(41000 + size);
        struct dp_packet *p = pass(0, TCP_ACK | TCP_PSH, data, size);

        ck_assert_uint_eq(dp_packet_get_tcp_payload_length(p), size);
        ck_assert_mem_eq(dp_packet_get_tcp_payload(p), data, size);
        dp_packet_delete(p);
    }
    exact = false;
}
END_TEST

/* One control connection that expects ever more: the latest are known. */
START_TEST(many_expectations)
{
    enum { FIRST = 1024, N = 200 };

    begin_connection(42000);
    for (int port = FIRST; port < FIRST + N; port++) {
        char data[64];
        int size = snprintf(data, sizeof data, "PORT 10,0,0,1,%d,%d\r\n",
                            port / 256, port % 256);

        dp_packet_delete(pass(0, TCP_ACK | TCP_PSH, data, size));
    }
    ck_assert_uint_eq(hmap_count(&ct->alg_expectations),
                      CONNTRACK_MAX_EXPECTATIONS);

    size_t n_latest = 0;
    const struct alg_exp_node *node;
    HMAP_FOR_EACH (node, node, &ct->alg_expectations) {
        n_latest += ntohs(node->key.dst.port) >= FIRST + N
                    - (CONNTRACK_MAX_EXPECTATIONS - 1);
    }
    ck_assert_uint_eq(n_latest, CONNTRACK_MAX_EXPECTATIONS - 1);
}
END_TEST

/* What is foreseen of the first packet in a direction. */
static enum conntrack_peek_result
foresee(int dir, const struct conntrack_peek_request *req)
{
    const struct segment s = { .flags = TCP_SYN, .win = 8192, .wscale = -1 };
    struct dp_packet *p = talk_compose(&tuples[dir], &s, 0);
    static struct conntrack_peek peek;

    enum conntrack_peek_result result
        = try_to_foresee_ct(&peek, ct, p, &tuples[dir], req, time_msec());
    if (result == CT_PEEK_OK) {
        ck_assert_int_eq(peek.ct_state, CS_TRACKED | CS_NEW);
        ck_assert(!req->commit || peek.n_conns == 1);
    }
    conntrack_peek_uninit(&peek);
    dp_packet_delete(p);
    return result;
}

/* A port alone makes nobody look into a packet.  '_i': FTP's at either end, or
 * TFTP's. */
START_TEST(port_alone)
{
    struct conntrack_peek_request req = { .zone = ZONE };

    if (_i == 2) {
        tuples[0].nw_proto = IPPROTO_UDP;
        tuples[0].tp_dst = 69;
    }
    tuples[0].tp_src = 4001;
    tuples[1].tp_dst = 4001;
    int dir = _i & 1;
    ck_assert_int_eq(foresee(dir, &req), CT_PEEK_OK);
    req.commit = true;
    ck_assert_int_eq(foresee(dir, &req), CT_PEEK_OK);
    req.helper = "ftp";
    ck_assert_int_eq(foresee(dir, &req), CT_PEEK_ALG);
}
END_TEST

/* Of a connection it does. */
START_TEST(port_of_connection)
{
    const struct conntrack_peek_request req = { .zone = ZONE };
    const struct conntrack_peek_request other = { .zone = ZONE + 1 };

    begin_connection(4000);
    for (int dir = 0; dir < 2; dir++) {
        ck_assert_int_eq(foresee(dir, &req), CT_PEEK_ALG);
        ck_assert_int_eq(foresee(dir, &other), CT_PEEK_OK);
    }
}
END_TEST

/* And of any while somebody expects one. */
START_TEST(port_while_expecting)
{
    static const char command[] = "PORT 10,0,0,1,4,1\r\n";
    const struct conntrack_peek_request other = { .zone = ZONE + 1 };

    begin_connection(4000);
    dp_packet_delete(pass(0, TCP_ACK | TCP_PSH, command, strlen(command)));
    ck_assert_int_eq(foresee(0, &other), CT_PEEK_ALG);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("conntrack-ftp");
    TCase *tc = tcase_create("NAT");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, address_is_translated);
    tcase_add_test(tc, no_room);
    tcase_add_test(tc, many_expectations);
    tcase_add_loop_test(tc, port_alone, 0, 3);
    tcase_add_test(tc, port_of_connection);
    tcase_add_test(tc, port_while_expecting);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
