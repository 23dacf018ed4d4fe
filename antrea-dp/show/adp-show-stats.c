/* SPDX-License-Identifier: Apache-2.0 */

/* A bridge's counters as JSON: see docs/control-socket.md, "stats". */

#include <config.h>
#include "adp-show.h"

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-flow-cache.h"
#include "adp-fqdns.h"
#include "adp-handover.h"
#include "adp-journal.h"
#include "adp-mark-port.h"
#include "adp-multicast.h"
#include "adp-removal.h"
#include "adp-shadow.h"
#include "adp-show-log.h"
#include "adp-show-memory.h"
#include "adp-show-turns.h"
#include "adp-show-store.h"
#include "adp-state.h"
#include "adp-tunnel.h"
#include "conntrack.h"
#include "conntrack-half-open.h"
#include "dp-hooks.h"
#include "dpif-netdev.h"
#include "model-pause.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "openvswitch/json.h"
#include "pipeline-metrics.h"
#include "smap.h"
#include "timeval.h"

static void
put_count(struct json *object, const char *name, uint64_t value)
{
    json_object_put(object, name, json_integer_create(value));
}

static void
put_ratio(struct json *object, const char *name, uint64_t total, uint64_t n)
{
    put_count(object, name, n ? total / n : 0);
}

/* Packets of the bridge. */

static struct json *
stats_packets(const struct adp_bridge_counters *c)
{
    struct json *o = json_object_create();
    uint64_t decides = adp_counted(&c->decides);

    put_count(o, "handled", adp_counted(&c->handled));
    put_count(o, "bytes", adp_counted(&c->handled_bytes));
    put_count(o, "hits", adp_counted(&c->hits));
    put_count(o, "decides", decides);
    put_count(o, "decide_cycles", adp_counted(&c->decide_cycles));
    put_ratio(o, "cycles_per_decide", adp_counted(&c->decide_cycles),
              decides);
    put_count(o, "rejected", adp_counted(&c->rejected));
    put_count(o, "reject_limited", adp_counted(&c->reject_limited));
    put_count(o, "reject_silent", adp_counted(&c->reject_silent));
    put_count(o, "logged", adp_counted(&c->logged));
    put_count(o, "log_limited", adp_counted(&c->log_limited));
    put_count(o, "log_lost", adp_counted(&c->log_lost));
    put_count(o, "learned", adp_counted(&c->learned));
    put_count(o, "unlearned", adp_counted(&c->unlearned));
    put_count(o, "learned_late", adp_counted(&c->learned_late));
    return o;
}

static struct json *
stats_learned(struct adp_bridge *b)
{
    struct json *o = json_object_create();
    struct adp_learn_counts counts;

    adp_learn_table_get_counts(b->learn, &counts);
    put_count(o, "flows", counts.total);
    put_count(o, "waiting", counts.waiting);
    return o;
}

static void
put_suffixed(struct json *o, const char *name, const char *suffix, uint64_t n)
{
    char *key = xasprintf("%s%s", name, suffix);

    put_count(o, key, n);
    free(key);
}

/* Those that have a limit of their own. */
static void
put_watched(struct json *o, const char *name,
            const struct conntrack_half_open_stats *stats)
{
    put_count(o, name, stats->n);
    if (stats->limit != CONNTRACK_HALF_OPEN_UNLIMITED) {
        put_suffixed(o, name, "_limit", stats->limit);
    }
    put_suffixed(o, name, "_evicted", stats->evicted);
    put_suffixed(o, name, "_unwatched", stats->unwatched);
}

/* Connections are the daemon's, of all bridges. */
static struct json *
stats_connections(const struct adp_bridge *b)
{
    struct conntrack *ct = dp_dpif_conntrack(b->dpif.backer->dpif);
    struct json *o = json_object_create();
    struct conntrack_half_open_stats stats;
    uint32_t n, limit;

    conntrack_get_nconns(ct, &n);
    conntrack_get_maxconns(ct, &limit);
    put_count(o, "all", n);
    put_count(o, "limit", limit);
    conntrack_half_open_get_stats(ct, &stats);
    put_watched(o, "half_open", &stats);
    conntrack_unanswered_get_stats(ct, &stats);
    put_watched(o, "unanswered", &stats);
    return o;
}

