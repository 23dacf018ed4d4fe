/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-health.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-print.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "sset.h"
#include "util.h"

enum level { OK, WARNING, FAILED };

static const char *const level_names[] = { "ok", "warning", "failed" };

struct health {
    const struct dpctl_health_facts *facts;
    struct json *checks;
    enum level worst;
    size_t n_said;              /* Of the current check. */
    struct shash rows;          /* By UUID: Ports and Interfaces. */
};

static void OVS_PRINTF_FORMAT(4, 5)
say(struct health *h, enum level level, const char *check,
    const char *format, ...)
{
    struct json *o = json_object_create();
    va_list args;

    va_start(args, format);
    json_object_put_string(o, "check", check);
    json_object_put_string(o, "status", level_names[level]);
    json_object_put(o, "text", json_string_create_nocopy(
                        xvasprintf(format, args)));
    va_end(args);
    json_array_add(h->checks, o);
    h->worst = MAX(h->worst, level);
    h->n_said++;
}

static double
percent(long long int part, long long int all)
{
    return all > 0 ? 100.0 * part / all : 0;
}

/* The daemon. */

static void
check_daemon(struct health *h)
{
    const char *version = dpctl_json_str(h->facts->version, "version");
    const char *ovs = dpctl_json_str(h->facts->version, "ovs");

    if (h->facts->daemon_error) {
        say(h, FAILED, "daemon", "%s", h->facts->daemon_error);
    } else if (!nullable_string_is_equal(version, h->facts->client_version)) {
        say(h, WARNING, "daemon", "it is of version %s, antrea-dpctl of %s",
            version ? version : "?", h->facts->client_version);
    } else {
        say(h, OK, "daemon", "antrea-dp %s, Open vSwitch %s", version,
            ovs ? ovs : "?");
    }
}

static bool
is_builtin(const struct json *stats)
{
    const char *pipeline = dpctl_json_str(stats, "pipeline");

    return pipeline && strcmp(pipeline, "none");
}

static void
check_pipeline(struct health *h)
{
    const struct json *stats = h->facts->stats;
    const char *error = dpctl_json_str(stats, "pipeline_error");
    const char *warning = dpctl_json_str(stats, "pipeline_warning");
    const char *closed = dpctl_json_str(stats, "closed");
    const char *bridge = dpctl_json_str(stats, "bridge");
    const char *pipeline = dpctl_json_str(stats, "pipeline");

    if (!stats) {
        say(h, FAILED, "bridge", "%s", (h->facts->stats_error
                                        ? h->facts->stats_error : "none"));
        return;
    }
    if (closed) {
        say(h, FAILED, "bridge", "%s lets no packet pass: %s%s%s", bridge,
            closed, error ? "; " : "", error ? error : "");
    } else if (error) {
        say(h, FAILED, "bridge", "%s: %s", bridge, error);
    } else if (warning) {
        say(h, WARNING, "bridge", "%s: %s", bridge, warning);
    } else {
        say(h, OK, "bridge", "%s, pipeline %s, %lld flows", bridge,
            pipeline ? pipeline : "none",
            dpctl_json_int(stats, "memory.compiled_flows", 0));
    }
}

/* The database. */

static const struct json *
find_row(const struct dpctl_health_facts *facts, const char *table,
         const char *column, const char *value)
{
    const struct json_array *rows = dpctl_json_array(facts->db, table);

    for (size_t i = 0; i < rows->n; i++) {
        if (nullable_string_is_equal(dpctl_json_str(rows->elems[i], column),
                                     value)) {
            return rows->elems[i];
        }
    }
    return NULL;
}

/* The only row of table Open_vSwitch. */
static const struct json *
root_row(const struct dpctl_health_facts *facts)
{
    const struct json_array *rows = dpctl_json_array(facts->db,
                                                     "Open_vSwitch");

    return rows->n ? rows->elems[0] : NULL;
}

static const struct json *
bridge_row(const struct dpctl_health_facts *facts)
{
    const char *bridge = dpctl_json_str(facts->stats, "bridge");

    return bridge ? find_row(facts, "Bridge", "name", bridge) : NULL;
}

static bool
is_true(const struct json *row, const char *path)
{
    return nullable_string_is_equal(dpctl_json_str(row, path), "true");
}

