/* SPDX-License-Identifier: Apache-2.0 */

/* The hash of kinds of tunnel packets, against who knows all of it but its
 * secrets. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "adp-ingress.h"
#include "hash.h"
#include "openvswitch/packets.h"
#include "packets.h"
#include "test-run.h"
#include "util.h"

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

int
main(void)
{
    Suite *s = suite_create("ingress-hash");
    TCase *tc = tcase_create("all");

    suite_add_tcase(s, tc);
    tcase_add_test(tc, test_kinds_chosen);
    return test_run(s);
}
