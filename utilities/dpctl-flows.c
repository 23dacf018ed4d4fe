/* SPDX-License-Identifier: Apache-2.0 */

/* get flows: those of a Pod, a policy, a Service or a table. */

#include <config.h>
#include "dpctl-cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byte-order.h"
#include "dpctl-find.h"
#include "dpctl-flow-filter.h"
#include "dpctl-flows.h"
#include "dpctl-json.h"
#include "dpctl-ofp.h"
#include "dpctl-rpc.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-table.h"
#include "sset.h"
#include "util.h"

/* What the daemon explains in one call. */
#define MAX_EXPLAINED 1000

struct dpctl_flows {
    const struct dpctl_options *options;
    struct dpctl_rpc *rpc;
    struct dpctl_ofp *ofp;
    struct json *stats;
    struct ofputil_port_map ports;
    struct ofputil_table_map tables;
};

static void
note_port(const struct ofputil_phy_port *port, void *ports_)
{
    struct ofputil_port_map *ports = ports_;

    ofputil_port_map_put(ports, port->port_no, port->name);
}

/* The bridge's name, and its tables', are in its counters. */
static struct json *
get_stats(struct dpctl_rpc *rpc, const struct dpctl_options *o)
{
    struct json *param = json_object_create();

    json_object_put(param, "brief", json_boolean_create(true));
    return dpctl_call(rpc, o, "stats", param);
}

char *
dpctl_flows_open(struct dpctl_rpc *rpc, const struct dpctl_options *o,
                 struct dpctl_flows **flowsp)
{
    struct dpctl_flows *f = xzalloc(sizeof *f);
    const struct shash_node *node;

    f->options = o;
    f->rpc = rpc;
    f->stats = get_stats(rpc, o);
    ofputil_port_map_init(&f->ports);
    ofputil_table_map_init(&f->tables);
    SHASH_FOR_EACH (node, dpctl_json_object(f->stats, "tables")) {
        ofputil_table_map_put(&f->tables,
                              dpctl_json_int(node->data, "id", 0),
                              node->name);
    }

    const char *bridge = dpctl_json_str(f->stats, "bridge");
    char *error = dpctl_ofp_open(o->socket, bridge ? bridge : "?",
                                 o->timeout_s, &f->ofp);
    if (!error) {
        error = dpctl_ofp_ports(f->ofp, note_port, &f->ports);
    }
    if (error) {
        dpctl_flows_close(f);
        f = NULL;
    }
    *flowsp = f;
    return error;
}

void
dpctl_flows_close(struct dpctl_flows *f)
{
    if (f) {
        dpctl_ofp_close(f->ofp);
        ofputil_port_map_destroy(&f->ports);
        ofputil_table_map_destroy(&f->tables);
        json_destroy(f->stats);
        free(f);
    }
}

struct dpctl_ofp *
dpctl_flows_ofp(const struct dpctl_flows *f)
{
    return f->ofp;
}

ofp_port_t
dpctl_flows_port(const struct dpctl_flows *f, const char *name)
{
    return name ? ofputil_port_map_get_number(&f->ports, name) : OFPP_NONE;
}

const char *
dpctl_flows_table_name(const struct dpctl_flows *f, uint8_t table)
{
    return ofputil_table_map_get_name(&f->tables, table);
}

struct flow_text {
    const struct dpctl_flows *flows;
    struct ds *s;
    size_t max_len;
    size_t n_missing;
};

static void
add_text(const struct ofputil_flow_stats *fs, void *text_)
{
    struct flow_text *text = text_;

    if (text->s->length > text->max_len) {
        text->n_missing++;
        return;
    }
    ds_put_char(text->s, ' ');
    ofputil_flow_stats_format(text->s, fs, &text->flows->ports,
                              &text->flows->tables, true);
    ds_put_char(text->s, '\n');
}

char *
dpctl_flows_text(struct dpctl_flows *f, size_t max_len, struct ds *s)
{
    struct flow_text text = { .flows = f, .s = s, .max_len = max_len };
    struct ofputil_flow_stats_request request;

    dpctl_ofp_all_flows(&request);
    char *error = dpctl_ofp_flows(f->ofp, &request, add_text, &text);
    if (text.n_missing) {
        ds_put_format(s, " and %"PRIuSIZE" more\n", text.n_missing);
    }
    return error;
}

/* Questions. */

