/* SPDX-License-Identifier: Apache-2.0 */

/* The ofproto class "antrea".
 *
 * It is ofproto-dpif's class with a few members replaced.  Bridges of the
 * class live on the same datapath as those of type "netdev": ports, PMD
 * threads, conntrack and tunnels are shared, and what concerns the datapath
 * type as a whole is left to "netdev".
 *
 * With a setting of the daemon's (adp-system.h) the class has a second type,
 * "system".
 *
 * The option --enable-dummy adds a datapath type "dummy", on which upstream's
 * tests have their bridges.  Where there is one, it takes the place of
 * "netdev". */

#include <config.h>
#include "adp-appctl.h"
#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-catch.h"
#include "adp-configure.h"
#include "adp-control.h"
#include "adp-credit.h"
#include "adp-expire.h"
#include "adp-flow-cache.h"
#include "adp-handover.h"
#include "adp-heap.h"
#include "adp-input.h"
#include "adp-journal.h"
#include "adp-kernel-port.h"
#include "adp-mark-port.h"
#include "adp-poller.h"
#include "adp-push-stats.h"
#include "adp-shadow.h"
#include "adp-show-log.h"
#include "adp-show-memory.h"
#include "adp-rcu.h"
#include "adp-removal.h"
#include "adp-state-disk.h"
#include "adp-system.h"
#include "adp-tunnel-ends.h"
#include "adp-tunnel.h"
#include "adp-turn.h"
#include "adp-turns.h"
#include "adp-walk.h"
#include "conntrack-pool.h"
#include "coverage.h"
#include "dp-hooks.h"
#include "dpif.h"
#include "ofproto/ofproto-dpif-upcall.h"
#include "openvswitch/poll-loop.h"
#include "smap.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

COVERAGE_DEFINE(adp_revalidate);

#define ADP_TYPE "antrea"
#define DUMMY_TYPE "dummy"

static const struct ofproto_class *base = &ofproto_dpif_class;

/* The datapath type that the bridges live on: immutable once the class is
 * initialised, which is after the command line was read. */
static const char *base_type = "netdev";

static struct adp_bridge *
bridge_of(const struct ofproto *ofproto)
{
    return CONTAINER_OF(ofproto, struct adp_bridge, dpif.up);
}

/* The type. */

static void
choose_base_type(void)
{
    struct sset types = SSET_INITIALIZER(&types);

    dp_enumerate_types(&types);
    if (sset_contains(&types, DUMMY_TYPE)) {
        base_type = DUMMY_TYPE;
        adp_shadow_add_spoiling();
    }
    sset_destroy(&types);
}

static void
adp_class_init(const struct shash *iface_hints OVS_UNUSED)
{
    choose_base_type();
    adp_system_init(base_type);
    adp_kernel_port_init();
    get_page_size();        /* Upstream notes it at the first call. */
    adp_flow_cache_init();
    adp_show_log_init();
    atexit(adp_show_log_exit);
    /* The base class is initialised under its own type. */
    adp_control_init();
    atexit(adp_control_exit);
    adp_appctl_init();
}

static void
adp_class_enumerate_types(struct sset *types)
{
    sset_add(types, ADP_TYPE);
    if (adp_system_is_ours()) {
        sset_add(types, ADP_SYSTEM_TYPE);
    }
}

/* What is done for all bridges is done under one of the type's names. */
static bool
is_main_type(const char *type)
{
    return !strcmp(type, ADP_TYPE);
}

static int
adp_class_del(const char *type OVS_UNUSED, const char *name)
{
    return base->del(base_type, name);
}

static const char *
adp_class_port_open_type(const char *dp_type OVS_UNUSED,
                         const char *port_type)
{
    const char *open_type = base->port_open_type(base_type, port_type);

    /* Where there are dummies, devices of the kernel's may be some of them. */
    return (strcmp(base_type, DUMMY_TYPE)
            ? adp_kernel_port_open_type(open_type) : open_type);
}

/* All bridges share a datapath, and its connection tracker.  NULL if there are
 * none. */
static struct conntrack *
shared_conntrack(void)
{
    if (ovs_list_is_empty(&adp_bridges)) {
        return NULL;
    }

    const struct adp_bridge *b
        = CONTAINER_OF(ovs_list_front(&adp_bridges), struct adp_bridge,
                       list_node);

    return dp_dpif_conntrack(b->dpif.backer->dpif);
}

static void
prepare_for_connections(void)
{
    struct conntrack *ct = shared_conntrack();

    if (ct) {
        conntrack_pool_run(ct);
    }
}