static void
check_database(struct health *h)
{
    const struct json *root = root_row(h->facts);
    long long int cur = dpctl_json_int(root, "cur_cfg", 0);
    long long int next = dpctl_json_int(root, "next_cfg", 0);

    h->n_said = 0;
    if (!h->facts->db) {
        say(h, FAILED, "database", "%s",
            h->facts->db_error ? h->facts->db_error : "unknown");
        return;
    }
    if (cur < next) {
        say(h, FAILED, "database", "the daemon has not taken up the latest "
            "configuration (cur_cfg %lld, next_cfg %lld)", cur, next);
    }
    if (is_true(root, "other_config.flow-restore-wait")) {
        say(h, FAILED, "database", "other_config:flow-restore-wait is set: "
            "bridges that began with it let no packet pass");
    }
    if (is_true(root, "other_config.dpdk-init")
        && !dpctl_json_bool(root, "dpdk_initialized", false)) {
        say(h, FAILED, "database", "DPDK is wanted and not initialized; "
            "ovs-vswitchd.log says why");
    }
    if (!h->n_said) {
        const char *dpdk = dpctl_json_str(root, "dpdk_version");

        say(h, OK, "database", "in step%s%s", dpdk ? ", " : "",
            dpdk ? dpdk : "");
    }
}

/* The state. */

static void
check_state(struct health *h)
{
    const struct json *stats = h->facts->stats;
    const char *since = dpctl_json_str(bridge_row(h->facts),
                                       "external_ids.antrea-dp-applied");
    long long int generation = dpctl_json_int(stats, "state_generation", 0);

    if (!is_builtin(stats)) {
        return;
    }
    if (!generation && since) {
        say(h, FAILED, "state", "lost: objects were applied at %s, before "
            "the daemon began anew; apply all of them again", since);
    } else if (!generation) {
        say(h, WARNING, "state", "no objects were applied yet");
    } else {
        say(h, OK, "state", "generation %lld, %lld records", generation,
            dpctl_json_int(stats, "memory.records", 0));
    }
}

/* On the disk. */
static void
check_store(struct health *h)
{
    const struct json *stats = h->facts->stats;
    const struct json *store = dpctl_json_get(stats, "store");
    const char *folder = dpctl_json_str(store, "folder");
    const char *error = dpctl_json_str(store, "error");
    const char *closed = dpctl_json_str(store, "closed");
    long long int ago_ms = dpctl_json_int(store, "last_write_ms_ago", -1);

    if (!is_builtin(stats) || !store) {
        return;
    }
    if (closed) {
        say(h, FAILED, "store", "no packet passes: %s", closed);
    } else if (error) {
        say(h, FAILED, "store", "changes are refused: %s", error);
    } else if (!folder
               && is_true(root_row(h->facts),
                          "other_config.antrea-dp-persist")) {
        say(h, WARNING, "store", "none, though "
            "other_config:antrea-dp-persist is true, as the bridge was made "
            "without it: restart the daemon, and apply all objects again");
    } else if (!folder) {
        say(h, OK, "store", "none: the state is lost when the daemon ends, "
            "unless other_config:antrea-dp-persist is true");
    } else if (ago_ms >= 0) {
        say(h, OK, "store", "%s, generation %lld, %lld bytes, written %lld s "
            "ago", folder, dpctl_json_int(store, "generation", 0),
            dpctl_json_int(store, "bytes", 0), ago_ms / 1000);
    } else {
        say(h, OK, "store", "%s, generation %lld, %lld bytes", folder,
            dpctl_json_int(store, "generation", 0),
            dpctl_json_int(store, "bytes", 0));
    }
}

/* Ports. */

/* What the bridge has in the database. */
struct bridge_ports {
    struct sset names;
    struct sset pods;           /* "PORT NAMESPACE/NAME". */
    size_t n_dpdk;
};

/* 'value' is one string, or an array of them. */
static size_t
count_strings(const struct json *value)
{
    return (!value ? 0 : value->type == JSON_ARRAY ? value->array.n
            : value->type == JSON_STRING);
}

static const char *
string_at(const struct json *value, size_t i)
{
    if (value->type == JSON_ARRAY) {
        value = value->array.elems[i];
    }
    return value->type == JSON_STRING ? json_string(value) : "";
}

static void
check_interface(struct health *h, const struct json *row, const char *pod,
                struct bridge_ports *ports)
{
    const char *name = dpctl_json_str(row, "name");
    const char *error = dpctl_json_str(row, "error");
    const char *type = dpctl_json_str(row, "type");
    const char *link = dpctl_json_str(row, "link_state");

    if (!name) {
        return;
    }
    sset_add(&ports->names, name);
    ports->n_dpdk += type && !strncmp(type, "dpdk", 4);
    if (error) {
        say(h, FAILED, "ports", "%s: %s", name, error);
    } else if (dpctl_json_int(row, "ofport", -1) < 0) {
        say(h, FAILED, "ports", "%s: the bridge has not taken it up", name);
    } else if (pod && nullable_string_is_equal(link, "down")) {
        say(h, WARNING, "ports", "%s, of Pod %s: no link", name, pod);
    }
}

