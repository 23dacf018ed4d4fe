/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state-flows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-state-order.h"
#include "hash.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofp-table.h"
#include "pipeline.h"
#include "util.h"

/* What a flow or group must be expressible in, so that people can dump it in
 * the version whose syntax its text has. */
#define USABLE_PROTOCOLS OFPUTIL_P_OF15_OXM

/* Timeouts and flags: what a modification in place can't change. */
struct flow_terms {
    uint16_t idle_timeout;
    uint16_t hard_timeout;
    uint16_t importance;
    enum ofputil_flow_mod_flags flags;
};

struct installed_flow {
    struct hmap_node text_node; /* In 'flows_by_text'. */
    struct hmap_node key_node;  /* In 'flows_by_key' or 'new_flows'. */
    struct ovs_list plan_node;  /* In a plan's 'old_flows' or empty. */
    bool replaced;              /* By a new flow of the same key. */
    char *text;

    /* Key. */
    struct minimatch match;
    int priority;
    uint8_t table_id;

    ovs_be64 cookie;
    struct flow_terms terms;
};

struct installed_group {
    struct hmap_node text_node; /* In 'groups_by_text'. */
    struct hmap_node id_node;   /* In 'groups_by_id' or 'new_groups'. */
    struct ovs_list plan_node;  /* In a plan's 'old_groups' or empty. */
    char *text;
    uint32_t group_id;
};

/* The installed set. */

static uint32_t
flow_key_hash(const struct minimatch *match, int priority, uint8_t table_id)
{
    return minimatch_hash(match, hash_2words(priority, table_id));
}

static struct installed_flow *
find_flow_by_text(const struct hmap *flows, const char *text)
{
    struct installed_flow *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, text_node, hash_string(text, 0), flows) {
        if (!strcmp(flow->text, text)) {
            return flow;
        }
    }
    return NULL;
}

static struct installed_flow *
find_flow_by_key(const struct hmap *flows, const struct installed_flow *key)
{
    struct installed_flow *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, key_node, key->key_node.hash, flows) {
        if (flow->table_id == key->table_id
            && flow->priority == key->priority
            && minimatch_equal(&flow->match, &key->match)) {
            return flow;
        }
    }
    return NULL;
}

static struct installed_group *
find_group_by_text(const struct hmap *groups, const char *text)
{
    struct installed_group *group;

    HMAP_FOR_EACH_WITH_HASH (group, text_node, hash_string(text, 0), groups) {
        if (!strcmp(group->text, text)) {
            return group;
        }
    }
    return NULL;
}

static struct installed_group *
find_group_by_id(const struct hmap *groups, uint32_t group_id)
{
    struct installed_group *group;

    HMAP_FOR_EACH_WITH_HASH (group, id_node, hash_int(group_id, 0), groups) {
        if (group->group_id == group_id) {
            return group;
        }
    }
    return NULL;
}

static void
installed_flow_free(struct installed_flow *flow)
{
    minimatch_destroy(&flow->match);
    free(flow->text);
    free(flow);
}

static void
installed_group_free(struct installed_group *group)
{
    free(group->text);
    free(group);
}

void
adp_installed_init(struct adp_installed *installed)
{
    hmap_init(&installed->flows_by_text);
    hmap_init(&installed->flows_by_key);
    hmap_init(&installed->groups_by_text);
    hmap_init(&installed->groups_by_id);
}

void
adp_installed_uninit(struct adp_installed *installed)
{
    struct installed_flow *flow;
    HMAP_FOR_EACH_POP (flow, text_node, &installed->flows_by_text) {
        installed_flow_free(flow);
    }

    struct installed_group *group;
    HMAP_FOR_EACH_POP (group, text_node, &installed->groups_by_text) {
        installed_group_free(group);
    }

    hmap_destroy(&installed->flows_by_text);
    hmap_destroy(&installed->flows_by_key);
    hmap_destroy(&installed->groups_by_text);
    hmap_destroy(&installed->groups_by_id);
}

void
adp_installed_swap(struct adp_installed *a, struct adp_installed *b)
{
    hmap_swap(&a->flows_by_text, &b->flows_by_text);
    hmap_swap(&a->flows_by_key, &b->flows_by_key);
    hmap_swap(&a->groups_by_text, &b->groups_by_text);
    hmap_swap(&a->groups_by_id, &b->groups_by_id);
}

