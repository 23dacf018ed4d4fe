/* SPDX-License-Identifier: Apache-2.0 */

/* The control socket's server, as clients see it, on a real socket in a
 * folder of its own.  The clock is an argument, so that nothing here waits. */

#include <config.h>

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include "control-world.h"
#include "jsonrpc.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "timeval.h"
#include "util.h"

static size_t n_handled;        /* Requests that came to the handler. */
static size_t n_refused;        /* That were wrong. */

/* "echo" returns its parameter, "big" strings of as many bytes as its
 * parameter says, "stage" pretends to keep as many bytes until "stage" keeps
 * 0, anything else is an error. */
static struct json *
handle_request(struct adp_control_conn *conn,
               struct adp_control_request *request, struct json **errorp,
               void *aux OVS_UNUSED)
{
    const struct json *params = request->msg->params;
    const struct json *param = params->array.n ? params->array.elems[0] : NULL;
    const char *method = request->msg->method;

    n_handled++;
    if (param && !strcmp(method, "echo")) {
        return json_clone(param);
    } else if (param && !strcmp(method, "big")) {
        struct json *strings = json_array_create_empty();

        for (long long int len = 0; len < json_integer(param); len += 100) {
            char *s = xasprintf("%098lld", len);

            json_array_add(strings, json_string_create_nocopy(s));
        }
        return strings;
    } else if (param && !strcmp(method, "stage")) {
        adp_control_conn_set_staged(conn, json_integer(param), now);
        return json_clone(param);
    }
    *errorp = adp_control_error("method", NULL, "no method \"%s\"", method);
    return NULL;
}

static void
handle_refused(struct adp_control_conn *conn OVS_UNUSED,
               const struct adp_control_request *request OVS_UNUSED,
               void *aux OVS_UNUSED)
{
    n_refused++;
}

static void
handle_served(void *aux OVS_UNUSED)
{
}

static void
handle_forgotten(struct adp_control_conn *conn OVS_UNUSED,
                 struct adp_control_request *request OVS_UNUSED,
                 void *aux OVS_UNUSED)
{
}

static void
handle_idle(struct adp_control_conn *conn OVS_UNUSED,
            long long int now_ OVS_UNUSED, void *aux OVS_UNUSED)
{
}

static void
handle_closed(struct adp_control_conn *conn OVS_UNUSED, void *aux OVS_UNUSED)
{
}

static const struct adp_control_server_ops ops = {
    handle_request, handle_refused, handle_served, handle_forgotten,
    handle_idle, handle_closed
};

static void
setup(void)
{
    n_handled = n_refused = 0;
    control_world_setup(&ops);
}

static void
teardown(void)
{
    control_world_teardown();
}

/* '{"method":"echo","params":["xxx"],"id":ID}' of 'len' bytes at least. */
static char *
long_request(size_t len, int id)
{
    char *filler = xmalloc(len + 1);

    memset(filler, 'x', len);
    filler[len] = '\0';
    char *s = xasprintf("{\"method\":\"echo\",\"params\":[\"%s\"],\"id\":%d}",
                        filler, id);
    free(filler);
    return s;
}

/* Ordinary life. */

START_TEST(test_requests_are_answered_in_order)
{
    struct client *client = client_open();
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < 500; i++) {
        ds_put_format(&s, "%s{\"method\": \"echo\", \"params\": [{\"n\":%d}], "
                      "\"id\": %d}", i % 3 ? "" : " \r\n\t", i, i);
    }
    client_send_n(client, ds_cstr(&s), s.length);
    ds_destroy(&s);

    for (int i = 0; i < 500; i++) {
        char *id = xasprintf("%d", i);
        char *result = xasprintf("{\"n\":%d}", i);

        expect_result(client, id, result);
        free(id);
        free(result);
    }
    expect_silence(client);
    client_close(client);
}
END_TEST

START_TEST(test_message_may_come_byte_by_byte)
{
    const char *s = "{\"method\":\"echo\",\"id\":\"a b\","
                    "\"params\":[\"\\u00e4\\\"\303\244\"]} ";
    struct client *client = client_open();

    for (; *s; s++) {
        client_send_n(client, s, 1);
    }
    expect_result(client, "\"a b\"", "\"\303\244\\\"\303\244\"");
    client_close(client);
}
END_TEST

