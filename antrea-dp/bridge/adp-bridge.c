/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-bridge-private.h"

#include "adp-credit.h"
#include "adp-held.h"
#include "adp-igmp-queue.h"
#include "adp-turn.h"
#include "adp-unlearn.h"
#include "connectivity.h"
#include "hash.h"
#include "ofproto/connmgr.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "ofproto/ofproto-dpif-mirror.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"

VLOG_DEFINE_THIS_MODULE(adp_bridge);

struct ofproto_class adp_ofproto_class;
struct ovs_list adp_bridges = OVS_LIST_INITIALIZER(&adp_bridges);

static const struct adp_learn_limits default_limits = {
    .per_learner = ADP_MAX_LEARNED_PER_FLOW,
    .total = ADP_MAX_LEARNED,
};

struct adp_bridge *
adp_bridge_alloc(void)
{
    /* One block of memory, because upstream frees it: it knows bridges that
     * it understands by their class's 'dealloc', which has to be its own. */
    struct {
        struct adp_bridge bridge;       /* First. */
        struct adp_bridge_own own;
    } *whole = xzalloc(sizeof *whole);

    whole->bridge.own = &whole->own;
    return &whole->bridge;
}

void
adp_bridge_init(struct adp_bridge *b)
{
    static uint32_t last_serial;

    b->serial = ++last_serial;
    adp_journal_init(b);
    ovsrcu_init(&b->ports, NULL);
    ovsrcu_init(&b->catch, NULL);
    b->learn = adp_learn_table_create();
    adp_learn_table_set_limits(b->learn, &default_limits);
    b->own->learn_seq = seq_create();
    b->held = adp_held_queue_create();
    b->igmp = adp_igmp_queue_create();
    b->sink = adp_stats_sink_create();
    atomic_init(&b->mode, ADP_MODE_CLOSED);
    atomic_init(&b->own->stopped, false);
    atomic_init(&b->miss_to_controller, false);
    atomic_init(&b->controller_meter, UINT32_MAX);
    ovs_list_init(&b->own->unswept);
    b->own->round = 1;
    simap_init(&b->own->special_ports);
    ofputil_port_map_init(&b->own->port_map);
    ofputil_table_map_init(&b->own->table_map);
    b->own->ports_dirty = true;
    b->own->ports_seq = 1;
    b->next_push = LLONG_MIN;
    b->own->constructed = true;
}

/* What packet threads may use until the grace period is over. */
struct adp_bridge_parts {
    struct adp_ports *ports;
    struct adp_learn_table *learn;
    struct adp_stats_sink *sink;
    struct adp_held_queue *held;
    struct adp_igmp_queue *igmp;
};

static void
free_parts(struct adp_bridge_parts *parts)
{
    adp_ports_destroy(parts->ports);
    adp_learn_table_destroy(parts->learn);
    adp_stats_sink_destroy(parts->sink);
    adp_held_queue_destroy(parts->held);
    adp_igmp_queue_destroy(parts->igmp);
    free(parts);
}

void
adp_bridge_start(struct adp_bridge *b)
{
    ovs_list_push_back(&adp_bridges, &b->list_node);
    adp_ports_rebuild(b);
}

void
adp_bridge_stop(struct adp_bridge *b)
{
    if (b->list_node.next) {            /* It was started. */
        ovs_list_remove(&b->list_node);
        atomic_store_relaxed(&b->own->stopped, true);
        adp_ports_publish();
        /* No packet thread enters the bridge from now on; those inside leave
         * within a grace period. */
        ovsrcu_synchronize();
    }

    adp_expire_stop(b);
}

void
adp_bridge_uninit(struct adp_bridge *b)
{
    struct adp_bridge_parts *parts = xmalloc(sizeof *parts);
    parts->ports = ovsrcu_get_protected(struct adp_ports *, &b->ports);
    parts->learn = b->learn;
    parts->sink = b->sink;
    parts->held = b->held;
    parts->igmp = b->igmp;

    /* Threads of upstream's that translate packets may learn until the base
     * class has taken the bridge away from them. */
    ovs_mutex_lock(&ofproto_mutex);
    b->own->constructed = false;
    adp_journal_uninit(b);
    ovs_mutex_unlock(&ofproto_mutex);
    ovsrcu_postpone(free_parts, parts);

    seq_destroy(b->own->learn_seq);
    simap_destroy(&b->own->special_ports);
    ofputil_port_map_destroy(&b->own->port_map);
    ofputil_table_map_destroy(&b->own->table_map);
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

    ofputil_port_map_destroy(&b->own->port_map);
    ofputil_port_map_init(&b->own->port_map);
    HMAP_FOR_EACH (ofport, hmap_node, &b->dpif.up.ports) {
        const char *name = netdev_get_name(ofport->netdev);

        ofputil_port_map_put(&b->own->port_map, ofport->ofp_port, name);
        digest += hash_string(name, ofp_to_u16(ofport->ofp_port));
    }

    bool changed = digest != b->own->ports_digest;
    b->own->ports_digest = digest;
    return changed;
}

