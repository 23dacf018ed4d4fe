/* SPDX-License-Identifier: Apache-2.0 */

/* Summaries of verdicts, and packets rewritten as they say, against upstream's
 * executor: random packets, random headers to set, and ct()s whose NAT the
 * executor does by setting addresses and ports.  What goes out must be the same
 * byte for byte.  And what needs the executor: it has no summary. */

#include <config.h>

#include <check.h>
#include <netinet/in.h>

#include "adp-rewrite.h"
#include "adp-session.h"
#include "adp-summary.h"
#include "adp-tunnel.h"
#include "adp-walk.h"
#include "conntrack-private.h"
#include "dp-packet.h"
#include "netlink.h"
#include "odp-execute.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "packets.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"

#define N_RANDOM 20000
#define N_ACTIONS 6
#define OUTPUT 7

/* What the summary asks a tunnel for. */
static struct ofpbuf tunnel_actions;

const struct adp_tunnel_actions *
adp_tunnel_actions(const struct adp_tunnel *t OVS_UNUSED,
                   long long int now OVS_UNUSED)
{
    static struct adp_tunnel_actions actions;

    actions = (struct adp_tunnel_actions) {
        .data = tunnel_actions.data,
        .size = tunnel_actions.size,
        .odp_port = ODPP_NONE,
    };
    return &actions;
}

/* A verdict, and the same without conntrack. */
static struct adp_walk walk;
static struct ofpbuf plain;

/* The packet as it came, and as it is after the actions so far. */
static struct flow original, now;
static bool has_metadata;               /* Which the actions set. */

static void
begin(void)
{
    memset(&walk, 0, sizeof walk);
    ofpbuf_init(&walk.verdict.actions, 256);
    ofpbuf_init(&plain, 256);
    has_metadata = false;
}

static void
end(void)
{
    ofpbuf_uninit(&walk.verdict.actions);
    ofpbuf_uninit(&plain);
}

/* Random packets. */

static ovs_be16
random_be16(void)
{
    switch (random_range(6)) {
    case 0: return htons(0);
    case 1: return htons(0xffff);
    default: return htons(random_uint16());
    }
}

static ovs_be32
random_be32(void)
{
    return (OVS_FORCE ovs_be32) ((uint32_t) random_be16() << 16
                                 | (uint32_t) random_be16());
}

static struct in6_addr
random_in6(void)
{
    struct in6_addr a;

    for (size_t i = 0; i < 8; i++) {
        ovs_be16 word = random_be16();

        memcpy(&a.s6_addr[i * 2], &word, 2);
    }
    return a;
}

static void
random_addresses(struct flow *flow)
{
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        flow->nw_src = random_be32();
        flow->nw_dst = random_be32();
    } else {
        flow->ipv6_src = random_in6();
        flow->ipv6_dst = random_in6();
    }
    flow->tp_src = random_be16();
    flow->tp_dst = random_be16();
}

static void
random_flow(struct flow *flow)
{
    static const uint8_t protocols[] = { IPPROTO_TCP, IPPROTO_UDP,
                                         IPPROTO_SCTP };

    memset(flow, 0, sizeof *flow);
    eth_addr_random(&flow->dl_src);
    eth_addr_random(&flow->dl_dst);
    flow->dl_type = htons(random_range(2) ? ETH_TYPE_IP : ETH_TYPE_IPV6);
    flow->nw_proto = protocols[random_range(ARRAY_SIZE(protocols))];
    flow->nw_tos = random_uint16();
    flow->nw_ttl = random_uint16();
    if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
        flow->ipv6_label = htonl(random_uint32() & 0xfffff);
    }
    flow->tcp_flags = htons(TCP_ACK);
    random_addresses(flow);
}

static struct dp_packet *
compose(const struct flow *flow, const uint8_t *data, size_t len)
{
    struct dp_packet *p = dp_packet_new(0);
    struct flow parsed;

    flow_compose(p, flow, data, len);
    pkt_metadata_init(&p->md, u32_to_odp(1));
    flow_extract(p, &parsed);           /* Sets offsets. */
    return p;
}

/* Actions. */

static void
put_set(struct ofpbuf *to, uint16_t action, uint16_t key, const void *data,
        size_t size)
{
    size_t ofs = nl_msg_start_nested(to, action);

    nl_msg_put_unspec(to, key, data, size);
    nl_msg_end_nested(to, ofs);
}

