/* SPDX-License-Identifier: Apache-2.0 */

/* The control socket, from bytes to the state: several clients of a server
 * with small limits, on a real socket, and the methods on a state whose bridge
 * is the tests' own.
 *
 * Input: a program.  Its steps open, half close and close clients; write bytes
 * of the input's, or calls that are put together of pieces, a part at a time;
 * read replies, or some bytes of them; let time pass, and have the bridge
 * refuse flows.
 *
 * Must hold: each request of a client gets one reply, in the order of the
 * requests, until an error ends the connection; nobody waits for ever; nothing
 * is left when all have gone. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-control-catch.h"
#include "adp-control-hold.h"
#include "adp-control-methods.h"
#include "adp-control-server.h"
#include "adp-control-stage.h"
#include "adp-control-reading.h"
#include "adp-control-stats.h"
#include "adp-control-transaction.h"
#include "adp-waste.h"
#include "adp-fqdns.h"
#include "adp-multicast.h"
#include "adp-shadow.h"
#include "adp-show-log.h"
#include "adp-show-meaning.h"
#include "adp-show.h"
#include "fuzz-place.h"
#include "jsonrpc.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "stream.h"
#include "svec.h"
#include "tests/unit/state-world.h"
#include "timeval.h"

const long int fuzz_runs = 150;

enum { N_CLIENTS = 4, MAX_STEPS = 80 };

/* The clock. */

static long long int now = 1000 * 1000;

long long int __wrap_time_msec(void);

long long int
__wrap_time_msec(void)
{
    return now;
}

/* What methods ask of the rest of the daemon. */

struct adp_bridge *
adp_bridge_only(void)
{
    return &bridge;
}

struct adp_bridge *
adp_bridge_lookup(const char *name)
{
    return strcmp(name, "br-test") ? NULL : &bridge;
}

struct adp_bridge *
adp_bridge_next(const struct adp_bridge *b)
{
    return b ? NULL : &bridge;
}

struct adp_state *
adp_bridge_state(const struct adp_bridge *b OVS_UNUSED)
{
    return state;
}

const char *
adp_bridge_pipeline_error(const struct adp_bridge *b OVS_UNUSED)
{
    return NULL;
}

uint32_t
adp_bridge_serial(const struct adp_bridge *b OVS_UNUSED)
{
    return 1;
}

struct adp_fqdns *
adp_bridge_fqdns(const struct adp_bridge *b OVS_UNUSED)
{
    return NULL;
}

struct adp_multicast *
adp_bridge_multicast(const struct adp_bridge *b OVS_UNUSED)
{
    return NULL;
}

struct json *
adp_fqdns_get(const struct adp_fqdns *fqdns OVS_UNUSED)
{
    return json_array_create_empty();
}

struct json *
adp_shadow_differences(const struct adp_bridge *b OVS_UNUSED)
{
    return json_array_create_empty();
}

struct json *
adp_multicast_get(const struct adp_multicast *m OVS_UNUSED,
                  const struct adp_model *model OVS_UNUSED)
{
    return json_array_create_empty();
}

void
adp_show_l7_rules(const struct adp_bridge *b OVS_UNUSED, struct json *result)
{
    json_object_put(result, "rules", adp_state_l7_rules(state));
}

struct json *
adp_show_log_lines(const char *b OVS_UNUSED, uint64_t after,
                   unsigned int max)
{
    struct json *result = json_object_create();
    struct json *lines = json_array_create_empty();

    /* One client's wait is another's answer. */
    for (size_t i = 0; i < max && after + i < now % 7; i++) {
        json_array_add(lines, json_integer_create(i));
    }
    json_object_put(result, "last",
                    json_integer_create(after + json_array(lines)->n));
    json_object_put(result, "lines", lines);
    return result;
}

char *
adp_show_packet(struct adp_bridge *b OVS_UNUSED, const char *in_port,
                const char *flow, const char *packet, struct json **result)
{
    if (*in_port == '!') {
        return xstrdup("no");
    }
    *result = json_object_create();
    json_object_put_string(*result, "packet", flow ? flow : packet);
    return NULL;
}

char *
adp_show_explain(struct adp_bridge *b OVS_UNUSED, const char *what,
                 struct json **answer)
{
    if (!*what) {
        return xstrdup("nothing");
    }
    *answer = json_string_create(what);
    return NULL;
}

struct json *
adp_show_vocabulary(struct adp_bridge *b OVS_UNUSED)
{
    return json_object_create();
}

