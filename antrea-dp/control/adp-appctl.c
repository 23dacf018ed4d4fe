/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-appctl.h"

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-counted-command.h"
#include "adp-shadow.h"
#include "adp-show.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "unixctl.h"
#include "util.h"

/* Flows that a command reads: all at once, some 0.2 us each. */
#define MAX_FLOWS_READ 20000

/* The bridge that 'name' (may be NULL) means.  Otherwise replies with an
 * error and returns NULL. */
static struct adp_bridge *
find_bridge(struct unixctl_conn *conn, const char *name)
{
    struct adp_bridge *b = (name ? adp_bridge_lookup(name)
                            : adp_bridge_only());

    if (!b) {
        char *error = (name
                       ? xasprintf("no bridge \"%s\" of type antrea", name)
                       : xstrdup(adp_bridge_next(NULL)
                                 ? "there are several bridges of type antrea, "
                                   "name one"
                                 : "there is no bridge of type antrea"));

        unixctl_command_reply_error(conn, error);
        free(error);
    }
    return b;
}

static void
program_show(struct unixctl_conn *conn, int argc, const char *argv[],
             void *aux OVS_UNUSED)
{
    struct adp_bridge *b = find_bridge(conn, argc > 1 ? argv[1] : NULL);

    if (b) {
        struct ds s = DS_EMPTY_INITIALIZER;

        adp_show_program(b, &s);
        unixctl_command_reply(conn, ds_cstr(&s));
        ds_destroy(&s);
    }
}

static void
show_counted(struct unixctl_conn *conn, int argc, const char *argv[],
             void *aux OVS_UNUSED)
{
    struct adp_bridge *b = find_bridge(conn, argc > 1 ? argv[1] : NULL);

    if (b) {
        struct json *stats = adp_show_stats(b, true);

        if (adp_show_n_flows(b) > MAX_FLOWS_READ) {
            json_object_put_string(stats, "left_out", "rules, services, "
                                   "egresses, traffic_controls and l7: see "
                                   "\"antrea-dpctl stats\"");
        } else if (adp_bridge_pipeline(b)) {
            adp_show_metrics(b, true, stats);
        }

        char *s = json_to_string(stats, JSSF_PRETTY | JSSF_SORT);

        unixctl_command_reply(conn, s);
        free(s);
        json_destroy(stats);
    }
}

static void
stats_show(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
    adp_counted_command(conn, argc, argv, show_counted, aux);
}

static void
shadow_show(struct unixctl_conn *conn, int argc, const char *argv[],
            void *aux OVS_UNUSED)
{
    struct adp_bridge *b = find_bridge(conn, argc > 1 ? argv[1] : NULL);

    if (b) {
        struct json *differences = adp_shadow_differences(b);
        char *s = json_to_string(differences, JSSF_PRETTY);

        unixctl_command_reply(conn, s);
        free(s);
        json_destroy(differences);
    }
}

static void
trace(struct unixctl_conn *conn, int argc OVS_UNUSED, const char *argv[],
      void *aux OVS_UNUSED)
{
    struct adp_bridge *b = find_bridge(conn, argv[1]);
    struct json *result;

    if (b) {
        char *error = adp_show_packet(b, argv[2], argv[3], NULL, &result);

        if (error) {
            unixctl_command_reply_error(conn, error);
            free(error);
        } else {
            unixctl_command_reply(
                conn, json_string(shash_find_data(json_object(result),
                                                  "text")));
            json_destroy(result);
        }
    }
}

void
adp_appctl_init(void)
{
    unixctl_command_register("antrea-dp/program-show", "[BRIDGE]", 0, 1,
                             program_show, NULL);
    unixctl_command_register("antrea-dp/stats-show", "[BRIDGE]", 0, 1,
                             stats_show, NULL);
    unixctl_command_register("antrea-dp/shadow-show", "[BRIDGE]", 0, 1,
                             shadow_show, NULL);
    unixctl_command_register("antrea-dp/trace", "BRIDGE IN_PORT FLOW", 3, 3,
                             trace, NULL);
}
