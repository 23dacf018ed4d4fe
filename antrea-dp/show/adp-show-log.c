/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-show-log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-log-dedup.h"
#include "adp-log-file.h"
#include "adp-log-history.h"
#include "adp-log-ring.h"
#include "adp-ports.h"
#include "adp-state.h"
#include "adp-turn.h"
#include "dirs.h"
#include "hash.h"
#include "model-records.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/hmap.h"
#include "openvswitch/json.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "packets.h"
#include "timeval.h"
#include "util.h"

#define LOG_FILE "networkpolicy/np.log"

/* Records between two looks at the clock. */
#define RECORDS_A_STEP 64

/* The names of a bridge's Pods by address, for one generation of its state. */
struct pod_names {
    struct hmap_node node;              /* In 'log.pods', by 'bridge'. */
    uint32_t bridge;                    /* Serial number. */
    uint64_t generation;
    struct shash names;                 /* "10.10.0.24" to "default/web". */
};

static struct {
    struct adp_log_dedup *dedup;
    struct adp_log_history *history;
    struct adp_log_file *file;
    struct hmap pods;
    bool more;                          /* Some are left in the rings. */
} log_state;

/* Pods. */

static void
pod_names_destroy(struct pod_names *pods)
{
    hmap_remove(&log_state.pods, &pods->node);
    shash_destroy_free_data(&pods->names);
    free(pods);
}

/* Of bridges that went, or have no records any more. */
static void
forget_old_names(void)
{
    struct pod_names *pods;

    HMAP_FOR_EACH_SAFE (pods, node, &log_state.pods) {
        const struct adp_bridge *b = adp_bridge_of_serial(pods->bridge);

        if (!b || !adp_bridge_state(b)) {
            pod_names_destroy(pods);
        }
    }
}

static size_t
count_names(void)
{
    const struct pod_names *pods;
    size_t n = 0;

    HMAP_FOR_EACH (pods, node, &log_state.pods) {
        n += shash_count(&pods->names);
    }
    return n;
}

static void
add_pods(struct pod_names *pods, const struct adp_state *state)
{
    size_t n;
    const struct adp_record **records = adp_state_sorted(state, ADP_KIND_POD,
                                                         &n);

    for (size_t i = 0; i < n; i++) {
        const struct adp_pod *pod = CONTAINER_OF(records[i], struct adp_pod,
                                                 up);

        for (size_t j = 0; j < pod->ips.n; j++) {
            shash_add(&pods->names, adp_ip_text(&pod->ips.ips[j]).s,
                      xstrdup(pod->up.name));
        }
    }
    free(records);
}

/* Of what is in force: made anew when that changes, which is linear in the
 * Pods of this Node. */
static const struct pod_names *
pod_names_of(const struct adp_bridge *b)
{
    const struct adp_state *state = adp_bridge_state(b);
    struct pod_names *pods;

    if (!state) {
        return NULL;
    }

    uint64_t generation = adp_state_generation(state);
    HMAP_FOR_EACH_WITH_HASH (pods, node, hash_int(b->serial, 0),
                             &log_state.pods) {
        if (pods->bridge == b->serial) {
            if (pods->generation == generation) {
                return pods;
            }
            pod_names_destroy(pods);
            break;
        }
    }
    pods = xmalloc(sizeof *pods);
    pods->bridge = b->serial;
    pods->generation = generation;
    shash_init(&pods->names);
    add_pods(pods, state);
    hmap_insert(&log_state.pods, &pods->node, hash_int(b->serial, 0));
    return pods;
}

/* From records to lines. */

struct draft {
    const char *fields[ADP_N_LOG_FIELDS];
    char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
    char src_port[6], dst_port[6], length[6], priority[6];
    char rule[64];
};

static const char *
protocol_name(uint8_t nw_proto)
{
    return (nw_proto == IPPROTO_TCP ? "TCP"
            : nw_proto == IPPROTO_UDP ? "UDP"
            : nw_proto == IPPROTO_SCTP ? "SCTP"
            : nw_proto == IPPROTO_ICMP ? "ICMP"
            : nw_proto == IPPROTO_ICMPV6 ? "IPv6-ICMP"
            : nw_proto == IPPROTO_IGMP ? "IGMP" : "UnknownProtocol");
}

static void
draft_packet(struct draft *d, const struct adp_log_record *r)
{
    ipv6_string_mapped(d->src, &r->src);
    ipv6_string_mapped(d->dst, &r->dst);
    d->fields[ADP_LOG_SRC] = d->src;
    d->fields[ADP_LOG_DST] = d->dst;
    if (r->nw_proto == IPPROTO_TCP || r->nw_proto == IPPROTO_UDP) {
        snprintf(d->src_port, sizeof d->src_port, "%"PRIu16, r->tp_src);
        snprintf(d->dst_port, sizeof d->dst_port, "%"PRIu16, r->tp_dst);
        d->fields[ADP_LOG_SRC_PORT] = d->src_port;
        d->fields[ADP_LOG_DST_PORT] = d->dst_port;
    }
    d->fields[ADP_LOG_PROTOCOL] = protocol_name(r->nw_proto);
    snprintf(d->length, sizeof d->length, "%"PRIu16, r->length);
    d->fields[ADP_LOG_LENGTH] = d->length;
}

