/* SPDX-License-Identifier: Apache-2.0 */

/* SCTP in conntrack: what it says about the packets of associations, how it
 * translates them, and that its prediction says the same. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include "conntrack.h"
#include "conntrack-peek.h"
#include "conntrack-private.h"
#include "conntrack-sctp.h"
#include "crc32c.h"
#include "csum.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "random.h"
#include "sctp-packet.h"
#include "talk.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"
#include "util.h"

enum { ZONE = 3, CLIENT_PORT = 1000, PORT = 36412 };

static struct conntrack *ct;
static struct nat_action_info_t nat;
static bool natted;                     /* ct(commit) has 'nat'. */
static struct tuple tuples[2];          /* By direction, as packets come. */
static long long int now;

/* ct(). */

static ovs_be16
dl_type(const struct tuple *t)
{
    return t->ipv6 ? htons(ETH_TYPE_IPV6) : htons(ETH_TYPE_IP);
}

static void
execute(struct conntrack *tracker, const struct tuple *t, bool commit,
        struct dp_packet *packet)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, packet);
    conntrack_execute(tracker, &batch, dl_type(t), false, commit, ZONE, NULL,
                      NULL, 0, 0, NULL, natted ? &nat : NULL, now, 0);
}

static const char *
state_text(uint8_t state)
{
    static char text[16];

    snprintf(text, sizeof text, "%s%s%s%s",
             state & CS_INVALID ? "inv" : "", state & CS_NEW ? "new" : "",
             state & CS_ESTABLISHED ? "est" : "",
             state & CS_REPLY_DIR ? " rpl" : "");
    return text;
}

/* All connections, as dpctl/dump-conntrack shows them, sorted not. */
static char *
dump(struct conntrack *tracker, bool with_tuples)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct conntrack_dump d;
    struct ct_dpif_entry entry;
    int n_buckets;

    conntrack_dump_start(tracker, &d, NULL, &n_buckets);
    while (!conntrack_dump_next(&d, &entry)) {
        if (with_tuples) {
            ct_dpif_format_entry(&entry, &s, false, false);
        } else {
            unsigned int state = entry.protoinfo.sctp.state;

            ds_put_format(&s, "%s %u %u", ct_dpif_sctp_state_string[state],
                          entry.protoinfo.sctp.vtag_orig,
                          entry.protoinfo.sctp.vtag_reply);
        }
        ct_dpif_entry_uninit(&entry);
    }
    conntrack_dump_done(&d);
    return ds_steal_cstr(&s);
}

static long long int
timeout_ms(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    long long int expiration = now;
    struct conn *conn;

    CMAP_FOR_EACH (conn, cm_node, &ct->conns) {
        if (conn->conn_type == CT_CONN_TYPE_DEFAULT) {
            atomic_read_relaxed(&conn->expiration, &expiration);
        }
    }
    return expiration - now;
}

/* Passes 'packet' through ct(commit) and returns what that says of it. */
static const char *
pass(const struct tuple *t, struct dp_packet *packet)
{
    execute(ct, t, true, packet);
    const char *text = state_text(packet->md.ct_state);
    dp_packet_delete(packet);
    return text;
}

static const char *
pass_chunks(const struct tuple *t, uint32_t vtag, const char *text)
{
    return pass(t, sctp_compose(t, vtag, text));
}

/* A packet in direction 'dir' gets the ct_state 'expected'. */
#define SEES(DIR, VTAG, CHUNKS, EXPECTED)                                   \
    ck_assert_str_eq(pass_chunks(&tuples[DIR], VTAG, CHUNKS), EXPECTED)

/* All connections there are: "STATE TAG TAG", the tags of packets in original
 * and reply direction. */
#define CONNS(EXPECTED)                                                     \
    do {                                                                    \
        char *dumped = dump(ct, false);                                     \
        ck_assert_str_eq(dumped, EXPECTED);                                 \
        free(dumped);                                                       \
    } while (0)

/* Tags: whose packets carry them. */
enum { TO_CLIENT = 100, TO_SERVER = 200 };

static void
set_up(void)
{
    SEES(0, 0, "init:100", "new");
    SEES(1, TO_CLIENT, "init-ack:200", "est rpl");
    SEES(0, TO_SERVER, "cookie-echo data", "est");
    SEES(1, TO_CLIENT, "cookie-ack sack", "est rpl");
    CONNS("ESTABLISHED 200 100");
}

/* The world. */

static struct in6_addr
address(const char *text)
{
    struct in6_addr addr;

    ck_assert_int_eq(inet_pton(AF_INET6, text, &addr), 1);
    return addr;
}

