/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-stats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-print.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Cells. */

static char *
text_cell(const struct json *json, const char *path)
{
    return nullable_xstrdup(dpctl_json_str(json, path));
}

static char *
number_cell(long long int n)
{
    return n >= 0 ? xasprintf("%lld", n) : NULL;
}

/* Returns NULL, which is shown as "-", if there is no such number. */
static char *
count_cell(const struct json *json, const char *path)
{
    return number_cell(dpctl_json_int(json, path, -1));
}

static char *
percent_cell(long long int part, long long int all)
{
    return (part < 0 || all <= 0 ? NULL
            : xasprintf("%.1f", 100.0 * part / all));
}

static char *
port_cell(const struct json *json)
{
    const char *protocol = dpctl_json_str(json, "protocol");

    return xasprintf("%lld/%s", dpctl_json_int(json, "port", 0),
                     protocol ? protocol : "?");
}

/* A rule by its name, or its place among the policy's of its direction. */
static char *
rule_cell(const struct json *rule)
{
    const char *name = dpctl_json_str(rule, "rule");

    return (name ? xstrdup(name)
            : xasprintf("#%lld", dpctl_json_int(rule, "number", 0)));
}

static void
put_table(struct ds *s, struct dpctl_table *table)
{
    if (s->length) {
        ds_put_char(s, '\n');
    }
    dpctl_table_format(table, s);
    dpctl_table_destroy(table);
}

/* Sums. */

/* The sum of all members, but for those that are sums themselves. */
static long long int
sum_drops(const struct json *stats)
{
    const struct shash_node *node;
    long long int sum = 0;

    SHASH_FOR_EACH (node, dpctl_json_object(stats, "drops")) {
        const struct json *n = node->data;

        sum += n->type == JSON_INTEGER ? n->integer : 0;
    }
    return sum;
}

/* All that came to the bridge. */
static long long int
sum_packets(const struct json *stats)
{
    return (dpctl_json_int(stats, "packets.handled", 0)
            + dpctl_json_int(stats, "punts.total", 0));
}

/* Tables of "stats". */

/* "TITLE: TEXT", if there is a text. */
static void
put_line(struct ds *s, const char *title, const char *text)
{
    if (text) {
        ds_put_format(s, "%s: %s\n", title, text);
    }
}

/* Where the state is on the disk. */
static void
format_store(const struct json *stats, struct ds *s)
{
    const struct json *store = dpctl_json_get(stats, "store");
    const char *folder = dpctl_json_str(store, "folder");

    put_line(s, "Stored in", folder);
    put_line(s, "No packet passes", dpctl_json_str(store, "closed"));
    put_line(s, "Not stored", dpctl_json_str(store, "error"));
    if (dpctl_json_int(store, "transactions", -1) >= 0) {
        ds_put_format(s, "Stored: generation %lld, %lld bytes; "
                      "%lld transactions, %lld snapshots, %lld failures, "
                      "%lld bytes written\n",
                      dpctl_json_int(store, "generation", 0),
                      dpctl_json_int(store, "bytes", 0),
                      dpctl_json_int(store, "transactions", 0),
                      dpctl_json_int(store, "snapshots", 0),
                      dpctl_json_int(store, "failed", 0),
                      dpctl_json_int(store, "written", 0));
    }
}

static void
format_bridge(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "BRIDGE", "PIPELINE", "PROGRAM", "PROGRAM-BYTES", "STATE"
    };
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 0x1c;
    dpctl_table_add(&t, text_cell(stats, "bridge"));
    dpctl_table_add(&t, text_cell(stats, "pipeline"));
    dpctl_table_add(&t, count_cell(stats, "program_generation"));
    dpctl_table_add(&t, count_cell(stats, "program_bytes"));
    dpctl_table_add(&t, count_cell(stats, "state_generation"));
    put_table(s, &t);
    put_line(s, "Options", dpctl_json_str(stats, "pipeline_options"));
    put_line(s, "Not as configured", dpctl_json_str(stats, "pipeline_error"));
    put_line(s, "No packet passes", dpctl_json_str(stats, "closed"));
    put_line(s, "All packets punted for", dpctl_json_str(stats, "stock"));
    put_line(s, "Left out", dpctl_json_str(stats, "pipeline_warning"));
    format_store(stats, s);
}

