/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-gen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "model-pause.h"
#include "pipeline-desired.h"
#include "util.h"

uint64_t
adp_gen_cookie(const struct adp_generator *g, uint8_t category,
               uint32_t object)
{
    return ((uint64_t) g->env->round << 48 | (uint64_t) category << 40
            | object);
}

/* Takes 'flow'. */
static void
add_flow(struct adp_generator *g, char *flow)
{
    if (g->set) {
        adp_flow_set_add_nocopy(g->set, flow);
    } else {
        adp_desired_add_text(g->desired, g->contributor, flow, NULL,
                             g->tables);
        free(flow);
        adp_pause();
    }
}

/* Appends the flow of a template.  'voc_' points to where the pipeline has its
 * vocabulary for this family of addresses, and so tells pipelines and families
 * apart. */
static void
expand_source(struct ds *s, const void *voc_, const char *source)
{
    const struct adp_vocabulary *const *voc = voc_;

    adp_text_expand(s, *voc, source, false);
}

static void OVS_PRINTF_FORMAT(7, 0)
add_flow_valist(struct adp_generator *g,
                const struct adp_vocabulary *const *voc, uint8_t category,
                uint32_t object, size_t table, int priority,
                const char *format, va_list args)
{
    char *rest = xvasprintf(format, args);
    char *source = xasprintf("cookie=0x%"PRIx64", table=%s, priority=%d%c%s",
                             adp_gen_cookie(g, category, object),
                             adp_gen_table(g, table), priority,
                             strncmp(rest, "actions=", 8) ? ',' : ' ', rest);

    if (g->set) {
        struct ds flow = DS_EMPTY_INITIALIZER;

        expand_source(&flow, voc, source);
        add_flow(g, ds_steal_cstr(&flow));
    } else {
        adp_desired_add_source(g->desired, g->contributor, voc, source,
                               expand_source, g->tables);
        adp_pause();
    }
    free(rest);
    free(source);
}

void
adp_gen_flow(struct adp_generator *g, uint8_t category, uint32_t object,
             size_t table, int priority, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_flow_valist(g, &g->pipeline->vocabulary, category, object, table,
                    priority, format, args);
    va_end(args);
}

void
adp_gen_ip_flow(struct adp_generator *g, enum adp_family family,
                uint8_t category, uint32_t object, size_t table, int priority,
                const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_flow_valist(g, (family == ADP_IPV4 ? &g->pipeline->vocabulary
                        : &g->pipeline->vocabulary6),
                    category, object, table, priority, format, args);
    va_end(args);
}

bool
adp_gen_has_family(const struct adp_generator *g, enum adp_family family)
{
    return (family == ADP_IPV4
            || (g->pipeline->vocabulary6 && g->node
                && adp_node_net_is_set(&g->node->net[family])));
}

void
adp_gen_flow_text(struct adp_generator *g, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_flow(g, xvasprintf(format, args));
    va_end(args);
}

void
adp_gen_group(struct adp_generator *g, const char *template)
{
    struct ds group = DS_EMPTY_INITIALIZER;

    adp_text_expand(&group, g->pipeline->vocabulary, template, true);
    if (g->set) {
        adp_flow_set_add_group_nocopy(g->set, ds_steal_cstr(&group));
    } else {
        adp_desired_add_group_text(g->desired, g->contributor, ds_cstr(&group),
                                   NULL, g->tables);
        ds_destroy(&group);
    }
}

void
adp_gen_select_group(struct adp_generator *g, uint32_t id,
                     struct ovs_list *buckets)
{
    ovs_assert(!g->set);
    adp_desired_add_group(g->desired, g->contributor, id, OFPGT11_SELECT,
                          buckets, NULL);
}