static void
tuples_init(void)
{
    memset(tuples, 0, sizeof tuples);
    tuples[0].nw_proto = IPPROTO_SCTP;
    tuples[0].src = address("::ffff:10.0.0.1");
    tuples[0].dst = address("::ffff:10.0.0.2");
    tuples[0].tp_src = CLIENT_PORT;
    tuples[0].tp_dst = PORT;
    tuples[1] = tuples[0];
    tuples[1].src = tuples[0].dst;
    tuples[1].dst = tuples[0].src;
    tuples[1].tp_src = PORT;
    tuples[1].tp_dst = CLIENT_PORT;
}

static void
setup_once(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
}

static void
setup(void)
{
    ct = conntrack_init();
    /* So far ahead that the thread that looks for expired connections, which
     * goes by the real clock, leaves them alone. */
    now = time_msec() + 1000LL * 1000 * 1000;
    natted = false;
    memset(&nat, 0, sizeof nat);
    tuples_init();
}

static void
teardown(void)
{
    conntrack_destroy(ct);
    ovsrcu_barrier();
}

/* Associations. */

START_TEST(test_association)
{
    SEES(0, 0, "init:100", "new");
    CONNS("COOKIE_WAIT 0 100");
    SEES(0, 0, "init:100", "new");
    SEES(1, TO_CLIENT, "init-ack:200", "est rpl");
    CONNS("COOKIE_WAIT 200 100");
    SEES(0, TO_SERVER, "cookie-echo data", "est");
    CONNS("COOKIE_ECHOED 200 100");
    SEES(1, TO_CLIENT, "cookie-ack sack", "est rpl");
    CONNS("ESTABLISHED 200 100");
    SEES(0, TO_SERVER, "cookie-echo data", "est");
    SEES(0, TO_SERVER, "data data", "est");
    SEES(1, TO_CLIENT, "sack data", "est rpl");
    SEES(1, TO_CLIENT, "shutdown-ack", "est rpl");
    SEES(0, TO_SERVER, "shutdown-complete", "est");
    CONNS("ESTABLISHED 200 100");
    SEES(0, TO_SERVER, "heartbeat", "est");
    SEES(1, TO_CLIENT, "heartbeat-ack", "est rpl");
    SEES(1, TO_CLIENT, "forward-tsn", "est rpl");
    SEES(0, TO_SERVER, "sack shutdown", "est");
    CONNS("SHUTDOWN_SENT 200 100");
    SEES(1, TO_CLIENT, "data", "est rpl");
    SEES(1, TO_CLIENT, "shutdown-ack", "est rpl");
    CONNS("SHUTDOWN_ACK_SENT 200 100");
    SEES(0, TO_SERVER, "shutdown", "est");
    CONNS("SHUTDOWN_ACK_SENT 200 100");
    SEES(0, TO_SERVER, "shutdown-complete", "est");
    SEES(0, TO_SERVER, "shutdown", "est");
    CONNS("CLOSED 200 100");
    /* The next one on the same ports is a new connection. */
    SEES(0, 0, "init:101", "new");
    CONNS("COOKIE_WAIT 0 101");
}
END_TEST

START_TEST(test_ipv6)
{
    for (int dir = 0; dir < 2; dir++) {
        tuples[dir].ipv6 = true;
        tuples[dir].src = address(dir ? "fd00::2" : "fd00::1");
        tuples[dir].dst = address(dir ? "fd00::1" : "fd00::2");
    }
    set_up();
    SEES(0, TO_SERVER, "data", "est");
    SEES(1, TO_SERVER, "data", "inv");
}
END_TEST

START_TEST(test_shutdown_by_server)
{
    SEES(0, 0, "init:100", "new");
    SEES(1, TO_CLIENT, "init-ack:200", "est rpl");
    SEES(0, TO_SERVER, "cookie-echo", "est");
    SEES(1, TO_CLIENT, "cookie-ack shutdown", "est rpl");
    CONNS("SHUTDOWN_RECD 200 100");
    SEES(0, TO_SERVER, "shutdown-ack", "est");
    CONNS("SHUTDOWN_ACK_SENT 200 100");
    SEES(1, TO_SERVER, "shutdown-complete/t", "est rpl");
    CONNS("CLOSED 200 100");
    /* The other end may begin one as well: by policy, it is new. */
    SEES(1, 0, "init:7", "new");
}
END_TEST

/* An association opens its own ports, no others. */
START_TEST(test_ports)
{
    struct tuple other = tuples[0], back = tuples[1];

    set_up();
    other.tp_dst++;
    ck_assert_str_eq(pass_chunks(&other, TO_SERVER, "data"), "inv");
    ck_assert_str_eq(pass_chunks(&other, 0, "init:100"), "new");
    back.tp_src = 22;
    ck_assert_str_eq(pass_chunks(&back, TO_CLIENT, "data"), "inv");
    ck_assert_str_eq(pass_chunks(&back, 0, "init:9"), "new");
    other.tp_dst = 0;
    ck_assert_str_eq(pass_chunks(&other, 0, "init:100"), "inv");
}
END_TEST