static void
format_packets(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "PACKETS", "HANDLED", "HITS", "HIT-%", "DECIDES", "PUNTS", "DROPS",
        "LEARNED", "UNLEARNED", "BYTES", "CYCLES/DECIDE"
    };
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = UINT64_MAX;
    dpctl_table_add(&t, number_cell(sum_packets(stats)));
    dpctl_table_add(&t, count_cell(stats, "packets.handled"));
    dpctl_table_add(&t, count_cell(stats, "packets.hits"));
    dpctl_table_add(&t, percent_cell(dpctl_json_int(stats, "packets.hits", -1),
                                     sum_packets(stats)));
    dpctl_table_add(&t, count_cell(stats, "packets.decides"));
    dpctl_table_add(&t, count_cell(stats, "punts.total"));
    dpctl_table_add(&t, number_cell(sum_drops(stats)));
    dpctl_table_add(&t, count_cell(stats, "packets.learned"));
    dpctl_table_add(&t, count_cell(stats, "packets.unlearned"));
    dpctl_table_add(&t, count_cell(stats, "packets.bytes"));
    dpctl_table_add(&t, count_cell(stats, "packets.cycles_per_decide"));
    put_table(s, &t);
}

static char *
thread_cell(const struct json *thread)
{
    long long int core = dpctl_json_int(thread, "core", -1);

    return (core >= 0 ? xasprintf("pmd, core %lld", core)
            : text_cell(thread, "thread"));
}

/* A row for a thread, or for the sum over all. */
static void
add_thread(struct dpctl_table *t, char *name, const struct json *work,
           const struct json *cache)
{
    long long int busy = dpctl_json_int(work, "busy_cycles", 0);
    long long int idle = dpctl_json_int(work, "idle_cycles", 0);

    dpctl_table_add(t, name);
    dpctl_table_add(t, count_cell(work, "packets"));
    dpctl_table_add(t, busy + idle ? count_cell(work, "cycles_per_packet")
                    : NULL);
    dpctl_table_add(t, percent_cell(busy, busy + idle));
    dpctl_table_add(t, count_cell(cache, "sessions"));
    dpctl_table_add(t, count_cell(cache, "session_capacity"));
    dpctl_table_add(t, count_cell(cache, "session_bytes"));
    dpctl_table_add(t, count_cell(cache, "session_verdicts"));
    dpctl_table_add(t, count_cell(cache, "sessions_inserted"));
}

static void
format_threads(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "THREAD", "PACKETS", "CYCLES/PACKET", "BUSY-%", "SESSIONS",
        "CAPACITY", "BYTES", "VERDICTS", "INSERTED"
    };
    const struct json_array *threads = dpctl_json_array(stats, "threads");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = ~UINT64_C(1);
    for (size_t i = 0; i < threads->n; i++) {
        const struct json *thread = threads->elems[i];

        add_thread(&t, thread_cell(thread), thread, thread);
    }
    add_thread(&t, xstrdup("all pmds; all sessions"),
               dpctl_json_member(stats, "pmds"),
               dpctl_json_member(stats, "cache"));
    put_table(s, &t);
}

static char *
limit_cell(const struct json *o, const char *name)
{
    return (dpctl_json_member(o, name) ? count_cell(o, name)
            : xstrdup("unlimited"));
}

static void
format_connections(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "CONNECTIONS", "LIMIT", "HALF-OPEN", "LIMIT", "EVICTED", "UNWATCHED",
        "UNANSWERED", "LIMIT", "EVICTED", "UNWATCHED"
    };
    const struct json *c = dpctl_json_member(stats, "connections");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = UINT64_MAX;
    dpctl_table_add(&t, count_cell(c, "all"));
    dpctl_table_add(&t, count_cell(c, "limit"));
    dpctl_table_add(&t, count_cell(c, "half_open"));
    dpctl_table_add(&t, limit_cell(c, "half_open_limit"));
    dpctl_table_add(&t, count_cell(c, "half_open_evicted"));
    dpctl_table_add(&t, count_cell(c, "half_open_unwatched"));
    dpctl_table_add(&t, count_cell(c, "unanswered"));
    dpctl_table_add(&t, limit_cell(c, "unanswered_limit"));
    dpctl_table_add(&t, count_cell(c, "unanswered_evicted"));
    dpctl_table_add(&t, count_cell(c, "unanswered_unwatched"));
    put_table(s, &t);
}

static char *
kb_cell(const struct json *o, const char *path)
{
    long long int n = dpctl_json_int(o, path, -1);

    return n >= 0 ? number_cell(n / 1024) : NULL;
}