/* NAMESPACE/NAME of the Pod of a Port or Interface, or NULL. */
static char *
pod_of(const struct json *row)
{
    const char *name = dpctl_json_str(row, "external_ids.pod-name");
    const char *namespace_ = dpctl_json_str(row, "external_ids.pod-namespace");

    return name && namespace_ ? xasprintf("%s/%s", namespace_, name) : NULL;
}

static void
check_port(struct health *h, const struct json *port,
           struct bridge_ports *ports)
{
    const struct json *interfaces = dpctl_json_member(port, "interfaces");
    char *pod = pod_of(port);

    for (size_t i = 0; i < count_strings(interfaces); i++) {
        const struct json *row
            = shash_find_data(&h->rows, string_at(interfaces, i));

        if (!row) {
            continue;
        }
        pod = pod ? pod : pod_of(row);
        check_interface(h, row, pod, ports);
    }
    if (pod && dpctl_json_str(port, "name")) {
        sset_add_and_free(&ports->pods,
                          xasprintf("%s %s", pod,
                                    dpctl_json_str(port, "name")));
    }
    free(pod);
}

static const char *
missing_port(const struct bridge_ports *ports, const struct json *record,
             const char *path)
{
    const char *name = dpctl_json_str(record, path);

    return name && !sset_contains(&ports->names, name) ? name : NULL;
}

/* Records whose ports the bridge lacks. */
static void
check_records(struct health *h, const struct bridge_ports *ports,
              struct sset *pods)
{
    static const char *const paths[] = {
        "port", "gateway.port", "tunnel.port"
    };
    const struct json_array *records = h->facts->records;

    for (size_t i = 0; records && i < records->n; i++) {
        const struct json *r = records->elems[i];
        const char *kind = dpctl_json_str(r, "kind");
        const char *name = dpctl_json_str(r, "name");

        if (!kind || !name) {
            continue;
        }
        if (!strcmp(kind, "Pod")) {
            sset_add(pods, name);
        }
        for (size_t j = 0; j < ARRAY_SIZE(paths); j++) {
            const char *port = missing_port(ports, r, paths[j]);

            if (port) {
                say(h, FAILED, "ports", "%s %s: the bridge has no port %s",
                    kind, name, port);
            }
        }
    }
}

/* Ports of Pods of which no record tells. */
static void
check_strangers(struct health *h, const struct bridge_ports *ports,
                const struct sset *pods)
{
    const char **sorted = sset_sort(&ports->pods);

    for (size_t i = 0; i < sset_count(&ports->pods); i++) {
        const char *space = strchr(sorted[i], ' ');
        char *pod = xmemdup0(sorted[i], space - sorted[i]);

        if (!sset_contains(pods, pod)) {
            say(h, WARNING, "ports", "%s is of Pod %s, of which no object "
                "tells: it gets no packets", space + 1, pod);
        }
        free(pod);
    }
    free(sorted);
}

static void
check_ports(struct health *h, struct bridge_ports *ports)
{
    const struct json *bridge = bridge_row(h->facts);
    const struct json *uuids = dpctl_json_member(bridge, "ports");
    struct sset pods = SSET_INITIALIZER(&pods);

    h->n_said = 0;
    if (!bridge) {
        return;
    }
    for (size_t i = 0; i < count_strings(uuids); i++) {
        const struct json *port
            = shash_find_data(&h->rows, string_at(uuids, i));

        if (port) {
            check_port(h, port, ports);
        }
    }
    check_records(h, ports, &pods);
    if (is_builtin(h->facts->stats)
        && dpctl_json_int(h->facts->stats, "state_generation", 0)) {
        check_strangers(h, ports, &pods);
    }
    if (!h->n_said) {
        say(h, OK, "ports", "%"PRIuSIZE", %"PRIuSIZE" of them of Pods",
            sset_count(&ports->names), sset_count(&ports->pods));
    }
    sset_destroy(&pods);
}

/* Threads. */