/* Nothing but INIT and HEARTBEAT begins a connection. */
START_TEST(test_unsolicited)
{
    for (size_t i = 0; i < SCTP_N_CHUNKS; i++) {
        const char *name = sctp_chunks[i].name;
        bool begins = !strcmp(name, "init") || !strcmp(name, "heartbeat");
        char *text = xasprintf("%s:5", name);

        conntrack_flush(ct, NULL);
        SEES(0, strcmp(name, "init") ? 77 : 0, text, begins ? "new" : "inv");
        free(text);
    }
    conntrack_flush(ct, NULL);
    SEES(0, 77, "heartbeat data", "inv");
    SEES(0, 77, "heartbeat pad", "new");
}
END_TEST

/* Tags. */

START_TEST(test_wrong_tag)
{
    set_up();
    for (size_t i = 0; i < SCTP_N_CHUNKS; i++) {
        const char *name = sctp_chunks[i].name;
        char *text = xasprintf("%s:5", name);

        if (strcmp(name, "init")) {
            SEES(0, TO_CLIENT, text, "inv");
            SEES(1, TO_SERVER, text, "inv");
            SEES(0, 77, text, "inv");
            SEES(0, 0, text, "inv");
        }
        free(text);
    }
    SEES(0, TO_SERVER, "abort/t", "inv");
    SEES(0, TO_SERVER, "init:5", "inv");
    CONNS("ESTABLISHED 200 100");
    ck_assert_int_eq(timeout_ms(), 210 * 1000);
}
END_TEST

START_TEST(test_handshake_tags)
{
    SEES(0, 0, "init:100", "new");
    SEES(1, 77, "init-ack:200", "inv");
    SEES(1, TO_CLIENT, "data", "inv");          /* It's too early. */
    SEES(1, TO_CLIENT, "cookie-ack", "inv");
    SEES(1, TO_CLIENT, "abort/t", "inv");
    SEES(1, TO_CLIENT, "init-ack:200", "est rpl");
    SEES(0, 77, "cookie-echo", "inv");
    SEES(1, TO_CLIENT, "cookie-echo", "inv");
    SEES(0, TO_SERVER, "init-ack:5", "inv");
    SEES(0, TO_SERVER, "data", "inv");
    SEES(1, TO_CLIENT, "cookie-ack", "inv");
    SEES(0, TO_SERVER, "cookie-echo", "est");
    SEES(1, 77, "cookie-ack", "inv");
    SEES(1, TO_CLIENT, "cookie-ack", "est rpl");
    CONNS("ESTABLISHED 200 100");
}
END_TEST

START_TEST(test_abort)
{
    SEES(0, 0, "init:100", "new");
    SEES(1, TO_CLIENT, "abort", "est rpl");     /* Nobody listens. */
    CONNS("CLOSED 0 100");
    SEES(0, 0, "init:100", "new");
    conntrack_flush(ct, NULL);

    set_up();
    SEES(1, TO_SERVER, "abort/t", "est rpl");   /* Who knows nothing of it. */
    CONNS("CLOSED 200 100");
    conntrack_flush(ct, NULL);

    set_up();
    SEES(0, TO_SERVER, "error abort", "est");
    CONNS("CLOSED 200 100");
    now += 10 * 1000 - 1;
    SEES(1, TO_CLIENT, "data", "est rpl");      /* This doesn't keep it. */
    now++;
    SEES(1, TO_CLIENT, "data", "inv");
}
END_TEST

/* Both ends begin at once: RFC 9260, section 5.2.1. */
START_TEST(test_collision)
{
    SEES(0, 0, "init:100", "new");
    SEES(1, 0, "init:200", "est rpl");
    SEES(0, TO_SERVER, "init-ack:100", "est");
    SEES(1, TO_CLIENT, "init-ack:200", "est rpl");
    SEES(0, TO_SERVER, "cookie-echo", "est");
    SEES(1, TO_CLIENT, "cookie-echo", "est rpl");
    SEES(0, TO_SERVER, "cookie-ack", "est");
    SEES(1, TO_CLIENT, "cookie-ack", "est rpl");
    CONNS("ESTABLISHED 200 100");
}
END_TEST