static void
format_memory(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "RESIDENT-KB", "CONNECTIONS-KB", "SESSIONS-KB", "VERDICTS-KB",
        "PROGRAM-KB"
    };
    const struct json *m = dpctl_json_member(stats, "memory");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = UINT64_MAX;
    dpctl_table_add(&t, kb_cell(m, "resident_bytes"));
    dpctl_table_add(&t, kb_cell(m, "connection_bytes"));
    dpctl_table_add(&t, kb_cell(m, "session_bytes"));
    dpctl_table_add(&t, kb_cell(m, "verdict_bytes"));
    dpctl_table_add(&t, kb_cell(m, "program_bytes"));
    put_table(s, &t);
}

/* Turns of the main loop. */

struct section {
    const char *name;
    long long int us;
};

static int
compare_sections(const void *a_, const void *b_)
{
    const struct section *a = a_;
    const struct section *b = b_;

    return (a->us != b->us ? (a->us < b->us ? 1 : -1)
            : strcmp(a->name, b->name));
}

static char *
ms_cell(long long int us)
{
    return us >= 0 ? xasprintf("%.1f", us / 1000.0) : NULL;
}

/* The largest sections of a turn: "openflow 12.0, compile 3.1". */
static char *
sections_cell(const struct json *turn)
{
    enum { MAX_SECTIONS = 3 };

    const struct shash *times = dpctl_json_object(turn, "section_us");
    struct section *sections = xcalloc(shash_count(times) + 1,
                                       sizeof *sections);
    struct ds s = DS_EMPTY_INITIALIZER;
    const struct shash_node *node;
    size_t n = 0;

    SHASH_FOR_EACH (node, times) {
        const struct json *us = node->data;

        if (us->type == JSON_INTEGER && us->integer) {
            sections[n++] = (struct section) { node->name, us->integer };
        }
    }
    qsort(sections, n, sizeof *sections, compare_sections);
    for (size_t i = 0; i < MIN(n, MAX_SECTIONS); i++) {
        ds_put_format(&s, "%s%s %.1f", i ? ", " : "", sections[i].name,
                      sections[i].us / 1000.0);
    }
    free(sections);
    return n ? ds_steal_cstr(&s) : NULL;
}

/* Seconds from so many milliseconds ago. */
static char *
ago_cell(const struct json *turn, const char *member)
{
    long long int ms = dpctl_json_int(turn, member, -1);

    return ms >= 0 ? xasprintf("%.1f", ms / 1000.0) : NULL;
}

static void
add_turn(struct dpctl_table *t, char *since, const struct json *turn)
{
    dpctl_table_add(t, since);
    dpctl_table_add(t, ms_cell(dpctl_json_int(turn, "us", -1)));
    dpctl_table_add(t, ms_cell(dpctl_json_int(turn, "cpu_us", -1)));
    dpctl_table_add(t, ago_cell(turn, "ago_ms"));
    dpctl_table_add(t, sections_cell(turn));
}

static void
format_turns(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "LONGEST-TURN", "MS", "CPU-MS", "SECONDS-AGO", "LARGEST-PARTS-MS"
    };
    static const char *const counts[] = {
        "TURNS", ">1ms", ">10ms", ">50ms", ">250ms", ">1000ms"
    };
    const struct json *turns = dpctl_json_member(stats, "turns");
    const struct json *recent = dpctl_json_member(turns, "recent");
    char *seconds = ago_cell(recent, "since_ms");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 14;
    add_turn(&t, xasprintf("last %s s", seconds ? seconds : "?"), recent);
    add_turn(&t, xstrdup("since the start"),
             dpctl_json_member(turns, "longest"));
    put_table(s, &t);
    free(seconds);

    dpctl_table_init(&t, counts, ARRAY_SIZE(counts));
    t.numbers = UINT64_MAX;
    dpctl_table_add(&t, count_cell(turns, "count"));
    dpctl_table_add(&t, count_cell(turns, "longer_than_ms.1"));
    dpctl_table_add(&t, count_cell(turns, "longer_than_ms.10"));
    dpctl_table_add(&t, count_cell(turns, "longer_than_ms.50"));
    dpctl_table_add(&t, count_cell(turns, "longer_than_ms.250"));
    dpctl_table_add(&t, count_cell(turns, "longer_than_ms.1000"));
    put_table(s, &t);
}

