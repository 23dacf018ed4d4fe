/* SPDX-License-Identifier: Apache-2.0 */

/* trace, stats, program, version: what the daemon does. */

#include <config.h>
#include "dpctl-cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dpctl-explain.h"
#include "dpctl-html.h"
#include "dpctl-json.h"
#include "dpctl-parties.h"
#include "dpctl-pcap.h"
#include "dpctl-print.h"
#include "dpctl-rpc.h"
#include "dpctl-stats.h"
#include "dpctl-walk.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "socket-util.h"
#include "timeval.h"
#include "util.h"

static void
print_text(const struct dpctl_options *o, const struct json *result)
{
    const char *text = dpctl_json_str(result, "text");

    if (o->output != DPCTL_OUTPUT_TABLE || !text) {
        dpctl_print_json(o, result);
        return;
    }
    size_t len = strlen(text);
    fputs(text, stdout);
    if (!len || text[len - 1] != '\n') {
        putchar('\n');
    }
}

/* Writes 'text' to 'fd' and closes it.  Returns 0 or a positive errno. */
static int
write_and_close(int fd, const char *text)
{
    size_t n_written;
    int error = write_fully(fd, text, strlen(text), &n_written);

    return close(fd) && !error ? errno : error;
}

/* Writes 'text' to a new file beside 'name', which then takes its place:
 * nobody ever sees half of it.  Returns 0 or a positive errno. */
static int
replace_file(const char *name, const char *text)
{
    char *temporary = xasprintf("%s.XXXXXX", name);
    int fd = mkstemp(temporary);
    int error = fd < 0 ? errno : 0;

    if (!error) {
        mode_t mask = umask(0);

        umask(mask);
        error = fchmod(fd, 0666 & ~mask) ? errno : 0;
        int write_error = write_and_close(fd, text);
        error = error ? error : write_error;
        if (!error && rename(temporary, name)) {
            error = errno;
        }
        if (error) {
            unlink(temporary);
        }
    }
    free(temporary);
    return error;
}

/* Returns 0, or a positive errno if the kernel doesn't follow 'name': where it
 * is somebody else's link in a folder that all may write to. */
static int
try_to_follow(const char *name)
{
    int fd = open(name, O_PATH | O_CLOEXEC);

    if (fd >= 0) {
        close(fd);
        return 0;
    }
    return errno == ENOENT ? 0 : errno;
}

/* Writes 'text' to 'name', of which there may be no file yet. */
static void
write_file(const char *name, const char *text)
{
    char *target = follow_symlinks(name);
    struct stat st;
    int error = try_to_follow(name);

    if (error) {
        /* Nor do we. */
    } else if (!stat(target, &st) && !S_ISREG(st.st_mode)) {
        /* A device or a pipe. */
        int fd = open(target, O_WRONLY | O_CLOEXEC);

        error = fd < 0 ? errno : write_and_close(fd, text);
    } else {
        error = replace_file(target, text);
    }
    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s: cannot write: %s", name,
                   ovs_strerror(error));
    }
    free(target);
}

/* What the page says of itself: where and when it was made, and by what.  A
 * daemon that doesn't tell is no reason to have no page. */
static struct json *
about_page(const struct dpctl_options *o)
{
    static const struct {
        const char *method, *kind, *path, *name;
    } questions[] = {
        { "get", "NodeConfig", "name", "node" },
        { "version", NULL, "version", "version" },
    };
    struct json *about = json_object_create();
    struct dpctl_rpc *rpc = dpctl_connect(o);

    for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
        const char *kind = questions[i].kind;
        struct json *param = kind ? json_object_create() : NULL;
        struct json *result = NULL;

        if (kind) {
            json_object_put_string(param, "kind", kind);
        }
        dpctl_rpc_error_destroy(dpctl_try_call(rpc, o, questions[i].method,
                                               param, &result));
        const struct json_array *records = dpctl_json_array(result,
                                                            "records");
        const char *text = dpctl_json_str(kind && records->n
                                          ? records->elems[0] : result,
                                          questions[i].path);
        if (text) {
            json_object_put_string(about, questions[i].name, text);
        }
        json_destroy(result);
    }
    json_object_put(about, "time", json_string_create_nocopy(
                        xastrftime_msec("%Y-%m-%d %H:%M:%S UTC",
                                        time_wall_msec(), true)));
    dpctl_rpc_close(rpc);
    return about;
}

/* The page goes to o->html, "-" is standard output. */
static void
write_page(const struct dpctl_options *o, struct json *trace)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    if (!dpctl_walk_is_told(trace)) {
        dpctl_fail(DPCTL_EXIT_ERROR, "--html: the daemon doesn't tell the "
                   "steps of a walk");
    }
    json_object_put(trace, "page", about_page(o));
    dpctl_html_walk(trace, &s);
    json_destroy(shash_find_and_delete_assert(json_object(trace), "page"));
    if (!strcmp(o->html, "-")) {
        fputs(ds_cstr(&s), stdout);
    } else {
        write_file(o->html, ds_cstr(&s));
    }
    ds_destroy(&s);
}

