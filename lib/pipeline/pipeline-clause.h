/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_CLAUSE_H
#define ADP_PIPELINE_CLAUSE_H 1

/* Sets of addresses and ports as sets of masked matches.
 *
 * Each function calls 'cb' once per match that it takes; the matches of one
 * call don't overlap.
 *
 * Thread-safety: no state.
 */

#include "model-records.h"

/* The prefixes that make up 'block' without its exceptions.  Takes at most 32
 * prefixes per exception. */
typedef void adp_cidr_cb(const struct adp_cidr *, void *aux);
void adp_ip_block_to_cidrs(const struct adp_ip_block *block,
                           adp_cidr_cb *cb, void *aux);

/* The masked values that make up the ports 'first' to 'last', at most 30. */
typedef void adp_masked_port_cb(uint16_t port, uint16_t mask, void *aux);
void adp_port_range_to_masks(uint16_t first, uint16_t last,
                             adp_masked_port_cb *cb, void *aux);

/* The pairs of source and destination that make up a service with ports, at
 * most 900.  Where all will do the mask is 0. */
struct adp_masked_port {
    uint16_t port, mask;
};
typedef void adp_masked_ports_cb(const struct adp_masked_port *src,
                                 const struct adp_masked_port *dst,
                                 void *aux);
void adp_policy_service_to_masks(const struct adp_network_policy_service *,
                                 adp_masked_ports_cb *cb, void *aux);

#endif /* pipeline-clause.h */