uint32_t
adp_gen_group_id(struct adp_generator *g, const char *key,
                 const struct adp_id_part *part, char *description)
{
    uint32_t id = adp_ids_get(&g->state->groups, key, part, description);

    if (id && g->set) {
        struct adp_group_id *group_id = xmalloc(sizeof *group_id);

        *group_id = (struct adp_group_id) {
            .service = part->record->name, .id = id
        };
        hmap_insert(&g->service_groups, &group_id->hmap_node,
                    hash_string(group_id->service, 0));
    } else if (id) {
        if (g->n_group_ids >= g->allocated_group_ids) {
            g->group_ids = x2nrealloc(g->group_ids, &g->allocated_group_ids,
                                      sizeof *g->group_ids);
        }
        g->group_ids[g->n_group_ids++] = id;
    }
    return id;
}

uint32_t
adp_gen_other_group_id(struct adp_generator *g, const char *key,
                       const struct adp_id_part *part, char *description)
{
    return adp_ids_get(&g->state->groups, key, part, description);
}

bool
adp_gen_is_remote(const struct adp_generator *g, const struct in6_addr *ip)
{
    return adp_remote_cidrs_contain(g->remote, ip);
}

/* Flows and names. */

const char *
adp_gen_table(const struct adp_generator *g, size_t table)
{
    ovs_assert(table < g->pipeline->n_tables);
    return g->pipeline->tables[table].name;
}

bool
adp_gen_option(const struct adp_generator *g, unsigned int option)
{
    return g->env->options & UINT64_C(1) << option;
}

bool
adp_gen_port(const struct adp_generator *g, const char *name,
             ofp_port_t *port)
{
    return g->env->port_number(name, port, g->env->aux);
}

void
adp_gen_for_each(struct adp_generator *g, enum adp_kind kind,
                 void (*cb)(struct adp_generator *, const struct adp_record *))
{
    size_t n;
    const struct adp_record **records = adp_model_sorted(g->model, kind, &n);

    for (size_t i = 0; i < n; i++) {
        cb(g, records[i]);
    }
    free(records);
}

bool
adp_gen_checks_kind(enum adp_kind kind)
{
    return (kind == ADP_KIND_NETWORK_POLICY || kind == ADP_KIND_EGRESS
            || kind == ADP_KIND_TRAFFIC_CONTROL || kind == ADP_KIND_NODE_CONFIG
            || kind == ADP_KIND_PEER_NODE);
}

bool
adp_gen_leaves_out_ipv6(const struct adp_pipeline *pipeline,
                        const struct adp_model *model)
{
    const struct adp_node_config *node = adp_model_node_config(model);

    return (node && !pipeline->vocabulary6
            && adp_node_net_is_set(&node->net[ADP_IPV6]));
}

/* What a Node can't do without: Pods of IPv4, and tunnels over it, where the
 * pipeline has flows for nothing else.  What there is of IPv6 beside is left
 * out. */
static struct adp_error *
check_families(const struct adp_pipeline *pipeline,
               const struct adp_record *record)
{
    const struct in6_addr *ip = NULL;
    const char *field = "transportIP";

    if (pipeline->vocabulary6) {
        return NULL;
    }
    if (record->kind == ADP_KIND_NODE_CONFIG) {
        const struct adp_node_config *node
            = CONTAINER_OF(record, struct adp_node_config, up);

        if (!adp_node_net_is_set(&node->net[ADP_IPV4])) {
            ip = &node->net[ADP_IPV6].gateway_ip;
            field = "gateway.ip";
        } else {
            ip = &node->transport_ip;
        }
    } else if (record->kind == ADP_KIND_PEER_NODE) {
        ip = &CONTAINER_OF(record, struct adp_peer_node, up)->transport_ip;
    }
    return (!ip || adp_ip_is_v4(ip) ? NULL
            : adp_error_create("invalid", adp_record_describe(record),
                               xstrdup(field),
                               "pipeline %s has no flows for IPv6",
                               pipeline->name));
}