START_TEST(test_half_closed_client_gets_its_replies)
{
    struct client *client = client_open();

    client_send(client, "{\"method\":\"echo\",\"params\":[1],\"id\":1}"
                "{\"method\":\"big\",\"params\":[3000000],\"id\":2}"
                "{\"method\":\"echo\",\"params\":[3],\"id\":3}");
    shutdown(client->fd, SHUT_WR);
    expect_result(client, "1", "1");
    json_destroy(client_message(client));
    expect_result(client, "3", "3");
    expect_eof(client);
    ck_assert_uint_eq(adp_control_server_n_clients(server), 0);
    client_close(client);
}
END_TEST

START_TEST(test_errors_of_methods_keep_the_connection)
{
    struct client *client = client_open();

    client_send(client, "{\"method\":\"frob\",\"params\":[],\"id\":1}");
    expect_error(client, "1", "method", "frob");
    expect_served(client);
    client_close(client);
}
END_TEST

START_TEST(test_notifications_are_ignored)
{
    struct client *client = client_open();

    client_send(client, "{\"method\":\"echo\",\"params\":[1],\"id\":null}");
    expect_silence(client);
    expect_served(client);
    ck_assert_uint_eq(n_handled, 1);
    client_close(client);
}
END_TEST

/* Input that isn't right. */

static const struct bad_input {
    const char *input;
    const char *id;             /* Of the reply. */
    const char *text;           /* In the reply. */
} bad_inputs[] = {
    { "hello", "null", "invalid keyword" },
    { "\"string\"", "null", "syntax error" },
    { "{\"method\" \"echo\"}", "null", "expecting ':'" },
    { "{\"method\":\"echo\",,}", "null", "expecting string" },
    { "\001", "null", "invalid character" },
    { "[1,2]", "null", "not a JSON object" },
    { "{}", "null", "must have \"method\"" },
    { "{\"method\":\"echo\",\"id\":7}", "7", "must have \"params\"" },
    { "{\"method\":\"echo\",\"params\":{},\"id\":7}", "7", "params" },
    { "{\"method\":7,\"params\":[],\"id\":7}", "7", "method is not" },
    { "{\"method\":\"echo\",\"params\":[],\"id\":7,\"jsonrpc\":\"2.0\"}", "7",
      "unexpected member" },
    { "{\"result\":1,\"error\":null,\"id\":7}", "7", "unexpected reply" },
    { "{\"method\":\"echo\",\"params\":[\"\xff\"],\"id\":7}", "null",
      "UTF-8" },
    { "{\"method\":\"echo\",\"params\":[\"\xc0\x80\"],\"id\":7}", "null",
      "UTF-8" },
    { "{\"method\":\"echo\",\"params\":[\"\xed\xa0\x80\"],\"id\":7}", "null",
      "UTF-8" },
};

START_TEST(test_bad_input_is_answered_and_ends_the_connection)
{
    const struct bad_input *bad = &bad_inputs[_i];
    struct client *other = client_open();
    struct client *client = client_open();

    client_send(client, bad->input);
    /* What isn't complete is so now. */
    client_send(client, " ");
    expect_error(client, bad->id, "syntax", bad->text);

    now += 1000;
    expect_eof(client);
    ck_assert_uint_eq(n_handled, 0);
    expect_served(other);
    client_close(client);
    client_close(other);
}
END_TEST

START_TEST(test_cut_off_message_is_answered)
{
    struct client *client = client_open();

    client_send(client, "{\"method\":\"echo\",\"params\":[{\"a\":");
    shutdown(client->fd, SHUT_WR);
    expect_error(client, "null", "syntax", "in the middle of a message");
    expect_eof(client);
    client_close(client);
}
END_TEST

START_TEST(test_vanished_client_is_forgotten)
{
    struct client *client = client_open();

    client_send(client, "{\"method\":\"echo\",\"params\":[{\"a\":");
    client_close(client);
    turns(3);
    ck_assert_uint_eq(adp_control_server_n_clients(server), 0);
}
END_TEST

