/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_TUNNEL_WORLD_H
#define TESTS_TUNNEL_WORLD_H 1

/* The world of tests of output into tunnels: a bridge with a tunnel port.
 * Upstream's translation is a function that says where packets go, and the
 * clock is the test's. */

#include <check.h>
#include <netinet/in.h>

#include "adp-bridge-shared.h"
#include "adp-tunnel.h"
#include "adp-turn.h"
#include "counted-xcaches.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "ofproto/ofproto-dpif-rid.h"
#include "ofproto/ofproto-dpif-xlate.h"
#include "openvswitch/ofp-actions.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "seq.h"
#include "timeval.h"
#include "turn-slices.h"
#include "util.h"

enum {
    GRACE_MS = 500,             /* As adp-tunnel.h says. */
    IDLE_MS = 20000,
    N_MAX = 65536,
    PEER = 0x0a000001,          /* The first one's address. */
};

/* What the linker calls instead of upstream's library. */
__typeof__(time_msec) __wrap_time_msec;

static long long int now;

long long int
__wrap_time_msec(void)
{
    return now;
}

/* Upstream. */

struct ofproto_class adp_ofproto_class;
const struct ofproto_class ofproto_dpif_class;

static struct adp_bridge *b;
static struct dpif_backer backer = { .type = "netdev" };
static struct ofproto_dpif other;       /* Another bridge. */
static ovs_version_t versions[2];       /* Of the tables of 'b', 'other'. */

/* What a translation gives. */
static struct {
    enum xlate_error error;
    enum slow_path_reason slow;
    bool avoid_caching;
    bool drops;
    bool reads_own;             /* Through the tables of 'b'. */
    uint32_t output;
    const char *actions;        /* A letter each, or NULL: goes to 'output'. */
    unsigned n_recircs;         /* IDs that it has taken: 1 and so on. */
} says;

static struct {
    size_t n;
    struct flow flow;
    char *actions;
} translated;

enum { MAX_RECIRCS = 3 };
static int recirc_refs[MAX_RECIRCS + 1];        /* By ID. */

/* What was pushed last. */
static struct {
    size_t n;
    const struct xlate_cache *xcache;
    struct dpif_flow_stats stats;
} pushed;

void
ofproto_for_each(void (*cb)(const struct ofproto *, void *aux), void *aux)
{
    cb(&b->dpif.up, aux);
    cb(&other.up, aux);
}

ovs_version_t
ofproto_dpif_get_tables_version(struct ofproto_dpif *ofproto)
{
    return versions[ofproto == &other];
}

void
xlate_push_stats(struct xlate_cache *xcache, struct dpif_flow_stats *stats,
                 bool offloaded)
{
    ck_assert(!offloaded && xcache->entries.size);
    pushed.n++;
    pushed.xcache = xcache;
    pushed.stats = *stats;
}

void
xlate_in_init(struct xlate_in *xin, struct ofproto_dpif *ofproto,
              ovs_version_t version, const struct flow *flow,
              ofp_port_t in_port, struct rule_dpif *rule, uint16_t tcp_flags,
              const struct dp_packet *packet, struct flow_wildcards *wc,
              struct ofpbuf *odp_actions)
{
    ck_assert_ptr_eq(ofproto, &b->dpif);
    ck_assert_uint_eq(version, versions[0]);
    ck_assert_uint_eq(in_port, OFPP_NONE);
    ck_assert(!rule && !tcp_flags && !packet && !wc);
    memset(xin, 0, sizeof *xin);
    xin->flow = *flow;
    xin->odp_actions = odp_actions;
}

void
recirc_free_id(uint32_t id)
{
    ck_assert_int_gt(recirc_refs[id], 0);
    recirc_refs[id]--;
}

void
xlate_out_uninit(struct xlate_out *xout)
{
    recirc_refs_unref(&xout->recircs);
}

/* Puts an action for each letter up to the ')' that ends the list.  Returns
 * what follows. */