/* The daemon's, too.  {}: nothing was left to it. */
static struct json *
stats_handover(void)
{
    struct json *o = json_object_create();
    struct adp_handover_stats stats;

    if (adp_handover_get_stats(&stats)) {
        put_count(o, "connections", stats.n_conns);
        put_count(o, "expired", stats.n_expired);
        put_count(o, "known", stats.n_known);
        put_count(o, "refused", stats.n_refused);
        put_count(o, "age_ms", stats.age_ms);
        put_count(o, "took_ms", stats.took_ms);
        if (stats.error) {
            json_object_put_string(o, "error", stats.error);
        }
    }
    return o;
}

static struct json *
stats_mark_ports(void)
{
    struct smap ports = SMAP_INITIALIZER(&ports);

    adp_mark_port_describe(&ports);
    struct json *o = smap_to_json(&ports);
    smap_destroy(&ports);
    return o;
}

static struct json *
stats_punts(const struct adp_bridge_counters *c)
{
    struct json *o = json_object_create();
    uint64_t total = 0;

    for (int i = ADP_PUNT_NONE + 1; i < ADP_N_PUNTS; i++) {
        put_count(o, adp_punt_name(i), adp_counted(&c->punts[i]));
        total += adp_counted(&c->punts[i]);
    }
    put_count(o, "total", total);
    put_count(o, "ip", adp_counted(&c->ip_punts));
    return o;
}

static struct json *
stats_drops(const struct adp_bridge_counters *c)
{
    static const char *names[ADP_N_DROPS] = {
#define X(SYMBOL, NAME, TEXT) [ADP_DROP_##SYMBOL] = NAME,
        ADP_DROP_REASONS
#undef X
    };
    struct json *o = json_object_create();

    for (int i = 0; i < ADP_N_DROPS; i++) {
        put_count(o, names[i], adp_counted(&c->drops[i]));
    }
    return o;
}

size_t
adp_show_n_flows(const struct adp_bridge *b)
{
    const struct adp_program *program = ovsrcu_get(struct adp_program *,
                                                   &b->program);
    size_t n = 0;

    for (int i = 0; i < ADP_N_TABLES; i++) {
        n += program->tables[i] ? program->tables[i]->n_rules : 0;
    }
    return n;
}

static struct json *
stats_tables(struct adp_bridge *b)
{
    const struct adp_program *program = ovsrcu_get(struct adp_program *,
                                                   &b->program);
    struct json *o = json_object_create();

    for (int i = 0; i < ADP_N_TABLES; i++) {
        uint64_t matched = adp_counted(&b->counters.tables[i].matched);
        uint64_t missed = adp_counted(&b->counters.tables[i].missed);

        if (program->tables[i] || matched || missed) {
            const char *name = adp_bridge_pipeline_table_name(i, b);
            struct json *t = json_object_create();

            put_count(t, "id", i);
            put_count(t, "flows",
                      program->tables[i] ? program->tables[i]->n_rules : 0);
            put_count(t, "matched", matched);
            put_count(t, "missed", missed);
            if (name) {
                json_object_put(o, name, t);
            } else {
                json_object_put_nocopy(o, xasprintf("%d", i), t);
            }
        }
    }
    return o;
}

/* Packet threads: of all bridges together. */

static void
put_sessions(struct json *o, const struct adp_flow_cache_stats *stats)
{
    put_count(o, "sessions", stats->n_sessions);
    put_count(o, "session_capacity", stats->capacity);
    put_count(o, "session_bytes", stats->n_bytes);
    put_count(o, "session_verdicts", stats->verdicts.n_verdicts);
    put_count(o, "sessions_inserted", stats->n_inserted);
    put_count(o, "sessions_evicted", stats->n_evicted);
    put_count(o, "sessions_idle", stats->n_idle);
    put_count(o, "memos", stats->n_walks);
    put_count(o, "memos_evicted", stats->n_walks_evicted);
    put_count(o, "replays", stats->n_replayed);
    put_count(o, "verdicts_leaving", stats->verdicts.n_leaving);
    put_count(o, "verdict_bytes", stats->verdicts.n_bytes);
    put_count(o, "verdicts_idle", stats->verdicts.n_idle);
    put_count(o, "verdicts_evicted", stats->verdicts.n_evicted);
    put_count(o, "verdicts_refused", stats->verdicts.n_refused);
    put_count(o, "verdicts_uncacheable", stats->n_uncacheable);
    put_count(o, "tunnel_kinds", stats->kinds.n);
    put_count(o, "tunnel_kinds_idle", stats->kinds.n_idle);
    put_count(o, "tunnel_kinds_evicted", stats->kinds.n_evicted);
    put_count(o, "vlans", stats->vlans.n);
    put_count(o, "vlans_idle", stats->vlans.n_idle);
    put_count(o, "vlans_evicted", stats->vlans.n_evicted);
}

