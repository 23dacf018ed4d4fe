/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-engine-private.h"

#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "model-pause.h"
#include "model-sort.h"
#include "openvswitch/ofp-port.h"
#include "util.h"

/* Life. */

struct adp_engine *
adp_engine_create(void)
{
    struct adp_engine *e = xzalloc(sizeof *e);

    e->desired = adp_desired_create();
    e->ids = adp_pipeline_state_create();
    ofputil_table_map_init(&e->tables);
    ovs_list_init(&e->sources);
    ovs_list_init(&e->dying);
    shash_init(&e->pods);
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        shash_init(&e->records[kind]);
        shash_init(&e->groups[kind]);
        shash_init(&e->applied[kind]);
    }
    shash_init(&e->policies);
    shash_init(&e->services);
    shash_init(&e->egress_ips);
    adp_vips_init(&e->vips);
    adp_nesting_init(&e->nesting);
    return e;
}

static void clear_nodes(struct adp_engine *);
static void forget_done(struct adp_engine *);

static void
free_dying(struct adp_engine *e)
{
    struct engine_source *source;

    LIST_FOR_EACH_POP (source, node, &e->dying) {
        adp_contributor_uninit(&source->contributor);
        free(source);
        adp_pause();
    }
}

void
adp_engine_destroy(struct adp_engine *e)
{
    if (!e) {
        return;
    }

    clear_nodes(e);
    forget_done(e);
    adp_desired_destroy(e->desired);
    free_dying(e);
    adp_pipeline_state_destroy(e->ids);
    ofputil_table_map_destroy(&e->tables);
    adp_remote_cidrs_uninit(&e->remote);
    shash_destroy(&e->pods);
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        shash_destroy(&e->records[kind]);
        shash_destroy(&e->groups[kind]);
        shash_destroy(&e->applied[kind]);
    }
    shash_destroy(&e->policies);
    shash_destroy(&e->services);
    shash_destroy(&e->egress_ips);
    adp_vips_uninit(&e->vips);
    adp_nesting_uninit(&e->nesting);
    adp_engine_marks_clear(&e->dirty_rules);
    adp_engine_marks_clear(&e->dirty_groups);
    adp_engine_marks_clear(&e->dirty_pods);
    adp_engine_marks_clear(&e->dirty_applied);
    adp_engine_marks_clear(&e->dirty_records);
    free(e->g.group_ids);
    free(e);
}

struct adp_desired *
adp_engine_desired(struct adp_engine *e)
{
    return e->desired;
}

const struct adp_meters *
adp_engine_meters(const struct adp_engine *e)
{
    return &e->meters;
}

const struct adp_pipeline_state *
adp_engine_ids(const struct adp_engine *e)
{
    return e->ids;
}

struct adp_engine_runs
adp_engine_get_runs(const struct adp_engine *e)
{
    return e->runs;
}

void
adp_engine_invalidate(struct adp_engine *e)
{
    e->valid = false;
}

/* Sources. */

void
adp_engine_source_init(struct adp_engine *e, struct engine_source *source)
{
    memset(source, 0, sizeof *source);
    ovs_list_push_back(&e->sources, &source->node);
}

void
adp_engine_source_kill(struct adp_engine *e, struct engine_source *source)
{
    adp_desired_remove(e->desired, &source->contributor);
    ovs_list_remove(&source->node);
    ovs_list_push_back(&e->dying, &source->node);
}

void
adp_engine_begin(struct adp_engine *e, struct engine_source *source)
{
    e->g.contributor = &source->contributor;
    adp_desired_begin(e->desired, e->g.contributor);
}

void
adp_engine_end(struct adp_engine *e)
{
    adp_desired_end(e->desired, e->g.contributor);
    e->g.contributor = NULL;
}

/* Services and PeerNodes. */

static void
release_group_ids(struct adp_engine *e, struct engine_record *r)
{
    for (size_t i = 0; i < r->n_group_ids; i++) {
        adp_ids_release(&e->ids->groups, r->group_ids[i]);
    }
    free(r->group_ids);
    r->group_ids = NULL;
    r->n_group_ids = 0;
}