/* A long reply. */
void
adp_show_program(struct adp_bridge *b OVS_UNUSED, struct ds *s)
{
    ds_put_char_multiple(s, '"', 20000);
}

/* Counters take some turns. */

static bool
stats_may_begin(const struct adp_bridge *b OVS_UNUSED, const void *n_turns_)
{
    int *n_turns = CONST_CAST(void *, n_turns_);

    return !*n_turns || !--*n_turns;
}

static void
stats_read(struct adp_bridge *b OVS_UNUSED, void *n_turns OVS_UNUSED)
{
}

static struct json *
stats_take(void *n_turns OVS_UNUSED, struct adp_error **errorp OVS_UNUSED)
{
    return json_object_create();
}

struct adp_control_reading *
adp_control_stats_create(const struct adp_bridge *b, bool all)
{
    static const struct adp_control_reading_class class = {
        .may_begin = stats_may_begin,
        .read = stats_read,
        .take = stats_take,
        .destroy = free,
    };
    int *n_turns = xmalloc(sizeof *n_turns);

    *n_turns = all ? 3 : 0;
    return adp_control_reading_create(&class, b, n_turns);
}

/* Packets never come. */

char *
adp_control_catch_begin(struct adp_control_catch *catch,
                        struct adp_bridge *b OVS_UNUSED, const char *in_port,
                        const char *flow OVS_UNUSED, const char **code)
{
    *code = "invalid";
    free(catch->what);
    catch->what = xstrdup(in_port ? in_port : "any");
    return in_port && *in_port == '!' ? xstrdup("no such port") : NULL;
}

void
adp_control_catch_end(struct adp_control_catch *catch)
{
    free(catch->what);
    catch->what = NULL;
    catch->deadline = 0;
}

struct json *
adp_control_catch_result(struct adp_control_catch *catch,
                         long long int wait_ms)
{
    if (!catch->deadline) {
        catch->deadline = now + wait_ms;
    }
    if (now < catch->deadline) {
        return NULL;
    }
    catch->deadline = 0;
    return json_object_create();
}

void
adp_control_catch_run(struct adp_control_catch *catch OVS_UNUSED)
{
}

/* The server, as adp-control.c has it. */

static const struct adp_control_limits limits = {
    .max_message_len = 8192,
    .max_values = 400,
    .max_depth = 16,
    .max_silence_ms = 30 * 1000,
    .max_message_ms = 300 * 1000,
    .max_staged_cost = 20000,
    .max_staged_ms = 600 * 1000,
    .max_unread_ms = 30 * 1000,
    .max_clients = 3,
    .max_pending_cost = 8192,
    .max_backlog_len = 30000,
};

static struct adp_control_stage_pool stages;
static struct adp_control_server *server;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static bool tells;

static struct json *
handle_request(struct adp_control_conn *conn,
               struct adp_control_request *request, struct json **errorp,
               void *aux OVS_UNUSED)
{
    struct adp_control_transaction *transaction = request->aux;

    if (!conn->aux) {
        conn->aux = adp_control_session_create(&stages);
    }
    struct json *result = adp_control_call_method(conn->aux, &transaction,
                                                  request->msg->method,
                                                  request->msg->params,
                                                  request->cost, errorp);
    fuzz_require(!result || !*errorp);
    if (transaction && !request->begun) {
        json_destroy(request->msg->params);
        request->msg->params = json_array_create_empty();
    }
    request->aux = transaction;
    request->begun = transaction != NULL;
    adp_control_conn_set_staged(conn,
                                adp_control_session_staged_cost(conn->aux),
                                now);
    return result;
}

static void
handle_refused(struct adp_control_conn *conn,
               const struct adp_control_request *request,
               void *aux OVS_UNUSED)
{
    if (conn->aux) {
        adp_control_session_refuse(conn->aux, request->msg->method,
                                   request->msg->params);
        adp_control_conn_set_staged(conn, adp_control_session_staged_cost(
                                        conn->aux), now);
    }
}

static void
handle_served(void *aux OVS_UNUSED)
{
    adp_control_transactions_run();
}

static void
handle_forget(struct adp_control_conn *conn,
              struct adp_control_request *request, void *aux OVS_UNUSED)
{
    adp_control_session_forget(conn->aux, request->aux);
}

static void
handle_idle(struct adp_control_conn *conn, long long int now_,
            void *aux OVS_UNUSED)
{
    struct json *updates = conn->aux ? adp_control_session_run(conn->aux)
                           : NULL;

    if (updates) {
        struct jsonrpc_msg *msg = jsonrpc_create_notify("update", updates);

        adp_control_conn_send(conn, jsonrpc_msg_to_json(msg), now_);
    }
}