/* The counters of the object 'name' that aren't 0, under 'heading'. */
static void
format_reasons(const struct json *stats, const char *name,
               const char *heading, struct ds *s)
{
    const char *const headings[] = { heading, "PACKETS" };
    const struct shash *reasons = dpctl_json_object(stats, name);
    const struct shash_node **nodes = shash_sort(reasons);
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 2;
    for (size_t i = 0; i < shash_count(reasons); i++) {
        const struct json *n = nodes[i]->data;

        if (n->type == JSON_INTEGER && n->integer
            && strcmp(nodes[i]->name, "total")
            && strcmp(nodes[i]->name, "ip")) {
            dpctl_table_add(&t, xstrdup(nodes[i]->name));
            dpctl_table_add(&t, number_cell(n->integer));
        }
    }
    put_table(s, &t);
    free(nodes);
}

static int
compare_tables(const void *a_, const void *b_)
{
    const struct shash_node *const *a = a_;
    const struct shash_node *const *b = b_;
    long long int a_id = dpctl_json_int((*a)->data, "id", 0);
    long long int b_id = dpctl_json_int((*b)->data, "id", 0);

    return a_id < b_id ? -1 : a_id > b_id;
}

/* In the pipeline's order. */
static void
format_tables(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "ID", "TABLE", "FLOWS", "MATCHED", "MISSED"
    };
    const struct shash *tables = dpctl_json_object(stats, "tables");
    const struct shash_node **nodes = shash_sort(tables);
    struct dpctl_table t;

    if (nodes) {
        qsort(nodes, shash_count(tables), sizeof *nodes, compare_tables);
    }
    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = ~UINT64_C(2);
    for (size_t i = 0; i < shash_count(tables); i++) {
        dpctl_table_add(&t, count_cell(nodes[i]->data, "id"));
        dpctl_table_add(&t, xstrdup(nodes[i]->name));
        dpctl_table_add(&t, count_cell(nodes[i]->data, "flows"));
        dpctl_table_add(&t, count_cell(nodes[i]->data, "matched"));
        dpctl_table_add(&t, count_cell(nodes[i]->data, "missed"));
    }
    put_table(s, &t);
    free(nodes);
}

static void
add_rule_name(struct dpctl_table *t, const struct json *rule)
{
    dpctl_table_add(t, text_cell(rule, "policy"));
    dpctl_table_add(t, text_cell(rule, "direction"));
    dpctl_table_add(t, rule_cell(rule));
    dpctl_table_add(t, text_cell(rule, "action"));
}

static void
format_rules(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "POLICY", "DIRECTION", "RULE", "ACTION", "SESSIONS", "PACKETS", "BYTES"
    };
    const struct json_array *rules = dpctl_json_array(stats, "rules");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 0x70;
    for (size_t i = 0; i < rules->n; i++) {
        add_rule_name(&t, rules->elems[i]);
        dpctl_table_add(&t, count_cell(rules->elems[i], "sessions"));
        dpctl_table_add(&t, count_cell(rules->elems[i], "packets"));
        dpctl_table_add(&t, count_cell(rules->elems[i], "bytes"));
    }
    put_table(s, &t);
}

static void
format_services(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "SERVICE", "PORT", "SESSIONS", "BY-AFFINITY"
    };
    const struct json_array *services = dpctl_json_array(stats, "services");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 0xc;
    for (size_t i = 0; i < services->n; i++) {
        const struct json *service = services->elems[i];

        dpctl_table_add(&t, text_cell(service, "service"));
        dpctl_table_add(&t, port_cell(service));
        dpctl_table_add(&t, count_cell(service, "sessions"));
        dpctl_table_add(&t, count_cell(service, "affinity_sessions"));
    }
    put_table(s, &t);
}

static void
format_endpoints(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "SERVICE", "PORT", "ENDPOINT", "SESSIONS"
    };
    const struct json_array *services = dpctl_json_array(stats, "services");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 8;
    for (size_t i = 0; i < services->n; i++) {
        const struct json *service = services->elems[i];
        const struct json_array *eps = dpctl_json_array(service, "endpoints");

        for (size_t j = 0; j < eps->n; j++) {
            dpctl_table_add(&t, text_cell(service, "service"));
            dpctl_table_add(&t, port_cell(service));
            dpctl_table_add(&t, xasprintf(
                                "%s:%lld", dpctl_json_str(eps->elems[j], "ip"),
                                dpctl_json_int(eps->elems[j], "port", 0)));
            dpctl_table_add(&t, count_cell(eps->elems[j], "sessions"));
        }
    }
    put_table(s, &t);
}