/* Forgets what is known of a Service's addresses, before it goes or
 * changes. */
static void
forget_service(struct adp_engine *e, const struct engine_record *r)
{
    if (r->record && r->record->kind == ADP_KIND_SERVICE) {
        adp_vips_remove(&e->vips, r->record);
        adp_nesting_remove(&e->nesting, r->record);
    }
}

static void
free_record(struct adp_engine *e, struct engine_record *r)
{
    forget_service(e, r);
    release_group_ids(e, r);
    adp_engine_unmark(&e->dirty_records, &r->dirty);
    adp_record_unref(CONST_CAST(struct adp_record *, r->record));
    adp_engine_source_kill(e, &r->source);
}

static void
set_record(struct adp_engine *e, enum adp_kind kind, const char *name,
           const struct adp_record *new)
{
    struct shash *records = &e->records[kind];
    struct engine_record *r;

    if (!new) {
        r = shash_find_and_delete(records, name);
        if (r) {
            if (r->n_group_ids || r->has_rules) {
                adp_engine_mark_users(e, name);
            }
            free_record(e, r);
        }
        return;
    }

    r = shash_find_data(records, name);
    if (!r) {
        r = xzalloc(sizeof *r);
        adp_engine_source_init(e, &r->source);
        shash_add(records, name, r);
    }
    forget_service(e, r);
    adp_record_unref(CONST_CAST(struct adp_record *, r->record));
    r->record = adp_record_ref(new);
    adp_engine_mark(&e->dirty_records, &r->dirty);
    if (kind == ADP_KIND_SERVICE) {
        adp_vips_add(&e->vips, new);
        adp_nesting_add(&e->nesting, e->node, new);
    }
}

/* Services of which the Service is an endpoint. */
static void
mark_nesting(struct adp_engine *e, const struct adp_record *record)
{
    const struct adp_service *service
        = record ? CONTAINER_OF(record, struct adp_service, up) : NULL;

    if (!service) {
        return;
    }
    ADP_FOR_EACH_FAMILY (family) {
        const struct engine_set *services
            = adp_nesting_find(&e->nesting, &service->cluster_ip[family]);
        const struct engine_member *m;

        if (!services) {
            continue;
        }
        ENGINE_SET_FOR_EACH (m, services) {
            const struct adp_record *outer = m->data;
            struct engine_record *r = shash_find_data(
                &e->records[ADP_KIND_SERVICE], outer->name);

            adp_engine_mark(&e->dirty_records, &r->dirty);
            adp_pause();
        }
    }
}

static void
mark_service(const struct adp_record *record, void *e_)
{
    struct adp_engine *e = e_;
    struct engine_record *r = shash_find_data(&e->records[ADP_KIND_SERVICE],
                                              record->name);

    adp_engine_mark(&e->dirty_records, &r->dirty);
}

/* Services that have an address for outsiders in common with it. */
static void
mark_rivals(struct adp_engine *e, const struct adp_record *record)
{
    if (record) {
        adp_vips_each_rival(&e->vips, record, mark_service, e);
    }
}