static void
handle_closed(struct adp_control_conn *conn, void *aux OVS_UNUSED)
{
    adp_control_session_destroy(conn->aux);
}

static const struct adp_control_server_ops ops = {
    .request = handle_request,
    .refused = handle_refused,
    .served = handle_served,
    .forget = handle_forget,
    .idle = handle_idle,
    .closed = handle_closed,
};

static void
turns(int n)
{
    while (n-- > 0) {
        adp_state_run(state);
        adp_control_server_run(server, now);
        adp_waste_run(0);
    }
}

/* Clients. */

struct client {
    int fd;                     /* -1: none. */
    struct ds out;              /* Written and not sent yet. */
    struct ds in;               /* Received and not looked at. */
    bool half_closed, eof;
    bool ended;                 /* By an error. */

    /* What it has sent. */
    struct json_parser *parser;
    struct svec ids;            /* Of requests without a reply, in order. */
    bool muddled;               /* No more can be known of it. */
};

static struct client clients[N_CLIENTS];

static void
client_open(struct client *c)
{
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    fuzz_require(c->fd >= 0);
    if (connect(c->fd, (struct sockaddr *) &address, sizeof address)) {
        fuzz_require(errno == EAGAIN);
        close(c->fd);
        c->fd = -1;
        return;
    }
    ds_init(&c->out);
    ds_init(&c->in);
    svec_init(&c->ids);
    c->half_closed = c->eof = c->ended = c->muddled = false;
    c->parser = NULL;
}

static void
client_close(struct client *c)
{
    if (c->fd >= 0) {
        close(c->fd);
        c->fd = -1;
        ds_destroy(&c->out);
        ds_destroy(&c->in);
        svec_destroy(&c->ids);
        json_destroy(c->parser ? json_parser_finish(c->parser) : NULL);
    }
}

/* A whole message was sent. */
static void
note_message(struct client *c, struct json *json)
{
    struct jsonrpc_msg *msg;

    if (json->type == JSON_STRING) {
        json_destroy(json);
        c->muddled = true;
        return;
    }

    char *error = jsonrpc_msg_from_json(json, &msg);
    if (error || (msg->type != JSONRPC_REQUEST
                  && msg->type != JSONRPC_NOTIFY)) {
        c->muddled = true;
    } else if (msg->type == JSONRPC_REQUEST) {
        svec_add_nocopy(&c->ids, json_to_string(msg->id, JSSF_SORT));
    }
    jsonrpc_msg_destroy(error ? NULL : msg);
    free(error);
}

/* Upstream's parser says where messages end. */
static void
note_sent(struct client *c, const char *data, size_t n)
{
    while (n && !c->muddled) {
        if (!c->parser && strchr(" \t\r\n", *data) && *data) {
            data++;
            n--;
            continue;
        }
        if (!c->parser) {
            c->parser = json_parser_create(0);
        }

        size_t used = json_parser_feed(c->parser, data, n);
        data += used;
        n -= used;
        if (json_parser_is_done(c->parser)) {
            struct json *json = json_parser_finish(c->parser);

            c->parser = NULL;
            note_message(c, json);
        } else if (!used) {
            break;
        }
    }
}

/* Sends up to 'n' bytes of what was written. */
static void
client_send(struct client *c, size_t n)
{
    n = MIN(n, c->out.length);
    if (c->half_closed || !n) {
        return;
    }

    ssize_t sent = send(c->fd, ds_cstr(&c->out), n, MSG_NOSIGNAL);
    if (sent > 0) {
        note_sent(c, ds_cstr(&c->out), sent);
        memmove(c->out.string, c->out.string + sent, c->out.length - sent + 1);
        c->out.length -= sent;
    }
}

static const struct json *
member(const struct json *json, const char *name)
{
    const struct json *value = shash_find_data(json_object(json), name);

    fuzz_require(value);
    return value;
}

static void
check_reply(struct client *c, const struct json *json)
{
    const struct json *error = member(json, "error");
    bool ok = error->type == JSON_NULL;

    fuzz_require(!c->ended);
    fuzz_require((member(json, "result")->type == JSON_NULL) == !ok);
    if (!ok) {
        fuzz_require(error->type == JSON_OBJECT);
        fuzz_require(*json_string(member(error, "code")));
        fuzz_require(*json_string(member(error, "message")));
    }

    char *id = json_to_string(member(json, "id"), JSSF_SORT);
    if (c->ids.n && !strcmp(id, c->ids.names[0])) {
        free(c->ids.names[0]);
        memmove(c->ids.names, c->ids.names + 1,
                --c->ids.n * sizeof *c->ids.names);
    } else {
        fuzz_require(!ok);
        c->ended = true;
    }
    free(id);
}

