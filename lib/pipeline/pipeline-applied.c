/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-applied.h"

#include <stdlib.h>
#include <string.h>

#include "packets.h"
#include "pipeline-parts.h"
#include "sset.h"
#include "util.h"

const enum adp_kind adp_applied_kinds[ADP_N_APPLIED_KINDS]
    = ADP_APPLIED_KINDS;

enum adp_family
adp_applied_family(const struct adp_record *record)
{
    return (record->kind == ADP_KIND_EGRESS
            ? adp_ip_family(&CONTAINER_OF(record, struct adp_egress, up)->ip)
            : ADP_IPV4);
}

bool
adp_egress_is_local(const struct adp_generator *g,
                    const struct adp_egress *egress)
{
    return (g->node && egress->node
            && !strcmp(egress->node, g->node->up.name));
}

/* The caller frees it. */
static char *
egress_key(const struct adp_egress *egress)
{
    return xasprintf("Egress %s", adp_ip_text(&egress->ip).s);
}

/* The caller frees it. */
static char *
egress_words(const struct adp_egress *egress)
{
    return xasprintf("Egress with %s", adp_ip_text(&egress->ip).s);
}

bool
adp_applied_has_mark(const struct adp_generator *g,
                     const struct adp_applied *a)
{
    if (a->record->kind != ADP_KIND_EGRESS) {
        return false;
    }

    char *key = egress_key(CONTAINER_OF(a->record, struct adp_egress, up));
    bool has = adp_ids_has(&g->state->marks, key);
    free(key);
    return has;
}

static void
assign_egress(struct adp_generator *g, struct adp_applied *a)
{
    const struct adp_id_part part = { .record = a->record };
    const struct adp_egress *egress = CONTAINER_OF(a->record,
                                                   struct adp_egress, up);
    char *key = egress_key(egress);

    a->id = adp_ids_get(&g->state->applied, key, &part,
                        egress_words(egress));
    a->mark = 0;
    if (adp_egress_is_local(g, egress)) {
        a->mark = adp_ids_get(&g->state->marks, key, &part,
                              egress_words(egress));
        if (!a->mark && !g->error) {
            g->error = adp_error_create(
                "limit", adp_record_describe(a->record), xstrdup("egressIP"),
                "this Node has more than %d egress IPs",
                ADP_MAX_EGRESS_MARKS);
        }
    }
    free(key);

    struct adp_bandwidth *limit = &g->meters->limits[a->mark];
    if (a->mark && !limit->rate) {
        *limit = egress->bandwidth;
    }
}

void
adp_applied_find_limit(const struct adp_generator *g, struct adp_applied *a)
{
    a->limited = a->mark && g->meters->limits[a->mark].rate;
}

void
adp_applied_assign(struct adp_generator *g, struct adp_applied *a)
{
    if (a->record->kind == ADP_KIND_EGRESS) {
        assign_egress(g, a);
    } else {
        const struct adp_id_part part = { .record = a->record };
        char *key = adp_record_describe(a->record);

        a->id = adp_ids_get(&g->state->applied, key, &part, xstrdup(key));
        free(key);
    }
}

/* Adds the flows for those Pods of 'group' that 'taken' doesn't have. */
static void
generate_for_group(struct adp_generator *g,
                   const struct adp_pipeline_parts *parts,
                   const struct adp_applied *a, const char *group,
                   struct sset *taken)
{
    const struct adp_record *record = adp_model_find(
        g->model, ADP_KIND_APPLIED_TO_GROUP, group);
    const struct adp_names *pods
        = (record ? &CONTAINER_OF(record, struct adp_applied_to_group,
                                  up)->pods : NULL);

    for (size_t i = 0; pods && i < pods->n; i++) {
        const struct adp_record *pod = adp_model_find(g->model, ADP_KIND_POD,
                                                      pods->names[i]);
        if (pod && sset_add(taken, pod->name)) {
            parts->applied_to_pod(g, a, CONTAINER_OF(pod, struct adp_pod,
                                                     up));
        }
    }
}

static void
generate_kind(struct adp_generator *g, const struct adp_pipeline_parts *parts,
              enum adp_kind kind)
{
    struct sset taken[ADP_N_FAMILIES];
    size_t n;
    const struct adp_record **records = adp_model_sorted(g->model, kind, &n);
    struct adp_applied *all = xcalloc(n + 1, sizeof *all);

    ADP_FOR_EACH_FAMILY (family) {
        sset_init(&taken[family]);
    }
    for (size_t i = 0; i < n && !g->error; i++) {
        all[i].record = records[i];
        adp_applied_assign(g, &all[i]);
    }
    for (size_t i = 0; i < n && !g->error; i++) {
        const struct adp_names *groups = adp_record_applied_to(records[i]);

        adp_applied_find_limit(g, &all[i]);
        parts->applied(g, &all[i]);
        for (size_t j = 0; j < groups->n; j++) {
            generate_for_group(g, parts, &all[i], groups->names[j],
                               &taken[adp_applied_family(records[i])]);
        }
    }
    free(all);
    free(records);
    ADP_FOR_EACH_FAMILY (family) {
        sset_destroy(&taken[family]);
    }
}

void
adp_applied_generate(struct adp_generator *g,
                     const struct adp_pipeline_parts *parts)
{
    for (size_t i = 0; i < ADP_N_APPLIED_KINDS; i++) {
        generate_kind(g, parts, adp_applied_kinds[i]);
    }
}
