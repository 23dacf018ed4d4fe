/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_GEN_H
#define ADP_PIPELINE_GEN_H 1

/* One run of a pipeline's generator, from a model to a flow set.
 *
 * adp_pipeline_generate() makes a generator, adds the tables' miss flows and
 * the static flows, and has the pipeline add what the records ask for, with
 * the functions below.
 *
 * Thread-safety: as the model.
 */

#include "model-records.h"
#include "pipeline.h"
#include "pipeline-state.h"
#include "pipeline-text.h"

/* The category of flows that no record asks for, in every pipeline. */
#define ADP_COOKIE_DEFAULT 0

struct adp_generator {
    const struct adp_pipeline *pipeline;
    const struct adp_model *model;
    const struct adp_model_env *env;
    const struct adp_node_config *node; /* NULL if there is none yet. */
    struct adp_pipeline_state *state;
    struct adp_flow_set *set;
    struct adp_error *error;    /* The first one. */
};

/* A cookie says, from its high bits down, in which round the flow was made, to
 * which category it belongs (8 bits) and which object it is about. */
uint64_t adp_gen_cookie(const struct adp_generator *, uint8_t category,
                        uint32_t object);

/* Adds a flow to the table at index 'table' of the pipeline's.  'format' makes
 * a template (pipeline-text.h) of the form "MATCH actions=ACTIONS", or
 * "actions=ACTIONS" to match everything. */
void adp_gen_flow(struct adp_generator *, uint8_t category, uint32_t object,
                  size_t table, int priority, const char *format, ...)
    OVS_PRINTF_FORMAT(6, 7);

/* The name of the table at index 'table'. */
const char *adp_gen_table(const struct adp_generator *, size_t table);

/* Has the bridge the option of which 'option' is the bit's number? */
bool adp_gen_option(const struct adp_generator *, unsigned int option);

/* Sets '*port' to the number of the bridge's port 'name', if there is one. */
bool adp_gen_port(const struct adp_generator *, const char *name,
                  ofp_port_t *port);

/* Calls 'cb' for each record of 'kind', in the order of their names. */
void adp_gen_for_each(struct adp_generator *, enum adp_kind kind,
                      void (*cb)(struct adp_generator *,
                                 const struct adp_record *));

#endif /* pipeline-gen.h */
