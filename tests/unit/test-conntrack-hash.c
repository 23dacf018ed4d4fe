/* SPDX-License-Identifier: Apache-2.0 */

/* ovs/hooks/conntrack-hash.h. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "conntrack-private.h"
#include "conntrack-hash.h"
#include "hash.h"
#include "packets.h"
#include "random.h"
#include "test-run.h"
#include "util.h"

enum { BASIS = 1 };

static struct conn_key
make_key(uint32_t dst, uint16_t port)
{
    struct conn_key key;

    memset(&key, 0, sizeof key);
    key.dl_type = htons(ETH_TYPE_IP);
    key.nw_proto = IPPROTO_UDP;
    key.zone = 1;
    key.src.addr.ipv4 = htonl(0x0a000001);
    key.src.port = htons(7);
    key.dst.addr.ipv4 = htonl(dst);
    key.dst.port = htons(port);
    return key;
}

static uint32_t
hash(const struct conn_key *key)
{
    return conntrack_hash_key(key, BASIS);
}

START_TEST(both_directions)
{
    for (int i = 0; i < 1000; i++) {
        struct conn_key key = make_key(random_uint32(), i), reverse = key;

        random_bytes(&key.src.addr, sizeof key.src.addr);
        reverse.src = key.dst;
        reverse.dst = key.src;
        ck_assert_uint_eq(hash(&key), hash(&reverse));
    }
}
END_TEST

/* Each byte of a key matters, but for the padding at its end. */
START_TEST(all_of_the_key)
{
    const struct conn_key key = make_key(0x0a000002, 80);
    size_t end = offsetof(struct conn_key, nw_proto) + sizeof key.nw_proto;

    for (size_t i = 0; i < end * 8; i++) {
        struct conn_key other = key;

        ((uint8_t *) &other)[i / 8] ^= 1 << i % 8;
        ck_assert_uint_ne(hash(&key), hash(&other));
    }
    ck_assert_uint_ne(hash(&key), conntrack_hash_key(&key, BASIS + 1));
}
END_TEST

struct candidate {
    uint32_t hash;              /* As upstream hashes an end. */
    struct conn_key key;
};

static int
compare_candidates(const void *a_, const void *b_)
{
    const struct candidate *a = a_, *b = b_;

    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* What has one hash of upstream's, whatever its basis, has not the same. */
START_TEST(not_as_upstream)
{
    enum { N = 1 << 19 };
    struct candidate *all = xcalloc(N, sizeof *all);
    size_t n_equal_there = 0, n_equal = 0;

    for (size_t i = 0; i < N; i++) {
        /* (Not two random numbers: that generator is linear, as a CRC is.) */
        all[i].key = make_key(random_uint32(), i);
        all[i].hash = hash_add_bytes32(0,
                                       (const uint32_t *) &all[i].key.dst,
                                       sizeof all[i].key.dst);
    }
    qsort(all, N, sizeof *all, compare_candidates);
    for (size_t i = 1; i < N; i++) {
        const struct candidate *a = &all[i - 1], *b = &all[i];

        if (a->hash == b->hash
            && memcmp(&a->key, &b->key, sizeof a->key)) {
            n_equal_there++;
            n_equal += hash(&a->key) == hash(&b->key);
        }
    }
    /* Some 32 and, by chance, none. */
    ck_assert_uint_gt(n_equal_there, 4);
    ck_assert_uint_lt(n_equal, 2);
    free(all);
}
END_TEST

/* Nor has an address: who sends in many's names isn't taken for another. */
START_TEST(addresses_not_as_upstream)
{
    enum { N = 1 << 19 };
    struct candidate *all = xcalloc(N, sizeof *all);
    size_t n_equal_there = 0, n_equal = 0;

    for (size_t i = 0; i < N; i++) {
        all[i].key = make_key(random_uint32(), 0);
        memcpy((uint8_t *) &all[i].key.dst.addr + 8, &i, sizeof i);
        all[i].hash = hash_add_bytes32(0,
                                       (const uint32_t *) &all[i].key.dst.addr,
                                       sizeof all[i].key.dst.addr);
    }
    qsort(all, N, sizeof *all, compare_candidates);
    for (size_t i = 1; i < N; i++) {
        const union ct_addr *a = &all[i - 1].key.dst.addr;
        const union ct_addr *b = &all[i].key.dst.addr;

        if (all[i - 1].hash == all[i].hash) {
            n_equal_there++;
            n_equal += (conntrack_hash_address(a, BASIS)
                        == conntrack_hash_address(b, BASIS));
        }
    }
    ck_assert_uint_gt(n_equal_there, 4);
    ck_assert_uint_lt(n_equal, 2);
    free(all);
}
END_TEST

START_TEST(all_of_the_address)
{
    union ct_addr address = { .ipv4 = htonl(0x0a000001) };
    uint32_t hash_of_it = conntrack_hash_address(&address, BASIS);

    for (size_t i = 0; i < sizeof address * 8; i++) {
        union ct_addr other = address;

        ((uint8_t *) &other)[i / 8] ^= 1 << i % 8;
        ck_assert_uint_ne(conntrack_hash_address(&other, BASIS), hash_of_it);
    }
    ck_assert_uint_ne(conntrack_hash_address(&address, BASIS + 1), hash_of_it);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("conntrack-hash");
    TCase *tc = tcase_create("all");

    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, both_directions);
    tcase_add_test(tc, all_of_the_key);
    tcase_add_test(tc, not_as_upstream);
    tcase_add_test(tc, addresses_not_as_upstream);
    tcase_add_test(tc, all_of_the_address);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
