/* SPDX-License-Identifier: Apache-2.0 */

/* Who has connections flushed waits, and nobody else: adp-flush.h, with a
 * datapath of type "dummy", a server of commands and OpenFlow connections.  A
 * flush gets nowhere while the test holds the table of connections. */

#include <config.h>
#include <check.h>
#include <errno.h>
#include <unistd.h>

#include "adp-flush.h"
#include "adp-request-order.h"
#include "conntrack.h"
#include "conntrack-flush.h"
#include "conntrack-private.h"
#include "ct-dpif.h"
#include "dp-hooks.h"
#include "dpif.h"
#include "dummy.h"
#include "fatal-signal.h"
#include "jsonrpc.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-util.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/rconn.h"
#include "openvswitch/vconn.h"
#include "openvswitch/vlog.h"
#include "ovs-numa.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "seq.h"
#include "socket-util.h"
#include "talk.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

/* No flow is learned. */

bool
adp_request_order_holds(const struct rconn *rconn OVS_UNUSED)
{
    return false;
}

struct ofpbuf *
adp_request_order_recv(struct rconn *rconn,
                       struct ofpbuf *(*receive)(struct rconn *))
{
    return receive(rconn);
}

void
adp_request_order_wait(const struct rconn *rconn OVS_UNUSED)
{
}

/* A few turns: what can be done without the flush's thread is done. */
enum { A_FEW = 50 };

static struct dpif *dpif;
static struct conntrack *ct;
static struct unixctl_server *server;
static char folder[] = "/tmp/test-flush-XXXXXX";
static char *path;

/* The clock, as late as a test wants it to be. */
__typeof__(time_msec) __real_time_msec;
__typeof__(time_msec) __wrap_time_msec;

static atomic_llong late_ms;

long long int
__wrap_time_msec(void)
{
    long long int ms;

    atomic_read_relaxed(&late_ms, &ms);
    return __real_time_msec() + ms;
}

static void
advance(long long int ms)
{
    long long int orig;

    atomic_add(&late_ms, ms, &orig);
}

static void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    if (!path) {
        fatal_ignore_sigpipe();         /* As the daemon. */
        ovs_numa_set_dummy("0");
        ovs_numa_init();
        dummy_enable("");
        ck_assert_ptr_nonnull(mkdtemp(folder));
        path = xasprintf("%s/ctl", folder);
        ck_assert_int_eq(unixctl_server_create(path, &server), 0);
    }
    ck_assert_int_eq(dpif_create("flush", "dummy", &dpif), 0);
    ct = dp_dpif_conntrack(dpif);
}

/* The thread that flushes waits from one to the other. */

static bool holds_table;

static void
hold_table(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_lock(&ct->ct_lock);
    holds_table = true;
}

static void
release_table(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    if (holds_table) {
        holds_table = false;
        ovs_mutex_unlock(&ct->ct_lock);
    }
}

static void
delete_datapath(void)
{
    if (dpif) {
        ck_assert_int_eq(dpif_delete(dpif), 0);
        dpif_close(dpif);
        dpif = NULL;
    }
}

static void
teardown(void)
{
    release_table();            /* A test may have failed. */
    delete_datapath();
    ovsrcu_quiesce();
}

/* Connections. */

static void
begin(uint32_t i, uint16_t zone)
{
    struct tuple t = {
        .nw_proto = IPPROTO_UDP, .tp_src = 1024, .tp_dst = 80
    };
    struct dp_packet_batch batch;
    struct dp_packet *p;

    in6_addr_set_mapped_ipv4(&t.src, htonl(0x0a000000 + i));
    in6_addr_set_mapped_ipv4(&t.dst, htonl(0xc0a80001));
    p = talk_compose(&t, NULL, 0);
    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(ct, &batch, htons(ETH_TYPE_IP), false, true, zone,
                      NULL, NULL, 0, 0, NULL, NULL, time_msec(), 0);
    dp_packet_delete(p);
}