/* Has adp_class_type_run() been called since the latest wait?  A daemon that
 * hasn't the database's lock waits for types that it doesn't run. */
static bool type_ran;

static int
adp_class_type_run(const char *type)
{
    if (!is_main_type(type)) {
        return 0;
    }

    type_ran = true;
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_CONNECTIONS);
    prepare_for_connections();
    adp_turn_enter(ADP_TURN_LOG);
    adp_show_log_run();
    adp_shadow_run();
    adp_turn_enter(ADP_TURN_SOCKET);
    adp_control_run();
    adp_turn_leave(outer);
    adp_kernel_port_run();
    /* What this thread has of bridges that went has to go, too. */
    adp_turn_enter(ADP_TURN_AGING);
    adp_flow_cache_age_slice(time_msec());
    adp_turn_leave(outer);
    adp_push_stats_begin();
    return 0;
}

static void
adp_class_type_wait(const char *type)
{
    if (is_main_type(type) && type_ran) {
        adp_control_wait();
        adp_show_log_wait();
        adp_shadow_wait();
        adp_kernel_port_wait();
        poll_timer_wait(adp_flow_cache_age_interval());
        adp_push_stats_begin_wait();
        type_ran = false;
    }
}

static void
adp_class_type_get_memory_usage(const char *type, struct simap *usage)
{
    struct conntrack *ct = shared_conntrack();

    /* Upstream's is counted under the base type. */
    if (is_main_type(type) && ct) {
        adp_show_memory_of_daemon(ct, usage);
    }
}

static void
adp_class_get_memory_usage(const struct ofproto *ofproto, struct simap *usage)
{
    adp_show_memory_of_bridge(bridge_of(ofproto), usage);
}

static void
adp_class_type_set_config(const char *type,
                          const struct smap *other_config)
{
    /* Upstream's is set under the base type. */
    if (is_main_type(type)) {
        adp_configure_daemon(other_config);
    }
}

static void
adp_class_get_datapath_cap(const char *type OVS_UNUSED, struct smap *cap)
{
    base->get_datapath_cap(base_type, cap);
}

static void
adp_class_ct_set_zone_timeout_policy(const char *type OVS_UNUSED,
                                     uint16_t zone, struct simap *tp)
{
    base->ct_set_zone_timeout_policy(base_type, zone, tp);
}

/* The linker puts this before upstream's.  Bridges of other types have the
 * same datapath, and so the same policies. */
void __real_ofproto_ct_set_zone_timeout_policy(const char *type, uint16_t zone,
                                               struct simap *tp);
void __wrap_ofproto_ct_set_zone_timeout_policy(const char *type, uint16_t zone,
                                               struct simap *tp);

void
__wrap_ofproto_ct_set_zone_timeout_policy(const char *type, uint16_t zone,
                                          struct simap *tp)
{
    __real_ofproto_ct_set_zone_timeout_policy(type, zone, tp);
    adp_walk_begin_epoch();
}

static void
adp_class_ct_del_zone_timeout_policy(const char *type OVS_UNUSED,
                                     uint16_t zone)
{
    base->ct_del_zone_timeout_policy(base_type, zone);
}

/* The bridge. */

static struct ofproto *
adp_class_alloc(void)
{
    struct adp_bridge *b = adp_bridge_alloc();

    return &b->dpif.up;
}

/* Each room lets go of the bridge, from the top to the ground. */
static void
stop(struct adp_bridge *b, bool deleted)
{
    adp_removal_stop(b);
    adp_bridge_stop(b);
    adp_catch_forget(b);
    adp_cached_verdict_forget(b);
    adp_bridge_pipeline_uninit(b, deleted);
    adp_tunnels_destroy(b->tunnels);
    adp_shadow_destroy(b->shadow);
    adp_configure_forget(b);
    adp_bridge_uninit(b);
}

static int
adp_class_construct(struct ofproto *ofproto)
{
    struct adp_bridge *b = bridge_of(ofproto);
    char *type = ofproto->type;
    int error;

    adp_bridge_init(b);
    b->tunnels = adp_tunnels_create();
    b->shadow = adp_shadow_create();
    adp_bridge_pipeline_init(b);

    /* The base class opens the datapath of the bridge's type. */
    ofproto->type = CONST_CAST(char *, base_type);
    error = base->construct(ofproto);
    ofproto->type = type;

    if (error) {
        stop(b, false);
    } else {
        adp_bridge_start(b);
    }
    return error;
}

