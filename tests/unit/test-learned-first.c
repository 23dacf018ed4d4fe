/* SPDX-License-Identifier: Apache-2.0 */

/* Which requests of OpenFlow's wait for the flows that were learned before
 * them, and that nothing of a connection overtakes one that does. */

#include <config.h>
#include <check.h>

#include "adp-install.h"
#include "adp-learned-first.h"
#include "openflow/openflow.h"
#include "openvswitch/ofp-bundle.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-match.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-protocol.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/rconn.h"
#include "openvswitch/vlog.h"
#include "test-run.h"
#include "util.h"

__typeof__(poll_immediate_wake_at) __wrap_poll_immediate_wake_at;

enum { TABLE = 7 };

static const struct adp_bridge *bridge = (void *) &bridge;
static struct rconn *rconns[2];
static struct ofpbuf *next;     /* What a connection has to tell. */
static size_t n_received, n_woken;
static uint64_t waiting;        /* For TABLE. */
static uint64_t taken;

uint64_t
adp_install_mark(const struct adp_bridge *b, uint8_t table_id)
{
    ck_assert_ptr_eq(b, bridge);
    return (waiting && (table_id == OFPTT_ALL || table_id == TABLE)
            ? taken + waiting : 0);
}

bool
adp_install_is_past(const struct adp_bridge *b, uint64_t mark)
{
    ck_assert_ptr_eq(b, bridge);
    return taken >= mark;
}

void
__wrap_poll_immediate_wake_at(const char *where OVS_UNUSED)
{
    n_woken++;
}

static struct ofpbuf *
receive(struct rconn *rconn)
{
    struct ofpbuf *msg = next;

    ck_assert(rconn == rconns[0] || rconn == rconns[1]);
    n_received++;
    next = NULL;
    return msg;
}

static void
setup(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    for (size_t i = 0; i < ARRAY_SIZE(rconns); i++) {
        rconns[i] = rconn_create(0, 0, 0, 1u << OFP15_VERSION);
    }
    adp_learned_first_serve(bridge);
    n_received = n_woken = waiting = taken = 0;
}

static void
teardown(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rconns); i++) {
        rconn_destroy(rconns[i]);
    }
    adp_learned_first_serve(NULL);
}

static struct ofpbuf *
flow_mod(enum ofputil_protocol protocol, uint16_t command, uint8_t table_id)
{
    struct ofputil_flow_mod fm = {
        .command = command,
        .table_id = table_id,
        .buffer_id = UINT32_MAX,
        .out_port = OFPP_ANY,
        .out_group = OFPG_ANY,
    };

    minimatch_init_catchall(&fm.match);
    struct ofpbuf *msg = ofputil_encode_flow_mod(&fm, protocol);
    minimatch_destroy(&fm.match);
    ofpmsg_update_length(msg);
    return msg;
}

static struct ofpbuf *
stats_request(bool aggregate)
{
    struct ofputil_flow_stats_request fsr = {
        .aggregate = aggregate,
        .table_id = OFPTT_ALL,
        .out_port = OFPP_ANY,
        .out_group = OFPG_ANY,
    };

    match_init_catchall(&fsr.match);
    struct ofpbuf *msg = ofputil_encode_flow_stats_request(
        &fsr, OFPUTIL_P_OF15_OXM);
    ofpmsg_update_length(msg);
    return msg;
}

static struct ofpbuf *
empty_request(enum ofpraw raw)
{
    struct ofpbuf *msg = ofpraw_alloc(raw, OFP15_VERSION, 0);

    ofpmsg_update_length(msg);
    return msg;
}

static struct ofpbuf *
bundle_control(uint16_t type)
{
    struct ofputil_bundle_ctrl_msg bc = { .bundle_id = 1, .type = type };
    struct ofpbuf *msg = ofputil_encode_bundle_ctrl_request(OFP15_VERSION,
                                                            &bc);

    ofpmsg_update_length(msg);
    return msg;
}

/* Whether the message, which is freed, is put aside while flows wait. */
static void
expect_aside(struct ofpbuf *msg, bool aside)
{
    waiting = 3;
    next = msg;
    struct ofpbuf *got = adp_learned_first_recv(rconns[0], receive);
    ck_assert_ptr_eq(got, aside ? NULL : msg);
    ck_assert_int_eq(adp_learned_first_holds(rconns[0]), aside);
    if (aside) {
        taken += waiting;
        ck_assert(!adp_learned_first_holds(rconns[0]));
        got = adp_learned_first_recv(rconns[0], receive);
        ck_assert_ptr_eq(got, msg);
    }
    ofpbuf_delete(got);
}