static void
format_egresses(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "EGRESS-IP", "NODE", "SESSIONS", "PACKETS", "BYTES", "KBPS", "PASSED",
        "DROPPED"
    };
    static const char *const meter_counts[] = {
        "rate_kbps", "passed_packets", "dropped_packets"
    };
    const struct json_array *egresses = dpctl_json_array(stats, "egresses");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 0xfc;
    for (size_t i = 0; i < egresses->n; i++) {
        const struct json *egress = egresses->elems[i];
        const struct json *meter = dpctl_json_member(egress, "bandwidth");

        dpctl_table_add(&t, text_cell(egress, "egress_ip"));
        dpctl_table_add(&t, text_cell(egress, "node"));
        dpctl_table_add(&t, count_cell(egress, "sessions"));
        dpctl_table_add(&t, count_cell(egress, "packets"));
        dpctl_table_add(&t, count_cell(egress, "bytes"));
        for (size_t j = 0; j < ARRAY_SIZE(meter_counts); j++) {
            dpctl_table_add(&t, (meter ? count_cell(meter, meter_counts[j])
                                 : xstrdup("-")));
        }
    }
    put_table(s, &t);
}

static void
format_traffic_controls(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "TRAFFIC-CONTROL", "ACTION", "PORT", "PACKETS", "BYTES"
    };
    const struct json_array *tcs = dpctl_json_array(stats, "traffic_controls");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 0x18;
    for (size_t i = 0; i < tcs->n; i++) {
        const struct json *tc = tcs->elems[i];

        dpctl_table_add(&t, text_cell(tc, "traffic_control"));
        dpctl_table_add(&t, text_cell(tc, "action"));
        dpctl_table_add(&t, text_cell(tc, "port"));
        dpctl_table_add(&t, count_cell(tc, "packets"));
        dpctl_table_add(&t, count_cell(tc, "bytes"));
    }
    put_table(s, &t);
}

/* What went to the engine of L7 rules, if any did. */
static void
format_l7(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = { "L7", "PACKETS" };
    static const char *const members[] = {
        "redirected", "returned", "dropped"
    };
    const struct json *l7 = dpctl_json_member(stats, "l7");
    struct dpctl_table t;
    bool any = false;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 2;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        any |= dpctl_json_int(l7, members[i], 0) != 0;
        dpctl_table_add(&t, xstrdup(members[i]));
        dpctl_table_add(&t, count_cell(l7, members[i]));
    }
    if (any) {
        put_table(s, &t);
    } else {
        dpctl_table_destroy(&t);
    }
}

/* Where something was to be logged. */
static void
format_log(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "LOGGED", "LIMITED", "LOST", "LINES", "WRITTEN", "UNWRITTEN", "FILE"
    };
    struct dpctl_table t;

    if (dpctl_json_int(stats, "packets.logged", 0)
        + dpctl_json_int(stats, "packets.log_limited", 0)
        + dpctl_json_int(stats, "packets.log_lost", 0) == 0) {
        return;
    }
    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 0x3f;
    dpctl_table_add(&t, count_cell(stats, "packets.logged"));
    dpctl_table_add(&t, count_cell(stats, "packets.log_limited"));
    dpctl_table_add(&t, count_cell(stats, "packets.log_lost"));
    dpctl_table_add(&t, count_cell(stats, "log.lines"));
    dpctl_table_add(&t, count_cell(stats, "log.written"));
    dpctl_table_add(&t, count_cell(stats, "log.unwritten"));
    dpctl_table_add(&t, text_cell(stats, "log.file"));
    put_table(s, &t);
    put_line(s, "The log isn't written", dpctl_json_str(stats, "log.error"));
}

static long long int
sum_of(const struct json *stats, const char *path)
{
    const struct json *o = dpctl_json_get(stats, path);
    const struct shash_node *node;
    long long int sum = 0;

    SHASH_FOR_EACH (node, dpctl_json_object(stats, path)) {
        sum += dpctl_json_int(o, node->name, 0);
    }
    return sum;
}