static void
contribute_record(struct adp_engine *e, struct engine_record *r)
{
    uint32_t *old_ids = r->group_ids;
    size_t n_old = r->n_group_ids;
    bool had_rules = r->has_rules;

    for (size_t i = 0; i < n_old; i++) {
        adp_ids_release(&e->ids->groups, old_ids[i]);
    }
    r->group_ids = NULL;
    r->n_group_ids = 0;
    e->g.n_group_ids = 0;
    adp_engine_begin(e, &r->source);
    if (r->record->kind == ADP_KIND_PEER_NODE) {
        if (e->parts->peer_node) {
            e->parts->peer_node(&e->g, r->record);
        }
    } else if (r->record->kind == ADP_KIND_MULTICAST_GROUP) {
        if (e->parts->multicast_group) {
            e->parts->multicast_group(&e->g, r->record);
        }
    } else if (e->parts->service) {
        e->parts->service(&e->g, r->record);
    }
    adp_engine_end(e);
    if (e->g.n_group_ids) {
        r->n_group_ids = e->g.n_group_ids;
        r->group_ids = xmemdup(e->g.group_ids,
                               r->n_group_ids * sizeof *r->group_ids);
    }
    r->has_rules = (r->record->kind == ADP_KIND_SERVICE
                    && adp_policy_applies_to_service(
                        e->node, CONTAINER_OF(r->record, struct adp_service,
                                              up)));
    if (n_old != r->n_group_ids || r->has_rules != had_rules
        || (n_old && memcmp(old_ids, r->group_ids, n_old * sizeof *old_ids))) {
        adp_engine_mark_users(e, r->record->name);
    }
    free(old_ids);
}

static int
compare_records(const void *a_, const void *b_)
{
    const struct engine_record *a = *(const struct engine_record *const *) a_;
    const struct engine_record *b = *(const struct engine_record *const *) b_;

    return (a->record->kind != b->record->kind
            ? (a->record->kind < b->record->kind ? -1 : 1)
            : strcmp(a->record->name, b->record->name));
}

/* In the order of kinds and names, in which groups get IDs. */
static void
finish_records(struct adp_engine *e)
{
    struct engine_record **records
        = xmalloc((e->dirty_records.n + 1) * sizeof *records);
    struct engine_record *r;
    size_t n = 0;

    ENGINE_MARKS_FOR_EACH (r, dirty, &e->dirty_records) {
        records[n++] = r;
    }
    adp_sort_pointers(records, n, compare_records);
    for (size_t i = 0; i < n; i++) {
        contribute_record(e, records[i]);
        adp_pause();
    }
    adp_engine_marks_clear(&e->dirty_records);
    free(records);
}

/* Changes. */

/* Brings the nodes in line with a record that is 'new' now and was 'old'; each
 * may be NULL. */
static void
handle_change(struct adp_engine *e, enum adp_kind kind, const char *name,
              const struct adp_record *old, const struct adp_record *new)
{
    switch (kind) {
    case ADP_KIND_POD:
        adp_engine_set_pod(e, name, (new
                                     ? CONTAINER_OF(new, struct adp_pod, up)
                                     : NULL));
        e->all_pods_dirty = true;
        break;
    case ADP_KIND_ADDRESS_GROUP:
    case ADP_KIND_APPLIED_TO_GROUP:
    case ADP_KIND_FQDN:
        adp_engine_set_group(e, kind, name, new);
        break;
    case ADP_KIND_NETWORK_POLICY:
        adp_engine_set_policy(e, name, new);
        break;
    case ADP_KIND_EGRESS:
    case ADP_KIND_TRAFFIC_CONTROL:
        adp_engine_set_applied(e, kind, name, new);
        break;
    case ADP_KIND_PEER_NODE:
    case ADP_KIND_MULTICAST_GROUP:
        set_record(e, kind, name, new);
        break;
    case ADP_KIND_SERVICE:
        set_record(e, kind, name, new);
        mark_nesting(e, old);
        mark_nesting(e, new);
        mark_rivals(e, old);
        mark_rivals(e, new);
        break;
    case ADP_KIND_MANIFEST:     /* Means nothing here. */
    case ADP_KIND_NODE_CONFIG:  /* Everything runs. */
    case ADP_N_KINDS:
    default:
        break;
    }
}

static bool
has_endpoint_in(const struct adp_record *record,
                const struct adp_remote_cidrs *cidrs)
{
    const struct adp_service *svc = CONTAINER_OF(record, struct adp_service,
                                                 up);

    for (size_t i = 0; i < svc->n_ports; i++) {
        const struct adp_service_port *port = &svc->ports[i];

        for (size_t j = 0; j < port->n_endpoints; j++) {
            if (adp_remote_cidrs_contain(cidrs, &port->endpoints[j].ip)) {
                return true;
            }
        }
    }
    return false;
}