static void
adp_class_destruct(struct ofproto *ofproto, bool del)
{
    /* When the daemon ends, with --cleanup, it isn't the bridge that goes. */
    stop(bridge_of(ofproto), del && !adp_turns_end());
    base->destruct(ofproto, del);
}

static int
adp_class_run(struct ofproto *ofproto)
{
    struct adp_bridge *b = bridge_of(ofproto);
    struct ovs_list hidden;

    adp_turns_expect_requests(b);
    adp_journal_run(b);
    adp_push_stats_collect();
    adp_turn_set_bridge(b->serial);
    adp_push_stats_run(b);
    /* Must see the flows' latest use. */
    adp_expire_run(b, adp_credit_known(b).until_ms);
    adp_expire_hide(b, &hidden);
    int error = base->run(ofproto);
    adp_expire_unhide(b, &hidden);
    adp_bridge_run(b);
    adp_bridge_set_mode(b, !adp_bridge_pipeline_run(b));
    adp_tunnel_ends_run(b);
    adp_turn_set_bridge(0);
    return error;
}

/* Flows or groups have changed since megaflows were last looked at.  Main
 * thread. */
static bool flows_changed;

static void
revalidate(struct adp_bridge *b)
{
    if (flows_changed) {
        flows_changed = false;
        COVERAGE_INC(adp_revalidate);
        udpif_revalidate(b->dpif.backer->udpif);
    }
}

static void
adp_class_wait(struct ofproto *ofproto)
{
    struct adp_bridge *b = bridge_of(ofproto);

    /* Nobody tells of a table that was modified.  Here requests have been
     * handled, and this thread will next look for packets. */
    adp_journal_read_misses(b);
    adp_ports_publish_changes();
    revalidate(b);
    base->wait(ofproto);
    adp_push_stats_wait(b);
    adp_expire_wait(b);
    adp_removal_wait(b);
    adp_bridge_pipeline_wait(b);
}

static void
adp_class_set_tables_version(struct ofproto *ofproto, ovs_version_t version)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct adp_bridge *b = bridge_of(ofproto);
    struct dpif_backer *backer = b->dpif.backer;

    /* Flows are no part of the configuration with which packets are
     * translated, yet upstream makes that anew for each version, and then the
     * main thread waits until no thread uses the old one any more: up to 10 ms
     * while packets come.  Megaflows have to be looked at, and nothing
     * else. */
    enum revalidate_reason flows = REV_FLOW_TABLE;

    base->set_tables_version(ofproto, version);
    if (adp_turn_is_mine()
        && atomic_compare_exchange_strong(&backer->need_revalidate, &flows,
                                          0)) {
        flows_changed = true;
    }
    if (adp_bridge_is_constructed(b)) {
        adp_journal_close_version(b);
    }
}

/* What a packet-out learns outside a bundle belongs to the present version,
 * which upstream doesn't publish once more. */
static void
adp_class_packet_execute_prepare(struct ofproto *ofproto,
                                 struct ofproto_packet_out *opo)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    base->packet_execute_prepare(ofproto, opo);
    adp_journal_close_version(bridge_of(ofproto));
}

static enum ofperr
adp_class_group_construct(struct ofgroup *group)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct adp_bridge *b = bridge_of(group->ofproto);

    adp_journal_group_changed(b, group->group_id);
    return base->group_construct(group);
}

static void
adp_class_rule_dealloc(struct rule *rule)
{
    base->rule_dealloc(rule);
    adp_rcu_breathe();
}

/* Ports. */

static void
ports_changed(const struct ofproto *ofproto)
{
    adp_bridge_ports_changed(bridge_of(ofproto));
}

static int
adp_class_port_construct(struct ofport *port)
{
    ports_changed(port->ofproto);
    return base->port_construct(port);
}

static void
adp_class_port_destruct(struct ofport *port, bool del)
{
    struct adp_bridge *b = bridge_of(port->ofproto);

    adp_bridge_clear_special(b, port->netdev);
    ports_changed(port->ofproto);
    base->port_destruct(port, del);
    adp_ports_remove(b, port->ofp_port);
}

static void
adp_class_port_modified(struct ofport *port)
{
    ports_changed(port->ofproto);
    base->port_modified(port);
}

static void
adp_class_port_reconfigured(struct ofport *port,
                            enum ofputil_port_config old_config)
{
    ports_changed(port->ofproto);
    base->port_reconfigured(port, old_config);
}

static int
adp_class_set_cfm(struct ofport *port, const struct cfm_settings *s)
{
    adp_bridge_set_special(bridge_of(port->ofproto), port->netdev,
                           ADP_SPECIAL_CFM, s != NULL);
    return base->set_cfm(port, s);
}

