/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_DECIDE_H
#define ADP_DECIDE_H 1

/* decide(): from a parsed packet and a program to a verdict.
 *
 * decide() walks the tables as ofproto-dpif's translation would, but does not
 * stop at ct(): it asks its environment what conntrack would answer and goes
 * on.  It changes nothing outside of the verdict, so the same function serves
 * packet threads, trace and the tests.
 *
 * The verdict is a list of datapath actions (OVS_ACTION_ATTR_*), as stock
 * ofproto-dpif would emit them if a datapath could walk on after ct() without
 * recirculation: header rewrites, ct() with commit, NAT, mark and label,
 * outputs.  Executed in order on the packet they have the same effect as
 * stock's passes.  For a controller the list has upstream's userspace action,
 * which does nothing by itself: execution pauses there ('breaks').
 *
 * A punt (enum adp_punt) means that nothing of the verdict holds, and that the
 * packet must go the stock way, from the start.
 *
 * Thread-safety: any thread that may hold an RCU pointer; a verdict belongs to
 * one thread.  Allocation: none as long as the verdict's buffers suffice, they
 * grow and are kept.
 */

#include "adp-learn.h"
#include "adp-match.h"
#include "adp-program.h"
#include "adp-punt.h"
#include "flow.h"
#include "openvswitch/ofpbuf.h"

/* One ct() action as the environment sees it. */
struct adp_ct_request {
    uint16_t zone;
    bool commit;
    bool force;
    bool rewritten;             /* Addresses or ports were set since the ct()
                                 * before: its connection is forgotten. */
    bool nat;                   /* A nat argument is there at all. */
    uint16_t nat_action;        /* NX_NAT_F_* of 'spec', 0 for plain "nat". */
    const struct ofpact_nat *nat_spec;  /* NULL unless 'nat'. */
    uint16_t alg;               /* TP port number, 0 if none. */
    uint32_t mark, mark_mask;           /* Set with the commit. */
    ovs_u128 label, label_mask;
};

enum adp_port_kind {
    ADP_PORT_ABSENT,            /* Output is dropped, as stock does. */
    ADP_PORT_PLAIN,             /* OVS_ACTION_ATTR_OUTPUT to 'odp_port'. */
    ADP_PORT_TUNNEL,            /* Ask env->output_tunnel(). */
    ADP_PORT_PUNT,              /* Patch port and others: punt. */
};

struct adp_port_info {
    enum adp_port_kind kind;
    odp_port_t odp_port;
    enum adp_punt punt;
    bool remote_by_flow;        /* A tunnel, whose remote end the packet's
                                 * metadata say. */
};

struct adp_trace_event;            /* See adp-trace.h. */

struct adp_env {
    const struct adp_env_class *class;
    void *aux;
};

struct adp_env_class {
    /* Does to 'flow' what ct() with 'req' would do to the packet and its
     * metadata (as after recirculation): ct_state, ct_zone, ct_mark, ct_label
     * (with the request's mark and label applied when it commits), the
     * original tuple in ct_nw_src etc., and translated addresses and ports.
     * Returns ADP_PUNT_NONE, or why that can't be known.
     *
     * On entry the conntrack fields of 'flow' are those of the packet's
     * metadata, that is, what the ct() before this one on the packet's way
     * left there, also if OpenFlow has forgotten them since.  Asked once for
     * each ct(), in the order of execution: an answer has to take the ones
     * before it into account. */
    enum adp_punt (*ct)(const struct adp_env *, const struct adp_ct_request *,
                        struct flow *);

    /* Name of the timeout policy of 'zone' for 'flow', or NULL. */
    const char *(*ct_timeout)(const struct adp_env *, uint16_t zone,
                              const struct flow *);

    /* Of a port to which the packet goes, with the headers of 'flow'. */
    void (*port)(const struct adp_env *, ofp_port_t, const struct flow *flow,
                 struct adp_port_info *);

    /* Appends to 'actions' what sends the packet, whose headers are those of
     * 'flow', through tunnel port 'port' with the metadata in flow->tunnel.
     * What is appended may use up the packet: the caller puts it into a
     * clone if anything follows. */
    enum adp_punt (*output_tunnel)(const struct adp_env *, ofp_port_t,
                                   const struct flow *,
                                   struct ofpbuf *actions);

