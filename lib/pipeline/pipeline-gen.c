/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-gen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

uint64_t
adp_gen_cookie(const struct adp_generator *g, uint8_t category,
               uint32_t object)
{
    return ((uint64_t) g->env->round << 48 | (uint64_t) category << 40
            | object);
}

void
adp_gen_flow(struct adp_generator *g, uint8_t category, uint32_t object,
             size_t table, int priority, const char *format, ...)
{
    struct ds template = DS_EMPTY_INITIALIZER;
    struct ds flow = DS_EMPTY_INITIALIZER;
    va_list args;

    va_start(args, format);
    ds_put_format_valist(&template, format, args);
    va_end(args);

    ds_put_format(&flow, "cookie=0x%"PRIx64", table=%s, priority=%d%c",
                  adp_gen_cookie(g, category, object),
                  adp_gen_table(g, table), priority,
                  strncmp(ds_cstr(&template), "actions=", 8) ? ',' : ' ');
    adp_text_expand(&flow, g->pipeline->vocabulary, ds_cstr(&template), false);
    ds_destroy(&template);
    adp_flow_set_add_nocopy(g->set, ds_steal_cstr(&flow));
}

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

/* Refuses a policy that the pipeline would silently not enforce. */
static void
check_policy(struct adp_generator *g, const struct adp_record *record)
{
    const struct adp_network_policy *policy
        = CONTAINER_OF(record, struct adp_network_policy, up);

    if (!g->error && !(g->pipeline->policy_types & 1u << policy->type)) {
        g->error = adp_error_create(
            "invalid", adp_record_describe(record), xstrdup("type"),
            "pipeline %s has no tables for policies of type %s",
            g->pipeline->name,
            json_string(shash_find_data(json_object(record->json), "type")));
    }
}

/* The flows that no record has to ask for. */
static void
generate_static(struct adp_generator *g)
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
    }
}

struct adp_error *
adp_pipeline_generate(const struct adp_pipeline *pipeline,
                      const struct adp_model *model,
                      struct adp_pipeline_state *state,
                      const struct adp_model_env *env,
                      struct adp_flow_set *set)
{
    struct adp_generator g = {
        .pipeline = pipeline,
        .model = model,
        .env = env,
        .node = adp_model_node_config(model),
        .state = state,
        .set = set,
    };

    adp_gen_for_each(&g, ADP_KIND_NETWORK_POLICY, check_policy);
    if (!g.error) {
        adp_pipeline_state_begin(state, pipeline);
        generate_static(&g);
        pipeline->generate(&g);
        adp_pipeline_state_end(state);
    }
    return g.error;
}
