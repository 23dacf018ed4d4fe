/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-bridge-private.h"

#include "adp-cache.h"
#include "adp-cached.h"
#include "adp-state.h"
#include "adp-tunnel.h"
#include "adp-turn.h"
#include "connectivity.h"
#include "hash.h"
#include "ofproto/connmgr.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "ofproto/ofproto-dpif-mirror.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "pipeline.h"
#include "smap.h"
#include "timeval.h"

VLOG_DEFINE_THIS_MODULE(adp_bridge);

/* How often a pipeline that OpenFlow refused is tried again. */
#define REINSTALL_INTERVAL_MS 5000

static const struct adp_learn_limits default_limits = {
    .per_learner = ADP_MAX_LEARNED_PER_FLOW,
    .total = ADP_MAX_LEARNED,
};

void
adp_bridge_init(struct adp_bridge *b)
{
    static uint32_t last_serial;

    b->serial = ++last_serial;
    adp_journal_init(b);
    ovsrcu_init(&b->ports, NULL);
    b->learn = adp_learn_table_create();
    adp_learn_table_set_limits(b->learn, &default_limits);
    b->learn_seq = seq_create();
    b->sink = adp_stats_sink_create();
    b->tunnels = adp_tunnels_create();
    atomic_init(&b->mode, ADP_MODE_CLOSED);
    atomic_init(&b->stopped, false);
    atomic_init(&b->miss_to_controller, false);
    ovs_list_init(&b->unswept);
    b->round = 1;
    simap_init(&b->special_ports);
    ofputil_port_map_init(&b->port_map);
    ofputil_table_map_init(&b->table_map);
    b->ports_dirty = true;
    b->ports_seq = 1;
    b->next_fold = LLONG_MIN;
    b->constructed = true;
}

/* What packet threads may use until the grace period is over. */
struct adp_bridge_parts {
    struct adp_ports *ports;
    struct adp_learn_table *learn;
    struct adp_stats_sink *sink;
    struct adp_tunnels *tunnels;
};

static void
free_parts(struct adp_bridge_parts *parts)
{
    adp_ports_destroy(parts->ports);
    adp_learn_table_destroy(parts->learn);
    adp_stats_sink_destroy(parts->sink);
    adp_tunnels_destroy(parts->tunnels);
    free(parts);
}

void
adp_bridge_start(struct adp_bridge *b)
{
    ovs_list_push_back(&adp_bridges, &b->list_node);
    ovsrcu_set(&b->ports, adp_ports_create(b));
}

void
adp_bridge_stop(struct adp_bridge *b)
{
    if (b->list_node.next) {            /* It was started. */
        ovs_list_remove(&b->list_node);
        atomic_store_relaxed(&b->stopped, true);
        adp_ports_publish();
        /* No packet thread enters the bridge from now on; those inside leave
         * within a grace period. */
        ovsrcu_synchronize();
        adp_cached_forget(b);
    }

    adp_expire_stop(b);
    adp_state_destroy(b->state);
    b->state = NULL;
    b->pipeline = NULL;
    free(b->pipeline_error);
    b->pipeline_error = NULL;

    struct adp_bridge_parts *parts = xmalloc(sizeof *parts);
    parts->ports = ovsrcu_get_protected(struct adp_ports *, &b->ports);
    parts->learn = b->learn;
    parts->sink = b->sink;
    parts->tunnels = b->tunnels;

    /* Threads of upstream's that translate packets may learn until the base
     * class has taken the bridge away from them. */
    ovs_mutex_lock(&ofproto_mutex);
    b->constructed = false;
    adp_journal_uninit(b);
    ovs_mutex_unlock(&ofproto_mutex);
    ovsrcu_postpone(free_parts, parts);

    seq_destroy(b->learn_seq);
    simap_destroy(&b->special_ports);
    ofputil_port_map_destroy(&b->port_map);
    ofputil_table_map_destroy(&b->table_map);
}

