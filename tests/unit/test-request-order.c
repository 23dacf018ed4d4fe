/* SPDX-License-Identifier: Apache-2.0 */

/* Which requests of OpenFlow's wait for the flows that were learned, and the
 * packets that were counted, before them, and that nothing of a connection
 * overtakes one that does. */

#include <config.h>
#include <check.h>

#include "adp-install.h"
#include "adp-push-stats.h"
#include "adp-request-order.h"
#include "openflow/openflow.h"
#include "openvswitch/ofp-bundle.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-match.h"
#include "openvswitch/ofp-monitor.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofp-protocol.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/rconn.h"
#include "openvswitch/vlog.h"
#include "test-run.h"
#include "util.h"

__typeof__(poll_immediate_wake_at) __wrap_poll_immediate_wake_at;
__typeof__(rconn_get_connection_seqno) __wrap_rconn_get_connection_seqno;

static unsigned int seqno;

unsigned int
__wrap_rconn_get_connection_seqno(const struct rconn *rconn OVS_UNUSED)
{
    return seqno;
}

enum { TABLE = 7 };

static const struct adp_bridge *bridge = (void *) &bridge;
static struct rconn *rconns[2];
/* What connections have to tell. */
static struct ovs_list unread = OVS_LIST_INITIALIZER(&unread);
static size_t n_received, n_woken;
static uint64_t waiting;        /* For TABLE. */
static uint64_t taken;
static uint64_t asked, counted; /* See adp_push_stats_ask(). */

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

uint64_t
adp_push_stats_ask(void)
{
    return asked;
}

bool
adp_push_stats_has(const struct adp_bridge *b, uint64_t n)
{
    ck_assert_ptr_eq(b, bridge);
    return counted >= n;
}

void
__wrap_poll_immediate_wake_at(const char *where OVS_UNUSED)
{
    n_woken++;
}

static struct ofpbuf *
receive(struct rconn *rconn)
{
    ck_assert(rconn == rconns[0] || rconn == rconns[1]);
    if (ovs_list_is_empty(&unread)) {
        return NULL;
    }
    n_received++;
    return ofpbuf_from_list(ovs_list_pop_front(&unread));
}

static void
tell(struct ofpbuf *msg)
{
    ovs_list_push_back(&unread, &msg->list_node);
}

static void
setup(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    for (size_t i = 0; i < ARRAY_SIZE(rconns); i++) {
        rconns[i] = rconn_create(0, 0, 0, 1u << OFP15_VERSION);
    }
    adp_request_order_serve(bridge);
    n_received = n_woken = waiting = taken = counted = 0;
    seqno = 7;
    asked = 1;
}

static void
teardown(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rconns); i++) {
        rconn_destroy(rconns[i]);
    }
    adp_request_order_serve(NULL);
    ofpbuf_list_delete(&unread);
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
group_request(void)
{
    struct ofpbuf *msg = ofputil_encode_group_stats_request(OFP15_VERSION,
                                                            OFPG_ALL);

    ofpmsg_update_length(msg);
    return msg;
}

static struct ofpbuf *
port_request(void)
{
    struct ofpbuf *msg = ofputil_encode_dump_ports_request(OFP15_VERSION,
                                                           OFPP_ANY);

    ofpmsg_update_length(msg);
    return msg;
}

