/* SPDX-License-Identifier: Apache-2.0 */

/* Addresses and prefixes of both families: their texts, their order and what
 * contains what. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include "model-ip.h"
#include "test-run.h"
#include "util.h"

/* "ADDRESS/PLEN" of either family. */
static struct adp_cidr
cidr(const char *s)
{
    struct adp_cidr cidr;
    unsigned int plen;
    ovs_be32 ip;

    char *error = ip_parse_cidr(s, &ip, &plen);
    if (!error) {
        return (struct adp_cidr) { in6_addr_mapped_ipv4(ip), 96 + plen };
    }
    free(error);
    ck_assert_ptr_null(ipv6_parse_cidr(s, &cidr.ip, &plen));
    cidr.plen = plen;
    return cidr;
}

START_TEST(texts)
{
    static const char *const prefixes[] = {
        "0.0.0.0/0", "0.0.0.0/5", "10.10.0.0/24", "255.255.255.255/32",
        "::/0", "fd00::/8", "fd00:10:10::/64", "::1/128",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
    };

    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        struct adp_cidr c = cidr(prefixes[i]);

        ck_assert_str_eq(adp_cidr_text(&c).s, prefixes[i]);
        ck_assert_int_eq(adp_cidr_is_v4(&c), i < 4);
        ck_assert_uint_eq(adp_cidr_plen(&c),
                          atoi(strchr(prefixes[i], '/') + 1));
        ck_assert_int_eq(strncmp(adp_ip_text(&c.ip).s, prefixes[i],
                                 strlen(adp_ip_text(&c.ip).s)), 0);
    }
}
END_TEST

START_TEST(containment)
{
    static const struct {
        const char *a, *b;
        bool contains;
    } cases[] = {
        { "10.10.0.0/16", "10.10.3.0/24", true },
        { "10.10.0.0/16", "10.10.0.0/16", true },
        { "10.10.3.0/24", "10.10.0.0/16", false },
        { "10.10.0.0/16", "10.11.0.0/24", false },
        { "0.0.0.0/0", "10.11.0.0/24", true },
        { "fd00::/16", "fd00:1::/64", true },
        { "fd00::/16", "fd01::/64", false },
        { "::/0", "fd01::/64", true },
        /* The families have nothing in common, however one is written in the
         * other. */
        { "::/0", "10.0.0.0/8", false },
        { "::/0", "0.0.0.0/0", false },
        { "0.0.0.0/0", "::/0", false },
        { "0.0.0.0/0", "::1/128", false },
        { "::/80", "10.0.0.1/32", false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct adp_cidr a = cidr(cases[i].a), b = cidr(cases[i].b);

        ck_assert_msg(adp_cidr_contains(&a, &b) == cases[i].contains,
                      "%s and %s", cases[i].a, cases[i].b);
        ck_assert(!cases[i].contains || (adp_cidr_overlaps(&a, &b)
                                         && adp_cidr_overlaps(&b, &a)));
    }
}
END_TEST

START_TEST(order)
{
    static const char *const sorted[] = {
        "::/0", "::/64", "::1/128", "0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/24",
        "10.0.1.0/24", "200.0.0.0/8", "64::/16", "fd00::/16", "fd00::/64",
    };

    for (size_t i = 0; i < ARRAY_SIZE(sorted); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(sorted); j++) {
            struct adp_cidr a = cidr(sorted[i]), b = cidr(sorted[j]);
            int cmp = adp_cidr_compare(&a, &b);

            ck_assert_msg(i < j ? cmp < 0 : i > j ? cmp > 0 : !cmp,
                          "%s and %s", sorted[i], sorted[j]);
        }
    }
}
END_TEST

START_TEST(halves_and_all)
{
    struct adp_cidr c = cidr("fd00::/63");
    struct adp_cidr v4 = adp_cidr_any(ADP_IPV4), v6 = adp_cidr_any(ADP_IPV6);

    adp_ip_set_bit(&c.ip, 63);
    ck_assert_str_eq(adp_ip_text(&c.ip).s, "fd00:0:0:1::");
    c = cidr("10.0.0.0/8");
    adp_ip_set_bit(&c.ip, c.plen);
    ck_assert_str_eq(adp_ip_text(&c.ip).s, "10.128.0.0");
    ck_assert_str_eq(adp_cidr_text(&v4).s, "0.0.0.0/0");
    ck_assert_str_eq(adp_cidr_text(&v6).s, "::/0");
    c = adp_cidr_host(&c.ip);
    ck_assert_str_eq(adp_cidr_text(&c).s, "10.128.0.0/32");
    ck_assert_str_eq(adp_ip_host_text(&c.ip).s, "10.128.0.0");
    c = cidr("fd00::1/128");
    ck_assert_str_eq(adp_ip_host_text(&c.ip).s, "[fd00::1]");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("model-ip");
    TCase *tc = tcase_create("ip");

    tcase_add_test(tc, texts);
    tcase_add_test(tc, containment);
    tcase_add_test(tc, order);
    tcase_add_test(tc, halves_and_all);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