void
adp_bridge_lock_tables(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_LOCK);

    ovs_mutex_lock(&ofproto_mutex);
    adp_turn_leave(outer);
}

/* Ports. */

/* Returns true if a port came, went, or got another number. */
static bool
rebuild_port_map(struct adp_bridge *b)
{
    const struct ofport *ofport;
    uint32_t digest = 0;

    ofputil_port_map_destroy(&b->port_map);
    ofputil_port_map_init(&b->port_map);
    HMAP_FOR_EACH (ofport, hmap_node, &b->dpif.up.ports) {
        const char *name = netdev_get_name(ofport->netdev);

        ofputil_port_map_put(&b->port_map, ofport->ofp_port, name);
        digest += hash_string(name, ofp_to_u16(ofport->ofp_port));
    }

    bool changed = digest != b->ports_digest;
    b->ports_digest = digest;
    return changed;
}

bool
adp_bridge_rebuild_ports(struct adp_bridge *b)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_PORTS);
    struct adp_ports *old = ovsrcu_get_protected(struct adp_ports *,
                                                 &b->ports);

    b->ports_dirty = false;
    ovsrcu_set(&b->ports, adp_ports_create(b));
    adp_ports_publish();
    if (old) {
        ovsrcu_postpone(adp_ports_destroy, old);
    }
    bool changed = rebuild_port_map(b);
    if (changed) {
        b->ports_seq++;
    }
    adp_turn_leave(outer);
    return changed;
}

struct rule *
adp_bridge_find_rule(const struct adp_bridge *b, uint8_t table_id,
                     const struct minimatch *match, int priority)
{
    const struct oftable *table = &b->dpif.up.tables[table_id];

    return rule_from_cls_rule(
        classifier_find_minimatch_exactly(&table->cls, match, priority,
                                          OVS_VERSION_MAX));
}

/* True if the bridge does something that decide() doesn't know of. */
static bool
bridge_is_special(const struct adp_bridge *b)
{
    const struct ofproto_dpif *o = &b->dpif;

    return (o->netflow || o->sflow || o->ipfix || o->ms || o->stp || o->rstp
            || o->has_bonded_bundles || o->lacp_enabled
            || mbridge_has_mirrors(o->mbridge)
            || connmgr_has_in_band(o->up.connmgr)
            || !simap_is_empty(&b->special_ports)
            || ovsrcu_get(struct adp_ports *, &b->ports)->special);
}

/* Opens the bridge, unless its flows have to be waited for. */
static void
set_mode(struct adp_bridge *b)
{
    bool waits = ofproto_get_flow_restore_wait();

    if (waits != b->waits_for_flows) {
        b->waits_for_flows = waits;
        VLOG_INFO("bridge %s: %s", b->dpif.up.name,
                  waits ? "no packet passes while "
                          "other_config:flow-restore-wait is set"
                        : "flow-restore-wait has gone, packets pass");
    }
    atomic_store_relaxed(&b->mode,
                         (waits || b->bereft ? ADP_MODE_CLOSED
                          : bridge_is_special(b) ? ADP_MODE_STOCK
                          : ADP_MODE_COMPILED));
}

static bool
take_emptied(struct adp_bridge *b)
{
    adp_bridge_lock_tables();
    bool emptied = b->emptied;
    b->emptied = false;
    ovs_mutex_unlock(&ofproto_mutex);

    return emptied;
}

static bool
lacks_pipeline(const struct adp_bridge *b)
{
    return b->pipeline && !adp_state_is_synced(b->state);
}

static void
try_pipeline(struct adp_bridge *b)
{
    adp_bridge_reinstall_pipeline(b);
    if (lacks_pipeline(b)) {
        /* What upstream has put there would be good for packets that come
         * from other bridges. */
        free(adp_bridge_commit(b, NULL, 0, NULL, 0, true));
        take_emptied(b);
    }
    b->next_reinstall = time_msec() + REINSTALL_INTERVAL_MS;
}