/* Plans: flow mods and group mods. */

static struct ofputil_flow_mod *
plan_add_flow_mod(struct adp_install_plan *plan)
{
    if (plan->n_flow_mods >= plan->allocated_flow_mods) {
        plan->flow_mods = x2nrealloc(plan->flow_mods,
                                     &plan->allocated_flow_mods,
                                     sizeof *plan->flow_mods);
    }
    return &plan->flow_mods[plan->n_flow_mods++];
}

/* A group mod holds a list head, which must be told when it moves. */
static struct ofputil_group_mod *
plan_add_group_mod(struct adp_install_plan *plan)
{
    if (plan->n_group_mods >= plan->allocated_group_mods) {
        size_t allocated = plan->allocated_group_mods;
        struct ofputil_group_mod *mods = x2nrealloc(NULL, &allocated,
                                                    sizeof *mods);

        for (size_t i = 0; i < plan->n_group_mods; i++) {
            mods[i] = plan->group_mods[i];
            ovs_list_move(&mods[i].buckets, &plan->group_mods[i].buckets);
        }
        free(plan->group_mods);
        plan->group_mods = mods;
        plan->allocated_group_mods = allocated;
    }
    return &plan->group_mods[plan->n_group_mods++];
}

static void
plan_delete_flow(struct adp_install_plan *plan,
                 const struct installed_flow *flow)
{
    struct ofputil_flow_mod *fm = plan_add_flow_mod(plan);

    *fm = (struct ofputil_flow_mod) {
        .command = OFPFC_DELETE_STRICT,
        .priority = flow->priority,
        .table_id = flow->table_id,
        .cookie = flow->cookie,
        .cookie_mask = OVS_BE64_MAX,
        .buffer_id = UINT32_MAX,
        .out_port = OFPP_ANY,
        .out_group = OFPG_ANY,
    };
    minimatch_clone(&fm->match, &flow->match);
}

static void
plan_delete_group(struct adp_install_plan *plan, uint32_t group_id)
{
    struct ofputil_group_mod *gm = plan_add_group_mod(plan);

    *gm = (struct ofputil_group_mod) {
        .command = OFPGC11_DELETE,
        .group_id = group_id,
        .command_bucket_id = OFPG15_BUCKET_ALL,
    };
    ovs_list_init(&gm->buckets);
}

/* Errors of this kind are faults of the pipeline, not of the records. */
static struct adp_error *
text_error(const char *what, const char *text, char *reason)
{
    struct adp_error *error = adp_error_create("internal", NULL, NULL,
                                               "%s \"%s\": %s",
                                               what, text, reason);
    free(reason);
    return error;
}

static struct flow_terms
flow_terms_get(const struct ofputil_flow_mod *fm)
{
    return (struct flow_terms) {
        .idle_timeout = fm->idle_timeout,
        .hard_timeout = fm->hard_timeout,
        .importance = fm->importance,
        .flags = fm->flags,
    };
}

static bool
flow_terms_equal(const struct flow_terms *a, const struct flow_terms *b)
{
    return (a->idle_timeout == b->idle_timeout
            && a->hard_timeout == b->hard_timeout
            && a->importance == b->importance
            && a->flags == b->flags);
}

/* Parses 'text' into a flow mod at the end of 'plan' and a flow of
 * 'plan->new_flows'. */