/* A rule without a name gets one that stays as long as the rule is the
 * same. */
static const char *
rule_name(struct draft *d, const struct adp_network_policy *policy,
          const struct adp_network_policy_rule *rule)
{
    if (rule->name || policy->type == ADP_POLICY_K8S) {
        return rule->name;
    }

    char *action = xstrdup(adp_actions[rule->action]);
    action[0] = action[0] - 'A' + 'a';
    snprintf(d->rule, sizeof d->rule, "%s-%s-%.7s",
             rule->ingress ? "ingress" : "egress", action, rule->identity);
    free(action);
    return d->rule;
}

static void
draft_verdict(struct draft *d, struct adp_bridge *b,
              const struct adp_log_item *item)
{
    const struct adp_state *state = adp_bridge_state(b);
    const struct adp_network_policy *policy;
    const struct adp_network_policy_rule *rule;

    d->fields[ADP_LOG_TABLE] = adp_bridge_pipeline_table_name(item->table_id,
                                                              b);
    d->fields[ADP_LOG_DIRECTION] = item->ingress ? "Ingress" : "Egress";
    d->fields[ADP_LOG_ACTION]
        = adp_log_disposition_to_string(item->disposition);
    if (!item->rule) {
        /* Isolation is nobody's in particular. */
        d->fields[ADP_LOG_POLICY] = "K8sNetworkPolicy";
        return;
    }
    snprintf(d->priority, sizeof d->priority, "%"PRIu16, item->priority);
    d->fields[ADP_LOG_PRIORITY] = d->priority;
    if (state && adp_state_find_rule(state, item->rule, &policy, &rule)) {
        d->fields[ADP_LOG_POLICY] = policy->up.name;
        d->fields[ADP_LOG_RULE] = rule_name(d, policy, rule);
        d->fields[ADP_LOG_LABEL] = rule->log_label;
        if (rule->l7_protocols && item->disposition == ADP_LOG_ALLOW) {
            d->fields[ADP_LOG_ACTION] = "Redirect";
        }
    }
}

static void
copy_port_name(struct adp_bridge *b, ofp_port_t port, char *name, size_t size)
{
    const char *s = ofputil_port_map_get_name(adp_bridge_port_map(b), port);

    if (s) {
        ovs_strlcpy(name, s, size);
    }
}

static void
put_file(const struct adp_log_line *line, uint64_t time_us,
         uint64_t n_packets, uint64_t duration_us)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    adp_log_format(line, time_us, n_packets, duration_us, &s);
    ds_put_char(&s, '\n');
    adp_log_file_put(log_state.file, ds_cstr(&s), s.length);
    ds_destroy(&s);
}

static void
emit(const struct adp_log_line *line, uint64_t time_us, uint64_t n_packets,
     uint64_t duration_us, void *aux OVS_UNUSED)
{
    adp_log_history_add(log_state.history, line, time_us, n_packets,
                        duration_us);
    put_file(line, time_us, n_packets, duration_us);
}

static void
handle_record(const struct adp_log_record *r, void *aux OVS_UNUSED)
{
    struct adp_bridge *b = adp_bridge_of_serial(r->bridge);
    struct draft d = { .fields = { NULL } };
    struct adp_log_line line = { .text = NULL };
    struct adp_bridge *out_bridge;
    ofp_port_t out_port;

    if (!b) {
        return;                 /* It is gone, and so are its policies. */
    }
    draft_packet(&d, r);
    draft_verdict(&d, b, &r->item);

    const struct pod_names *pods = pod_names_of(b);
    d.fields[ADP_LOG_APPLIED_TO]
        = (pods ? shash_find_data(&pods->names,
                                  r->item.ingress ? d.dst : d.src) : NULL);
    line.text = adp_log_line_text(d.fields);
    ovs_strlcpy(line.bridge, adp_bridge_name(b), sizeof line.bridge);
    copy_port_name(b, r->in_port, line.in_port, sizeof line.in_port);
    if (r->out_port != ODPP_NONE
        && (out_bridge = adp_ports_input(r->out_port, &out_port)) != NULL) {
        copy_port_name(out_bridge, out_port, line.out_port,
                       sizeof line.out_port);
    }
    if (r->item.disposition == ADP_LOG_ALLOW) {
        emit(&line, r->time_us, 1, 0, NULL);
        free(line.text);
    } else {
        adp_log_dedup_add(log_state.dedup, &line, r->time_us);
    }
}

/* The main loop's. */