    /* The datapath's meter for packets to controllers that have no other, or
     * UINT32_MAX.  May be NULL: there is none. */
    uint32_t (*controller_meter)(const struct adp_env *);

    /* True if controllers hear of a packet from the port that no flow matches:
     * 'by_default' if the table leaves that to their versions of OpenFlow,
     * else because it says so.  May be NULL: in the latter case. */
    bool (*tells_miss)(const struct adp_env *, ofp_port_t, bool by_default);

    /* True if bucket's watch port is usable. */
    bool (*port_is_live)(const struct adp_env *, ofp_port_t);

    /* Sets '*bucket' to the one that a "select" group that has slots is to
     * choose for 'flow', if it isn't the group's to say.  Returns
     * ADP_PUNT_NONE, or why that can't be known.  May be NULL. */
    enum adp_punt (*choose)(const struct adp_env *, const struct adp_group *,
                            const struct flow *, uint32_t *bucket);

    /* May be NULL.  Called in the order of the walk; see adp-trace.h. */
    void (*trace)(const struct adp_env *, const struct adp_trace_event *);
};

enum adp_hit_kind {
    ADP_HIT_RULE,
    ADP_HIT_MISS,
    ADP_HIT_BUCKET,
    ADP_HIT_GROUP,              /* Group looked at, nothing to be credited. */
};

/* Without padding: equal hits are equal byte for byte. */
struct adp_hit {
    union {
        struct adp_rule *rule;
        struct adp_group *group;
    };                          /* GROUP: NULL. */
    uint32_t bucket;            /* BUCKET: index, or ADP_BUCKET_ALL.  GROUP:
                                 * the group's ID. */
    int priority;               /* RULE, MISS: what is below had no part in
                                 * it, see struct adp_match_scratch. */
    uint8_t kind;               /* enum adp_hit_kind. */
    uint8_t table_id;           /* RULE, MISS. */
    uint16_t zero[3];
};
BUILD_ASSERT_DECL(sizeof(struct adp_hit) == 24 || sizeof(void *) != 8);

/* A look-up in a table that learn()s fill, and what the packet looked like
 * there. */
struct adp_learn_lookup {
    uint8_t table_id;
    struct flow flow;
};
#define ADP_MAX_LEARN_LOOKUPS 2

/* A look-up in a table whose answers depend on metadata alone, and these. */
struct adp_metadata_lookup {
    size_t hit;                 /* Which hit it is. */
    struct adp_metadata metadata;
};
#define ADP_MAX_METADATA_LOOKUPS 4

/* A copy of the packet for the controller, with what it is told beside the
 * packet. */
struct adp_packet_in {
    uint16_t controller_id;
    uint16_t max_len;
    uint8_t reason;             /* OFPR_*. */
    uint8_t table_id;
    ovs_be64 cookie;
    uint32_t meter_id;          /* UINT32_MAX: none.  Drops the copy alone. */
    const void *userdata;       /* The rule's. */
    size_t userdata_len;
    struct flow flow;           /* Metadata as they are there. */
};

/* Where the execution of a verdict's actions pauses: for 'packet_in' if that
 * is not NULL; otherwise where stock would begin another pass for a packet
 * that a meter may have dropped.  That one is not counted, nor learned of, in
 * what comes behind. */
struct adp_break {
    size_t start, end;          /* Of 'actions': what is executed before ends,
                                 * what is executed behind starts there. */
    size_t packet_in;           /* Index, or SIZE_MAX. */
    bool answers;               /* With SIZE_MAX: the sender is told, and no
                                 * pass begins. */
    size_t n_hits, n_learned, n_idle_passes;    /* Before. */
};
#define ADP_MAX_BREAKS 4

struct adp_verdict {
    enum adp_punt punt;
    const struct adp_rule *punt_rule;   /* Whose op punts; may be NULL. */

    struct ofpbuf actions;      /* Empty: the packet is dropped. */
    bool dropped;               /* No output at all. */
    uint8_t drop_table;         /* Table where the walk ended. */
    const struct adp_rule *drop_rule;   /* NULL: table miss. */
    struct adp_break breaks[ADP_MAX_BREAKS];    /* In order. */
    size_t n_breaks;
    size_t last_pass;           /* Index of the first break of the last of
                                 * stock's passes through the datapath. */
    struct adp_packet_in *packet_ins;
    size_t n_packet_ins, allocated_packet_ins;
    size_t n_idle_passes;       /* Passes without an action: stock counts each
                                 * as a dropped packet. */

