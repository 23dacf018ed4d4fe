/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_V115_H
#define ADP_PIPELINE_V115_H 1

/* Antrea's pipeline as of v1.15: the parts that its source files share.
 *
 * pipeline-v115.def          names and numbers
 * pipeline-v115-text.[ch]    flow templates, in which those names stand
 * pipeline-v115.c            tables, static flows, Nodes and Pods
 * pipeline-v115-service.c    Services
 * pipeline-v115-policy.c     policies
 * pipeline-v115-clause.[ch]  sets of addresses and ports as matches
 * pipeline-v115-metrics.c    which flows count what
 */

#include "model-records.h"
#include "pipeline.h"
#include "pipeline-state.h"

extern const struct adp_pipeline adp_pipeline_v115;

enum adp_v115_table {
#define ADP_TABLE(NAME) ADP_V115_##NAME,
#include "pipeline-v115.def"
    ADP_V115_N_TABLES
};
extern const struct adp_pipeline_table
    adp_v115_tables[ADP_V115_N_TABLES];

enum adp_v115_cookie {
#define ADP_COOKIE(NAME, CATEGORY) ADP_V115_COOKIE_##NAME = CATEGORY,
#include "pipeline-v115.def"
};

/* One run of the generator. */
struct adp_v115 {
    const struct adp_model *model;
    const struct adp_model_env *env;
    const struct adp_node_config *node;
    struct adp_pipeline_state *state;
    struct adp_flow_set *set;
    struct adp_error *error;    /* The first one. */
};

uint64_t adp_v115_cookie(const struct adp_v115 *, enum adp_v115_cookie,
                         uint32_t object);

/* Adds a flow.  'format' makes a template (pipeline-v115-text.h) of the form
 * "MATCH actions=ACTIONS", or "actions=ACTIONS" to match everything. */
void adp_v115_flow(struct adp_v115 *, enum adp_v115_cookie, uint32_t object,
                   enum adp_v115_table, int priority, const char *format, ...)
    OVS_PRINTF_FORMAT(6, 7);

/* Sets '*port' to the number of the bridge's port 'name', if there is one. */
bool adp_v115_port(const struct adp_v115 *, const char *name,
                   ofp_port_t *port);

void adp_v115_generate_services(struct adp_v115 *);
void adp_v115_generate_policies(struct adp_v115 *);

/* For struct adp_pipeline. */
#define ADP_V115_N_METRIC_TABLES 4
extern const uint8_t adp_v115_metric_tables[ADP_V115_N_METRIC_TABLES];
enum adp_flow_metric adp_v115_flow_metric(uint8_t table_id, uint64_t cookie,
                                          const struct minimatch *,
                                          uint32_t *id);

#endif /* pipeline-v115.h */