/* What is asked for, and what becomes of it. */
struct flow_query {
    struct dpctl_flows *flows;
    struct dpctl_flow_filter *filter;
    struct ofputil_flow_stats_request request;
    struct json *found;         /* NULL: flows are printed as they come. */
};

static void
restrict_to_category(struct flow_query *q, unsigned int category)
{
    uint64_t cookie, mask;

    dpctl_cookie_of_category(category, &cookie, &mask);
    q->request.cookie = htonll(cookie);
    q->request.cookie_mask = htonll(mask);
}

static void
want_pod(struct flow_query *q)
{
    const struct dpctl_options *o = q->flows->options;
    char *unknown;
    struct json *pod = dpctl_find_pod(q->flows->rpc, o, "--pod", o->pod,
                                      &unknown);

    if (unknown) {
        dpctl_warn("these are only the flows with the Pod's port and "
                   "addresses: %s", unknown);
        free(unknown);
    }

    dpctl_flow_filter_pod(q->filter, pod,
                          dpctl_flows_port(q->flows,
                                           dpctl_json_str(pod, "port")));
    json_destroy(pod);
}

/* Does a policy isolate Pods in this direction by itself?  Kubernetes' do, in
 * each that they have a rule for. */
static bool
policy_isolates(const struct json *policy, const char *direction)
{
    const struct json_array *rules = dpctl_json_array(policy, "rules");

    for (size_t i = 0; i < rules->n; i++) {
        if (nullable_string_is_equal(
                dpctl_json_str(policy, "type"), "K8sNetworkPolicy")
            && nullable_string_is_equal(
                dpctl_json_str(rules->elems[i], "direction"), direction)) {
            return true;
        }
    }
    return false;
}

/* The names of Pods in the groups that a policy is applied to. */
static void
list_applied_pods(const struct json *policy, const struct json *groups,
                  struct sset *pods)
{
    const struct json_array *names = dpctl_json_array(policy,
                                                      "appliedToGroups");
    const struct json_array *records = dpctl_json_array(groups, "records");

    for (size_t i = 0; i < names->n; i++) {
        for (size_t j = 0; j < records->n; j++) {
            const struct json *g = records->elems[j];

            if (names->elems[i]->type == JSON_STRING
                && nullable_string_is_equal(dpctl_json_str(g, "kind"),
                                            "AppliedToGroup")
                && nullable_string_is_equal(dpctl_json_str(g, "name"),
                                            json_string(names->elems[i]))) {
                const struct json_array *members = dpctl_json_array(g,
                                                                    "pods");

                for (size_t k = 0; k < members->n; k++) {
                    sset_add(pods, json_string(members->elems[k]));
                }
            }
        }
    }
}

/* Pods that the policy isolates. */
static void
want_isolated(struct flow_query *q, const struct json *policy)
{
    static const struct {
        const char *direction;
        enum dpctl_direction id;
    } directions[] = { { "In", DPCTL_INGRESS }, { "Out", DPCTL_EGRESS } };
    const struct dpctl_options *o = q->flows->options;
    struct json *groups = dpctl_get_kind(q->flows->rpc, o, "AppliedToGroup");
    struct json *state = dpctl_get_kind(q->flows->rpc, o, "Pod");
    const struct json_array *pods = dpctl_json_array(state, "records");
    struct sset applied = SSET_INITIALIZER(&applied);

    list_applied_pods(policy, groups, &applied);
    for (size_t i = 0; i < pods->n; i++) {
        const struct json *pod = pods->elems[i];
        const char *name = dpctl_json_str(pod, "name");

        for (size_t j = 0; j < ARRAY_SIZE(directions); j++) {
            if (name && sset_contains(&applied, name)
                && policy_isolates(policy, directions[j].direction)) {
                dpctl_flow_filter_isolated(
                    q->filter, pod,
                    dpctl_flows_port(q->flows, dpctl_json_str(pod, "port")),
                    directions[j].id);
            }
        }
    }
    sset_destroy(&applied);
    json_destroy(state);
    json_destroy(groups);
}