    enum adp_answer answer;     /* Tell the sender that it is refused, */
    bool answers_late;          /* at the break for that, behind a meter. */
    bool held;                  /* The packet waits until it was read. */
    bool read;                  /* The main thread reads a copy. */
    struct adp_log_item logs[ADP_MAX_LOG_ITEMS]; /* To be logged. */
    size_t n_logs;

    struct adp_hit *hits;
    size_t n_hits, allocated_hits;
    uint64_t hits_hash;                 /* Of 'hits'. */

    /* Groups that chose a bucket by the hash of the packet's connection: how
     * many, and what the first chose, after how many ct()s. */
    size_t n_selects, n_cts;
    struct {
        const struct adp_group *group;
        uint32_t bucket;
        uint32_t key_hash;              /* adp_key_hash() of the packet. */
        size_t n_cts;
    } select;

    bool swapped;                       /* A look-up was by the original tuple
                                         * of the packet's connection. */
    bool hit_learned;                   /* A hit is not in the program yet. */
    /* Look-ups in tables that learn()s fill: how many, and the first ones. */
    size_t n_learn_lookups;
    struct adp_learn_lookup learn_lookups[ADP_MAX_LEARN_LOOKUPS];
    /* Look-ups that depend on metadata alone: the same. */
    size_t n_metadata_lookups;
    struct adp_metadata_lookup metadata_lookups[ADP_MAX_METADATA_LOOKUPS];
    bool missed;                        /* In a table whose misses controllers
                                         * of old OpenFlow versions want. */

    struct adp_learned *learned;        /* What learn() asks for. */
    size_t n_learned, allocated_learned;

    struct adp_match_scratch scratch;   /* For the matchers. */
};

void adp_verdict_init(struct adp_verdict *);
void adp_verdict_clear(struct adp_verdict *);
/* Lets go of the flows that taught. */
void adp_verdict_forget_learned(struct adp_verdict *);
void adp_verdict_uninit(struct adp_verdict *);

/* The rule that a walk would hit with 'flow' in table 'table_id', or NULL for
 * a miss.  Sets 'scratch->priority' to what struct adp_hit tells, and
 * '*learned' to whether the rule is one of 'learn', which may be NULL. */
struct adp_rule *adp_decide_lookup(const struct adp_program *,
                                   const struct adp_learn_table *learn,
                                   uint8_t table_id, struct flow *flow,
                                   struct adp_match_scratch *, bool *learned);

/* True if the look-up still gets 'hit', the one that it is of, in the same
 * way: also if the table has changed. */
bool adp_metadata_lookup_holds(const struct adp_metadata_lookup *,
                               const struct adp_hit *,
                               const struct adp_program *);

/* The bucket that a "select" group that has slots chooses for packets like
 * 'flow', of which only the headers from layer 3 to 4 matter.  UINT32_MAX:
 * none.  Sets '*watched' if that depends on what buckets watch: then the
 * answer may be wrong. */
uint32_t adp_group_select(const struct adp_group *, const struct flow *flow,
                          bool *watched);
/* Starts to fetch what adp_group_select() reads. */
void adp_group_prefetch(const struct adp_group *, const struct flow *);

/* How many VLAN tags parsing sees: upstream's 'flow_vlan_limit', of which only
 * the main thread may read while it may change.  Any thread; at once in force
 * for all. */
void adp_decide_set_vlan_limit(int);

/* 'flow' is the parsed packet as miniflow_extract() and tunnel decapsulation
 * give it, with in_port.ofp_port an OpenFlow port and tunnel.metadata.tab the
 * bridge's table of tunnel options, and is changed.  'learn' may be NULL.
 * Starts in table 0.  Clears 'verdict' first.  The caller is an RCU reader:
 * the verdict points to rules and groups until it quiesces. */
void adp_decide(const struct adp_program *,
                const struct adp_learn_table *learn,
                const struct adp_env *, struct flow *, struct adp_verdict *);

#endif /* adp-decide.h */
