/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_H
#define ADP_PIPELINE_H 1

/* A built-in pipeline: data from which flows are made.
 *
 * A pipeline is a list of tables (name, order, miss behaviour), static flows,
 * and a function from records to flows.  docs/pipelines.md shows how to write
 * one.  Flows and groups are kept as text in the syntax of
 * ovs-ofctl (add-flow, add-group; OpenFlow 1.5), which is also how people read
 * them: equal text is an equal flow.  Tables stand in the text by name, ports
 * by number: a port that comes back with another number makes other flows.
 *
 * A flow set holds the flows and groups that a model asks for.  Several
 * records may ask for the same flow.  A bridge gets its flows record by record
 * (pipeline-engine.h), without the text; whole flow sets are for tools and
 * tests, which compare the engine with them.
 *
 * IDs (conjunctions, groups) live in an adp_pipeline_state beside the model,
 * so that an object keeps its ID from one generation to the next.
 *
 * Thread-safety: as the model.
 *
 * Cost: adp_pipeline_generate() is linear in the flows that it makes.
 */

#include "model-records.h"
#include "openvswitch/compiler.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"

struct adp_error;
struct adp_generator;
struct adp_network_policy;
struct adp_network_policy_rule;
struct adp_pipeline_guide;
struct adp_pipeline_parts;
struct adp_pipeline_state;
struct adp_vocabulary;
struct minimatch;
struct ofputil_table_map;

/* Meters that the records ask for, by number: the one of an egress IP is its
 * mark.  All drop what is too much. */
#define ADP_N_METERS 256
struct adp_meters {
    struct adp_bandwidth limits[ADP_N_METERS];
};

/* Flow sets. */

struct adp_flow_set {
    struct shash flows;         /* Name: "cookie=0x..., table=Output,
                                 * priority=200,... actions=...".  No data. */
    struct shash groups;        /* Name: "group_id=9,type=select,bucket=...".
                                 * No data. */
    struct adp_meters meters;
};

void adp_flow_set_init(struct adp_flow_set *);
void adp_flow_set_uninit(struct adp_flow_set *);
/* The only way to move a set: hash tables point into themselves. */
void adp_flow_set_swap(struct adp_flow_set *, struct adp_flow_set *);
void adp_flow_set_add(struct adp_flow_set *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);
/* These take the malloc()ed text. */
void adp_flow_set_add_nocopy(struct adp_flow_set *, char *flow);
void adp_flow_set_add_group_nocopy(struct adp_flow_set *, char *group);

/* Pipelines. */

struct adp_pipeline_table {
    const char *name;
    uint8_t id;
    const char *miss;           /* The actions of the flow with priority 0, a
                                 * template (pipeline-text.h).  NULL: there is
                                 * no such flow. */
};

/* A flow that no record has to ask for.  One with the word {ip} is there for
 * each family of addresses that the Node has. */
struct adp_static_flow {
    size_t table;               /* Index into the pipeline's tables. */
    int priority;
    const char *template;       /* "MATCH actions=ACTIONS". */
};

/* A way in which a bridge's pipeline may differ from what it is without. */
struct adp_pipeline_option {
    const char *name;           /* "service-mac". */
    const char *text;           /* What changes, in words. */
    const char *tlv_map;        /* The tunnel option that its flows read, in
                                 * the syntax of ovs-ofctl add-tlv-map.  NULL:
                                 * they read none. */
};

/* A short name for several options. */
struct adp_pipeline_option_set {
    const char *name;
    uint64_t options;
};

/* Packet-ins by which the flows have an agent do something that the datapath
 * does itself.  To refuse a packet: its sender is told what a rule that
 * rejects tells or, if 'unreachable', what is told when nobody is there.  To
 * log it. */
struct adp_pipeline_packet_in {
    uint8_t userdata[2];
    uint8_t userdata_len;
    bool reject, unreachable, log;
};

/* A table that the records fill: its flows may match on what 'match' does, a
 * template, and on nothing else. */
struct adp_pipeline_filled {
    uint8_t table_id;
    const char *match;
};

/* Bits of a register. */
struct adp_pipeline_bits {
    uint8_t reg, first, last;
};

