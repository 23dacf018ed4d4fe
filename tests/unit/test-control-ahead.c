/* SPDX-License-Identifier: Apache-2.0 */

/* Requests that a client sends before the ones in front are answered: what has
 * begun lets the next one be looked at, replies come in order, and what waits
 * is bounded. */

#include <config.h>

#include <signal.h>

#include "control-world.h"
#include "jsonrpc.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "test-run.h"
#include "timeval.h"

#define MAX_ASKED 1000

static int asked[MAX_ASKED];    /* The numbers of requests as they came. */
static size_t n_asked, n_forgotten;
static bool done[MAX_ASKED];    /* Those that can be answered... */
static int done_at_end = -1;    /* ...and one that is at the turn's end. */

/* Methods have a number, which is the result.  "begin" has begun, and is
 * answered once it is done; "wait" is, too, but has not begun; "now" is
 * answered at once, but not before all in front are.  All others are errors. */
static struct json *
handle_request(struct adp_control_conn *conn,
               struct adp_control_request *request, struct json **errorp,
               void *aux OVS_UNUSED)
{
    const char *method = request->msg->method;
    const struct json *params = request->msg->params;
    int n = json_integer(params->array.elems[0]);
    bool is_first = ovs_list_front(&conn->requests) == &request->node;

    ck_assert(!request->done);
    if (!request->aux) {
        request->aux = xmalloc(1);
        ck_assert_uint_lt(n_asked, MAX_ASKED);
        asked[n_asked++] = n;
    }
    if (!strcmp(method, "begin")) {
        request->begun = true;
        return done[n] ? json_integer_create(n) : NULL;
    } else if (!strcmp(method, "wait")) {
        return is_first && done[n] ? json_integer_create(n) : NULL;
    } else if (!strcmp(method, "now")) {
        return is_first ? json_integer_create(n) : NULL;
    }
    *errorp = adp_control_error("method", NULL, "no method \"%s\"", method);
    return NULL;
}

static void
handle_served(void *aux OVS_UNUSED)
{
    if (done_at_end >= 0) {
        done[done_at_end] = true;
    }
}

static void
handle_refused(struct adp_control_conn *conn OVS_UNUSED,
               const struct adp_control_request *request OVS_UNUSED,
               void *aux OVS_UNUSED)
{
}

static void
handle_forgotten(struct adp_control_conn *conn OVS_UNUSED,
                 struct adp_control_request *request, void *aux OVS_UNUSED)
{
    n_forgotten++;
    free(request->aux);
}

static void
handle_idle(struct adp_control_conn *conn OVS_UNUSED,
            long long int now_ OVS_UNUSED, void *aux OVS_UNUSED)
{
}

static void
handle_closed(struct adp_control_conn *conn, void *aux OVS_UNUSED)
{
    ck_assert_uint_eq(conn->n_waiting, 0);
}

static const struct adp_control_server_ops ops = {
    handle_request, handle_refused, handle_served, handle_forgotten,
    handle_idle, handle_closed
};

static void
setup(void)
{
    n_asked = n_forgotten = 0;
    memset(done, 0, sizeof done);
    done_at_end = -1;
    control_world_setup(&ops);
}

static void
teardown(void)
{
    control_world_teardown();
}

/* Request 'n' with 'len' bytes more. */
static char *
request(const char *method, int n, size_t len)
{
    return xasprintf("{\"method\":\"%s\",\"params\":[%d,\"%0*d\"],\"id\":%d}",
                     method, n, (int) len, 0, n);
}

static void
ask(struct client *client, const char *method, int n)
{
    char *s = request(method, n, 1);

    client_send(client, s);
    free(s);
}

static void
expect_answer(struct client *client, int n)
{
    char *s = xasprintf("%d", n);

    expect_result(client, s, s);
    free(s);
}

static void
expect_asked(size_t n)
{
    ck_assert_uint_eq(n_asked, n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(asked[i], i);
    }
}

START_TEST(what_has_begun_lets_others_begin)
{
    struct client *client = client_open();
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < 10; i++) {
        char *r = request("begin", i, 1);

        ds_put_cstr(&s, r);
        free(r);
    }
    client_send(client, ds_cstr(&s));
    ds_destroy(&s);
    expect_silence(client);
    expect_asked(10);

    /* Replies come in order, whatever is done first. */
    for (int i = 9; i > 0; i--) {
        done[i] = true;
        expect_silence(client);
    }
    done[0] = true;
    turns(1);
    ck_assert_uint_eq(n_forgotten, 10);
    for (int i = 0; i < 10; i++) {
        expect_answer(client, i);
    }
    expect_silence(client);
    client_close(client);
}
END_TEST

START_TEST(answers_come_in_the_same_turn)
{
    struct client *client = client_open();
    char *r = request("begin", 0, 1);
    char buf[1000];

    done_at_end = 0;
    ck_assert_int_gt(send(client->fd, r, strlen(r), 0), 0);
    adp_control_server_run(server, now);
    ck_assert_int_gt(recv(client->fd, buf, sizeof buf, 0), 0);
    free(r);
    client_close(client);
}
END_TEST

