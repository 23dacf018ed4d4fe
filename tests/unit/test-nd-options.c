/* SPDX-License-Identifier: Apache-2.0 */

/* Upstream's setting of fields of neighbour discovery, in messages whose
 * options say that they are longer than they are, or that have none. */

#include <config.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/icmp6.h>
#include <netinet/ip6.h>
#include <string.h>
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "netlink.h"
#include "odp-execute.h"
#include "odp-netlink.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "test-run.h"
#include "util.h"

enum { MSG_LEN = sizeof(struct ovs_nd_msg), BEHIND = 4096 };

/* What is behind the message: all that could be taken for an option of a
 * link-layer address. */
static const uint8_t bait[8] = { 2, 1, 2, 1, 2, 1, 2, 1 };

static struct dp_packet *
compose(const void *options, size_t size)
{
    struct dp_packet *p = dp_packet_new(BEHIND);
    struct eth_header *eth = dp_packet_put_zeros(p, sizeof *eth);
    struct ovs_16aligned_ip6_hdr *ip = dp_packet_put_zeros(p, sizeof *ip);
    struct ovs_nd_msg *nd = dp_packet_put_zeros(p, sizeof *nd);
    struct flow flow;

    dp_packet_put(p, options, size);
    eth->eth_type = htons(ETH_TYPE_IPV6);
    put_16aligned_be32(&ip->ip6_flow, htonl(6 << 28));
    ip->ip6_plen = htons(MSG_LEN + size);
    ip->ip6_nxt = IPPROTO_ICMPV6;
    ip->ip6_hlim = 255;
    put_16aligned_be32(&ip->ip6_src.be32[3], htonl(1));
    put_16aligned_be32(&ip->ip6_dst.be32[3], htonl(2));
    nd->icmph.icmp6_type = ND_NEIGHBOR_SOLICIT;
    put_16aligned_be32(&nd->target.be32[3], htonl(3));
    for (size_t i = 0; i < dp_packet_tailroom(p); i++) {
        ((uint8_t *) dp_packet_tail(p))[i] = bait[i % sizeof bait];
    }
    flow_extract(p, &flow);
    ck_assert_int_eq(flow.nd_target.s6_addr[15], 3);
    return p;
}

/* Carries the action out, and frees the packet. */
static void
execute(struct dp_packet *p, const struct ofpbuf *actions)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    odp_execute_actions(NULL, &batch, false, actions->data, actions->size,
                        NULL);
    for (size_t i = 0; i < dp_packet_tailroom(p); i++) {
        ck_assert_uint_eq(((uint8_t *) dp_packet_tail(p))[i],
                          bait[i % sizeof bait]);
    }
    dp_packet_delete(p);
}

static void
put_set(struct ofpbuf *actions, bool masked, enum ovs_key_attr type,
        const void *key, const void *mask, size_t size)
{
    size_t ofs = nl_msg_start_nested(actions, (masked
                                               ? OVS_ACTION_ATTR_SET_MASKED
                                               : OVS_ACTION_ATTR_SET));
    char *value = nl_msg_put_unspec_uninit(actions, type,
                                           masked ? 2 * size : size);

    memcpy(value, key, size);
    if (masked) {
        memcpy(value + size, mask, size);
    }
    nl_msg_end_nested(actions, ofs);
}

static const struct options {
    uint8_t bytes[24];
    size_t size;
} options[] = {
    { { 0 }, 0 },
    { { 99, 255 }, 16 },
    { { 99, 3 }, 16 },
    { { 99, 1, 0, 0, 0, 0, 0, 0, 99, 255 }, 16 },
    { { 99, 0 }, 8 },
    { { 2 }, 1 },
};

START_TEST(nothing_behind_is_touched)
{
    const struct options *o = &options[_i / 2];
    const bool masked = _i % 2;
    struct ovs_key_nd nd = {
        .nd_target = { .s6_addr[15] = 3 },
        .nd_tll = ETH_ADDR_C(0a,0a,0a,0a,0a,0a),
    };
    struct ovs_key_nd nd_mask = { .nd_tll = ETH_ADDR_C(ff,ff,ff,ff,ff,ff) };
    struct ovs_key_nd_extensions ext = {
        .nd_reserved = htonl(0xe0000000), .nd_options_type = 2,
    };
    struct ovs_key_nd_extensions ext_mask = {
        .nd_reserved = OVS_BE32_MAX, .nd_options_type = UINT8_MAX,
    };
    struct ofpbuf actions;

    /* The packet's end is its memory's, for who watches that. */
    ofpbuf_init(&actions, 0);
    put_set(&actions, masked, OVS_KEY_ATTR_ND, &nd, &nd_mask, sizeof nd);
    execute(compose(o->bytes, o->size), &actions);
    struct dp_packet *whole = compose(o->bytes, o->size);
    execute(dp_packet_clone(whole), &actions);
    ofpbuf_clear(&actions);

    put_set(&actions, masked, OVS_KEY_ATTR_ND_EXTENSIONS, &ext, &ext_mask,
            sizeof ext);
    execute(compose(o->bytes, o->size), &actions);
    execute(dp_packet_clone(whole), &actions);
    dp_packet_delete(whole);
    ofpbuf_uninit(&actions);
}
END_TEST

/* What is there is set, also behind another option. */
START_TEST(what_is_there_is_set)
{
    const uint8_t two[] = { 99, 1, 0, 0, 0, 0, 0, 0,
                            2, 1, 1, 1, 1, 1, 1, 1, };
    const struct ovs_key_nd nd = {
        .nd_target = { .s6_addr[15] = 3 },
        .nd_tll = ETH_ADDR_C(0a,0a,0a,0a,0a,0a),
    };
    struct dp_packet *p = compose(two, sizeof two);
    struct dp_packet_batch batch;
    struct ofpbuf actions;

    ofpbuf_init(&actions, 0);
    put_set(&actions, false, OVS_KEY_ATTR_ND, &nd, NULL, sizeof nd);
    dp_packet_batch_init_packet(&batch, p);
    odp_execute_actions(NULL, &batch, false, actions.data, actions.size,
                        NULL);
    const struct ovs_nd_msg *msg = dp_packet_l4(p);
    ck_assert_mem_eq(&msg->options[1].mac, &nd.nd_tll, ETH_ADDR_LEN);
    dp_packet_delete(p);
    ofpbuf_uninit(&actions);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("nd-options");
    TCase *tc = tcase_create("all");

    odp_execute_init();
    tcase_add_loop_test(tc, nothing_behind_is_touched, 0,
                        2 * ARRAY_SIZE(options));
    tcase_add_test(tc, what_is_there_is_set);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