static void
put_both(uint16_t action, uint16_t key, const void *data, size_t size)
{
    put_set(&walk.verdict.actions, action, key, data, size);
    put_set(&plain, action, key, data, size);
}

static void
masked_address(struct eth_addr *addr, struct eth_addr *key,
               struct eth_addr *mask)
{
    for (size_t i = 0; i < 3; i++) {
        mask->be16[i] = random_be16();
        key->be16[i] = htons(random_uint16()) & mask->be16[i];
        addr->be16[i] = (addr->be16[i] & ~mask->be16[i]) | key->be16[i];
    }
}

static void
put_ethernet(void)
{
    struct ovs_key_ethernet key[2];

    if (random_range(2)) {
        eth_addr_random(&now.dl_src);
        eth_addr_random(&now.dl_dst);
        key[0].eth_src = now.dl_src;
        key[0].eth_dst = now.dl_dst;
        put_both(OVS_ACTION_ATTR_SET, OVS_KEY_ATTR_ETHERNET, key,
                 sizeof key[0]);
    } else {
        masked_address(&now.dl_src, &key[0].eth_src, &key[1].eth_src);
        masked_address(&now.dl_dst, &key[0].eth_dst, &key[1].eth_dst);
        put_both(OVS_ACTION_ATTR_SET_MASKED, OVS_KEY_ATTR_ETHERNET, key,
                 sizeof key);
    }
}

static void
put_ipv4(bool masked)
{
    struct ovs_key_ipv4 key[2];

    memset(key, 0, sizeof key);
    if (masked) {
        key[1].ipv4_tos = random_uint16();
        key[1].ipv4_ttl = random_range(2) ? UINT8_MAX : 0;
    } else {
        memset(&key[1], 0xff, sizeof key[1]);
        key[0].ipv4_src = now.nw_src;
        key[0].ipv4_dst = now.nw_dst;
        key[0].ipv4_proto = now.nw_proto;
    }
    key[0].ipv4_tos = random_uint16() & key[1].ipv4_tos;
    key[0].ipv4_ttl = random_uint16() & key[1].ipv4_ttl;
    now.nw_tos = (now.nw_tos & ~key[1].ipv4_tos) | key[0].ipv4_tos;
    now.nw_ttl = (now.nw_ttl & ~key[1].ipv4_ttl) | key[0].ipv4_ttl;
    put_both(masked ? OVS_ACTION_ATTR_SET_MASKED : OVS_ACTION_ATTR_SET,
             OVS_KEY_ATTR_IPV4, key, masked ? sizeof key : sizeof key[0]);
}

static void
put_ipv6(bool masked)
{
    struct ovs_key_ipv6 key[2];

    memset(key, 0, sizeof key);
    if (masked) {
        key[1].ipv6_tclass = random_uint16();
        key[1].ipv6_hlimit = random_range(2) ? UINT8_MAX : 0;
    } else {
        memset(&key[1], 0xff, sizeof key[1]);
        memcpy(&key[0].ipv6_src, &now.ipv6_src, sizeof now.ipv6_src);
        memcpy(&key[0].ipv6_dst, &now.ipv6_dst, sizeof now.ipv6_dst);
        key[0].ipv6_label = now.ipv6_label;
        key[0].ipv6_proto = now.nw_proto;
    }
    key[0].ipv6_tclass = random_uint16() & key[1].ipv6_tclass;
    key[0].ipv6_hlimit = random_uint16() & key[1].ipv6_hlimit;
    now.nw_tos = (now.nw_tos & ~key[1].ipv6_tclass) | key[0].ipv6_tclass;
    now.nw_ttl = (now.nw_ttl & ~key[1].ipv6_hlimit) | key[0].ipv6_hlimit;
    put_both(masked ? OVS_ACTION_ATTR_SET_MASKED : OVS_ACTION_ATTR_SET,
             OVS_KEY_ATTR_IPV6, key, masked ? sizeof key : sizeof key[0]);
}

static void
put_ip(void)
{
    bool masked = random_range(2);

    if (now.dl_type == htons(ETH_TYPE_IP)) {
        put_ipv4(masked);
    } else {
        put_ipv6(masked);
    }
}