static const struct {
    const char *param;
    const char *path;
} duplicates[] = {
    { "{\"a\":1,\"a\":2}", "params[0].a" },
    { "{\"a\":1,\"b\":{\"a\":1},\"\\u0061\":2}", "params[0].a" },
    { "{\"r\":[{},{\"x\":[]},{\"x\":[{\"y\":\"y,y\",\"y\":null}]}]}",
      "params[0].r[2].x[0].y" },
};

START_TEST(test_duplicate_member_is_named)
{
    struct client *client = client_open();
    char *s = xasprintf("{\"method\":\"echo\",\"params\":[%s],\"id\":1}",
                        duplicates[_i].param);
    char *text = xasprintf("%s: is given twice", duplicates[_i].path);

    client_send(client, s);
    expect_error(client, "1", "invalid", text);
    ck_assert_uint_eq(n_handled, 0);
    ck_assert_uint_eq(n_refused, 1);
    expect_served(client);
    free(text);
    free(s);
    client_close(client);
}
END_TEST

START_TEST(test_same_name_in_other_objects_is_no_duplicate)
{
    struct client *client = client_open();

    client_send(client, "{\"method\":\"echo\",\"params\":[[{\"a\":1},"
                "{\"a\":{\"a\":\"a\"}}]],\"id\":\"id\"}");
    expect_result(client, "\"id\"", "[{\"a\":1},{\"a\":{\"a\":\"a\"}}]");
    client_close(client);
}
END_TEST

/* Limits. */

START_TEST(test_too_long_message_is_refused)
{
    struct client *client = client_open();
    struct client *other = client_open();
    char *fits, *too_long;

    limits.max_message_len = 1000000;
    fits = long_request(990000, 1);
    client_send(client, fits);
    json_destroy(client_message(client));

    /* The client can send all of it and then read the answer. */
    too_long = long_request(1900000, 2);
    client_send(client, too_long);
    expect_error(client, "null", "limit", "longer than 1000000 bytes");
    now += 1000;
    expect_eof(client);
    ck_assert_uint_eq(n_handled, 1);
    expect_served(other);

    free(fits);
    free(too_long);
    client_close(client);
    client_close(other);
}
END_TEST

START_TEST(test_too_many_values_are_refused)
{
    struct client *client = client_open();
    struct ds s = DS_EMPTY_INITIALIZER;

    limits.max_values = 100000;
    ds_put_cstr(&s, "{\"method\":\"echo\",\"id\":1,\"params\":[0");
    for (int i = 0; i < 150000; i++) {
        ds_put_cstr(&s, ",0");
    }
    client_send_n(client, ds_cstr(&s), s.length);
    expect_error(client, "null", "limit", "more than 100000 values");
    ds_destroy(&s);
    client_close(client);
}
END_TEST

START_TEST(test_too_deep_nesting_is_refused)
{
    struct client *client = client_open();
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, "{\"method\":\"echo\",\"id\":1,\"params\":[");
    ds_put_char_multiple(&s, '[', 98);
    ds_put_char_multiple(&s, ']', 98);
    ds_put_cstr(&s, "]}");
    client_send(client, ds_cstr(&s));
    struct json *reply = client_message(client);
    char *error = member(reply, "error");
    ck_assert_str_eq(error, "null");
    free(error);
    json_destroy(reply);

    ds_clear(&s);
    ds_put_cstr(&s, "{\"method\":\"echo\",\"id\":1,\"params\":[");
    ds_put_char_multiple(&s, '[', 900);
    client_send(client, ds_cstr(&s));
    expect_error(client, "null", "limit", "deeper than 100 levels");
    ds_destroy(&s);
    client_close(client);
}
END_TEST

START_TEST(test_silence_in_a_message_ends_the_connection)
{
    struct client *idle = client_open();
    struct client *client = client_open();

    client_send(client, "{\"method\":");
    now += 29999;
    expect_silence(client);
    now += 1;
    expect_error(client, "null", "limit", "silence of 30 s");
    now += 1000;
    expect_eof(client);

    /* Between messages a client may be silent for ever. */
    now += 1000000;
    expect_silence(idle);
    expect_served(idle);
    client_close(client);
    client_close(idle);
}
END_TEST

