/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_ENGINE_H
#define TESTS_ENGINE_H 1

/* A bridge for tests of the engine: flows and groups in the syntax of
 * ovs-ofctl, packets in that of ovs-ofctl's matches, and datapath actions as
 * text.
 *
 * Ports 1 to 9 are plain (datapath port = OpenFlow port + 100), 10 is a tunnel
 * (which appends OUTPUT to datapath port 500), 11 is a patch port, 65534 is
 * LOCAL with datapath port 99; others don't exist.  Ports in 'dead_ports' have
 * no link.
 *
 * The datapath's number of a meter is OpenFlow's + 200.  ENGINE_NO_METER doesn't
 * exist.
 *
 * Conntrack is a list of what to answer per zone; see engine_set_ct().  In other
 * zones each connection is new; with 'commits' a packet finds there what it has
 * committed before.
 */

#include "adp-decide.h"
#include "adp-trace.h"
#include "openvswitch/dynamic-string.h"

struct adp_flow_set;
struct ofputil_table_map;

enum { ENGINE_N_ZONES = 8, ENGINE_NO_METER = 9000 };

struct engine_ct {
    bool set;
    uint16_t zone;
    enum adp_punt punt;
    uint32_t ct_state;
    uint32_t ct_mark;
    ovs_u128 ct_label;
    ovs_be32 nat_src, nat_dst;  /* If not 0, the new address. */
    ovs_be16 nat_tp_dst;        /* If not 0, the new port. */
};

struct engine {
    struct adp_env env;
    struct adp_program *program;
    struct adp_learn_table *learn;
    struct adp_verdict verdict;
    struct flow flow;           /* Of the latest engine_run(), changed. */

    struct engine_ct zones[ENGINE_N_ZONES];
    bool commits;               /* Marks and labels of one zone add up, and
                                 * addresses are translated as asked. */
    struct adp_ct_request requests[16];
    uint32_t states_seen[16];   /* ct_state on entry of each request. */
    size_t n_requests;

    uint32_t dead_ports;        /* Bitmap. */
    size_t n_port_looks;        /* Ports whose liveness was asked for. */
    /* What groups by slots are to choose; NULL: that is their own to say. */
    const uint32_t *chosen;
    enum adp_punt not_chosen;   /* Why that isn't known. */
    uint32_t controller_meter;  /* The datapath's number; 0: none. */
    uint32_t no_packet_in_ports;        /* Bitmap. */
    bool sends_misses;          /* By default. */
    struct adp_trace_log trace;
    bool tracing;
    struct ds text;             /* What functions that return text return. */
};

struct engine *engine_create(void);
void engine_destroy(struct engine *);

/* Adds the flows of 'text', one per line. */
void engine_add_flows(struct engine *, const char *text);
struct adp_rule *engine_parse_flow(const char *);
/* Adds what a pipeline made; its tables are called as 'tables' says. */
void engine_add_flow_set(struct engine *, const struct adp_flow_set *,
                         const struct ofputil_table_map *tables);
void engine_add_group(struct engine *, const char *);
struct adp_group *engine_parse_group(const char *);

/* From now on packet-ins with the one byte of userdata are answered so. */
void engine_set_answer(struct engine *, uint8_t userdata, enum adp_answer);
/* The same, and they are logged. */
void engine_set_log(struct engine *, uint8_t userdata, enum adp_answer,
                    const struct adp_log_layout *);
void engine_set_miss(struct engine *, uint8_t table_id,
                     enum ofputil_table_miss);

/* Makes conntrack answer 'ct_state' (CS_*) in 'zone'. */
struct engine_ct *engine_set_ct(struct engine *, uint16_t zone,
                                uint32_t ct_state);

/* Parses "in_port=1,tcp,nw_src=...". */
void engine_parse_packet(const char *, struct flow *);

/* Decides a packet.  Returns the datapath actions, "drop" or
 * "punt(reason)". */
const char *engine_run(struct engine *, const char *packet);
const char *engine_run_flow(struct engine *, const struct flow *);

/* The hits of the latest run: "0:100 5:miss g10/2" for the rule of priority
 * 100 in table 0, no match in table 5, bucket index 2 of group 10. */
const char *engine_hits(struct engine *);
const char *engine_trace(struct engine *);

#endif /* engine.h */