/* To 'plain' alone: what NAT does. */
static void
put_addresses(void)
{
    if (now.dl_type == htons(ETH_TYPE_IP)) {
        struct ovs_key_ipv4 key[2];

        memset(key, 0, sizeof key);
        key[0].ipv4_src = now.nw_src;
        key[0].ipv4_dst = now.nw_dst;
        key[1].ipv4_src = key[1].ipv4_dst = OVS_BE32_MAX;
        put_set(&plain, OVS_ACTION_ATTR_SET_MASKED, OVS_KEY_ATTR_IPV4, key,
                sizeof key);
    } else {
        struct ovs_key_ipv6 key[2];

        memset(key, 0, sizeof key);
        memcpy(&key[0].ipv6_src, &now.ipv6_src, sizeof now.ipv6_src);
        memcpy(&key[0].ipv6_dst, &now.ipv6_dst, sizeof now.ipv6_dst);
        memset(&key[1].ipv6_src, 0xff, sizeof key[1].ipv6_src);
        memset(&key[1].ipv6_dst, 0xff, sizeof key[1].ipv6_dst);
        put_set(&plain, OVS_ACTION_ATTR_SET_MASKED, OVS_KEY_ATTR_IPV6, key,
                sizeof key);
    }

    /* The keys of all three protocols look alike. */
    struct ovs_key_tcp ports[2] = {
        { .tcp_src = now.tp_src, .tcp_dst = now.tp_dst },
        { .tcp_src = OVS_BE16_MAX, .tcp_dst = OVS_BE16_MAX },
    };
    put_set(&plain, OVS_ACTION_ATTR_SET_MASKED,
            (now.nw_proto == IPPROTO_TCP ? OVS_KEY_ATTR_TCP
             : now.nw_proto == IPPROTO_UDP ? OVS_KEY_ATTR_UDP
             : OVS_KEY_ATTR_SCTP), ports, sizeof ports);
}

static void
put_ct(void)
{
    struct conntrack_peek *peek = &walk.ct.peek;

    if (peek->n_steps >= CT_PEEK_MAX_STEPS) {
        return;
    }
    nl_msg_put_unspec(&walk.verdict.actions, OVS_ACTION_ATTR_CT, NULL, 0);

    if (random_range(2)) {
        random_addresses(&now);
        put_addresses();
    }
    struct conntrack_peek_tuple *tuple = &peek->steps[peek->n_steps++];
    memset(tuple, 0, sizeof *tuple);
    tuple->dl_type = now.dl_type;
    if (now.dl_type == htons(ETH_TYPE_IP)) {
        tuple->src.ipv4 = now.nw_src;
        tuple->dst.ipv4 = now.nw_dst;
    } else {
        tuple->src.ipv6 = now.ipv6_src;
        tuple->dst.ipv6 = now.ipv6_dst;
    }
    tuple->tp_src = now.tp_src;
    tuple->tp_dst = now.tp_dst;
}

/* The packet's mark, or its queue. */
static void
put_metadata(void)
{
    const uint16_t type = (random_range(2) ? OVS_KEY_ATTR_SKB_MARK
                           : OVS_KEY_ATTR_PRIORITY);
    uint32_t key[2] = { random_uint32(), random_uint32() };

    if (random_range(2)) {
        put_both(OVS_ACTION_ATTR_SET, type, key, sizeof key[0]);
    } else {
        key[0] &= key[1];
        put_both(OVS_ACTION_ATTR_SET_MASKED, type, key, sizeof key);
    }
    has_metadata = true;
}

static void
put_random(void)
{
    switch (random_range(5)) {
    case 0: put_ethernet(); break;
    case 1: put_ip(); break;
    case 2: put_ct(); break;
    case 3: nl_msg_put_flag(&walk.verdict.actions,
                            OVS_ACTION_ATTR_CT_CLEAR); break;
    case 4: put_metadata(); break;
    }
}

/* Executing. */

static struct dp_packet *
execute(const struct dp_packet *packet)
{
    struct dp_packet *p = dp_packet_clone(packet);
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    odp_execute_actions(NULL, &batch, false, plain.data, plain.size, NULL);
    return p;
}

static void
ck_assert_packets_eq(const struct dp_packet *a, const struct dp_packet *b)
{
    ck_assert_uint_eq(dp_packet_size(a), dp_packet_size(b));
    ck_assert_mem_eq(dp_packet_data(a), dp_packet_data(b), dp_packet_size(b));
}