/* Services whose endpoints came to PeerNodes, or are no more on one, since
 * those were 'before'. */
static void
mark_services(struct adp_engine *e, const struct adp_remote_cidrs *before)
{
    struct adp_remote_cidrs changed;
    const struct shash_node *node;

    adp_remote_cidrs_difference(&changed, before, &e->remote);
    if (changed.n) {
        SHASH_FOR_EACH (node, &e->records[ADP_KIND_SERVICE]) {
            struct engine_record *r = node->data;

            if (has_endpoint_in(r->record, &changed)) {
                adp_engine_mark(&e->dirty_records, &r->dirty);
            }
            adp_pause();
        }
    }
    adp_remote_cidrs_uninit(&changed);
}

/* The Pod CIDRs of the PeerNodes that there are. */
static void
collect_remote(struct adp_engine *e)
{
    struct adp_remote_cidrs before = e->remote;
    const struct shash *peers = &e->records[ADP_KIND_PEER_NODE];
    const struct adp_record **records
        = xmalloc((shash_count(peers) + 1) * sizeof *records);
    const struct shash_node *node;
    size_t n = 0;

    SHASH_FOR_EACH (node, peers) {
        const struct engine_record *r = node->data;

        records[n++] = r->record;
    }
    adp_remote_cidrs_set(&e->remote, records, n);
    free(records);
    mark_services(e, &before);
    adp_remote_cidrs_uninit(&before);
}

static int
compare_ports(const void *a_, const void *b_)
{
    const ofp_port_t *a = a_, *b = b_;

    return (ofp_to_u16(*a) < ofp_to_u16(*b) ? -1
            : ofp_to_u16(*a) > ofp_to_u16(*b));
}

/* What is for all Pods. */
static void
contribute_all_pods(struct adp_engine *e)
{
    ofp_port_t *ports;
    const struct shash_node *node;
    size_t n = 0;

    if (!e->all_pods_dirty || !e->parts->all_pods
        || !(e->options & e->parts->options_for_all_pods)) {
        return;
    }
    if (!e->all_pods) {
        e->all_pods = xzalloc(sizeof *e->all_pods);
        adp_engine_source_init(e, e->all_pods);
    }
    ports = xmalloc((shash_count(&e->pods) + 1) * sizeof *ports);
    SHASH_FOR_EACH (node, &e->pods) {
        const struct engine_pod *pod = node->data;

        if (pod->pod && pod->has_port) {
            ports[n++] = pod->port;
        }
    }
    qsort(ports, n, sizeof *ports, compare_ports);
    adp_engine_begin(e, e->all_pods);
    e->parts->all_pods(&e->g, ports, n);
    adp_engine_end(e);
    e->all_pods_dirty = false;
    free(ports);
}

/* Groups whose members' ports may have got other numbers. */
static void
check_multicast_ports(struct adp_engine *e)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &e->records[ADP_KIND_MULTICAST_GROUP]) {
        struct engine_record *r = node->data;

        adp_engine_mark(&e->dirty_records, &r->dirty);
    }
    e->all_pods_dirty = true;
}

static void
finish(struct adp_engine *e, bool peers_changed)
{
    if (peers_changed) {
        collect_remote(e);
    }
    adp_engine_finish_applied(e);
    adp_engine_finish_groups(e);
    finish_records(e);          /* Rules need the IDs of their groups. */
    contribute_all_pods(e);
    adp_engine_finish_rules(e);
    ovs_assert(adp_desired_settle(e->desired));
}

/* Notes what a run handles, so that it can be undone. */
static void
note_done(struct adp_engine *e, const struct adp_model_change *const *changes,
          size_t n)
{
    e->done = xmalloc((n + 1) * sizeof *e->done);
    e->n_done = n;
    for (size_t i = 0; i < n; i++) {
        const struct adp_model_change *c = changes[i];

        e->done[i] = (struct adp_model_change) {
            .kind = c->kind,
            .name = xstrdup(c->name),
            .old = c->old ? adp_record_ref(c->old) : NULL,
            .new = c->new ? adp_record_ref(c->new) : NULL,
        };
        adp_pause();
    }
}