/* Whoever flushes the tables (set-controller does) gets the built-in pipeline
 * back: the bridge never forwards without it, and while OpenFlow refuses it no
 * packet passes. */
static void
bring_pipeline_back(struct adp_bridge *b)
{
    if (take_emptied(b) && b->pipeline) {
        VLOG_INFO("bridge %s: flows were flushed, installing pipeline %s "
                  "again", b->dpif.up.name, b->pipeline->name);
        b->bereft = true;
        try_pipeline(b);
    } else if (b->bereft && lacks_pipeline(b)
               && time_msec() >= b->next_reinstall) {
        try_pipeline(b);
    }
    b->bereft = b->bereft && lacks_pipeline(b);
}

void
adp_bridge_run(struct adp_bridge *b)
{
    uint64_t seqno = seq_read(connectivity_seq_get());

    if (b->connectivity_seqno != seqno) {
        b->connectivity_seqno = seqno;
        b->ports_dirty = true;
    }
    seqno = seq_read(tnl_conf_seq);
    if (b->tnl_conf_seqno != seqno) {
        /* Other packets than before may end a tunnel. */
        b->tnl_conf_seqno = seqno;
        b->ports_dirty = true;
    }
    if (b->ports_dirty && adp_bridge_rebuild_ports(b) && b->pipeline) {
        enum adp_turn_section outer = adp_turn_enter(ADP_TURN_STATE);

        adp_state_sync(b->state, false);
        adp_turn_leave(outer);
    }
    bring_pipeline_back(b);
    atomic_store_relaxed(&b->miss_to_controller,
                         connmgr_wants_packet_in_on_miss(b->dpif.up.connmgr));
    set_mode(b);
}

/* Configuration. */

/* Sessions are the packet threads', who serve all bridges: the bridge that
 * wants the most decides. */
static void
set_max_sessions(void)
{
    const struct adp_bridge *b;
    uint64_t max = 0;

    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        max = MAX(max, b->max_sessions);
    }
    adp_cache_set_capacity(max ? max : ADP_CACHE_DEFAULT_CAPACITY);
}

static void
configure_max_sessions(struct adp_bridge *b, const struct smap *other_config)
{
    const char *s = smap_get(other_config, "antrea-dp-max-sessions");
    unsigned long long int n = 0;

    if (s && (!str_to_ullong(s, 10, &n) || n < ADP_CACHE_MIN_CAPACITY
              || n > ADP_CACHE_MAX_CAPACITY)) {
        VLOG_ERR("bridge %s: other_config:antrea-dp-max-sessions: must be a "
                 "number from %"PRIu64" to %"PRIu64", not \"%s\"",
                 b->dpif.up.name, ADP_CACHE_MIN_CAPACITY,
                 ADP_CACHE_MAX_CAPACITY, s);
        n = 0;
    }
    b->max_sessions = n;
    set_max_sessions();
}

/* The number that other_config:'key' gives, or 'def' if it is not one. */
static size_t
configured_number(const struct adp_bridge *b, const struct smap *other_config,
                  const char *key, size_t def)
{
    const char *s = smap_get(other_config, key);
    unsigned int n;

    if (!s) {
        return def;
    }
    if (!str_to_uint(s, 10, &n)) {
        VLOG_ERR("bridge %s: other_config:%s: must be a number from 0 to %u, "
                 "not \"%s\"", b->dpif.up.name, key, UINT_MAX, s);
        return def;
    }
    return n;
}

static void
configure_max_learned(struct adp_bridge *b, const struct smap *other_config)
{
    const struct adp_learn_limits limits = {
        .per_learner = configured_number(b, other_config,
                                         "antrea-dp-max-learned-per-flow",
                                         ADP_MAX_LEARNED_PER_FLOW),
        .total = configured_number(b, other_config, "antrea-dp-max-learned",
                                   ADP_MAX_LEARNED),
    };

    adp_learn_table_set_limits(b->learn, &limits);
}