static int
adp_class_set_bfd(struct ofport *port, const struct smap *cfg)
{
    adp_bridge_set_special(bridge_of(port->ofproto), port->netdev,
                           ADP_SPECIAL_BFD,
                           smap_get_bool(cfg, "enable", false));
    return base->set_bfd(port, cfg);
}

static int
adp_class_set_lldp(struct ofport *port, const struct smap *cfg)
{
    adp_bridge_set_special(bridge_of(port->ofproto), port->netdev,
                           ADP_SPECIAL_LLDP,
                           cfg && smap_get_bool(cfg, "enable", false));
    return base->set_lldp(port, cfg);
}

static int
adp_class_set_queues(struct ofport *port,
                     const struct ofproto_port_queue *queues, size_t n)
{
    adp_bridge_set_special(bridge_of(port->ofproto), port->netdev,
                           ADP_SPECIAL_QUEUES, n > 0);
    return base->set_queues(port, queues, n);
}

static int
adp_class_bundle_set(struct ofproto *ofproto, void *aux,
                     const struct ofproto_bundle_settings *s)
{
    struct adp_bridge *b = bridge_of(ofproto);

    if (s) {
        for (size_t i = 0; i < s->n_members; i++) {
            const struct ofport *port = ofproto_get_port(ofproto,
                                                         s->members[i]);
            if (port) {
                adp_bridge_set_special(
                    b, port->netdev, ADP_SPECIAL_BUNDLE,
                    s->n_members > 1 || s->lacp || s->protected);
            }
        }
    }
    ports_changed(ofproto);
    return base->bundle_set(ofproto, aux, s);
}

static enum ofperr
adp_class_meter_set(struct ofproto *ofproto, ofproto_meter_id *meter_id,
                    struct ofputil_meter_config *config)
{
    enum ofperr error = base->meter_set(ofproto, meter_id, config);

    if (!error && config->meter_id == OFPM13_CONTROLLER) {
        atomic_store_relaxed(&bridge_of(ofproto)->controller_meter,
                             meter_id->uint32);
    }
    return error;
}

static void
adp_class_meter_del(struct ofproto *ofproto, ofproto_meter_id meter_id)
{
    struct adp_bridge *b = bridge_of(ofproto);

    if (adp_bridge_controller_meter(b) == meter_id.uint32) {
        atomic_store_relaxed(&b->controller_meter, UINT32_MAX);
    }
    base->meter_del(ofproto, meter_id);
}

/* Hooks. */

static void
hook_rule_inserted(struct ofproto *ofproto, struct rule *rule)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct adp_bridge *b = adp_bridge_cast(ofproto);

    if (b && adp_bridge_is_constructed(b)) {
        adp_journal_rule_inserted(b, rule);
    }
}

static void
hook_rule_removed(struct ofproto *ofproto, struct rule *rule)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct adp_bridge *b = adp_bridge_cast(ofproto);

    if (b && adp_bridge_is_constructed(b)) {
        adp_journal_rule_removed(b, rule);
    }
}

static void
hook_group_removed(struct ofproto *ofproto, uint32_t group_id)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct adp_bridge *b = adp_bridge_cast(ofproto);

    if (b && adp_bridge_is_constructed(b)) {
        adp_journal_group_changed(b, group_id);
    }
}

static bool
hook_may_learn(struct ofproto *ofproto, const struct rule *rule)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct adp_bridge *b = adp_bridge_cast(ofproto);

    /* Nobody would take what a bridge learns that goes. */
    return !b || (adp_bridge_is_constructed(b)
                  && adp_journal_may_learn(b, rule));
}

static void
hook_bridge_configured(struct ofproto *ofproto, const struct uuid *row,
                       const struct smap *other_config,
                       const struct smap *external_ids)
{
    struct adp_bridge *b = adp_bridge_cast(ofproto);

    if (b) {
        /* By now what connections depend on is configured, that is their
         * limits and zones' timeouts; and the bridge hasn't run yet, so it is
         * closed. */
        adp_handover_take(b);
        adp_bridge_pipeline_identify(b, row);
        adp_configure(b, other_config, external_ids);
    } else {
        /* It may have been one of ours when a daemon ran before. */
        adp_state_disk_leave(ofproto->name, row);
    }
}

