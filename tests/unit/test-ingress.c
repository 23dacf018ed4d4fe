/* SPDX-License-Identifier: Apache-2.0 */

/* Kinds of packets out of tunnels: what makes one, how they come and go, and
 * their hash, against who knows all of it but its secrets. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "adp-ingress.h"
#include "hash.h"
#include "openvswitch/packets.h"
#include "packets.h"
#include "test-run.h"
#include "tunnel-kinds.h"
#include "util.h"

static int owner;                       /* Its address. */

/* ToS and TTL tell no kinds apart; congestion bits do. */
START_TEST(test_kinds_of_packets)
{
    struct adp_ingress_table *t = adp_ingress_table_create(1000);
    struct flow_tnl a = tunnel_packet(1, 0, 64), b = tunnel_packet(1, 4, 63);
    struct flow_tnl ce = tunnel_packet(1, 3, 64), other = tunnel_packet(2, 0, 64);

    ck_assert(!find_kind(t, &a, 1));
    struct adp_ingress *kind = adp_ingress_set(t, &a, &owner, 1, 1, 1);
    ck_assert(find_kind(t, &a, 1) == kind);
    ck_assert(find_kind(t, &b, 1) == kind);
    ck_assert(!find_kind(t, &ce, 1));
    ck_assert(!find_kind(t, &other, 1));

    /* Another port's packets have another number. */
    uint32_t number = kind->number;
    adp_ingress_set(t, &a, &owner, 1, 2, 1);
    ck_assert_uint_eq(kind->number, number);
    adp_ingress_set(t, &a, &owner, 2, 2, 1);
    ck_assert_uint_ne(kind->number, number);
    adp_ingress_table_destroy(t);
}
END_TEST

/* A bit that OpenFlow can't see makes no kind. */
static bool
is_hidden(size_t byte, int bit)
{
    return (byte == offsetof(struct flow_tnl, ip_ttl)
            || byte / 2 == offsetof(struct flow_tnl, tp_src) / 2
            || (byte == offsetof(struct flow_tnl, ip_tos)
                && !(IP_ECN_MASK >> bit & 1)));
}

START_TEST(test_each_bit_of_kinds)
{
    struct adp_ingress_table *t = adp_ingress_table_create(1000);
    struct flow_tnl tnl = tunnel_packet(1, 0, 64);
    struct adp_ingress *kind = adp_ingress_set(t, &tnl, &owner, 1, 1, 1);
    uint32_t hash;

    adp_ingress_fetch(t, &tnl, 0, &hash);
    for (size_t i = 0; i < offsetof(struct flow_tnl, metadata); i++) {
        for (int bit = 0; bit < 8; bit++) {
            ((uint8_t *) &tnl)[i] ^= 1 << bit;
            ck_assert_ptr_eq(find_kind(t, &tnl, 2),
                             is_hidden(i, bit) ? kind : NULL);
            /* Also where two have one hash. */
            ck_assert_ptr_eq(adp_ingress_find(t, &tnl, hash, 2),
                             is_hidden(i, bit) ? kind : NULL);
            ((uint8_t *) &tnl)[i] ^= 1 << bit;
        }
    }

    /* With options there are no kinds. */
    tnl.metadata.present.map = 1;
    ck_assert_ptr_null(find_kind(t, &tnl, 2));
    ck_assert_ptr_null(adp_ingress_find(t, &tnl, hash, 2));
    ck_assert_ptr_null(adp_ingress_set(t, &tnl, &owner, 1, 1, 1));
    adp_ingress_table_destroy(t);
}
END_TEST

/* Each VLAN tag of each ingress is a kind. */
START_TEST(test_vlans)
{
    static const uint32_t ingresses[] = { 1, 2, 0x10001, UINT32_MAX };
    static const uint16_t tcis[] = { 0x1000, 0x1001, 0x3001, 0xffff };
    enum { N = ARRAY_SIZE(ingresses) * ARRAY_SIZE(tcis) };
    struct adp_ingress_table *t = adp_ingress_table_create(1000);
    struct adp_ingress *kinds[N];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < N; i++) {
            struct flow_tnl key;

            adp_ingress_vlan_key(&key, ingresses[i / ARRAY_SIZE(tcis)],
                                 htons(tcis[i % ARRAY_SIZE(tcis)]));
            struct adp_ingress *kind = adp_ingress_set(t, &key, &owner, 0, 0,
                                                       1);
            ck_assert(!round || kind == kinds[i]);
            kinds[i] = kind;
            for (int j = 0; j < i; j++) {
                ck_assert(kind->number != kinds[j]->number);
            }
        }
    }
    ck_assert_uint_eq(kinds_of(t).n, N);
    adp_ingress_table_destroy(t);
}
END_TEST