static void
want_policy(struct flow_query *q)
{
    const struct json_array *rules = dpctl_json_array(q->flows->stats,
                                                      "rules");
    const struct dpctl_options *o = q->flows->options;
    struct json *policy = dpctl_find_policy(q->flows->rpc, o, o->policy);
    const char *name = dpctl_json_str(policy, "name");

    dpctl_flow_filter_policy(q->filter);
    for (size_t i = 0; i < rules->n; i++) {
        if (nullable_string_is_equal(dpctl_json_str(rules->elems[i],
                                                    "policy"), name)) {
            dpctl_flow_filter_rule(q->filter,
                                   dpctl_json_int(rules->elems[i], "id", 0));
        }
    }
    want_isolated(q, policy);
    restrict_to_category(q, DPCTL_COOKIE_POLICY);
    json_destroy(policy);
}

/* Groups that flows of Services name by their cookies. */
static void
note_group(const struct ofputil_flow_stats *fs, void *groups_)
{
    uint32_t id = dpctl_cookie_object(ntohll(fs->cookie));
    struct sset *groups = groups_;

    if (id) {
        char *what = xasprintf("group=%"PRIu32, id);

        sset_add(groups, what);
        free(what);
    }
}

/* Calls 'cb' for what the daemon says about each of 'whats' that is about an
 * object. */
static void
explain(struct dpctl_flows *f, const struct sset *whats,
        void (*cb)(const char *what, const char *object, void *aux),
        void *aux)
{
    const char **sorted = sset_sort(whats);
    size_t n = sset_count(whats);

    for (size_t i = 0; i < n; i += MAX_EXPLAINED) {
        struct json *param = json_object_create();
        struct json *array = json_array_create_empty();

        for (size_t j = i; j < n && j < i + MAX_EXPLAINED; j++) {
            json_array_add(array, json_string_create(sorted[j]));
        }
        json_object_put(param, "what", array);
        struct json *result = dpctl_call(f->rpc, f->options, "explain",
                                         param);
        const struct json_array *found = dpctl_json_array(result,
                                                          "explained");
        for (size_t j = 0; j < found->n; j++) {
            const char *what = dpctl_json_str(found->elems[j], "what");
            const char *object = dpctl_json_str(found->elems[j], "object");

            if (what && object) {
                cb(what, object, aux);
            }
        }
        json_destroy(result);
    }
    free(sorted);
}

struct service_groups {
    struct dpctl_flow_filter *filter;
    char *prefix;               /* "Service default/web,". */
};

static void
take_group(const char *what, const char *object, void *groups_)
{
    struct service_groups *groups = groups_;
    unsigned int id;

    if (!strncmp(object, groups->prefix, strlen(groups->prefix))
        && str_to_uint(what + strlen("group="), 10, &id)) {
        dpctl_flow_filter_group(groups->filter, id);
    }
}

static char *
want_service(struct flow_query *q)
{
    const struct dpctl_options *o = q->flows->options;
    struct json *service = dpctl_find_record(q->flows->rpc, o, "Service",
                                             "--service", o->service);
    struct sset whats = SSET_INITIALIZER(&whats);
    struct service_groups groups = {
        .filter = q->filter,
        .prefix = xasprintf("Service %s,", dpctl_json_str(service, "name")),
    };

    dpctl_flow_filter_service(q->filter, service);
    restrict_to_category(q, DPCTL_COOKIE_SERVICE);
    char *error = dpctl_ofp_flows(q->flows->ofp, &q->request, note_group,
                                  &whats);
    if (!error) {
        explain(q->flows, &whats, take_group, &groups);
    }
    free(groups.prefix);
    sset_destroy(&whats);
    json_destroy(service);
    return error;
}

/* Answers. */

static void
put_count(struct json *o, const char *name, uint64_t count)
{
    if (count != UINT64_MAX) {
        json_object_put(o, name, json_integer_create(count));
    }
}

/* A flow in parts. */
static struct json *
flow_to_json(const struct dpctl_flows *f, const struct ofputil_flow_stats *fs)
{
    struct json *o = json_object_create();
    const char *table = dpctl_flows_table_name(f, fs->table_id);
    struct ds s = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params params = {
        .port_map = &f->ports, .table_map = &f->tables, .s = &s,
    };

    if (table) {
        json_object_put_string(o, "table", table);
    }
    json_object_put(o, "table_id", json_integer_create(fs->table_id));
    json_object_put(o, "priority", json_integer_create(fs->priority));
    json_object_put_format(o, "cookie", "0x%"PRIx64, ntohll(fs->cookie));
    put_count(o, "packets", fs->packet_count);
    put_count(o, "bytes", fs->byte_count);
    json_object_put(o, "duration_s", json_integer_create(fs->duration_sec));
    match_format(&fs->match, &f->ports, &s, OFP_DEFAULT_PRIORITY);
    json_object_put_string(o, "match", ds_cstr(&s));
    ds_clear(&s);
    ofpacts_format(fs->ofpacts, fs->ofpacts_len, &params);
    json_object_put_string(o, "actions", ds_cstr(&s));
    ds_destroy(&s);
    return o;
}