static void
begin_some(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        begin(i, i % 2);
    }
}

static uint32_t
count_conns(void)
{
    uint32_t n;

    conntrack_get_nconns(ct, &n);
    return n;
}

/* Commands. */

static struct jsonrpc *
command(const char *name, const char *arg)
{
    struct json *args = json_array_create_empty();
    struct jsonrpc *client;

    if (arg) {
        json_array_add(args, json_string_create(arg));
    }
    ck_assert_int_eq(unixctl_client_create(path, &client), 0);
    jsonrpc_send(client, jsonrpc_create_request(name, args, NULL));
    return client;
}

/* The main thread's part of a turn that is about commands. */
static void
turn(void)
{
    adp_flush_run();
    adp_flush_serve(ADP_FLUSH_COMMAND);
    unixctl_server_run(server);
    adp_flush_serve(ADP_FLUSH_NOBODY);
    ovsrcu_quiesce();
}

/* True if the reply to 'client' is there: an empty one to a flush. */
static bool
has_reply(struct jsonrpc *client, bool is_flush)
{
    struct jsonrpc_msg *msg;
    int error;

    jsonrpc_run(client);
    error = jsonrpc_recv(client, &msg);
    if (error == EAGAIN) {
        return false;
    }
    ck_assert_int_eq(error, 0);
    ck_assert_int_eq(msg->type, JSONRPC_REPLY);
    ck_assert_int_eq(!*json_string(msg->result), is_flush);
    jsonrpc_msg_destroy(msg);
    return true;
}

static bool
is_served(struct jsonrpc *client, bool is_flush)
{
    for (int i = 0; i < A_FEW; i++) {
        turn();
        if (has_reply(client, is_flush)) {
            return true;
        }
    }
    return false;
}

/* Nothing but the flush's end wakes this thread up. */
static void
wait_for_flush(struct jsonrpc *client)
{
    while (!is_served(client, true)) {
        adp_flush_wait();
        poll_block();
    }
    jsonrpc_close(client);
}

START_TEST(test_command)
{
    struct jsonrpc *flush, *zone, *other;

    begin_some(100);
    hold_table();
    zone = command("dpctl/flush-conntrack", "zone=1");
    ck_assert(!is_served(zone, true));
    flush = command("dpctl/flush-conntrack", NULL);
    ck_assert(!is_served(flush, true));
    other = command("list-commands", NULL);
    ck_assert(is_served(other, false));
    jsonrpc_close(other);
    ck_assert(!is_served(zone, true));
    ck_assert_uint_eq(count_conns(), 100);
    release_table();

    wait_for_flush(zone);
    ck_assert_uint_le(count_conns(), 50);
    wait_for_flush(flush);
    ck_assert_uint_eq(count_conns(), 0);
}
END_TEST

/* One zone, and parts of a tuple. */
START_TEST(test_some)
{
    begin_some(100);
    wait_for_flush(command("dpctl/flush-conntrack", "zone=0"));
    ck_assert_uint_eq(count_conns(), 50);
    wait_for_flush(command("dpctl/flush-conntrack", "ct_nw_src=10.0.0.7"));
    ck_assert_uint_eq(count_conns(), 49);
    wait_for_flush(command("dpctl/flush-conntrack", "ct_nw_proto=6"));
    ck_assert_uint_eq(count_conns(), 49);
    wait_for_flush(command("dpctl/flush-conntrack", ""));
    ck_assert_uint_eq(count_conns(), 0);
}
END_TEST

/* The connection of a whole tuple takes no thread: nobody waits. */
START_TEST(test_tuple)
{
    uint64_t seqno = seq_read(conntrack_flush_seq());
    struct jsonrpc *client;

    begin_some(100);
    client = command("dpctl/flush-conntrack", "ct_nw_src=10.0.0.8,"
                     "ct_nw_dst=192.168.0.1,ct_nw_proto=17,ct_tp_src=1024,"
                     "ct_tp_dst=80");
    ck_assert(is_served(client, true));
    jsonrpc_close(client);
    ck_assert_uint_eq(count_conns(), 99);
    ck_assert(seq_read(conntrack_flush_seq()) == seqno);
}
END_TEST