static inline const char *
put_actions(struct ofpbuf *buf, const char *letters)
{
    struct ovs_action_push_tnl push = {
        .tnl_port = ODP_PORT_C(5), .out_port = ODP_PORT_C(6),
        .header_len = 50,
    };
    size_t start;

    while (*letters && *letters != ')') {
        switch (*letters++) {
        case 'p':
            odp_put_tnl_push_action(buf, &push);
            break;
        case 'o':
            nl_msg_put_u32(buf, OVS_ACTION_ATTR_OUTPUT, says.output);
            break;
        case 't':
            nl_msg_put_u32(buf, OVS_ACTION_ATTR_TRUNC, 100);
            break;
        case 'r':
            nl_msg_put_u32(buf, OVS_ACTION_ATTR_RECIRC, 1);
            break;
        case 'e':
            nl_msg_put_u32(buf, OVS_ACTION_ATTR_TUNNEL_POP, 5);
            break;
        case '(':
            start = nl_msg_start_nested(buf, OVS_ACTION_ATTR_CLONE);
            letters = put_actions(buf, letters);
            ck_assert(*letters++ == ')');
            nl_msg_end_nested(buf, start);
            break;
        default:
            ck_abort();
        }
    }
    return letters;
}

enum xlate_error
xlate_actions(struct xlate_in *xin, struct xlate_out *xout)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params fp = { .s = &s };

    ofpacts_format(xin->ofpacts, xin->ofpacts_len, &fp);
    free(translated.actions);
    translated.actions = ds_steal_cstr(&s);
    translated.flow = xin->flow;
    translated.n++;

    struct xc_entry *entry = xlate_cache_add_entry(xin->xcache, XC_TABLE);
    entry->table.ofproto = says.reads_own ? &b->dpif : &other;
    if (says.drops) {
        nl_msg_put_u32(xin->odp_actions, OVS_ACTION_ATTR_DROP, 1);
    } else {
        put_actions(xin->odp_actions, says.actions ? says.actions : "o");
    }
    memset(xout, 0, sizeof *xout);
    xout->slow = says.slow;
    xout->avoid_caching = says.avoid_caching;
    for (uint32_t id = 1; id <= says.n_recircs; id++) {
        recirc_refs_add(&xout->recircs, id);
        recirc_refs[id]++;
    }
    return says.error;
}

/* Ports. */

static struct adp_port port;

const struct adp_port *
adp_ports_find(const struct adp_ports *ports OVS_UNUSED, ofp_port_t ofp_port)
{
    return ofp_port == port.ofp_port ? &port : NULL;
}

/* World. */

static struct flow flow;        /* Of packets. */

static inline void
setup(void)
{
    tnl_conf_seq = seq_create();
    now = 1000000;
    slice_size = SIZE_MAX / 2;
    b = xzalloc(sizeof *b);
    b->dpif.up.ofproto_class = &adp_ofproto_class;
    b->dpif.backer = &backer;
    other.up.ofproto_class = &ofproto_dpif_class;
    port.ofp_port = u16_to_ofp(7);
    says.output = 1;
    b->tunnels = adp_tunnels_create();
    adp_tunnels_run(b);         /* What is news to it is none. */

    flow.packet_type = htonl(PT_ETH);
    flow.dl_type = htons(ETH_TYPE_IP);
    flow.nw_tos = 0x20;
    flow.nw_ttl = 64;
    flow.nw_src = htonl(1);
    flow.tunnel.ip_dst = htonl(PEER);
}

/* Packets that were under way are through. */
static inline void
wait_for_grace(void)
{
    ovsrcu_quiesce();
    ovsrcu_barrier();
}

static inline void
teardown(void)
{
    struct adp_tunnels *tunnels = b->tunnels;

    adp_tunnels_destroy(tunnels);
    wait_for_grace();
    ck_assert_int_eq(n_xcaches, 0);
    ck_assert_int_eq(n_xc_entries, 0);
    for (uint32_t id = 1; id <= MAX_RECIRCS; id++) {
        ck_assert_int_eq(recirc_refs[id], 0);
    }
}

static inline struct adp_tunnel *
find(void)
{
    return adp_tunnel_find(b, port.ofp_port, &flow);
}

static inline struct adp_tunnels_counts
counts(void)
{
    struct adp_tunnels_counts c;

    adp_tunnels_get_counts(b->tunnels, &c);
    return c;
}

/* Where packets go by 't': a port, 0 for nowhere, -1 if it has to be found
 * again. */
static inline int
leads_to(const struct adp_tunnel *t)
{
    const struct adp_tunnel_actions *actions = adp_tunnel_actions(t, now);

    return (!actions ? -1
            : !actions->size ? 0
            : nl_attr_get_u32(actions->data));
}

#endif /* tunnel-world.h */