/* A server that keeps no state answers each INIT with a tag of its own. */
START_TEST(test_two_answers)
{
    for (int believed = 200; believed <= 201; believed++) {
        conntrack_flush(ct, NULL);
        SEES(0, 0, "init:100", "new");
        SEES(0, 0, "init:100", "new");
        SEES(1, TO_CLIENT, "init-ack:200", "est rpl");
        SEES(1, TO_CLIENT, "init-ack:201", "est rpl");
        SEES(1, 200, "error", "inv");
        SEES(0, believed, "cookie-echo", "est");
        SEES(1, TO_CLIENT, "init-ack:202", "est rpl");
        SEES(1, TO_CLIENT, "cookie-ack", "est rpl");
        SEES(0, believed, "data", "est");
        SEES(0, 401 - believed, "data", "inv");
    }
}
END_TEST

/* A client that has given up tries once more from the same port. */
START_TEST(test_second_try)
{
    SEES(0, 0, "init:100", "new");
    SEES(1, TO_CLIENT, "init-ack:200", "est rpl");
    SEES(0, TO_SERVER, "cookie-echo", "est");
    SEES(0, 0, "init:101", "est");
    SEES(1, 101, "init-ack:201", "est rpl");
    SEES(0, 201, "cookie-echo", "est");
    SEES(1, 101, "cookie-ack", "est rpl");
    CONNS("ESTABLISHED 201 101");
}
END_TEST

/* Nor does anybody's INIT keep a handshake from its end. */
START_TEST(test_forged_init_in_handshake)
{
    for (int dir = 0; dir < 2; dir++) {
        const char *says = dir ? "est rpl" : "new";

        for (int when = 0; when < 3; when++) {
            conntrack_flush(ct, NULL);
            SEES(0, 0, "init:100", "new");
            if (when == 0) {
                SEES(dir, 0, "init:66", says);
                SEES(1, 66, "abort/t", "inv");
            }
            SEES(1, TO_CLIENT, "init-ack:200", "est rpl");
            if (when == 1) {
                SEES(dir, 0, "init:66", dir ? says : "est");
            }
            SEES(0, TO_SERVER, "cookie-echo", "est");
            if (when == 2) {
                SEES(dir, 0, "init:66", dir ? says : "est");
            }
            SEES(1, TO_CLIENT, "cookie-ack", "est rpl");
            CONNS("ESTABLISHED 200 100");
        }
    }
}
END_TEST

/* Whoever guesses addresses and ports can't end an association. */
START_TEST(test_forged_init)
{
    set_up();
    now += 200 * 1000;
    SEES(1, 0, "init:66", "est rpl");
    SEES(0, 0, "init:66", "est");
    ck_assert_int_eq(timeout_ms(), 10 * 1000);  /* Nor keep it. */
    SEES(1, 66, "abort", "est rpl");
    SEES(1, 66, "abort/t", "est rpl");
    SEES(1, 66, "shutdown-complete", "est rpl");
    SEES(1, 66, "data", "inv");
    SEES(1, 66, "cookie-ack", "inv");
    CONNS("ESTABLISHED 200 100");
    SEES(0, TO_SERVER, "data", "est");
    SEES(1, TO_CLIENT, "data", "est rpl");
}
END_TEST

/* An end that has lost its state begins anew from the same port. */
START_TEST(test_restart)
{
    set_up();
    SEES(0, 0, "init:300", "est");
    SEES(1, 300, "init-ack:400", "est rpl");
    SEES(1, TO_CLIENT, "data", "est rpl");      /* The old one still is. */
    SEES(0, 400, "data", "inv");
    SEES(0, 400, "cookie-echo data", "est");
    CONNS("ESTABLISHED 200 100");
    SEES(1, 300, "cookie-ack", "est rpl");
    CONNS("ESTABLISHED 400 300");
    SEES(0, 400, "data", "est");
    SEES(1, TO_CLIENT, "data", "inv");
    SEES(0, TO_SERVER, "abort", "inv");
    /* It ends before the next one is agreed on. */
    SEES(0, 0, "init:500", "est");
    SEES(1, 500, "init-ack:600", "est rpl");
    SEES(1, 300, "abort", "est rpl");
    SEES(0, 600, "cookie-echo", "inv");
}
END_TEST

/* A further path of an association that began elsewhere. */
START_TEST(test_heartbeat)
{
    SEES(0, TO_SERVER, "heartbeat", "new");
    CONNS("HEARTBEAT_SENT 200 0");
    ck_assert_int_eq(timeout_ms(), 30 * 1000);
    SEES(0, TO_SERVER, "heartbeat", "new");
    SEES(0, 77, "heartbeat", "inv");
    SEES(1, TO_CLIENT, "data", "inv");
    SEES(1, 0, "init:5", "inv");
    SEES(1, TO_CLIENT, "abort", "inv");
    SEES(1, TO_CLIENT, "heartbeat-ack", "est rpl");
    CONNS("ESTABLISHED 200 100");
    SEES(0, TO_SERVER, "data", "est");
    SEES(1, 77, "data", "inv");
}
END_TEST