/* Where packets are or were compared with upstream's translation. */
static void
format_shadow(const struct json *stats, struct ds *s)
{
    static const char *const headings[] = {
        "SHADOWED", "COMPARED", "DIFFERENT", "STALE", "UNCOMPARED", "LOST"
    };
    struct dpctl_table t;

    if (dpctl_json_int(stats, "shadow.rate", 0)
        + dpctl_json_int(stats, "shadow.sampled", 0) == 0) {
        return;
    }
    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = UINT64_MAX;
    dpctl_table_add(&t, count_cell(stats, "shadow.sampled"));
    dpctl_table_add(&t, count_cell(stats, "shadow.compared"));
    dpctl_table_add(&t, count_cell(stats, "shadow.different"));
    dpctl_table_add(&t, count_cell(stats, "shadow.stale"));
    dpctl_table_add(&t, number_cell(sum_of(stats, "shadow.uncompared")));
    dpctl_table_add(&t, count_cell(stats, "shadow.lost"));
    put_table(s, &t);
}

void
dpctl_stats_format(const struct json *stats, struct ds *s)
{
    format_bridge(stats, s);
    format_packets(stats, s);
    format_threads(stats, s);
    if (dpctl_json_member(stats, "connections")) {
        format_connections(stats, s);
    }
    if (dpctl_json_member(stats, "memory")) {
        format_memory(stats, s);
    }
    if (dpctl_json_member(stats, "turns")) {
        format_turns(stats, s);
    }
    format_reasons(stats, "punts", "PUNT", s);
    format_reasons(stats, "drops", "DROP", s);
    format_log(stats, s);
    format_shadow(stats, s);
    format_tables(stats, s);
    if (dpctl_json_member(stats, "rules")) {
        format_rules(stats, s);
        format_services(stats, s);
        format_endpoints(stats, s);
        format_egresses(stats, s);
        format_traffic_controls(stats, s);
        format_l7(stats, s);
    }
}

/* Rates. */

struct interval {
    const struct json *before, *now;
    long long int ms;
};

/* By how much a number has grown; 0 if it isn't in both. */
static long long int
growth(const struct json *before, const struct json *now, const char *path)
{
    long long int a = dpctl_json_int(before, path, -1);
    long long int b = dpctl_json_int(now, path, -1);

    return a >= 0 && b > a ? b - a : 0;
}

static long long int
per_second(const struct interval *iv, long long int n)
{
    return (n * 1000 + iv->ms / 2) / iv->ms;
}

static char *
rate_cell(const struct interval *iv, const char *path)
{
    return (dpctl_json_int(iv->now, path, -1) < 0 ? NULL
            : number_cell(per_second(iv, growth(iv->before, iv->now, path))));
}

bool
dpctl_rates_known(const struct json *before, const struct json *now)
{
    static const char *const never_less[] = {
        "packets.handled", "packets.decides", "punts.total", "pmds.packets",
        "pmds.busy_cycles"
    };

    if (dpctl_json_int(now, "time_ms", 0)
        <= dpctl_json_int(before, "time_ms", 0)) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(never_less); i++) {
        if (dpctl_json_int(now, never_less[i], 0)
            < dpctl_json_int(before, never_less[i], 0)) {
            return false;
        }
    }
    return true;
}

static void
format_packet_rates(const struct interval *iv, struct ds *s)
{
    static const char *const headings[] = {
        "PACKETS/s", "HITS/s", "HIT-%", "DECIDES/s", "PUNTS/s", "DROPS/s",
        "NEW-SESSIONS/s", "SESSIONS", "CYCLES/PACKET"
    };
    long long int packets = sum_packets(iv->now) - sum_packets(iv->before);
    long long int polled = growth(iv->before, iv->now, "pmds.packets");
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = UINT64_MAX;
    dpctl_table_add(&t, number_cell(per_second(iv, packets)));
    dpctl_table_add(&t, rate_cell(iv, "packets.hits"));
    dpctl_table_add(&t, percent_cell(growth(iv->before, iv->now,
                                            "packets.hits"), packets));
    dpctl_table_add(&t, rate_cell(iv, "packets.decides"));
    dpctl_table_add(&t, rate_cell(iv, "punts.total"));
    dpctl_table_add(&t, number_cell(per_second(iv, sum_drops(iv->now)
                                               - sum_drops(iv->before))));
    dpctl_table_add(&t, rate_cell(iv, "cache.sessions_inserted"));
    dpctl_table_add(&t, count_cell(iv->now, "cache.sessions"));
    dpctl_table_add(&t, polled ? number_cell(growth(iv->before, iv->now,
                                                    "pmds.busy_cycles")
                                             / polled) : NULL);
    put_table(s, &t);
}

