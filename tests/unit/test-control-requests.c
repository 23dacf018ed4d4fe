/* SPDX-License-Identifier: Apache-2.0 */

/* What the control socket does with requests beside calling methods: whose
 * their parameters are, and what is staged. */

#include <config.h>
#undef NDEBUG

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adp-control-appctl.h"
#include "adp-control-methods.h"
#include "adp-control-server.h"
#include "adp-control-stage.h"
#include "adp-control-transaction.h"
#include "adp-control.h"
#include "jsonrpc.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "stream.h"
#include "test-run.h"
#include "util.h"

/* In place of the server and the methods. */

static const struct adp_control_server_ops *ops;
static struct adp_control_stage_pool *stages;
static struct pstream *listener;

struct adp_control_server *
adp_control_server_create(struct pstream *listener_,
                          const struct adp_control_limits *limits OVS_UNUSED,
                          const struct adp_control_server_ops *ops_,
                          void *aux OVS_UNUSED)
{
    listener = listener_;
    ops = ops_;
    return (struct adp_control_server *) &ops;
}

void
adp_control_server_destroy(struct adp_control_server *server OVS_UNUSED)
{
    pstream_close(listener);
}

void
adp_control_server_run(struct adp_control_server *server OVS_UNUSED,
                       long long int now OVS_UNUSED)
{
}

void
adp_control_server_wait(const struct adp_control_server *server OVS_UNUSED)
{
}

void
adp_control_server_format(const struct adp_control_server *server OVS_UNUSED,
                          long long int now OVS_UNUSED,
                          struct ds *s OVS_UNUSED)
{
}

void
adp_control_appctl_init(void (*format)(struct ds *) OVS_UNUSED)
{
}

static struct adp_control_session {
    uint64_t staged_cost;
} session;

struct adp_control_session *
adp_control_session_create(struct adp_control_stage_pool *pool)
{
    stages = pool;
    session.staged_cost = 0;
    return &session;
}

void
adp_control_session_destroy(struct adp_control_session *s OVS_UNUSED)
{
}

struct json *
adp_control_session_run(struct adp_control_session *s OVS_UNUSED)
{
    return NULL;
}

uint64_t
adp_control_session_staged_cost(const struct adp_control_session *s)
{
    return s->staged_cost;
}

void
adp_control_session_forget(struct adp_control_session *s OVS_UNUSED,
                           struct adp_control_transaction *t OVS_UNUSED)
{
}

void
adp_control_session_refuse(struct adp_control_session *s, const char *method,
                           const struct json *params)
{
    ck_assert_str_eq(method, "transact");
    ck_assert_uint_eq(params->array.n, 1);
    s->staged_cost = 0;
}

void
adp_control_transactions_run(void)
{
}

void
adp_control_methods_wait(void)
{
}

/* What a method comes to: it waits, begins, which keeps its list, and ends. */
static enum { WAITS, BEGINS, ENDS } step;
static struct json *kept;

struct json *
adp_control_call_method(struct adp_control_session *s,
                        struct adp_control_transaction **transaction,
                        const char *method, const struct json *params,
                        uint64_t cost, struct json **errorp)
{
    ck_assert_ptr_eq(s, &session);
    ck_assert_str_eq(method, "transact");
    ck_assert_uint_eq(cost, 100);
    *errorp = NULL;
    if (step == BEGINS) {
        const struct json *object = params->array.elems[0];

        ck_assert_ptr_null(*transaction);
        kept = json_clone(shash_find_data(json_object(object), "apply"));
        *transaction = (struct adp_control_transaction *) &step;
    }
    return step == ENDS ? json_object_create() : NULL;
}

static char dir[] = "/tmp/test-control-XXXXXX";
static struct adp_control_conn conn;

static void
setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    ck_assert_int_eq(setenv("OVS_RUNDIR", dir, 1), 0);
    adp_control_init();
    ck_assert_ptr_nonnull(ops);
    memset(&conn, 0, sizeof conn);
}

static void
teardown(void)
{
    adp_control_exit();
    ck_assert_int_eq(rmdir(dir), 0);
}

static struct jsonrpc_msg *
transact_msg(void)
{
    return jsonrpc_create_request(
        "transact", json_array_create_1(json_from_string(
            "{\"staged\":true,\"apply\":[{\"kind\":\"Pod\"}]}")), NULL);
}

/* Once the transaction has begun its lists are the state's alone, which frees
 * them in slices. */
START_TEST(lists_of_a_transaction)
{
    struct adp_control_request request = {
        .msg = transact_msg(), .cost = 100,
    };
    struct json *error;

    step = WAITS;
    ck_assert_ptr_null(ops->request(&conn, &request, &error, NULL));
    ck_assert(!request.begun);
    step = BEGINS;
    ck_assert_ptr_null(ops->request(&conn, &request, &error, NULL));
    ck_assert(request.begun);
    ck_assert_uint_eq(kept->count, 1);
    ck_assert_uint_eq(kept->array.n, 1);
    step = WAITS;
    ck_assert_ptr_null(ops->request(&conn, &request, &error, NULL));
    step = ENDS;
    struct json *result = ops->request(&conn, &request, &error, NULL);
    ck_assert_ptr_nonnull(result);
    json_destroy(result);
    json_destroy(kept);
    jsonrpc_msg_destroy(request.msg);
}
END_TEST

/* A request that is wrong may be one that was to take what is staged. */
START_TEST(refused)
{
    struct adp_control_request request = {
        .msg = transact_msg(), .cost = 100,
    };
    struct json *error;

    ops->refused(&conn, &request, NULL); /* Of a client without a session. */
    step = WAITS;
    ck_assert_ptr_null(ops->request(&conn, &request, &error, NULL));
    session.staged_cost = 5;
    ck_assert_ptr_null(ops->request(&conn, &request, &error, NULL));
    ck_assert_uint_eq(conn.staged_cost, 5);
    ops->refused(&conn, &request, NULL);
    ck_assert_uint_eq(conn.staged_cost, 0);
    jsonrpc_msg_destroy(request.msg);
}
END_TEST

/* What was staged in vain is freed by and by, and counts until then. */
START_TEST(discarded)
{
    struct adp_control_request request = {
        .msg = transact_msg(), .cost = 100,
    };
    struct adp_control_stage stage;
    struct json *error;

    step = WAITS;
    ck_assert_ptr_null(ops->request(&conn, &request, &error, NULL));
    ck_assert_uint_gt(stages->max_cost, 70);
    adp_control_stage_init(&stage, stages);
    ck_assert(adp_control_stage_add(&stage, kept, kept, 70));
    adp_control_stage_clear(&stage);
    ck_assert_uint_eq(stages->cost, 70);
    for (int i = 0; i < 10 && stages->cost; i++) {
        adp_control_run();
    }
    ck_assert_uint_eq(stages->cost, 0);
    jsonrpc_msg_destroy(request.msg);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("control-requests");
    TCase *tc = tcase_create("control-requests");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, lists_of_a_transaction);
    tcase_add_test(tc, refused);
    tcase_add_test(tc, discarded);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