static void
set_key6(struct adp_session *s)
{
    s->v6.key.ipv6_src = original.ipv6_src;
    s->v6.key.ipv6_dst = original.ipv6_dst;
    s->v6.key.l4.tp_src = original.tp_src;
    s->v6.key.l4.tp_dst = original.tp_dst;
    s->is_ipv6 = true;
}

/* Two connections whose NAT makes of the packet what it is in the end: one that
 * goes to somebody else, one that is answered for somebody. */
static void
session_of_ipv6(struct adp_session *s, const struct adp_summary *sum,
                struct adp_cached_verdict_content *c)
{
    static struct conn translated[2];

    set_key6(s);
    memset(translated, 0xee, sizeof translated);
    translated[0].rev_key.src.addr = sum->tuple.dst;
    translated[1].key.dst.addr = sum->tuple.src;
    translated[1].key.dst.port = sum->tuple.tp_src;
    translated[1].key.src.port = sum->tuple.tp_dst;
    s->v6.body.conn0 = &translated[0];
    s->v6.body.conn1 = &translated[1];
    s->v6.body.n_conns = 2;
    c->conns[0].nat = CONNTRACK_NAT_DST;
    c->conns[1].nat = CONNTRACK_NAT_SRC;
    c->conns[1].reply = true;
}

static void
session_of_ipv4(struct adp_session *s)
{
    s->v4.key.nw_src = original.nw_src;
    s->v4.key.nw_dst = original.nw_dst;
    s->v4.key.l4.tp_src = original.tp_src;
    s->v4.key.l4.tp_dst = original.tp_dst;
    s->v4.key.l4.nw_tos = original.nw_tos;
    s->v4.key.l4.nw_ttl = original.nw_ttl;
}

static void
check_session(const struct dp_packet *packet, const struct dp_packet *expected,
              const struct adp_summary *sum)
{
    struct adp_cached_verdict_content c = sum->content;
    struct dp_packet *p = dp_packet_clone(packet);
    struct adp_session s;

    memset(&s, 0, sizeof s);
    if (original.dl_type == htons(ETH_TYPE_IPV6)) {
        session_of_ipv6(&s, sum, &c);
    } else {
        session_of_ipv4(&s);
    }
    adp_rewrite_session_init(&s, &sum->tuple, &c);
    adp_rewrite_by_session(p, &s, &c);
    ck_assert_packets_eq(p, expected);
    dp_packet_delete(p);
}

/* One connection, whose NAT is of kind 'nat'.  It isn't looked at. */
static void
check_session_of_one(const struct dp_packet *packet,
                     const struct adp_summary *sum, enum conntrack_nat nat)
{
    struct adp_cached_verdict_content c = sum->content;
    struct conntrack_peek_tuple tuple = sum->tuple;
    struct dp_packet *expected = dp_packet_clone(packet);
    struct dp_packet *p = dp_packet_clone(packet);
    struct adp_session s;

    if (nat == CONNTRACK_NAT_SRC) {
        tuple.dst.ipv6 = original.ipv6_dst;
    } else {
        tuple.src.ipv6 = original.ipv6_src;
    }
    c.conns[0].nat = nat;
    adp_rewrite_to(expected, &c, &tuple, original.nw_proto);

    memset(&s, 0, sizeof s);
    set_key6(&s);
    s.v6.body.n_conns = 1;
    adp_rewrite_session_init(&s, &tuple, &c);
    adp_rewrite_by_session(p, &s, &c);
    ck_assert_packets_eq(p, expected);
    dp_packet_delete(p);
    dp_packet_delete(expected);
}

/* Data by which the checksum of the packet with headers 'now' comes out as
 * zero. */
static void
aim_at_zero(uint8_t data[2])
{
    struct dp_packet *p;
    ovs_be16 csum;

    memset(data, 0, 2);
    p = compose(&now, data, 2);
    csum = (now.nw_proto == IPPROTO_TCP
            ? ((struct tcp_header *) dp_packet_l4(p))->tcp_csum
            : ((struct udp_header *) dp_packet_l4(p))->udp_csum);
    memcpy(data, &csum, 2);
    dp_packet_delete(p);
}

