/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_MULTICAST_WORLD_H
#define TESTS_MULTICAST_WORLD_H 1

/* For tests of what becomes of messages of IGMP, without a daemon: the model is
 * a real one, the state answers as a test tells it, and what would be sent is
 * noted; the main thread's turns are those of own-records.h.
 *
 * For programs linked with --wrap of what own-records.h says. */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "adp-igmp-queue.h"
#include "adp-igmp.h"
#include "adp-multicast-send.h"
#include "adp-multicast.h"
#include "adp-ports.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "model-records.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "own-records.h"
#include "packets.h"
#include "quoted-json.h"
#include "util.h"

#define INTERVAL_MS (ADP_MULTICAST_DEFAULT_INTERVAL * 1000LL)
#define G1 0xef010101           /* 239.1.1.1 */
#define PEER 0xc0a80002         /* 192.168.0.2 */

static struct adp_bridge *b;
static struct adp_multicast *m;
static struct adp_model *model;
static const char a_node[] = "{'kind':'NodeConfig','name':'n',"
    "'gateway':{'port':'p100','mac':'00:00:00:00:01:00','ip':'10.0.0.1'},"
    "'podCIDR':'10.0.0.0/24','transportIP':'192.168.0.1'}";

/* The state. */
static struct {
    bool forgot_rules;
    uint64_t generation, ports_seq;

    /* Rules about IGMP: */
    uint32_t conj_id;           /* of this one, 0: there is none, */
    bool denies;                /* which denies, */
    bool is_gone;               /* and is no more. */
} state;

/* What was sent. */
static size_t n_queries, n_reports;
static unsigned int max_response;
static bool no_gateway, no_p3;
static struct ds told;          /* By the last reports. */

bool
adp_bridge_port_number(const struct adp_bridge *bridge OVS_UNUSED,
                       const char *name, ofp_port_t *port)
{
    *port = u16_to_ofp(atoi(name + 1));
    return !(no_p3 && !strcmp(name, "p3"));
}

uint64_t
adp_bridge_ports_seq(const struct adp_bridge *bridge OVS_UNUSED)
{
    return state.ports_seq;
}

static uint64_t ports_lost;

uint64_t
adp_ports_n_lost(void)
{
    return ports_lost;
}

uint64_t
adp_state_generation(const struct adp_state *s OVS_UNUSED)
{
    return state.generation;
}

const struct adp_model *
adp_state_model(const struct adp_state *s OVS_UNUSED)
{
    return model;
}

bool
adp_state_knows_rules(const struct adp_state *s OVS_UNUSED)
{
    return !state.forgot_rules;
}

bool
adp_state_find_rule(const struct adp_state *s OVS_UNUSED,
                    uint32_t conj_id OVS_UNUSED,
                    const struct adp_network_policy **policy,
                    const struct adp_network_policy_rule **rule)
{
    static struct adp_network_policy_service service = {
        .protocol = IPPROTO_IGMP,
    };
    static struct adp_network_policy_rule a_rule = {
        .services = &service, .n_services = 1,
    };

    *policy = NULL;
    *rule = &a_rule;
    return !state.is_gone;
}

bool
adp_state_allows_igmp(const struct adp_state *s OVS_UNUSED, const char *pod,
                      uint8_t type OVS_UNUSED, ovs_be32 group OVS_UNUSED,
                      uint32_t *conj_id)
{
    *conj_id = strcmp(pod, "d/ruled") ? 0 : state.conj_id;
    return !*conj_id || !state.denies;
}

bool
adp_multicast_send_query(struct adp_bridge *bridge OVS_UNUSED,
                         const struct adp_node_config *node,
                         unsigned int max_response_, unsigned int interval)
{
    ck_assert_ptr_nonnull(node);
    ck_assert_uint_gt(interval, 0);
    n_queries++;
    max_response = max_response_;
    return !no_gateway;
}

static void
note_record(uint8_t type OVS_UNUSED, ovs_be32 group, bool joins,
            void *aux OVS_UNUSED)
{
    ds_put_format(&told, "%s"IP_FMT" ", joins ? "+" : "-", IP_ARGS(group));
}