static void
forget_done(struct adp_engine *e)
{
    for (size_t i = 0; i < e->n_done; i++) {
        free(CONST_CAST(char *, e->done[i].name));
        adp_record_unref(CONST_CAST(struct adp_record *, e->done[i].old));
        adp_record_unref(CONST_CAST(struct adp_record *, e->done[i].new));
        adp_pause();
    }
    free(e->done);
    e->done = NULL;
    e->n_done = 0;
}

/* Notes the error if the pipeline can't do what 'record' asks for. */
static void
check_record(struct adp_engine *e, const struct adp_record *record)
{
    if (!e->g.error && adp_gen_checks_kind(record->kind)) {
        e->g.error = adp_gen_check_record(e->pipeline, e->options, record);
    }
}

/* Handles what was noted, or with 'undo' the contrary, which was checked when
 * it came. */
static void
handle_done(struct adp_engine *e, bool undo)
{
    bool peers_changed = false;

    for (size_t i = 0; i < e->n_done; i++) {
        const struct adp_model_change *c = &e->done[i];

        if (!undo && c->new) {
            check_record(e, c->new);
        }
        handle_change(e, c->kind, c->name, undo ? c->new : c->old,
                      undo ? c->old : c->new);
        peers_changed |= c->kind == ADP_KIND_PEER_NODE;
        adp_pause();
    }
    finish(e, peers_changed);
}

/* The way to the engine of L7 rules. */

static void
contribute_l7(struct adp_engine *e)
{
    e->l7_target = adp_engine_port_or_none(e, e->node->l7_target_port);
    e->l7_return = adp_engine_port_or_none(e, e->node->l7_return_port);
    adp_engine_begin(e, e->l7);
    e->parts->l7(&e->g);
    adp_engine_end(e);
}

static void
check_l7_ports(struct adp_engine *e)
{
    if (e->l7
        && (adp_engine_port_or_none(e, e->node->l7_target_port) != e->l7_target
            || (adp_engine_port_or_none(e, e->node->l7_return_port)
                != e->l7_return))) {
        contribute_l7(e);
    }
}

static void
run_incremental(struct adp_engine *e, const struct adp_model *model,
                bool ports_changed)
{
    size_t n;
    const struct adp_model_change *const *changes = adp_model_changes(model,
                                                                      &n);
    if (ports_changed) {
        adp_engine_check_ports(e);
        adp_engine_check_applied_ports(e);
        check_l7_ports(e);
        check_multicast_ports(e);
    }
    note_done(e, changes, n);
    handle_done(e, false);
    e->runs.n_incremental++;
}

/* Undoes an incremental run, when the IDs are as before it.  Returns true if
 * all that was desired then is desired again. */
static bool
undo_incremental(struct adp_engine *e)
{
    struct adp_changes changes;

    handle_done(e, true);
    if (e->g.error) {
        adp_error_destroy(e->g.error);
        e->g.error = NULL;
        return false;
    }

    struct adp_error *error = adp_desired_get_changes(
        e->desired, ADP_CHANGES_ONLY, &e->tables, &changes);
    bool undone = !error && !changes.n_flows && !changes.n_groups;
    adp_error_destroy(error);
    adp_changes_uninit(&changes);
    return undone;
}

/* Full runs. */