/* With marks or queues the executor sets these in 'p', and sends it. */
static void
check_metadata(struct dp_packet *p, const struct dp_packet *expected,
               const struct adp_summary *sum)
{
    const size_t output_len = NLA_HDRLEN + sizeof(odp_port_t);
    struct dp_packet_batch batch;

    ck_assert_uint_eq(sum->content.odp_port, ODPP_NONE);
    ck_assert_uint_gt(sum->content.actions_len, output_len);

    const size_t len = sum->content.actions_len - output_len;
    const struct nlattr *last
        = (const struct nlattr *) ((const char *) sum->actions + len);

    ck_assert_uint_eq(nl_attr_type(last), OVS_ACTION_ATTR_OUTPUT);
    ck_assert_uint_eq(odp_to_u32(nl_attr_get_odp_port(last)), OUTPUT);
    dp_packet_batch_init_packet(&batch, p);
    odp_execute_actions(NULL, &batch, false, sum->actions, len, NULL);
    ck_assert_uint_eq(p->md.pkt_mark, expected->md.pkt_mark);
    ck_assert_uint_eq(p->md.skb_priority, expected->md.skb_priority);
}

static void
random_case(void)
{
    uint8_t data[64];
    size_t len = random_range(sizeof data);

    begin();
    random_flow(&original);
    now = original;
    for (size_t n = random_range(N_ACTIONS + 1); n; n--) {
        put_random();
    }
    nl_msg_put_odp_port(&walk.verdict.actions, OVS_ACTION_ATTR_OUTPUT,
                        u32_to_odp(OUTPUT));

    random_bytes(data, sizeof data);
    if (now.nw_proto != IPPROTO_SCTP && !random_range(4)) {
        len = 2;
        aim_at_zero(data);
    }
    struct dp_packet *packet = compose(&original, data, len);
    if (now.nw_proto == IPPROTO_UDP && now.dl_type == htons(ETH_TYPE_IP)
        && !random_range(4)) {
        ((struct udp_header *) dp_packet_l4(packet))->udp_csum = 0;
    }

    struct dp_packet *expected = execute(packet);
    struct dp_packet *p = dp_packet_clone(packet);
    struct adp_summary sum;
    ck_assert(adp_summary_init(&sum, &walk, &original));
    if (has_metadata) {
        check_metadata(p, expected, &sum);
    } else {
        ck_assert_uint_eq(odp_to_u32(sum.content.odp_port), OUTPUT);
        ck_assert_uint_eq(sum.content.actions_len, 0);
    }
    adp_rewrite_to(p, &sum.content, &sum.tuple, now.nw_proto);
    ck_assert_packets_eq(p, expected);
    if (now.nw_proto != IPPROTO_SCTP) {
        check_session(packet, expected, &sum);
        if (now.dl_type == htons(ETH_TYPE_IPV6)) {
            check_session_of_one(packet, &sum, CONNTRACK_NAT_SRC);
            check_session_of_one(packet, &sum, CONNTRACK_NAT_DST);
        }
    }
    dp_packet_delete(p);
    dp_packet_delete(expected);
    dp_packet_delete(packet);
    end();
}

START_TEST(random_verdicts)
{
    for (int i = 0; i < N_RANDOM; i++) {
        random_case();
    }
}
END_TEST

/* Summaries of what isn't only sets and one output. */

static bool
sum_up(struct adp_summary *sum)
{
    return adp_summary_init(sum, &walk, &original);
}

static void
begin_tcp(void)
{
    begin();
    do {
        random_flow(&original);
    } while (original.nw_proto != IPPROTO_TCP
             || original.dl_type != htons(ETH_TYPE_IP));
    now = original;
}

static void
put_output(uint32_t port)
{
    nl_msg_put_odp_port(&walk.verdict.actions, OVS_ACTION_ATTR_OUTPUT,
                        u32_to_odp(port));
}

START_TEST(nothing_to_do)
{
    struct adp_summary sum;

    begin_tcp();
    ck_assert(sum_up(&sum));
    ck_assert(sum.content.odp_port == ODPP_NONE && !sum.content.actions_len);
    ck_assert(!sum.content.nat && !sum.content.set_eth && !sum.content.set_tos
              && !sum.content.set_ttl);
    end();
}
END_TEST

START_TEST(several_outputs)
{
    struct adp_summary sum;

    begin_tcp();
    put_output(1);
    put_output(2);
    ck_assert(sum_up(&sum));
    ck_assert(sum.content.odp_port == ODPP_NONE);
    ck_assert_uint_eq(sum.content.actions_len, walk.verdict.actions.size);
    ck_assert_ptr_eq(sum.actions, walk.verdict.actions.data);
    end();
}
END_TEST