static void
print_trace(const struct dpctl_options *o, const struct json *trace)
{
    if (o->output != DPCTL_OUTPUT_TABLE || !dpctl_walk_is_told(trace)) {
        print_text(o, trace);
    } else if (o->html) {
        dpctl_print_formatted(trace, dpctl_walk_put_verdict);
        putchar('\n');
    } else {
        dpctl_print_formatted(trace, dpctl_walk_format);
    }
}

/* Adds what "get" finds for 'param', which it takes, to 'records'. */
static void
add_records(struct dpctl_rpc *rpc, const struct dpctl_options *o,
            struct json *param, struct json *records)
{
    struct json *result = dpctl_call(rpc, o, "get", param);
    const struct json_array *found = dpctl_json_array(result, "records");

    for (size_t i = 0; i < found->n; i++) {
        json_array_add(records, json_clone(found->elems[i]));
    }
    json_destroy(result);
}

/* Asks for Pods and Node, and for what 'talk' is about, if it isn't NULL. */
static struct dpctl_parties *
get_parties(const struct dpctl_options *o, const struct dpctl_talk *talk)
{
    static const char *const kinds[] = { "Pod", "NodeConfig" };
    struct json *records = json_array_create_empty();
    struct dpctl_rpc *rpc = dpctl_connect(o);

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct json *param = json_object_create();

        json_object_put_string(param, "kind", kinds[i]);
        add_records(rpc, o, param, records);
    }
    if (talk) {
        struct json *param = json_object_create();

        json_object_put(param, "names", dpctl_parties_names(talk));
        add_records(rpc, o, param, records);
    }
    dpctl_rpc_close(rpc);
    return dpctl_parties_create(records);
}

/* --from and --to. */
static void
put_talk(const struct dpctl_options *o, struct json *param)
{
    struct dpctl_talk talk = {
        .from = o->from, .to = o->to, .protocol = o->protocol,
        .family = o->family, .namespace_ = o->namespace_,
    };
    struct dpctl_parties *parties = get_parties(o, &talk);
    char *flow, *in_port;
    char *error = dpctl_parties_flow(parties, &talk, &flow, &in_port);

    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s", error);
    }
    json_object_put(param, "flow", json_string_create_nocopy(flow));
    json_object_put(param, "in_port", json_string_create_nocopy(in_port));
    dpctl_parties_destroy(parties);
}

/* --pcap. */
static void
put_packet(const struct dpctl_options *o, struct json *param)
{
    struct ds hex = DS_EMPTY_INITIALIZER;
    struct dpctl_parties *parties = NULL;
    struct dpctl_frame frame;
    char *error = dpctl_pcap_read(o->pcap, o->index, &frame);

    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s", error);
    }
    if (frame.is_cooked || !o->in_port) {
        parties = get_parties(o, NULL);
        error = dpctl_parties_complete(parties, &frame);
    }
    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s: packet %d: %s", o->pcap, o->index,
                   error);
    }
    if (!o->in_port) {
        const char *port = dpctl_parties_port(parties, &frame);

        if (!port) {
            dpctl_fail(DPCTL_EXIT_USAGE, "%s: packet %d is from no Pod of "
                       "this Node; tell where it comes from, with --in-port",
                       o->pcap, o->index);
        }
        json_object_put_string(param, "in_port", port);
    }
    for (size_t i = 0; i < frame.bytes->size; i++) {
        ds_put_format(&hex, "%02x", ((const uint8_t *) frame.bytes->data)[i]);
    }
    json_object_put(param, "packet",
                    json_string_create_nocopy(ds_steal_cstr(&hex)));
    ofpbuf_delete(frame.bytes);
    dpctl_parties_destroy(parties);
}

/* What "--follow" waits for: --from, --to and --protocol. */
static void
put_match(const struct dpctl_options *o, struct json *param)
{
    struct dpctl_talk talk = {
        .from = o->from, .to = o->to, .protocol = o->protocol,
        .family = o->family, .namespace_ = o->namespace_,
    };
    struct dpctl_parties *parties = get_parties(o, &talk);
    char *match, *in_port;
    char *error = dpctl_parties_match(parties, &talk, &match, &in_port);

    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s", error);
    }
    json_object_put(param, "flow", json_string_create_nocopy(match));
    if (in_port) {
        json_object_put(param, "in_port",
                        json_string_create_nocopy(in_port));
    }
    dpctl_parties_destroy(parties);
}

/* Each call waits for a short time, so that the daemon soon notices if we are
 * gone. */
#define FOLLOW_CALL_MS 1000

/* Waits for a packet that fits 'param', which it takes. */
static struct json *
follow_packet(const struct dpctl_options *o, struct json *param)
{
    const long long int deadline = (o->timeout_s
                                    ? time_msec() + 1000LL * o->timeout_s
                                    : LLONG_MAX);
    struct dpctl_options patient = *o;

    /* What --timeout is for is the packet. */
    patient.timeout_s = 30;
    struct dpctl_rpc *rpc = dpctl_connect(&patient);
    for (;;) {
        long long int left = MAX(deadline - time_msec(), 0);
        struct json *call = json_deep_clone(param);

        json_object_put(call, "wait_ms",
                        json_integer_create(MIN(left, FOLLOW_CALL_MS)));
        struct json *result = dpctl_call(rpc, &patient, "catch", call);
        if (!dpctl_json_bool(result, "waiting", false)) {
            dpctl_rpc_close(rpc);
            json_destroy(param);
            return result;
        }
        json_destroy(result);
        dpctl_check_reader();
        if (time_msec() >= deadline) {
            dpctl_fail(DPCTL_EXIT_ERROR, "trace: no packet that fits came in "
                       "%d s", o->timeout_s);
        }
    }
}