static void
take_flow(const struct ofputil_flow_stats *fs, void *q_)
{
    struct flow_query *q = q_;
    const struct dpctl_flows *f = q->flows;

    if (!dpctl_flow_filter_fits(q->filter, fs,
                                dpctl_flows_table_name(f, fs->table_id))) {
        return;
    }
    if (q->found) {
        json_array_add(q->found, flow_to_json(f, fs));
        return;
    }
    struct ds s = DS_EMPTY_INITIALIZER;

    ofputil_flow_stats_format(&s, fs, &f->ports, &f->tables, true);
    printf(" %s\n", ds_cstr(&s));
    if (ferror(stdout)) {
        dpctl_flush();
    }
    ds_destroy(&s);
}

static void
note_object(const char *what, const char *object, void *objects_)
{
    struct shash *objects = objects_;

    shash_add_nocopy(objects, xstrdup(what), xstrdup(object));
}

/* Says which rule or Service the flows' cookies stand for. */
static void
put_objects(struct flow_query *q)
{
    const struct json_array *found = json_array(q->found);
    struct sset whats = SSET_INITIALIZER(&whats);
    struct shash objects = SHASH_INITIALIZER(&objects);

    if (!dpctl_json_member(q->flows->stats, "rules")) {
        /* Without a pipeline of ours nobody knows. */
        return;
    }
    for (size_t i = 0; i < found->n; i++) {
        const char *cookie = dpctl_json_str(found->elems[i], "cookie");

        if (dpctl_cookie_object(strtoull(cookie, NULL, 16))) {
            char *what = xasprintf("cookie=%s", cookie);

            sset_add(&whats, what);
            free(what);
        }
    }
    explain(q->flows, &whats, note_object, &objects);
    for (size_t i = 0; i < found->n; i++) {
        char *what = xasprintf("cookie=%s",
                               dpctl_json_str(found->elems[i], "cookie"));
        const char *object = shash_find_data(&objects, what);

        if (object) {
            json_object_put_string(found->elems[i], "object", object);
        }
        free(what);
    }
    shash_destroy_free_data(&objects);
    sset_destroy(&whats);
}

static char *
run_query(struct flow_query *q)
{
    const struct dpctl_options *o = q->flows->options;
    char *error = NULL;

    dpctl_ofp_all_flows(&q->request);
    if (o->pod) {
        want_pod(q);
    }
    if (o->policy) {
        want_policy(q);
    }
    if (o->service) {
        error = want_service(q);
    }
    if (o->table) {
        q->request.table_id = dpctl_find_table(q->flows->stats, o->table);
    }
    return error ? error
           : dpctl_ofp_flows(q->flows->ofp, &q->request, take_flow, q);
}

bool
dpctl_is_flows(const char *word)
{
    return !strcmp(word, "flows") || !strcmp(word, "flow")
           || !strcmp(word, "ovsflows");
}

void
dpctl_get_flows(const struct dpctl_options *o)
{
    struct dpctl_rpc *rpc = dpctl_connect(o);
    struct flow_query q = {
        .filter = dpctl_flow_filter_create(),
        .found = (o->output == DPCTL_OUTPUT_TABLE ? NULL
                  : json_array_create_empty()),
    };

    if (o->output == DPCTL_OUTPUT_NAME) {
        dpctl_fail(DPCTL_EXIT_USAGE, "flows have no names; get flows prints "
                   "tables, json or yaml");
    }
    char *error = dpctl_flows_open(rpc, o, &q.flows);
    if (!error) {
        error = run_query(&q);
    }
    if (error) {
        dpctl_fail(DPCTL_EXIT_UNREACHABLE, "%s", error);
    }
    if (q.found) {
        put_objects(&q);
        dpctl_print_json(o, q.found);
        json_destroy(q.found);
    }
    dpctl_flow_filter_destroy(q.filter);
    dpctl_flows_close(q.flows);
    dpctl_rpc_close(rpc);
}