/* A rule or Service, and by how much its counters have grown. */
struct stats_row {
    const struct json *json;
    long long int sessions, packets, bytes;
};

static int
compare_rows(const void *a_, const void *b_)
{
    const struct stats_row *a = a_;
    const struct stats_row *b = b_;

    return (a->packets != b->packets ? (a->packets < b->packets ? 1 : -1)
            : a->sessions != b->sessions
            ? (a->sessions < b->sessions ? 1 : -1)
            : a->json < b->json ? -1 : a->json > b->json);
}

/* Returns the rows of the array 'name' that grew, the busiest first.  'key'
 * makes the text by which an element is known again. */
static struct stats_row *
busiest(const struct interval *iv, const char *name,
        char *(*key)(const struct json *), size_t *n)
{
    const struct json_array *old = dpctl_json_array(iv->before, name);
    const struct json_array *new = dpctl_json_array(iv->now, name);
    struct stats_row *rows = xcalloc(new->n + 1, sizeof *rows);
    struct shash by_key = SHASH_INITIALIZER(&by_key);

    for (size_t i = 0; i < old->n; i++) {
        shash_add_nocopy(&by_key, key(old->elems[i]), old->elems[i]);
    }
    *n = 0;
    for (size_t i = 0; i < new->n; i++) {
        const struct json *now = new->elems[i];
        char *k = key(now);
        const struct json *before = shash_find_data(&by_key, k);
        struct stats_row row = {
            .json = now,
            .sessions = (growth(before, now, "sessions")
                         + growth(before, now, "affinity_sessions")),
            .packets = growth(before, now, "packets"),
            .bytes = growth(before, now, "bytes"),
        };

        if (before && (row.sessions || row.packets)) {
            rows[(*n)++] = row;
        }
        free(k);
    }
    shash_destroy(&by_key);
    qsort(rows, *n, sizeof *rows, compare_rows);
    return rows;
}

static char *
rule_key(const struct json *rule)
{
    return xasprintf("%lld", dpctl_json_int(rule, "id", 0));
}

static char *
service_key(const struct json *service)
{
    const char *name = dpctl_json_str(service, "service");
    char *port = port_cell(service);
    char *key = xasprintf("%s %s", name ? name : "", port);

    free(port);
    return key;
}

static void
format_busiest_rules(const struct interval *iv, size_t max_rows,
                     int max_width, struct ds *s)
{
    static const char *const headings[] = {
        "POLICY", "DIRECTION", "RULE", "ACTION", "SESSIONS/s", "PACKETS/s",
        "BYTES/s"
    };
    size_t n;
    struct stats_row *rows = busiest(iv, "rules", rule_key, &n);
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 0x70;
    t.max_width = max_width;
    for (size_t i = 0; i < MIN(n, max_rows); i++) {
        add_rule_name(&t, rows[i].json);
        dpctl_table_add(&t, number_cell(per_second(iv, rows[i].sessions)));
        dpctl_table_add(&t, number_cell(per_second(iv, rows[i].packets)));
        dpctl_table_add(&t, number_cell(per_second(iv, rows[i].bytes)));
    }
    put_table(s, &t);
    free(rows);
}

static void
format_busiest_services(const struct interval *iv, size_t max_rows,
                        int max_width, struct ds *s)
{
    static const char *const headings[] = { "SERVICE", "PORT", "SESSIONS/s" };
    size_t n;
    struct stats_row *rows = busiest(iv, "services", service_key, &n);
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 4;
    t.max_width = max_width;
    for (size_t i = 0; i < MIN(n, max_rows); i++) {
        dpctl_table_add(&t, text_cell(rows[i].json, "service"));
        dpctl_table_add(&t, port_cell(rows[i].json));
        dpctl_table_add(&t, number_cell(per_second(iv, rows[i].sessions)));
    }
    put_table(s, &t);
    free(rows);
}

void
dpctl_rates_format(const struct json *before, const struct json *now,
                   size_t max_rows, int max_width, struct ds *s)
{
    struct interval iv = {
        before, now,
        (dpctl_json_int(now, "time_ms", 0)
         - dpctl_json_int(before, "time_ms", 0)),
    };

    format_packet_rates(&iv, s);
    if (dpctl_json_member(now, "rules")) {
        format_busiest_rules(&iv, max_rows, max_width, s);
        format_busiest_services(&iv, max_rows, max_width, s);
    }
}