/* So is what neither a command nor a request asks for. */
START_TEST(test_nobody)
{
    uint64_t seqno = seq_read(conntrack_flush_seq());

    begin_some(100);
    ck_assert_int_eq(ct_dpif_flush(dpif, NULL, NULL), 0);
    ck_assert_uint_eq(count_conns(), 0);
    ck_assert(seq_read(conntrack_flush_seq()) == seqno);
}
END_TEST

/* Who has gone is replied to all the same, which nobody notices. */
START_TEST(test_gone)
{
    struct jsonrpc *gone, *flush;

    begin_some(100);
    hold_table();
    gone = command("dpctl/flush-conntrack", NULL);
    ck_assert(!is_served(gone, true));
    jsonrpc_close(gone);
    flush = command("dpctl/flush-conntrack", NULL);
    ck_assert(!is_served(flush, true));
    release_table();
    wait_for_flush(flush);
    ck_assert_uint_eq(count_conns(), 0);
}
END_TEST

/* A datapath that goes leaves nobody waiting. */
START_TEST(test_datapath_goes)
{
    struct jsonrpc *clients[3];

    begin_some(5000);
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        clients[i] = command("dpctl/flush-conntrack", NULL);
    }
    turn();
    turn();
    delete_datapath();
    for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
        wait_for_flush(clients[i]);
    }
}
END_TEST

/* Requests. */

/* The two ends of an OpenFlow connection. */
struct openflow {
    struct pvconn *listener;
    struct rconn *rconn;        /* The switch's. */
    struct vconn *client;
};

static void
openflow_init(struct openflow *of, const char *name)
{
    char *passive = xasprintf("punix:%s/%s", folder, name);
    char *active = xasprintf("unix:%s/%s", folder, name);
    struct vconn *accepted;
    int error;

    ck_assert_int_eq(pvconn_open(passive, 1u << OFP15_VERSION, 0,
                                 &of->listener), 0);
    ck_assert_int_eq(vconn_open(active, 1u << OFP15_VERSION, 0,
                                &of->client), 0);
    do {
        vconn_run(of->client);
        error = pvconn_accept(of->listener, &accepted);
    } while (error == EAGAIN);
    ck_assert_int_eq(error, 0);
    of->rconn = rconn_create(0, 0, 0, 1u << OFP15_VERSION);
    rconn_connect_unreliably(of->rconn, accepted, NULL);
    while (vconn_connect(of->client) == EAGAIN) {
        vconn_run(of->client);
        rconn_run(of->rconn);
    }
    free(passive);
    free(active);
}

static void
openflow_uninit(struct openflow *of)
{
    vconn_close(of->client);
    rconn_destroy(of->rconn);
    pvconn_close(of->listener);
}

static void
send_barrier(struct openflow *of)
{
    struct ofpbuf *msg = ofputil_encode_barrier_request(OFP15_VERSION);

    ck_assert_int_eq(vconn_send(of->client, msg), 0);
}

/* The main thread's part of a turn that is about requests: up to two, of which
 * those of 'flusher' flush.  Returns how many there were. */
static int
handle(struct openflow *of, bool flusher)
{
    struct ofpbuf *msg;
    int n = 0;

    vconn_run(of->client);
    adp_flush_serve(ADP_FLUSH_REQUEST);
    rconn_run(of->rconn);
    while (n < 2 && (msg = rconn_recv(of->rconn))) {
        ofpbuf_delete(msg);
        n++;
        if (flusher) {
            ck_assert_int_eq(ct_dpif_flush(dpif, NULL, NULL), 0);
        }
    }
    adp_flush_serve(ADP_FLUSH_NOBODY);
    return n;
}

