/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_GEN_H
#define ADP_PIPELINE_GEN_H 1

/* One run of a pipeline's generator, from records to flows.
 *
 * adp_pipeline_generate() makes a generator, adds the tables' miss flows and
 * the static flows, and has the pipeline add what the records ask for, with
 * the functions below.  They go into a flow set.  An engine
 * (pipeline-engine.h) has the pipeline add what one record asks for, to what a
 * contributor desires; behind each flow there is a pause then (model-pause.h),
 * since one record may ask for many.
 *
 * Thread-safety: as the model.
 */

#include "model-records.h"
#include "pipeline.h"
#include "pipeline-state.h"
#include "pipeline-remote.h"
#include "pipeline-text.h"
#include "pipeline-vips.h"

/* The category of flows that no record asks for, in every pipeline. */
#define ADP_COOKIE_DEFAULT 0

struct adp_contributor;
struct adp_desired;
struct ofputil_table_map;

struct adp_group_id {
    struct hmap_node hmap_node; /* By the hash of 'service'. */
    const char *service;        /* The record's name. */
    uint32_t id;
};

struct adp_generator {
    const struct adp_pipeline *pipeline;
    const struct adp_model *model;
    const struct adp_model_env *env;
    const struct adp_node_config *node; /* NULL if there is none yet. */
    struct adp_pipeline_state *state;
    const struct adp_remote_cidrs *remote;
    const struct adp_vips *vips;
    struct adp_error *error;    /* The first one. */

    /* Where flows go: 'set', or, if it is NULL, to 'contributor'. */
    struct adp_flow_set *set;
    struct adp_desired *desired;
    struct adp_contributor *contributor;
    const struct ofputil_table_map *tables;

    struct adp_meters *meters;  /* Beside the flows. */

    /* All group IDs that were asked for, by the Services that they are for:
     * "struct adp_group_id"s, with 'set' only. */
    struct hmap service_groups;

    /* Group IDs that were asked for, if 'contributor' is to know them. */
    uint32_t *group_ids;
    size_t n_group_ids, allocated_group_ids;
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

/* The same in the words of 'family' (struct adp_vocabulary). */
void adp_gen_ip_flow(struct adp_generator *, enum adp_family,
                     uint8_t category, uint32_t object, size_t table,
                     int priority, const char *format, ...)
    OVS_PRINTF_FORMAT(7, 8);

/* Are there flows for 'family'?  For IPv4 always, for IPv6 if the pipeline has
 * such and the Node addresses for them. */
bool adp_gen_has_family(const struct adp_generator *, enum adp_family);

/* Adds a flow as it is, with cookie and table, without a template. */
void adp_gen_flow_text(struct adp_generator *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);

/* Adds a group.  'template' is one in the syntax of ovs-ofctl, all
 * of which is actions for a template's purposes. */
void adp_gen_group(struct adp_generator *, const char *template);

/* The same of a group of type select whose "struct ofputil_bucket"s are there.
 * Takes 'buckets'.  Not for a flow set. */
void adp_gen_select_group(struct adp_generator *, uint32_t id,
                          struct ovs_list *buckets);

/* Returns the ID of a group as adp_ids_get() does. */
uint32_t adp_gen_group_id(struct adp_generator *, const char *key,
                          const struct adp_id_part *part, char *description);

/* The same of a group that another record's flows make, and give back. */
uint32_t adp_gen_other_group_id(struct adp_generator *, const char *key,
                                const struct adp_id_part *part,
                                char *description);

/* Is 'ip' a Pod's on another Node? */
bool adp_gen_is_remote(const struct adp_generator *,
                       const struct in6_addr *ip);

/* Adds the flows that no record asks for. */
void adp_gen_static(struct adp_generator *);

/* NULL, or why the pipeline with 'options' can't have 'record', which it would
 * silently not enforce; and whether there can be such a reason for records of
 * a kind. */
struct adp_error *adp_gen_check_record(const struct adp_pipeline *,
                                       uint64_t options,
                                       const struct adp_record *record);
bool adp_gen_checks_kind(enum adp_kind);
/* Is this a Node with both families, of which the pipeline knows one? */
bool adp_gen_leaves_out_ipv6(const struct adp_pipeline *,
                             const struct adp_model *);

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