void
adp_bridge_configure(struct adp_bridge *b, const struct smap *other_config,
                     const struct smap *external_ids)
{
    b->round = smap_get_uint(external_ids, "roundNum", 1);
    adp_decide_set_vlan_limit(flow_vlan_limit);
    configure_max_sessions(b, other_config);
    configure_max_learned(b, other_config);
    adp_bridge_configure_pipeline(b, other_config);
}

/* What the control plane sees. */

struct adp_bridge *
adp_bridge_lookup(const char *name)
{
    struct adp_bridge *b;

    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        if (!strcmp(b->dpif.up.name, name)) {
            return b;
        }
    }
    return NULL;
}

struct adp_bridge *
adp_bridge_only(void)
{
    return (ovs_list_is_singleton(&adp_bridges)
            ? CONTAINER_OF(ovs_list_front(&adp_bridges), struct adp_bridge,
                           list_node)
            : NULL);
}

struct adp_bridge *
adp_bridge_next(const struct adp_bridge *b)
{
    const struct ovs_list *next = b ? b->list_node.next : adp_bridges.next;

    return (next != &adp_bridges
            ? CONTAINER_OF(next, struct adp_bridge, list_node) : NULL);
}

const char *
adp_bridge_name(const struct adp_bridge *b)
{
    return b->dpif.up.name;
}

const struct adp_pipeline *
adp_bridge_pipeline(const struct adp_bridge *b)
{
    return b->pipeline;
}

uint64_t
adp_bridge_pipeline_options(const struct adp_bridge *b)
{
    return b->pipeline_options;
}

const char *
adp_bridge_pipeline_error(const struct adp_bridge *b)
{
    return b->pipeline_error;
}

struct adp_state *
adp_bridge_state(const struct adp_bridge *b)
{
    return b->pipeline ? b->state : NULL;
}

uint16_t
adp_bridge_round(const struct adp_bridge *b)
{
    return b->round;
}

uint64_t
adp_bridge_ports_seq(const struct adp_bridge *b)
{
    return b->ports_seq;
}

bool
adp_bridge_port_number(const struct adp_bridge *b, const char *name,
                       ofp_port_t *ofp_port)
{
    const struct ofport *ofport = shash_find_data(&b->dpif.up.port_by_name,
                                                  name);
    if (ofport) {
        *ofp_port = ofport->ofp_port;
    }
    return ofport != NULL;
}

const struct ofputil_port_map *
adp_bridge_port_map(struct adp_bridge *b)
{
    return &b->port_map;
}

const struct ofputil_table_map *
adp_bridge_table_map(struct adp_bridge *b)
{
    return &b->table_map;
}

char *
adp_bridge_commit(struct adp_bridge *b,
                  const struct ofputil_flow_mod *fms, size_t n_fms,
                  const struct ofputil_group_mod *gms, size_t n_gms,
                  bool replace)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COMMIT);
    size_t culprit = 0;
    enum ofperr error;

    error = ofproto_commit_mods(&b->dpif.up, fms, n_fms, gms, n_gms, replace,
                                &culprit);
    adp_turn_leave(outer);
    if (!error) {
        return NULL;
    }
    if (culprit >= n_fms + n_gms) {
        return xasprintf("removal of what was there: %s",
                         ofperr_to_string(error));
    }
    if (culprit >= n_fms) {
        return xasprintf("group %"PRIu32": %s",
                         gms[culprit - n_fms].group_id,
                         ofperr_to_string(error));
    }

    const struct ofputil_flow_mod *fm = &fms[culprit];
    struct match match;
    minimatch_expand(&fm->match, &match);
    char *s = match_to_string(&match, NULL, fm->priority);
    char *text = xasprintf("flow \"table=%u, %s\": %s", fm->table_id, s,
                           ofperr_to_string(error));
    free(s);
    return text;
}