static int
handle_all(struct openflow *of, bool flusher)
{
    int n = 0;

    for (int i = 0; i < A_FEW; i++) {
        adp_flush_run();
        n += handle(of, flusher);
    }
    return n;
}

START_TEST(test_request)
{
    struct openflow a, b;

    begin_some(100);
    openflow_init(&a, "a");
    openflow_init(&b, "b");
    send_barrier(&a);
    send_barrier(&a);
    send_barrier(&b);
    hold_table();
    ck_assert_int_eq(handle_all(&a, true), 1);
    ck_assert_int_eq(handle_all(&b, false), 1);
    ck_assert_int_eq(handle_all(&a, false), 0);

    /* Nor is it looked whether there is something to receive: if it were, this
     * would not wait for the timer. */
    rconn_recv_wait(a.rconn);
    poll_timer_wait(1);
    poll_block();
    ck_assert_uint_eq(count_conns(), 100);
    release_table();

    while (!handle(&a, false)) {
        adp_flush_run();
        rconn_recv_wait(a.rconn);
        adp_flush_wait();
        poll_block();
    }
    ck_assert_uint_eq(count_conns(), 0);
    openflow_uninit(&a);
    openflow_uninit(&b);
}
END_TEST

/* A connection that goes while it waits. */
START_TEST(test_request_gone)
{
    struct openflow of;

    begin_some(100);
    openflow_init(&of, "a");
    send_barrier(&of);
    hold_table();
    ck_assert_int_eq(handle_all(&of, true), 1);
    openflow_uninit(&of);
    release_table();

    /* Another one is served, be it in the same place. */
    openflow_init(&of, "b");
    send_barrier(&of);
    while (!handle(&of, false)) {
        adp_flush_run();
    }
    wait_for_flush(command("dpctl/flush-conntrack", NULL));
    ck_assert_uint_eq(count_conns(), 0);
    openflow_uninit(&of);
}
END_TEST

/* A connection that waits for long isn't taken for one whose peer has gone,
 * since nobody reads what that answers; it is again afterwards. */
START_TEST(test_request_probed)
{
    enum { PROBE_MS = 5000, ROUNDS = 4 };
    struct openflow of;

    begin_some(100);
    openflow_init(&of, "a");
    rconn_set_probe_interval(of.rconn, PROBE_MS / 1000);
    send_barrier(&of);
    send_barrier(&of);
    hold_table();
    ck_assert_int_eq(handle_all(&of, true), 1);
    for (int i = 0; i < ROUNDS; i++) {
        advance(PROBE_MS + 1);
        ck_assert_int_eq(handle(&of, false), 0);
        ck_assert(rconn_is_connected(of.rconn));
    }

    /* Nor does it keep the thread awake: its timer is far off. */
    long long int before = time_msec();
    rconn_run_wait(of.rconn);
    poll_timer_wait(100);
    poll_block();
    ck_assert_int_ge(time_msec() - before, 100);

    release_table();
    while (!handle(&of, false)) {
        adp_flush_run();
    }
    ck_assert(rconn_is_connected(of.rconn));
    ck_assert_int_eq(rconn_get_probe_interval(of.rconn), PROBE_MS / 1000);
    for (int i = 0; i < 2; i++) {
        advance(PROBE_MS + 1);
        handle(&of, false);
    }
    ck_assert(!rconn_is_connected(of.rconn));
    openflow_uninit(&of);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("flush");
    TCase *tc = tcase_create("flush");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_command);
    tcase_add_test(tc, test_some);
    tcase_add_test(tc, test_tuple);
    tcase_add_test(tc, test_nobody);
    tcase_add_test(tc, test_gone);
    tcase_add_test(tc, test_datapath_goes);
    tcase_add_test(tc, test_request);
    tcase_add_test(tc, test_request_gone);
    tcase_add_test(tc, test_request_probed);
    int error = test_run_nofork(s);
    unixctl_server_destroy(server);
    rmdir(folder);
    free(path);
    return error;
}