static void
check_threads(struct health *h, size_t n_dpdk)
{
    const struct json_array *threads = dpctl_json_array(h->facts->stats,
                                                        "threads");
    const struct json *turn = dpctl_json_get(h->facts->stats,
                                             "turns.recent");
    long long int turn_ms = dpctl_json_int(turn, "us", 0) / 1000;
    struct ds s = DS_EMPTY_INITIALIZER;
    size_t n = 0;

    for (size_t i = 0; i < threads->n; i++) {
        const struct json *t = threads->elems[i];
        long long int busy = dpctl_json_int(t, "busy_cycles", 0);
        long long int idle = dpctl_json_int(t, "idle_cycles", 0);

        if (nullable_string_is_equal(dpctl_json_str(t, "thread"), "pmd")) {
            ds_put_format(&s, "%score %lld (busy %.0f %%)", n ? ", " : "",
                          dpctl_json_int(t, "core", -1),
                          percent(busy, busy + idle));
            n++;
        }
    }
    if (!n && n_dpdk) {
        say(h, FAILED, "threads", "there are ports of DPDK and no PMD "
            "thread that polls them");
    } else if (turn_ms > 1000 && dpctl_json_int(turn, "ago_ms", 0) < 60000) {
        say(h, WARNING, "threads", "a turn of the main thread took %lld ms, "
            "of which it ran for %lld", turn_ms,
            dpctl_json_int(turn, "cpu_us", 0) / 1000);
    } else if (n) {
        say(h, OK, "threads", "PMD on %s", ds_cstr(&s));
    } else {
        say(h, OK, "threads", "no PMD, and no port for one");
    }
    ds_destroy(&s);
}

/* Packets. */

/* Shares of less than so many packets say nothing. */
#define MIN_PACKETS 1000

/* The reason with most packets. */
static const char *
main_reason(const struct json *punts)
{
    const struct shash_node *node;
    const char *reason = "?";
    long long int most = 0;

    SHASH_FOR_EACH (node, dpctl_json_object(punts, "")) {
        long long int n = dpctl_json_int(punts, node->name, 0);

        if (n > most && strcmp(node->name, "ip")
            && strcmp(node->name, "total")) {
            most = n;
            reason = node->name;
        }
    }
    return reason;
}

/* IP packets that go by stock's slower path. */
static void
check_punts(struct health *h)
{
    const struct json *punts = dpctl_json_member(h->facts->stats, "punts");
    long long int handled = dpctl_json_int(h->facts->stats,
                                           "packets.handled", 0);
    long long int ip = dpctl_json_int(punts, "ip", 0);
    double share = percent(ip, handled + ip);
    const char *stock = dpctl_json_str(h->facts->stats, "stock");

    if (stock) {
        say(h, WARNING, "punts", "all packets take the stock path, for %s",
            stock);
        return;
    }
    say(h, share > 5 && handled + ip >= MIN_PACKETS ? WARNING : OK, "punts",
        "%.1f %% of IP packets took the stock path%s%s", share,
        ip ? ", most for " : "", ip ? main_reason(punts) : "");
}

/* Counters that say that a limit was met. */
static const struct {
    const char *path;
    const char *text;
} limits[] = {
    { "connections.half_open_evicted",
      "half-open TCP connections left for newer ones" },
    { "connections.half_open_unwatched",
      "half-open TCP connections began too fast to be watched" },
    { "connections.unanswered_evicted",
      "connections that nobody had answered left for newer ones" },
    { "connections.unanswered_unwatched",
      "connections began too fast to be watched" },
    { "cache.verdicts_evicted", "verdicts left for want of room" },
    { "cache.verdicts_refused", "verdicts were not kept: the main thread "
                                "didn't collect in time" },
    { "cache.tunnel_kinds_evicted", "kinds of tunnel packets left for want "
                                    "of room" },
    { "cache.vlans_evicted", "VLAN tags left for want of room" },
    { "packets.unlearned", "packets of clients that session affinity has no "
                           "room for" },
    { "packets.reject_limited", "refused packets got no answer, since there "
                                "were too many" },
    { "packets.log_lost", "packets to log were too many" },
    { "log.unwritten", "lines were not written to the log of policies" },
    { "names.full", "DNS answers had too many addresses" },
    { "names.lost", "DNS answers were too many at once" },
    { "multicast.full", "members of multicast groups found no room" },
    { "multicast.port_full", "members of multicast groups found no room at "
                             "their port" },
    { "multicast.node_full", "members of multicast groups found no room at "
                             "their Node" },
    { "multicast.lost", "messages of IGMP were too many at once" },
    { "l7.dropped", "packets of L7 rules dropped for want of the engine's "
                    "ports" },
};