/* No two kinds ever have one number, also when numbers begin anew. */
START_TEST(test_kinds_numbers)
{
    enum { N = 20 };
    struct adp_ingress_table *t = adp_ingress_table_create(1000);
    struct flow_tnl first = tunnel_packet(N, 0, 64);

    adp_ingress_set_next_number(t, 7);
    ck_assert_uint_eq(adp_ingress_set(t, &first, &owner, 1, 1, 1)->number, 7);
    adp_ingress_set_next_number(t, (uint32_t) ADP_INGRESS_MAX_NUMBER - 3);
    for (int i = 0; i < N; i++) {
        struct flow_tnl tnl = tunnel_packet(i, 0, 64);
        uint32_t number = adp_ingress_set(t, &tnl, &owner, 1, 1, 1)->number;

        ck_assert_uint_le(number, ADP_INGRESS_MAX_NUMBER);
        ck_assert_uint_ne(number, 7);
    }
    /* Four below the end, seven before and the rest after that of 'first'. */
    struct flow_tnl last = tunnel_packet(N - 1, 0, 64);
    ck_assert_uint_eq(find_kind(t, &last, 1)->number, N - 4);

    /* Another port's: its old number is free again. */
    adp_ingress_set(t, &first, &owner, 2, 1, 1);
    adp_ingress_set_next_number(t, 7);
    struct flow_tnl more = tunnel_packet(N + 1, 0, 64);
    ck_assert_uint_eq(adp_ingress_set(t, &more, &owner, 1, 1, 1)->number, 7);
    adp_ingress_table_destroy(t);
}
END_TEST

/* The hand gets round in time however few there are. */
START_TEST(test_few_kinds)
{
    for (int n = 1; n <= 40; n++) {
        struct adp_ingress_table *t = adp_ingress_table_create(1000);

        for (int i = 0; i < n; i++) {
            struct flow_tnl tnl = tunnel_packet(i, 0, 64);

            adp_ingress_set(t, &tnl, &owner, 1, 1, 1000);
        }
        for (long long int now = 1000; now <= 55200; now += 100) {
            age_kinds(t, now);
        }
        ck_assert_uint_eq(kinds_of(t).n, 0);
        ck_assert_uint_eq(kinds_of(t).n_idle, n);
        adp_ingress_table_destroy(t);
    }
}
END_TEST

START_TEST(test_kinds_full)
{
    enum { MAX = 1000, N_BUSY = 10, N = 20000 };
    struct adp_ingress_table *t = adp_ingress_table_create(MAX);

    for (int i = 0; i < N; i++) {
        struct flow_tnl tnl = tunnel_packet(i, 0, 64);

        adp_ingress_set(t, &tnl, &owner, 1, 1, i);
        for (int j = 0; j < MIN(i, N_BUSY); j++) {
            struct flow_tnl busy = tunnel_packet(j, 0, 64);

            ck_assert(find_kind(t, &busy, i));
        }
    }
    ck_assert_uint_eq(kinds_of(t).n, MAX);
    ck_assert_uint_eq(kinds_of(t).n_evicted, N - MAX);
    /* Two rounds of the hand after they are idle take all, also those that
     * share a chain with many others that leave. */
    for (long long int now = N; now < N + 54100; now += 100) {
        age_kinds(t, now);
    }
    ck_assert_uint_eq(kinds_of(t).n, 0);
    ck_assert_uint_eq(kinds_of(t).n_idle, MAX);
    adp_ingress_table_destroy(t);
}
END_TEST

/* Their hash. */

/* What a stranger may choose of a kind: outer source and VNI. */
enum { N_CHOSEN_BITS = 32 + 24 };