START_TEST(test_timeouts)
{
    static const struct {
        int dir, vtag;
        const char *chunks;
        int seconds;
    } steps[] = {
        { 0, 0, "init:100", 10 },
        { 1, TO_CLIENT, "init-ack:200", 3 },
        { 0, TO_SERVER, "cookie-echo", 3 },
        { 1, TO_CLIENT, "cookie-ack", 210 },
        { 0, TO_SERVER, "shutdown", 3 },
        { 1, TO_CLIENT, "shutdown-ack", 3 },
        { 0, TO_SERVER, "shutdown-complete", 10 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        struct tuple *t = &tuples[steps[i].dir];

        pass_chunks(t, steps[i].vtag, steps[i].chunks);
        ck_assert_int_eq(timeout_ms(), steps[i].seconds * 1000);
        now += steps[i].seconds * 1000 - 1;
    }
    now++;
    SEES(0, TO_SERVER, "data", "inv");
}
END_TEST

/* Malformed packets. */

/* Offers conntrack an established association's packet whose bytes from the
 * SCTP header on are 'l4', and returns whether it is valid. */
static bool
is_valid(const void *l4_, size_t size, bool right)
{
    struct ofpbuf l4;

    ofpbuf_init(&l4, size + SCTP_HEADER_LEN);
    ofpbuf_put(&l4, l4_, size);
    if (size >= SCTP_HEADER_LEN) {
        sctp_set_csum(&l4);
        ((uint8_t *) l4.data)[8] ^= !right;
    }
    const char *text = pass(&tuples[0], talk_compose_raw(&tuples[0], l4.data,
                                                         l4.size));
    ofpbuf_uninit(&l4);
    ck_assert(!strcmp(text, "inv") || !strcmp(text, "est"));
    return !strcmp(text, "est");
}

START_TEST(test_malformed)
{
    struct dp_packet *p = sctp_compose(&tuples[0], TO_SERVER, "sack data");
    size_t size = dp_packet_l4_size(p);
    uint8_t *l4 = xmemdup(dp_packet_l4(p), size);

    dp_packet_delete(p);
    set_up();
    ck_assert(is_valid(l4, size, true));
    ck_assert(!is_valid(l4, size, false));
    for (size_t i = 0; i < size; i++) {
        /* The padding of the last chunk may be missing, and all of it. */
        ck_assert_int_eq(is_valid(l4, i, true), i == 12 + 16 || i >= size - 3);
    }
    for (int len = 0; len < 60; len++) {
        l4[12 + 16 + 3] = len;          /* Of DATA, 24 bytes are there. */
        ck_assert_int_eq(is_valid(l4, size, true), len > 20 && len <= 24);
    }
    free(l4);

    p = sctp_compose(&tuples[0], 0, "init:5");
    l4 = xmemdup(dp_packet_l4(p), dp_packet_l4_size(p));
    ck_assert(is_valid(l4, 32, true));
    l4[12 + 3] = 16;
    ck_assert(!is_valid(l4, 28, true));
    dp_packet_delete(p);
    free(l4);
    SEES(0, TO_SERVER, "", "inv");
    SEES(0, TO_SERVER, "data cookie-echo", "inv");
    SEES(0, TO_SERVER, "data cookie-ack", "inv");
    SEES(0, TO_SERVER, "sack shutdown-complete", "inv");
    SEES(0, TO_SERVER, "sack init-ack:5", "inv");
    SEES(1, TO_SERVER, "sack abort/t", "inv");
    SEES(0, 0, "init:5 data", "inv");
    SEES(0, 0, "init:0", "inv");
    CONNS("ESTABLISHED 200 100");
}
END_TEST

/* What a device says of the checksum is believed. */
START_TEST(test_offloads)
{
    struct dp_packet *p;

    set_up();
    p = sctp_compose(&tuples[0], TO_SERVER, "data");
    *dp_packet_ol_flags_ptr(p) |= DP_PACKET_OL_RX_L4_CKSUM_BAD;
    ck_assert_str_eq(pass(&tuples[0], p), "inv");
    for (int i = 0; i < 2; i++) {
        p = sctp_compose(&tuples[0], TO_SERVER, "data");
        ((uint8_t *) dp_packet_l4(p))[8] ^= 1;
        if (i) {
            *dp_packet_ol_flags_ptr(p) |= DP_PACKET_OL_RX_L4_CKSUM_GOOD;
        } else {
            dp_packet_hwol_set_csum_sctp(p);
        }
        ck_assert_str_eq(pass(&tuples[0], p), "est");
    }
}
END_TEST

/* NAT. */

/* ct(commit,nat(dst=10.0.0.9:5000)). */
static void
translate_destination(void)
{
    natted = true;
    nat.nat_action = NAT_ACTION_DST | NAT_ACTION_DST_PORT;
    nat.min_addr.ipv4 = nat.max_addr.ipv4 = htonl(0x0a000009);
    nat.min_port = nat.max_port = 5000;
    tuples[1].src = address("::ffff:10.0.0.9");
    tuples[1].tp_src = 5000;
}

/* The packet's addresses and ports, and whether its checksum is right. */
static const char *
headers(const struct dp_packet *packet)
{
    const struct ip_header *ip = dp_packet_l3(packet);
    const struct sctp_header *sh = dp_packet_l4(packet);
    static char text[80];

    snprintf(text, sizeof text, IP_FMT":%u > "IP_FMT":%u%s",
             IP_ARGS(get_16aligned_be32(&ip->ip_src)), ntohs(sh->sctp_src),
             IP_ARGS(get_16aligned_be32(&ip->ip_dst)), ntohs(sh->sctp_dst),
             sctp_csum_is_right(packet) ? "" : ", bad checksum");
    return text;
}

static const char *
translated(const struct tuple *t, uint32_t vtag, const char *text)
{
    struct dp_packet *packet = sctp_compose(t, vtag, text);

    execute(ct, t, true, packet);
    const char *h = headers(packet);
    dp_packet_delete(packet);
    return h;
}

START_TEST(test_dnat)
{
    static const char *there = "10.0.0.1:1000 > 10.0.0.9:5000";
    static const char *back = "10.0.0.2:36412 > 10.0.0.1:1000";

    translate_destination();
    ck_assert_str_eq(translated(&tuples[0], 0, "init:100"), there);
    ck_assert_str_eq(translated(&tuples[1], 100, "init-ack:200"), back);
    ck_assert_str_eq(translated(&tuples[0], 200, "cookie-echo data"), there);
    ck_assert_str_eq(translated(&tuples[1], 100, "cookie-ack"), back);
    ck_assert_str_eq(translated(&tuples[0], 200, "data data"), there);
    CONNS("ESTABLISHED 200 100");
    SEES(1, 77, "data", "inv");
}
END_TEST

/* Clients of one port behind one address get ports of their own. */
START_TEST(test_snat)
{
    struct tuple second = tuples[0];

    natted = true;
    nat.nat_action = NAT_ACTION_SRC | NAT_ACTION_SRC_PORT;
    nat.min_addr.ipv4 = nat.max_addr.ipv4 = htonl(0x0a000008);
    nat.min_port = 7000;
    nat.max_port = 7001;
    second.src = address("::ffff:10.0.0.3");

    char *first = xstrdup(translated(&tuples[0], 0, "init:100"));
    const char *other = translated(&second, 0, "init:101");
    ck_assert_str_ne(first, other);
    ck_assert(strstr(first, "10.0.0.8:700"));
    ck_assert(strstr(other, "10.0.0.8:700"));
    ck_assert(!strstr(first, "bad") && !strstr(other, "bad"));
    second.src = address("::ffff:10.0.0.4");
    ck_assert_str_eq(translated(&second, 0, "init:102"),
                     "10.0.0.4:1000 > 10.0.0.2:36412");
    free(first);
}
END_TEST

/* An ICMP error from the server's host about the packet 'about', of which
 * 'size' bytes behind its IP header are in it. */
static struct dp_packet *
compose_icmp_error(const struct dp_packet *about, size_t size)
{
    struct tuple t = tuples[1];
    struct ofpbuf l4;

    t.nw_proto = IPPROTO_ICMP;
    ofpbuf_init(&l4, 128);
    struct icmp_header *icmp = ofpbuf_put_zeros(&l4, sizeof *icmp);
    icmp->icmp_type = ICMP4_DST_UNREACH;
    icmp->icmp_code = 2;
    ofpbuf_put(&l4, dp_packet_l3(about), IP_HEADER_LEN + size);
    icmp = l4.data;
    icmp->icmp_csum = csum(l4.data, l4.size);
    struct dp_packet *packet = talk_compose_raw(&t, l4.data, l4.size);
    ofpbuf_uninit(&l4);
    return packet;
}

START_TEST(test_icmp_error)
{
    struct dp_packet *init, *error;
    const uint8_t *inner;

    translate_destination();
    for (size_t size = 8; size <= 32; size += 4) {
        conntrack_flush(ct, NULL);
        init = sctp_compose(&tuples[0], 0, "init:100");
        execute(ct, &tuples[0], true, init);
        error = compose_icmp_error(init, size);
        /* What is behind the packet stays as it is. */
        dp_packet_prealloc_tailroom(error, 16);
        memset(dp_packet_tail(error), 0x55, 16);
        execute(ct, &tuples[1], false, error);
        ck_assert_uint_eq(error->md.ct_state & ~(CS_SRC_NAT | CS_DST_NAT),
                          CS_TRACKED | CS_RELATED | CS_REPLY_DIR);
        for (int i = 0; i < 16; i++) {
            ck_assert_uint_eq(((uint8_t *) dp_packet_tail(error))[i], 0x55);
        }
        inner = dp_packet_l4(error);
        inner += sizeof(struct icmp_header);
        ck_assert_uint_eq(inner[19], 2);        /* 10.0.0.2 */
        ck_assert_uint_eq(inner[IP_HEADER_LEN + 1], CLIENT_PORT & 0xff);
        ck_assert_uint_eq(inner[IP_HEADER_LEN + 2], PORT >> 8);
        ck_assert_uint_eq(inner[IP_HEADER_LEN + 3], PORT & 0xff);
        ck_assert_uint_eq(csum(dp_packet_l4(error),
                               dp_packet_l4_size(error)), 0);
        dp_packet_delete(init);
        dp_packet_delete(error);
    }

    /* About nothing that was sent. */
    init = sctp_compose(&tuples[1], 0, "init:100");
    error = compose_icmp_error(init, 7);
    execute(ct, &tuples[1], false, error);
    ck_assert_uint_eq(error->md.ct_state, CS_TRACKED | CS_INVALID);
    dp_packet_delete(init);
    dp_packet_delete(error);
}
END_TEST

/* Against upstream's, which take their time. */
START_TEST(test_checksum)
{
    for (int i = 0; i < 3000; i++) {
        size_t size = SCTP_HEADER_LEN + random_range(i % 10 ? 64 : 9000);
        uint8_t *bytes = xmalloc(size);
        ovs_be16 src = random_uint16(), dst = random_uint16();

        random_bytes(bytes, size);
        struct dp_packet *p = talk_compose_raw(&tuples[0], bytes, size);
        struct dp_packet *q = dp_packet_clone(p);
        conntrack_sctp_set_ports(p, src, dst);
        packet_set_sctp_port(q, src, dst);
        ck_assert_mem_eq(dp_packet_data(p), dp_packet_data(q),
                         dp_packet_size(p));

        memset(bytes + 8, 0, 4);
        ovs_be32 csum = crc32c(bytes, size);
        memset(bytes + 8, 0xff, 4);
        ck_assert_uint_eq(conntrack_sctp_csum(bytes, size), csum);
        dp_packet_delete(p);
        dp_packet_delete(q);
        free(bytes);
    }
}
END_TEST

/* Prediction. */

enum { N_CLIENTS = 4, N_TAGS = 4 };

/* A random packet of any client: few tags, so that they often fit. */
static struct dp_packet *
random_packet(struct tuple *t)
{
    size_t i = random_range(SCTP_N_CHUNKS);
    const char *first = sctp_chunks[one_in(3) ? 1 + random_range(2)
                               : one_in(3) ? 10 + random_range(2) : i].name;
    bool init = !strcmp(first, "init");
    uint32_t vtag = init && !one_in(20) ? 0 : 1 + random_range(N_TAGS);
    struct ds s = DS_EMPTY_INITIALIZER;
    int dir = random_range(2);

    *t = tuples[dir];
    *(dir ? &t->tp_dst : &t->tp_src) += random_range(N_CLIENTS);
    ds_put_format(&s, "%s%s:%d", first, one_in(3) ? "/t" : "",
                  1 + random_range(N_TAGS));
    if (one_in(5)) {
        ds_put_format(&s, " %s",
                      sctp_chunks[random_range(SCTP_N_CHUNKS)].name);
    }
    struct dp_packet *packet = sctp_compose(t, vtag, ds_cstr(&s));
    if (one_in(30)) {
        ((uint8_t *) dp_packet_l4(packet))[8] ^= 1;
    }
    ds_destroy(&s);
    return packet;
}

/* Predicts one or two ct()s in a row, as a pipeline has them, and does it.
 * Returns false, and has done nothing, if that can't be. */
static bool
predict(struct conntrack *tracker, const struct tuple *t, bool commit,
        bool twice, struct dp_packet *packet)
{
    struct conntrack_peek_request req = {
        .zone = ZONE, .nat = natted ? &nat : NULL,
    };
    struct conntrack_peek_tuple tuple = {
        .dl_type = dl_type(t),
        .src.ipv4 = in6_addr_get_mapped_ipv4(&t->src),
        .dst.ipv4 = in6_addr_get_mapped_ipv4(&t->dst),
        .tp_src = htons(t->tp_src), .tp_dst = htons(t->tp_dst),
    };
    static struct conntrack_peek peek;
    struct ip_header *ip = dp_packet_l3(packet);
    bool ok = true;

    conntrack_peek_init(&peek, tracker, packet, now);
    for (int i = !twice; ok && i < 2; i++) {
        req.commit = commit && i;
        ok = conntrack_peek_ct(&peek, &req, &tuple) == CT_PEEK_OK;
    }
    uint8_t ct_state = peek.ct_state;
    ok = ok && conntrack_peek_apply(&peek);
    if (ok) {
        packet_set_ipv4_addr(packet, &ip->ip_src, tuple.src.ipv4);
        packet_set_ipv4_addr(packet, &ip->ip_dst, tuple.dst.ipv4);
        conntrack_sctp_set_ports(packet, tuple.tp_src, tuple.tp_dst);
        packet->md.ct_state = ct_state;
    }
    conntrack_peek_uninit(&peek);
    return ok;
}

/* The same, done. */
static void
execute_all(struct conntrack *tracker, const struct tuple *t, bool commit,
            bool twice, struct dp_packet *packet)
{
    for (int i = !twice; i < 2; i++) {
        execute(tracker, t, commit && i, packet);
    }
}

/* Compares all connections, and returns whether an association is up. */
static bool
compare_dumps(struct conntrack *ours)
{
    char *a = dump(ct, true), *b = dump(ours, true);
    bool up = strstr(a, "ESTABLISHED") != NULL;

    /* Their order may differ. */
    ck_assert_uint_eq(strlen(a), strlen(b));
    free(a);
    free(b);
    return up;
}

/* The same random packets through ct() and through its prediction. */
START_TEST(test_prediction)
{
    enum { N = 40000 };
    struct conntrack *ours = conntrack_init();
    int n_predicted = 0, n_est = 0, n_up = 0;

    for (int i = 0; i < N; i++) {
        bool commit = !one_in(5), twice = one_in(3);
        struct tuple t;

        if (one_in(200) || i == N / 2) {
            /* Before NAT is out of ports, when it tries random ones: for it,
             * which goes by the real clock, no connection expires. */
            conntrack_flush(ct, NULL);
            conntrack_flush(ours, NULL);
        }
        if (i == N / 2) {
            translate_destination();
        }
        now += one_in(100) ? random_range(20000) : random_range(20);
        struct dp_packet *p = random_packet(&t);
        struct dp_packet *q = dp_packet_clone(p);
        execute_all(ct, &t, commit, twice, p);
        if (predict(ours, &t, commit, twice, q)) {
            n_predicted++;
        } else {
            execute_all(ours, &t, commit, twice, q);
        }
        ck_assert_uint_eq(p->md.ct_state, q->md.ct_state);
        ck_assert_uint_eq(dp_packet_size(p), dp_packet_size(q));
        ck_assert(!memcmp(dp_packet_data(p), dp_packet_data(q),
                          dp_packet_size(p)));
        n_est += (p->md.ct_state & CS_ESTABLISHED) != 0;
        dp_packet_delete(p);
        dp_packet_delete(q);
        n_up += i % 50 == 0 && compare_dumps(ours);
        ovsrcu_quiesce();
    }
    printf("%d packets, %d established, %d predicted, %d looks at "
           "associations that are up\n", N, n_est, n_predicted, n_up);
    ck_assert_int_gt(n_predicted, N / 3);
    ck_assert_int_gt(n_est, N / 20);
    ck_assert_int_gt(n_up, N / 50 / 100);
    conntrack_destroy(ours);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("conntrack-sctp");
    TCase *tc = tcase_create("conntrack-sctp");

    suite_add_tcase(s, tc);
    tcase_add_unchecked_fixture(tc, setup_once, NULL);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, test_association);
    tcase_add_test(tc, test_ipv6);
    tcase_add_test(tc, test_shutdown_by_server);
    tcase_add_test(tc, test_ports);
    tcase_add_test(tc, test_unsolicited);
    tcase_add_test(tc, test_wrong_tag);
    tcase_add_test(tc, test_handshake_tags);
    tcase_add_test(tc, test_abort);
    tcase_add_test(tc, test_collision);
    tcase_add_test(tc, test_two_answers);
    tcase_add_test(tc, test_second_try);
    tcase_add_test(tc, test_forged_init_in_handshake);
    tcase_add_test(tc, test_forged_init);
    tcase_add_test(tc, test_restart);
    tcase_add_test(tc, test_heartbeat);
    tcase_add_test(tc, test_timeouts);
    tcase_add_test(tc, test_malformed);
    tcase_add_test(tc, test_offloads);
    tcase_add_test(tc, test_dnat);
    tcase_add_test(tc, test_snat);
    tcase_add_test(tc, test_icmp_error);
    tcase_add_test(tc, test_checksum);
    tcase_add_test(tc, test_prediction);
    return test_run_nofork(s);
}
