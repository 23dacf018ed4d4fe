/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_POLICY_H
#define ADP_PIPELINE_POLICY_H 1

/* Policy rules as conjunctive matches: what pipelines have in common.
 *
 * A generator collects the rules that are in force on this Node, gives each a
 * table and a priority, has their IDs assigned, and adds for each rule its
 * clauses here and the flow with its conj_id on its own.
 *
 * The dimensions of a conjunction are, in this order, From, To and Service.
 * Clauses of one table and priority with equal matches become one flow with
 * several conjunction() actions.
 *
 * Thread-safety: as the model.
 * Cost: linear in the clauses.
 */

#include "openvswitch/shash.h"
#include "pipeline-gen.h"

/* At most so many rules should have one table and priority: they may share a
 * clause, and the flow with their conjunction() actions must fit an OpenFlow
 * message. */
#define ADP_MAX_RULES_PER_PRIORITY 3000

/* What differs between pipelines. */
struct adp_policy_style {
    unsigned int port_reg;      /* Has the number of the port that a packet is
                                 * to leave through. */
    bool port_needs_ip;         /* Matches on it say that it's IPv4. */
    unsigned int service_reg;   /* Has the ID of the group that chose the
                                 * Service's endpoint; 0: none has. */
    uint8_t clause_cookie;      /* Categories of cookies. */
    uint8_t isolation_cookie;
    size_t isolation_tables[2]; /* Indexed by 'ingress' of a rule. */
    int isolation_priority;
    size_t names_table;         /* Where DNS answers to Pods whose rules */
    int names_priority;         /* have names are met; 0: nowhere. */
    /* Adds the flow by which packets with 'match' are dropped and logged:
     * beside that without logging, before which it comes.  NULL: nothing is
     * logged. */
    void (*isolate_and_log)(struct adp_generator *, bool ingress,
                            const char *match);
};

/* The conjunction ADP_NAMES_CONJ_ID of these answers. */
#define ADP_NAMES_SERVICE_CLAUSE 1
#define ADP_NAMES_PODS_CLAUSE 2
#define ADP_NAMES_N_CLAUSES 2

/* A rule that is in force on this Node. */
struct adp_policy_rule {
    const struct adp_network_policy *policy;
    const struct adp_network_policy_rule *rule;
    size_t table;               /* Of its clauses: index in the pipeline. */
    int priority;               /* The same. */
    bool has_peer;              /* Is one of its dimensions the peers?  Then,
                                 * if it names none, it is for "any peer", */
    bool nobody;                /* or, with this, for none at all. */
    uint32_t conj_id;
    uint32_t vlan;              /* Of an L7 rule; 0 of all others. */
    bool has_no_flows;          /* For messages that the datapath reads. */

    /* Of the records, which needn't be fetched for each clause then. */
    bool ingress;
    bool has_services;          /* Does it name ports or protocols? */
    bool for_services;          /* Is it applied to Services? */
};

/* The names of the Services that it applies to; none if it applies to Pods. */
const struct adp_names *adp_policy_rule_services(
    const struct adp_policy_rule *);
/* Do rules apply to the Service?  To NodePorts alone, and where there are
 * flows for these. */
bool adp_policy_applies_to_service(const struct adp_node_config *,
                                   const struct adp_service *);

/* A rule whose clauses are in the table at index 'table'. */
void adp_policy_rule_init(struct adp_policy_rule *,
                          const struct adp_network_policy *,
                          const struct adp_network_policy_rule *,
                          size_t table);
/* Gives the rule, which is number 'occurrence' (from 0) of the equal ones of
 * its policy that are in force, its ID, and its VLAN.  Without one left notes
 * an error.  Rules that have a VLAN already come before all others if they are
 * to keep it where nearly all are in use. */
bool adp_policy_rule_has_vlan(const struct adp_generator *,
                              const struct adp_policy_rule *,
                              unsigned int occurrence);
void adp_policy_rule_assign_id(struct adp_generator *,
                               struct adp_policy_rule *,
                               unsigned int occurrence);
unsigned int adp_policy_rule_n_clauses(const struct adp_policy_rule *);

struct adp_policies {
    struct adp_generator *g;
    const struct adp_policy_style *style;
    struct adp_policy_rule *rules;
    size_t n_rules, allocated_rules;
    struct shash clauses;       /* "table=T, priority=P,match" to struct
                                 * clause_flow. */
};

void adp_policies_init(struct adp_policies *, struct adp_generator *,
                       const struct adp_policy_style *);
/* Adds the flows with the clauses to the flow set, and frees everything. */
void adp_policies_finish(struct adp_policies *);

/* Calls 'cb' for each rule of each NetworkPolicy. */
typedef void adp_policy_rule_cb(struct adp_policies *,
                                const struct adp_network_policy *,
                                const struct adp_network_policy_rule *);
void adp_policies_for_each_rule(struct adp_policies *, adp_policy_rule_cb *);

/* Adds 'rule' to 'rules' if it applies to a Pod of this Node, or to a
 * Service. */
void adp_policies_collect(struct adp_policies *,
                          const struct adp_policy_rule *rule);

/* Gives each collected rule its ID, in the order of 'rules'. */
void adp_policies_assign_ids(struct adp_policies *);

/* Adds the clauses of 'rule'. */
void adp_policies_add_clauses(struct adp_policies *,
                              const struct adp_policy_rule *rule);

/* Adds the flows for the Pods that a K8s NetworkPolicy with 'rule' isolates:
 * in the rule's direction they get nothing but what is allowed.  These are all
 * Pods of the policy, also where the rule itself applies to others or to fewer
 * of them.  To be called for each rule of the policy. */
void adp_policies_isolate(struct adp_policies *,
                          const struct adp_network_policy *,
                          const struct adp_network_policy_rule *rule);

/* Is what the policy's isolation drops logged in this style? */
bool adp_policy_logs_isolation(const struct adp_policy_style *,
                               const struct adp_network_policy *,
                               bool ingress);
/* Adds the flows that isolate one Pod and log what they drop. */
void adp_policy_isolate_and_log(struct adp_generator *,
                                const struct adp_policy_style *,
                                const struct adp_pod *, bool ingress);

#endif /* pipeline-policy.h */
