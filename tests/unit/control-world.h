/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_CONTROL_WORLD_H
#define TESTS_CONTROL_WORLD_H 1

/* What the control socket's server is tested with: one that listens, whose
 * turns the test makes, and clients. */

#undef NDEBUG
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "adp-control-server.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "stream.h"
#include "util.h"

/* The server under test. */

static char dir[] = "/tmp/adp-control-XXXXXX";
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static struct adp_control_limits limits;
static struct adp_control_server *server;
static long long int now;

static inline void
control_world_setup(const struct adp_control_server_ops *ops)
{
    struct pstream *listener;

    limits = (struct adp_control_limits) ADP_CONTROL_LIMITS_DEFAULT;
    now = 1000000;

    strcpy(dir, "/tmp/adp-control-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/sock", dir);

    char *name = xasprintf("punix:%s", address.sun_path);
    ck_assert_int_eq(pstream_open(name, &listener, 0), 0);
    free(name);
    server = adp_control_server_create(listener, &limits, ops, NULL);
}

static inline void
control_world_teardown(void)
{
    adp_control_server_destroy(server);
    rmdir(dir);
}

static inline void
turns(int n)
{
    while (n-- > 0) {
        adp_control_server_run(server, now);
    }
}

/* Clients. */

struct client {
    int fd;
    struct ds in;               /* Received and not yet taken. */
    bool eof;
};

static inline struct client *
client_open(void)
{
    struct client *client = xzalloc(sizeof *client);

    client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(client->fd, 0);
    ds_init(&client->in);
    while (connect(client->fd, (struct sockaddr *) &address,
                   sizeof address)) {
        /* The queue of the listener is full. */
        ck_assert_int_eq(errno, EAGAIN);
        turns(1);
    }
    turns(1);
    return client;
}

static inline void
client_close(struct client *client)
{
    close(client->fd);
    ds_destroy(&client->in);
    free(client);
}

/* Sends all, with turns of the server between the portions that it takes. */
static inline void
client_send_n(struct client *client, const char *data, size_t n)
{
    int idle = 0;

    while (n > 0) {
        ssize_t sent = send(client->fd, data, n, MSG_NOSIGNAL);

        if (sent > 0) {
            data += sent;
            n -= sent;
            idle = 0;
        } else {
            ck_assert_msg(errno == EAGAIN, "send: %s", ovs_strerror(errno));
            ck_assert_msg(idle++ < 1000, "server takes no more");
            turns(1);
        }
    }
    turns(1);
}

static inline void
client_send(struct client *client, const char *s)
{
    client_send_n(client, s, strlen(s));
}

static inline void
client_receive(struct client *client)
{
    char buf[65536];
    ssize_t n;

    while ((n = recv(client->fd, buf, sizeof buf, 0)) > 0) {
        ds_put_buffer(&client->in, buf, n);
        turns(1);
    }
    client->eof = client->eof || !n || errno == ECONNRESET;
}

/* Returns the next message, or NULL if there is none. */
static inline struct json *
client_message(struct client *client)
{
    for (int i = 0; i < 200; i++) {
        const char *end;

        turns(1);
        client_receive(client);
        end = client->in.length ? strchr(ds_cstr(&client->in), '\n') : NULL;
        if (end) {
            size_t len = end + 1 - ds_cstr(&client->in);
            char *s = xmemdup0(ds_cstr(&client->in), len);
            struct json *json = json_from_string(s);

            memmove(client->in.string, client->in.string + len,
                    client->in.length - len + 1);
            client->in.length -= len;
            free(s);
            ck_assert_int_eq(json->type, JSON_OBJECT);
            return json;
        }
    }
    return NULL;
}

static inline char *
member(const struct json *json, const char *name)
{
    const struct json *value = shash_find_data(json_object(json), name);

    ck_assert_msg(value, "reply has no \"%s\"", name);
    return json_to_string(value, JSSF_SORT);
}

/* The next message is a reply to request 'id' with 'result'. */
static inline void
expect_result(struct client *client, const char *id, const char *result)
{
    struct json *json = client_message(client);

    ck_assert_msg(json != NULL, "no reply to %s", id);
    char *actual_id = member(json, "id");
    char *actual = member(json, "result");
    char *error = member(json, "error");
    ck_assert_str_eq(error, "null");
    ck_assert_str_eq(actual_id, id);
    ck_assert_str_eq(actual, result);
    free(actual_id);
    free(actual);
    free(error);
    json_destroy(json);
}

/* The next message is an error reply to request 'id' with 'code', whose
 * message contains 'text'. */
static inline void
expect_error(struct client *client, const char *id, const char *code,
             const char *text)
{
    struct json *json = client_message(client);

    ck_assert_msg(json != NULL, "no reply, expected error \"%s\"", text);
    char *actual_id = member(json, "id");
    const struct json *error = shash_find_data(json_object(json), "error");
    ck_assert_int_eq(error->type, JSON_OBJECT);
    const struct shash *members = json_object(error);
    const char *message = json_string(shash_find_data(members, "message"));

    ck_assert_str_eq(actual_id, id);
    ck_assert_str_eq(json_string(shash_find_data(members, "code")), code);
    ck_assert_msg(strstr(message, text), "\"%s\" lacks \"%s\"", message, text);
    free(actual_id);
    json_destroy(json);
}

static inline void
expect_silence(struct client *client)
{
    for (int i = 0; i < 20; i++) {
        turns(1);
        client_receive(client);
    }
    ck_assert_uint_eq(client->in.length, 0);
    ck_assert(!client->eof);
}

static inline void
expect_eof(struct client *client)
{
    for (int i = 0; i < 20; i++) {
        turns(1);
        client_receive(client);
    }
    ck_assert_uint_eq(client->in.length, 0);
    ck_assert(client->eof);
}

static inline void
expect_served(struct client *client)
{
    client_send(client, "{\"method\":\"echo\",\"params\":[17],\"id\":99}");
    expect_result(client, "99", "17");
}

#endif /* control-world.h */
