/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-appctl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-control-bridge.h"
#include "adp-state.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "unixctl.h"
#include "util.h"

static void
reply_error(struct unixctl_conn *conn, struct adp_error *error)
{
    unixctl_command_reply_error(conn, error->message);
    adp_error_destroy(error);
}

/* Records that "antrea-dp/get" prints, and what they take as text: it is made
 * all at once, in some 40 ns a byte. */
#define MAX_RECORDS 1000
#define MAX_RECORDS_LEN (256 * 1024)

static void
reply_too_many(struct unixctl_conn *conn)
{
    char *text = xasprintf("more than %d records, or %d bytes of them: name a "
                           "kind or a record, or use the method \"get\" of "
                           "the control socket", MAX_RECORDS, MAX_RECORDS_LEN);

    unixctl_command_reply_error(conn, text);
    free(text);
}

/* The first argument is a bridge if there is one of that name. */
static bool
names_bridge(const char *arg)
{
    return arg && adp_bridge_lookup(arg);
}

static void
appctl_get(struct unixctl_conn *conn, int argc, const char *argv[],
           void *aux OVS_UNUSED)
{
    const char *args[3] = { NULL, NULL, NULL }; /* Bridge, kind, name. */
    int first = argc > 1 && !names_bridge(argv[1]) ? 1 : 0;
    struct adp_error *error;

    for (int i = 1; i < argc; i++) {
        if (first + i - 1 >= ARRAY_SIZE(args)) {
            unixctl_command_reply_error(conn, "no such bridge of type antrea");
            return;
        }
        args[first + i - 1] = argv[i];
    }

    struct adp_bridge *bridge = adp_control_find_bridge(args[0], true, &error);
    if (error) {
        reply_error(conn, error);
        return;
    }
    if (args[1] && !adp_model_is_kind(args[1])) {
        char *text = xasprintf("\"%s\" is neither a bridge of type antrea nor "
                               "a kind of record", args[1]);
        unixctl_command_reply_error(conn, text);
        free(text);
        return;
    }

    const struct adp_state *state = adp_bridge_state(bridge);
    error = adp_state_refuses_get(state);
    if (error) {
        reply_error(conn, error);
        return;
    }

    const struct adp_model *model = adp_state_model(state);
    if (!args[2] && adp_model_count(model, args[1]) > MAX_RECORDS) {
        reply_too_many(conn);
        return;
    }
    struct json *json = adp_model_get(model, args[1], args[2]);
    /* Some of it is text, which is to look like the rest. */
    char *compact = json_to_string(json, 0);
    if (strlen(compact) <= MAX_RECORDS_LEN) {
        struct json *whole = json_from_string(compact);
        char *text = json_to_string(whole, JSSF_PRETTY | JSSF_SORT);

        unixctl_command_reply(conn, text);
        free(text);
        json_destroy(whole);
    } else {
        reply_too_many(conn);
    }
    free(compact);
    json_destroy(json);
}

static void
appctl_reinstall(struct unixctl_conn *conn, int argc, const char *argv[],
                 void *aux OVS_UNUSED)
{
    struct adp_error *error;
    struct adp_bridge *bridge
        = adp_control_find_bridge(argc > 1 ? argv[1] : NULL, true, &error);

    if (error) {
        reply_error(conn, error);
        return;
    }
    struct adp_state *state = adp_bridge_state(bridge);

    adp_state_sync(state, true);
    if (adp_state_is_synced(state) || adp_state_is_busy(state)) {
        unixctl_command_reply(conn, NULL);
    } else {
        unixctl_command_reply_error(conn, "the flows could not be installed: "
                                    "see the log");
    }
}

static void
appctl_control_show(struct unixctl_conn *conn, int argc OVS_UNUSED,
                    const char *argv[] OVS_UNUSED, void *format_)
{
    void (*format)(struct ds *) = format_;
    struct ds s = DS_EMPTY_INITIALIZER;

    format(&s);
    if (s.length) {
        unixctl_command_reply(conn, ds_cstr(&s));
    } else {
        unixctl_command_reply_error(conn, "the control socket isn't open");
    }
    ds_destroy(&s);
}

void
adp_control_appctl_init(void (*format)(struct ds *))
{
    unixctl_command_register("antrea-dp/get", "[bridge] [kind [name]]", 0, 3,
                             appctl_get, NULL);
    unixctl_command_register("antrea-dp/reinstall", "[bridge]", 0, 1,
                             appctl_reinstall, NULL);
    unixctl_command_register("antrea-dp/control-show", "", 0, 0,
                             appctl_control_show, format);
}