static struct adp_error *
plan_add_flow(struct adp_install_plan *plan, struct adp_installed *installed,
              const char *text, const struct ofputil_port_map *ports,
              const struct ofputil_table_map *tables, bool reinstall)
{
    enum ofputil_protocol usable;
    struct ofputil_flow_mod fm;

    char *reason = parse_ofp_flow_mod_str(&fm, text, ports, tables, OFPFC_ADD,
                                          &usable);
    if (reason) {
        return text_error("flow", text, reason);
    }
    *plan_add_flow_mod(plan) = fm;
    if (!(usable & USABLE_PROTOCOLS)) {
        return text_error("flow", text,
                          xstrdup("can't be expressed in OpenFlow 1.5"));
    }
    if (fm.table_id == 0xff) {
        return text_error("flow", text, xstrdup("lacks a table"));
    }

    struct installed_flow *flow = xmalloc(sizeof *flow);
    *flow = (struct installed_flow) {
        .text = xstrdup(text),
        .priority = fm.priority,
        .table_id = fm.table_id,
        .cookie = fm.new_cookie,
        .terms = flow_terms_get(&fm),
    };
    ovs_list_init(&flow->plan_node);
    minimatch_clone(&flow->match, &fm.match);
    flow->key_node.hash = flow_key_hash(&flow->match, flow->priority,
                                        flow->table_id);

    struct installed_flow *old = find_flow_by_key(&installed->flows_by_key,
                                                  flow);
    struct installed_flow *twin = find_flow_by_key(&plan->new_flows, flow);
    hmap_insert(&plan->new_flows, &flow->key_node, flow->key_node.hash);
    if (old && ovs_list_is_empty(&old->plan_node)) {
        twin = old;
    }
    if (twin) {
        return adp_error_create("invalid", NULL, NULL, "records contradict "
                                "each other: they ask for flow \"%s\" and, "
                                "with the same match, for \"%s\"",
                                twin->text, text);
    }
    if (old) {
        old->replaced = true;
        if (!reinstall && flow_terms_equal(&old->terms, &flow->terms)) {
            struct ofputil_flow_mod *last
                = &plan->flow_mods[plan->n_flow_mods - 1];

            last->command = OFPFC_MODIFY_STRICT;
            last->modify_cookie = true;
        }
    }
    return NULL;
}

static struct adp_error *
plan_add_group(struct adp_install_plan *plan, struct adp_installed *installed,
               const char *text, const struct ofputil_port_map *ports,
               const struct ofputil_table_map *tables)
{
    struct ofputil_group_mod *gm = plan_add_group_mod(plan);
    enum ofputil_protocol usable;

    char *reason = parse_ofp_group_mod_str(gm, OFPGC11_ADD_OR_MOD, text, ports,
                                           tables, &usable);
    if (reason) {
        plan->n_group_mods--;
        return text_error("group", text, reason);
    }
    if (!(usable & USABLE_PROTOCOLS)) {
        return text_error("group", text,
                          xstrdup("can't be expressed in OpenFlow 1.5"));
    }

    struct installed_group *old = find_group_by_id(&installed->groups_by_id,
                                                   gm->group_id);
    if (find_group_by_id(&plan->new_groups, gm->group_id)
        || (old && ovs_list_is_empty(&old->plan_node))) {
        return text_error("group", text,
                          xstrdup("another group has the same ID"));
    }

    struct installed_group *group = xmalloc(sizeof *group);
    *group = (struct installed_group) {
        .text = xstrdup(text),
        .group_id = gm->group_id,
    };
    ovs_list_init(&group->plan_node);
    hmap_insert(&plan->new_groups, &group->id_node,
                hash_int(group->group_id, 0));
    return NULL;
}

/* Lists what is installed and isn't in 'set', or all with 'reinstall'. */
static void
plan_find_old(struct adp_install_plan *plan, struct adp_installed *installed,
              const struct adp_flow_set *set, bool reinstall)
{
    struct installed_flow *flow;
    HMAP_FOR_EACH (flow, text_node, &installed->flows_by_text) {
        if (reinstall || !shash_find(&set->flows, flow->text)) {
            flow->replaced = false;
            ovs_list_push_back(&plan->old_flows, &flow->plan_node);
        }
    }

    struct installed_group *group;
    HMAP_FOR_EACH (group, text_node, &installed->groups_by_text) {
        if (reinstall || !shash_find(&set->groups, group->text)) {
            ovs_list_push_back(&plan->old_groups, &group->plan_node);
        }
    }
}

/* Parses what is in 'set' and isn't installed, or all with 'reinstall'. */
static struct adp_error *
plan_find_new(struct adp_install_plan *plan, struct adp_installed *installed,
              const struct adp_flow_set *set,
              const struct ofputil_port_map *ports,
              const struct ofputil_table_map *tables, bool reinstall)
{
    struct adp_error *error = NULL;
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &set->groups) {
        if (reinstall
            || !find_group_by_text(&installed->groups_by_text, node->name)) {
            error = plan_add_group(plan, installed, node->name, ports, tables);
            if (error) {
                return error;
            }
        }
    }
    SHASH_FOR_EACH (node, &set->flows) {
        if (reinstall
            || !find_flow_by_text(&installed->flows_by_text, node->name)) {
            error = plan_add_flow(plan, installed, node->name, ports, tables,
                                  reinstall);
            if (error) {
                return error;
            }
        }
    }
    return NULL;
}