/* Upstream forgets marks of packets that it receives. */
static void
input_marked(struct dp_netdev_pmd_thread *pmd, struct dp_packet_batch *batch,
             odp_port_t port)
{
    const size_t n = dp_packet_batch_size(batch);
    struct dp_packet_batch marked;
    struct dp_packet *packet;
    size_t i;

    dp_packet_batch_init(&marked);
    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, batch) {
        if (packet->md.pkt_mark) {
            dp_packet_batch_add(&marked, packet);
        } else {
            dp_packet_batch_refill(batch, packet, i);
        }
    }
    if (!dp_packet_batch_is_empty(&marked)) {
        dp_pmd_input_with_marks(pmd, &marked, port);
    }
}

/* What isn't ours goes on with whole checksums. */
static void
hook_received(struct dp_netdev_pmd_thread *pmd, struct dp_packet_batch *batch,
              odp_port_t port)
{
    const bool has_marks = adp_kernel_port_has_marks();

    adp_input_received(pmd, batch, port, has_marks);
    adp_kernel_port_complete(batch);
    if (OVS_UNLIKELY(has_marks)) {
        input_marked(pmd, batch, port);
    }
}

static void
hook_daemon_configured(const struct smap *other_config)
{
    static struct adp_switch persist = { .key = "antrea-dp-persist" };
    static struct adp_switch handover = { .key = "antrea-dp-handover" };
    static struct adp_switch poll_kernel_ports = {
        .key = "antrea-dp-poll-kernel-ports", .normal = true,
    };
    static struct adp_switch system_type = { .key = ADP_SYSTEM_KEY };

    adp_switch_configure(&persist, other_config);
    adp_switch_configure(&handover, other_config);
    adp_switch_configure(&poll_kernel_ports, other_config);
    adp_switch_configure(&system_type, other_config);
    adp_state_disk_configure(persist.value, persist.is_known);
    adp_handover_configure(handover.value);
    adp_system_configure(system_type.value);
    adp_kernel_port_configure(poll_kernel_ports.value);
    adp_mark_port_configure(other_config);
}

static const struct dp_hooks hooks = {
    .received = hook_received,
    .decapsulated = adp_input_decapsulated,
    .idle = adp_flow_cache_age,
    .idle_interval = adp_flow_cache_age_interval,
    .rest = adp_poller_wants_rest,
    .rule_inserted = hook_rule_inserted,
    .rule_removed = hook_rule_removed,
    .group_removed = hook_group_removed,
    .may_learn = hook_may_learn,
    .daemon_configured = hook_daemon_configured,
    .bridge_configured = hook_bridge_configured,
};

/* Runs before main(): the class must be registered before upstream registers
 * its own, which accepts any type. */
static void __attribute__((constructor))
adp_provider_register(void)
{
    struct ofproto_class *c = &adp_ofproto_class;

    adp_heap_init();
    *c = ofproto_dpif_class;
    c->init = adp_class_init;
    c->enumerate_types = adp_class_enumerate_types;
    c->del = adp_class_del;
    c->port_open_type = adp_class_port_open_type;
    c->type_run = adp_class_type_run;
    c->type_wait = adp_class_type_wait;
    c->type_get_memory_usage = adp_class_type_get_memory_usage;
    c->type_set_config = adp_class_type_set_config;
    c->get_datapath_cap = adp_class_get_datapath_cap;
    c->ct_set_zone_timeout_policy = adp_class_ct_set_zone_timeout_policy;
    c->ct_del_zone_timeout_policy = adp_class_ct_del_zone_timeout_policy;

    c->get_memory_usage = adp_class_get_memory_usage;
    c->alloc = adp_class_alloc;
    c->construct = adp_class_construct;
    c->destruct = adp_class_destruct;
    c->run = adp_class_run;
    c->wait = adp_class_wait;
    c->set_tables_version = adp_class_set_tables_version;
    c->packet_execute_prepare = adp_class_packet_execute_prepare;
    c->group_construct = adp_class_group_construct;
    c->rule_dealloc = adp_class_rule_dealloc;

    c->port_construct = adp_class_port_construct;
    c->port_destruct = adp_class_port_destruct;
    c->port_modified = adp_class_port_modified;
    c->port_reconfigured = adp_class_port_reconfigured;
    c->set_cfm = adp_class_set_cfm;
    c->set_bfd = adp_class_set_bfd;
    c->set_lldp = adp_class_set_lldp;
    c->set_queues = adp_class_set_queues;
    c->bundle_set = adp_class_bundle_set;
    c->meter_set = adp_class_meter_set;
    c->meter_del = adp_class_meter_del;

    dp_hooks = &hooks;
    ofproto_class_register(c);
}
