/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_EARLY_H
#define ADP_PIPELINE_EARLY_H 1

/* The first form of Antrea's pipeline: 14 tables from 0 to 110.  Services are
 * left to kube-proxy, to which packets for the Service CIDR go through the
 * gateway.
 *
 * pipeline-early.def         names, numbers and options
 * pipeline-early.c           tables, static flows, Nodes and Pods
 * pipeline-early-policy.c    K8s NetworkPolicies
 */

#include "pipeline-gen.h"

extern const struct adp_pipeline adp_pipeline_early;

/* Indexes of the tables. */
enum adp_early_table {
#define ADP_TABLE(NAME, ID, MISS) ADP_EARLY_##NAME,
#include "pipeline-early.def"
};

/* IDs of the tables. */
enum adp_early_table_id {
#define ADP_TABLE(NAME, ID, MISS) ADP_EARLY_##NAME##_ID = ID,
#include "pipeline-early.def"
};

enum adp_early_cookie {
#define ADP_COOKIE(NAME, CATEGORY) ADP_EARLY_COOKIE_##NAME = CATEGORY,
#include "pipeline-early.def"
};

/* Bits of the options. */
enum adp_early_option {
#define ADP_OPTION(SYMBOL, NAME, TLV_MAP, TEXT) ADP_EARLY_##SYMBOL,
#include "pipeline-early.def"
};

extern const struct adp_pipeline_parts adp_early_parts;

void adp_early_generate_invalid(struct adp_generator *);
void adp_early_generate_node(struct adp_generator *);
void adp_early_generate_peer_node(struct adp_generator *,
                                  const struct adp_record *);
void adp_early_generate_pod(struct adp_generator *, const struct adp_record *);
void adp_early_generate_policies(struct adp_generator *);

/* For struct adp_pipeline. */
#define ADP_EARLY_N_METRIC_TABLES 2
extern const uint8_t adp_early_metric_tables[ADP_EARLY_N_METRIC_TABLES];
enum adp_flow_metric adp_early_flow_metric(uint8_t table_id, uint64_t cookie,
                                           const struct minimatch *,
                                           uint32_t *id);

#endif /* pipeline-early.h */