START_TEST(ct_behind_an_output)
{
    struct adp_summary sum;

    begin_tcp();
    put_output(1);
    put_ct();
    put_output(2);
    ck_assert(!sum_up(&sum));
    end();

    begin_tcp();
    size_t ofs = nl_msg_start_nested(&walk.verdict.actions,
                                     OVS_ACTION_ATTR_CLONE);
    nl_msg_put_flag(&walk.verdict.actions, OVS_ACTION_ATTR_CT_CLEAR);
    nl_msg_end_nested(&walk.verdict.actions, ofs);
    put_output(2);
    ck_assert(!sum_up(&sum));
    end();
}
END_TEST

static void
put_meter(uint32_t meter_id)
{
    nl_msg_put_u32(&walk.verdict.actions, OVS_ACTION_ATTR_METER, meter_id);
}

START_TEST(meter)
{
    struct adp_summary sum;

    begin_tcp();
    put_ct();
    put_meter(7);
    put_output(1);
    ck_assert(sum_up(&sum));
    ck_assert(sum.content.metered);
    ck_assert_uint_eq(sum.content.meter_id, 7);
    ck_assert_uint_eq(sum.content.odp_port, 1);
    ck_assert_uint_eq(sum.content.actions_len, 0);
    end();

    /* A second one is left to the executor, as is one behind an output. */
    begin_tcp();
    put_meter(7);
    size_t rest = walk.verdict.actions.size;
    put_meter(8);
    put_output(1);
    ck_assert(sum_up(&sum));
    ck_assert_uint_eq(sum.content.meter_id, 7);
    ck_assert_uint_eq(sum.content.odp_port, ODPP_NONE);
    ck_assert_uint_eq(sum.content.actions_len,
                      walk.verdict.actions.size - rest);
    end();
    begin_tcp();
    put_output(1);
    put_meter(7);
    put_output(2);
    ck_assert(sum_up(&sum));
    ck_assert(!sum.content.metered);
    ck_assert_uint_eq(sum.content.actions_len, walk.verdict.actions.size);
    end();

    /* Not all packets get to what is behind it. */
    begin_tcp();
    put_meter(7);
    put_ct();
    put_output(1);
    ck_assert(!sum_up(&sum));
    end();

    begin_tcp();
    put_output(1);
    walk.verdict.n_breaks = 1;
    ck_assert(!sum_up(&sum));
    walk.verdict.n_breaks = 0;
    end();
}
END_TEST

/* Marks and queues are set when all else is done, whatever comes first. */
START_TEST(metadata)
{
    struct adp_summary sum;

    begin_tcp();
    put_metadata();
    size_t len = walk.verdict.actions.size;
    put_ct();
    put_ethernet();
    put_meter(7);
    size_t rest = walk.verdict.actions.size;
    put_output(1);
    put_output(2);
    ck_assert(sum_up(&sum));
    ck_assert_uint_eq(sum.n_steps, 1);
    ck_assert_uint_eq(sum.content.meter_id, 7);
    ck_assert_uint_eq(sum.content.odp_port, ODPP_NONE);
    const char *actions = walk.verdict.actions.data;
    ck_assert_uint_eq(sum.content.actions_len,
                      len + walk.verdict.actions.size - rest);
    ck_assert_mem_eq(sum.actions, actions, len);
    ck_assert_mem_eq((const char *) sum.actions + len, actions + rest,
                     walk.verdict.actions.size - rest);
    end();

    /* For nobody. */
    begin_tcp();
    put_metadata();
    ck_assert(sum_up(&sum));
    ck_assert_uint_eq(sum.content.actions_len, 0);
    end();

    /* Behind an output there may be more of it, but no ct(). */
    begin_tcp();
    put_metadata();
    put_output(1);
    put_metadata();
    put_output(2);
    ck_assert(sum_up(&sum));
    ck_assert_uint_eq(sum.content.actions_len, walk.verdict.actions.size);
    put_ct();
    put_output(3);
    ck_assert(!sum_up(&sum));
    end();
}
END_TEST