static void
check_line(struct client *c, const char *line)
{
    struct json *json = json_from_string(line);

    if (tells) {
        fprintf(stderr, "%d got %.100s\n", (int) (c - clients), line);
    }
    fuzz_require(json->type == JSON_OBJECT);
    if (shash_find(json_object(json), "method")) {
        fuzz_require(!strcmp(json_string(member(json, "method")), "update"));
        fuzz_require(json_array(member(json, "params"))->n);
        fuzz_require(!c->ended);
    } else {
        check_reply(c, json);
    }
    json_destroy(json);
}

/* Reads up to 'max' bytes, and looks at whole lines. */
static void
client_receive(struct client *c, size_t max)
{
    char buf[4096];

    while (max) {
        ssize_t n = recv(c->fd, buf, MIN(max, sizeof buf), 0);

        if (n <= 0) {
            c->eof = c->eof || !n || errno == ECONNRESET;
            break;
        }
        ds_put_buffer(&c->in, buf, n);
        max -= n;
    }

    char *start = ds_cstr(&c->in), *end;
    while ((end = strchr(start, '\n')) != NULL) {
        *end = '\0';
        check_line(c, start);
        start = end + 1;
    }
    c->in.length -= start - c->in.string;
    memmove(c->in.string, start, c->in.length + 1);
}

/* Calls. */

static const char *const methods[] = {
    "apply", "delete", "stage", "transact", "replace", "get", "watch", "stats",
    "l7_rules", "logs", "trace", "catch", "explain", "program", "fqdns",
    "multicast_groups", "version", "frobnicate", "stage", "transact", "get",
};

static const char *const params[] = {
    "\"records\":[%]", "\"apply\":[%]", "\"delete\":[%]", "\"records\":[%,%]",
    "\"apply\":[%,%,%]", "\"delete\":[%,%]", "\"staged\":true",
    "\"if_generation\":2", "\"if_generation\":-1", "\"ignore_missing\":true",
    "\"bridge\":\"br-test\"", "\"bridge\":\"br-none\"", "\"bridge\":7",
    "\"kind\":\"Pod\"", "\"kind\":\"AddressGroup\"", "\"kind\":\"Frob\"",
    "\"name\":\"a/1\"", "\"names\":[%]", "\"names\":[\"a/1\"]", "\"keys\":[%]",
    "\"keys\":[\"x\"]", "\"brief\":true", "\"hold\":true", "\"hold\":1",
    "\"after\":3", "\"max\":5", "\"wait_ms\":2000", "\"wait_ms\":30000",
    "\"in_port\":\"p1\"", "\"in_port\":\"!\"", "\"flow\":\"tcp\"",
    "\"packet\":\"00\"", "\"what\":[\"reg0=1\",\"\"]", "\"what\":[]",
    "\"patch\":[{\"kind\":\"AddressGroup\",\"name\":\"9\",\"add\":"
    "[\"10.0.0.7\"]}]", "\"patch\":[%]", "\"staged\":false",
    "\"records\":{}", "\"apply\":[[]]", "\"staged\":true,\"staged\":true",
};

static const char *const records[] = {
    POD1, POD1_MAC, POD2, GROUP("9", "\"10.0.0.1\""), GROUP("7", ""),
    GROUP("8!", ""), GROUP("6*", ""), KEY("Pod", "a/1"), KEY("Pod", "a/2"),
    KEY("AddressGroup", "9"), KEY("Pod", "none"), KEY("Frob", "x"), "7",
    "null", "\"x\"", "{}", "{\"kind\":\"Pod\"}", "[]",
    GROUP("\\u0001\\ud83d\\ude00", "\"10.0.0.1\",\"10.0.0.1\""),
    "{\"kind\":\"Egress\",\"name\":\"5\",\"bandwidth\":{\"rate\":1}}",
    GROUP("10", "\"fd00::1\",\"10.0.0.0/8\",\"bad\""),
};

static void
put_param(struct ds *s, struct fuzz_input *in)
{
    const char *p = params[fuzz_range(in, ARRAY_SIZE(params))];

    for (; *p; p++) {
        if (*p == '%') {
            ds_put_cstr(s, records[fuzz_range(in, ARRAY_SIZE(records))]);
        } else {
            ds_put_char(s, *p);
        }
    }
}

