/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-pod.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-cli.h"
#include "dpctl-find.h"
#include "dpctl-flow-filter.h"
#include "dpctl-flows.h"
#include "dpctl-json.h"
#include "dpctl-ofp.h"
#include "dpctl-pod-view.h"
#include "dpctl-print.h"
#include "dpctl-rpc.h"
#include "flow.h"
#include "util.h"

/* Adds the records of the answer 'state', which it takes. */
static void
take_records(struct json *records, struct json *state)
{
    const struct json_array *found = dpctl_json_array(state, "records");

    for (size_t i = 0; i < found->n; i++) {
        json_array_add(records, json_clone(found->elems[i]));
    }
    json_destroy(state);
}

/* Asks for what refers to the groups that have the Pod: without a look at
 * policies of others, however many. */
static void
take_referrers(struct dpctl_rpc *rpc, const struct dpctl_options *o,
               struct json *records, const char *pod)
{
    struct json *groups = dpctl_pod_groups(json_array(records), pod);
    const struct json_array *array = json_array(groups);
    struct json *keys = json_array_create_empty();
    struct json *param = json_object_create();

    for (size_t i = 0; i < array->n; i++) {
        char *key = dpctl_record_key("AppliedToGroup",
                                     json_string(array->elems[i]));

        json_array_add(keys, json_array_create_1(
                           json_string_create_nocopy(key)));
    }
    json_object_put(param, "keys", keys);
    if (array->n) {
        take_records(records, dpctl_call(rpc, o, "get", param));
    } else {
        json_destroy(param);
    }
    json_destroy(groups);
}

/* What is about the Pod among all records, but for Services. */
static struct json *
get_records(struct dpctl_rpc *rpc, const struct dpctl_options *o,
            const struct json *pod)
{
    struct json *records = json_array_create_empty();

    take_records(records, dpctl_get_kind(rpc, o, "AppliedToGroup"));
    take_referrers(rpc, o, records, dpctl_json_str(pod, "name"));
    return records;
}

/* What the bridge says about the Pod's flows and port. */
struct live {
    struct dpctl_flows *flows;
    struct dpctl_flow_filter *filter;
    ofp_port_t port;
    size_t n_flows;
    bool isolates[2];           /* Ingress, egress. */
    long long int drops[2];
    struct json *o;             /* "port" of the view. */
};

static void
take_flow(const struct ofputil_flow_stats *fs, void *live_)
{
    static const enum dpctl_direction directions[] = {
        DPCTL_INGRESS, DPCTL_EGRESS
    };
    struct live *live = live_;
    const char *table = dpctl_flows_table_name(live->flows, fs->table_id);

    if (!dpctl_flow_filter_fits(live->filter, fs, table)) {
        return;
    }
    live->n_flows++;
    for (size_t i = 0; i < ARRAY_SIZE(directions); i++) {
        if (dpctl_flow_isolates(fs, table, directions[i])) {
            live->isolates[i] = true;
            live->drops[i] += fs->packet_count;
        }
    }
}

static void
take_port(const struct ofputil_phy_port *port, void *live_)
{
    struct live *live = live_;

    if (port->port_no == live->port) {
        json_object_put_string(live->o, "state",
                               (port->config & OFPUTIL_PC_PORT_DOWN
                                ? "administratively down"
                                : port->state & OFPUTIL_PS_LINK_DOWN
                                ? "no link" : "up"));
    }
}

/* A counter of the port; those that it hasn't are all ones. */
static void
put_count(struct json *o, const char *name, uint64_t count)
{
    if (count != UINT64_MAX) {
        json_object_put(o, name, json_integer_create(count));
    }
}

static void
put_counters(struct json *o, const struct netdev_stats *s)
{
    put_count(o, "sent_packets", s->rx_packets);
    put_count(o, "sent_bytes", s->rx_bytes);
    put_count(o, "sent_dropped", s->rx_dropped);
    put_count(o, "sent_errors", s->rx_errors);
    put_count(o, "received_packets", s->tx_packets);
    put_count(o, "received_bytes", s->tx_bytes);
    put_count(o, "received_dropped", s->tx_dropped);
    put_count(o, "received_errors", s->tx_errors);
}

static char *
ask_live(struct live *live)
{
    struct dpctl_ofp *ofp = dpctl_flows_ofp(live->flows);
    struct ofputil_flow_stats_request request;
    struct ofputil_port_stats stats;
    bool found = false;

    dpctl_ofp_all_flows(&request);
    char *error = dpctl_ofp_flows(ofp, &request, take_flow, live);
    if (!error) {
        error = dpctl_ofp_ports(ofp, take_port, live);
    }
    if (!error && live->port != OFPP_NONE) {
        error = dpctl_ofp_port_stats(ofp, live->port, &found, &stats);
    }
    if (found) {
        json_object_put(live->o, "number",
                        json_integer_create(ofp_to_u16(live->port)));
        put_counters(live->o, &stats.stats);
    }
    return error;
}