bool
adp_bridge_rebuild_ports(struct adp_bridge *b)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_PORTS);

    b->own->ports_dirty = false;
    adp_ports_rebuild(b);
    bool changed = rebuild_port_map(b);
    if (changed) {
        b->own->ports_seq++;
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

/* What the bridge does that decide() doesn't know of and that may keep packets
 * from where their flows send them, or NULL. */
static const char *
interferes(const struct adp_bridge *b)
{
    const struct ofproto_dpif *o = &b->dpif;

    return (o->stp ? "STP"
            : o->rstp ? "RSTP"
            : ovsrcu_get(struct adp_ports *, &b->ports)->special
            ? "a port's flag (no-receive, no-receive-stp, no-forward)"
            : NULL);
}

/* The same, of what leaves packets from ports and to ports alone. */
static const char *
looks_on(const struct adp_bridge *b)
{
    const struct ofproto_dpif *o = &b->dpif;

    return (mbridge_has_mirrors(o->mbridge) ? "mirrors"
            : o->netflow ? "NetFlow"
            : o->sflow ? "sFlow"
            : o->ipfix ? "IPFIX"
            : o->ms ? "multicast snooping"
            : o->has_bonded_bundles ? "bonds"
            : o->lacp_enabled ? "LACP"
            : connmgr_has_in_band(o->up.connmgr) ? "in-band control"
            : !simap_is_empty(&b->own->special_ports)
            ? "a port's CFM, BFD, LLDP, protection, or queues with DSCP"
            : NULL);
}

const char *
adp_bridge_punted_for(const struct adp_bridge *b)
{
    return b->own->punted_for;
}

static void
set_punted_for(struct adp_bridge *b, const char *feature)
{
    if (feature == b->own->punted_for) {
        return;
    }
    if (feature) {
        VLOG_INFO("bridge %s: upstream handles all packets while there is "
                  "%s", b->dpif.up.name, feature);
    } else {
        VLOG_INFO("bridge %s: its packets are no longer left to upstream",
                  b->dpif.up.name);
    }
    b->own->punted_for = feature;
}

void
adp_bridge_set_mode(struct adp_bridge *b, bool closed)
{
    bool waits = ofproto_get_flow_restore_wait();
    const char *interference = interferes(b);

    set_punted_for(b, interference ? interference : looks_on(b));
    if (waits != b->own->waits_for_flows) {
        b->own->waits_for_flows = waits;
        VLOG_INFO("bridge %s: %s", b->dpif.up.name,
                  waits ? "no packet passes while "
                          "other_config:flow-restore-wait is set"
                        : "flow-restore-wait has gone, packets pass");
    }
    atomic_store_relaxed(&b->miss_to_controller,
                         connmgr_wants_packet_in_on_miss(b->dpif.up.connmgr));
    atomic_store_relaxed(&b->mode,
                         (waits || closed ? ADP_MODE_CLOSED
                          : interference ? ADP_MODE_STOCK
                          : b->own->punted_for ? ADP_MODE_WATCHED
                          : ADP_MODE_COMPILED));
}

void
adp_bridge_run(struct adp_bridge *b)
{
    uint64_t seqno = seq_read(connectivity_seq_get());

    if (b->own->connectivity_seqno != seqno) {
        b->own->connectivity_seqno = seqno;
        b->own->ports_dirty = true;
    }
    seqno = seq_read(tnl_conf_seq);
    if (b->own->tnl_conf_seqno != seqno) {
        /* Other packets than before may end a tunnel. */
        b->own->tnl_conf_seqno = seqno;
        b->own->ports_dirty = true;
    }
    if (ovsrcu_get(struct adp_ports *, &b->ports)->controlled
        != b->dpif.is_controller_connected) {
        b->own->ports_dirty = true;
    }
    if (b->own->ports_dirty) {
        adp_bridge_rebuild_ports(b);
    }
}

/* What the provider tells. */

bool
adp_bridge_is_constructed(const struct adp_bridge *b)
{
    return b->own->constructed;
}

void
adp_bridge_set_round(struct adp_bridge *b, uint16_t round)
{
    b->own->round = round;
}

void
adp_bridge_ports_changed(struct adp_bridge *b)
{
    b->own->ports_dirty = true;
}

void
adp_bridge_set_special(struct adp_bridge *b, const struct netdev *port,
                       enum adp_special bit, bool on)
{
    unsigned int bits = simap_get(&b->own->special_ports,
                                  netdev_get_name(port));

    bits = on ? bits | bit : bits & ~bit;
    if (bits) {
        simap_put(&b->own->special_ports, netdev_get_name(port), bits);
    } else {
        adp_bridge_clear_special(b, port);
    }
}

void
adp_bridge_clear_special(struct adp_bridge *b, const struct netdev *port)
{
    simap_find_and_delete(&b->own->special_ports, netdev_get_name(port));
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

struct adp_bridge *
adp_bridge_of_serial(uint32_t serial)
{
    struct adp_bridge *b;

    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        if (b->serial == serial) {
            return b;
        }
    }
    return NULL;
}

const char *
adp_bridge_name(const struct adp_bridge *b)
{
    return b->dpif.up.name;
}

bool
adp_bridge_is_system(const struct adp_bridge *b)
{
    return !strcmp(b->dpif.up.type, ADP_SYSTEM_TYPE);
}

uint16_t
adp_bridge_round(const struct adp_bridge *b)
{
    return b->own->round;
}

uint64_t
adp_bridge_ports_seq(const struct adp_bridge *b)
{
    return b->own->ports_seq;
}

uint32_t
adp_bridge_serial(const struct adp_bridge *b)
{
    return b->serial;
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
    return &b->own->port_map;
}

const struct ofputil_table_map *
adp_bridge_table_map(struct adp_bridge *b)
{
    return &b->own->table_map;
}

void
adp_bridge_name_table(struct adp_bridge *b, uint8_t id, const char *name)
{
    ofproto_name_table(&b->dpif.up, id, name);
    ofputil_table_map_put(&b->own->table_map, id, name);
}

void
adp_bridge_unname_tables(struct adp_bridge *b)
{
    for (int id = 0; id <= ADP_LAST_TABLE; id++) {
        if (ofputil_table_map_get_name(&b->own->table_map, id)) {
            ofproto_name_table(&b->dpif.up, id, NULL);
        }
    }
    ofputil_table_map_destroy(&b->own->table_map);
    ofputil_table_map_init(&b->own->table_map);
}

/* Adds to 'u' what deletes what flows have learned that 'fms' take away, or
 * let learn with another cookie. */
static void
unlearn(const struct adp_bridge *b, const struct ofputil_flow_mod *fms,
        size_t n_fms, struct adp_unlearn *u)
{
    struct adp_learn_counts counts;

    adp_learn_table_get_counts(b->learn, &counts);
    for (size_t i = 0; counts.total && i < n_fms; i++) {
        const struct ofputil_flow_mod *fm = &fms[i];
        const struct rule *rule = adp_bridge_find_rule(b, fm->table_id,
                                                       &fm->match,
                                                       fm->priority);

        if (!rule || (rule->flow_cookie ^ fm->cookie) & fm->cookie_mask) {
            continue;
        }

        const struct rule_actions *actions = rule_get_actions(rule);
        if (actions->has_learn_with_delete) {
            adp_unlearn_add(u, &fm->match, actions->ofpacts,
                            actions->ofpacts_len, fm->ofpacts,
                            fm->ofpacts_len);
        }
    }
}

/* 'culprit': which one of 'fms' and then 'gms' was refused; beyond them, the
 * removal of what was there. */
static char *
describe_refusal(const struct ofputil_flow_mod *fms, size_t n_fms,
                 const struct ofputil_group_mod *gms, size_t n_gms,
                 size_t culprit, enum ofperr error)
{
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

char *
adp_bridge_commit(struct adp_bridge *b,
                  const struct ofputil_flow_mod *fms, size_t n_fms,
                  const struct ofputil_group_mod *gms, size_t n_gms,
                  bool replace)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COMMIT);
    struct adp_unlearn u = { .n = 0 };
    struct ofputil_flow_mod *all = NULL;
    size_t culprit = 0;
    char *reason = NULL;
    enum ofperr error;

    if (!replace) {
        unlearn(b, fms, n_fms, &u);
    }
    if (u.n) {
        all = xmalloc((n_fms + u.n) * sizeof *all);
        memcpy(all, fms, n_fms * sizeof *all);
        memcpy(&all[n_fms], u.fms, u.n * sizeof *all);
        fms = all;
        n_fms += u.n;
    }

    error = ofproto_commit_mods(&b->dpif.up, fms, n_fms, gms, n_gms, replace,
                                &culprit);
    adp_turn_leave(outer);
    if (error) {
        reason = describe_refusal(fms, n_fms, gms, n_gms, culprit, error);
    }
    free(all);
    adp_unlearn_uninit(&u);
    return reason;
}

char *
adp_bridge_set_meter(struct adp_bridge *b, uint32_t meter_id, uint32_t rate,
                     uint32_t burst)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_DROP, .rate = rate, .burst_size = burst,
    };
    const struct ofputil_meter_mod mm = {
        .meter = {
            .meter_id = meter_id,
            .flags = OFPMF13_KBPS | OFPMF13_BURST | OFPMF13_STATS,
            .n_bands = 1,
            .bands = &band,
        },
    };
    enum ofperr error = ofproto_set_meter(&b->dpif.up, &mm);

    return error ? xstrdup(ofperr_to_string(error)) : NULL;
}

void
adp_bridge_delete_meter(struct adp_bridge *b, uint32_t meter_id)
{
    ofproto_delete_meter(&b->dpif.up, meter_id);
}