START_TEST(test_message_must_not_take_for_ever)
{
    struct client *client = client_open();

    client_send(client, "[");
    for (int i = 0; i < 29; i++) {
        now += 10000;
        client_send(client, "[");
    }
    expect_silence(client);
    now += 10000;
    client_send(client, "[");
    expect_error(client, "null", "limit", "more than 300 s");
    client_close(client);
}
END_TEST

static void
stage(struct client *client, int n)
{
    char *n_text = xasprintf("%d", n);
    char *request = xasprintf("{\"method\":\"stage\",\"params\":[%d],"
                              "\"id\":1}", n);

    client_send(client, request);
    expect_result(client, "1", n_text);
    free(request);
    free(n_text);
}

START_TEST(test_staged_transaction_must_go_on)
{
    struct client *silent = client_open();
    struct client *slow = client_open();
    struct client *done = client_open();

    stage(silent, 1);
    stage(slow, 1);
    stage(done, 1);
    stage(done, 0);
    now += 29999;
    expect_silence(silent);
    stage(slow, 2);
    now += 1;
    expect_error(silent, "null", "limit", "silence of 30 s in the middle of a "
                 "staged transaction");

    /* Who is never silent must come to an end, too. */
    for (int i = 0; i < 56; i++) {
        now += 10000;
        stage(slow, 1);
    }
    expect_silence(slow);
    now += 10000;
    expect_error(slow, "null", "limit", "more than 600 s");
    expect_served(done);
    client_close(silent);
    client_close(slow);
    client_close(done);
}
END_TEST

START_TEST(test_client_that_does_not_read_is_disconnected)
{
    struct client *other = client_open();
    struct client *client = client_open();
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < 100; i++) {
        ds_put_cstr(&s, "{\"method\":\"big\",\"params\":[20000000],\"id\":1}");
    }
    client_send_n(client, ds_cstr(&s), s.length);
    ds_clear(&s);
    turns(100);

    /* One reply is begun, no more. */
    ck_assert_uint_eq(n_handled, 1);
    adp_control_server_format(server, now, &s);
    int n_made = 0;
    ck_assert(ovs_scan(strstr(ds_cstr(&s), "unread replies: "), "unread "
                       "replies: %*d bytes (limit %*d), %d of them made",
                       &n_made));
    ck_assert_int_gt(n_made, 0);
    ck_assert_int_le(n_made, 2 * 65536);
    ds_destroy(&s);

    now += 29999;
    turns(2);
    ck_assert_uint_eq(adp_control_server_n_clients(server), 2);
    expect_served(other);
    now += 1;
    turns(2);
    ck_assert_uint_eq(adp_control_server_n_clients(server), 1);
    expect_served(other);
    client_close(client);
    client_close(other);
}
END_TEST

START_TEST(test_slow_reader_gets_a_big_reply)
{
    struct client *client = client_open();
    size_t total = 0;

    client_send(client, "{\"method\":\"big\",\"params\":[20000000],\"id\":1}");
    for (int i = 0; total < 20000000; i++) {
        char buf[100000];
        ssize_t n = recv(client->fd, buf, sizeof buf, 0);

        ck_assert_msg(n > 0, "after %"PRIuSIZE" bytes", total);
        total += n;
        now += 20000;
        turns(1);
    }
    ds_clear(&client->in);
    client_receive(client);
    ds_clear(&client->in);
    expect_served(client);
    client_close(client);
}
END_TEST

START_TEST(test_unread_replies_are_bounded_together)
{
    struct client *a = client_open();
    struct client *b = client_open();

    limits.max_backlog_len = 1000000;
    client_send(a, "{\"method\":\"big\",\"params\":[5000000],\"id\":1}");
    client_send(b, "{\"method\":\"big\",\"params\":[5000000],\"id\":1}");
    expect_error(b, "1", "limit", "too many replies");
    expect_served(b);

    /* When the first has read its reply, the second may have one. */
    json_destroy(client_message(a));
    client_send(b, "{\"method\":\"big\",\"params\":[5000000],\"id\":2}");
    struct json *reply = client_message(b);
    char *error = member(reply, "error");
    ck_assert_str_eq(error, "null");
    free(error);
    json_destroy(reply);
    client_close(a);
    client_close(b);
}
END_TEST