static struct json *
stats_tunnels(const struct adp_bridge *b)
{
    struct json *o = json_object_create();
    struct adp_tunnels_counts counts;

    adp_tunnels_get_counts(b->tunnels, &counts);
    put_count(o, "ways", counts.n);
    put_count(o, "translated", counts.n_translated);
    put_count(o, "idle", counts.n_idle);
    put_count(o, "evicted", counts.n_evicted);
    return o;
}

static struct json *
stats_cache(void)
{
    struct json *o = json_object_create();
    struct adp_flow_cache_stats stats;

    adp_flow_cache_stats_get(&stats);
    put_sessions(o, &stats);
    return o;
}

/* The cache of thread 'work', which tells its core by its name. */
static const struct adp_flow_cache_thread *
find_cache(const struct adp_flow_cache_thread *caches, size_t n,
           const struct dp_pmd_work *work)
{
    for (size_t i = 0; i < n; i++) {
        unsigned int core_id;

        if (!ovs_scan(caches[i].name, "pmd-c%u/", &core_id)) {
            core_id = NON_PMD_CORE_ID;
        }
        if (core_id == work->core_id) {
            return &caches[i];
        }
    }
    return NULL;
}

static void
put_work(struct json *o, const struct dp_pmd_work *work)
{
    put_count(o, "packets", work->n_packets);
    put_count(o, "busy_cycles", work->busy_cycles);
    put_count(o, "idle_cycles", work->idle_cycles);
    put_ratio(o, "cycles_per_packet", work->busy_cycles, work->n_packets);
}

static struct json *
thread_to_json(const struct dp_pmd_work *work,
               const struct adp_flow_cache_thread *cache)
{
    struct json *o = json_object_create();

    if (work->core_id == NON_PMD_CORE_ID) {
        json_object_put_string(o, "thread", "main");
    } else {
        json_object_put_string(o, "thread", "pmd");
        put_count(o, "core", work->core_id);
        put_count(o, "numa", work->numa_id);
    }
    put_work(o, work);
    if (cache) {
        put_sessions(o, &cache->stats);
    }
    return o;
}

/* Puts the threads, and their sum: PMD threads only, since the main thread's
 * cycles aren't counted. */
static void
put_threads(struct json *o, const struct adp_bridge *b)
{
    struct json *array = json_array_create_empty();
    struct dp_pmd_work sum = { .n_packets = 0 };
    struct adp_flow_cache_thread *caches;
    struct dp_pmd_work *work;

    size_t n_caches = adp_flow_cache_threads_get(&caches);
    size_t n = dp_dpif_work(b->dpif.backer->dpif, &work);
    for (size_t i = 0; i < n; i++) {
        json_array_add(array, thread_to_json(&work[i],
                                             find_cache(caches, n_caches,
                                                        &work[i])));
        if (work[i].core_id != NON_PMD_CORE_ID) {
            sum.n_packets += work[i].n_packets;
            sum.busy_cycles += work[i].busy_cycles;
            sum.idle_cycles += work[i].idle_cycles;
        }
    }
    free(work);
    free(caches);

    struct json *pmds = json_object_create();
    put_work(pmds, &sum);
    json_object_put(o, "pmds", pmds);
    json_object_put(o, "threads", array);
}

/* Policy rules and Services. */

struct flow_reading {
    struct adp_bridge *b;
    struct adp_metrics *metrics;
    bool tables[UINT8_MAX + 1]; /* That are to be read. */
};

static void
read_flow(const struct rule *rule, void *reading_)
{
    const struct flow_reading *reading = reading_;
    struct adp_bridge *b = reading->b;
    long long int used;
    struct pkt_stats stats;
    uint32_t id;

    if (!reading->tables[rule->table_id]) {
        return;
    }

    enum adp_flow_metric metric = adp_bridge_pipeline(b)->flow_metric(
        rule->table_id, ntohll(rule->flow_cookie), &rule->cr.match, &id);
    if (metric) {
        b->dpif.up.ofproto_class->rule_get_stats(
            CONST_CAST(struct rule *, rule), &stats, &used);
        adp_metrics_add_flow(reading->metrics, metric, id, stats.n_packets,
                             stats.n_bytes);
    }
}