START_TEST(flow_mods)
{
    static const struct {
        enum ofputil_protocol protocol;
        bool has_table;
    } kinds[] = {
        { OFPUTIL_P_OF10_STD, false }, { OFPUTIL_P_OF10_NXM, false },
        { OFPUTIL_P_OF10_NXM_TID, false }, { OFPUTIL_P_OF15_OXM, true },
    };
    enum ofputil_protocol protocol = kinds[_i].protocol;
    uint8_t table = protocol & OFPUTIL_P_TID || kinds[_i].has_table
                    ? TABLE : OFPTT_ALL;
    uint8_t other = kinds[_i].has_table ? TABLE + 1 : table;

    expect_aside(flow_mod(protocol, OFPFC_DELETE, table), true);
    expect_aside(flow_mod(protocol, OFPFC_DELETE_STRICT, table), true);
    expect_aside(flow_mod(protocol, OFPFC_MODIFY, table), true);
    expect_aside(flow_mod(protocol, OFPFC_MODIFY_STRICT, table), true);
    expect_aside(flow_mod(protocol, OFPFC_ADD, table), true);
    expect_aside(flow_mod(protocol, OFPFC_ADD, other), !kinds[_i].has_table);
    expect_aside(flow_mod(protocol, OFPFC_DELETE, other),
                 !kinds[_i].has_table);
}
END_TEST

START_TEST(others)
{
    expect_aside(stats_request(false), true);
    expect_aside(stats_request(true), true);
    expect_aside(empty_request(OFPRAW_OFPST_TABLE_REQUEST), true);
    expect_aside(bundle_control(OFPBCT_COMMIT_REQUEST), true);
    expect_aside(bundle_control(OFPBCT_OPEN_REQUEST), false);
    expect_aside(empty_request(OFPRAW_OFPT11_BARRIER_REQUEST), false);

    struct ofpbuf *wrong = empty_request(OFPRAW_OFPT11_BARRIER_REQUEST);
    ((struct ofp_header *) wrong->data)->type = 250;
    expect_aside(wrong, false);
}
END_TEST

/* What waits when the request comes is what it waits for; and its connection
 * waits for nobody else. */
START_TEST(order)
{
    struct ofpbuf *msg = flow_mod(OFPUTIL_P_OF15_OXM, OFPFC_DELETE, TABLE);
    struct ofpbuf *behind = empty_request(OFPRAW_OFPT11_BARRIER_REQUEST);

    waiting = 3;
    next = msg;
    ck_assert_ptr_null(adp_learned_first_recv(rconns[0], receive));
    ck_assert(!adp_learned_first_holds(rconns[1]));
    next = behind;
    taken = 2;
    waiting = 100;
    ck_assert(adp_learned_first_holds(rconns[0]));
    taken = 3;
    ck_assert(!adp_learned_first_holds(rconns[0]));
    adp_learned_first_wait(rconns[1]);
    ck_assert_uint_eq(n_woken, 0);
    adp_learned_first_wait(rconns[0]);
    ck_assert_uint_eq(n_woken, 1);
    ck_assert_ptr_eq(adp_learned_first_recv(rconns[0], receive), msg);
    ck_assert_uint_eq(n_received, 1);
    ck_assert_ptr_eq(adp_learned_first_recv(rconns[0], receive), behind);
    ofpbuf_delete(msg);
    ofpbuf_delete(behind);
}
END_TEST

/* What nobody learns for, or who is no bridge of ours, waits for nothing. */
START_TEST(nothing_waits)
{
    struct ofpbuf *msg = flow_mod(OFPUTIL_P_OF15_OXM, OFPFC_DELETE, TABLE);

    next = msg;
    ck_assert_ptr_eq(adp_learned_first_recv(rconns[0], receive), msg);
    waiting = 3;
    adp_learned_first_serve(NULL);
    next = msg;
    ck_assert_ptr_eq(adp_learned_first_recv(rconns[0], receive), msg);
    ofpbuf_delete(msg);
    ck_assert_ptr_null(adp_learned_first_recv(rconns[0], receive));
}
END_TEST

/* With the connection what was put aside goes: another one, also in its place
 * in memory, finds nothing. */
START_TEST(connection_gone)
{
    waiting = 3;
    next = flow_mod(OFPUTIL_P_OF15_OXM, OFPFC_DELETE, TABLE);
    ck_assert_ptr_null(adp_learned_first_recv(rconns[0], receive));
    rconn_destroy(rconns[0]);
    ck_assert(!adp_learned_first_holds(rconns[0]));
    rconns[0] = rconn_create(0, 0, 0, 1u << OFP15_VERSION);
    taken = 3;
    ck_assert_ptr_null(adp_learned_first_recv(rconns[0], receive));
    ck_assert_uint_eq(n_received, 2);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("learned-first");
    TCase *tc = tcase_create("learned-first");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, flow_mods, 0, 4);
    tcase_add_test(tc, others);
    tcase_add_test(tc, order);
    tcase_add_test(tc, nothing_waits);
    tcase_add_test(tc, connection_gone);
    suite_add_tcase(s, tc);
    return test_run(s);
}
