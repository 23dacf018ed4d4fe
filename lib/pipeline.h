/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_H
#define ADP_PIPELINE_H 1

/* A built-in pipeline: data from which flows are made.
 *
 * A pipeline is a list of tables (name, order, miss behaviour) and a function
 * from records to flows.  Flows and groups are kept as text in the syntax of
 * ovs-ofctl (add-flow, add-group; OpenFlow 1.5), which is also how people read
 * them: equal text is an equal flow.  Tables stand in the text by name, ports
 * by number: a port that comes back with another number makes other flows.
 *
 * A flow set holds the flows and groups that a model asks for.  Several
 * records may ask for the same flow.  adp_flow_set_diff() tells what to add
 * and what to delete to come from one set to the next.
 *
 * IDs (conjunctions, groups) live in an adp_pipeline_state beside the model,
 * so that an object keeps its ID from one generation to the next.  The state
 * is cloned with the model for a transaction.
 *
 * Thread-safety: as the model.
 *
 * Cost: generate() is linear in the flows that it makes; a diff is linear in
 * the sizes of both sets.
 */

#include "model.h"
#include "openvswitch/compiler.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "svec.h"

struct adp_pipeline_state;
struct minimatch;

/* Flow sets. */

struct adp_flow_set {
    struct shash flows;         /* Name: "cookie=0x..., table=Output,
                                 * priority=200,... actions=...".  No data. */
    struct shash groups;        /* Name: "group_id=9,type=select,bucket=...".
                                 * No data. */
};

void adp_flow_set_init(struct adp_flow_set *);
void adp_flow_set_uninit(struct adp_flow_set *);
/* The only way to move a set: hash tables point into themselves. */
void adp_flow_set_swap(struct adp_flow_set *, struct adp_flow_set *);
void adp_flow_set_add(struct adp_flow_set *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);
void adp_flow_set_add_group(struct adp_flow_set *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);
/* As the above, taking the malloc()ed text. */
void adp_flow_set_add_nocopy(struct adp_flow_set *, char *flow);
void adp_flow_set_add_group_nocopy(struct adp_flow_set *, char *group);

/* The way from one flow set to another.  All sorted.
 *
 * No flow is in both 'add_flows' and 'delete_flows': one whose actions or
 * cookie change is only added, which replaces it. */
struct adp_flow_diff {
    struct svec add_flows;      /* Whole flows, for OFPFC_ADD. */
    struct svec delete_flows;   /* "table=T, priority=P,match", for
                                 * OFPFC_DELETE_STRICT. */
    struct svec add_groups;     /* Whole groups, for OFPGC11_ADD. */
    struct svec modify_groups;  /* Whole groups, for OFPGC11_MODIFY. */
    struct svec delete_groups;  /* "group_id=9", for OFPGC11_DELETE. */
};

/* Initializes '*diff'.  'old' may be NULL, as if it were empty. */
void adp_flow_set_diff(const struct adp_flow_set *old,
                       const struct adp_flow_set *new,
                       struct adp_flow_diff *diff);
void adp_flow_diff_uninit(struct adp_flow_diff *);
bool adp_flow_diff_is_empty(const struct adp_flow_diff *);

/* Pipelines. */

struct adp_pipeline_table {
    const char *name;
    uint8_t id;
};

/* What a flow's counters are about. */
enum adp_flow_metric {
    ADP_METRIC_NONE,
    ADP_METRIC_RULE_FIRST,      /* First packets of the connections that a
                                 * policy rule allows; all that it drops. */
    ADP_METRIC_RULE_LATER,      /* All later ones. */
    ADP_METRIC_SERVICE,         /* First packets to a Service. */
    ADP_METRIC_AFFINITY,        /* The same, where session affinity knows the
                                 * endpoint. */
};

struct adp_pipeline {
    const char *name;           /* "v1.15". */
    const struct adp_pipeline_table *tables;
    size_t n_tables;

    /* Meters that the flows use, in the syntax of ovs-ofctl add-meter.  They
     * must exist before the flows. */
    const char *const *meters;
    size_t n_meters;

    /* Fills 'set', which must be empty, with all flows and groups for 'model'.
     * A record whose port is gone contributes no flow that needs the port.
     *
     * Returns NULL, or an error of code "limit" when the model asks for more
     * than the pipeline can number; then 'state' and 'set' must be thrown
     * away. */
    struct adp_error *(*generate)(const struct adp_model *,
                                  struct adp_pipeline_state *,
                                  const struct adp_model_env *,
                                  struct adp_flow_set *set)
        OVS_WARN_UNUSED_RESULT;

    /* The tables with flows that tell of policy rules and Services. */
    const uint8_t *metric_tables;
    size_t n_metric_tables;

    /* What a flow of these tables counts, and for which conjunction ID or
     * group ID. */
    enum adp_flow_metric (*flow_metric)(uint8_t table_id, uint64_t cookie,
                                        const struct minimatch *,
                                        uint32_t *id);
};

const struct adp_pipeline *adp_pipeline_find(const char *name);
/* Comma-separated names, for messages. */
const char *adp_pipeline_names(void);

/* IDs. */

struct adp_pipeline_state *adp_pipeline_state_create(void);
struct adp_pipeline_state *adp_pipeline_state_clone(
    const struct adp_pipeline_state *);
void adp_pipeline_state_destroy(struct adp_pipeline_state *);

/* What a conjunction ID belongs to, in words: "ClusterNetworkPolicy web, rule
 * 2 (Drop)".  NULL if unknown.  Caller frees. */
char *adp_pipeline_describe_conj(const struct adp_pipeline_state *,
                                 uint32_t conj_id);
/* The same for a group: "Service default/web, port 80/TCP".  NULL if
 * unknown.  Caller frees. */
char *adp_pipeline_describe_group(const struct adp_pipeline_state *,
                                  uint32_t group_id);

#endif /* pipeline.h */