void
adp_show_log_init(void)
{
    log_state.dedup = adp_log_dedup_create(emit, NULL);
    log_state.history = adp_log_history_create();
    hmap_init(&log_state.pods);
}

void
adp_show_log_exit(void)
{
    if (log_state.file) {
        adp_log_dedup_destroy(log_state.dedup, time_wall_usec());
        adp_log_file_destroy(log_state.file);
        log_state.file = NULL;
    }
}

void
adp_show_log_configure(const char *file, uint64_t max_size,
                       unsigned int n_backups)
{
    char *name = (file && !strcmp(file, "none") ? NULL
                  : abs_file_name(ovs_logdir(), file && file[0] ? file
                                  : LOG_FILE));

    if (!log_state.file) {
        /* Not before: the daemon may have forked. */
        log_state.file = adp_log_file_create();
    }
    adp_log_file_configure(log_state.file, name, max_size, n_backups);
    free(name);
}

void
adp_show_log_run(void)
{
    struct adp_turn_slice slice;

    if (!log_state.file) {
        return;                 /* Nobody has configured anything yet. */
    }
    forget_old_names();
    log_state.more = true;
    adp_turn_slice_init(&slice);
    while (log_state.more && adp_turn_slice_goes_on(&slice)) {
        log_state.more = (adp_log_rings_drain(handle_record, NULL,
                                              RECORDS_A_STEP)
                          == RECORDS_A_STEP);
    }
    adp_log_dedup_run(log_state.dedup, time_wall_usec());
}

void
adp_show_log_wait(void)
{
    if (!log_state.file) {
        return;
    }
    if (log_state.more) {
        poll_immediate_wake();
    }

    uint64_t next_us = adp_log_dedup_next_us(log_state.dedup);
    if (next_us != UINT64_MAX) {
        uint64_t now_us = time_wall_usec();

        poll_timer_wait(next_us > now_us ? (next_us - now_us) / 1000 + 1 : 0);
    }
    adp_log_rings_wait();
}

/* For people. */

uint64_t
adp_show_log_last(void)
{
    return adp_log_history_last(log_state.history);
}

static struct json *
entry_to_json(const struct adp_log_entry *entry)
{
    struct json *o = json_object_create();
    const struct adp_log_line *line = &entry->line;
    struct ds s = DS_EMPTY_INITIALIZER;

    adp_log_format_time(entry->time_us, &s);
    json_object_put_string(o, "time", ds_cstr(&s));
    json_object_put(o, "time_ms", json_integer_create(entry->time_us / 1000));
    adp_log_line_to_json(line->text, o);
    ds_clear(&s);
    adp_log_format(line, entry->time_us, entry->n_packets, entry->duration_us,
                   &s);
    json_object_put_string(o, "line", ds_cstr(&s));
    ds_destroy(&s);
    json_object_put(o, "packets", json_integer_create(entry->n_packets));
    json_object_put_string(o, "bridge", line->bridge);
    if (line->in_port[0]) {
        json_object_put_string(o, "in_port", line->in_port);
    }
    if (line->out_port[0]) {
        json_object_put_string(o, "out_port", line->out_port);
    }
    return o;
}

struct json *
adp_show_log_lines(const char *bridge, uint64_t after, unsigned int max)
{
    const struct adp_log_history *h = log_state.history;
    struct json *result = json_object_create();
    struct json *lines = json_array_create_empty();
    const struct adp_log_entry *entry;
    uint64_t n_lost = 0;

    while (json_array(lines)->n < max
           && (entry = adp_log_history_next(h, after)) != NULL) {
        n_lost += entry->number - after - 1;
        after = entry->number;
        if (!bridge || !strcmp(bridge, entry->line.bridge)) {
            json_array_add(lines, entry_to_json(entry));
        }
    }
    json_object_put(result, "lines", lines);
    json_object_put(result, "last", json_integer_create(after));
    json_object_put(result, "lost", json_integer_create(n_lost));
    return result;
}

struct json *
adp_show_log_stats(void)
{
    struct json *o = json_object_create();
    struct adp_log_file_stats stats = { .n_written = 0 };

    if (log_state.file) {
        adp_log_file_stats_get(log_state.file, &stats);
    }
    json_object_put(o, "lines", json_integer_create(adp_show_log_last()));
    json_object_put(o, "pods", json_integer_create(count_names()));
    json_object_put(o, "waiting", json_integer_create(
                        adp_log_dedup_count(log_state.dedup)));
    if (stats.name) {
        json_object_put_string(o, "file", stats.name);
    }
    json_object_put(o, "written", json_integer_create(stats.n_written));
    json_object_put(o, "unwritten", json_integer_create(stats.n_lost));
    json_object_put(o, "rotated", json_integer_create(stats.n_rotated));
    if (stats.error) {
        json_object_put_string(o, "error", stats.error);
    }
    free(stats.name);
    free(stats.error);
    return o;
}