START_TEST(test_messages_under_way_are_bounded_together)
{
    struct client *a = client_open();
    struct client *b = client_open();
    char *message = long_request(1000000, 1);
    size_t half = 500000;

    limits.max_pending_cost = 600000;
    client_send_n(a, message, half);
    now++;
    /* As much of it as the server takes and the socket holds. */
    size_t b_sent = 0;
    for (int i = 0; i < 10; i++) {
        ssize_t n = send(b->fd, message + b_sent, 200000, MSG_NOSIGNAL);

        b_sent += MAX(n, 0);
        turns(2);
    }
    ck_assert_uint_lt(b_sent, half);

    /* The second client waits for the first one, and isn't blamed for it. */
    for (int i = 0; i < 10; i++) {
        now += 20000;
        client_send_n(a, message + half + i, 1);
    }
    expect_silence(b);
    client_send_n(a, message + half + 10, strlen(message) - half - 10);
    json_destroy(client_message(a));
    client_send_n(b, message + b_sent, strlen(message) - b_sent);
    struct json *reply = client_message(b);
    ck_assert_ptr_nonnull(reply);
    char *error = member(reply, "error");
    ck_assert_str_eq(error, "null");
    free(error);
    json_destroy(reply);

    free(message);
    client_close(a);
    client_close(b);
}
END_TEST

/* A turn is cut short when the machine is busy: a client may have to wait. */
static void
turns_until_n_clients(size_t n)
{
    for (int i = 0; i < 1000 && adp_control_server_n_clients(server) != n;
         i++) {
        turns(1);
    }
    ck_assert_uint_eq(adp_control_server_n_clients(server), n);
}

START_TEST(test_too_many_clients_are_refused)
{
    struct client *clients[300];

    for (int i = 0; i < ARRAY_SIZE(clients); i++) {
        clients[i] = client_open();
    }
    for (int i = 0; i < 256; i++) {
        expect_served(clients[i]);
    }
    for (int i = 256; i < 300; i++) {
        expect_error(clients[i], "null", "limit", "more than 256 clients");
    }
    now += 1000;
    for (int i = 256; i < 300; i++) {
        expect_eof(clients[i]);
    }

    /* A place that becomes free is given away again. */
    client_close(clients[0]);
    turns_until_n_clients(255);
    clients[0] = client_open();
    for (int i = 0; i < 256; i++) {
        expect_served(clients[i]);
    }
    for (int i = 0; i < ARRAY_SIZE(clients); i++) {
        client_close(clients[i]);
    }
    turns_until_n_clients(0);
}
END_TEST

START_TEST(test_big_message_leaves_others_their_turn)
{
    struct client *hog = client_open();
    struct client *client = client_open();
    char *message = long_request(30000000, 1);
    size_t len = strlen(message);
    size_t sent = 0;

    while (sent < len) {
        ssize_t n = send(hog->fd, message + sent, len - sent, MSG_NOSIGNAL);

        sent += MAX(n, 0);
        expect_served(client);
    }
    json_destroy(client_message(hog));
    free(message);
    client_close(hog);
    client_close(client);
}
END_TEST

/* Anything. */

START_TEST(test_random_input)
{
    static const char valid[]
        = "{\"method\":\"echo\",\"params\":[{\"bridge\":\"br-int\","
          "\"records\":[{\"kind\":\"Pod\",\"ips\":[\"10.0.0.1\",-1.5e3,null,"
          "true],\"x\":\"\\u00e4\\n\303\244\"}]}],\"id\":[1]}";
    struct client *other = client_open();

    test_seed_random();
    for (int i = 0; i < 3000; i++) {
        struct client *client = client_open();
        char s[sizeof valid - 1];

        memcpy(s, valid, sizeof s);
        for (uint32_t j = random_range(4); j > 0; j--) {
            s[random_range(sizeof s)] = (random_range(2)
                                         ? random_uint8()
                                         : valid[random_range(sizeof s)]);
        }
        for (size_t ofs = 0; ofs < sizeof s; ) {
            size_t n = 1 + random_range(100);

            n = MIN(n, sizeof s - ofs);
            client_send_n(client, s + ofs, n);
            ofs += n;
        }
        shutdown(client->fd, SHUT_WR);

        /* Whatever it was, it is answered, or it was a notification; and the
         * server is none the worse. */
        client_receive(client);
        client_close(client);
        if (!(i % 100)) {
            expect_served(other);
        }
    }
    turns_until_n_clients(1);
    expect_served(other);
    client_close(other);
}
END_TEST