/* Sessions leave early where many fall together; only many that do matter. */
static void
check_sessions(struct health *h)
{
    const struct json *cache = dpctl_json_member(h->facts->stats, "cache");
    long long int evicted = dpctl_json_int(cache, "sessions_evicted", 0);
    long long int inserted = dpctl_json_int(cache, "sessions_inserted", 0);

    if (evicted >= MIN_PACKETS && percent(evicted, inserted) > 10) {
        say(h, WARNING, "limits", "%.0f %% of sessions left for newer ones: "
            "see other_config:antrea-dp-max-sessions",
            percent(evicted, inserted));
    }
}

static void
check_limits(struct health *h)
{
    const struct json *stats = h->facts->stats;
    long long int n = dpctl_json_int(stats, "connections.all", 0);
    long long int limit = dpctl_json_int(stats, "connections.limit", 0);
    const char *log_error = dpctl_json_str(stats, "log.error");

    h->n_said = 0;
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        long long int count = dpctl_json_int(stats, limits[i].path, 0);

        if (count > 0) {
            say(h, WARNING, "limits", "%lld %s (%s)", count, limits[i].text,
                limits[i].path);
        }
    }
    check_sessions(h);
    if (log_error) {
        say(h, WARNING, "limits", "the log of policies: %s", log_error);
    }
    if (percent(n, limit) >= 90) {
        say(h, WARNING, "limits", "%lld connections of at most %lld", n,
            limit);
    } else if (!h->n_said) {
        say(h, OK, "limits", "none met; %lld connections of at most %lld", n,
            limit);
    }
}

/* Is each packet that was compared what it is by upstream's translation?
 * While nobody wants to know, or ever did, nothing is said. */
static void
check_shadow(struct health *h)
{
    const struct json *shadow = dpctl_json_member(h->facts->stats, "shadow");
    long long int compared = dpctl_json_int(shadow, "compared", 0);
    long long int different = dpctl_json_int(shadow, "different", 0);

    if (different) {
        say(h, WARNING, "shadow", "%lld of %lld packets fared otherwise than "
            "in upstream's translation: see \"ovs-appctl "
            "antrea-dp/shadow-show\"", different, compared);
    } else if (compared || dpctl_json_int(shadow, "rate", 0)) {
        say(h, OK, "shadow", "%lld packets fared as in upstream's "
            "translation", compared);
    }
}

static void
index_rows(struct health *h)
{
    static const char *const tables[] = { "Port", "Interface" };

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        const struct json_array *rows = dpctl_json_array(h->facts->db,
                                                         tables[i]);

        for (size_t j = 0; j < rows->n; j++) {
            const char *uuid = dpctl_json_str(rows->elems[j], "_uuid");

            if (uuid) {
                shash_add(&h->rows, uuid, rows->elems[j]);
            }
        }
    }
}

struct json *
dpctl_health_judge(const struct dpctl_health_facts *facts)
{
    struct health h = {
        .facts = facts, .checks = json_array_create_empty(),
        .rows = SHASH_INITIALIZER(&h.rows),
    };
    struct bridge_ports ports = {
        .names = SSET_INITIALIZER(&ports.names),
        .pods = SSET_INITIALIZER(&ports.pods),
    };
    struct json *result = json_object_create();

    index_rows(&h);
    check_daemon(&h);
    if (!facts->daemon_error) {
        check_pipeline(&h);
    }
    check_database(&h);
    if (facts->stats) {
        check_state(&h);
        check_store(&h);
        check_ports(&h, &ports);
        check_threads(&h, ports.n_dpdk);
        check_punts(&h);
        check_limits(&h);
        check_shadow(&h);
    }
    shash_destroy(&h.rows);
    sset_destroy(&ports.names);
    sset_destroy(&ports.pods);
    json_object_put_string(result, "status", level_names[h.worst]);
    json_object_put(result, "checks", h.checks);
    return result;
}

bool
dpctl_health_is_failed(const struct json *health)
{
    return nullable_string_is_equal(dpctl_json_str(health, "status"),
                                    level_names[FAILED]);
}

void
dpctl_health_format(const struct json *health, struct ds *s)
{
    static const char *const headings[] = { "CHECK", "STATUS", "WHAT" };
    static const char *const members[] = { "check", "status", "text" };
    const struct json_array *checks = dpctl_json_array(health, "checks");
    struct dpctl_table table;

    dpctl_table_init(&table, headings, ARRAY_SIZE(headings));
    for (size_t i = 0; i < checks->n; i++) {
        for (size_t j = 0; j < ARRAY_SIZE(members); j++) {
            dpctl_table_add(&table,
                            nullable_xstrdup(dpctl_json_str(checks->elems[i],
                                                            members[j])));
        }
    }
    dpctl_table_format(&table, s);
    dpctl_table_destroy(&table);
}