static void
put_call(struct ds *s, struct fuzz_input *in)
{
    static unsigned int id;
    unsigned int n = fuzz_u8(in) & 3;

    ds_put_format(s, "{\"method\":\"%s\",\"params\":[{",
                  methods[fuzz_range(in, ARRAY_SIZE(methods))]);
    for (unsigned int i = 0; i < n; i++) {
        ds_put_cstr(s, i ? "," : "");
        put_param(s, in);
    }
    ds_put_format(s, "}],\"id\":%u}", ++id);
}

/* Everything else. */

static void
step(struct fuzz_input *in)
{
    uint8_t op = fuzz_u8(in);
    struct client *c = &clients[op >> 4 & 3];

    if (c->fd < 0) {
        client_open(c);
        if (c->fd < 0) {
            turns(1);
            return;
        }
    }
    if (tells) {
        fprintf(stderr, "step %#x\n", op);
    }
    switch (op & 15) {
    case 0: case 1: case 2:
        put_call(&c->out, in);
        client_send(c, op & 0x80 ? fuzz_u8(in) : SIZE_MAX);
        break;
    case 3: {
        size_t n = fuzz_u8(in);
        const uint8_t *p = fuzz_bytes(in, &n);

        ds_put_buffer(&c->out, (const char *) p, n);
        client_send(c, SIZE_MAX);
        break;
    }
    case 4:                     /* Much of something. */
        ds_put_char_multiple(&c->out, " [{\"\\a1\n"[fuzz_u8(in) & 7],
                             100 * fuzz_u8(in));
        client_send(c, SIZE_MAX);
        break;
    case 5: case 6:
        client_send(c, op & 0x80 ? fuzz_u8(in) : SIZE_MAX);
        break;
    case 7:
        client_receive(c, fuzz_u8(in));
        break;
    case 8:
        client_receive(c, SIZE_MAX);
        break;
    case 9:
        if (op & 0x80) {
            client_close(c);
        } else {
            shutdown(c->fd, SHUT_WR);
            c->half_closed = true;
        }
        break;
    case 10:
        now += 100 * fuzz_u8(in);
        break;
    case 11:
        now += 100;
        break;
    case 12:
        free(bridge.refusal);
        bridge.refusal = op & 0x80 ? xstrdup("refused") : NULL;
        break;
    case 13: {
        struct ds s = DS_EMPTY_INITIALIZER;

        adp_control_server_format(server, now, &s);
        ds_destroy(&s);
        break;
    }
    default:
        turns(1 + (op >> 6));
        break;
    }
}

/* Nobody may wait for ever for an answer. */
static void
settle(void)
{
    for (int i = 0; i < 30; i++) {
        turns(4);
        for (size_t j = 0; j < N_CLIENTS; j++) {
            if (clients[j].fd >= 0) {
                client_receive(&clients[j], SIZE_MAX);
            }
        }
        now += 1500;
    }
    for (size_t i = 0; i < N_CLIENTS; i++) {
        struct client *c = &clients[i];

        fuzz_require(c->fd < 0 || !c->ids.n || c->ended || c->eof
                     || c->half_closed);
        client_close(c);
    }
    turns(4);
    now += 60 * 1000;
    turns(4);
    fuzz_require(!adp_control_server_n_clients(server));
    while (!adp_waste_is_empty()) {
        adp_waste_run(0);
    }
    fuzz_require(!stages.cost);
}

static void
finish(void)
{
    adp_control_server_destroy(server);
    ovsrcu_barrier();
}

int
LLVMFuzzerInitialize(int *argc OVS_UNUSED, char ***argv OVS_UNUSED)
{
    struct pstream *listener;

    signal(SIGPIPE, SIG_IGN);   /* As the daemon does. */

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    fuzz_leave_signals();
    snprintf(address.sun_path, sizeof address.sun_path, "%s/sock",
             fuzz_place());

    char *name = xasprintf("punix:%s", address.sun_path);
    fuzz_require(!pstream_open(name, &listener, 0));
    free(name);
    stages.max_cost = limits.max_staged_cost;
    stages.discard = adp_waste_put;
    server = adp_control_server_create(listener, &limits, &ops, NULL);
    for (size_t i = 0; i < N_CLIENTS; i++) {
        clients[i].fd = -1;
    }
    atexit(finish);
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };

    tells = getenv("FUZZ_TELL") != NULL;
    state_world_setup();
    for (int i = 0; i < MAX_STEPS && in.n; i++) {
        step(&in);
    }
    free(bridge.refusal);
    bridge.refusal = NULL;
    settle();
    state_world_teardown();
    ovsrcu_quiesce();
    return 0;
}