/* A flow may come in several words. */
static void
put_flow(const struct dpctl_command *c, struct json *param)
{
    struct svec words = SVEC_EMPTY_INITIALIZER;

    for (int i = 0; i < c->argc; i++) {
        svec_add(&words, c->argv[i]);
    }
    json_object_put(param, "flow",
                    json_string_create_nocopy(svec_join(&words, ",", "")));
    svec_destroy(&words);
}

/* What is to be waited for: all of it may be left out. */
static void
check_follow(const struct dpctl_command *c)
{
    const struct dpctl_options *o = c->options;

    if (o->pcap) {
        dpctl_fail(DPCTL_EXIT_USAGE, "trace: --pcap and --follow don't go "
                   "together");
    } else if (c->argc && (o->from || o->to || o->protocol || o->family)) {
        dpctl_fail(DPCTL_EXIT_USAGE, "trace: give a FLOW, or --from, --to, "
                   "--protocol and --family");
    }
}

/* What is to be walked is given in one of three ways. */
static void
check_trace(const struct dpctl_command *c)
{
    const struct dpctl_options *o = c->options;

    if (o->follow) {
        check_follow(c);
    } else if ((o->pcap != NULL) + (c->argc > 0) + (o->from || o->to) != 1) {
        dpctl_fail(DPCTL_EXIT_USAGE, "trace: give a FLOW, or --pcap, or "
                   "--from and --to");
    } else if (!o->from != !o->to) {
        dpctl_fail(DPCTL_EXIT_USAGE, "trace: --from and --to go together");
    } else if (!o->from && (o->protocol || o->family)) {
        dpctl_fail(DPCTL_EXIT_USAGE, "trace: --protocol and --family are for "
                   "--from and --to");
    }
    if (o->from && o->in_port) {
        dpctl_fail(DPCTL_EXIT_USAGE, "trace: --from has a port of its own, "
                   "leave --in-port out");
    }
}

void
dpctl_cmd_trace(const struct dpctl_command *c)
{
    const struct dpctl_options *o = c->options;
    struct json *param = json_object_create();

    check_trace(c);
    if (o->in_port) {
        json_object_put_string(param, "in_port", o->in_port);
    }
    if (o->pcap) {
        put_packet(o, param);
    } else if (o->follow && (o->from || o->to || o->protocol || o->family)) {
        put_match(o, param);
    } else if (o->from) {
        put_talk(o, param);
    } else if (!o->follow || c->argc) {
        put_flow(c, param);
    }
    struct json *result = (o->follow ? follow_packet(o, param)
                           : dpctl_call_once(o, "trace", param));
    if (o->html) {
        write_page(o, result);
    }
    if (!o->html || strcmp(o->html, "-")) {
        print_trace(o, result);
    }
    json_destroy(result);
}

void
dpctl_cmd_explain(const struct dpctl_command *c)
{
    struct json *param = json_object_create();

    if (c->argc) {
        struct json *what = json_array_create_empty();
        for (int i = 0; i < c->argc; i++) {
            json_array_add(what, json_string_create(c->argv[i]));
        }
        json_object_put(param, "what", what);
    }
    struct json *result = dpctl_call_once(c->options, "explain", param);
    if (c->options->output == DPCTL_OUTPUT_TABLE) {
        dpctl_print_formatted(result, dpctl_explain_format);
    } else {
        dpctl_print_json(c->options, result);
    }
    json_destroy(result);
}

void
dpctl_cmd_program(const struct dpctl_command *c)
{
    struct json *result = dpctl_call_once(c->options, "program",
                                          json_object_create());
    print_text(c->options, result);
    json_destroy(result);
}

void
dpctl_cmd_stats(const struct dpctl_command *c)
{
    struct json *result = dpctl_call_once(c->options, "stats",
                                          json_object_create());
    if (c->options->output == DPCTL_OUTPUT_TABLE) {
        dpctl_print_formatted(result, dpctl_stats_format);
    } else {
        dpctl_print_json(c->options, result);
    }
    json_destroy(result);
}

void
dpctl_cmd_version(const struct dpctl_command *c)
{
    bool table = c->options->output == DPCTL_OUTPUT_TABLE;

    if (table) {
        printf("antrea-dpctl %s\n", ADP_VERSION);
        fflush(stdout);
    }
    struct json *result = dpctl_call_once(c->options, "version", NULL);
    if (table) {
        dpctl_print_members(result);
    } else {
        json_object_put_string(result, "client", ADP_VERSION);
        dpctl_print_json(c->options, result);
    }
    json_destroy(result);
}
