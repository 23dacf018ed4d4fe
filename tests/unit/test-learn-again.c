/* SPDX-License-Identifier: Apache-2.0 */

/* What upstream keeps of a learn() beside a datapath flow, a flow mod, learns
 * once more for each packet that comes after the learned flow has gone: in a
 * bridge of upstream's, which has nothing but tables. */

#include <config.h>

#include <check.h>

#include "dp-hooks.h"
#include "dummy.h"
#include "ofproto/ofproto-dpif.h"
#include "ofproto/ofproto-provider.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "test-run.h"
#include "util.h"

enum { TABLE = 0, PRIORITY = 10, COOKIE = 5 };

static struct ofproto *ofproto;
static struct match match;
static struct ofputil_flow_mod fm;
static struct ofpbuf actions;

static void
start(struct ofproto_flow_mod *ofm)
{
    ck_assert_int_eq(ofproto_dpif_flow_mod_init_for_learn(
        CONTAINER_OF(ofproto, struct ofproto_dpif, up), &fm, ofm), 0);
}

static void
set_up(void)
{
    static const struct shash no_hints = SHASH_INITIALIZER(&no_hints);

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    dummy_enable("");
    ofproto_init(&no_hints);
    ck_assert_int_eq(ofproto_create("br0", "dummy", &ofproto), 0);

    match_init_catchall(&match);
    match_set_dl_type(&match, htons(ETH_TYPE_IP));
    match_set_nw_src(&match, htonl(0x0a000001));

    ofpbuf_init(&actions, 0);
    ofpact_put_OUTPUT(&actions)->port = OFPP_IN_PORT;
    fm = (struct ofputil_flow_mod) {
        .priority = PRIORITY,
        .table_id = TABLE,
        .new_cookie = htonll(COOKIE),
        .modify_cookie = true,
        .command = OFPFC_MODIFY_STRICT,
        .buffer_id = UINT32_MAX,
        .out_port = OFPP_NONE,
        .ofpacts = actions.data,
        .ofpacts_len = actions.size,
    };
    minimatch_init(&fm.match, &match);
}

static void
tear_down(void)
{
    minimatch_destroy(&fm.match);
    ofpbuf_uninit(&actions);
    ofproto_destroy(ofproto, true);
    ovsrcu_exit();
}

static struct rule *
learned(void)
{
    return rule_from_cls_rule(classifier_find_match_exactly(
        &ofproto->tables[TABLE].cls, &match, PRIORITY, OVS_VERSION_MAX));
}

static void
forget(void)
{
    ovs_mutex_lock(&ofproto_mutex);
    ofproto_delete_flow(ofproto, &match, PRIORITY);
    ovs_mutex_unlock(&ofproto_mutex);
    ck_assert_ptr_null(learned());
}

START_TEST(again_and_again)
{
    struct ofproto_flow_mod ofm;

    start(&ofm);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(ofproto_flow_mod_learn(&ofm, true, 0, NULL), 0);
        ck_assert_ptr_nonnull(learned());
        ck_assert(learned()->flow_cookie == htonll(COOKIE));
        ck_assert_int_eq(ofproto->tables[TABLE].n_flows, 1);
        forget();
        /* Who comes next to the memory that was given back. */
        free(xzalloc(1000));
    }
    ofproto_flow_mod_uninit(&ofm);
}
END_TEST

/* Another packet learned the flow meanwhile, with other actions. */
START_TEST(beside_another)
{
    struct ofproto_flow_mod ofm, other;
    struct ofpbuf drop;
    bool fits;

    start(&ofm);
    ck_assert_int_eq(ofproto_flow_mod_learn(&ofm, true, 0, NULL), 0);
    forget();

    ofpbuf_init(&drop, 0);
    fm.ofpacts = drop.data;
    fm.ofpacts_len = 0;
    start(&other);
    ck_assert_int_eq(ofproto_flow_mod_learn(&other, false, 0, NULL), 0);
    ck_assert_uint_eq(rule_get_actions(learned())->ofpacts_len, 0);

    ck_assert_int_eq(ofproto_flow_mod_learn(&ofm, true, 0, &fits), 0);
    ck_assert(fits);
    ck_assert_uint_eq(rule_get_actions(learned())->ofpacts_len, actions.size);
    ck_assert_int_eq(ofproto->tables[TABLE].n_flows, 1);
    ofproto_flow_mod_uninit(&ofm);
    ofpbuf_uninit(&drop);
}
END_TEST

static bool
never(struct ofproto *o, const struct rule *rule)
{
    ck_assert_ptr_eq(o, ofproto);
    ck_assert_ptr_eq(rule->ofproto, ofproto);
    return false;
}

START_TEST(refused)
{
    static const struct dp_hooks hooks = { .may_learn = never };
    struct ofproto_flow_mod ofm;
    bool fits;

    start(&ofm);
    ck_assert_int_eq(ofproto_flow_mod_learn(&ofm, true, 0, &fits), 0);
    forget();
    dp_hooks = &hooks;
    ck_assert_int_eq(ofproto_flow_mod_learn(&ofm, true, 0, &fits), 0);
    ck_assert(!fits);
    ck_assert_ptr_null(learned());
    dp_hooks = NULL;
    ofproto_flow_mod_uninit(&ofm);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("learn-again");
    TCase *tc = tcase_create("flow mods");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, again_and_again);
    tcase_add_test(tc, beside_another);
    tcase_add_test(tc, refused);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