struct adp_error *
adp_gen_check_record(const struct adp_pipeline *pipeline, uint64_t options,
                     const struct adp_record *record)
{
    if (record->kind == ADP_KIND_NODE_CONFIG
        || record->kind == ADP_KIND_PEER_NODE) {
        return check_families(pipeline, record);
    }
    if (record->kind != ADP_KIND_NETWORK_POLICY) {
        return (pipeline->kinds & 1u << record->kind
                ? NULL
                : adp_error_create(
                    "invalid", adp_record_describe(record), NULL,
                    "pipeline %s has no tables for records of this kind",
                    pipeline->name));
    }

    const struct adp_network_policy *policy
        = CONTAINER_OF(record, struct adp_network_policy, up);

    return (pipeline->policy_types & 1u << policy->type
            ? (pipeline->check_policy
               ? pipeline->check_policy(policy, options) : NULL)
            : adp_error_create(
                "invalid", adp_record_describe(record), xstrdup("type"),
                "pipeline %s has no tables for policies of type %s",
                pipeline->name,
                adp_policy_type_to_string(policy->type)));
}

static void
check_record(struct adp_generator *g, const struct adp_record *record)
{
    if (!g->error) {
        g->error = adp_gen_check_record(g->pipeline, g->env->options, record);
    }
}

void
adp_gen_static(struct adp_generator *g)
{
    const struct adp_pipeline *p = g->pipeline;

    for (size_t i = 0; i < p->n_tables; i++) {
        if (p->tables[i].miss) {
            adp_gen_flow(g, ADP_COOKIE_DEFAULT, 0, i, 0, "actions=%s",
                         p->tables[i].miss);
        }
    }
    for (size_t i = 0; i < p->n_static_flows; i++) {
        const struct adp_static_flow *f = &p->static_flows[i];

        adp_gen_flow(g, ADP_COOKIE_DEFAULT, 0, f->table, f->priority,
                     "%s", f->template);
        if (strstr(f->template, "{ip}") && adp_gen_has_family(g, ADP_IPV6)) {
            adp_gen_ip_flow(g, ADP_IPV6, ADP_COOKIE_DEFAULT, 0, f->table,
                            f->priority, "%s", f->template);
        }
    }
}

static void
add_vips(struct adp_vips *vips, const struct adp_model *model)
{
    size_t n;
    const struct adp_record **records = adp_model_sorted(
        model, ADP_KIND_SERVICE, &n);

    for (size_t i = 0; i < n; i++) {
        adp_vips_add(vips, records[i]);
    }
    free(records);
}

struct adp_error *
adp_pipeline_generate(const struct adp_pipeline *pipeline,
                      const struct adp_model *model,
                      struct adp_pipeline_state *state,
                      const struct adp_model_env *env,
                      struct adp_flow_set *set)
{
    struct adp_remote_cidrs remote;
    struct adp_vips vips;
    struct adp_generator g = {
        .pipeline = pipeline,
        .model = model,
        .env = env,
        .node = adp_model_node_config(model),
        .state = state,
        .remote = &remote,
        .vips = &vips,
        .set = set,
        .meters = &set->meters,
        .service_groups = HMAP_INITIALIZER(&g.service_groups),
    };
    struct adp_group_id *group_id;

    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        if (adp_gen_checks_kind(kind)) {
            adp_gen_for_each(&g, kind, check_record);
        }
    }
    if (!g.error) {
        adp_pipeline_state_begin(state, pipeline);
        adp_remote_cidrs_init(&remote, model);
        adp_vips_init(&vips);
        add_vips(&vips, model);
        adp_gen_static(&g);
        pipeline->generate(&g);
        adp_vips_uninit(&vips);
        adp_remote_cidrs_uninit(&remote);
        adp_pipeline_state_end(state);
    }
    HMAP_FOR_EACH_POP (group_id, hmap_node, &g.service_groups) {
        free(group_id);
    }
    hmap_destroy(&g.service_groups);
    return g.error;
}
