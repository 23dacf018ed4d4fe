/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_ENGINE_PRIVATE_H
#define ADP_PIPELINE_ENGINE_PRIVATE_H 1

/* An engine's nodes, for pipeline-engine*.c.
 *
 *   Pod ──────────> its flows
 *    │ named by
 *   AppliedToGroup ─> isolation of its Pods, in each direction
 *    │ used by         ^ as long as a K8s NetworkPolicy isolates them
 *   rule ─────────> its clauses and what it does
 *    ^ used by
 *   AddressGroup, groups of a Service
 *
 *   Service ──────> its flows and groups, and a flow of each Service of
 *                   which it is an endpoint
 *   PeerNode ─────> its flows
 *   Egress, TrafficControl ─> its flows, and those for the Pods of its
 *                    AppliedToGroups, which contribute them
 *
 * A handler brings nodes from one consistent state to the next.  What changes
 * little, such as the members of a group, goes into the contributions of those
 * who read it at once; a node that must contribute all anew is marked as dirty
 * and does so in adp_engine_finish_*(), when all that it reads is as it will
 * be.
 *
 * Nodes of what isn't there (a Pod that a group names, a group that a rule
 * names) exist as long as somebody names them.
 *
 * Thread-safety: as the model.
 */

#include "model-change.h"
#include "openvswitch/list.h"
#include "openvswitch/ofp-table.h"
#include "openvswitch/shash.h"
#include "pipeline-applied.h"
#include "pipeline-desired.h"
#include "pipeline-engine.h"
#include "pipeline-engine-set.h"
#include "pipeline-nesting.h"
#include "pipeline-parts.h"
#include "sset.h"

/* What contributes flows: the first member of each node that does.  It stays
 * when the node goes, until the transaction is over. */
struct engine_source {
    struct ovs_list node;       /* In 'sources' or 'dying' of the engine. */
    struct adp_contributor contributor;
};

struct engine_pod {
    struct engine_source source;
    char *name;
    const struct adp_pod *pod;  /* With a reference; NULL if it isn't there. */
    bool has_port;
    ofp_port_t port;
    struct engine_set groups;   /* "struct engine_group"s that name it. */
    struct engine_mark dirty;
};

/* A Service, a PeerNode or a MulticastGroup. */
struct engine_record {
    struct engine_source source;
    const struct adp_record *record; /* With a reference. */
    uint32_t *group_ids;
    size_t n_group_ids;
    bool has_rules;             /* A Service: can rules apply to it? */
    struct engine_mark dirty;
};

/* An Egress or a TrafficControl. */
struct engine_applied {
    struct engine_source source;
    struct adp_applied up;      /* With a reference to its record. */
    struct engine_group **groups;
    size_t n_groups;
    ofp_port_t ports[ADP_RECORD_MAX_PORTS]; /* OFPP_NONE: isn't there. */
    bool is_local;              /* An Egress: is its address on this Node? */
    struct engine_mark dirty;
};

struct engine_group {
    enum adp_kind kind;         /* AddressGroup, AppliedToGroup or FQDN. */
    char *name;
    const struct adp_record *record; /* With a reference, or NULL. */
    struct engine_set users[2]; /* "struct engine_rule"s, by direction: [1]
                                 * for ingress. */
    struct engine_mark dirty;

    /* AppliedToGroup. */
    struct engine_set applied;  /* "struct engine_applied"s that name it. */
    struct engine_pod **pods;
    size_t n_pods;
    size_t n_here;              /* How many of 'pods' are there. */
    unsigned int n_isolating[2]; /* How many rules isolate, by direction, */
    unsigned int n_logging[2];   /* and how many of these log it. */
    struct engine_source *isolation[2];
};

/* What rules know of a Service: its groups. */
struct engine_service {
    char *name;
    struct engine_set users;    /* "struct engine_rule"s. */
};

struct engine_rule {
    struct engine_source source;
    struct adp_policy_rule up;
    unsigned int occurrence;    /* Among the equal ones of its policy. */
    struct engine_group **applied_to;
    size_t n_applied_to;
    struct engine_group **peers;
    size_t n_peers;
    struct engine_group **fqdns; /* As many as the record has, */
    struct engine_service **to_services; /* the same, */
    struct engine_service **services; /* and that it is applied to. */
    struct engine_mark dirty;

    /* In force: it applies to a Pod, or to a Service, that is there. */
    struct engine_part *part;   /* NULL if it isn't. */
    struct ovs_list part_node;  /* In 'part'. */
    struct adp_policy_rank rank;
};

struct engine_policy {
    const struct adp_record *record; /* With a reference. */
    struct engine_rule **rules; /* Those that have clauses. */
    size_t n_rules;
};

/* At most ADP_MAX_RULES_PER_PRIORITY rules of one rank. */
struct engine_part {
    struct engine_rank *rank;
    unsigned int number;
    struct ovs_list rules;      /* Contains "struct engine_rule"s. */
    size_t n_rules;
    int priority;               /* INT_MIN before it gets one. */
};

struct engine_rank {
    struct adp_policy_rank up;
    struct engine_part **parts;
    size_t n_parts;
};

/* The ranks of one table. */
struct engine_ranks {
    struct engine_rank **ranks; /* In order. */
    size_t n, allocated;
    bool dirty;
};

struct adp_engine {
    struct adp_desired *desired;
    struct adp_pipeline_state *ids;
    bool valid;                 /* Are the nodes what the last run made? */
    bool running;               /* Between run and accept or revert. */
    struct adp_engine_runs runs;