/* What people see of it. */

START_TEST(test_format)
{
    struct client *client = client_open();
    struct ds s = DS_EMPTY_INITIALIZER;

    expect_served(client);
    client_send(client, "[");
    adp_control_server_format(server, now + 3000, &s);
    ck_assert_ptr_nonnull(strstr(ds_cstr(&s), "clients: 1 (limit 256)"));
    ck_assert_ptr_nonnull(strstr(ds_cstr(&s), "requests: 1, errors: 0"));
    ck_assert_ptr_nonnull(strstr(ds_cstr(&s), "in a message, 1 requests"));
    ck_assert_ptr_nonnull(strstr(ds_cstr(&s), "silent for 3 s"));
    ds_destroy(&s);
    client_close(client);
}
END_TEST

/* The server asks to be woken when it can go on. */
START_TEST(test_wait)
{
    struct client *client = client_open();
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < 100; i++) {
        ds_put_cstr(&s, "{\"method\":\"echo\",\"params\":[1],\"id\":1}");
    }
    ck_assert_int_eq(send(client->fd, ds_cstr(&s), s.length, 0), s.length);
    ds_destroy(&s);

    while (n_handled < 100) {
        long long int end = time_msec() + 60 * 1000;

        adp_control_server_wait(server);
        poll_timer_wait_until(end);
        poll_block();
        ck_assert_int_lt(time_msec(), end);
        turns(1);
    }
    client_close(client);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("control-conn");
    TCase *life = tcase_create("life");
    TCase *bad = tcase_create("bad input");
    TCase *lim = tcase_create("limits");
    TCase *other = tcase_create("other");

    tcase_add_checked_fixture(life, setup, teardown);
    tcase_add_test(life, test_requests_are_answered_in_order);
    tcase_add_test(life, test_message_may_come_byte_by_byte);
    tcase_add_test(life, test_half_closed_client_gets_its_replies);
    tcase_add_test(life, test_errors_of_methods_keep_the_connection);
    tcase_add_test(life, test_notifications_are_ignored);
    suite_add_tcase(s, life);

    tcase_add_checked_fixture(bad, setup, teardown);
    tcase_add_loop_test(bad,
                        test_bad_input_is_answered_and_ends_the_connection,
                        0, ARRAY_SIZE(bad_inputs));
    tcase_add_test(bad, test_cut_off_message_is_answered);
    tcase_add_test(bad, test_vanished_client_is_forgotten);
    tcase_add_loop_test(bad, test_duplicate_member_is_named, 0,
                        ARRAY_SIZE(duplicates));
    tcase_add_test(bad, test_same_name_in_other_objects_is_no_duplicate);
    suite_add_tcase(s, bad);

    tcase_add_checked_fixture(lim, setup, teardown);
    tcase_set_timeout(lim, 120);
    tcase_add_test(lim, test_too_long_message_is_refused);
    tcase_add_test(lim, test_too_many_values_are_refused);
    tcase_add_test(lim, test_too_deep_nesting_is_refused);
    tcase_add_test(lim, test_silence_in_a_message_ends_the_connection);
    tcase_add_test(lim, test_message_must_not_take_for_ever);
    tcase_add_test(lim, test_staged_transaction_must_go_on);
    tcase_add_test(lim, test_client_that_does_not_read_is_disconnected);
    tcase_add_test(lim, test_slow_reader_gets_a_big_reply);
    tcase_add_test(lim, test_unread_replies_are_bounded_together);
    tcase_add_test(lim, test_messages_under_way_are_bounded_together);
    tcase_add_test(lim, test_too_many_clients_are_refused);
    tcase_add_test(lim, test_big_message_leaves_others_their_turn);
    suite_add_tcase(s, lim);

    tcase_add_checked_fixture(other, setup, teardown);
    tcase_set_timeout(other, 120);
    tcase_add_test(other, test_random_input);
    tcase_add_test(other, test_format);
    tcase_add_test(other, test_wait);
    suite_add_tcase(s, other);
    return s;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    signal(SIGPIPE, SIG_IGN);

    return test_run(suite());
}