struct adp_error *
adp_install_plan_init(struct adp_install_plan *plan,
                      struct adp_installed *installed,
                      const struct adp_flow_set *set,
                      const struct ofputil_port_map *ports,
                      const struct ofputil_table_map *tables, bool reinstall)
{
    memset(plan, 0, sizeof *plan);
    ovs_list_init(&plan->old_flows);
    ovs_list_init(&plan->old_groups);
    hmap_init(&plan->new_flows);
    hmap_init(&plan->new_groups);

    plan_find_old(plan, installed, set, reinstall);
    struct adp_error *error = plan_find_new(plan, installed, set, ports,
                                            tables, reinstall);
    if (error) {
        adp_install_plan_uninit(plan);
        return error;
    }

    const struct installed_flow *flow;
    LIST_FOR_EACH (flow, plan_node, &plan->old_flows) {
        if (!flow->replaced) {
            plan_delete_flow(plan, flow);
        }
    }

    const struct installed_group *group;
    LIST_FOR_EACH (group, plan_node, &plan->old_groups) {
        if (!find_group_by_id(&plan->new_groups, group->group_id)) {
            plan_delete_group(plan, group->group_id);
        }
    }
    adp_order_flow_mods(plan->flow_mods, plan->n_flow_mods);
    return NULL;
}

void
adp_install_plan_take(struct adp_install_plan *plan,
                      struct adp_installed *installed)
{
    struct installed_flow *flow;
    LIST_FOR_EACH_POP (flow, plan_node, &plan->old_flows) {
        hmap_remove(&installed->flows_by_text, &flow->text_node);
        hmap_remove(&installed->flows_by_key, &flow->key_node);
        installed_flow_free(flow);
    }
    HMAP_FOR_EACH_POP (flow, key_node, &plan->new_flows) {
        hmap_insert(&installed->flows_by_text, &flow->text_node,
                    hash_string(flow->text, 0));
        hmap_insert(&installed->flows_by_key, &flow->key_node,
                    flow->key_node.hash);
    }

    struct installed_group *group;
    LIST_FOR_EACH_POP (group, plan_node, &plan->old_groups) {
        hmap_remove(&installed->groups_by_text, &group->text_node);
        hmap_remove(&installed->groups_by_id, &group->id_node);
        installed_group_free(group);
    }
    HMAP_FOR_EACH_POP (group, id_node, &plan->new_groups) {
        hmap_insert(&installed->groups_by_text, &group->text_node,
                    hash_string(group->text, 0));
        hmap_insert(&installed->groups_by_id, &group->id_node,
                    hash_int(group->group_id, 0));
    }
}

void
adp_install_plan_uninit(struct adp_install_plan *plan)
{
    struct installed_flow *flow;
    LIST_FOR_EACH_SAFE (flow, plan_node, &plan->old_flows) {
        ovs_list_remove(&flow->plan_node);
        ovs_list_init(&flow->plan_node);
    }
    HMAP_FOR_EACH_POP (flow, key_node, &plan->new_flows) {
        installed_flow_free(flow);
    }
    hmap_destroy(&plan->new_flows);

    struct installed_group *group;
    LIST_FOR_EACH_SAFE (group, plan_node, &plan->old_groups) {
        ovs_list_remove(&group->plan_node);
        ovs_list_init(&group->plan_node);
    }
    HMAP_FOR_EACH_POP (group, id_node, &plan->new_groups) {
        installed_group_free(group);
    }
    hmap_destroy(&plan->new_groups);

    for (size_t i = 0; i < plan->n_flow_mods; i++) {
        minimatch_destroy(&plan->flow_mods[i].match);
        free(plan->flow_mods[i].ofpacts);
    }
    free(plan->flow_mods);
    for (size_t i = 0; i < plan->n_group_mods; i++) {
        ofputil_uninit_group_mod(&plan->group_mods[i]);
    }
    free(plan->group_mods);
}
