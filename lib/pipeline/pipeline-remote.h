/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_REMOTE_H
#define ADP_PIPELINE_REMOTE_H 1

/* Pod CIDRs of other Nodes: which addresses are Pods' there.
 *
 * Thread-safety: as the model.
 * Memory: a copy of the CIDRs.
 * Cost: a look takes steps by the logarithm of how many there are.
 */

#include <stdbool.h>
#include <stddef.h>

struct adp_cidr;
struct adp_model;
struct adp_record;
struct in6_addr;

struct adp_remote_cidrs {
    struct adp_cidr *cidrs;     /* In order; no two overlap. */
    size_t n;
};

/* Those of the model's PeerNodes. */
void adp_remote_cidrs_init(struct adp_remote_cidrs *,
                           const struct adp_model *);
/* Those of 'n' records of PeerNodes. */
void adp_remote_cidrs_set(struct adp_remote_cidrs *,
                          const struct adp_record *const *peers, size_t n);
/* Where 'a' and 'b' may not say the same: all that is in one of both, of
 * CIDRs that aren't in the other. */
void adp_remote_cidrs_difference(struct adp_remote_cidrs *,
                                 const struct adp_remote_cidrs *a,
                                 const struct adp_remote_cidrs *b);
void adp_remote_cidrs_uninit(struct adp_remote_cidrs *);

bool adp_remote_cidrs_contain(const struct adp_remote_cidrs *,
                              const struct in6_addr *);

#endif /* pipeline-remote.h */