    /* What all flows depend on. */
    const struct adp_pipeline *pipeline;
    const struct adp_pipeline_parts *parts;
    struct ofputil_table_map tables;
    const struct adp_node_config *node; /* With a reference, or NULL. */
    ofp_port_t gateway, tunnel; /* OFPP_NONE if there is none. */
    ofp_port_t l7_target, l7_return; /* The same; only 'l7' depends on them. */
    uint16_t round;
    uint64_t options;

    struct ovs_list sources;    /* Contains "struct engine_source"s. */
    struct ovs_list dying;      /* To be freed when they ask for nothing. */
    struct engine_source *fixed; /* Static flows and the NodeConfig's. */
    struct engine_source *l7;   /* The way to the engine of L7 rules. */
    struct engine_source *all_pods; /* What goes to all of them. */
    bool all_pods_dirty;

    /* By name. */
    struct shash pods;          /* Contains "struct engine_pod"s. */
    struct shash records[ADP_N_KINDS]; /* "struct engine_record"s. */
    struct shash groups[ADP_N_KINDS]; /* "struct engine_group"s. */
    uint64_t fqdns_seq;         /* Users of FQDNs among these came or went. */
    struct shash policies;      /* Contains "struct engine_policy"s. */
    struct shash services;      /* "struct engine_service"s in use. */
    struct shash applied[ADP_N_KINDS]; /* "struct engine_applied"s. */
    struct shash egress_ips;    /* Of the Egresses: who uses which IDs. */
    struct adp_meters meters;   /* The same. */
    struct engine_ranks ranks[ADP_MAX_RANKED_TABLES];
    struct adp_remote_cidrs remote;
    struct adp_vips vips;       /* Of Services in 'records'. */
    struct adp_nesting nesting; /* The same. */

    /* To contribute anew. */
    struct engine_marks dirty_rules;
    struct engine_marks dirty_groups; /* Their isolation. */
    struct engine_marks dirty_pods;
    struct engine_marks dirty_applied;
    struct engine_marks dirty_records;

    struct adp_generator g;     /* Of the run, */
    struct adp_model_env env;   /* what it knows of the bridge, */
    struct adp_model_env bridge; /* and whom that asks. */
    struct adp_model_change *done; /* What an incremental run handled: NULL if
                                    * it was a full one. */
    size_t n_done;
};

/* The port's number; OFPP_NONE if there is none, or 'name' is NULL. */
ofp_port_t adp_engine_port_or_none(const struct adp_engine *,
                                   const char *name);

/* Sources. */
void adp_engine_source_init(struct adp_engine *, struct engine_source *);
/* Asks for nothing any more, and is freed some time. */
void adp_engine_source_kill(struct adp_engine *, struct engine_source *);
/* From here to adp_engine_end() the generator's flows are 'source''s. */
void adp_engine_begin(struct adp_engine *, struct engine_source *);
void adp_engine_end(struct adp_engine *);

/* Pods and groups: pipeline-engine-groups.c.  In all, 'new' may be NULL. */
void adp_engine_set_pod(struct adp_engine *, const char *name,
                        const struct adp_pod *new);
void adp_engine_set_group(struct adp_engine *, enum adp_kind, const char *name,
                          const struct adp_record *new);
/* Looks up all Pods' ports. */
void adp_engine_check_ports(struct adp_engine *);
/* Returns the group, which may have to be made. */
struct engine_group *adp_engine_use_group(struct adp_engine *, enum adp_kind,
                                          const char *name);
/* Frees it if nobody needs it. */
void adp_engine_check_group(struct adp_engine *, struct engine_group *);
void adp_engine_finish_groups(struct adp_engine *);
void adp_engine_clear_groups(struct adp_engine *);

/* Egresses and TrafficControls: pipeline-engine-applied.c.  'new' may be
 * NULL. */
void adp_engine_set_applied(struct adp_engine *, enum adp_kind,
                            const char *name, const struct adp_record *new);
/* Looks up their ports. */
void adp_engine_check_applied_ports(struct adp_engine *);
void adp_engine_finish_applied(struct adp_engine *);
/* Adds what they ask for the Pod to what it contributes. */
void adp_engine_contribute_to_pod(struct adp_engine *,
                                  const struct engine_pod *);
void adp_engine_clear_applied(struct adp_engine *);

/* Policies and their rules: pipeline-engine-rules.c. */
void adp_engine_set_policy(struct adp_engine *, const char *name,
                           const struct adp_record *new);
void adp_engine_finish_rules(struct adp_engine *);
void adp_engine_clear_rules(struct adp_engine *);
/* Is what the rule reads in its contributions? */
bool adp_engine_rule_is_current(const struct adp_engine *,
                                const struct engine_rule *);
/* The rules that ask for the Service, or apply to it, contribute anew: its
 * groups have other IDs, or they may apply to it now, or not any more. */
void adp_engine_mark_users(struct adp_engine *, const char *service);
/* Adds a target, or an address of the peers, to the rule's contributions, or
 * takes it away; between adp_desired_amend() or adp_desired_begin() and
 * adp_desired_end(). */
void adp_engine_rule_change_target(struct adp_engine *, struct engine_rule *,
                                   const struct engine_pod *, bool add);
void adp_engine_rule_change_peer(struct adp_engine *, struct engine_rule *,
                                 const struct adp_cidr *, bool add);

#endif /* pipeline-engine-private.h */
