/* SPDX-License-Identifier: Apache-2.0 */

/* Messages of IGMP, right, wrong, cut and random ones. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "adp-igmp.h"
#include "csum.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "unaligned.h"
#include "util.h"

static struct ds told;
static size_t n_told;

static void
note(uint8_t type, ovs_be32 group, bool joins, void *aux OVS_UNUSED)
{
    ds_put_format(&told, "%02x %c"IP_FMT" ", type, joins ? '+' : '-',
                  IP_ARGS(group));
    n_told++;
}

/* Reads the message that 'hex' is but for the checksum, of 'len' bytes in memory
 * of their own, so that who reads more is caught. */
static enum adp_igmp_result
read_bytes(const uint8_t *bytes, size_t len, bool fix)
{
    uint8_t *msg = xmemdup(bytes, MAX(len, 1));

    if (fix && len >= 4) {
        msg[2] = msg[3] = 0;
        put_unaligned_be16((ovs_be16 *) (msg + 2), csum(msg, len));
    }
    ds_clear(&told);
    n_told = 0;
    enum adp_igmp_result result = adp_igmp_parse(msg, len, note, NULL);
    free(msg);
    return result;
}

static enum adp_igmp_result
read_hex(const char *hex, bool fix)
{
    uint8_t bytes[256];
    size_t len = 0;

    for (const char *p = hex; *p; ) {
        if (*p == ' ') {
            p++;
            continue;
        }
        bool ok;
        bytes[len++] = hexits_value(p, 2, &ok);
        ck_assert(ok);
        p += 2;
    }
    return read_bytes(bytes, len, fix);
}

static void
expect(const char *hex, enum adp_igmp_result result, const char *text)
{
    ck_assert_int_eq(read_hex(hex, true), result);
    ck_assert_str_eq(ds_cstr(&told), text);
}

static void
setup(void)
{
    ds_init(&told);
}

static void
teardown(void)
{
    ds_destroy(&told);
}

START_TEST(old_versions)
{
    expect("12000000 ef010101", ADP_IGMP_REPORT, "12 +239.1.1.1 ");
    expect("16000000 ef010102", ADP_IGMP_REPORT, "16 +239.1.1.2 ");
    expect("17000000 ef010103", ADP_IGMP_REPORT, "17 -239.1.1.3 ");
    expect("11640000 00000000", ADP_IGMP_OTHER, "");
    expect("13000000 00000000", ADP_IGMP_OTHER, "");
}
END_TEST

START_TEST(version_3)
{
    expect("22000000 00000000", ADP_IGMP_REPORT, "");
    expect("22000000 00000004"
           "02000000 ef000001" "04000000 ef000002"
           "01000000 ef000003" "03000000 ef000004", ADP_IGMP_REPORT,
           "22 +239.0.0.1 22 +239.0.0.2 22 -239.0.0.3 22 -239.0.0.4 ");
    /* Who names sources wants something; who blocks some may want others. */
    expect("22000000 00000005"
           "01000001 ef000001 0a000001" "03000001 ef000002 0a000001"
           "05000001 ef000003 0a000001" "06000001 ef000004 0a000001"
           "05000000 ef000005", ADP_IGMP_REPORT,
           "22 +239.0.0.1 22 +239.0.0.2 22 +239.0.0.3 ");
    /* Auxiliary data, and what comes behind the records. */
    expect("22000000 00000002"
           "04020001 ef000001 0a000001 01020304 05060708"
           "04000000 ef000002 ffff", ADP_IGMP_REPORT,
           "22 +239.0.0.1 22 +239.0.0.2 ");
    expect("22000000 00000001 07000000 ef000001", ADP_IGMP_REPORT, "");
}
END_TEST

START_TEST(malformed)
{
    static const char *const messages[] = {
        "", "16", "160000", "16000000 ef0101",
        "22000000 000000",
        "22000000 00000001",
        "22000000 00000001 04000000 ef0000",
        "22000000 00000002 04000000 ef000001",
        "22000000 0000ffff 04000000 ef000001",
        "22000000 00000001 04000001 ef000001",
        "22000000 00000001 04010000 ef000001 000000",
        "22000000 00000001 0400ffff ef000001 0a000001",
    };

    for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
        expect(messages[i], ADP_IGMP_MALFORMED, "");
    }
    ck_assert_int_eq(read_hex("16000001 ef010101", false),
                     ADP_IGMP_MALFORMED);
    ck_assert_uint_eq(n_told, 0);
}
END_TEST

START_TEST(random_messages)
{
    test_seed_random();
    for (int i = 0; i < 20000; i++) {
        uint8_t bytes[64];
        size_t len = random_range(sizeof bytes + 1);

        random_bytes(bytes, sizeof bytes);
        if (random_range(2)) {
            bytes[0] = 0x22;
            bytes[6] = 0;
            bytes[7] = random_range(5);
            bytes[9] = bytes[10] = 0;
            bytes[11] = random_range(3);
        }
        enum adp_igmp_result result = read_bytes(bytes, len, true);
        ck_assert(result == ADP_IGMP_REPORT || !n_told);
        ck_assert_uint_le(n_told, sizeof bytes / 8);
    }
}
END_TEST

/* What is written can be read. */
START_TEST(written)
{
    uint8_t query[ADP_IGMP_QUERY_LEN];
    struct adp_igmp_report report;

    adp_igmp_put_query(query, 100, 125);
    ck_assert_uint_eq(csum(query, sizeof query), 0);
    ck_assert_int_eq(query[0], 0x11);
    ck_assert_int_eq(query[1], 100);
    ck_assert_int_eq(query[8], 2);
    ck_assert_int_eq(query[9], 125);
    adp_igmp_put_query(query, 100, 1000);
    ck_assert_int_eq(query[9], 127);
    ck_assert_int_eq(read_bytes(query, sizeof query, false), ADP_IGMP_OTHER);

    adp_igmp_report_init(&report);
    for (uint32_t i = 0; i < ADP_IGMP_REPORT_MAX_RECORDS; i++) {
        adp_igmp_report_add(&report, htonl(0xef000000 + i), i % 2);
    }
    size_t len = adp_igmp_report_finish(&report);
    ck_assert_int_eq(read_bytes(report.msg, len, false), ADP_IGMP_REPORT);
    ck_assert_uint_eq(n_told, ADP_IGMP_REPORT_MAX_RECORDS);
    ck_assert(!strncmp(ds_cstr(&told), "22 -239.0.0.0 22 +239.0.0.1 ", 28));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("igmp");
    TCase *tc = tcase_create("igmp");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, old_versions);
    tcase_add_test(tc, version_3);
    tcase_add_test(tc, malformed);
    tcase_add_test(tc, random_messages);
    tcase_add_test(tc, written);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
