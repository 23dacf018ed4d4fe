/* SPDX-License-Identifier: Apache-2.0 */

/* What deletes what a flow has learned, when the flow goes or learns with
 * another cookie. */

#include <config.h>

#include <check.h>
#include <stdlib.h>

#include "adp-unlearn.h"
#include "byte-order.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-parse.h"
#include "openvswitch/vlog.h"
#include "test-run.h"
#include "util.h"

#define LEARN(COOKIE) "learn(table=5,priority=200,delete_learned,cookie="     \
    COOKIE ",eth_type=0x800,nw_proto=6,NXM_OF_TCP_DST[],NXM_OF_IP_DST[],"     \
    "NXM_OF_IP_SRC[],load:NXM_NX_REG3[]->NXM_NX_REG3[]),"
#define KEEPS "learn(table=5,cookie=9,eth_type=0x800,NXM_OF_IP_SRC[]),"
#define VIP "tcp,nw_dst=10.96.0.1,tp_dst=80"

static void
parse(struct ofputil_flow_mod *fm, const char *flow)
{
    enum ofputil_protocol usable;
    char *error = parse_ofp_str(fm, OFPFC_ADD, flow, NULL, NULL, &usable);

    ck_assert_msg(!error, "%s: %s", flow, error);
}

/* Checks what is to be deleted when 'before', a flow, goes ('after' is NULL)
 * or gets the actions of 'after': texts "TABLE/COOKIE MATCH" with a line end
 * each. */
static void
expect(const char *before, const char *after, const char *expected)
{
    struct ofputil_flow_mod old, new = { .ofpacts_len = 0 };
    struct adp_unlearn u = { .n = 0 };
    struct ds s = DS_EMPTY_INITIALIZER;

    parse(&old, before);
    if (after) {
        parse(&new, after);
    }
    adp_unlearn_add(&u, &old.match, old.ofpacts, old.ofpacts_len, new.ofpacts,
                    new.ofpacts_len);
    for (size_t i = 0; i < u.n; i++) {
        const struct ofputil_flow_mod *fm = &u.fms[i];
        char *match = minimatch_to_string(&fm->match, NULL,
                                          OFP_DEFAULT_PRIORITY);

        ck_assert_int_eq(fm->command, OFPFC_DELETE);
        ck_assert_uint_eq(ntohll(fm->cookie_mask), UINT64_MAX);
        ds_put_format(&s, "%d/%d %s\n", fm->table_id, (int) ntohll(fm->cookie),
                      match);
        free(match);
    }
    ck_assert_str_eq(ds_cstr(&s), expected);

    ds_destroy(&s);
    adp_unlearn_uninit(&u);
    minimatch_destroy(&old.match);
    free(CONST_CAST(struct ofpact *, old.ofpacts));
    if (after) {
        minimatch_destroy(&new.match);
        free(CONST_CAST(struct ofpact *, new.ofpacts));
    }
}

START_TEST(test_goes)
{
    expect(VIP " actions=" LEARN("7") "output:1", NULL, "5/7 " VIP "\n");
    expect(VIP " actions=" LEARN("7") LEARN("8") "output:1", NULL,
           "5/7 " VIP "\n5/8 " VIP "\n");
    expect(VIP " actions=" KEEPS "output:1", NULL, "");
    expect(VIP " actions=output:1", NULL, "");
}
END_TEST

START_TEST(test_open_fields)
{
    expect("tcp,reg4=1,tp_dst=30000 actions=" LEARN("7") "output:1", NULL,
           "5/7 tcp,tp_dst=30000\n");
    expect("tcp,nw_dst=10.96.0.0/16 actions=" LEARN("7") "output:1", NULL,
           "5/7 tcp\n");
}
END_TEST

START_TEST(test_changes)
{
    expect(VIP " actions=" LEARN("7") "output:1", VIP " actions=" LEARN("7")
           "output:2", "");
    expect(VIP " actions=" LEARN("7") "output:1", VIP " actions=" LEARN("8")
           "output:1", "5/7 " VIP "\n");
    expect(VIP " actions=" LEARN("7") "output:1", VIP " actions=drop",
           "5/7 " VIP "\n");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("unlearn");
    TCase *tc = tcase_create("unlearn");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    tcase_add_test(tc, test_goes);
    tcase_add_test(tc, test_open_fields);
    tcase_add_test(tc, test_changes);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