/* Where a packet that is to be logged says what there is to log. */
struct adp_pipeline_log {
    struct adp_pipeline_bits table;     /* That decided. */
    struct adp_pipeline_bits disposition; /* 0 Allow, 1 Drop, 2 Reject, */
                                        /* 3 Pass. */
    struct adp_pipeline_bits denied;    /* By a rule, not by isolation. */
    uint8_t denied_rule;                /* Registers with conjunction IDs: of
                                         * rules that deny, and that let
                                         * pass, */
    uint8_t rule[2];                    /* by direction ([1]: ingress). */
    uint8_t first_ingress_table;        /* Tables before are for egress. */
};

/* Packet-ins by which packets with DNS answers wait for an agent.  The
 * datapath reads them itself, always: FQDN records are its own. */
struct adp_pipeline_names {
    uint8_t userdata[2];
    uint8_t userdata_len;       /* 0: there are none. */
};

/* Packet-ins by which messages of IGMP come to an agent.  The datapath reads
 * them itself, always: MulticastGroup records are its own.  What the rules on
 * them decide is no flow's. */
struct adp_pipeline_igmp {
    uint8_t userdata[2];
    uint8_t userdata_len;       /* 0: there are none. */
};

/* What a flow's counters are about. */
enum adp_flow_metric {
    ADP_METRIC_NONE,
    ADP_METRIC_RULE_FIRST,      /* First packets of the connections that a
                                 * policy rule allows; all that it drops or
                                 * rejects. */
    ADP_METRIC_RULE_LATER,      /* All later ones. */
    ADP_METRIC_RULE_PASS,       /* What a policy rule passes on, if it is one
                                 * that does. */
    ADP_METRIC_SERVICE,         /* First packets to a Service. */
    ADP_METRIC_AFFINITY,        /* The same, where session affinity knows the
                                 * endpoint. */
    ADP_METRIC_APPLIED_FIRST,   /* First packets of connections to which an
                                 * Egress applies, */
    ADP_METRIC_APPLIED,         /* all packets to which it, or a
                                 * TrafficControl, does. */
    ADP_METRIC_L7_REDIRECTED,   /* Packets that went to the engine of L7, */
    ADP_METRIC_L7_RETURNED,     /* came back from it, */
    ADP_METRIC_L7_DROPPED,      /* or didn't get there for want of a port. */
    ADP_METRIC_MULTICAST_OUT,   /* Multicast that a Pod sent, */
    ADP_METRIC_MULTICAST_IN,    /* and got.  The ID is its port's number. */
    ADP_METRIC_REFUSED,         /* Packets to a Service of clients outside its
                                 * source ranges. */
};

struct adp_pipeline {
    const char *name;           /* "v1.15". */

    /* In the order in which packets meet them. */
    const struct adp_pipeline_table *tables;
    size_t n_tables;

    /* The names in its flow templates. */
    const struct adp_vocabulary *vocabulary;

    /* The same where flows are for IPv6, or NULL: there are none. */
    const struct adp_vocabulary *vocabulary6;
    const struct adp_static_flow *static_flows;
    size_t n_static_flows;

    /* Meters that the flows use, in the syntax of ovs-ofctl add-meter.  They
     * must exist before the flows. */
    const char *const *meters;
    size_t n_meters;

    const struct adp_pipeline_packet_in *packet_ins;
    size_t n_packet_ins;
    uint64_t options_for_packet_ins;    /* With one of these an agent does. */
    const struct adp_pipeline_log *log; /* NULL: none is for the log. */
    struct adp_pipeline_names names;
    struct adp_pipeline_igmp igmp;
    uint64_t options_for_igmp;  /* Only with one of these. */

    /* At most 64: the option at index I is bit I of a set of options. */
    const struct adp_pipeline_option *options;
    size_t n_options;
    const struct adp_pipeline_option_set *option_sets;
    size_t n_option_sets;

    /* What it has tables for.  Policies of other types are refused, and so are
     * Egresses and TrafficControls; records of other kinds may be in the model
     * and make no flows. */
    unsigned int kinds;         /* Bits 1 << enum adp_kind. */
    unsigned int policy_types;  /* Bits 1 << enum adp_policy_type. */

    /* NULL, or why a policy can't be had with these options, which would
     * silently not enforce it.  May be NULL. */
    struct adp_error *(*check_policy)(const struct adp_network_policy *,
                                      uint64_t options);

    /* Adds the flows and groups that the records ask for (pipeline-gen.h). */
    void (*generate)(struct adp_generator *);
    /* The same record by record (pipeline-parts.h).  NULL: each change of a
     * record makes all flows anew. */
    const struct adp_pipeline_parts *parts;

    /* The tables with flows that tell of policy rules and Services, by ID. */
    const uint8_t *metric_tables;
    size_t n_metric_tables;