static void
read_flows(struct adp_bridge *b, struct adp_metrics *m)
{
    const struct adp_pipeline *pipeline = adp_bridge_pipeline(b);
    struct flow_reading reading = { .b = b, .metrics = m };

    for (size_t i = 0; i < pipeline->n_metric_tables; i++) {
        reading.tables[pipeline->metric_tables[i]] = true;
    }
    if (adp_metrics_has_passes(m)) {
        for (size_t i = 0; i < pipeline->n_pass_tables; i++) {
            reading.tables[pipeline->pass_tables[i]] = true;
        }
    }
    for (size_t part = 0; part < ADP_JOURNAL_PARTS; part++) {
        adp_journal_for_each(b, part, read_flow, &reading);
        adp_pause();
    }
}

struct group_reading {
    struct adp_bridge *b;
    struct adp_metrics *metrics;
};

static void
read_group(uint32_t group_id, void *reading_)
{
    const struct group_reading *reading = reading_;
    struct adp_bridge *b = reading->b;
    const struct ofgroup *group = ofproto_group_lookup(
        &b->dpif.up, group_id, OVS_VERSION_MAX, false);

    if (!group) {
        return;
    }

    size_t n = group->n_buckets;
    struct ofputil_group_stats stats = {
        .bucket_stats = xcalloc(n, sizeof *stats.bucket_stats),
    };
    uint64_t *n_packets = xcalloc(n, sizeof *n_packets);

    if (!b->dpif.up.ofproto_class->group_get_stats(group, &stats)) {
        for (size_t i = 0; i < n; i++) {
            n_packets[i] = stats.bucket_stats[i].packet_count;
        }
        adp_metrics_add_group(reading->metrics, group_id, n_packets, n);
    }
    free(n_packets);
    free(stats.bucket_stats);
}

static void
read_meters(struct adp_bridge *b, struct adp_metrics *m)
{
    const struct adp_meters *meters = adp_state_meters(adp_bridge_state(b));
    struct ofproto_meter_count n;

    for (uint32_t id = 1; id < ADP_N_METERS; id++) {
        if (meters->limits[id].rate
            && ofproto_count_meter(&b->dpif.up, id, &n)) {
            const struct adp_meter_count count = {
                n.n_packets, n.n_bytes, n.n_dropped_packets, n.n_dropped_bytes
            };

            adp_metrics_add_meter(m, id, &meters->limits[id], &count);
        }
    }
}

/* What rules decide that have no flows. */
static void
read_igmp_rules(struct adp_bridge *b, struct adp_metrics *m)
{
    struct adp_multicast_counts counts;

    adp_multicast_counts_init(&counts, adp_bridge_multicast(b));
    while (adp_multicast_counts_next(&counts)) {
        adp_metrics_add_flow(m, ADP_METRIC_RULE_LATER, counts.conj_id,
                             counts.n_packets, counts.n_bytes);
    }
}

static struct json *
multicast_pod(const struct adp_pod *pod,
              const struct adp_metrics_multicast *count)
{
    struct json *o = json_object_create();

    json_object_put_string(o, "pod", pod->up.name);
    put_count(o, "packets_sent", count->n_packets[false]);
    put_count(o, "bytes_sent", count->n_bytes[false]);
    put_count(o, "packets_received", count->n_packets[true]);
    put_count(o, "bytes_received", count->n_bytes[true]);
    return o;
}

/* Pods with multicast; IGMP doesn't count. */
static struct json *
multicast_pods(const struct adp_bridge *b, const struct adp_metrics *m)
{
    struct json *array = json_array_create_empty();
    size_t n;
    const struct adp_record **records = adp_state_sorted(adp_bridge_state(b),
                                                         ADP_KIND_POD, &n);

    for (size_t i = 0; i < n; i++) {
        const struct adp_pod *pod = CONTAINER_OF(records[i], struct adp_pod,
                                                 up);
        const struct adp_metrics_multicast *count = NULL;
        ofp_port_t port;

        if (adp_bridge_port_number(b, pod->port, &port)) {
            count = adp_metrics_multicast(m, ofp_to_u16(port));
        }
        if (count && (count->n_packets[false] || count->n_packets[true])) {
            json_array_add(array, multicast_pod(pod, count));
        }
    }
    free(records);
    return array;
}