static void
flip_chosen(struct flow_tnl *tnl, uint64_t bits)
{
    tnl->ip_src ^= htonl(bits);
    tnl->tun_id ^= htonll(bits >> 32);
}

/* As upstream's hashes of bytes begin: a CRC, where the CPU has one. */
static uint32_t
crc_of(uint64_t bits)
{
    struct flow_tnl tnl = { .ip_dst = htonl(1) };

    flip_chosen(&tnl, bits);
    return hash_add_bytes32(0, (const uint32_t *) &tnl,
                            offsetof(struct flow_tnl, metadata));
}

/* Sets 'kernel' to what changes no CRC, all independent.  Returns how many. */
static size_t
find_kernel(uint64_t kernel[N_CHOSEN_BITS])
{
    struct { uint32_t crc; uint64_t bits; } pivots[32] = { { 0, 0 } };
    size_t n = 0;

    for (int i = 0; i < N_CHOSEN_BITS; i++) {
        uint64_t bits = UINT64_C(1) << i;
        uint32_t crc = crc_of(bits) ^ crc_of(0);

        for (int j = 31; j >= 0 && crc; j--) {
            if (crc >> j & 1) {
                if (!pivots[j].crc) {
                    pivots[j].crc = crc;
                    pivots[j].bits = bits;
                    break;
                }
                crc ^= pivots[j].crc;
                bits ^= pivots[j].bits;
            }
        }
        if (!crc) {
            kernel[n++] = bits;
        }
    }
    return n;
}

/* Kinds that are one to a CRC, whatever basis it begins with, are none to the
 * table. */
START_TEST(test_kinds_chosen)
{
    enum { N = 20000, N_CHAINS = 65536 };
    struct adp_ingress_table *t = adp_ingress_table_create(N_CHAINS);
    uint8_t *lens = xzalloc(N_CHAINS);
    uint64_t kernel[N_CHOSEN_BITS];
    uint8_t longest = 0;

    ck_assert_uint_ge(find_kernel(kernel), 15);
    for (int i = 0; i < N; i++) {
        struct flow_tnl tnl = { .ip_dst = htonl(1) };
        uint32_t hash;

        for (int j = 0; j < 15; j++) {
            if (i >> j & 1) {
                flip_chosen(&tnl, kernel[j]);
            }
        }
        adp_ingress_fetch(t, &tnl, 0, &hash);

        uint8_t *len = &lens[hash % N_CHAINS];
        *len += *len < UINT8_MAX;
        longest = MAX(longest, *len);
    }
    ck_assert_uint_lt(longest, 16);
    free(lens);
    adp_ingress_table_destroy(t);
}
END_TEST

/* Peers with one address after the other don't meet, whatever the secrets. */
START_TEST(test_kinds_in_a_row)
{
    enum { N = 2048, N_TABLES = 300 };
    uint8_t longest = 0;

    for (int i = 0; i < N_TABLES; i++) {
        struct adp_ingress_table *t = adp_ingress_table_create(N);
        uint8_t lens[N] = { 0 };

        for (int j = 0; j < N; j++) {
            struct flow_tnl tnl = {
                .ip_dst = htonl(1), .ip_src = htonl(0x0a000000 + j),
            };
            uint32_t hash;

            adp_ingress_fetch(t, &tnl, 0, &hash);
            uint8_t *len = &lens[hash % N];
            *len += *len < UINT8_MAX;
            longest = MAX(longest, *len);
        }
        adp_ingress_table_destroy(t);
    }
    ck_assert_uint_lt(longest, 32);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("ingress");
    TCase *tc = tcase_create("all");

    suite_add_tcase(s, tc);
    tcase_add_test(tc, test_kinds_of_packets);
    tcase_add_test(tc, test_each_bit_of_kinds);
    tcase_add_test(tc, test_vlans);
    tcase_add_test(tc, test_kinds_numbers);
    tcase_add_test(tc, test_few_kinds);
    tcase_add_test(tc, test_kinds_full);
    tcase_add_test(tc, test_kinds_chosen);
    tcase_add_test(tc, test_kinds_in_a_row);
    return test_run(s);
}