    /* The same for rules that pass, whose flows stand among those of all
     * others: read only if there is such a rule. */
    const uint8_t *pass_tables;
    size_t n_pass_tables;

    /* Tables whose flows match on nothing but what comes with a packet:
     * registers, conntrack's state. */
    const struct adp_pipeline_filled *filled_tables;
    size_t n_filled_tables;

    /* The tables of policy rules: in those of one direction the flow that a
     * packet meets first decides.  And those that rules lead to, without
     * which they would do something else. */
    const uint8_t *rule_tables;
    size_t n_rule_tables;
    const uint8_t *verdict_tables;
    size_t n_verdict_tables;

    /* What a flow of these tables counts, and for which conjunction ID, group
     * ID, or ID of what applies to Pods. */
    enum adp_flow_metric (*flow_metric)(uint8_t table_id, uint64_t cookie,
                                        const struct minimatch *,
                                        uint32_t *id);

    /* Words for people, see pipeline-guide.h.  NULL: none. */
    const struct adp_pipeline_guide *guide;
};

/* Makes '*map' one of the pipeline's tables.  The caller destroys it. */
void adp_pipeline_init_table_map(const struct adp_pipeline *,
                                 struct ofputil_table_map *map);

/* Makes '*match', which the caller destroys, what flows of the table may match
 * on. */
void adp_pipeline_filled_match(const struct adp_pipeline *,
                               const struct adp_pipeline_filled *,
                               struct minimatch *match);

/* Sets '*options' to those of 'list', names of options and sets of them
 * between commas or blanks in any order.  Returns NULL or an error text, which
 * the caller frees. */
char *adp_pipeline_parse_options(const struct adp_pipeline *, const char *list,
                                 uint64_t *options) OVS_WARN_UNUSED_RESULT;
/* Appends the names of 'options', with commas. */
void adp_pipeline_format_options(const struct adp_pipeline *,
                                 uint64_t options, struct ds *);

/* Fills 'set', which must be empty, with all flows and groups for 'model'.
 * 'env->options' are options of 'pipeline'.  A record whose port is gone
 * contributes no flow that needs the port.
 *
 * Returns NULL, or an error of code "invalid" when the model holds what the
 * pipeline has no tables for, or of code "limit" when it asks for more than
 * the pipeline can number; then 'state' and 'set' must be thrown away. */
struct adp_error *adp_pipeline_generate(const struct adp_pipeline *pipeline,
                                        const struct adp_model *model,
                                        struct adp_pipeline_state *state,
                                        const struct adp_model_env *env,
                                        struct adp_flow_set *set)
    OVS_WARN_UNUSED_RESULT;

/* IDs. */

struct adp_pipeline_state *adp_pipeline_state_create(void);
/* Unit tests: for who makes flows twice from the same IDs. */
struct adp_pipeline_state *adp_pipeline_state_clone(
    const struct adp_pipeline_state *);
void adp_pipeline_state_destroy(struct adp_pipeline_state *);

/* The policy to whose rule a conjunction ID belonged at the last commit, and
 * the rule, as long as 'state' is unchanged.  False if unknown. */
bool adp_pipeline_find_rule(const struct adp_pipeline_state *,
                            uint32_t conj_id,
                            const struct adp_network_policy **,
                            const struct adp_network_policy_rule **);
/* The same in words:
 * "ClusterNetworkPolicy web, rule 2 (Drop)".  NULL if unknown.  Caller
 * frees. */
char *adp_pipeline_describe_conj(const struct adp_pipeline_state *,
                                 uint32_t conj_id);
/* The same for a group: "Service default/web, port 80/TCP".  NULL if
 * unknown.  Caller frees. */
char *adp_pipeline_describe_group(const struct adp_pipeline_state *,
                                  uint32_t group_id);
/* The same for what applies to Pods and is no policy: "TrafficControl web",
 * "Egress with 192.168.77.112".  NULL if unknown.  Caller frees. */
char *adp_pipeline_describe_applied(const struct adp_pipeline_state *,
                                    uint32_t id);
/* The same for the mark of an egress IP of this Node's. */
char *adp_pipeline_describe_mark(const struct adp_pipeline_state *,
                                 uint32_t mark);
/* The same for the VLAN of an L7 rule. */
char *adp_pipeline_describe_vlan(const struct adp_pipeline_state *,
                                 uint32_t vlan);

#endif /* pipeline.h */