static void
clear_nodes(struct adp_engine *e)
{
    struct engine_source *source;
    struct shash_node *node;

    adp_engine_clear_rules(e);
    adp_engine_clear_applied(e);
    adp_engine_clear_groups(e);
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        SHASH_FOR_EACH (node, &e->records[kind]) {
            free_record(e, node->data);
        }
        shash_clear(&e->records[kind]);
    }
    if (e->fixed) {
        adp_engine_source_kill(e, e->fixed);
        e->fixed = NULL;
    }
    if (e->l7) {
        adp_engine_source_kill(e, e->l7);
        e->l7 = NULL;
    }
    if (e->all_pods) {
        adp_engine_source_kill(e, e->all_pods);
        e->all_pods = NULL;
    }
    ovs_assert(ovs_list_is_empty(&e->sources));
    adp_engine_marks_clear(&e->dirty_groups);

    /* Some may have got back what they had, when a run was reverted. */
    LIST_FOR_EACH (source, node, &e->dying) {
        adp_desired_remove(e->desired, &source->contributor);
        adp_pause();
    }
    if (e->node) {
        adp_record_unref(CONST_CAST(struct adp_record *, &e->node->up));
        e->node = NULL;
    }
}

static void
set_pipeline(struct adp_engine *e, const struct adp_pipeline *pipeline)
{
    if (pipeline != e->pipeline) {
        ofputil_table_map_destroy(&e->tables);
        adp_pipeline_init_table_map(pipeline, &e->tables);
        e->pipeline = pipeline;
        e->parts = pipeline->parts;
    }
    adp_pipeline_state_use(e->ids, pipeline);
}

static void
check_records(struct adp_engine *e, const struct adp_model *model)
{
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        if (!adp_gen_checks_kind(kind)) {
            continue;
        }

        size_t n;
        const struct adp_record **records = adp_model_sorted(model, kind, &n);

        for (size_t i = 0; i < n && !e->g.error; i++) {
            check_record(e, records[i]);
            adp_pause();
        }
        free(records);
    }
}

/* The contributions of all records. */
static void
add_records(struct adp_engine *e, const struct adp_model *model)
{
    /* Where there are no rules any more, ranks are to be forgotten. */
    for (size_t i = 0; i < ARRAY_SIZE(e->ranks); i++) {
        e->ranks[i].dirty = true;
    }
    e->all_pods_dirty = true;
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        if (kind == ADP_KIND_MANIFEST) {
            continue;           /* Means nothing here. */
        }

        size_t n;
        const struct adp_record **records = adp_model_sorted(model, kind, &n);

        for (size_t i = 0; i < n; i++) {
            handle_change(e, kind, records[i]->name, NULL, records[i]);
            adp_pause();
        }
        free(records);
    }
    finish(e, true);
}

static ofp_port_t
number_of(const struct adp_model_env *env, const char *name)
{
    ofp_port_t port;

    return name && env->port_number(name, &port, env->aux) ? port : OFPP_NONE;
}

ofp_port_t
adp_engine_port_or_none(const struct adp_engine *e, const char *name)
{
    return number_of(&e->env, name);
}

/* Ports may come and go while a run pauses.  Those that all flows depend on
 * have the numbers that they had in the beginning. */
static bool
port_number_of_run(const char *name, ofp_port_t *port, void *e_)
{
    const struct adp_engine *e = e_;

    if (e->node && !strcmp(name, e->node->gateway_port)) {
        *port = e->gateway;
    } else if (e->node
               && nullable_string_is_equal(name, e->node->tunnel_port)) {
        *port = e->tunnel;
    } else {
        return e->bridge.port_number(name, port, e->bridge.aux);
    }
    return *port != OFPP_NONE;
}