void
adp_show_metrics(struct adp_bridge *b, bool endpoints, struct json *o)
{
    struct adp_metrics *m = adp_state_metrics(adp_bridge_state(b));
    struct group_reading groups = { .b = b, .metrics = m };

    read_flows(b, m);
    if (endpoints) {
        adp_metrics_for_each_group(m, read_group, &groups);
    }
    read_meters(b, m);
    read_igmp_rules(b, m);
    json_object_put(o, "rules", adp_metrics_rules(m));
    json_object_put(o, "services", adp_metrics_services(m, endpoints));
    json_object_put(o, "egresses", adp_metrics_egresses(m));
    json_object_put(o, "traffic_controls", adp_metrics_traffic_controls(m));
    json_object_put(o, "l7", adp_metrics_l7(m));
    json_object_put(o, "multicast_pods", multicast_pods(b, m));
    adp_metrics_destroy(m);
}

/* Why packets don't take the pipeline's way. */
static void
put_mode(struct json *o, const struct adp_bridge *b)
{
    const enum adp_mode mode = adp_bridge_mode(b);
    const char *punted_for = adp_bridge_punted_for(b);

    if (mode == ADP_MODE_CLOSED) {
        json_object_put_string(o, "closed", ofproto_get_flow_restore_wait()
                               ? "other_config:flow-restore-wait was set "
                               "when the daemon began"
                               : adp_bridge_awaits_pipeline(b)
                               ? "it can't have the pipeline that its "
                               "configuration asks for"
                               : "its flows were flushed, and its pipeline "
                               "isn't back");
    } else if (punted_for) {
        json_object_put_format(
            o, "stock", "%s%s", punted_for,
            mode == ADP_MODE_WATCHED ? ""
            : "; refused packets get no answer, nothing is logged, and DNS "
            "answers to Pods whose rules have names are lost");
    }
}

/* The pipeline's options, and why it isn't the one that is configured. */
static void
put_pipeline_details(struct json *o, const struct adp_bridge *b)
{
    const char *error = adp_bridge_pipeline_error(b);
    const struct adp_state *state = adp_bridge_state(b);
    uint64_t options = adp_bridge_pipeline_options(b);

    if (options) {
        struct ds s = DS_EMPTY_INITIALIZER;

        adp_pipeline_format_options(adp_bridge_pipeline(b), options, &s);
        json_object_put_string(o, "pipeline_options", ds_cstr(&s));
        ds_destroy(&s);
    }
    if (error) {
        json_object_put_string(o, "pipeline_error", error);
    }
    put_mode(o, b);

    char *warning = state ? adp_state_warning(state) : NULL;

    if (warning) {
        json_object_put_string(o, "pipeline_warning", warning);
        free(warning);
    }
}

/* {}: the state isn't stored. */
static struct json *
show_store(const struct adp_bridge *b)
{
    struct json *o = adp_show_store(adp_bridge_state(b));

    return o ? o : json_object_create();
}

struct json *
adp_show_stats(struct adp_bridge *b, bool all)
{
    const struct adp_pipeline *pipeline = adp_bridge_pipeline(b);
    const struct adp_program *program;
    struct json *o = json_object_create();

    program = ovsrcu_get(struct adp_program *, &b->program);

    json_object_put_string(o, "bridge", b->dpif.up.name);
    json_object_put_string(o, "pipeline",
                           pipeline ? pipeline->name : "none");
    put_pipeline_details(o, b);
    put_count(o, "time_ms", time_msec());
    put_count(o, "program_generation", program->generation);
    put_count(o, "program_bytes", adp_program_size(program));
    if (pipeline) {
        put_count(o, "state_generation",
                  adp_state_generation(adp_bridge_state(b)));
        json_object_put(o, "store", show_store(b));
    }
    json_object_put(o, "packets", stats_packets(&b->counters));
    json_object_put(o, "learned", stats_learned(b));
    json_object_put(o, "names", adp_fqdns_stats(adp_bridge_fqdns(b)));
    json_object_put(o, "multicast",
                    adp_multicast_stats(adp_bridge_multicast(b)));
    json_object_put(o, "connections", stats_connections(b));
    json_object_put(o, "handover", stats_handover());
    put_count(o, "leaving_flows", adp_removal_count(b));
    json_object_put(o, "mark_ports", stats_mark_ports());
    json_object_put(o, "punts", stats_punts(&b->counters));
    json_object_put(o, "drops", stats_drops(&b->counters));
    json_object_put(o, "tables", stats_tables(b));
    json_object_put(o, "cache", stats_cache());
    json_object_put(o, "tunnels", stats_tunnels(b));
    json_object_put(o, "log", adp_show_log_stats());
    json_object_put(o, "shadow", adp_shadow_stats(b));
    json_object_put(o, "memory", adp_show_memory(b));
    put_threads(o, b);
    json_object_put(o, "turns", adp_show_turns(all));
    return o;
}