START_TEST(much_metadata)
{
    struct adp_summary sum;

    begin_tcp();
    do {
        put_metadata();
    } while (walk.verdict.actions.size <= ADP_SUMMARY_MAX_METADATA);
    put_output(1);
    ck_assert(!sum_up(&sum));
    end();

    begin_tcp();
    put_metadata();
    for (int i = 0; i < ADP_SUMMARY_MAX_METADATA / 8; i++) {
        put_output(i);
    }
    ck_assert(!sum_up(&sum));
    end();
}
END_TEST

START_TEST(ct_that_was_not_noted)
{
    struct adp_summary sum;

    begin_tcp();
    put_ct();
    put_ct();
    put_output(1);
    ck_assert(sum_up(&sum));
    walk.ct.peek.n_steps--;
    ck_assert(!sum_up(&sum));
    end();
}
END_TEST

/* Addresses change by NAT only, which is conntrack's: a set of them needs the
 * executor, and so do ports. */
START_TEST(addresses_that_are_set)
{
    struct adp_summary sum;

    begin_tcp();
    now.nw_src = ~original.nw_src;
    put_ipv4(false);
    put_output(1);
    ck_assert(!sum_up(&sum));
    end();

    begin_tcp();
    put_addresses();
    ofpbuf_put(&walk.verdict.actions, plain.data, plain.size);
    put_output(1);
    ck_assert(!sum_up(&sum));
    end();
}
END_TEST

START_TEST(tunnels)
{
    struct adp_summary sum;

    begin_tcp();
    ofpbuf_init(&tunnel_actions, 16);
    nl_msg_put_odp_port(&tunnel_actions, OVS_ACTION_ATTR_OUTPUT,
                        u32_to_odp(9));
    nl_msg_put_odp_port(&tunnel_actions, OVS_ACTION_ATTR_OUTPUT,
                        u32_to_odp(10));
    put_ethernet();
    ofpbuf_put(&walk.verdict.actions, tunnel_actions.data,
               tunnel_actions.size);
    walk.tunnels[walk.n_tunnels++] = (struct adp_tunnel *) &tunnel_actions;
    ck_assert(sum_up(&sum));
    ck_assert_ptr_eq(sum.content.tunnel, walk.tunnels[0]);
    ck_assert_uint_eq(sum.content.actions_len, 0);

    /* Renewed since, or one thing among others. */
    put_output(1);
    ck_assert(!sum_up(&sum));
    walk.verdict.actions.size = 0;
    ck_assert(!sum_up(&sum));

    walk.tunnels[walk.n_tunnels++] = (struct adp_tunnel *) &tunnel_actions;
    ck_assert(!sum_up(&sum));
    ofpbuf_uninit(&tunnel_actions);
    end();
}
END_TEST

START_TEST(what_is_kept)
{
    struct adp_summary sum;

    begin_tcp();
    put_output(1);
    ck_assert(sum_up(&sum));
    ck_assert(adp_summary_may_be_kept(&sum));
    walk.n_ports = ADP_WALK_MAX_PORTS + 1;
    ck_assert(!adp_summary_may_be_kept(&sum));
    walk.n_ports = 0;
    walk.tunnel_lost = true;
    ck_assert(!adp_summary_may_be_kept(&sum));
    walk.tunnel_lost = false;
    walk.verdict.n_learned = 1;
    ck_assert(!adp_summary_may_be_kept(&sum));

    walk.verdict.punt = ADP_PUNT_ACTION;
    ck_assert(!sum_up(&sum));
    end();
}
END_TEST

/* There is room for so much, and for no more. */
START_TEST(what_exceeds)
{
    begin_tcp();
    walk.n_ports = ADP_WALK_MAX_PORTS;
    walk.n_tunnels = 1;
    walk.ct.peek.n_conns = ADP_CACHED_VERDICT_MAX_CONNS;
    walk.verdict.n_learn_lookups = ADP_MAX_LEARN_LOOKUPS;
    walk.verdict.n_metadata_lookups = ADP_MAX_METADATA_LOOKUPS;
    ck_assert(!adp_summary_exceeds_cache(&walk));

    size_t *counts[] = {
        &walk.n_ports, &walk.n_tunnels, &walk.ct.peek.n_conns,
        &walk.verdict.n_learn_lookups, &walk.verdict.n_metadata_lookups,
    };
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        ++*counts[i];
        ck_assert(adp_summary_exceeds_cache(&walk));
        --*counts[i];
    }
    walk.ct.peek.n_conns = 0;
    end();
}
END_TEST

/* Connections that a verdict is for. */