static void
run_full(struct adp_engine *e, const struct adp_pipeline *pipeline,
         const struct adp_model *model)
{
    const struct adp_node_config *node = e->g.node;
    ofp_port_t gateway
        = number_of(&e->bridge, node ? node->gateway_port : NULL);
    ofp_port_t tunnel
        = number_of(&e->bridge, node ? node->tunnel_port : NULL);

    clear_nodes(e);
    /* Also what nodes knew nothing of any more when a run was reverted. */
    adp_pipeline_state_release_all(e->ids);
    set_pipeline(e, pipeline);
    adp_remote_cidrs_uninit(&e->remote);
    adp_remote_cidrs_init(&e->remote, model); /* For who has no parts. */
    e->round = e->g.env->round;
    e->options = e->g.env->options;
    e->gateway = gateway;
    e->tunnel = tunnel;
    e->node = node;
    e->g.pipeline = pipeline;
    if (node) {
        adp_record_ref(&node->up);
    }

    check_records(e, model);
    if (!e->g.error) {
        e->fixed = xzalloc(sizeof *e->fixed);
        adp_engine_source_init(e, e->fixed);
        adp_engine_begin(e, e->fixed);
        adp_gen_static(&e->g);
        if (!e->parts) {
            pipeline->generate(&e->g);
        } else {
            if (e->parts->always) {
                e->parts->always(&e->g);
            }
            if (e->node) {
                e->parts->node(&e->g);
            }
        }
        adp_engine_end(e);
    }
    if (!e->g.error && e->parts && e->node) {
        if (e->parts->l7) {
            e->l7 = xzalloc(sizeof *e->l7);
            adp_engine_source_init(e, e->l7);
            contribute_l7(e);
        }
        add_records(e, model);
    }
    e->runs.n_full++;
}

/* Runs. */

bool
adp_engine_can_follow(const struct adp_engine *e,
                      const struct adp_pipeline *pipeline,
                      const struct adp_model_env *env)
{
    return (e->valid && e->parts && e->node
            && pipeline == e->pipeline
            && env->round == e->round && env->options == e->options
            && number_of(env, e->node->gateway_port) == e->gateway
            && number_of(env, e->node->tunnel_port) == e->tunnel);
}

/* Is there a handler for everything that differs from the last run? */
static bool
is_handled(const struct adp_engine *e, const struct adp_pipeline *pipeline,
           const struct adp_model *model, const struct adp_model_env *env)
{
    return (adp_engine_can_follow(e, pipeline, env)
            && e->g.node == e->node
            && !adp_model_was_cleared(model));
}

struct adp_error *
adp_engine_run(struct adp_engine *e, const struct adp_pipeline *pipeline,
               const struct adp_model *model, const struct adp_model_env *env,
               bool ports_changed)
{
    uint32_t *group_ids = e->g.group_ids;
    size_t allocated_group_ids = e->g.allocated_group_ids;

    ovs_assert(!e->running);
    e->running = true;
    e->bridge = e->env = *env;
    e->env.port_number = port_number_of_run;
    e->env.aux = e;
    e->g = (struct adp_generator) {
        .pipeline = pipeline,
        .model = model,
        .env = &e->env,
        .node = adp_model_node_config(model),
        .state = e->ids,
        .remote = &e->remote,
        .vips = &e->vips,
        .desired = e->desired,
        .tables = &e->tables,
        .meters = &e->meters,
        .group_ids = group_ids,
        .allocated_group_ids = allocated_group_ids,
    };
    if (is_handled(e, pipeline, model, env)) {
        run_incremental(e, model, ports_changed);
    } else {
        run_full(e, pipeline, model);
    }
    e->valid = !e->g.error;

    struct adp_error *error = e->g.error;
    e->g.error = NULL;
    return error;
}

/* What is desired is what the nodes contribute. */
static void
end_run(struct adp_engine *e)
{
    adp_pipeline_state_commit(e->ids);
    free_dying(e);
    forget_done(e);
    e->running = false;
}

void
adp_engine_accept(struct adp_engine *e)
{
    ovs_assert(e->running && e->valid);
    adp_desired_accept(e->desired);
    end_run(e);
}

/* Where a run can't be undone step by step the nodes stay as they are until
 * the next one, which sweeps them away. */
void
adp_engine_revert(struct adp_engine *e)
{
    ovs_assert(e->running);
    adp_pipeline_state_rollback(e->ids);
    if (e->valid && e->done && undo_incremental(e)) {
        adp_desired_accept(e->desired);
        end_run(e);
        e->runs.n_undone++;
    } else {
        adp_desired_revert(e->desired);
        adp_pipeline_state_rollback(e->ids);
        forget_done(e);
        e->running = e->valid = false;
    }
}
