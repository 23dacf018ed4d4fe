/* SPDX-License-Identifier: Apache-2.0 */

/* Pod CIDRs of other Nodes: what they hold, and where two sets of them differ,
 * against a look at each of them. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "model-records.h"
#include "pipeline-remote.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

enum { MAX_CIDRS = 12, N_ROUNDS = 3000 };

/* Addresses are few, so that CIDRs meet. */
static struct in6_addr
address(uint32_t low)
{
    struct in6_addr ip;

    memset(&ip, 0, sizeof ip);
    ip.s6_addr[0] = 0xfd;
    ip.s6_addr[15] = low;
    return ip;
}

static struct adp_cidr
random_cidr(void)
{
    unsigned int n_bits = random_range(7);

    return (struct adp_cidr) {
        .ip = address(random_range(64) >> n_bits << n_bits),
        .plen = 128 - n_bits,
    };
}

static bool
contain(const struct adp_cidr *cidrs, size_t n, const struct in6_addr *ip)
{
    const struct adp_cidr host = adp_cidr_host(ip);

    for (size_t i = 0; i < n; i++) {
        if (adp_cidr_contains(&cidrs[i], &host)) {
            return true;
        }
    }
    return false;
}

/* So many that don't overlap, or fewer. */
static void
random_peers(struct adp_peer_node peers[], const struct adp_record *records[],
             struct adp_cidr cidrs[], size_t *n)
{
    *n = 0;
    for (size_t tries = random_range(2 * MAX_CIDRS); tries > 0; tries--) {
        struct adp_cidr cidr = random_cidr();
        bool overlaps = false;

        for (size_t i = 0; i < *n; i++) {
            overlaps |= adp_cidr_overlaps(&cidrs[i], &cidr);
        }
        if (!overlaps && *n < MAX_CIDRS) {
            struct adp_peer_node *peer = &peers[*n];

            memset(peer, 0, sizeof *peer);
            peer->net[ADP_IPV6].pod_cidr = cidr;
            peer->net[ADP_IPV6].gateway_ip = cidr.ip;
            ck_assert(adp_node_net_is_set(&peer->net[ADP_IPV6]));
            records[*n] = &peer->up;
            cidrs[(*n)++] = cidr;
        }
    }
}

static bool
is_among(const struct adp_cidr *cidr, const struct adp_cidr *cidrs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!adp_cidr_compare(cidr, &cidrs[i])) {
            return true;
        }
    }
    return false;
}

/* Does one of 'a' that isn't in 'b' hold the address? */
static bool
is_special(const struct adp_cidr *a, size_t n_a, const struct adp_cidr *b,
           size_t n_b, const struct in6_addr *ip)
{
    for (size_t i = 0; i < n_a; i++) {
        if (!is_among(&a[i], b, n_b) && contain(&a[i], 1, ip)) {
            return true;
        }
    }
    return false;
}

START_TEST(sets_and_differences)
{
    size_t n_differ = 0;

    test_seed_random();
    for (int round = 0; round < N_ROUNDS; round++) {
        struct adp_peer_node peers[2][MAX_CIDRS];
        const struct adp_record *records[2][MAX_CIDRS];
        struct adp_cidr cidrs[2][MAX_CIDRS];
        struct adp_remote_cidrs sets[2], difference;
        size_t n[2];

        for (int i = 0; i < 2; i++) {
            random_peers(peers[i], records[i], cidrs[i], &n[i]);
            adp_remote_cidrs_set(&sets[i], records[i], n[i]);
            ck_assert_uint_eq(sets[i].n, n[i]);
        }
        adp_remote_cidrs_difference(&difference, &sets[0], &sets[1]);
        for (uint32_t low = 0; low < 70; low++) {
            const struct in6_addr ip = address(low);
            bool differs = (is_special(cidrs[0], n[0], cidrs[1], n[1], &ip)
                            || is_special(cidrs[1], n[1], cidrs[0], n[0],
                                          &ip));

            for (int i = 0; i < 2; i++) {
                ck_assert_int_eq(adp_remote_cidrs_contain(&sets[i], &ip),
                                 contain(cidrs[i], n[i], &ip));
            }
            ck_assert_int_eq(adp_remote_cidrs_contain(&difference, &ip),
                             differs);
            n_differ += differs;
        }
        adp_remote_cidrs_uninit(&difference);
        adp_remote_cidrs_uninit(&sets[0]);
        adp_remote_cidrs_uninit(&sets[1]);
    }
    ck_assert_uint_gt(n_differ, N_ROUNDS);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("remote");
    TCase *tc = tcase_create("remote");

    tcase_add_test(tc, sets_and_differences);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
