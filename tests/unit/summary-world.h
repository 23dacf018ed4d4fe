/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_SUMMARY_WORLD_H
#define TESTS_SUMMARY_WORLD_H 1

/* The world of tests of summaries: a packet and its walk, which the test makes
 * up, with a verdict that it gives in the syntax of ovs-dpctl. */

#include <check.h>
#include <netinet/in.h>
#include <string.h>

#include "adp-summary.h"
#include "adp-tunnel.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

enum { NOW = 1000000 };

/* The tunnel: what its translation says now, or NULL if it is to be found
 * again. */
static const struct adp_tunnel_actions *translation;
static int a_tunnel;
static struct adp_tunnel *const tunnel = (struct adp_tunnel *) &a_tunnel;

const struct adp_tunnel_actions *
adp_tunnel_actions(const struct adp_tunnel *t, long long int now)
{
    ck_assert_ptr_eq(t, tunnel);
    ck_assert_int_eq(now, NOW);
    return translation;
}

static struct adp_walk walk;
static struct flow flow;
static struct adp_summary sum;

/* Packets. */

static inline void
use_type(uint16_t dl_type)
{
    memset(&flow, 0, sizeof flow);
    flow.dl_src = (struct eth_addr) ETH_ADDR_C(02,11,12,13,14,15);
    flow.dl_dst = (struct eth_addr) ETH_ADDR_C(02,21,22,23,24,25);
    flow.dl_type = htons(dl_type);
}

static inline void
use_tcp(void)
{
    flow.nw_proto = IPPROTO_TCP;
    flow.nw_tos = 0x20;
    flow.nw_ttl = 64;
    flow.tp_src = htons(1000);
    flow.tp_dst = htons(80);
}

static inline void
use_ipv4(void)
{
    use_type(ETH_TYPE_IP);
    flow.nw_src = htonl(0x0a000001);
    flow.nw_dst = htonl(0x0a000002);
    use_tcp();
}

static inline void
use_ipv6(void)
{
    use_type(ETH_TYPE_IPV6);
    ck_assert(ipv6_parse("fd00::1", &flow.ipv6_src));
    ck_assert(ipv6_parse("fd00::2", &flow.ipv6_dst));
    flow.ipv6_label = htonl(0x12345);
    use_tcp();
}

static inline void
use_icmp(void)
{
    use_ipv4();
    flow.nw_proto = IPPROTO_ICMP;
    flow.tp_src = htons(8);
    flow.tp_dst = 0;
}

static inline void
use_arp(void)
{
    use_type(ETH_TYPE_ARP);
    flow.nw_proto = ARP_OP_REQUEST;
    flow.nw_src = htonl(0x0a000001);
    flow.nw_dst = htonl(0x0a000002);
}

static inline void
setup(void)
{
    memset(&walk, 0, sizeof walk);
    ofpbuf_init(&walk.verdict.actions, 256);
    walk.ct.peek.now = NOW;
    use_ipv4();
}

static inline void
teardown(void)
{
    ofpbuf_uninit(&walk.verdict.actions);
}

/* Verdicts. */

static inline void
parse_actions(struct ofpbuf *actions, const char *text)
{
    ck_assert_msg(!odp_actions_from_string(text, NULL, actions), "%s", text);
}

/* Another value of an address's last byte. */
static inline void
toggle_address(union ct_addr *addr)
{
    if (flow.dl_type == htons(ETH_TYPE_IPV6)) {
        addr->ipv6.s6_addr[15] ^= 0x10;
    } else {
        addr->ipv4 ^= htonl(0x10);
    }
}

/* Addresses and ports of the packet as it comes. */
static inline struct conntrack_peek_tuple
own_tuple(void)
{
    struct conntrack_peek_tuple t;

    memset(&t, 0, sizeof t);
    t.dl_type = flow.dl_type;
    if (flow.dl_type == htons(ETH_TYPE_IPV6)) {
        t.src.ipv6 = flow.ipv6_src;
        t.dst.ipv6 = flow.ipv6_dst;
    } else if (flow.dl_type == htons(ETH_TYPE_IP)) {
        t.src.ipv4 = flow.nw_src;
        t.dst.ipv4 = flow.nw_dst;
    }
    if (flow.nw_proto == IPPROTO_TCP) {
        t.tp_src = flow.tp_src;
        t.tp_dst = flow.tp_dst;
    }
    return t;
}

/* One more ct() that the walk has noted, with the letters of what its NAT
 * changes, there or back: source and destination, addresses and (capital
 * letters) ports. */
static inline void
note_step(const char *letters, size_t n)
{
    struct conntrack_peek *p = &walk.ct.peek;
    struct conntrack_peek_tuple t = (p->n_steps ? p->steps[p->n_steps - 1]
                                     : own_tuple());

    for (size_t i = 0; i < n; i++) {
        switch (letters[i]) {
        case 's': toggle_address(&t.src); break;
        case 'd': toggle_address(&t.dst); break;
        case 'S': t.tp_src ^= htons(0x10); break;
        case 'D': t.tp_dst ^= htons(0x10); break;
        default: ck_abort();
        }
    }
    ck_assert_uint_lt(p->n_steps, CT_PEEK_MAX_STEPS);
    p->steps[p->n_steps++] = t;
}

/* Appends to the verdict.  What stands in brackets are ct()s that the walk has
 * noted. */
static inline void
put(const char *text)
{
    struct ds actions = DS_EMPTY_INITIALIZER;

    for (const char *s = text; *s; s++) {
        if (*s == '[') {
            size_t n = strcspn(s + 1, "]");

            note_step(s + 1, n);
            s += n + 1;
        } else {
            ds_put_char(&actions, *s);
        }
    }
    parse_actions(&walk.verdict.actions, ds_cstr(&actions));
    ds_destroy(&actions);
}

/* The verdict is to be another one. */
static inline void
begin(void)
{
    walk.verdict.actions.size = 0;
    walk.ct.peek.n_steps = 0;
}

/* Summaries. */

/* As packets are summed up, whatever there was before. */
static inline bool
sum_up(void)
{
    static struct adp_summary other;
    bool ok;

    memset(&other, 0xa5, sizeof other);
    memset(&sum, 0, sizeof sum);
    ok = adp_summary_init(&other, &walk, &flow);
    ck_assert(adp_summary_init(&sum, &walk, &flow) == ok);
    if (ok) {
        ck_assert_mem_eq(&other.content, &sum.content, sizeof sum.content);
        ck_assert_ptr_eq(sum.w, &walk);
        ck_assert_ptr_eq(sum.flow, &flow);
    }
    return ok;
}

#endif /* summary-world.h */