bool
adp_multicast_send_report(struct adp_bridge *bridge OVS_UNUSED,
                          const struct adp_node_config *node, const void *msg,
                          size_t len, ovs_be32 peer)
{
    ck_assert_ptr_nonnull(node);
    ck_assert_int_eq(adp_igmp_parse(msg, len, note_record, NULL),
                     ADP_IGMP_REPORT);
    ds_put_format(&told, "to "IP_FMT";", IP_ARGS(peer));
    n_reports++;
    return true;
}

/* What a test says. */

static void
apply(const char *records)
{
    struct json *array = json_array_from_quoted(records);
    struct adp_error *error = adp_model_apply(model, array, NULL);

    ck_assert_msg(!error, "%s", error ? error->message : "");
    json_destroy(array);
    state.generation++;
}

/* Puts the last transaction's records into the model, as the state does. */
static void
come_into_force(void)
{
    if (calls.n && !calls.call && !calls.fails) {
        ck_assert(!adp_model_apply_own(model, calls.apply));
        ck_assert(!adp_model_delete_own(model, calls.delete));
    }
}

static struct adp_state *run_with; /* In the last turn. */

static void
run(void)
{
    run_with = a_state;
    adp_multicast_run(m, a_state, true);
    come_into_force();
}

static void
message(uint16_t port, ovs_be32 tunnel_src, const void *data, size_t len)
{
    struct dp_packet *p = dp_packet_new(ETH_HEADER_LEN + len);
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    flow.in_port.ofp_port = u16_to_ofp(port);
    flow.tunnel.ip_src = tunnel_src;
    dp_packet_put_zeros(p, ETH_HEADER_LEN);
    dp_packet_put(p, data, len);
    dp_packet_set_l4(p, (char *) dp_packet_data(p) + ETH_HEADER_LEN);
    adp_igmp_queue_add(b, p, &flow, ports_lost);
    dp_packet_delete(p);
}

static void
typed_message(uint16_t port, uint32_t tunnel_src, uint8_t type, uint32_t group)
{
    struct {
        uint8_t type, max;
        ovs_be16 csum;
        ovs_be32 group;
    } msg = { .type = type, .group = htonl(group) };

    msg.csum = csum(&msg, sizeof msg);
    message(port, htonl(tunnel_src), &msg, sizeof msg);
}

static void
join(uint16_t port, uint32_t group)
{
    typed_message(port, 0, ADP_IGMP_TYPE_REPORT_V2, group);
}

static long long int
stat_of(const char *name)
{
    return take_count(adp_multicast_stats(m), name);
}

static long long int
next_wake(void)
{
    wakes = LLONG_MAX;
    adp_multicast_wait(m, run_with);
    return wakes;
}

static void
setup(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    calls_init();
    memset(&state, 0, sizeof state);
    n_queries = n_reports = 0;
    max_response = 0;
    no_gateway = no_p3 = false;
    ds_init(&told);
    b = xzalloc(sizeof *b);
    b->igmp = adp_igmp_queue_create();
    model = adp_model_create();
    m = adp_multicast_create(b);
    apply(a_node);
    apply("{'kind':'Pod','name':'d/one','port':'p1',"
          "'mac':'00:00:00:00:00:01','ips':['10.0.0.11']},"
          "{'kind':'Pod','name':'d/ruled','port':'p2',"
          "'mac':'00:00:00:00:00:02','ips':['10.0.0.12']},"
          "{'kind':'PeerNode','name':'peer','podCIDR':'10.0.1.0/24',"
          "'gatewayIP':'10.0.1.1','transportIP':'192.168.0.2'}");
}

static void
teardown(void)
{
    adp_multicast_destroy(m);
    adp_model_destroy(model);
    adp_igmp_queue_destroy(b->igmp);
    free(b);
    calls_uninit();
    ds_destroy(&told);
}

#endif /* multicast-world.h */
