/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_RULE_MATCH_H
#define ADP_PIPELINE_RULE_MATCH_H 1

/* What a policy rule says, as matches.
 *
 * The same matches as those that pipeline-policy.c writes as text.
 *
 * Thread-safety: no state.
 */

#include "pipeline-policy.h"

struct match;

/* Packets that are to leave through 'port'. */
void adp_rule_match_port(const struct adp_policy_style *, ofp_port_t port,
                         struct match *);
/* Packets from 'cidr', or to it. */
void adp_rule_match_source(const struct adp_cidr *, struct match *);
void adp_rule_match_destination(const struct adp_cidr *, struct match *);

/* First packets of connections that clients in 'cidr' began, whatever became
 * of their addresses since. */
void adp_rule_match_client(const struct adp_cidr *, struct match *);

/* Packets for which that group of a Service chose the endpoint. */
void adp_rule_match_service_group(const struct adp_policy_style *,
                                  uint32_t group_id, struct match *);

/* Calls 'cb' for each match of the rule's services in packets of 'family'. */
typedef void adp_rule_match_cb(const struct match *, void *aux);
void adp_rule_match_services(const struct adp_network_policy_rule *,
                             enum adp_family, adp_rule_match_cb *, void *aux);

#endif /* pipeline-rule-match.h */