static struct ofpbuf *
monitor_request(void)
{
    struct ofputil_flow_monitor_request fmr = {
        .out_port = OFPP_NONE,
        .table_id = OFPTT_ALL,
        .match = MATCH_CATCHALL_INITIALIZER,
    };
    struct ofpbuf *msg = ofpraw_alloc(OFPRAW_NXST_FLOW_MONITOR_REQUEST,
                                      OFP10_VERSION, 0);

    ofputil_append_flow_monitor_request(&fmr, msg, OFPUTIL_P_OF10_NXM);
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

/* What a message waits for. */
enum { NOTHING = 0, LEARNED = 1, COUNTED = 2 };

/* Whether the message, which is freed, waits for those while flows and
 * counters do. */
static void
expect_aside(struct ofpbuf *msg, int what)
{
    waiting = 3;
    tell(msg);
    struct ofpbuf *got = adp_request_order_recv(rconns[0], receive);
    ck_assert_ptr_eq(got, what ? NULL : msg);
    ck_assert_int_eq(adp_request_order_holds(rconns[0]), what != NOTHING);
    taken += waiting;
    ck_assert_int_eq(adp_request_order_holds(rconns[0]), !!(what & COUNTED));
    taken -= waiting;
    counted = asked;
    ck_assert_int_eq(adp_request_order_holds(rconns[0]), !!(what & LEARNED));
    taken += waiting;
    ck_assert(!adp_request_order_holds(rconns[0]));
    if (what) {
        got = adp_request_order_recv(rconns[0], receive);
        ck_assert_ptr_eq(got, msg);
    }
    ofpbuf_delete(got);
    asked++;
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

    expect_aside(flow_mod(protocol, OFPFC_DELETE, table), LEARNED);
    expect_aside(flow_mod(protocol, OFPFC_DELETE_STRICT, table), LEARNED);
    expect_aside(flow_mod(protocol, OFPFC_MODIFY, table), LEARNED);
    expect_aside(flow_mod(protocol, OFPFC_MODIFY_STRICT, table), LEARNED);
    expect_aside(flow_mod(protocol, OFPFC_ADD, table), LEARNED);
    expect_aside(flow_mod(protocol, OFPFC_ADD, other),
                 kinds[_i].has_table ? NOTHING : LEARNED);
    expect_aside(flow_mod(protocol, OFPFC_DELETE, other),
                 kinds[_i].has_table ? NOTHING : LEARNED);
}
END_TEST

START_TEST(others)
{
    expect_aside(stats_request(false), LEARNED | COUNTED);
    expect_aside(stats_request(true), LEARNED | COUNTED);
    expect_aside(empty_request(OFPRAW_OFPST_TABLE_REQUEST),
                 LEARNED | COUNTED);
    expect_aside(group_request(), COUNTED);
    expect_aside(port_request(), NOTHING);
    expect_aside(monitor_request(), LEARNED);
    expect_aside(bundle_control(OFPBCT_COMMIT_REQUEST), LEARNED);
    expect_aside(bundle_control(OFPBCT_OPEN_REQUEST), NOTHING);
    expect_aside(empty_request(OFPRAW_OFPT11_BARRIER_REQUEST), NOTHING);

    struct ofpbuf *wrong = empty_request(OFPRAW_OFPT11_BARRIER_REQUEST);
    ((struct ofp_header *) wrong->data)->type = 250;
    expect_aside(wrong, NOTHING);
}
END_TEST

/* What waits when the request comes is what it waits for; and its connection
 * waits for nobody else. */
START_TEST(order)
{
    struct ofpbuf *msg = flow_mod(OFPUTIL_P_OF15_OXM, OFPFC_DELETE, TABLE);
    struct ofpbuf *behind = empty_request(OFPRAW_OFPT11_BARRIER_REQUEST);

    waiting = 3;
    tell(msg);
    ck_assert_ptr_null(adp_request_order_recv(rconns[0], receive));
    ck_assert(!adp_request_order_holds(rconns[1]));
    tell(behind);
    taken = 2;
    waiting = 100;
    ck_assert(adp_request_order_holds(rconns[0]));
    taken = 3;
    ck_assert(!adp_request_order_holds(rconns[0]));
    adp_request_order_wait(rconns[1]);
    ck_assert_uint_eq(n_woken, 0);
    adp_request_order_wait(rconns[0]);
    ck_assert_uint_eq(n_woken, 1);
    ck_assert_ptr_eq(adp_request_order_recv(rconns[0], receive), msg);
    ck_assert_ptr_eq(adp_request_order_recv(rconns[0], receive), behind);
    ck_assert_ptr_null(adp_request_order_recv(rconns[0], receive));
    ofpbuf_delete(msg);
    ofpbuf_delete(behind);
}
END_TEST

/* Nothing is read behind one that waits: the connection may end there. */
START_TEST(not_read_ahead)
{
    struct ofpbuf *first = stats_request(false);
    struct ofpbuf *second = stats_request(false);

    tell(first);
    tell(second);
    ck_assert_ptr_null(adp_request_order_recv(rconns[0], receive));
    ck_assert_uint_eq(n_received, 1);
    counted = asked++;
    ck_assert_ptr_eq(adp_request_order_recv(rconns[0], receive), first);
    ck_assert_ptr_null(adp_request_order_recv(rconns[0], receive));
    ck_assert_uint_eq(n_received, 2);
    ck_assert(adp_request_order_holds(rconns[0]));
    counted = asked;
    ck_assert(!adp_request_order_holds(rconns[0]));
    ck_assert_ptr_eq(adp_request_order_recv(rconns[0], receive), second);
    ofpbuf_delete(first);
    ofpbuf_delete(second);
}
END_TEST

/* What nobody learns for, or who is no bridge of ours, waits for nothing. */
START_TEST(nothing_waits)
{
    struct ofpbuf *msg = flow_mod(OFPUTIL_P_OF15_OXM, OFPFC_DELETE, TABLE);

    tell(msg);
    ck_assert_ptr_eq(adp_request_order_recv(rconns[0], receive), msg);
    waiting = 3;
    adp_request_order_serve(NULL);
    tell(msg);
    ck_assert_ptr_eq(adp_request_order_recv(rconns[0], receive), msg);
    ofpbuf_delete(msg);
    msg = stats_request(false);
    tell(msg);
    ck_assert_ptr_eq(adp_request_order_recv(rconns[0], receive), msg);
    ofpbuf_delete(msg);
    ck_assert_ptr_null(adp_request_order_recv(rconns[0], receive));
}
END_TEST

/* With the connection what was put aside goes: another one, also in its place
 * in memory, finds nothing. */
START_TEST(connection_gone)
{
    waiting = 3;
    tell(flow_mod(OFPUTIL_P_OF15_OXM, OFPFC_DELETE, TABLE));
    ck_assert_ptr_null(adp_request_order_recv(rconns[0], receive));
    rconn_destroy(rconns[0]);
    ck_assert(!adp_request_order_holds(rconns[0]));
    rconns[0] = rconn_create(0, 0, 0, 1u << OFP15_VERSION);
    taken = 3;
    ck_assert_ptr_null(adp_request_order_recv(rconns[0], receive));
}
END_TEST

/* Nor does one that takes its place in the same object. */
START_TEST(connected_anew)
{
    struct ofpbuf *msg = flow_mod(OFPUTIL_P_OF15_OXM, OFPFC_ADD, TABLE);

    tell(stats_request(false));
    ck_assert_ptr_null(adp_request_order_recv(rconns[0], receive));
    seqno++;
    tell(msg);
    ck_assert_ptr_eq(adp_request_order_recv(rconns[0], receive), msg);
    ck_assert(!adp_request_order_holds(rconns[0]));
    ofpbuf_delete(msg);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("request-order");
    TCase *tc = tcase_create("request-order");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, flow_mods, 0, 4);
    tcase_add_test(tc, others);
    tcase_add_test(tc, order);
    tcase_add_test(tc, nothing_waits);
    tcase_add_test(tc, not_read_ahead);
    tcase_add_test(tc, connection_gone);
    tcase_add_test(tc, connected_anew);
    suite_add_tcase(s, tc);
    return test_run(s);
}