static struct conn_and_copy {
    struct conn real, copy;
} conns[ADP_CACHED_VERDICT_MAX_CONNS + 1];

static void
begin_conns(struct conntrack_peek *peek, size_t n)
{
    memset(peek, 0, sizeof *peek);
    memset(conns, 0, sizeof conns);
    peek->ordinary = true;
    peek->n_steps = n;
    for (size_t i = 0; i < n; i++) {
        struct conntrack_peek_conn *pc = &peek->conns[peek->n_conns++];
        struct conn_and_copy *c = &conns[i];

        ovs_mutex_init(&c->real.lock);
        c->real.mark = c->copy.mark = 5 + i;
        c->real.label.u64.lo = c->copy.label.u64.lo = 7 + i;
        pc->real = &c->real;
        pc->up = &c->copy;
        pc->ref.conn = &c->real;
        pc->tracked = true;
        pc->reply = i & 1;
        pc->is_new = !(i & 1);
        pc->natted = i == 1;
        c->copy.nat_action = NAT_ACTION_DST;
    }
}

START_TEST(connections)
{
    static struct conntrack_peek peek;
    struct conntrack_ref refs[ADP_CACHED_VERDICT_MAX_CONNS];
    struct adp_cached_verdict_content c;

    for (size_t n = 0; n <= ADP_CACHED_VERDICT_MAX_CONNS; n++) {
        memset(&c, 0, sizeof c);
        begin_conns(&peek, n);
        ck_assert(adp_summary_conns(&c, &peek, refs));
        ck_assert_uint_eq(c.n_conns, n);
        for (size_t i = 0; i < n; i++) {
            const struct conntrack_expect *e = &c.conns[i];

            ck_assert_uint_eq(e->mark, 5 + i);
            ck_assert_uint_eq(e->label.u64.lo, 7 + i);
            ck_assert(e->reply == (i & 1) && e->is_new == !(i & 1)
                      && e->nat == (i == 1 ? CONNTRACK_NAT_SRC
                                    : CONNTRACK_NAT_NONE));
            ck_assert_ptr_eq(refs[i].conn, &conns[i].real);
        }
    }
}
END_TEST

START_TEST(connections_that_differ)
{
    static struct conntrack_peek peek;
    struct conntrack_ref refs[ADP_CACHED_VERDICT_MAX_CONNS];
    struct adp_cached_verdict_content c;

    begin_conns(&peek, 2);
    conns[1].real.mark++;
    ck_assert(!adp_summary_conns(&c, &peek, refs));
    begin_conns(&peek, 2);
    conns[1].real.label.u64.hi++;
    ck_assert(!adp_summary_conns(&c, &peek, refs));
    begin_conns(&peek, 2);
    peek.conns[0].real = NULL;
    ck_assert(!adp_summary_conns(&c, &peek, refs));
    begin_conns(&peek, 2);
    peek.conns[1].tracked = false;
    ck_assert(!adp_summary_conns(&c, &peek, refs));
    begin_conns(&peek, 2);
    peek.ordinary = false;
    ck_assert(!adp_summary_conns(&c, &peek, refs));
    begin_conns(&peek, ADP_CACHED_VERDICT_MAX_CONNS + 1);
    ck_assert(!adp_summary_conns(&c, &peek, refs));

    /* A ct(), and no connection. */
    begin_conns(&peek, 0);
    peek.n_steps = 1;
    ck_assert(!adp_summary_conns(&c, &peek, refs));
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("rewrite");
    TCase *tc = tcase_create("rewrite");

    test_seed_random();
    odp_execute_init();
    tcase_add_test(tc, random_verdicts);
    tcase_add_test(tc, nothing_to_do);
    tcase_add_test(tc, several_outputs);
    tcase_add_test(tc, ct_behind_an_output);
    tcase_add_test(tc, meter);
    tcase_add_test(tc, metadata);
    tcase_add_test(tc, much_metadata);
    tcase_add_test(tc, ct_that_was_not_noted);
    tcase_add_test(tc, addresses_that_are_set);
    tcase_add_test(tc, tunnels);
    tcase_add_test(tc, what_is_kept);
    tcase_add_test(tc, what_exceeds);
    tcase_add_test(tc, connections);
    tcase_add_test(tc, connections_that_differ);
    suite_add_tcase(s, tc);
    return test_run(s);
}
