/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_PARTS_H
#define ADP_PIPELINE_PARTS_H 1

/* A pipeline's flows record by record.
 *
 * What an engine (pipeline-engine.h) must know of a pipeline, so that a record
 * that changes has no more flows made than its own and those of who reads it.
 * A pipeline has them beside 'generate', which makes all flows and must come
 * to the same.
 *
 * Thread-safety: constant.
 */

#include "pipeline-gen.h"
#include "pipeline-policy.h"

struct adp_applied;

/* Where a policy rule stands among others. */
struct adp_policy_rank {
    size_t list;                /* Which of struct adp_pipeline_state's
                                 * priorities. */
    struct adp_rank rank;       /* Rules of one rank share a priority, */
    int guess;                  /* this one, if it's free, */
    int min, max;               /* in any case one between these. */
};

struct adp_pipeline_parts {
    /* Flows that are there without a NodeConfig, besides static ones, and all
     * that it asks for itself.  'always' may be NULL. */
    void (*always)(struct adp_generator *);
    void (*node)(struct adp_generator *);
    /* With a NodeConfig, flows that depend on its ports for L7 rules, which
     * may come and go.  May be NULL. */
    void (*l7)(struct adp_generator *);

    /* With a NodeConfig, the flows of one record.  They may depend on the
     * NodeConfig, the record and its port; a Service's groups also on
     * adp_gen_is_remote() of its endpoints, and its flows on the Services of
     * which endpoints in the serviceCIDR are ClusterIPs (pipeline-vips.h).
     * Each may be NULL. */
    void (*peer_node)(struct adp_generator *, const struct adp_record *);
    void (*pod)(struct adp_generator *, const struct adp_record *);
    void (*service)(struct adp_generator *, const struct adp_record *);
    /* May depend on numbers of ports, too. */
    void (*multicast_group)(struct adp_generator *, const struct adp_record *);

    /* With a NodeConfig, flows for all ports of this Node's Pods, in order.
     * May be NULL. */
    void (*all_pods)(struct adp_generator *, const ofp_port_t *ports,
                     size_t n);
    uint64_t options_for_all_pods; /* Only with one of these. */

    /* What applies to Pods: flows of an Egress or a TrafficControl itself, and
     * those for one of the Pods of this Node.  They may depend on the
     * NodeConfig, both records and their ports.  Each may be NULL. */
    void (*applied)(struct adp_generator *, const struct adp_applied *);
    void (*applied_to_pod)(struct adp_generator *, const struct adp_applied *,
                           const struct adp_pod *);

    /* Policies: what all rules of the direction of a K8s NetworkPolicy isolate
     * has flows as 'style' says, and a rule its clauses. */
    const struct adp_policy_style *style;
    /* Fills '*r' but for ID and priority.  Returns false if the rule has no
     * clauses: it only isolates. */
    bool (*collect)(const struct adp_generator *,
                    const struct adp_network_policy *,
                    const struct adp_network_policy_rule *,
                    struct adp_policy_rule *r);
    void (*rank)(const struct adp_policy_rule *, struct adp_policy_rank *);
    /* The list of the rules of which the datapath itself sees to it that they
     * are kept; 0: none. */
    size_t igmp_list;
    /* Do ranks differ?  Otherwise rules are in the order of their names. */
    bool has_ranks;
    /* Adds the flows of a rule that say what it does. */
    void (*act)(struct adp_generator *, const struct adp_policy_rule *);
};

#endif /* pipeline-parts.h */