START_TEST(what_has_not_begun_stops_the_next)
{
    struct client *client = client_open();

    ask(client, "begin", 0);
    ask(client, "wait", 1);
    ask(client, "begin", 2);
    ask(client, "now", 3);
    expect_silence(client);
    expect_asked(2);

    done[0] = true;
    expect_answer(client, 0);
    expect_silence(client);
    expect_asked(2);
    done[1] = true;
    expect_answer(client, 1);
    expect_silence(client);
    expect_asked(4);
    done[2] = true;
    expect_answer(client, 2);
    expect_answer(client, 3);
    client_close(client);
}
END_TEST

START_TEST(clients_do_not_wait_for_each_other)
{
    struct client *a = client_open();
    struct client *b = client_open();

    ask(a, "begin", 0);
    ask(b, "begin", 1);
    ask(b, "begin", 2);
    done[1] = true;
    expect_answer(b, 1);
    expect_silence(a);
    client_close(a);
    client_close(b);
}
END_TEST

START_TEST(errors_stay_in_order)
{
    struct client *client = client_open();

    ask(client, "begin", 0);
    ask(client, "frob", 1);
    client_send(client, "{\"method\":\"begin\",\"params\":[{\"a\":1,\"a\":2}],"
                "\"id\":2}");
    ask(client, "begin", 3);
    expect_silence(client);
    done[0] = done[3] = true;
    expect_answer(client, 0);
    expect_error(client, "1", "method", "frob");
    expect_error(client, "2", "invalid", "is given twice");
    expect_answer(client, 3);
    ck_assert_uint_eq(n_forgotten, 4);
    client_close(client);
}
END_TEST

START_TEST(last_words_come_last)
{
    struct client *client = client_open();

    ask(client, "begin", 0);
    ask(client, "begin", 1);
    client_send(client, "nonsense");
    ask(client, "begin", 2);
    now += 100000;
    expect_silence(client);
    ck_assert_uint_eq(n_asked, 2);
    done[0] = true;
    expect_answer(client, 0);
    expect_silence(client);
    done[1] = true;
    expect_answer(client, 1);
    expect_error(client, "null", "syntax", "invalid keyword");
    now += 1000;
    expect_eof(client);
    client_close(client);
}
END_TEST

START_TEST(half_closed_client_gets_its_answers)
{
    struct client *client = client_open();

    ask(client, "begin", 0);
    ask(client, "begin", 1);
    shutdown(client->fd, SHUT_WR);
    expect_silence(client);

    /* Nothing wakes the main loop meanwhile. */
    long long int end = time_msec() + 100;
    int n_woken = 0;
    while (time_msec() < end) {
        adp_control_server_wait(server);
        poll_timer_wait_until(end);
        poll_block();
        n_woken++;
    }
    ck_assert_int_le(n_woken, 2);

    done[0] = done[1] = true;
    expect_answer(client, 0);
    expect_answer(client, 1);
    expect_eof(client);
    ck_assert_uint_eq(adp_control_server_n_clients(server), 0);
    client_close(client);
}
END_TEST

START_TEST(vanished_client_is_forgotten)
{
    struct client *client = client_open();

    ask(client, "begin", 0);
    ask(client, "begin", 1);
    client_close(client);
    turns(10);
    ck_assert_uint_eq(adp_control_server_n_clients(server), 1);

    /* That shows when it is answered. */
    done[0] = true;
    turns(10);
    ck_assert_uint_eq(adp_control_server_n_clients(server), 0);
    ck_assert_uint_eq(n_forgotten, 2);
}
END_TEST

/* Sends requests of 'len' bytes, as many as the server and the socket take.
 * Returns how many were asked. */
static size_t
flood(size_t len)
{
    struct client *client = client_open();

    for (int i = 0; i < 500; i++) {
        char *r = request("begin", i, len);
        size_t n = strlen(r);
        ssize_t sent = send(client->fd, r, n, MSG_NOSIGNAL);

        turns(1);
        free(r);
        if (sent < (ssize_t) n) {
            break;
        }
    }
    turns(100);
    client_close(client);
    return n_asked;
}

START_TEST(their_number_is_bounded)
{
    ck_assert_uint_eq(flood(1), 64);
}
END_TEST

START_TEST(their_memory_is_bounded)
{
    size_t n = flood(60000);

    ck_assert_uint_ge(n, 4);
    ck_assert_uint_le(n, 6);

    struct ds s = DS_EMPTY_INITIALIZER;
    int under_way;
    adp_control_server_format(server, now, &s);
    ck_assert(ovs_scan(strstr(ds_cstr(&s), "messages under way: "),
                       "messages under way: %d bytes", &under_way));
    ck_assert_int_ge(under_way, 4 * 60000);
    ds_destroy(&s);
}
END_TEST

int
main(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    signal(SIGPIPE, SIG_IGN);

    Suite *suite = suite_create("control-ahead");
    TCase *tc = tcase_create("requests");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);  /* For slow machines. */
    tcase_add_test(tc, what_has_begun_lets_others_begin);
    tcase_add_test(tc, answers_come_in_the_same_turn);
    tcase_add_test(tc, what_has_not_begun_stops_the_next);
    tcase_add_test(tc, clients_do_not_wait_for_each_other);
    tcase_add_test(tc, errors_stay_in_order);
    tcase_add_test(tc, last_words_come_last);
    tcase_add_test(tc, half_closed_client_gets_its_answers);
    tcase_add_test(tc, vanished_client_is_forgotten);
    tcase_add_test(tc, their_number_is_bounded);
    tcase_add_test(tc, their_memory_is_bounded);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