/* What the records can't tell.  Without it the rest is still worth telling. */
static void
put_live(struct dpctl_rpc *rpc, const struct dpctl_options *o,
         const struct json *pod, struct json *view)
{
    static const char *const ways[] = { "ingress", "egress" };
    const char *name = dpctl_json_str(pod, "port");
    struct live live = { .port = OFPP_NONE };
    char *error = dpctl_flows_open(rpc, o, &live.flows);

    if (!error) {
        live.o = json_object_create();
        live.port = dpctl_flows_port(live.flows, name);
        live.filter = dpctl_flow_filter_create();
        dpctl_flow_filter_pod(live.filter, pod, live.port);
        if (live.port == OFPP_NONE) {
            json_object_put_string(live.o, "state", "not in the bridge");
        }
        error = ask_live(&live);
    }
    if (error) {
        dpctl_warn("counters are missing: %s", error);
        json_destroy(live.o);
    } else {
        struct json *drops = json_object_create();

        for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
            if (live.isolates[i]) {
                json_object_put(drops, ways[i],
                                json_integer_create(live.drops[i]));
            }
        }
        json_object_put(view, "isolation_drops", drops);
        json_object_put(view, "flows", json_integer_create(live.n_flows));
        if (name) {
            json_object_put_string(live.o, "name", name);
        }
        json_object_put(view, "port", live.o);
    }
    dpctl_flow_filter_destroy(live.filter);
    dpctl_flows_close(live.flows);
    free(error);
}

static struct json *
own_view(struct dpctl_rpc *rpc, const struct dpctl_options *o,
         const struct json *pod)
{
    struct json *records = get_records(rpc, o, pod);

    take_records(records, dpctl_get_kind(rpc, o, "Service"));
    struct json *stats = dpctl_call(rpc, o, "stats", json_object_create());
    struct json *view = dpctl_pod_view(&(struct dpctl_pod_facts) {
        .pod = pod, .records = json_array(records), .stats = stats,
    });
    json_destroy(stats);
    json_destroy(records);
    return view;
}

static struct json *
foreign_view(const struct json *pod, const char *unknown)
{
    struct json *view = json_object_create();

    json_object_put(view, "pod", json_clone(pod));
    json_object_put_string(view, "unknown", unknown);
    return view;
}

void
dpctl_describe_pod(const struct dpctl_options *o, const char *name)
{
    struct dpctl_rpc *rpc = dpctl_connect(o);
    char *unknown;
    struct json *pod = dpctl_find_pod(rpc, o, NULL, name, &unknown);
    struct json *view = (unknown ? foreign_view(pod, unknown)
                         : own_view(rpc, o, pod));

    free(unknown);
    put_live(rpc, o, pod, view);

    if (o->output == DPCTL_OUTPUT_TABLE) {
        dpctl_print_formatted(view, dpctl_pod_view_format);
    } else {
        dpctl_print_json(o, view);
    }
    json_destroy(view);
    json_destroy(pod);
    dpctl_rpc_close(rpc);
}

struct json *
dpctl_policies_of_pod(const struct dpctl_options *o, const char *name)
{
    struct dpctl_rpc *rpc = dpctl_connect(o);
    struct json *pod = dpctl_find_record(rpc, o, "Pod", "--pod", name);
    struct json *records = get_records(rpc, o, pod);
    const struct json_array *array = json_array(records);
    struct json *view = dpctl_pod_view(&(struct dpctl_pod_facts) {
        .pod = pod, .records = array,
    });
    struct json *names = dpctl_pod_view_policies(view);
    struct json *found = json_array_create_empty();

    for (size_t i = 0; i < json_array(names)->n; i++) {
        const char *wanted = json_string(json_array(names)->elems[i]);

        for (size_t j = 0; j < array->n; j++) {
            const struct json *r = array->elems[j];

            if (nullable_string_is_equal(dpctl_json_str(r, "kind"),
                                         "NetworkPolicy")
                && nullable_string_is_equal(dpctl_json_str(r, "name"),
                                            wanted)) {
                json_array_add(found, json_clone(r));
            }
        }
    }
    json_destroy(names);
    json_destroy(view);
    json_destroy(records);
    json_destroy(pod);
    dpctl_rpc_close(rpc);
    return found;
}
