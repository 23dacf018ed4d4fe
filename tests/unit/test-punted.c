/* SPDX-License-Identifier: Apache-2.0 */

/* Which packets of a batch have to stay behind which, against a list of
 * addresses: a packet that is looked at as a flow and one that was parsed for a
 * session must fare alike. */

#include <config.h>

#include <check.h>
#include <netinet/in.h>

#include "adp-punted.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"

/* Few addresses, so that some are met again.  (Two pairs of these never have
 * one hash.) */
static void
random_flow(struct flow *flow)
{
    memset(flow, 0, sizeof *flow);
    switch (random_range(8)) {
    case 0:
        flow->dl_type = htons(ETH_TYPE_ARP);
        break;
    case 1: case 2: case 3:
        flow->dl_type = htons(ETH_TYPE_IPV6);
        flow->ipv6_src.s6_addr[15] = random_range(5);
        flow->ipv6_dst.s6_addr[0] = random_range(5);
        break;
    default:
        flow->dl_type = htons(ETH_TYPE_IP);
        flow->nw_src = htonl(random_range(5));
        flow->nw_dst = htonl(random_range(5));
    }
    /* They don't count. */
    flow->tp_src = htons(random_uint16());
    flow->nw_proto = random_range(2) ? IPPROTO_TCP : IPPROTO_UDP;
}

static void
parsed_of(const struct flow *flow, struct adp_session_packet *p)
{
    memset(p, 0, sizeof *p);
    p->is_ipv6 = flow->dl_type == htons(ETH_TYPE_IPV6);
    if (p->is_ipv6) {
        p->key6.ipv6_src = flow->ipv6_src;
        p->key6.ipv6_dst = flow->ipv6_dst;
    } else {
        p->key4.nw_src = flow->nw_src;
        p->key4.nw_dst = flow->nw_dst;
    }
}

static bool
have_same_addresses(const struct flow *a, const struct flow *b)
{
    return (a->dl_type == b->dl_type && a->dl_type != htons(ETH_TYPE_ARP)
            && a->nw_src == b->nw_src && a->nw_dst == b->nw_dst
            && !memcmp(&a->ipv6_src, &b->ipv6_src, sizeof a->ipv6_src)
            && !memcmp(&a->ipv6_dst, &b->ipv6_dst, sizeof a->ipv6_dst));
}

START_TEST(random_batches)
{
    for (int i = 0; i < 5000; i++) {
        struct flow stayed[NETDEV_MAX_BURST];
        struct adp_punted punted;
        size_t n_stayed = 0;

        adp_punted_init(&punted);
        for (int j = 0; j < NETDEV_MAX_BURST; j++) {
            struct adp_session_packet p;
            struct flow flow;
            bool follows = false;

            random_flow(&flow);
            parsed_of(&flow, &p);
            for (size_t k = 0; k < n_stayed; k++) {
                follows |= have_same_addresses(&stayed[k], &flow);
            }
            ck_assert_int_eq(adp_punted_overtaken_by(&punted, &flow), follows);
            if (flow.dl_type != htons(ETH_TYPE_ARP)) {
                ck_assert_int_eq(adp_punted_overtaken_by_parsed(&punted, &p),
                                 follows);
            }
            if (follows || !random_range(4)) {
                adp_punted_add(&punted, &flow);
                stayed[n_stayed++] = flow;
            }
        }
    }
}
END_TEST

/* The list has room for a whole batch. */
START_TEST(all_stay)
{
    struct adp_punted punted;
    struct flow flow;

    adp_punted_init(&punted);
    memset(&flow, 0, sizeof flow);
    flow.dl_type = htons(ETH_TYPE_IP);
    for (uint32_t i = 0; i < NETDEV_MAX_BURST; i++) {
        flow.nw_src = htonl(i);
        ck_assert(!adp_punted_overtaken_by(&punted, &flow));
        adp_punted_add(&punted, &flow);
        adp_punted_add(&punted, &flow);
        ck_assert(adp_punted_overtaken_by(&punted, &flow));
    }
    ck_assert_uint_eq(punted.n, NETDEV_MAX_BURST);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("punted");
    TCase *tc = tcase_create("punted");

    test_seed_random();
    tcase_add_test(tc, random_batches);
    tcase_add_test(tc, all_stay);
    suite_add_tcase(s, tc);
    return test_run(s);
}
