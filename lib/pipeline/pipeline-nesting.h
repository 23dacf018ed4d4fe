/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_NESTING_H
#define ADP_PIPELINE_NESTING_H 1

/* Services by those of their endpoints that are other Services' ClusterIPs
 * (pipeline-vips.h): who is to be told when one of these changes.
 *
 * Anybody may write such endpoints, and many of them; so they are found by
 * address, and what a Service's change costs doesn't follow from how many
 * others have.
 *
 * Thread-safety: as the model.
 * Memory: borrows the records, which the caller removes before they go.
 * Bounded by the endpoints of the Services that there are.
 * Cost: a hash look-up for each endpoint of the Service that comes or goes.
 */

#include "model-records.h"
#include "openvswitch/hmap.h"
#include "pipeline-engine-set.h"

struct adp_nesting {
    struct hmap ips;            /* Contains "struct nested_ip"s. */
};

void adp_nesting_init(struct adp_nesting *);
void adp_nesting_uninit(struct adp_nesting *);  /* All have gone. */

void adp_nesting_add(struct adp_nesting *, const struct adp_node_config *,
                     const struct adp_record *service);
void adp_nesting_remove(struct adp_nesting *,
                        const struct adp_record *service);

/* The Services that have 'ip' among their endpoints, in the order in which
 * they came, as "struct adp_record"s; NULL if there are none. */
const struct engine_set *adp_nesting_find(const struct adp_nesting *,
                                          const struct in6_addr *ip);

#endif /* pipeline-nesting.h */
